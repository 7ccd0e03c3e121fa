/* pattern.c - names that fit patterns, and partitions. */
#include <string.h>

#include "dds/policy/policy_int.h"

/* Does one byte fit what the pattern begins with, which is no `*`? *next: behind that. A `[` without an end is itself. */
static bool fits_one(const char *pattern, unsigned char byte, const char **next)
{
	bool none_of = pattern[0] == '[' && pattern[1] == '!', found = false;
	const char *at = pattern + 1 + none_of, *end;

	*next = pattern + 1;
	if (*pattern == '?')
		return true;
	/* a `]` at once is one of the set */
	end = *pattern == '[' && *at != '\0' ? strchr(at + 1, ']') : NULL;
	if (end == NULL)
		return (unsigned char)*pattern == byte;
	*next = end + 1;
	while (at < end) {
		unsigned char least = (unsigned char)at[0];
		bool range = at + 2 < end && at[1] == '-';
		unsigned char most = range ? (unsigned char)at[2] : least;

		found |= least <= byte && byte <= most;
		at += range ? 3 : 1;
	}
	return found != none_of;
}

bool wh_dds_pattern_fits(const char *pattern, const char *name)
{
	const char *star = NULL, *tried = NULL, *next; /* the last `*`, and where what is behind it began to be tried */

	while (*name != '\0') {
		if (*pattern == '*') {
			star = ++pattern;
			tried = name;
		} else if (*pattern != '\0' && fits_one(pattern, (unsigned char)*name, &next)) {
			pattern = next;
			name++;
		} else if (star != NULL) {
			pattern = star;
			name = ++tried;
		} else {
			return false;
		}
	}
	return pattern[strspn(pattern, "*")] == '\0';
}

const char *wh_dds_partition_next(const struct wh_dds_policies *policies, const char *name)
{
	const struct wh_dds_octets *names = &policies->partition;
	const char *first = names->count > 0 ? (const char *)names->bytes : "";
	const char *next;

	if (name == NULL)
		return first;
	if (names->count == 0)
		return NULL;
	next = name + strlen(name) + 1;
	return next < first + names->count ? next : NULL;
}

static bool names_meet(const char *a, const char *b)
{
	bool pattern_a = strpbrk(a, "*?[") != NULL, pattern_b = strpbrk(b, "*?[") != NULL;

	if (pattern_a && pattern_b)
		return false;
	if (pattern_a)
		return wh_dds_pattern_fits(a, b);
	return pattern_b ? wh_dds_pattern_fits(b, a) : strcmp(a, b) == 0;
}

bool wh_dds_partitions_meet(const struct wh_dds_policies *one, const struct wh_dds_policies *other)
{
	for (const char *a = wh_dds_partition_next(one, NULL); a != NULL; a = wh_dds_partition_next(one, a))
		for (const char *b = wh_dds_partition_next(other, NULL); b != NULL; b = wh_dds_partition_next(other, b))
			if (names_meet(a, b))
				return true;
	return false;
}
