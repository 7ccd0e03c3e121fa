/* rows.c - see rows.h. */
#include "group/rows.h"

#include <stdlib.h>
#include <string.h>

static uint64_t align_bytes(uint64_t bytes)
{
	return (bytes + WH_ROW_ALIGN - 1) / WH_ROW_ALIGN * WH_ROW_ALIGN;
}

/* FNV-1a. */
static uint64_t digest_bytes(uint64_t digest, const void *data, size_t bytes)
{
	const unsigned char *at = data;

	for (size_t i = 0; i < bytes; i++)
		digest = (digest ^ at[i]) * UINT64_C(0x100000001b3);
	return digest;
}

static uint64_t digest_number(uint64_t digest, uint64_t number)
{
	return digest_bytes(digest, &number, sizeof(number));
}

#define WORDS_FROM 9 /* shards: fewer are stepped as quickly as words are looked at */

uint32_t wh_rows_moved_words(const struct wh_node_config *config, uint32_t shards)
{
	uint32_t from = config->words_from > 0 ? config->words_from : WORDS_FROM;

	return shards < from ? 0 : (shards + WH_MOVED_NAMES - 1) / WH_MOVED_NAMES;
}

/* What changes seldom stands in one line, which then stays in the caches of all: each pass looks at it. What is said last
 * comes first (sst/columns.h). */
static void lay_node_columns(struct wh_layout *layout, struct wh_node_columns *columns, const struct wh_view *view,
			     uint32_t moved_words, bool durable)
{
	columns->heartbeat = wh_layout_counter(layout);
	columns->installed = wh_layout_flag(layout);
	columns->agreed = wh_layout_counter(layout);
	columns->acknowledged = wh_layout_counter(layout);
	columns->proposed = wh_layout_counter(layout);
	columns->wedged = wh_layout_flag(layout);
	columns->suspicions = wh_layout_counter(layout);
	columns->asked = wh_layout_counter(layout);
	wh_layout_line(layout);
	columns->moved = wh_layout_array(
		layout, moved_words); /* before what it is pushed behind (T9), and apart: it changes often */
	wh_layout_line(layout);
	columns->suspected = wh_layout_array(layout, view->members);
	columns->left_out = wh_layout_array(layout, view->members);
	columns->image = wh_layout_counter(layout);
	columns->cut = wh_layout_array(layout, view->subgroup_count);
	columns->wish = wh_layout_array(layout, view->subgroup_count);
	columns->ended = wh_layout_array(layout, view->subgroup_count);
	columns->whole = wh_layout_array(layout, durable ? view->subgroup_count : 0);
	columns->wished = wh_layout_counter(layout);
	columns->confirmed = wh_layout_array(layout, view->members);
	columns->proposal = wh_layout_list(layout, 2 * wh_proposal_words(view));
}

static void lay_columns(struct wh_rows *rows, const struct wh_view *view, const struct wh_node_config *config)
{
	lay_node_columns(&rows->layout, &rows->node, view, wh_rows_moved_words(config, view->subgroup_count),
			 wh_node_config_is_durable(config));
	for (uint32_t g = 0; g < view->subgroup_count; g++) {
		const struct wh_view_subgroup *subgroup = &view->subgroups[g];
		struct wh_subgroup_columns *columns = &rows->subgroups[g].columns;
		struct wh_parameters parameters = wh_node_config_parameters(config, subgroup);
		bool unordered = !parameters.ordered;

		/* One line for a subgroup: a peer that looks at one of these needs the others in the same pass. */
		wh_layout_line(&rows->layout);
		columns->guard = wh_layout_counter(&rows->layout);
		columns->received_num = wh_layout_counter(&rows->layout);
		columns->delivered_num = wh_layout_counter(&rows->layout);
		columns->first = wh_layout_counter(&rows->layout);
		if (parameters.durable)
			columns->persisted_num = wh_layout_counter(&rows->layout);
		columns->delivered_of = wh_layout_array(&rows->layout, unordered ? subgroup->sender_count : 0);
		columns->relayed = wh_layout_array(
			&rows->layout, wh_node_config_relay_bytes(config, subgroup) > 0 ? subgroup->sender_count : 0);
	}
	rows->control_bytes = align_bytes(rows->layout.bytes);
}

/* One member's row: its length, and what of it `my_rank` sees. Returns the parts used. */
static size_t lay_row(struct wh_rows *rows, const struct wh_view *view, const struct wh_node_config *config,
		      uint32_t rank, uint32_t my_rank, bool apart, struct wh_row_part *parts)
{
	uint64_t offset = rows->control_bytes;
	size_t count = 0;

	parts[count++] = (struct wh_row_part){0, rows->control_bytes};
	for (uint32_t g = 0; g < view->subgroup_count; g++) {
		const struct wh_view_subgroup *subgroup = &view->subgroups[g];
		struct wh_parameters parameters = wh_node_config_parameters(config, subgroup);
		int sender = wh_rank_find(subgroup->senders, subgroup->sender_count, rank);
		uint64_t bytes;

		if (sender < 0)
			continue;
		bytes = align_bytes(wh_slots_lay(&rows->subgroups[g].slots[sender], offset, parameters.window,
						 parameters.message_bytes, apart));
		if (wh_rank_find(subgroup->members, subgroup->member_count, my_rank) >= 0)
			parts[count++] = (struct wh_row_part){offset, bytes};
		offset += bytes;
	}
	rows->specs[rank] = (struct wh_row_spec){.node = view->ids[rank],
						 .incarnation = view->incarnations[rank],
						 .bytes = offset,
						 .parts = parts,
						 .part_count = count};
	return count;
}

/* Payloads alone, each in its slot: what lies between them is its sender's to say. */
static struct wh_relay_spec relay_of(const struct wh_slots *slots, uint32_t owner, uint32_t before)
{
	struct wh_relay_spec relay = {.owner = owner, .before = before, .offset = slots->payloads};
	uint64_t bytes = wh_slot_part_bytes(slots);

	relay.bytes = slots->apart ? bytes * slots->window : bytes;
	relay.stride = slots->apart ? relay.bytes : slots->payload_stride;
	relay.count = slots->apart ? 1 : slots->window;
	return relay;
}

/* Of each sender but me, and but the one before me, which pushes what is its own. */
static void lay_relays(struct wh_rows *rows, const struct wh_view *view, const struct wh_node_config *config,
		       uint32_t my_rank)
{
	for (uint32_t g = 0; g < view->subgroup_count; g++) {
		const struct wh_view_subgroup *subgroup = &view->subgroups[g];
		int me = wh_rank_find(subgroup->members, subgroup->member_count, my_rank);
		uint32_t before;

		if (me < 0 || wh_node_config_relay_bytes(config, subgroup) == 0)
			continue;
		before = subgroup->members[((uint32_t)me + subgroup->member_count - 1) % subgroup->member_count];
		for (uint32_t s = 0; s < subgroup->sender_count; s++)
			if (subgroup->senders[s] != my_rank && subgroup->senders[s] != before)
				rows->relays[rows->relay_count++] =
					relay_of(&rows->subgroups[g].slots[s], subgroup->senders[s], before);
	}
}

static uint64_t digest_layout(const struct wh_rows *rows, const struct wh_view *view,
			      const struct wh_node_config *config, bool apart)
{
	uint64_t digest = digest_bytes(UINT64_C(0xcbf29ce484222325), view->ids, view->members * sizeof(*view->ids));

	digest = digest_bytes(digest, view->incarnations, view->members * sizeof(*view->incarnations));
	digest = digest_number(digest, view->number);
	digest = digest_number(digest, rows->control_bytes);
	digest = digest_number(digest, apart);
	if (rows->node.moved.count > 0) /* where there are none rows are as they were before there were any */
		digest = digest_number(digest, rows->node.moved.count);
	for (uint32_t g = 0; g < view->subgroup_count; g++) {
		const struct wh_view_subgroup *subgroup = &view->subgroups[g];
		struct wh_parameters parameters = wh_node_config_parameters(config, subgroup);

		digest = digest_bytes(digest, subgroup->name, strlen(subgroup->name) + 1);
		digest = digest_number(digest, (uint64_t)subgroup->state << 32 | subgroup->shard);
		digest = digest_number(digest, subgroup->birth);
		digest = digest_number(digest, parameters.ordered);
		if (parameters.durable)
			digest = digest_number(digest, parameters.durable);
		digest = digest_number(digest, parameters.window);
		digest = digest_number(digest, parameters.message_bytes);
		if (parameters.large_bytes > 0)
			digest = digest_number(digest, parameters.large_bytes);
		if (wh_node_config_relay_bytes(config, subgroup) > 0)
			digest = digest_number(digest, wh_node_config_relay_bytes(config, subgroup));
		digest = digest_bytes(digest, subgroup->members, subgroup->member_count * sizeof(uint32_t));
		digest = digest_number(digest, subgroup->member_count);
		digest = digest_bytes(digest, subgroup->senders, subgroup->sender_count * sizeof(uint32_t));
	}
	return digest;
}

static size_t count_senders(const struct wh_view *view)
{
	size_t count = 0;

	for (uint32_t g = 0; g < view->subgroup_count; g++)
		count += view->subgroups[g].sender_count;
	return count;
}

enum whorl_result wh_rows_create(struct wh_rows **out, const struct wh_view *view, const struct wh_node_config *config,
				 uint32_t my_rank, bool apart, struct wh_error *err)
{
	struct wh_rows *rows = calloc(1, sizeof(*rows));
	size_t part = 0, senders = 0;

	if (rows == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a view's rows");
	rows->subgroup_count = view->subgroup_count;
	rows->specs = calloc(view->members, sizeof(*rows->specs));
	rows->parts = calloc((size_t)view->members * (view->subgroup_count + 1), sizeof(*rows->parts));
	rows->subgroups = calloc(view->subgroup_count ? view->subgroup_count : 1, sizeof(*rows->subgroups));
	rows->slots = calloc(count_senders(view) + 1, sizeof(*rows->slots));
	rows->relays = calloc(count_senders(view) + 1, sizeof(*rows->relays));
	if (rows->specs == NULL || rows->parts == NULL || rows->subgroups == NULL || rows->slots == NULL ||
	    rows->relays == NULL) {
		wh_rows_free(rows);
		return wh_error_set(err, WHORL_MEMORY, "no memory for the rows of %u members", view->members);
	}
	for (uint32_t g = 0; g < view->subgroup_count; g++) {
		rows->subgroups[g].slots = rows->slots + senders;
		senders += view->subgroups[g].sender_count;
	}
	lay_columns(rows, view, config);
	for (uint32_t rank = 0; rank < view->members; rank++)
		part += lay_row(rows, view, config, rank, my_rank, apart, rows->parts + part);
	lay_relays(rows, view, config, my_rank);
	rows->digest = digest_layout(rows, view, config, apart);
	*out = rows;
	return WHORL_OK;
}

void wh_rows_free(struct wh_rows *rows)
{
	if (rows == NULL)
		return;
	free(rows->relays);
	free(rows->slots);
	free(rows->subgroups);
	free(rows->parts);
	free(rows->specs);
	free(rows);
}
