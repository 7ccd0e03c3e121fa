/* words.c - the words of a descriptor: where operations begin and end, and what those of members say. */
#include "ddsc/type/words.h"

static unsigned type_of(uint32_t word)
{
	return word >> 16 & 0x7f;
}

static unsigned element_of(uint32_t word)
{
	return word >> 8 & 0xff;
}

/* Words that say the range of a value; 0 of what has none. */
static size_t words_of_range(unsigned type)
{
	return type == WH_DDSC_OF_BITS ? 2 : type == WH_DDSC_OF_ENUM || type == WH_DDSC_OF_TEXT;
}

static bool is_made_of_others(unsigned type)
{
	return type == WH_DDSC_OF_SEQUENCE || type == WH_DDSC_OF_ARRAY || type == WH_DDSC_OF_UNION ||
	       type == WH_DDSC_OF_STRUCT || type == WH_DDSC_OF_BOUNDED_SEQUENCE;
}

static bool is_element(unsigned type)
{
	return type >= WH_DDSC_OF_1 && type <= WH_DDSC_OF_BITS && type != WH_DDSC_OF_EXTERN;
}

/* Of a member; 0: it is none. */
static size_t words_of_member(const uint32_t *at, size_t left)
{
	unsigned type = type_of(*at), element = element_of(*at);

	switch (type) {
	case WH_DDSC_OF_EXTERN:
		return (*at & (WH_DDSC_IS_EXTERNAL | WH_DDSC_IS_OPTIONAL)) != 0 ? 4 : 3;
	case WH_DDSC_OF_SEQUENCE:
	case WH_DDSC_OF_BOUNDED_SEQUENCE:
		if (!is_element(element))
			return 0;
		return 2 + (type == WH_DDSC_OF_BOUNDED_SEQUENCE) +
		       (is_made_of_others(element) ? 2 : words_of_range(element));
	case WH_DDSC_OF_ARRAY:
		if (!is_element(element))
			return 0;
		return 3 + (is_made_of_others(element) ? 2 : words_of_range(element) + (element == WH_DDSC_OF_TEXT));
	case WH_DDSC_OF_UNION: {
		size_t cases = left > 2 ? at[2] : 0, own = element == WH_DDSC_OF_ENUM ? 5 : 4;

		return cases <= left / 4 ? own : 0; /* its cases are operations of their own */
	}
	default:
		return is_element(type) && type != WH_DDSC_OF_STRUCT ? 2 + words_of_range(type) : 0;
	}
}

size_t wh_ddsc_words_of(const struct wh_ddsc_words *words, size_t at)
{
	size_t left = at < words->limit ? words->limit - at : 0, count = 0;

	if (left == 0)
		return 0;
	switch (wh_ddsc_code(words->word[at])) {
	case WH_DDSC_RETURN:
	case WH_DDSC_CALL:
	case WH_DDSC_DELIMITED:
	case WH_DDSC_MUTABLE:
		count = 1;
		break;
	case WH_DDSC_MEMBER:
		count = words_of_member(words->word + at, left);
		break;
	case WH_DDSC_CASE:
		count = 3;
		break;
	case WH_DDSC_CASE_4:
		count = 4;
		break;
	case WH_DDSC_MUTABLE_MEMBER:
		count = 2;
		break;
	case WH_DDSC_KEY_PATH:
		count = 1 + (words->word[at] & 0xffff);
		break;
	default:
		break;
	}
	return count <= left ? count : 0;
}

bool wh_ddsc_words_measure(struct wh_ddsc_words *words, uint32_t operations)
{
	size_t at = 0;

	for (uint32_t i = 0; i < operations; i++) {
		size_t count = wh_ddsc_words_of(words, at);

		if (count == 0 || wh_ddsc_code(words->word[at]) == WH_DDSC_KEY_PATH)
			return false;
		at += count;
	}
	words->count = at;
	return operations > 0;
}

/* Where a jump from `from` ends; SIZE_MAX: outside. */
static size_t jump(const struct wh_ddsc_words *words, size_t from, int64_t by)
{
	int64_t to = (int64_t)from + by;

	return to >= 0 && (uint64_t)to < words->count ? (size_t)to : SIZE_MAX;
}

/* A word with two jumps: to the next member, and to the operations of this one's element. */
static const char *read_jumps(const struct wh_ddsc_words *words, size_t at, uint32_t word, size_t own,
			      struct wh_ddsc_member *out)
{
	out->next = jump(words, at, word >> 16 != 0 ? word >> 16 : (int64_t)own);
	out->body = jump(words, at, (int16_t)(word & 0xffff));
	return out->next == SIZE_MAX || out->body == SIZE_MAX ? "jumps outside the operations" : NULL;
}

static void read_range(const uint32_t *range, unsigned type, struct wh_ddsc_member *out)
{
	if (type == WH_DDSC_OF_BITS)
		out->most = (uint64_t)range[0] << 32 | range[1];
	else if (words_of_range(type) > 0)
		out->most = range[0];
}

static const char *read_elements(const struct wh_ddsc_words *words, size_t at, size_t own, struct wh_ddsc_member *out)
{
	const uint32_t *word = words->word + at;
	bool is_array = out->type == WH_DDSC_OF_ARRAY;
	size_t rest = 2;

	if (is_array)
		out->count = word[rest++];
	else if (out->type == WH_DDSC_OF_BOUNDED_SEQUENCE)
		out->bound = word[rest++];
	if (is_array && out->count == 0)
		return "is an array of no elements";
	if (!is_made_of_others(out->element)) {
		read_range(word + rest + (is_array && out->element == WH_DDSC_OF_TEXT), out->element, out);
		return NULL;
	}
	out->each = word[rest + is_array];
	return read_jumps(words, at, word[rest + !is_array], own, out);
}

const char *wh_ddsc_words_member(const struct wh_ddsc_words *words, size_t at, struct wh_ddsc_member *out)
{
	const uint32_t *word = words->word + at;
	size_t own = wh_ddsc_words_of(words, at);

	if (own == 0)
		return "is of no type that is known";
	*out = (struct wh_ddsc_member){.type = type_of(*word),
				       .element = element_of(*word),
				       .flags = *word & 0xff,
				       .width = 1U << (*word >> 6 & 3),
				       .offset = word[1],
				       .bound = UINT32_MAX,
				       .count = 1,
				       .next = at + own};
	out->flags |= *word & WH_DDSC_IS_EXTERNAL;
	switch (out->type) {
	case WH_DDSC_OF_UNION:
		return NULL;
	case WH_DDSC_OF_EXTERN:
		return read_jumps(words, at, word[2], own, out);
	case WH_DDSC_OF_SEQUENCE:
	case WH_DDSC_OF_BOUNDED_SEQUENCE:
	case WH_DDSC_OF_ARRAY:
		return read_elements(words, at, own, out);
	default:
		read_range(word + 2, out->type, out);
		return NULL;
	}
}
