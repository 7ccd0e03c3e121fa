#include "tests/support/member.h"

static void WH_PRINTF(2, 3) append(struct member *m, const char *format, ...)
{
	size_t at = strlen(m->told);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(m->told + at, sizeof(m->told) - at, format, arguments);
	va_end(arguments);
}

/* ---- the transport ------------------------------------------------------------------------------------------------------- */

void member_post(struct wh_image *image, const struct wh_push *pushes, size_t count)
{
	struct member *m = (struct member *)image;

	m->posts++;
	for (size_t i = 0; i < count; i++) {
		if (pushes[i].kind == WH_PUSH_WORD) /* bytes are in the row already */
			wh_store_release((wh_word *)(void *)(image->own + pushes[i].offset), pushes[i].value);
		m->quiet = pushes[i].no_wake;
		if (pushes[i].offset == m->columns.heartbeat.offset)
			continue;
		ck_assert_uint_lt(m->posted_count, 128);
		m->posted_post[m->posted_count] = m->posts;
		m->posted_to[m->posted_count] = (struct wh_to){pushes[i].to, pushes[i].to_count};
		m->posted[m->posted_count++] = (uint32_t)pushes[i].offset;
	}
}

void member_freeze(struct wh_image *image, uint32_t rank)
{
	struct member *m = (struct member *)image;

	memcpy(m->frozen[rank], m->rows[rank], FAKE_ROW);
	m->control[rank] = m->frozen[rank];
}

bool member_prepares(struct wh_transport *transport)
{
	return ((struct member *)(void *)((char *)transport - offsetof(struct member, transport)))->prepares;
}

const struct wh_transport_ops member_ops = {
	.name = "by hand",
	.post = member_post,
	.freeze = member_freeze,
	.prepares = member_prepares,
};

bool is_frozen(const struct member *m, uint32_t rank)
{
	return m->control[rank] != m->rows[rank];
}

/* ---- the participant ------------------------------------------------------------------------------------------------------ */

/* Which nodes are invited is no question to the participant: it is an event. */
static void note_invitations(struct member *m)
{
	ck_assert_uint_le(m->env.diag.events - m->invitations, WH_EVENT_COUNT);
	for (; m->invitations < m->env.diag.events; m->invitations++) {
		const struct wh_event *event = &m->env.diag.ring[m->invitations & (WH_EVENT_COUNT - 1)];

		if (strcmp(event->what, "invite") != 0)
			continue;
		if (event->a != 0)
			append(m, "invite-%" PRIu64 "-as-%" PRIx64 " ", event->b, event->a - WH_FIRST_KEYS);
		else
			append(m, "recall ");
	}
}

#define tell(m, ...) (note_invitations(m), append(m, __VA_ARGS__))

void forget_told(struct member *m)
{
	note_invitations(m);
	m->told[0] = '\0';
}

void play_newcomers(struct member *m, uint64_t key)
{
	for (uint32_t id = 0; id < NODES; id++) {
		struct wh_known_node *known = &m->roster.known_nodes[id];

		known->incarnation = m->arrivals[id] == WH_ARRIVAL_GONE ? 0 : 10 * (uint64_t)id;
		known->introduced = true;
		known->wanted_ns = m->wants[id] ? m->loop.now_ns : 0;
		known->there = m->arrivals[id] == WH_ARRIVAL_THERE ? key : 0;
	}
}

void arrive(struct member *m, uint32_t id, enum wh_arrival how)
{
	m->arrivals[id] = how;
	play_newcomers(m, wh_ticket_image(&m->change));
}

static void on_wedge(void *ctx)
{
	struct member *m = ctx;

	ck_assert_uint_eq(mine(m, m->columns.wedged.offset), 0); /* it is said afterwards */
	tell(m, "wedge ");
}

const struct wh_view *on_open(void *ctx, const struct wh_next *next, struct wh_view *view, uint64_t key)
{
	struct member *m = ctx;
	const struct wh_view *opens = m->next != NULL ? m->next : &m->view;

	ck_assert(!m->has_open);
	ck_assert_uint_ge(key, m->past);
	m->has_open = !m->cannot_open;
	tell(m, "open-without");
	for (uint32_t rank = 0; rank < m->view.members; rank++)
		if (next->removed[rank])
			tell(m, "-%u", rank);
	for (uint32_t i = 0; i < next->newcomer_count; i++)
		tell(m, "-with-%u.%" PRIu64, next->newcomers[i].id, next->newcomers[i].incarnation);
	for (uint32_t g = 0; g < GROUPS; g++)
		for (uint32_t rank = 0; rank < m->view.members; rank++)
			if (next->rests[g] >> rank & 1)
				tell(m, "-rests-%u.%u", g, rank);
	for (uint32_t g = 0; g < GROUPS; g++)
		for (uint32_t rank = 0; rank < m->view.members; rank++)
			if (next->ended[g] >> rank & 1)
				tell(m, "-ended-%u.%u", g, rank);
	tell(m, next->settles ? "-settles" : "");
	if (next->keeps != 0)
		tell(m, "-keeps-%" PRIx64, next->keeps);
	tell(m, view != NULL ? "-serves" : "");
	wh_view_free(m->opened);
	m->opened = view;
	tell(m, "-as-%" PRIx64 " ", key - WH_FIRST_KEYS);
	play_newcomers(m, key);
	return m->cannot_open ? NULL : opens;
}

bool on_is_open(void *ctx)
{
	struct member *m = ctx;
	void (*meanwhile)(struct member *) = m->meanwhile;

	m->meanwhile = NULL;
	if (meanwhile != NULL)
		meanwhile(m);
	return m->is_open;
}

/* The key, the ballot, and the cut of the first subgroup. */
static bool on_keep(void *ctx, uint64_t key, uint64_t ballot, const uint64_t *cuts)
{
	struct member *m = ctx;
	void (*meanwhile)(struct member *) = m->while_kept;

	tell(m, "keep-%" PRIx64 "-%" PRIu64 "-%" PRIu64 " ", key - WH_FIRST_KEYS, ballot, cuts[0]);
	m->while_kept = NULL;
	if (meanwhile != NULL)
		meanwhile(m);
	return m->kept;
}

void on_discard(void *ctx, uint64_t key)
{
	struct member *m = ctx;

	ck_assert_uint_gt(key, m->past);
	m->past = key;
	if (m->has_open)
		tell(m, "discard ");
	m->has_open = false;
}

static bool on_has_begun(void *ctx, bool late)
{
	struct member *m = ctx;

	ck_assert(!late); /* of first views */
	return m->others_begin;
}

static size_t on_deliver(void *ctx, const uint64_t *cuts, bool *done)
{
	struct member *m = ctx;

	tell(m, "deliver-%" PRIu64 "-%" PRIu64 " ", cuts[0], cuts[1]);
	*done = m->rounds == 0 || --m->rounds == 0;
	return 1;
}

static void on_begin(void *ctx)
{
	struct member *m = ctx;

	ck_assert_uint_eq(mine(m, m->columns.installed.offset), 1);
	tell(m, "install ");
}

static void on_told(void *ctx, const struct wh_fact *fact)
{
	struct member *m = ctx;

	switch (fact->kind) {
	case WH_FACT_SUSPECTED:
		ck_assert_str_ne(fact->why, "");
		/* It is said, and only then nothing more is read of it. */
		ck_assert_uint_ne(*(uint64_t *)(void *)(m->image.own + m->columns.suspicions.offset), 0);
		tell(m, "suspect-%u ", fact->rank);
		break;
	case WH_FACT_BROKEN:
		ck_assert_str_ne(fact->why, "");
		tell(m, "broken-%u ", fact->rank);
		break;
	case WH_FACT_HEARD:
	case WH_FACT_UNHEARD:
		tell(m, fact->kind == WH_FACT_HEARD ? "quorum " : "no-quorum ");
		break;
	case WH_FACT_REMOVED:
		tell(m, "removed-by-%u ", fact->rank);
		break;
	case WH_FACT_CUT_OFF:
		tell(m, "gives-up ");
		break;
	case WH_FACT_REFUSED:
		ck_abort_msg("it is a member");
	}
}

void expect_told(struct member *m, const char *expected)
{
	note_invitations(m);
	ck_assert_str_eq(m->told, expected);
	m->told[0] = '\0';
}

/* ---- rows ------------------------------------------------------------------------------------------------------------------ */

void say(struct member *m, uint32_t rank, uint32_t offset, uint64_t value)
{
	ck_assert_uint_ne(rank, m->image.my_rank);
	wh_store_release((wh_word *)(void *)(m->rows[rank] + offset), value);
}

uint64_t said(const struct member *m, uint32_t rank, uint32_t offset)
{
	return wh_load_acquire((const wh_word *)(const void *)(m->rows[rank] + offset));
}

uint64_t mine(const struct member *m, uint32_t offset)
{
	return said(m, m->image.my_rank, offset);
}

void say_suspected(struct member *m, uint32_t from, uint32_t rank, uint64_t kind)
{
	say(m, from, m->columns.suspected.offset + 8 * rank, kind);
	say(m, from, m->columns.suspicions.offset, said(m, from, m->columns.suspicions.offset) + 1);
}

uint64_t my_suspicion(const struct member *m, uint32_t rank)
{
	return mine(m, m->columns.suspected.offset + 8 * rank);
}

size_t posted_when(const struct member *m, uint32_t offset)
{
	for (size_t i = m->posted_count; i-- > 0;)
		if (m->posted[i] == offset)
			return m->posted_post[i];
	return 0;
}

/* ---- time ------------------------------------------------------------------------------------------------------------------ */

void member_pass_ns(struct member *m, uint64_t ns)
{
	m->env.now_ns += ns;
	m->loop.now_ns += ns;
	for (uint32_t id = 0; id < NODES; id++)
		m->roster.known_nodes[id].wanted_ns = m->wants[id] ? m->loop.now_ns : 0;
}

void beat(struct member *m, uint32_t rank)
{
	say(m, rank, m->columns.heartbeat.offset, (said(m, rank, m->columns.heartbeat.offset) + 4) & ~UINT64_C(1));
}

void beat_deaf(struct member *m, uint32_t rank)
{
	say(m, rank, m->columns.heartbeat.offset, (said(m, rank, m->columns.heartbeat.offset) + 4) | 1);
}

void live(struct member *m, unsigned quarters, const char *heard)
{
	for (unsigned i = 0; i < quarters; i++) {
		for (const char *rank = heard; *rank != '\0'; rank++)
			beat(m, (uint32_t)(*rank - '0'));
		member_pass_ns(m, TIMEOUT_NS / 4);
		wh_change_step(&m->change);
	}
}

void settle(struct member *m)
{
	unsigned passes = 0;

	while (wh_change_step(&m->change) > 0)
		ck_assert_uint_lt(++passes, 100);
}

/* ---- a change of view -------------------------------------------------------------------------------------------------------
 * The key of the image that leader r proposes in attempt a is 7 << 16 | r << 8 | a. */

void die(struct member *m, uint32_t rank)
{
	wh_change_suspect(&m->change, rank, WH_FAILED, "its connection has ended");
}

void member_leave(struct member *m, uint32_t rank)
{
	wh_change_suspect(&m->change, rank, WH_LEFT, "it has left");
}

uint64_t cut_offset(const struct member *m, uint32_t group)
{
	return m->columns.cut.offset + 8 * group;
}

void acknowledge(struct member *m, const char *ranks, uint32_t suspect, uint64_t received, uint64_t ticket)
{
	for (; *ranks != '\0'; ranks++) {
		uint32_t rank = (uint32_t)(*ranks - '0');

		if (said(m, rank, m->columns.suspected.offset + 8 * suspect) == WH_TRUSTED)
			say_suspected(m, rank, suspect, WH_FAILED);
		say(m, rank, m->received_num.offset, received + rank);
		say(m, rank, m->columns.wedged.offset, 1);
		say(m, rank, m->columns.acknowledged.offset, ticket);
	}
}

uint32_t record_word(const struct member *m, uint64_t attempt, uint32_t i)
{
	uint64_t at = (attempt - 1) * wh_proposal_words(&m->view) + i;

	return m->columns.proposal.entries + (uint32_t)(at % m->columns.proposal.capacity) * 8;
}

void seal_record(struct member *m, uint32_t leader, uint64_t attempt)
{
	uint64_t record[256], words = wh_proposal_words(&m->view);

	ck_assert_uint_le(words, sizeof(record) / sizeof(record[0]));
	for (uint32_t i = 0; i + 1 < words; i++)
		record[i] = said(m, leader, record_word(m, attempt, i));
	say(m, leader, record_word(m, attempt, (uint32_t)words - 1), wh_proposal_seal(record, words, attempt));
}

void propose(struct member *m, uint32_t leader, uint64_t attempt, uint32_t without)
{
	if (said(m, leader, m->columns.suspected.offset + 8 * without) == WH_TRUSTED)
		say_suspected(m, leader, without, WH_FAILED);
	say(m, leader, m->columns.left_out.offset + 8 * without, attempt);
	seal_record(m, leader, attempt);
	say(m, leader, m->columns.proposed.offset, attempt);
}

void receive(struct member *m, uint64_t below)
{
	wh_sst_publish(&m->sst, &m->pushes, m->received_num, below, m->heartbeat.peers);
	wh_pushes_post(&m->pushes);
}

void decide(struct member *m, const char *ranks, uint64_t key, uint64_t cut, uint32_t by)
{
	for (; *ranks != '\0'; ranks++) {
		uint32_t rank = (uint32_t)(*ranks - '0');

		say(m, rank, m->columns.image.offset, WH_FIRST_KEYS | key);
		say(m, rank, (uint32_t)cut_offset(m, 0), cut);
		say(m, rank, m->columns.agreed.offset, by + 1);
	}
}

void expect_my_decision(const struct member *m, uint64_t key, uint64_t cut, uint64_t agreed)
{
	ck_assert_uint_eq(mine(m, m->columns.agreed.offset), agreed);
	ck_assert_uint_eq(mine(m, m->columns.image.offset), key > 0 ? WH_FIRST_KEYS | key : 0);
	ck_assert_uint_eq(mine(m, (uint32_t)cut_offset(m, 0)), cut);
	ck_assert_uint_eq(mine(m, (uint32_t)cut_offset(m, 1)), 0);
}

/* ---- making ----------------------------------------------------------------------------------------------------------------- */

static void lay(struct member *m)
{
	m->columns.heartbeat = wh_layout_counter(&m->layout);
	m->columns.suspicions = wh_layout_counter(&m->layout);
	m->columns.wedged = wh_layout_flag(&m->layout);
	m->columns.proposed = wh_layout_counter(&m->layout);
	m->columns.acknowledged = wh_layout_counter(&m->layout);
	m->columns.agreed = wh_layout_counter(&m->layout);
	m->columns.installed = wh_layout_flag(&m->layout);
	m->columns.asked = wh_layout_counter(&m->layout);
	m->columns.confirmed = wh_layout_array(&m->layout, m->view.members);
	m->columns.suspected = wh_layout_array(&m->layout, m->view.members);
	m->columns.left_out = wh_layout_array(&m->layout, m->view.members);
	m->columns.image = wh_layout_counter(&m->layout);
	m->columns.cut = wh_layout_array(&m->layout, GROUPS);
	m->columns.wish = wh_layout_array(&m->layout, GROUPS);
	m->columns.ended = wh_layout_array(&m->layout, GROUPS);
	m->columns.wished = wh_layout_counter(&m->layout);
	m->columns.proposal = wh_layout_list(&m->layout, 2 * wh_proposal_words(&m->view));
	m->received_num = wh_layout_counter(&m->layout);
	m->delivered_num = wh_layout_counter(&m->layout);
	m->persisted_num = wh_layout_counter(&m->layout);
	m->whole = wh_layout_array(&m->layout, GROUPS);
}

struct member *member_make(uint32_t me, uint32_t members, int tie_breaker)
{
	struct member *m = aligned_alloc(64, (sizeof(*m) + 63) / 64 * 64);
	struct wh_error err;

	ck_assert_ptr_nonnull(m);
	memset(m, 0, sizeof(*m));
	fake_env_init(&m->env);
	m->loop.now_ns = m->env.now_ns;
	m->view = (struct wh_view){.number = 6,
				   .members = members,
				   .voters = members,
				   .group = 7,
				   .ids = m->everybody,
				   .incarnations = m->incarnations,
				   .served = m->served,
				   .subgroup_count = GROUPS,
				   .subgroups = m->subgroups};
	for (uint32_t g = 0; g < GROUPS; g++)
		m->subgroups[g] = (struct wh_view_subgroup){.name = "main",
							    .shards = 1,
							    .members = m->everybody,
							    .member_count = members,
							    .resting = m->resting,
							    .ending = m->ending};
	for (uint32_t rank = 0; rank < members; rank++) {
		m->everybody[rank] = rank;
		m->incarnations[rank] = 10 * (uint64_t)rank + 1;
		m->control[rank] = m->row[rank] = m->rows[rank];
	}
	lay(m);
	m->image = (struct wh_image){.ops = &member_ops,
				     .transport = &m->transport,
				     .members = members,
				     .my_rank = me,
				     .own = m->rows[me],
				     .control = m->control,
				     .row = m->row,
				     .ready = true};
	m->cuts_from[0] = (struct wh_cut_source){m->everybody, members, m->received_num, m->delivered_num, false};
	ck_assert_int_eq(wh_sst_init(&m->sst, &m->env.diag, &m->image, &m->layout, &err), WHORL_OK);
	wh_pushes_init(&m->pushes, &m->env.env, &m->push_stats, true);
	m->pushes.image = &m->image;
	m->heartbeat = (struct wh_heartbeat){.loop = &m->loop,
					     .sst = &m->sst,
					     .pushes = &m->pushes,
					     .column = m->columns.heartbeat,
					     .timeout_ns = TIMEOUT_NS,
					     .pushed = &m->beats};
	ck_assert_int_eq(wh_heartbeat_init(&m->heartbeat, &err), WHORL_OK);
	m->roster = (struct wh_roster){.diag = &m->env.diag, .loop = &m->loop, .id = me, .nodes = NODES};
	ck_assert_int_eq(wh_roster_init(&m->roster, &err), WHORL_OK);
	m->roster.view = &m->view;
	m->requests = (struct wh_join_requests){.roster = &m->roster, .patience_ns = TIMEOUT_NS};
	m->change = (struct wh_change){
		.diag = &m->env.diag,
		.loop = &m->loop,
		.sst = &m->sst,
		.pushes = &m->pushes,
		.heartbeat = &m->heartbeat,
		.view = &m->view,
		.columns = m->columns,
		.nodes = NODES,
		.home = UINT32_MAX,
		.tie_breaker = tie_breaker,
		.cuts_from = m->cuts_from,
		.requests = &m->requests,
		.on = {.open = on_open,
		       .is_open = on_is_open,
		       .has_begun = on_has_begun,
		       .discard = on_discard,
		       .begin = on_begin,
		       .wedge = on_wedge,
		       .deliver = on_deliver,
		       .told = on_told},
		.ctx = m,
	};
	ck_assert_int_eq(wh_change_init(&m->change, &err), WHORL_OK);
	wh_heartbeat_begin(&m->heartbeat, NULL);
	m->is_open = true;
	return m;
}

void make_durable(struct member *m, const char *whole)
{
	m->columns.whole = m->change.columns.whole = m->whole;
	m->cuts_from[0] =
		(struct wh_cut_source){m->everybody, m->view.members, m->persisted_num, m->delivered_num, true};
	m->change.on.keep = on_keep;
	for (; *whole != '\0'; whole++) {
		if (*whole - '0' == (int)m->image.my_rank)
			wh_sst_publish_array(&m->sst, &m->pushes, m->whole, 0, 1, m->heartbeat.peers);
		else
			say(m, (uint32_t)(*whole - '0'), m->whole.offset, 1);
	}
	wh_pushes_post(&m->pushes);
}

void member_free(struct member *m)
{
	ck_assert_int_eq(m->env.fatal, 0);
	ck_assert_uint_eq(m->pushes.count, 0); /* nothing was left unsaid */
	wh_change_close(&m->change);
	wh_join_requests_close(&m->requests);
	wh_roster_close(&m->roster);
	wh_heartbeat_close(&m->heartbeat);
	wh_sst_close(&m->sst);
	wh_view_free(m->opened);
	free(m);
}
