/* wishes.c - sets of wishes, and how they are written: see wishes.h.
 *
 * As bytes: "WHS", the version, the set's number, how many there are; then each: the length of its name, the name, flags, window,
 * message_bytes, large_bytes; and its holding, if it has one: birth, last, place, frontier. Names ascend.
 */
#include "membership/wishes.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "membership/wire.h"

#define HEAD_BYTES 14
#define WISH_BYTES 50 /* beside its name, with its holding */

_Static_assert(HEAD_BYTES + WH_WISHES_MAX * (WISH_BYTES + WH_NAME_BYTES - 1) <= WH_SET_BYTES_MAX, "every set fits");

enum { SENDS = 1, HAS_STATE = 2, IS_ORDERED = 4, IS_DURABLE = 8, ANEW = 16, HOLDS = 32, IS_WHOLE = 64, FLAGS = 127 };

static int compare_name(const void *name, const void *wish)
{
	return strcmp(name, ((const struct wh_wish *)wish)->name);
}

const struct wh_wish *wh_wish_find(const struct wh_wish_set *set, const char *name)
{
	return bsearch(name, set->wishes, set->count, sizeof(set->wishes[0]), compare_name);
}

static unsigned char *put_holding(unsigned char *at, const struct wh_holding *holding)
{
	at = wh_put_number(at, holding->birth, 8);
	at = wh_put_number(at, holding->last, 8);
	at = wh_put_number(at, holding->place, 8);
	return wh_put_number(at, holding->frontier, 8);
}

size_t wh_wish_set_encode(unsigned char out[WH_SET_BYTES_MAX], const struct wh_wish_set *set)
{
	unsigned char *at = out;

	at = wh_put_number(at, 'W', 1);
	at = wh_put_number(at, 'H', 1);
	at = wh_put_number(at, 'S', 1);
	at = wh_put_number(at, WH_WIRE_VERSION, 1);
	at = wh_put_number(at, set->number, 8);
	at = wh_put_number(at, set->count, 2);
	for (uint32_t i = 0; i < set->count; i++) {
		const struct wh_wish *wish = &set->wishes[i];
		const struct wh_parameters *is = &wish->parameters;

		at = wh_put_text(at, wish->name);
		at = wh_put_number(at,
				   (wish->sends ? SENDS : 0) | (is->state ? HAS_STATE : 0) |
					   (is->ordered ? IS_ORDERED : 0) | (is->durable ? IS_DURABLE : 0) |
					   (wish->anew ? ANEW : 0) | (wish->holding.birth != 0 ? HOLDS : 0) |
					   (wish->holding.whole ? IS_WHOLE : 0),
				   1);
		at = wh_put_number(at, is->window, 4);
		at = wh_put_number(at, is->message_bytes, 4);
		at = wh_put_number(at, is->large_bytes, 8);
		if (wish->holding.birth != 0)
			at = put_holding(at, &wish->holding);
	}
	return (size_t)(at - out);
}

static void take_holding(struct wh_reader *reader, bool whole, struct wh_holding *out)
{
	out->birth = wh_take_within(reader, 8, 1, UINT64_MAX);
	out->last = wh_take_number(reader, 8);
	out->place = wh_take_number(reader, 8);
	out->frontier = wh_take_number(reader, 8);
	out->whole = whole;
}

/* Only of a durable one is there a holding, or a beginning anew. */
static bool take_wish(struct wh_reader *reader, struct wh_wish *out)
{
	unsigned flags;

	if (!wh_take_text(reader, out->name, sizeof(out->name)) || !wh_name_holds(out->name))
		return false;
	flags = (unsigned)wh_take_within(reader, 1, 0, FLAGS);
	out->sends = flags & SENDS;
	out->refused = false;
	out->anew = flags & ANEW;
	out->holding = (struct wh_holding){.birth = 0};
	out->parameters = (struct wh_parameters){.durable = flags & IS_DURABLE};
	out->parameters.state = flags & HAS_STATE;
	out->parameters.ordered = flags & IS_ORDERED;
	out->parameters.window = (uint32_t)wh_take_number(reader, 4);
	out->parameters.message_bytes = (uint32_t)wh_take_number(reader, 4);
	out->parameters.large_bytes = wh_take_number(reader, 8);
	if (flags & HOLDS)
		take_holding(reader, flags & IS_WHOLE, &out->holding);
	else if (flags & IS_WHOLE)
		return false;
	if (!out->parameters.durable && (flags & (ANEW | HOLDS)) != 0)
		return false;
	return reader->ok && wh_parameters_hold(&out->parameters);
}

bool wh_wish_set_decode(struct wh_wish_set *out, const void *bytes, size_t count)
{
	struct wh_reader reader = {bytes, count, true};

	wh_take_within(&reader, 1, 'W', 'W');
	wh_take_within(&reader, 1, 'H', 'H');
	wh_take_within(&reader, 1, 'S', 'S');
	wh_take_within(&reader, 1, WH_WIRE_VERSION, WH_WIRE_VERSION);
	out->number = wh_take_within(&reader, 8, 1, UINT64_MAX);
	out->count = (uint32_t)wh_take_within(&reader, 2, 0, WH_WISHES_MAX);
	if (!reader.ok)
		return false;
	for (uint32_t i = 0; i < out->count; i++)
		if (!take_wish(&reader, &out->wishes[i]) ||
		    (i > 0 && strcmp(out->wishes[i - 1].name, out->wishes[i].name) >= 0))
			return false;
	return reader.left == 0;
}
