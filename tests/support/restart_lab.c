#include "tests/support/restart_lab.h"

void say_of(const struct world *w, const char *format, ...)
{
	va_list arguments;

	if (!w->verbose)
		return;
	va_start(arguments, format);
	printf("%8.3f ", (double)w->now_ns / 1e6);
	vprintf(format, arguments);
	printf("\n");
	va_end(arguments);
}

uint64_t roll(struct world *w, uint64_t below)
{
	w->dice ^= w->dice << 13;
	w->dice ^= w->dice >> 7;
	w->dice ^= w->dice << 17;
	return (w->dice >> 11) % below;
}

/* ---- views ------------------------------------------------------------------------------------------------------------ */

struct known_view *find_known(struct world *w, uint64_t key)
{
	for (size_t i = w->view_count; i-- > 0;)
		if (w->views[i].key == key)
			return &w->views[i];
	return NULL;
}

/* Copies it. A first view that no disk knows of any more, or of another group, may be called as one behind a restart. */
static struct known_view *know_view(struct world *w, uint64_t key, const struct wh_view *view, uint64_t before)
{
	struct known_view *known = find_known(w, key);
	struct wh_error err;

	if (known != NULL && wh_view_equals(known->view, view))
		return known;
	REQUIRE(w, known == NULL || known->view->group != view->group || (known->view->number == 0 && view->number > 0),
		"two views have one key %" PRIx64, key);
	REQUIRE(w, w->view_count < VIEWS, "too many views");
	known = &w->views[w->view_count++];
	*known = (struct known_view){.key = key, .before = before};
	ck_assert_int_eq(wh_view_encode(&known->bytes, &known->count, view), WHORL_OK);
	ck_assert_int_eq(wh_view_decode(&known->view, known->bytes, known->count, &w->layout, NODES, &err), WHORL_OK);
	return known;
}

const struct wh_view_subgroup *shard_at(const struct known_view *known, uint32_t shard)
{
	return &known->view->subgroups[shard];
}

static bool is_in_shard(const struct known_view *known, uint32_t id, uint32_t shard)
{
	int rank = wh_view_rank(known->view, id);
	const struct wh_view_subgroup *it = shard_at(known, shard);

	return rank >= 0 && wh_rank_find(it->members, it->member_count, (uint32_t)rank) >= 0;
}

/* ---- disks ------------------------------------------------------------------------------------------------------------ */

bool is_whole_log(const struct lab_disk *disk, uint32_t shard)
{
	const struct wh_shard_standing *standing = wh_standing_shard(&disk->standing, 0, shard);

	return standing != NULL && standing->whole;
}

static void cut_logs(struct lab_node *node, const struct known_view *known)
{
	for (uint32_t k = 0; k < node->world->shards; k++)
		if (node->disk.logs[k].length > known->start[k])
			node->disk.logs[k].length = known->start[k];
}

/* Where a view that some disk has agreed to begins is known from what it has agreed to. */
static void learn_start(struct world *w, const struct wh_standing *standing)
{
	const struct known_view *base = find_known(w, standing->base);
	struct known_view *next = standing->ballot > 0 ? find_known(w, standing->next) : NULL;

	if (next == NULL || base == NULL || next->before != 0)
		return;
	next->before = base->key;
	next->base = base;
	for (uint32_t k = 0; k < w->shards; k++)
		next->start[k] = base->start[k] + standing->cuts[k];
}

/* What a round has made of it: a node that goes on has not left, and one that enters is not whole. */
static void check_agreement(struct lab_node *node, const struct wh_standing *standing)
{
	struct world *w = node->world;
	const struct wh_standing *old = &node->disk.standing;
	const struct known_view *next = standing->ballot >= WH_RESTART_BALLOTS && standing->next == standing->ballot
						? find_known(w, standing->next)
						: NULL;
	int rank = next != NULL ? wh_view_rank(next->view, node->id) : -1;

	REQUIRE(w, !standing->left || (old->left && old->base == standing->base && rank < 0),
		"%u says that it has left", node->id);
	for (uint32_t i = 0; rank >= 0 && i < standing->shard_count; i++) {
		const struct wh_view_subgroup *shard = shard_at(next, standing->shards[i].shard);

		REQUIRE(w,
			!standing->shards[i].whole ||
				wh_rank_find(shard->entered, shard->entered_count, (uint32_t)rank) < 0,
			"%u enters, and says that its log is whole", node->id);
	}
}

/* It is on disk from now on. */
static void put_standing(struct lab_node *node, struct wh_standing *standing)
{
	struct world *w = node->world;
	const struct known_view *base = find_known(w, standing->base);

	check_agreement(node, standing);
	if (standing->base != node->disk.standing.base && base != NULL) {
		for (uint32_t i = 0; i < standing->shard_count; i++) {
			const struct wh_shard_standing *shard = &standing->shards[i];
			const struct known_view *before = base->base;

			if (shard->whole && shard->before != 0)
				REQUIRE(w,
					before != NULL && base->before == shard->before &&
						base->start[shard->shard] == before->start[shard->shard] + shard->begins,
					"%u believes that view %" PRIx64 " begins elsewhere", node->id, base->key);
			if (shard->whole)
				REQUIRE(w, node->disk.logs[shard->shard].length >= base->start[shard->shard],
					"%u has less in its whole log than view %" PRIx64 " begins with", node->id,
					base->key);
		}
		cut_logs(node, base);
	}
	wh_standing_free(&node->disk.standing);
	node->disk.standing = *standing;
	learn_start(w, &node->disk.standing);
	for (uint32_t i = 0; i < standing->shard_count; i++)
		say_of(w, "disk %u: shard %u of base %" PRIx64 "%s", node->id, standing->shards[i].shard,
		       standing->base, standing->shards[i].whole ? ", whole" : "");
	say_of(w,
	       "disk %u: base %" PRIx64 " number %" PRIu64 " next %" PRIx64 " ballot %" PRIx64 " promised %" PRIx64
	       "%s%s",
	       node->id, standing->base, standing->number, standing->next, standing->ballot, standing->promised,
	       standing->first ? " first" : "", standing->left ? " left" : "");
}

static void settle_disk(struct lab_node *node, bool all)
{
	struct known_view *view;

	if (node->disk.view_pending != 0 && (all || node->disk.view_due_ns <= node->world->now_ns)) {
		view = find_known(node->world, node->disk.view_pending);
		view->on_disk[node->id] = true;
		node->disk.view_pending = 0;
	}
	if (node->disk.has_pending && (all || node->disk.due_ns <= node->world->now_ns)) {
		node->disk.has_pending = false; /* and what it had is the disk's */
		put_standing(node, &node->disk.pending);
	}
}

/* What was being written is there, or not. */
static void lose_disk_tail(struct lab_node *node)
{
	if (roll(node->world, 2) == 0)
		settle_disk(node, true);
	if (node->disk.has_pending)
		wh_standing_free(&node->disk.pending);
	node->disk.has_pending = false;
	node->disk.view_pending = 0;
}

static const struct wh_standing *on_standing(void *ctx, uint32_t disk)
{
	struct lab_node *node = ctx;

	ck_assert_uint_eq(disk, node->id);
	return node->disk.has_pending ? &node->disk.pending : &node->disk.standing;
}

static bool on_keep_standing(void *ctx, uint32_t disk, const struct wh_standing *standing)
{
	struct lab_node *node = ctx;
	struct world *w = node->world;

	ck_assert_uint_eq(disk, node->id);
	settle_disk(node, false);
	if (!node->disk.has_pending && wh_standing_equals(&node->disk.standing, standing))
		return true;
	if (node->disk.has_pending && wh_standing_equals(&node->disk.pending, standing))
		return false;
	settle_disk(node, true); /* one after the other */
	ck_assert_int_eq(wh_standing_copy(&node->disk.pending, standing), WHORL_OK);
	node->disk.has_pending = true;
	node->disk.due_ns = w->now_ns + roll(w, 3 * WH_NS_PER_MS);
	return false;
}

static bool on_keep_view(void *ctx, uint32_t disk, uint64_t key, const unsigned char *bytes, size_t count)
{
	struct lab_node *node = ctx;
	struct world *w = node->world;
	struct wh_view *view;
	struct known_view *known;
	struct wh_error err;

	ck_assert_uint_eq(disk, node->id);
	ck_assert_int_eq(wh_view_decode(&view, bytes, count, &w->layout, NODES, &err), WHORL_OK);
	known = know_view(w, key, view, 0);
	wh_view_free(view);
	settle_disk(node, false);
	if (known->on_disk[node->id])
		return true;
	if (node->disk.view_pending == key)
		return false;
	settle_disk(node, true);
	node->disk.view_pending = key;
	node->disk.view_due_ns = w->now_ns + roll(w, WH_NS_PER_MS);
	return false;
}

static bool on_view(void *ctx, uint32_t disk, uint64_t key, const unsigned char **bytes, size_t *count)
{
	struct lab_node *node = ctx;
	const struct known_view *known = find_known(node->world, key);

	ck_assert_uint_eq(disk, node->id);
	if (known == NULL || !known->on_disk[node->id])
		return false;
	*bytes = known->bytes;
	*count = known->count;
	return true;
}

static void on_log(void *ctx, uint32_t disk, uint64_t subgroup, uint32_t shard, struct wh_log_report *out)
{
	struct lab_node *node = ctx;
	const struct known_view *base = find_known(node->world, node->disk.standing.base);
	uint64_t length = node->disk.logs[shard].length, start = base != NULL ? base->start[shard] : 0;

	ck_assert_uint_eq(disk, node->id);
	ck_assert_uint_eq(subgroup, 0);
	*out = (struct wh_log_report){.rotten = node->disk.rotten, .extent = length > start ? length - start : 0};
}

static bool on_is_durable(void *ctx, const struct wh_view_subgroup *subgroup)
{
	(void)ctx;
	return subgroup->configured == 0;
}

/* As a member, by the lab's word: this view has begun here, and something is written there. */
static void enter_view(struct lab_node *node, const struct known_view *known)
{
	struct wh_standing *old = &node->disk.standing, standing = {.group = known->view->group,
								    .base = known->key,
								    .number = known->view->number,
								    .promised = old->promised};
	const struct known_view *before = known->base;

	settle_disk(node, true);
	if (old->base == known->key) {
		old->first = false;
		return;
	}
	standing.shards = calloc(SHARDS, sizeof(*standing.shards));
	standing.others = calloc(SHARDS, sizeof(*standing.others));
	for (uint32_t k = 0; k < node->world->shards; k++) {
		const struct wh_shard_standing *was = wh_standing_shard(old, 0, k);
		uint64_t begins = before != NULL ? known->start[k] - before->start[k] : 0;

		if (!is_in_shard(known, node->id, k))
			standing.others[standing.other_count++] = (struct wh_shard_begin){0, k, known->before, begins};
		else
			standing.shards[standing.shard_count++] =
				(struct wh_shard_standing){.subgroup = 0,
							   .shard = k,
							   .before = was != NULL ? known->before : 0,
							   .begins = was != NULL ? begins : 0,
							   .whole = was != NULL && was->whole};
	}
	find_known(node->world, known->key)->on_disk[node->id] = true;
	put_standing(node, &standing);
}

/* ---- which are there ------------------------------------------------------------------------------------------------------ */

static bool is_living(struct world *w, uint32_t id)
{
	const struct known_view *now = find_known(w, w->now);
	const struct lab_node *node = &w->node[id];

	return now != NULL && node->up && node->view_key == w->now &&
	       wh_view_rank_of(now->view, id, node->roster.incarnation) >= 0;
}

/* A member of the newest view that has yet to install it. */
static bool is_behind(struct world *w, uint32_t id)
{
	const struct known_view *now = find_known(w, w->now);
	const struct lab_node *node = &w->node[id];

	return now != NULL && node->up && node->view_key != 0 && node->view_key == now->before &&
	       node->disk.standing.next == w->now && wh_view_rank_of(now->view, id, node->roster.incarnation) >= 0;
}

static bool is_quorum_of(struct world *w, const bool *set, const struct known_view *known)
{
	struct wh_quorum quorum = {.members = known->view->voters, .tie_breaker = w->tie_breaker};
	uint32_t votes = 0;

	for (uint32_t rank = 0; rank < known->view->members; rank++) {
		uint32_t id = known->view->ids[rank];

		quorum.members -= w->left[id];
		votes += set[id] && !w->left[id];
	}
	return wh_quorum_holds(&quorum, votes, w->tie_breaker >= 0 && set[w->tie_breaker] && !w->left[w->tie_breaker]);
}

/* Living members that reach each other; all of them, but in the middle of cuts. */
static bool goes_on(struct world *w)
{
	bool set[NODES];
	bool any = false;

	for (uint32_t i = 0; i < w->nodes; i++) {
		set[i] = is_living(w, i);
		any = any || set[i];
	}
	return any && is_quorum_of(w, set, find_known(w, w->now));
}

/* ---- a view begins ----------------------------------------------------------------------------------------------------- */

static void deliver_to(struct world *w, uint32_t shard, uint64_t to)
{
	for (; w->delivered[shard] < to; w->delivered[shard]++)
		w->log[shard][w->delivered[shard]] = w->order[shard][w->delivered[shard]];
}

static void deliver(struct world *w)
{
	const struct known_view *now = find_known(w, w->now);

	for (uint32_t k = 0; now != NULL && k < w->shards; k++) {
		uint64_t least = LENGTH;

		for (uint32_t i = 0; i < w->nodes; i++)
			if (is_in_shard(now, i, k) && w->said[i][k] < least)
				least = w->said[i][k];
		if (shard_at(now, k)->member_count > 0)
			deliver_to(w, k, least);
	}
}

/* The first node begins it. */
static void become_now(struct world *w, struct known_view *next)
{
	const struct known_view *now = find_known(w, w->now);
	bool same_group = now != NULL && now->view->group == next->view->group;

	if (now != NULL && same_group)
		REQUIRE(w, next->view->number > now->view->number,
			"two views of number %" PRIu64 ": %" PRIx64 " and %" PRIx64, next->view->number, now->key,
			next->key);
	for (uint32_t k = 0; k < w->shards; k++) {
		if (now != NULL && !same_group)
			REQUIRE(w, w->delivered[k] == 0, "a group begins beside one that has delivered");
		if (shard_at(next, k)->member_count > 0)
			REQUIRE(w, next->start[k] >= w->delivered[k],
				"view %" PRIx64 " begins at %" PRIu64 " of shard %u, and %" PRIu64 " are delivered",
				next->key, next->start[k], k, w->delivered[k]);
		w->sent[k] = next->start[k];
		for (uint32_t i = 0; i < w->nodes; i++)
			w->said[i][k] = next->start[k];
	}
	say_of(w, "-- view %" PRIx64 " number %" PRIu64 " begins, %u members, start %" PRIu64 " %" PRIu64, next->key,
	       next->view->number, next->view->members, next->start[0], next->start[1]);
	w->now = next->key;
	next->begun = true;
	w->ballot = w->newcomer = 0;
	w->changes = false;
	memset(w->wedged, 0, sizeof(w->wedged));
	memset(w->trusted, 0, sizeof(w->trusted));
	memset(w->left, 0, sizeof(w->left));
	memset(w->row, 0, sizeof(w->row));
}

/* What its whole logs have is what was delivered, and the same in all of them. */
static void replay(struct world *w, const struct known_view *next)
{
	for (uint32_t k = 0; k < w->shards; k++) {
		const struct wh_view_subgroup *shard = shard_at(next, k);
		const struct lab_log *one = NULL;

		for (uint32_t i = 0; i < shard->member_count; i++) {
			const struct lab_node *node = &w->node[next->view->ids[shard->members[i]]];
			const struct lab_log *log = &node->disk.logs[k];

			if (wh_rank_find(shard->entered, shard->entered_count, shard->members[i]) >= 0)
				continue;
			REQUIRE(w, is_whole_log(&node->disk, k), "%u has not entered, and its log is not whole",
				node->id);
			REQUIRE(w, log->length >= next->start[k], "the log of %u is too short", node->id);
			REQUIRE(w, memcmp(log->messages, w->log[k], w->delivered[k] * sizeof(*w->log[k])) == 0,
				"what %u has is not what was delivered", node->id);
			REQUIRE(w,
				one == NULL ||
					memcmp(log->messages, one->messages, next->start[k] * sizeof(*w->log[k])) == 0,
				"two have different logs");
			one = log;
		}
		REQUIRE(w, one != NULL || shard->member_count == 0, "nobody has the log of shard %u", k);
		if (one != NULL)
			memcpy(w->order[k], one->messages, next->start[k] * sizeof(*w->order[k]));
		deliver_to(w, k, next->start[k]);
	}
}

static void begin_view(struct lab_node *node, struct known_view *known)
{
	struct world *w = node->world;

	if (w->now != known->key && !known->begun) { /* else the others have gone on already: it will hear that */
		REQUIRE(w, !goes_on(w), "view %" PRIx64 " begins, and a quorum goes on in %" PRIx64, known->key,
			w->now);
		become_now(w, known);
		if (known->view->number > 0) {
			replay(w, known);
			w->restarts++;
		} else {
			w->formed++;
		}
	}
	node->view_key = known->key;
	if (roll(w, 2) == 0 && known->view->number > 0) /* the worker was quick */
		enter_view(node, known);
}

/* ---- a way in ---------------------------------------------------------------------------------------------------------- */

static bool reaches(const struct lab_node *node, uint32_t id, uint64_t incarnation)
{
	const struct lab_node *other = &node->world->node[id];

	return other == node ||
	       (other->up && other->roster.incarnation == incarnation && node->world->linked[node->id][id]);
}

static const struct wh_view *lab_open_view(void *ctx, const struct wh_next *next, struct wh_view *view, uint64_t key)
{
	struct lab_node *node = ctx;

	ck_assert_ptr_null(next);
	ck_assert_ptr_null(node->opened);
	node->opened = view;
	node->opened_key = key;
	node->rowed = false;
	say_of(node->world, "%u opens %" PRIx64 " number %" PRIu64, node->id, key, view->number);
	return view;
}

static bool keep_first(struct lab_node *node)
{
	struct world *w = node->world;
	struct known_view *known = know_view(w, node->opened_key, node->opened, 0);
	struct wh_standing standing = {.group = node->opened->group, .base = node->opened_key, .first = true};
	bool kept;

	standing.shards = calloc(SHARDS, sizeof(*standing.shards));
	for (uint32_t k = 0; k < w->shards; k++)
		if (is_in_shard(known, node->id, k))
			standing.shards[standing.shard_count++] =
				(struct wh_shard_standing){.subgroup = 0, .shard = k, .whole = true};
	known->on_disk[node->id] = true;
	kept = on_keep_standing(node, node->id, &standing);
	wh_standing_free(&standing);
	return kept;
}

static bool lab_view_is_open(void *ctx)
{
	struct lab_node *node = ctx;
	const struct wh_view *view = node->opened;

	if (node->rowed || node->opens_late)
		return node->rowed;
	for (uint32_t rank = 0; rank < view->members; rank++) {
		const struct lab_node *other = &node->world->node[view->ids[rank]];

		if (wh_join_misses(&node->join, rank))
			continue;
		if (!reaches(node, view->ids[rank], view->incarnations[rank]) ||
		    (other->opened_key != node->opened_key && other->view_key != node->opened_key))
			return false;
	}
	if (view->number == 0 && !keep_first(node))
		return false;
	REQUIRE(node->world, view->number == 0 || node->disk.standing.next == node->opened_key,
		"%u is there before its disk has agreed", node->id);
	node->rowed = true;
	return true;
}

static bool lab_view_has_begun(void *ctx, bool late)
{
	struct lab_node *node = ctx;
	const struct wh_view *view = node->opened;
	bool all = true;

	(void)late;
	for (uint32_t rank = 0; rank < view->members; rank++) {
		const struct lab_node *other = &node->world->node[view->ids[rank]];
		bool lost = view->number > 0 &&
			    wh_roster_lost(&node->roster, view->ids[rank], view->incarnations[rank], node->opened_key);

		if (!reaches(node, view->ids[rank], view->incarnations[rank])) {
			all = all && lost;
			continue;
		}
		if (other->view_key == node->opened_key)
			return true;
		all = all && (lost || (other->opened_key == node->opened_key && other->rowed));
	}
	if (view->number > 0)
		all = all && wh_restart_may_begin(&node->restart, node->opened_key) &&
		      wh_restart_is_enough(&node->join, view, node->opened_key);
	return all;
}

static void lab_discard_view(void *ctx, uint64_t key)
{
	struct lab_node *node = ctx;

	ck_assert_uint_eq(key, 0);
	wh_view_free(node->opened);
	node->opened = NULL;
	node->opened_key = 0;
	node->rowed = false;
}

static void lab_begin_view(void *ctx)
{
	struct lab_node *node = ctx;
	struct known_view *known = know_view(node->world, node->opened_key, node->opened, 0);

	learn_start(node->world, &node->disk.standing);
	lab_discard_view(node, 0);
	say_of(node->world, "%u begins %" PRIx64, node->id, known->key);
	begin_view(node, known);
	wh_join_requests_settle(&node->requests, known->view);
}

static void lab_told(void *ctx, const struct wh_fact *fact)
{
	struct lab_node *node = ctx;

	ck_assert_int_eq(fact->kind, WH_FACT_REFUSED);
	REQUIRE(node->world, node->may_be_refused, "%u is refused: %s", node->id, fact->why);
	node->is_refused = true;
}

/* ---- messages ---------------------------------------------------------------------------------------------------------- */

static enum whorl_result lab_post(struct wh_transport *transport, uint32_t to, const void *bytes, size_t count)
{
	struct lab_node *node = (struct lab_node *)transport;
	struct world *w = node->world;
	struct packet *packet;

	if (!w->linked[node->id][to])
		return WHORL_MEMBER_GONE;
	if (roll(w, 30) == 0)
		return WHORL_AGAIN;
	REQUIRE(w, w->packet_count < PACKETS, "too many messages");
	packet = &w->packets[w->packet_count++];
	packet->from = node->id;
	packet->to = to;
	packet->due_ns = w->now_ns + roll(w, WH_NS_PER_MS);
	packet->bytes = count;
	memcpy(packet->message, bytes, count);
	return WHORL_OK;
}

static bool lab_looks(struct wh_transport *transport)
{
	const struct lab_node *node = (struct lab_node *)transport;

	return node->world->now_ns < node->up_ns + 3 * WH_NS_PER_MS;
}

static size_t lab_serve(struct wh_transport *transport)
{
	(void)transport;
	return 0;
}

static const struct wh_transport_ops restart_lab_ops = {
	.name = "in memory", .control_send = lab_post, .searching = lab_looks, .service = lab_serve};

static void take_message(struct lab_node *node, uint32_t from, const struct wh_wire *message)
{
	bool is_member = node->view_key != 0 || node->coming;

	node->roster.known_nodes[from].heard_ns = node->loop.now_ns;
	switch (message->kind) {
	case WH_WIRE_INTRO:
		wh_roster_on_intro(&node->roster, from, message);
		break;
	case WH_WIRE_JOIN:
	case WH_WIRE_THERE:
		(void)wh_join_requests_on_message(&node->requests, from, message, false);
		break;
	case WH_WIRE_VIEW:
	case WH_WIRE_WITHDRAWN:
		if (is_member)
			wh_roster_dropped(&node->roster, from, message);
		else
			ck_assert(wh_join_on_message(&node->join, from, message));
		break;
	default:
		if (!is_member)
			ck_assert(wh_join_on_message(&node->join, from, message));
		break;
	}
}

/* The first that is due between its two nodes: messages do not overtake each other. */
static bool take_packet(struct world *w)
{
	bool blocked[NODES][NODES] = {{false}};

	for (size_t i = 0; i < w->packet_count; i++) {
		struct packet packet = w->packets[i];
		struct lab_node *node = &w->node[packet.to];
		struct wh_wire message;

		if (blocked[packet.from][packet.to])
			continue;
		if (packet.due_ns > w->now_ns) {
			blocked[packet.from][packet.to] = true;
			continue;
		}
		memmove(&w->packets[i], &w->packets[i + 1], (--w->packet_count - i) * sizeof(packet));
		node->loop.now_ns = w->now_ns;
		if (node->hangs)
			return true;
		ck_assert(wh_wire_decode(&message, packet.message, packet.bytes));
		take_message(node, packet.from, &message);
		return true;
	}
	return false;
}

void link_nodes(struct world *w, uint32_t one, uint32_t other)
{
	if (w->linked[one][other] || w->cut[one][other] || !w->node[one].up || !w->node[other].up ||
	    w->parted[one][other] == w->node[one].lives + w->node[other].lives)
		return;
	w->linked[one][other] = w->linked[other][one] = true;
	w->node[one].loop.now_ns = w->node[other].loop.now_ns = w->now_ns;
	wh_roster_met(&w->node[one].roster, other, w->node[other].roster.incarnation);
	wh_roster_met(&w->node[other].roster, one, w->node[one].roster.incarnation);
}

void unlink_nodes(struct world *w, uint32_t one, uint32_t other)
{
	if (!w->linked[one][other])
		return;
	w->linked[one][other] = w->linked[other][one] = false;
	w->parted[one][other] = w->parted[other][one] = w->node[one].lives + w->node[other].lives;
	for (size_t i = w->packet_count; i-- > 0;)
		if ((w->packets[i].from == one && w->packets[i].to == other) ||
		    (w->packets[i].from == other && w->packets[i].to == one))
			memmove(&w->packets[i], &w->packets[i + 1], (--w->packet_count - i) * sizeof(w->packets[0]));
	for (int side = 0; side < 2; side++) {
		struct lab_node *node = &w->node[side == 0 ? one : other];

		wh_view_parts_free(&node->restart.parts[side == 0 ? other : one]);
		if (node->up)
			wh_roster_gone(&node->roster, side == 0 ? other : one);
	}
}

/* ---- lives ------------------------------------------------------------------------------------------------------------- */

static uint64_t lab_random(void *ctx)
{
	struct lab_node *node = (struct lab_node *)(void *)((char *)ctx - offsetof(struct lab_node, env));

	return roll(node->world, UINT64_C(1) << 50);
}

void start_node(struct world *w, uint32_t id)
{
	struct lab_node *node = &w->node[id];
	struct lab_disk disk = node->disk;
	uint32_t lives = node->lives + 1;
	struct wh_error err;

	memset(node, 0, sizeof(*node));
	node->disk = disk;
	node->lives = lives;
	node->world = w;
	node->id = id;
	node->up = true;
	node->up_ns = w->now_ns;
	fake_env_init(&node->env);
	node->env.env.random_u64 = lab_random;
	node->transport.ops = &restart_lab_ops;
	node->loop = (struct wh_loop){.now_ns = w->now_ns, .next_ns = UINT64_MAX};
	node->roster = (struct wh_roster){.diag = &node->env.diag,
					  .loop = &node->loop,
					  .transport = &node->transport,
					  .id = id,
					  .nodes = NODES,
					  .incarnation = incarnation_of(id, lives)};
	ck_assert_int_eq(wh_roster_init(&node->roster, &err), WHORL_OK);
	node->requests = (struct wh_join_requests){.roster = &node->roster, .patience_ns = 50 * WH_NS_PER_MS};
	node->restart = (struct wh_restart){.on = {.standing = on_standing,
						   .keep_standing = on_keep_standing,
						   .keep_view = on_keep_view,
						   .view = on_view,
						   .log = on_log,
						   .is_durable = on_is_durable},
					    .ctx = node,
					    .tie_breaker = w->tie_breaker,
					    .home = UINT32_MAX};
	ck_assert_int_eq(wh_restart_init(&node->restart, id, NODES, &err), WHORL_OK);
	node->join = (struct wh_join){.roster = &node->roster,
				      .requests = &node->requests,
				      .layout = &w->layout,
				      .configured = w->nodes,
				      .rule = WH_FORM_ALL,
				      .founder = -1,
				      .may_form = true,
				      .start_timeout_ns = START_NS,
				      .patience_ns = 2 * START_NS,
				      .restart = &node->restart,
				      .on = {.open = lab_open_view,
					     .is_open = lab_view_is_open,
					     .has_begun = lab_view_has_begun,
					     .discard = lab_discard_view,
					     .begin = lab_begin_view,
					     .told = lab_told},
				      .ctx = node};
	say_of(w, "%u starts", id);
}

void end_node(struct world *w, uint32_t id)
{
	struct lab_node *node = &w->node[id];

	if (!node->up)
		return;
	say_of(w, "%u ends", id);
	node->up = false;
	for (uint32_t other = 0; other < w->nodes; other++)
		unlink_nodes(w, id, other);
	ck_assert_int_eq(node->env.fatal, 0);
	wh_view_free(node->opened);
	node->opened = NULL;
	node->opened_key = 0;
	node->view_key = 0;
	node->coming = false;
	wh_join_close(&node->join);
	wh_join_requests_close(&node->requests);
	wh_roster_close(&node->roster);
	lose_disk_tail(node);
}

static void introduce_member(struct lab_node *node)
{
	struct world *w = node->world;
	const struct known_view *known = find_known(w, node->view_key);
	bool set[NODES] = {false};
	struct wh_wire intro = {.standing = WH_MEMBER_OF,
				.view = known->view->number,
				.group = known->view->group,
				.leader = known->view->ids[0],
				.key = known->key};

	for (uint32_t i = 0; i < w->nodes; i++)
		set[i] = w->node[i].up && w->node[i].view_key == node->view_key &&
			 (i == node->id || w->linked[node->id][i]);
	intro.flag = is_quorum_of(w, set, known);
	wh_roster_introduce(&node->roster, &intro, known->view);
}

static void say_events(struct lab_node *node)
{
	for (; node->world->verbose && node->events < node->env.diag.events; node->events++) {
		const struct wh_event *event = &node->env.diag.ring[node->events & (WH_EVENT_COUNT - 1)];

		say_of(node->world, "%u: %s %" PRIx64 " %" PRIx64 " %" PRIx64, node->id, event->what, event->a,
		       event->b, event->c);
	}
}

static void step_node(struct world *w, uint32_t id)
{
	struct lab_node *node = &w->node[id];

	if (!node->up || node->hangs)
		return;
	node->loop.now_ns = w->now_ns;
	node->loop.next_ns = UINT64_MAX;
	settle_disk(node, false);
	if (node->view_key != 0) {
		introduce_member(node);
	} else if (!node->coming) {
		if (!node->began)
			wh_join_begin(&node->join);
		node->began = true;
		(void)wh_join_step(&node->join);
	}
	(void)wh_join_requests_step(&node->requests);
	(void)wh_roster_step(&node->roster);
	say_events(node);
}

/* ---- what members do ---------------------------------------------------------------------------------------------------- */

void send_message(struct world *w, uint32_t id)
{
	const struct known_view *now = find_known(w, w->now);

	for (uint32_t k = 0; is_living(w, id) && !w->wedged[id] && !w->changes && k < w->shards; k++)
		if (is_in_shard(now, id, k) && w->sent[k] < LENGTH)
			w->order[k][w->sent[k]++] = ++w->messages;
}

/* The disk has said what follows the view that goes on. */
static bool has_agreed(const struct lab_node *node)
{
	return node->disk.standing.base == node->world->now && node->disk.standing.ballot > 0;
}

void persist(struct world *w, uint32_t id)
{
	const struct known_view *now = find_known(w, w->now);
	struct lab_node *node = &w->node[id];

	for (uint32_t k = 0; is_living(w, id) && !node->disk.standing.left && k < w->shards; k++) {
		struct lab_log *log = &node->disk.logs[k];

		if (!is_in_shard(now, id, k) || !is_whole_log(&node->disk, k) || w->said[id][k] >= w->sent[k] ||
		    log->length >= w->sent[k])
			continue;
		if (has_agreed(node))
			continue;
		enter_view(node, now);
		REQUIRE(w, log->length >= now->start[k], "%u has lost what is before view %" PRIx64, id, now->key);
		log->messages[log->length] = w->order[k][log->length];
		log->length++;
		if (!w->wedged[id])
			w->said[id][k] = log->length;
	}
	deliver(w);
}

void mark_whole(struct world *w, uint32_t id)
{
	const struct known_view *now = find_known(w, w->now);
	struct lab_node *node = &w->node[id];

	for (uint32_t k = 0; is_living(w, id) && !node->disk.standing.left && !has_agreed(node) && k < w->shards; k++) {
		bool given = false;

		for (uint32_t i = 0; i < w->nodes; i++)
			given = given || (i != id && is_living(w, i) && is_in_shard(now, i, k) &&
					  is_whole_log(&w->node[i].disk, k));
		if (!is_in_shard(now, id, k) || is_whole_log(&node->disk, k) || !given)
			continue;
		enter_view(node, now);
		memcpy(node->disk.logs[k].messages, w->order[k], now->start[k] * sizeof(*w->order[k]));
		node->disk.logs[k].length = now->start[k];
		node->disk.rotten = false;
		wh_standing_shard(&node->disk.standing, 0, k)->whole = true;
	}
}

static bool keeps_shards(struct world *w, const bool *set)
{
	const struct known_view *now = find_known(w, w->now);

	for (uint32_t k = 0; k < w->shards; k++) {
		bool any = false, whole = false;

		for (uint32_t i = 0; i < w->nodes; i++) {
			any = any || (set[i] && is_in_shard(now, i, k));
			whole = whole || (set[i] && is_in_shard(now, i, k) && is_whole_log(&w->node[i].disk, k));
		}
		if (shard_at(now, k)->member_count > 0 && !(any && whole))
			return false;
	}
	return true;
}

void begin_change(struct world *w, const bool *set, uint32_t newcomer)
{
	const struct known_view *now = find_known(w, w->now);
	bool removed[WH_NODES_MAX], agreed = false;
	struct wh_newcomer comer = {0, 0};
	struct wh_next next = {.removed = removed, .newcomers = &comer, .newcomer_count = newcomer != 0};
	struct known_view *known;
	struct wh_view *view;
	struct wh_error err;
	uint32_t leader = 0;

	for (uint32_t rank = now->view->members; rank-- > 0;) {
		uint32_t id = now->view->ids[rank];

		removed[rank] = !set[id];
		agreed = agreed || (set[id] && w->row[id] != 0);
		leader = set[id] ? rank : leader;
		w->wedged[id] = w->wedged[id] || set[id];
	}
	memcpy(w->trusted, set, sizeof(w->trusted));
	w->ballot++;
	w->changes = true;
	if (agreed)
		return; /* adopted */
	if (newcomer != 0)
		comer = (struct wh_newcomer){newcomer - 1, w->node[newcomer - 1].roster.incarnation};
	w->newcomer = newcomer;
	ck_assert_int_eq(wh_view_next(&view, now->view, &next, &w->layout, &err), WHORL_OK);
	w->next = wh_image_key(now->view->number, leader, ++w->attempts);
	known = know_view(w, w->next, view, now->key);
	known->base = now;
	wh_view_free(view);
	for (uint32_t k = 0; k < w->shards; k++) {
		uint64_t cut = LENGTH;

		for (uint32_t i = 0; i < w->nodes; i++)
			if (set[i] && is_in_shard(now, i, k) && w->said[i][k] < cut)
				cut = w->said[i][k];
		known->start[k] = cut < LENGTH ? cut : now->start[k];
	}
	say_of(w, "change to %" PRIx64 ", start %" PRIu64 " %" PRIu64, w->next, known->start[0], known->start[1]);
}

void echo(struct world *w, uint32_t id)
{
	const struct known_view *now = find_known(w, w->now), *next = find_known(w, w->next);
	struct lab_node *node = &w->node[id];
	struct wh_standing standing;

	if (!w->changes || !w->trusted[id] || !is_living(w, id) || w->row[id] >= w->ballot || node->disk.standing.left)
		return;
	enter_view(node, now);
	ck_assert_int_eq(wh_standing_copy(&standing, &node->disk.standing), WHORL_OK);
	free(standing.cuts);
	standing.cut_count = now->view->subgroup_count;
	standing.cuts = calloc(standing.cut_count, sizeof(*standing.cuts));
	for (uint32_t k = 0; k < w->shards; k++)
		standing.cuts[k] = next->start[k] - now->start[k];
	standing.ballot = w->ballot;
	standing.next = w->next;
	find_known(w, w->next)->on_disk[id] = true;
	put_standing(node, &standing);
	w->row[id] = w->ballot;
}

static void come_in(struct lab_node *node, uint64_t key)
{
	wh_restart_forget(&node->join);
	if (node->join.view != NULL)
		wh_join_drop(&node->join, "comes in");
	node->view_key = key;
	node->coming = false;
}

void install(struct world *w, uint32_t id)
{
	struct known_view *next = find_known(w, w->next);
	struct lab_node *node = &w->node[id];
	uint32_t newcomer = (uint32_t)w->newcomer;
	bool any = false;

	if (is_behind(w, id))
		node->view_key = w->now;
	if (!w->changes || !is_living(w, id) || !w->trusted[id])
		return;
	for (uint32_t i = 0; i < w->nodes; i++) {
		any = any || w->trusted[i];
		if (w->trusted[i] && (!is_living(w, i) || w->row[i] != w->ballot))
			return;
	}
	if (!any)
		return;
	for (uint32_t k = 0; k < w->shards; k++)
		deliver_to(w, k,
			   next->start[k] > w->delivered[k] && next->start[k] <= w->sent[k] ? next->start[k]
											    : w->delivered[k]);
	become_now(w, next);
	node->view_key = w->now;
	if (newcomer != 0 && w->node[newcomer - 1].up && w->node[newcomer - 1].coming)
		come_in(&w->node[newcomer - 1], w->now);
}

void change(struct world *w)
{
	const struct known_view *now = find_known(w, w->now);
	bool set[NODES] = {false}, smaller = false, all = true;

	if (now == NULL)
		return;
	for (uint32_t rank = 0; rank < now->view->members; rank++) {
		uint32_t id = now->view->ids[rank];

		set[id] = is_living(w, id) && !w->node[id].disk.standing.left && (!w->changes || w->trusted[id]);
		if (w->calm && is_behind(w, id))
			return;
		if (set[id] && !w->calm && roll(w, 6) == 0)
			set[id] = false; /* falsely suspected */
		smaller = smaller || (!set[id] && (w->changes ? w->trusted[id] : true));
		all = all && set[id];
	}
	if (!smaller || !is_quorum_of(w, set, now) || !keeps_shards(w, set))
		return;
	begin_change(w, set, 0);
}

static bool is_behind_group(struct world *w, uint32_t id)
{
	const struct wh_standing *standing = &w->node[id].disk.standing;
	const struct known_view *now = find_known(w, w->now);

	return wh_standing_is_blank(standing) || standing->group == now->view->group || standing->first;
}

void take_in(struct world *w, uint32_t id)
{
	const struct known_view *now = find_known(w, w->now);
	struct lab_node *node = &w->node[id];
	struct wh_standing standing;
	bool set[NODES] = {false};

	if (now == NULL || w->changes || !node->up || node->view_key != 0 || node->coming ||
	    node->join.state != WH_JOIN_SEEKING || wh_view_rank(now->view, id) >= 0 || !is_behind_group(w, id))
		return;
	for (uint32_t rank = 0; rank < now->view->members; rank++) {
		uint32_t member = now->view->ids[rank];

		set[member] = is_living(w, member);
		if (!is_living(w, member) || !w->linked[id][member] || w->node[member].disk.standing.left)
			return;
	}
	if (!keeps_shards(w, set) || !is_quorum_of(w, set, now))
		return;
	wh_restart_forget(&node->join);
	settle_disk(node, true);
	standing = (struct wh_standing){.group = now->view->group,
					.base = now->key,
					.number = now->view->number,
					.promised = node->disk.standing.promised};
	put_standing(node, &standing);
	node->coming = true;
	say_of(w, "%u comes in", id);
	begin_change(w, set, id + 1);
}

void restart_lab_leave(struct world *w, uint32_t id)
{
	const struct known_view *now = find_known(w, w->now);
	struct lab_node *node = &w->node[id];
	bool others[NODES] = {false};

	if (!is_living(w, id) || w->wedged[id] || w->changes || now->view->members == 1)
		return;
	for (uint32_t i = 0; i < w->nodes; i++)
		others[i] = i != id && is_living(w, i);
	for (uint32_t k = 0; k < w->shards; k++) {
		bool given = !is_in_shard(now, id, k);

		for (uint32_t i = 0; i < w->nodes; i++)
			given = given || (others[i] && is_in_shard(now, i, k) && is_whole_log(&w->node[i].disk, k));
		if (!given)
			return;
	}
	if (!node->disk.standing.left) {
		enter_view(node, now);
		node->disk.standing.left = true;
		say_of(w, "%u marks that it leaves", id);
		return;
	}
	end_node(w, id);
	w->left[id] = true;
}

/* ---- all --------------------------------------------------------------------------------------------------------------- */

struct world *make_world(uint64_t seed, uint32_t nodes, uint32_t shards, int tie_breaker)
{
	struct world *w = calloc(1, sizeof(*w));

	ck_assert_ptr_nonnull(w);
	w->seed = seed;
	w->dice = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	w->now_ns = WH_NS_PER_S;
	w->nodes = nodes;
	w->shards = shards;
	w->tie_breaker = tie_breaker;
	w->verbose = getenv("WHORL_NOTES") != NULL;
	w->texts[0] = (struct wh_subgroup_text){"logged", "all", "all", shards, 1};
	w->texts[1] = (struct wh_subgroup_text){"plain", "all", "all", 1, 1};
	w->layout = (struct wh_layout_config){.subgroups = w->texts, .count = 2};
	for (int i = 0; i < 20; i++)
		(void)roll(w, 2);
	for (uint32_t i = 0; i < NODES; i++) {
		w->node[i].id = i;
		w->node[i].world = w;
	}
	return w;
}

void free_world(struct world *w)
{
	for (uint32_t i = 0; i < w->nodes; i++) {
		end_node(w, i);
		wh_standing_free(&w->node[i].disk.standing);
	}
	for (size_t i = 0; i < w->view_count; i++) {
		wh_view_free(w->views[i].view);
		free(w->views[i].bytes);
	}
	free(w);
}

void lose_power(struct world *w)
{
	say_of(w, "-- the power goes");
	for (uint32_t i = 0; i < w->nodes; i++)
		end_node(w, i);
}

void wipe_disk(struct world *w, uint32_t id)
{
	struct lab_node *node = &w->node[id];

	end_node(w, id);
	say_of(w, "-- the disk of %u is lost", id);
	wh_standing_free(&node->disk.standing);
	for (uint32_t k = 0; k < SHARDS; k++)
		node->disk.logs[k].length = 0;
	for (size_t i = 0; i < w->view_count; i++)
		w->views[i].on_disk[id] = false;
	node->disk.rotten = false;
}

void go_round(struct world *w)
{
	w->now_ns += roll(w, WH_NS_PER_MS);
	for (uint32_t i = 0; i < w->nodes; i++) {
		uint32_t id = (uint32_t)roll(w, w->nodes);

		for (uint32_t k = 0; k < w->nodes; k++)
			if (roll(w, 3) == 0)
				link_nodes(w, id, k == id ? (k + 1) % w->nodes : k);
		step_node(w, id);
	}
	for (size_t i = roll(w, 2 * w->packet_count + 1); i-- > 0;)
		if (!take_packet(w))
			break;
}

static bool all_are_back(struct world *w)
{
	const struct known_view *now = find_known(w, w->now);

	if (now == NULL || now->view->members != w->nodes || w->changes)
		return false;
	for (uint32_t i = 0; i < w->nodes; i++) {
		if (!is_living(w, i))
			return false;
		for (uint32_t k = 0; k < w->shards; k++)
			if (is_in_shard(now, i, k) && !is_whole_log(&w->node[i].disk, k))
				return false;
	}
	return true;
}

/* Those that go on have no whole log of some shard: they wait for one, and give up. */
static bool lacks_log(struct world *w)
{
	bool set[NODES];
	bool all = true;

	for (uint32_t i = 0; i < w->nodes; i++) {
		set[i] = is_living(w, i) && !w->node[i].disk.standing.left;
		all = all && (set[i] || wh_view_rank(find_known(w, w->now)->view, i) < 0);
	}
	return !all && !keeps_shards(w, set);
}

void end_stale(struct world *w)
{
	for (uint32_t i = 0; i < w->nodes; i++) {
		struct lab_node *node = &w->node[i];

		if (!node->up)
			continue;
		if (is_living(w, i) && node->disk.standing.left) { /* it has said so */
			end_node(w, i);
			w->left[i] = true;
			continue;
		}
		if (node->coming && (!w->changes || w->newcomer != i + 1 || !goes_on(w)))
			node->coming = false; /* what it was taken into is not to be */
		if (node->view_key != 0 && !is_behind(w, i) &&
		    (!is_living(w, i) || !goes_on(w) || (w->changes && !w->trusted[i]) || lacks_log(w)) &&
		    roll(w, 30) == 0)
			end_node(w, i);
	}
}

/* Two that live and have lost each other do not meet again: one of them is started again. */
static void end_parted(struct world *w)
{
	for (uint32_t i = 0; i < w->nodes; i++)
		for (uint32_t k = 0; k < i; k++)
			if (w->node[i].up && w->node[k].up && !w->linked[i][k] &&
			    w->parted[i][k] == w->node[i].lives + w->node[k].lives && roll(w, 100) == 0)
				end_node(w, roll(w, 2) == 0 ? i : k);
}

bool calm_down(struct world *w, uint64_t within_ns)
{
	uint64_t until = w->now_ns + within_ns;

	say_of(w, "-- calm");
	w->calm = true;
	memset(w->cut, 0, sizeof(w->cut));
	while (w->now_ns < until && !all_are_back(w)) {
		uint32_t id = (uint32_t)roll(w, w->nodes);

		if (!w->node[id].up)
			start_node(w, id);
		end_stale(w);
		end_parted(w);
		change(w);
		echo(w, id);
		install(w, id);
		mark_whole(w, id);
		if (roll(w, 20) == 0)
			take_in(w, id);
		go_round(w);
	}
	w->calm = false;
	return all_are_back(w);
}
