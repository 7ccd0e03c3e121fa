#include "tests/support/serving_lab.h"

static const struct wh_subgroup_text serving_texts[GROUPS] = {{"file", "all", "all", 1, 1},
							      {"some", "all", "one", 1, 1}};
static const struct wh_layout_config serving_layout = {serving_texts, GROUPS, NULL, NULL};

static void lab_note(struct serving_lab *lab, uint32_t node, const struct wh_wire *message)
{
	char *at = lab->sent + strlen(lab->sent);

	if (message->kind == WH_WIRE_WISHES && message->offset == 0)
		sprintf(at, "%u:wishes-%u ", node, (unsigned)message->key);
	else if (message->kind == WH_WIRE_REFUSED)
		sprintf(at, "%u:refused-%u.%u ", node, (unsigned)message->key, message->refusal.wish);
	else if (message->kind == WH_WIRE_NEXT && wh_view_parts_take(&lab->come[node], message) == WHORL_OK)
		sprintf(at, "%u:next-%x ", node, (unsigned)(message->key & UINT32_MAX));
}

enum whorl_result lab_send(struct wh_transport *transport, uint32_t node, const void *bytes, size_t count)
{
	struct serving_lab *lab = (struct serving_lab *)transport;
	struct wh_wire message;

	if (lab->room[node] == 0 || lab->full[node] > 0) {
		lab->full[node] -= lab->full[node] > 0;
		return WHORL_AGAIN;
	}
	lab->room[node]--;
	ck_assert(wh_wire_decode(&message, bytes, count));
	lab_note(lab, node, &message);
	return WHORL_OK;
}

static const struct wh_transport_ops lab_ops = {.name = "by hand", .control_send = lab_send};

struct serving_lab *serving_make(uint32_t me, uint32_t members)
{
	struct serving_lab *lab = calloc(1, sizeof(*lab));

	ck_assert_ptr_nonnull(lab);
	lab->m = member_make(me, members, -1);
	ck_assert_int_eq(view_of_all(&lab->view, members, &serving_layout, NULL), WHORL_OK);
	ck_assert_uint_eq(lab->view->subgroup_count, GROUPS);
	lab->view->number = 6;
	lab->m->view = *lab->view;
	lab->transport.ops = &lab_ops;
	lab->roster = (struct wh_roster){.transport = &lab->transport,
					 .loop = &lab->m->loop,
					 .id = me,
					 .nodes = NODES,
					 .incarnation = incarnation_of(me, 0),
					 .known_nodes = lab->known};
	for (uint32_t node = 0; node < NODES; node++) {
		lab->known[node].incarnation = node < members ? incarnation_of(node, 0) : 10 * (uint64_t)node;
		lab->room[node] = 1000;
	}
	lab->serving.roster = &lab->roster;
	lab->serving.layout = &serving_layout;
	ck_assert_int_eq(wh_serving_init(&lab->serving), WHORL_OK);
	lab->m->change.serving = &lab->serving;
	return lab;
}

void serving_free(struct serving_lab *lab)
{
	for (uint32_t node = 0; node < NODES; node++)
		wh_view_parts_free(&lab->come[node]);
	wh_serving_close(&lab->serving);
	member_free(lab->m);
	wh_view_free(lab->made);
	wh_view_free(lab->view);
	free(lab);
}

void expect_sent(struct serving_lab *lab, const char *expected)
{
	ck_assert_str_eq(lab->sent, expected);
	lab->sent[0] = '\0';
}

void hear_wishes(struct serving_lab *lab, uint32_t node, uint64_t number, const char *text)
{
	unsigned char bytes[WH_SET_BYTES_MAX];
	struct wh_wish_set *set = lab_set(number, text);
	uint32_t count = (uint32_t)wh_wish_set_encode(bytes, set);

	ck_assert(wh_serving_on_message(
		&lab->serving, node,
		&(struct wh_wire){
			.kind = WH_WIRE_WISHES, .key = number, .total = count, .bytes = count, .piece = bytes}));
	free(set);
}

void wish(struct serving_lab *lab, const char *text)
{
	struct wh_wish one;

	lab_take_wish(&one, text);
	ck_assert_int_eq(wh_wishing_add(&lab->serving.wishing, &one), WHORL_OK);
}

void pass_time(struct serving_lab *lab)
{
	member_pass_ns(lab->m, WH_COLLECT_MOST_NS);
	settle(lab->m);
}

uint64_t digest_of(const struct member *m, uint32_t leader, uint64_t attempt)
{
	return said(m, leader, record_word(m, attempt, wh_proposal_words(&m->view) - 2));
}

void expect_opened(const struct serving_lab *lab, const char *text)
{
	char shown[4096];

	ck_assert_ptr_nonnull(lab->m->opened);
	ck_assert_str_eq(lab_show(shown, lab->m->opened), text);
}

/* ---- another leader ----------------------------------------------------------------------------------------------------- */

void make_next_without(struct serving_lab *lab, const bool *removed, uint32_t of, uint64_t number, const char *text)
{
	const struct wh_next next = {.removed = removed, .settles = removed == NULL};
	struct wh_wish_set *set = lab_set(number, text);
	const struct wh_wish_set *sets[WH_NODES_MAX] = {NULL};
	struct wh_composed composed;

	sets[of] = set;
	wh_view_free(lab->made);
	ck_assert_int_eq(wh_view_next(&lab->made, &lab->m->view, &next, &serving_layout, NULL), WHORL_OK);
	ck_assert_int_eq(wh_wishes_compose(&composed, lab->made, &lab->m->view, sets, &serving_layout), WHORL_OK);
	free(composed.refusals);
	free(set);
}

void make_next(struct serving_lab *lab, uint32_t of, uint64_t number, const char *text)
{
	make_next_without(lab, NULL, of, number, text);
}

void send_made(struct serving_lab *lab, uint32_t leader, uint64_t attempt)
{
	unsigned char *bytes;
	size_t count;

	ck_assert_int_eq(wh_view_encode(&bytes, &count, lab->made), WHORL_OK);
	for (size_t at = 0, piece; at < count; at += piece) {
		piece = count - at < 100 ? count - at : 100;
		ck_assert(wh_serving_on_message(&lab->serving, leader,
						&(struct wh_wire){.kind = WH_WIRE_NEXT,
								  .key = wh_image_key(6, leader, attempt),
								  .total = (uint32_t)count,
								  .offset = (uint32_t)at,
								  .bytes = (uint32_t)piece,
								  .piece = bytes + at}));
	}
	free(bytes);
}

void say_digest(struct serving_lab *lab, uint32_t leader, uint64_t attempt, uint64_t digest)
{
	struct member *m = lab->m;

	say_record(m, leader, attempt, "", "");
	say(m, leader, record_word(m, attempt, wh_proposal_words(&m->view) - 2), digest);
	seal_record(m, leader, attempt);
	say(m, leader, m->columns.proposed.offset, attempt);
}

void propose_made(struct serving_lab *lab, uint32_t leader, uint64_t attempt)
{
	unsigned char *bytes;
	size_t count;

	ck_assert_int_eq(wh_view_encode(&bytes, &count, lab->made), WHORL_OK);
	say_digest(lab, leader, attempt, (uint64_t)count << 32 | wh_crc32c(0, bytes, count));
	free(bytes);
}
