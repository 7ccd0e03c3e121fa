/* reports.c - see reports.h.
 *
 * A report: the disk's id, the length of the standing, the standing, then of each of its shards whether its log is rotten and how far it
 * goes, then the view that it stands on and the one that follows, each with its length before it; length 0: it is not there.
 *
 * An agreement: the disk's id, whether it is taken up, the two keys, the number of shards and that of cuts; these; then both views likewise.
 */
#include "membership/reports.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"

#define BEGIN_BYTES 28
#define LOG_BYTES 17
#define SHARDS_MAX (WH_SUBGROUPS_MAX * WH_SHARDS_MAX + WH_DYNAMIC_MAX)

int wh_subgroup_index(const struct wh_view *view, uint64_t number, uint32_t shard)
{
	for (uint32_t g = 0; g < view->subgroup_count; g++)
		if (wh_subgroup_number(&view->subgroups[g]) == number && view->subgroups[g].shard == shard)
			return (int)g;
	return -1;
}

const struct wh_shard_begin *wh_begin_of(const struct wh_shard_begin *begins, uint32_t count, uint64_t subgroup,
					 uint32_t shard)
{
	for (uint32_t i = 0; i < count; i++)
		if (begins[i].subgroup == subgroup && begins[i].shard == shard)
			return &begins[i];
	return NULL;
}

/* ---- pieces of both --------------------------------------------------------------------------------------------------- */

struct view_bytes {
	unsigned char *bytes;
	size_t count;
};

/* NULL: none. False: no memory. */
static bool encode_view(struct view_bytes *out, const struct wh_view *view)
{
	*out = (struct view_bytes){NULL, 0};
	return view == NULL || wh_view_encode(&out->bytes, &out->count, view) == WHORL_OK;
}

static unsigned char *put_bytes(unsigned char *at, const unsigned char *bytes, size_t count)
{
	at = wh_put_number(at, count, 4);
	if (count > 0)
		memcpy(at, bytes, count);
	return at + count;
}

/* Bytes with their length before them; NULL if there are none, or if it is not so. */
static const unsigned char *take_bytes(struct wh_reader *reader, size_t *count)
{
	const unsigned char *bytes;

	*count = (size_t)wh_take_number(reader, 4);
	if (*count > reader->left)
		reader->ok = false;
	if (!reader->ok || *count == 0)
		return NULL;
	bytes = reader->at;
	reader->at += *count;
	reader->left -= *count;
	return bytes;
}

struct kind { /* of the views that are expected */
	const struct wh_layout_config *layout;
	uint32_t nodes_max;
};

static enum whorl_result take_view(struct wh_reader *reader, struct wh_view **out, const struct kind *kind,
				   struct wh_error *err)
{
	size_t count;
	const unsigned char *bytes = take_bytes(reader, &count);

	*out = NULL;
	if (!reader->ok)
		return wh_error_set(err, WHORL_INVALID, "a view in it does not end");
	return bytes == NULL ? WHORL_OK : wh_view_decode(out, bytes, count, kind->layout, kind->nodes_max, err);
}

/* ---- a report --------------------------------------------------------------------------------------------------------- */

void wh_report_free(struct wh_report *report)
{
	struct wh_report old = *report;

	*report = (struct wh_report){.disk = 0}; /* first: a fork may come in between */
	wh_standing_free(&old.standing);
	free(old.logs);
	wh_view_free(old.base);
	wh_view_free(old.next);
}

enum whorl_result wh_report_encode(unsigned char **out, size_t *bytes, const struct wh_report *report)
{
	struct view_bytes base, next = {NULL, 0};
	unsigned char *standing = NULL, *at;
	size_t length = 0;
	bool fits = encode_view(&base, report->base) && encode_view(&next, report->next) &&
		    wh_standing_encode(&standing, &length, &report->standing) == WHORL_OK;

	*bytes = 16 + length + (size_t)report->standing.shard_count * LOG_BYTES + base.count + next.count;
	*out = fits ? malloc(*bytes) : NULL;
	if (*out != NULL) {
		at = wh_put_number(*out, report->disk, 4);
		at = put_bytes(at, standing, length);
		for (uint32_t i = 0; i < report->standing.shard_count; i++) {
			at = wh_put_number(at, report->logs[i].rotten, 1);
			at = wh_put_number(at, report->logs[i].extent, 8);
			at = wh_put_number(at, report->logs[i].frontier, 8);
		}
		at = put_bytes(at, base.bytes, base.count);
		put_bytes(at, next.bytes, next.count);
	}
	free(standing);
	free(base.bytes);
	free(next.bytes);
	return *out != NULL ? WHORL_OK : WHORL_MEMORY;
}

/* The view of a node that has come in anew and has nothing of it is not asked for its shards. */
static bool fits_base(const struct wh_report *report)
{
	const struct wh_standing *standing = &report->standing;
	const struct wh_view *base = report->base;
	int rank;

	if (base == NULL)
		return true;
	if (base->group != standing->group || base->number != standing->number ||
	    (standing->ballot > 0 && standing->cut_count != base->subgroup_count))
		return false;
	rank = wh_view_rank(base, report->disk);
	for (uint32_t i = 0; i < standing->shard_count; i++) {
		int g = wh_subgroup_index(base, standing->shards[i].subgroup, standing->shards[i].shard);

		if (g < 0 || rank < 0 ||
		    wh_rank_find(base->subgroups[g].members, base->subgroups[g].member_count, (uint32_t)rank) < 0)
			return false;
	}
	return true;
}

static bool fits_next(const struct wh_report *report)
{
	const struct wh_view *next = report->next;

	return next == NULL || (report->standing.ballot > 0 && next->group == report->standing.group &&
				next->number == report->standing.number + 1);
}

static enum whorl_result take_report(struct wh_reader *reader, struct wh_report *out, const struct kind *kind,
				     struct wh_error *err)
{
	const unsigned char *standing;
	enum whorl_result result;
	size_t count;

	out->disk = (uint32_t)wh_take_within(reader, 4, 0, kind->nodes_max - 1);
	standing = take_bytes(reader, &count);
	if (standing == NULL)
		return wh_error_set(err, WHORL_INVALID, "there is no standing in it");
	result = wh_standing_decode(&out->standing, standing, count, err);
	if (result != WHORL_OK)
		return result;
	if (reader->left < (size_t)out->standing.shard_count * LOG_BYTES)
		return wh_error_set(err, WHORL_INVALID, "a log is missing in it");
	out->logs = calloc((size_t)out->standing.shard_count + 1, sizeof(*out->logs));
	if (out->logs == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a report");
	for (uint32_t i = 0; i < out->standing.shard_count; i++) {
		out->logs[i].rotten = wh_take_within(reader, 1, 0, 1);
		out->logs[i].extent = wh_take_number(reader, 8);
		out->logs[i].frontier = wh_take_number(reader, 8);
	}
	result = take_view(reader, &out->base, kind, err);
	if (result == WHORL_OK)
		result = take_view(reader, &out->next, kind, err);
	if (result == WHORL_OK && (!reader->ok || reader->left > 0 || !fits_base(out) || !fits_next(out)))
		result = wh_error_set(err, WHORL_INVALID, "what it says of its views does not fit them");
	return result;
}

enum whorl_result wh_report_decode(struct wh_report *out, const void *bytes, size_t count,
				   const struct wh_layout_config *layout, uint32_t nodes_max, struct wh_error *err)
{
	struct wh_reader reader = {bytes, count, true};
	const struct kind kind = {layout, nodes_max};
	enum whorl_result result;

	*out = (struct wh_report){.disk = 0};
	result = take_report(&reader, out, &kind, err);
	if (result != WHORL_OK)
		wh_report_free(out);
	return result;
}

/* ---- an agreement ----------------------------------------------------------------------------------------------------- */

void wh_agreement_free(struct wh_agreement *agreement)
{
	struct wh_agreement old = *agreement;

	*agreement = (struct wh_agreement){.disk = 0}; /* first: a fork may come in between */
	free(old.begins);
	free(old.cuts);
	wh_view_free(old.base_view);
	wh_view_free(old.next_view);
}

static unsigned char *put_agreement(unsigned char *at, const struct wh_agreement *agreement)
{
	at = wh_put_number(at, agreement->disk, 4);
	at = wh_put_number(at, agreement->taken_up, 1);
	at = wh_put_number(at, agreement->base, 8);
	at = wh_put_number(at, agreement->next, 8);
	at = wh_put_number(at, agreement->begin_count, 4);
	at = wh_put_number(at, agreement->cut_count, 4);
	for (uint32_t i = 0; i < agreement->begin_count; i++) {
		at = wh_put_number(at, agreement->begins[i].subgroup, 8);
		at = wh_put_number(at, agreement->begins[i].shard, 4);
		at = wh_put_number(at, agreement->begins[i].before, 8);
		at = wh_put_number(at, agreement->begins[i].begins, 8);
	}
	for (uint32_t i = 0; i < agreement->cut_count; i++)
		at = wh_put_number(at, agreement->cuts[i], 8);
	return at;
}

enum whorl_result wh_agreement_encode(unsigned char **out, size_t *bytes, const struct wh_agreement *agreement)
{
	struct view_bytes base, next = {NULL, 0};
	bool fits = encode_view(&base, agreement->base_view) && encode_view(&next, agreement->next_view);
	unsigned char *at;

	*bytes = 37 + (size_t)agreement->begin_count * BEGIN_BYTES + (size_t)agreement->cut_count * 8 + base.count +
		 next.count;
	*out = fits ? malloc(*bytes) : NULL;
	if (*out != NULL) {
		at = put_agreement(*out, agreement);
		at = put_bytes(at, base.bytes, base.count);
		put_bytes(at, next.bytes, next.count);
	}
	free(base.bytes);
	free(next.bytes);
	return *out != NULL ? WHORL_OK : WHORL_MEMORY;
}

static bool take_begins(struct wh_reader *reader, struct wh_agreement *out)
{
	for (uint32_t i = 0; i < out->begin_count; i++) {
		struct wh_shard_begin *begin = &out->begins[i];

		begin->subgroup = wh_take_number(reader, 8);
		begin->shard = (uint32_t)wh_take_number(reader, 4);
		begin->before = wh_take_number(reader, 8);
		begin->begins = wh_take_within(reader, 8, 0, begin->before > 0 ? UINT64_MAX : 0);
		if (i > 0 && (begin->subgroup < begin[-1].subgroup ||
			      (begin->subgroup == begin[-1].subgroup && begin->shard <= begin[-1].shard)))
			reader->ok = false;
	}
	for (uint32_t i = 0; i < out->cut_count; i++)
		out->cuts[i] = wh_take_number(reader, 8);
	return reader->ok;
}

/* The views follow each other, and what is said of shards is said of theirs. */
static bool hangs_together(const struct wh_agreement *agreement)
{
	const struct wh_view *base = agreement->base_view, *next = agreement->next_view;

	if (base == NULL || next == NULL || base->group != next->group || base->number + 1 != next->number ||
	    agreement->cut_count != base->subgroup_count || wh_view_rank(base, agreement->disk) < 0)
		return false;
	for (uint32_t i = 0; i < agreement->begin_count; i++)
		if (wh_subgroup_index(base, agreement->begins[i].subgroup, agreement->begins[i].shard) < 0)
			return false;
	return true;
}

static enum whorl_result take_agreement(struct wh_reader *reader, struct wh_agreement *out, const struct kind *kind,
					struct wh_error *err)
{
	enum whorl_result result;

	out->disk = (uint32_t)wh_take_within(reader, 4, 0, kind->nodes_max - 1);
	out->taken_up = wh_take_within(reader, 1, 0, 1);
	out->base = wh_take_within(reader, 8, 1, UINT64_MAX);
	out->next = wh_take_within(reader, 8, 1, UINT64_MAX);
	out->begin_count = (uint32_t)wh_take_within(reader, 4, 0, SHARDS_MAX);
	out->cut_count = (uint32_t)wh_take_within(reader, 4, 0, SHARDS_MAX);
	if (!reader->ok || reader->left < (size_t)out->begin_count * BEGIN_BYTES + (size_t)out->cut_count * 8) {
		out->begin_count = out->cut_count = 0;
		return wh_error_set(err, WHORL_INVALID, "what is to be agreed to does not begin as it should");
	}
	out->begins = calloc((size_t)out->begin_count + 1, sizeof(*out->begins));
	out->cuts = calloc((size_t)out->cut_count + 1, sizeof(*out->cuts));
	if (out->begins == NULL || out->cuts == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for what is to be agreed to");
	if (!take_begins(reader, out))
		return wh_error_set(err, WHORL_INVALID, "its shards are out of order");
	result = take_view(reader, &out->base_view, kind, err);
	if (result == WHORL_OK)
		result = take_view(reader, &out->next_view, kind, err);
	if (result == WHORL_OK && (!reader->ok || reader->left > 0 || !hangs_together(out)))
		result = wh_error_set(err, WHORL_INVALID, "what is to be agreed to does not hang together");
	return result;
}

enum whorl_result wh_agreement_decode(struct wh_agreement *out, const void *bytes, size_t count,
				      const struct wh_layout_config *layout, uint32_t nodes_max, struct wh_error *err)
{
	struct wh_reader reader = {bytes, count, true};
	const struct kind kind = {layout, nodes_max};
	enum whorl_result result;

	*out = (struct wh_agreement){.disk = 0};
	result = take_agreement(&reader, out, &kind, err);
	if (result != WHORL_OK)
		wh_agreement_free(out);
	return result;
}
