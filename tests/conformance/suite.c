/* suite.c - see suite.h; and main() of all conformance-NAME programs. */
#include "tests/conformance/suite.h"

#include <string.h>

/* ---- groups ------------------------------------------------------------------------------------------------------- */

struct group *group_make(uint32_t nodes, uint64_t seed)
{
	struct group *g = calloc(1, sizeof(*g));

	ck_assert_ptr_nonnull(g);
	g->nodes = nodes;
	g->seed = seed;
	g->world = wh_world.make(nodes, seed);
	ck_assert_msg(g->world != NULL, "the world cannot be made");
	for (uint32_t i = 0; i < nodes; i++) {
		uint32_t n = 0;

		for (uint32_t k = 0; k < nodes; k++)
			if (k != i)
				g->others[i][n++] = k;
		g->at[i].transport = wh_world.endpoint(g->world, i);
		g->at[i].controls_in_order = true;
	}
	return g;
}

/* They end with the process that has them, which in most worlds is nothing but the endpoint. */
static void close_streams(struct endpoint *e)
{
	for (uint32_t i = 0; i < e->stream_count; i++)
		if (e->streams[i].stream != NULL)
			e->streams[i].stream->ops->close(e->streams[i].stream);
	e->stream_count = 0;
}

void group_free(struct group *g)
{
	for (uint32_t id = 0; id < g->nodes; id++)
		close_streams(&g->at[id]);
	wh_world.free(g->world);
	free(g);
}

void group_kill(struct group *g, uint32_t id)
{
	wh_world.kill(g->world, id);
	close_streams(&g->at[id]);
	g->at[id].transport = NULL;
}

void group_close(struct group *g, uint32_t id)
{
	wh_world.close(g->world, id);
	close_streams(&g->at[id]);
	g->at[id].transport = NULL;
}

void group_restart(struct group *g, uint32_t id)
{
	ck_assert(wh_world.restart(g->world, id));
	g->at[id] = (struct endpoint){.transport = wh_world.endpoint(g->world, id), .controls_in_order = true};
}

enum whorl_result group_open_members(struct group *g, uint32_t id, uint64_t view, const struct members *members,
				     uint64_t layout_digest)
{
	struct wh_row_part parts[NODES_MAX][3];
	struct wh_row_spec rows[NODES_MAX];
	const struct wh_relay_spec relay = RELAY;
	struct wh_image_spec spec = {
		.key = members->key,
		.layout_digest = layout_digest,
		.members = members->count,
		.control_bytes = CONTROL_BYTES,
		.rows = rows,
		.relays = &relay,
		.relay_count = members->count > 2 && id == members->ids[2],
	};
	struct wh_error err;

	for (uint32_t r = 0; r < members->count; r++) {
		uint32_t node = members->ids[r];

		if (node == id)
			spec.my_rank = r;
		parts[r][0] = (struct wh_row_part){0, CONTROL_BYTES};
		parts[r][1] = (struct wh_row_part){RING_0, RING_BYTES};
		parts[r][2] = (struct wh_row_part){RING_1, RING_BYTES};
		rows[r] = (struct wh_row_spec){
			.node = node,
			.incarnation = g->meant[node] != 0 ? g->meant[node] : wh_world.incarnation(g->world, node),
			.bytes = ROW_BYTES,
			.parts = parts[r],
			.part_count = id == node + 1 ? 3 : 2};
	}
	return g->at[id].transport->ops->image_open(g->at[id].transport, &spec, &g->at[id].image[view], &err);
}

enum whorl_result group_open_at(struct group *g, uint32_t id, uint64_t view, uint64_t layout_digest)
{
	const struct members all = {view, g->nodes, {0, 1, 2, 3}};

	return group_open_members(g, id, view, &all, layout_digest);
}

void group_open(struct group *g, uint64_t view)
{
	for (uint32_t id = 0; id < g->nodes; id++)
		ck_assert_int_eq(group_open_at(g, id, view, 1), WHORL_OK);
	for (uint32_t id = 0; id < g->nodes; id++)
		UNTIL(g, g->at[id].image[view]->ready);
}

void group_close_image(struct group *g, uint32_t id, uint64_t view)
{
	g->at[id].transport->ops->image_close(g->at[id].image[view]);
	g->at[id].image[view] = NULL;
}

/* ---- time and events ---------------------------------------------------------------------------------------------- */

static void take_control(struct endpoint *e, const struct wh_transport_event *event)
{
	uint64_t number;

	e->controls++;
	e->control_bytes = event->bytes;
	if (event->bytes < sizeof(number))
		return;
	memcpy(&number, event->text, sizeof(number));
	e->controls_in_order = e->controls_in_order && number == e->next_control[event->node]++;
}

static void take_stream(struct endpoint *e, const struct wh_transport_event *event)
{
	ck_assert_uint_lt(e->stream_count, STREAMS_MAX);
	e->streams[e->stream_count++] = (struct taken_stream){event->stream, event->node, event->tag};
}

static void take_question(struct endpoint *e, const struct wh_transport_event *event)
{
	e->asked++;
	e->query = event->query;
	e->question_bytes = event->bytes;
	memcpy(e->question, event->text, event->bytes);
}

static void take_meeting(struct endpoint *e, const struct wh_transport_event *event)
{
	ck_assert_uint_eq(e->here[event->node], 0); /* the end of one comes before the meeting of the next */
	ck_assert_uint_ne(event->incarnation, e->ended[event->node]);
	ck_assert_uint_ne(event->incarnation, 0);
	e->here[event->node] = event->incarnation;
	e->met++;
	e->met_of[event->node]++;
}

/* The end of one that may not have been met, if it is a refusal. */
static void take_end(struct endpoint *e, const struct wh_transport_event *event)
{
	if (event->kind != WH_EVENT_REFUSED || e->here[event->node] != 0)
		ck_assert_uint_eq(event->incarnation, e->here[event->node]);
	e->ended[event->node] = event->incarnation;
	e->here[event->node] = 0;
	e->left += event->kind == WH_EVENT_PEER_LEFT;
	e->left_of[event->node] += event->kind == WH_EVENT_PEER_LEFT;
	e->down += event->kind == WH_EVENT_PEER_DOWN;
	e->down_of[event->node] += event->kind == WH_EVENT_PEER_DOWN;
	e->refused += event->kind == WH_EVENT_REFUSED;
	snprintf(e->text, sizeof(e->text), "%.*s", (int)sizeof(e->text) - 1, event->text);
}

/* Behind the end of the same incarnation, of which there may have been another since. */
static void take_proof(struct endpoint *e, const struct wh_transport_event *event)
{
	ck_assert_uint_ne(event->incarnation, 0);
	ck_assert_uint_ne(event->incarnation, e->here[event->node]);
	e->dead++;
	e->dead_of[event->node]++;
	ck_assert_uint_le(e->dead, e->down + e->left + e->refused);
}

static void take_event(struct endpoint *e, const struct wh_transport_event *event)
{
	switch (event->kind) {
	case WH_EVENT_IMAGE_READY:
		ck_assert(event->image->ready);
		e->ready++;
		return;
	case WH_EVENT_CONTROL:
		ck_assert_uint_eq(event->incarnation, e->here[event->node]);
		take_control(e, event);
		return;
	case WH_EVENT_STREAM:
		ck_assert_uint_eq(event->incarnation, e->here[event->node]);
		take_stream(e, event);
		return;
	case WH_EVENT_QUERY:
		take_question(e, event);
		return;
	case WH_EVENT_PEER_MET:
		take_meeting(e, event);
		return;
	case WH_EVENT_PEER_LEFT:
	case WH_EVENT_PEER_DOWN:
	case WH_EVENT_REFUSED:
		take_end(e, event);
		return;
	case WH_EVENT_PEER_DEAD:
		take_proof(e, event);
		return;
	}
}

void group_pass(struct group *g)
{
	static struct wh_transport_event event; /* large */

	for (uint32_t id = 0; id < g->nodes; id++) {
		struct endpoint *e = &g->at[id];

		if (e->transport == NULL || e->paused)
			continue;
		e->transport->ops->service(e->transport);
		while (e->transport->ops->next_event(e->transport, &event))
			take_event(e, &event);
	}
	wh_world.pass(g->world);
}

/* ---- pushing and looking ------------------------------------------------------------------------------------------ */

struct wh_push push_word(const struct group *g, uint32_t from, uint64_t offset, uint64_t value)
{
	return (struct wh_push){
		.kind = WH_PUSH_WORD, .to_count = g->nodes - 1, .to = g->others[from], .offset = offset, .value = value};
}

struct wh_push push_bytes(const struct group *g, uint32_t from, uint64_t offset, uint64_t bytes)
{
	return (struct wh_push){.kind = WH_PUSH_BYTES,
				.to_count = g->nodes - 1,
				.to = g->others[from],
				.offset = offset,
				.bytes = bytes};
}

void post(struct group *g, uint32_t from, uint64_t view, const struct wh_push *pushes, size_t count)
{
	struct wh_image *image = g->at[from].image[view];

	image->ops->post(image, pushes, count);
}

void post_word(struct group *g, uint32_t from, uint64_t view, uint64_t offset, uint64_t value)
{
	struct wh_push push = push_word(g, from, offset, value);

	post(g, from, view, &push, 1);
}

uint64_t column(const struct group *g, uint32_t at, uint64_t view, uint32_t of, uint64_t offset)
{
	const unsigned char *columns = g->at[at].image[view]->control[of];

	return wh_load_acquire((const wh_word *)(const void *)(columns + offset));
}

/* splitmix64 */
uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

int main(void)
{
	Suite *suite = suite_create(wh_world.name);

	if (wh_world.node == NULL) {
		suite_add_tcase(suite, cases_push());
		suite_add_tcase(suite, cases_peer());
		suite_add_tcase(suite, cases_doorbell());
		suite_add_tcase(suite, cases_image());
		suite_add_tcase(suite, cases_view());
		suite_add_tcase(suite, cases_return());
		suite_add_tcase(suite, cases_stream());
		suite_add_tcase(suite, cases_query());
		suite_add_tcase(suite, cases_death());
		if (wh_world.relays)
			suite_add_tcase(suite, cases_relay());
	}
	if (wh_world.regions) {
		suite_add_tcase(suite, cases_remote());
		suite_add_tcase(suite, cases_remote_ends());
		if (wh_world.node != NULL)
			suite_add_tcase(suite, cases_lane());
	}
	return test_main(suite);
}
