/* fuzz_wire.c - any bytes as a control message, as a view, as a view in pieces: nothing may break, and what is accepted is written
 * in one way only. The first byte says as what the rest is taken:
 *
 *     m   a message
 *     v   a view
 *     s   a set of wishes
 *     r   what a disk has; a what it is to agree to (membership/reports.h)
 *     p   pieces of one: each with its length (two bytes) before it, a message, or junk
 *     w   views that follow each other: nodes come, go and rest. Each is written, read, and must be the same; then some of its
 *         bytes are changed, as the end of the input says, so that what is nearly a view is tried too
 *
 *     cmake -S . -B build/fuzz -DCMAKE_C_COMPILER=clang -DWHORL_FUZZ=ON && cmake --build build/fuzz --target fuzz_wire
 *     export WHORL_SEEDS=CORPUS_DIRECTORY; for t in wire wire_views wishes reports; do build/fuzz/tests/test_$t; done
 *     build/fuzz/tests/fuzz/fuzz_wire -max_total_time=600 -max_len=4200 -dict=tests/fuzz/wire.dict CORPUS_DIRECTORY
 */
#include <stdlib.h>
#include <string.h>

#include "membership/reports.h"
#include "membership/wire.h"
#include "membership/wishes.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

#define NODES_MAX 24

/* The subgroups of tests/unit/test_wire_views.c: its views are the seeds. */
static const struct wh_subgroup_text texts[] = {{"g", "all", "all", 3, 2},
						{"w", "wish", "all", 1, 1},
						{"h", "0,2,4,6,8", "half", 1, 1},
						{"i", "all", "one", 2, 1}};
static const struct wh_layout_config layout = {texts, COUNT(texts), NULL, NULL};

struct input {
	const uint8_t *at;
	size_t left;
};

/* 0 behind the end. */
static uint8_t take(struct input *input)
{
	if (input->left == 0)
		return 0;
	input->left--;
	return *input->at++;
}

static uint64_t take_many(struct input *input, unsigned bytes)
{
	uint64_t value = 0;

	while (bytes-- > 0)
		value = value << 8 | take(input);
	return value;
}

/* ---- messages --------------------------------------------------------------------------------------------------------- */

static void check_message(const struct wh_wire *message)
{
	const struct wh_wire *m = message;

	REQUIRE(m->kind >= WH_WIRE_INTRO && m->kind < WH_WIRE_KINDS);
	REQUIRE(m->standing <= WH_MEMBER_OF && m->leader < WH_NODES_MAX);
	REQUIRE((m->incarnation != 0) == (m->kind == WH_WIRE_INTRO || m->kind == WH_WIRE_JOIN));
	REQUIRE((m->piece != NULL) == (m->kind == WH_WIRE_VIEW || m->kind == WH_WIRE_WISHES || m->kind == WH_WIRE_NEXT ||
				       m->kind == WH_WIRE_STANDING || m->kind == WH_WIRE_AGREE));
	REQUIRE(m->disk <= WH_DISK_STANDS && (m->disk == WH_DISK_STANDS || m->base == 0) && m->node < WH_NODES_MAX);
	REQUIRE((m->kind != WH_WIRE_ASK && m->kind < WH_WIRE_AGREE && m->kind != WH_WIRE_STANDING) ||
		(m->key >= WH_RESTART_BALLOTS && m->key < WH_FIRST_KEYS));
	REQUIRE(m->refusal.wish < WH_WISHES_MAX && m->refusal.parameter <= WH_PARAMETER_LARGE);
	REQUIRE(m->subgroup < WH_SUBGROUPS_MAX || wh_birth_view(m->subgroup) > 0);
	REQUIRE(m->total <= WH_ROUND_BYTES_MAX && (uint64_t)m->offset + m->bytes <= m->total);
}

static bool try_message(struct wh_wire *out, const uint8_t *bytes, size_t count)
{
	unsigned char again[WH_WIRE_BYTES];

	if (!wh_wire_decode(out, bytes, count))
		return false;
	check_message(out);
	REQUIRE(wh_wire_encode(again, out) == count && memcmp(again, bytes, count) == 0);
	return true;
}

/* ---- views ------------------------------------------------------------------------------------------------------------ */

static void check_ranks(const uint32_t *ranks, uint32_t count, const struct wh_view *view)
{
	for (uint32_t i = 0; i < count; i++)
		REQUIRE(ranks[i] < view->members && (i == 0 || ranks[i - 1] < ranks[i]));
}

static void check_view(const struct wh_view *view)
{
	REQUIRE(view->members >= 1 && view->members <= NODES_MAX && view->joined_count <= view->members);
	REQUIRE(view->subgroup_count == 6 + view->dynamic_count && view->voters >= view->members);
	for (uint32_t rank = 0; rank < view->members; rank++)
		REQUIRE(view->ids[rank] < NODES_MAX && view->incarnations[rank] != 0 &&
			wh_view_rank(view, view->ids[rank]) == (int)rank);
	for (uint32_t i = 0; i < view->left_count; i++)
		REQUIRE(view->left[i] < NODES_MAX && wh_view_rank(view, view->left[i]) < 0);
	for (uint32_t g = 0; g < view->subgroup_count; g++) {
		const struct wh_view_subgroup *shard = &view->subgroups[g];

		REQUIRE(g >= 6 ||
			(shard->configured < COUNT(texts) && strcmp(shard->name, texts[shard->configured].name) == 0));
		REQUIRE(g < 6 || (shard->configured == WH_NOT_CONFIGURED && shard->member_count > 0 &&
				  wh_birth_seat(shard->birth) < WH_SEATS && wh_parameters_hold(&shard->parameters)));
		REQUIRE(shard->state <= WH_SHARD_LOST && (shard->state != WH_SHARD_ACTIVE || shard->sender_count > 0));
		check_ranks(shard->members, shard->member_count, view);
		check_ranks(shard->senders, shard->sender_count, view);
		check_ranks(shard->entered, shard->entered_count, view);
		check_ranks(shard->resting, shard->resting_count, view);
		for (uint32_t i = 0; i < shard->sender_count; i++)
			REQUIRE(wh_rank_find(shard->resting, shard->resting_count, shard->senders[i]) < 0);
		check_ranks(shard->ending, shard->ending_count, view);
		for (uint32_t i = 0; i < shard->ending_count; i++)
			REQUIRE(wh_rank_find(shard->senders, shard->sender_count, shard->ending[i]) >= 0);
	}
}

/* A group could go on from any view that is believed. */
static void go_on(const struct wh_view *view)
{
	struct wh_view *next;

	REQUIRE(wh_view_next(&next, view, &(struct wh_next){.removed = NULL}, &layout, NULL) == WHORL_OK);
	check_view(next);
	wh_view_free(next);
}

static void try_view(const uint8_t *bytes, size_t count, const struct wh_view *expected)
{
	struct wh_view *view = NULL;
	unsigned char *again;
	size_t length;

	if (wh_view_decode(&view, bytes, count, &layout, NODES_MAX, NULL) != WHORL_OK) {
		REQUIRE(view == NULL && expected == NULL);
		return;
	}
	check_view(view);
	REQUIRE(expected == NULL || wh_view_equals(view, expected));
	REQUIRE(wh_view_encode(&again, &length, view) == WHORL_OK);
	REQUIRE(length == count && memcmp(again, bytes, count) == 0);
	go_on(view);
	free(again);
	wh_view_free(view);
}

static void try_report(const uint8_t *bytes, size_t count)
{
	struct wh_report report;
	unsigned char *again;
	size_t length;

	if (wh_report_decode(&report, bytes, count, &layout, NODES_MAX, NULL) != WHORL_OK)
		return;
	REQUIRE(report.disk < NODES_MAX && !wh_standing_is_blank(&report.standing));
	if (report.base != NULL)
		check_view(report.base);
	if (report.next != NULL)
		check_view(report.next);
	REQUIRE(wh_report_encode(&again, &length, &report) == WHORL_OK);
	REQUIRE(length == count && memcmp(again, bytes, count) == 0);
	free(again);
	wh_report_free(&report);
}

static void try_agreement(const uint8_t *bytes, size_t count)
{
	struct wh_agreement agreement;
	unsigned char *again;
	size_t length;

	if (wh_agreement_decode(&agreement, bytes, count, &layout, NODES_MAX, NULL) != WHORL_OK)
		return;
	check_view(agreement.base_view);
	check_view(agreement.next_view);
	REQUIRE(agreement.cut_count == agreement.base_view->subgroup_count);
	REQUIRE(wh_agreement_encode(&again, &length, &agreement) == WHORL_OK);
	REQUIRE(length == count && memcmp(again, bytes, count) == 0);
	free(again);
	wh_agreement_free(&agreement);
}

static void try_set(const uint8_t *bytes, size_t count)
{
	static struct wh_wish_set set;
	static unsigned char again[WH_SET_BYTES_MAX];

	if (!wh_wish_set_decode(&set, bytes, count))
		return;
	REQUIRE(wh_wish_set_encode(again, &set) == count && memcmp(again, bytes, count) == 0);
	for (uint32_t i = 0; i < set.count; i++)
		REQUIRE(wh_wish_find(&set, set.wishes[i].name) == &set.wishes[i] &&
			wh_parameters_hold(&set.wishes[i].parameters));
}

static void try_pieces(struct input *input)
{
	struct wh_view_parts parts = {0};
	struct wh_wire message;

	while (input->left > 0) {
		size_t count = (size_t)take_many(input, 2);

		if (count > input->left)
			count = input->left;
		if (try_message(&message, input->at, count) && message.kind == WH_WIRE_VIEW) {
			if (wh_view_parts_take(&parts, &message) == WHORL_OK)
				try_view(parts.bytes, parts.total, NULL);
			REQUIRE(parts.have <= parts.total && parts.total <= WH_VIEW_BYTES_MAX);
		}
		input->at += count;
		input->left -= count;
	}
	wh_view_parts_free(&parts);
}

/* Of the nodes that are not in `there` those that the bits say; in an order that they say, too. */
static uint32_t take_newcomers(struct input *input, const bool *there, struct wh_newcomer *out)
{
	uint64_t bits = take_many(input, 3);
	uint32_t first = take(input), count = 0;

	for (uint32_t i = 0; i < NODES_MAX; i++) {
		uint32_t id = (first + i) % NODES_MAX;

		if (!there[id] && (bits >> id & 1))
			out[count++] = (struct wh_newcomer){id, 1 + take_many(input, 2)};
	}
	return count;
}

static struct wh_view *follow(struct input *input, struct wh_view *before)
{
	bool there[NODES_MAX] = {false}, removed[NODES_MAX] = {false};
	struct wh_newcomer newcomers[NODES_MAX];
	struct wh_next next = {.removed = removed, .newcomers = newcomers};
	uint64_t rests[6], bits = take_many(input, 3);
	uint32_t stays = take(input) % before->members;
	struct wh_view *view;

	for (uint32_t rank = 0; rank < before->members; rank++) {
		there[before->ids[rank]] = true;
		removed[rank] = rank != stays && (bits >> rank & 1);
	}
	next.newcomer_count = take_newcomers(input, there, newcomers);
	for (uint32_t g = 0; g < 6; g++)
		rests[g] = take_many(input, 1) << take(input) % 32;
	if (take(input) & 1)
		next.rests = rests;
	REQUIRE(wh_view_next(&view, before, &next, &layout, NULL) == WHORL_OK);
	wh_view_free(before);
	return view;
}

/* Writes it and reads it, then with each of the changes up to one that is 0. */
static void send_view(struct input *input, const struct wh_view *view)
{
	unsigned char *bytes, was;
	size_t count, at;

	check_view(view);
	REQUIRE(wh_view_encode(&bytes, &count, view) == WHORL_OK);
	try_view(bytes, count, view);
	while ((at = take_many(input, 2)) != 0) {
		at %= count;
		was = bytes[at];
		bytes[at] = take(input);
		try_view(bytes, count, NULL);
		if (take(input) & 1)
			bytes[at] = was;
	}
	free(bytes);
}

static void try_walk(struct input *input)
{
	const bool nobody[NODES_MAX] = {false};
	struct wh_newcomer newcomers[NODES_MAX];
	uint32_t count = take_newcomers(input, nobody, newcomers), voters = take(input) % (NODES_MAX + 1);
	struct wh_view *view;

	if (count == 0)
		return;
	REQUIRE(wh_view_create(&view, 7, newcomers, count, voters > count ? voters : count, &layout, NULL) == WHORL_OK);
	send_view(input, view);
	while (input->left > 0) {
		view = follow(input, view);
		send_view(input, view);
	}
	wh_view_free(view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {data, size};
	struct wh_wire message;

	switch (take(&input)) {
	case 'm':
		try_message(&message, input.at, input.left);
		break;
	case 'v':
		try_view(input.at, input.left, NULL);
		break;
	case 'r':
		try_report(input.at, input.left);
		break;
	case 'a':
		try_agreement(input.at, input.left);
		break;
	case 's':
		try_set(input.at, input.left);
		break;
	case 'p':
		try_pieces(&input);
		break;
	case 'w':
		try_walk(&input);
		break;
	}
	return 0;
}
