/* remote.c - see remote.h. */
#include "tests/conformance/remote.h"

#include <string.h>

static const struct wh_remote_ops *ops_of(const struct remote *r, uint32_t id)
{
	return r->g->at[id].transport->ops->remote;
}

/* ---- what comes --------------------------------------------------------------------------------------------------- */

static void take_done(struct remote_pair *pair, const struct wh_remote_event *event)
{
	ck_assert_uint_eq(event->cookie, pair->done);
	pair->done++;
	ck_assert_uint_le(pair->done, pair->posted);
	pair->results[event->result]++;
	pair->value = event->value;
	if (event->result == WHORL_MEMBER_GONE)
		pair->failed = true;
	else
		ck_assert(!pair->failed);
}

static void take_event(struct remote *r, struct remote_at *at, const struct wh_remote_event *event)
{
	ck_assert_uint_lt(event->node, r->g->nodes);
	ck_assert_uint_ne(event->incarnation, 0);
	switch (event->kind) {
	case WH_REMOTE_GRANTED:
		at->granted++;
		at->grant = *event;
		return;
	case WH_REMOTE_WITHDRAWN:
		at->withdrawn++;
		at->withdrawal = *event;
		return;
	case WH_REMOTE_DONE:
		take_done(&at->to[event->node], event);
		return;
	case WH_REMOTE_IMMEDIATE:
		ck_assert_uint_lt(at->immediate_count, IMMEDIATES_MAX);
		at->immediate_from[at->immediate_count] = event->node;
		at->immediates[at->immediate_count++] = event->immediate;
		return;
	}
	ck_abort_msg("event of kind %d", (int)event->kind);
}

bool remote_take(struct remote *r, uint32_t id)
{
	struct wh_remote_event event;

	while (ops_of(r, id)->next(r->g->at[id].transport, &event))
		take_event(r, &r->at[id], &event);
	return true;
}

bool remote_take_all(struct remote *r)
{
	for (uint32_t id = 0; id < r->g->nodes; id++)
		if (r->g->at[id].transport != NULL && !r->g->at[id].paused && !r->at[id].idle)
			remote_take(r, id);
	return true;
}

/* ---- regions ------------------------------------------------------------------------------------------------------ */

static bool has_met_all(const struct group *g)
{
	for (uint32_t a = 0; a < g->nodes; a++)
		for (uint32_t b = 0; b < g->nodes; b++)
			if (a != b && g->at[a].here[b] == 0)
				return false;
	return true;
}

void remote_meet(struct remote *r)
{
	UNTIL(r->g, has_met_all(r->g));
}

struct wh_region *remote_open(struct remote *r, uint32_t owner, uint64_t name, uint64_t bytes)
{
	struct wh_region *region;
	struct wh_error err = {.text = ""};

	ck_assert_msg(ops_of(r, owner)->region_open(r->g->at[owner].transport, name, bytes, &region, &err) == WHORL_OK,
		      "%s", err.text);
	ck_assert_uint_eq(region->name, name);
	ck_assert_uint_eq(region->bytes, bytes);
	return region;
}

void remote_grant(struct remote *r, struct wh_region *region, uint32_t owner, uint32_t to)
{
	uint32_t granted = r->at[to].granted;

	ck_assert_int_eq(region->ops->grant(region, to), WHORL_OK);
	UNTIL_TAKEN(r, r->at[to].granted == granted + 1);
	ck_assert_uint_eq(r->at[to].grant.node, owner);
	ck_assert_uint_eq(r->at[to].grant.incarnation, wh_world.incarnation(r->g->world, owner));
	ck_assert_uint_eq(r->at[to].grant.region, region->name);
	ck_assert_uint_eq(r->at[to].grant.bytes, region->bytes);
}

struct remote *remote_make(uint32_t nodes, uint64_t seed)
{
	struct remote *r = calloc(1, sizeof(*r));

	ck_assert_ptr_nonnull(r);
	r->g = group_make(nodes, seed);
	ck_assert_ptr_nonnull(ops_of(r, 0));
	remote_meet(r);
	r->region = remote_open(r, 0, REGION, REGION_BYTES);
	for (uint32_t id = 1; id < nodes; id++)
		remote_grant(r, r->region, 0, id);
	return r;
}

void remote_free(struct remote *r)
{
	group_free(r->g);
	free(r);
}

/* ---- operations --------------------------------------------------------------------------------------------------- */

struct wh_remote_op remote_read(uint64_t offset, void *into, uint64_t bytes)
{
	return (struct wh_remote_op){
		.kind = WH_REMOTE_READ, .region = REGION, .offset = offset, .bytes = bytes, .into = into};
}

struct wh_remote_op remote_write(uint64_t offset, const void *from, uint64_t bytes)
{
	return (struct wh_remote_op){
		.kind = WH_REMOTE_WRITE, .region = REGION, .offset = offset, .bytes = bytes, .from = from};
}

struct wh_remote_op remote_tell(uint64_t offset, const void *from, uint64_t bytes, uint32_t immediate)
{
	return (struct wh_remote_op){.kind = WH_REMOTE_WRITE_IMMEDIATE,
				     .region = REGION,
				     .offset = offset,
				     .bytes = bytes,
				     .from = from,
				     .immediate = immediate};
}

struct wh_remote_op remote_add(uint64_t offset, uint64_t n)
{
	return (struct wh_remote_op){.kind = WH_REMOTE_FETCH_ADD, .region = REGION, .offset = offset, .add = n};
}

struct wh_remote_op remote_swap(uint64_t offset, uint64_t expected, uint64_t desired)
{
	return (struct wh_remote_op){.kind = WH_REMOTE_COMPARE_SWAP,
				     .region = REGION,
				     .offset = offset,
				     .expected = expected,
				     .desired = desired};
}

enum whorl_result remote_post(struct remote *r, uint32_t from, struct wh_remote_op op)
{
	struct remote_pair *pair = &r->at[from].to[op.node < NODES_MAX ? op.node : 0];
	enum whorl_result result;
	size_t posted = 7;

	op.cookie = pair->posted;
	result = ops_of(r, from)->post(r->g->at[from].transport, &op, 1, &posted);
	ck_assert_uint_eq(posted, result == WHORL_OK);
	pair->posted += posted;
	return result;
}

bool remote_is_done(const struct remote *r, uint32_t from, uint32_t to)
{
	return r->at[from].to[to].done == r->at[from].to[to].posted;
}

uint64_t remote_do(struct remote *r, uint32_t from, struct wh_remote_op op)
{
	struct remote_pair *pair = &r->at[from].to[op.node];
	uint64_t ok = pair->results[WHORL_OK];

	ck_assert(remote_is_done(r, from, op.node));
	ck_assert_int_eq(remote_post(r, from, op), WHORL_OK);
	UNTIL_TAKEN(r, remote_is_done(r, from, op.node));
	ck_assert_uint_eq(pair->results[WHORL_OK], ok + 1);
	return pair->value;
}
