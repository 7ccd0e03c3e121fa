#include "tests/support/roster_lab.h"

static void WH_PRINTF(2, 3) note(struct lab *lab, const char *format, ...)
{
	size_t at = strlen(lab->told);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(lab->told + at, sizeof(lab->told) - at, format, arguments);
	va_end(arguments);
}

void expect(struct lab *lab, const char *expected)
{
	ck_assert_str_eq(lab->told, expected);
	lab->told[0] = '\0';
}

void forget(struct lab *lab)
{
	lab->told[0] = '\0';
}

/* ---- the transport ----------------------------------------------------------------------------------------------- */

static void note_intro(struct lab *lab, uint32_t node, const struct wh_wire *message)
{
	if (message->standing != WH_MEMBER_OF && message->flag && !lab->tells_following)
		return;
	if (message->standing == WH_MEMBER_OF)
		note(lab, "%u:member-%" PRIu64 "-of-%u ", node, message->view, message->leader);
	else
		note(lab, "%u:%s-%" PRIx64 " ", node,
		     message->flag                     ? "following"
		     : message->standing == WH_FORMING ? "forming"
						       : "seeking",
		     message->key);
}

static enum whorl_result lab_send(struct wh_transport *transport, uint32_t node, const void *bytes, size_t count)
{
	struct lab *lab = (struct lab *)transport;
	struct wh_wire message;

	ck_assert_uint_lt(node, LAB_NODES);
	ck_assert(wh_wire_decode(&message, bytes, count));
	if (lab->roster.known_nodes[node].incarnation == 0)
		return WHORL_MEMBER_GONE;
	if (lab->room[node] == 0)
		return WHORL_AGAIN;
	lab->room[node]--;
	if (message.kind == WH_WIRE_INTRO || message.kind == WH_WIRE_JOIN) {
		ck_assert_uint_eq(message.incarnation, lab->roster.incarnation);
		ck_assert_uint_eq(message.group_digest, GROUP_DIGEST);
		ck_assert_uint_eq(message.subgroups_digest, SUBGROUPS_DIGEST);
	}
	if (message.kind == WH_WIRE_INTRO)
		note_intro(lab, node, &message);
	else if (message.kind == WH_WIRE_JOIN)
		note(lab, "%u:join ", node);
	else if (message.kind == WH_WIRE_WITHDRAWN)
		note(lab, "%u:withdrawn-%" PRIx64 " ", node, message.key & ~WH_FIRST_KEYS);
	else if (message.kind == WH_WIRE_THERE)
		note(lab, "%u:%s-%" PRIx64 " ", node, message.flag ? "there" : "open", message.key & ~WH_FIRST_KEYS);
	else if (message.kind == WH_WIRE_WISHES)
		note(lab, "%u:wishes-%" PRIu64 " ", node, message.key);
	else
		ck_assert_int_eq(message.kind, WH_WIRE_VIEW);
	if (message.kind == WH_WIRE_VIEW) {
		note(lab, "%u:view-%" PRIx64 "-at-%u ", node, message.key & ~WH_FIRST_KEYS, message.offset);
		lab->whole[node] = wh_view_parts_take(&lab->parts[node], &message) == WHORL_OK;
	}
	return WHORL_OK;
}

static bool lab_searching(struct wh_transport *transport)
{
	return ((struct lab *)transport)->searching;
}

static int lab_holder(struct wh_transport *transport, uint32_t node)
{
	return ((struct lab *)transport)->holders[node];
}

static size_t lab_service(struct wh_transport *transport)
{
	return ((struct lab *)transport)->serviced;
}

static const struct wh_transport_ops lab_ops = {.name = "by hand",
						.control_send = lab_send,
						.searching = lab_searching,
						.holder = lab_holder,
						.service = lab_service};

/* The environment's log. The environment's context is `env` in the lab. */
static void lab_log(void *ctx, enum wh_log_level level, const char *line)
{
	struct lab *lab = (struct lab *)(void *)((char *)ctx - offsetof(struct lab, env));

	lab->warnings += level <= WH_LOG_WARNING;
	if (level <= WH_LOG_WARNING)
		snprintf(lab->line, sizeof(lab->line), "%s", line);
}

/* ---- the participant ------------------------------------------------------------------------------------------------- */

static const struct wh_view *lab_open(void *ctx, const struct wh_next *next, struct wh_view *view, uint64_t key)
{
	struct lab *lab = ctx;

	ck_assert_ptr_null(next);
	ck_assert_ptr_null(lab->opened); /* what was open has been discarded */
	note(lab, "open-");
	for (uint32_t rank = 0; rank < view->members; rank++)
		note(lab, rank == 0 ? "%u" : ",%u", view->ids[rank]);
	note(lab, "-as-%" PRIx64 " ", key & ~WH_FIRST_KEYS);
	lab->rowed = false;
	if (lab->can_open)
		lab->opened = view;
	else
		wh_view_free(view);
	return lab->opened;
}

static bool lab_is_open(void *ctx)
{
	struct lab *lab = ctx;

	ck_assert_ptr_nonnull(lab->opened);
	if (lab->is_open && !lab->rowed)
		note(lab, "row ");
	lab->rowed = lab->rowed || lab->is_open;
	return lab->is_open;
}

static bool lab_has_begun(void *ctx, bool late)
{
	struct lab *lab = ctx;

	ck_assert(lab->rowed);
	lab->late = late;
	return lab->has_begun;
}

static void lab_discard(void *ctx, uint64_t key)
{
	struct lab *lab = ctx;

	ck_assert_uint_eq(key, 0);
	note(lab, "discard ");
	wh_view_free(lab->opened);
	lab->opened = NULL;
}

static void lab_begin(void *ctx)
{
	note(ctx, "begin ");
}

static void lab_told(void *ctx, const struct wh_fact *fact)
{
	struct lab *lab = ctx;

	ck_assert_int_eq(fact->kind, WH_FACT_REFUSED);
	note(lab, "refused ");
	snprintf(lab->why, sizeof(lab->why), "%s", fact->why);
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

struct lab *roster_lab_make(uint32_t me, uint32_t configured)
{
	struct lab *lab = calloc(1, sizeof(*lab));
	struct wh_error err;

	ck_assert_ptr_nonnull(lab);
	fake_env_init(&lab->env);
	lab->env.env.log = lab_log;
	lab->transport.ops = &lab_ops;
	lab->loop = (struct wh_loop){.now_ns = WH_NS_PER_S, .next_ns = UINT64_MAX};
	for (uint32_t i = 0; i < LAB_SUBGROUPS; i++)
		lab->texts[i] = (struct wh_subgroup_text){"main", "all", "all", 1, 1};
	lab->layout = (struct wh_layout_config){.subgroups = lab->texts, .count = 1};
	lab->roster = (struct wh_roster){.diag = &lab->env.diag,
					 .loop = &lab->loop,
					 .transport = &lab->transport,
					 .id = me,
					 .nodes = LAB_NODES,
					 .incarnation = incarnation_of(me, 0),
					 .group_digest = GROUP_DIGEST,
					 .subgroups_digest = SUBGROUPS_DIGEST};
	ck_assert_int_eq(wh_roster_init(&lab->roster, &err), WHORL_OK);
	lab->requests = (struct wh_join_requests){.roster = &lab->roster, .patience_ns = PATIENCE_NS};
	lab->join = (struct wh_join){
		.roster = &lab->roster,
		.requests = &lab->requests,
		.layout = &lab->layout,
		.configured = configured,
		.rule = WH_FORM_MAJORITY,
		.founder = -1,
		.may_form = true,
		.start_timeout_ns = START_NS,
		.patience_ns = PATIENCE_NS,
		.on = {.open = lab_open,
		       .is_open = lab_is_open,
		       .has_begun = lab_has_begun,
		       .discard = lab_discard,
		       .begin = lab_begin,
		       .told = lab_told},
		.ctx = lab,
	};
	for (uint32_t node = 0; node < LAB_NODES; node++)
		lab->room[node] = UINT32_MAX;
	lab->can_open = true;
	return lab;
}

void roster_lab_free(struct lab *lab)
{
	ck_assert_int_eq(lab->env.fatal, 0);
	for (uint32_t node = 0; node < LAB_NODES; node++)
		wh_view_parts_free(&lab->parts[node]);
	wh_view_free(lab->opened);
	wh_join_close(&lab->join);
	wh_join_requests_close(&lab->requests);
	wh_roster_close(&lab->roster);
	free(lab);
}

/* ---- time, and others -------------------------------------------------------------------------------------------- */

void roster_lab_pass_ns(struct lab *lab, uint64_t ns)
{
	lab->loop.now_ns += ns;
}

void meet(struct lab *lab, const char *nodes)
{
	for (; *nodes != '\0'; nodes++)
		wh_roster_met(&lab->roster, (uint32_t)(*nodes - '0'), incarnation_of((uint32_t)(*nodes - '0'), 0));
}

struct wh_wire message_of(struct lab *lab, uint32_t node, enum wh_wire_kind kind)
{
	lab->roster.known_nodes[node].heard_ns = lab->loop.now_ns;
	return (struct wh_wire){.kind = kind,
				.incarnation = lab->roster.known_nodes[node].incarnation,
				.group_digest = GROUP_DIGEST,
				.subgroups_digest = SUBGROUPS_DIGEST};
}

void say_they(struct lab *lab, const char *nodes, enum wh_condition standing, uint64_t key)
{
	for (; *nodes != '\0'; nodes++) {
		struct wh_wire intro = message_of(lab, (uint32_t)(*nodes - '0'), WH_WIRE_INTRO);

		intro.standing = standing;
		intro.key = key;
		wh_roster_on_intro(&lab->roster, (uint32_t)(*nodes - '0'), &intro);
	}
}

void say_member(struct lab *lab, uint32_t node, uint64_t view, uint32_t leader, uint64_t key)
{
	struct wh_wire intro = message_of(lab, node, WH_WIRE_INTRO);

	intro.standing = WH_MEMBER_OF;
	intro.flag = true;
	intro.group = 7;
	intro.view = view;
	intro.leader = leader;
	intro.key = key;
	wh_roster_on_intro(&lab->roster, node, &intro);
}

size_t step(struct lab *lab)
{
	size_t work = 0;

	lab->loop.next_ns = UINT64_MAX;
	if (lab->join.began_ns != 0)
		work += wh_join_step(&lab->join);
	work += wh_join_requests_step(&lab->requests);
	return work + wh_roster_step(&lab->roster);
}

/* ---- views ------------------------------------------------------------------------------------------------------- */

struct wh_view *first_view(const struct lab *lab, const char *ids, uint32_t voters)
{
	struct wh_newcomer newcomers[WH_NODES_MAX];
	uint32_t count = newcomers_of(ids, newcomers);
	struct wh_error err;
	struct wh_view *view;

	ck_assert_int_eq(wh_view_create(&view, 7, newcomers, count, voters, &lab->layout, &err), WHORL_OK);
	return view;
}

struct wh_view *next_view(const struct lab *lab, const struct wh_view *before, const char *without, const char *with)
{
	struct wh_newcomer newcomers[WH_NODES_MAX];
	bool removed[LAB_NODES] = {false};
	struct wh_next next = {.removed = removed, .newcomers = newcomers};
	struct wh_error err;
	struct wh_view *view;

	for (; *without != '\0'; without++)
		removed[*without - '0'] = true;
	next.newcomer_count = newcomers_of(with, newcomers);
	ck_assert_int_eq(wh_view_next(&view, before, &next, &lab->layout, &err), WHORL_OK);
	return view;
}

/* ---- what invites and withdraws ---------------------------------------------------------------------------------- */

bool invite_by(struct lab *lab, uint32_t node, struct wh_view *view, uint64_t key)
{
	struct wh_wire message = message_of(lab, node, WH_WIRE_VIEW);
	unsigned char *bytes;
	bool believed = true;
	size_t count;

	ck_assert_int_eq(wh_view_encode(&bytes, &count, view), WHORL_OK);
	wh_view_free(view);
	message.key = key;
	message.total = (uint32_t)count;
	for (size_t at = 0; believed && at < count; at += message.bytes) {
		message.offset = (uint32_t)at;
		message.bytes = (uint32_t)(count - at < WH_WIRE_PIECE_BYTES ? count - at : WH_WIRE_PIECE_BYTES);
		message.piece = bytes + at;
		believed = wh_join_on_message(&lab->join, node, &message);
	}
	free(bytes);
	return believed;
}

void withdraw(struct lab *lab, uint32_t node, uint64_t key)
{
	struct wh_wire message = message_of(lab, node, WH_WIRE_WITHDRAWN);

	message.key = key;
	ck_assert(wh_join_on_message(&lab->join, node, &message));
}

struct lab *lab_of_three(uint32_t me)
{
	struct lab *lab = roster_lab_make(me, 3);

	lab->searching = true;
	wh_join_begin(&lab->join);
	step(lab);
	return lab;
}
