#include "tests/support/sim_lab.h"

const uint32_t others[NODES][NODES - 1] = {{1, 2}, {0, 2}, {0, 1}};

static void posting(void *ctx, uint32_t node, uint64_t key, const struct wh_push *push)
{
	struct lab *lab = ctx;

	if (node != 0)
		return;
	ck_assert_uint_eq(key, 1);
	if (push->kind == WH_PUSH_WORD) {
		ck_assert_uint_gt(push->value, lab->hooked_value);
		lab->hooked_value = push->value;
	}
	if (lab->hooked++ != lab->crash_push)
		return;
	if (lab->silently)
		wh_sim_vanish(lab->sim, node);
	else
		wh_sim_crash(lab->sim, node);
}

/* ---- a world, its nodes, an image of all ------------------------------------------------------------------------------- */

struct wh_sim_options plain(uint64_t seed)
{
	return (struct wh_sim_options){.nodes = NODES, .seed = seed, .pieces = 1};
}

struct wh_sim_options wild(uint64_t seed)
{
	return (struct wh_sim_options){
		.nodes = NODES, .seed = seed, .pieces = 5, .latency_min_ns = 10, .latency_max_ns = 5000, .uneven = true};
}

void check_order(struct lab *lab, uint32_t at, const struct wh_transport_event *event)
{
	uint64_t *met = &lab->met[at][event->node], *over = &lab->over[at][event->node];

	if (event->kind == WH_EVENT_PEER_MET) {
		ck_assert_uint_eq(*met, 0);
		ck_assert_uint_gt(event->incarnation, *over);
		*met = event->incarnation;
		return;
	}
	if (event->kind != WH_EVENT_REFUSED)
		ck_assert_uint_eq(*met, event->incarnation);
	if (event->kind == WH_EVENT_CONTROL || event->kind == WH_EVENT_STREAM)
		return;
	ck_assert_uint_gt(event->incarnation, *over);
	*over = event->incarnation;
	*met = 0;
}

static void take_message(struct lab *lab, uint32_t at, const struct wh_transport_event *event)
{
	uint64_t number;

	memcpy(&number, event->text, sizeof(number));
	lab->in_order = lab->in_order && number == ++lab->messages[at];
}

void take_event(struct lab *lab, uint32_t at, const struct wh_transport_event *event)
{
	if (event->kind != WH_EVENT_IMAGE_READY && event->kind != WH_EVENT_QUERY)
		check_order(lab, at, event);
	switch (event->kind) {
	case WH_EVENT_PEER_MET:
		lab->meetings[at][event->node]++;
		break;
	case WH_EVENT_PEER_DOWN:
		lab->down[at][event->node]++;
		lab->heard_ns[at] = wh_sim_now(lab->sim);
		break;
	case WH_EVENT_PEER_LEFT:
		lab->left[at][event->node]++;
		break;
	case WH_EVENT_REFUSED:
		lab->refused[at][event->node]++;
		break;
	case WH_EVENT_CONTROL:
		take_message(lab, at, event);
		break;
	case WH_EVENT_STREAM:
		lab->stream[at] = event->stream;
		lab->tag[at] = event->tag;
		break;
	case WH_EVENT_IMAGE_READY:
	case WH_EVENT_QUERY:
	case WH_EVENT_PEER_DEAD:
		break;
	}
}

void service_all(struct lab *lab)
{
	static struct wh_transport_event event; /* large */

	for (uint32_t i = 0; i < NODES; i++) {
		if (lab->node[i] == NULL)
			continue;
		lab->node[i]->ops->service(lab->node[i]);
		while (lab->node[i]->ops->next_event(lab->node[i], &event))
			take_event(lab, i, &event);
	}
}

void run_until(struct lab *lab, uint64_t until_ns)
{
	do {
		service_all(lab);
	} while (wh_sim_step(lab->sim, until_ns));
	service_all(lab);
}

void run(struct lab *lab, uint64_t for_ns)
{
	run_until(lab, wh_sim_now(lab->sim) + for_ns);
}

struct wh_image *open_image(struct lab *lab, uint32_t id, uint64_t key)
{
	const struct wh_row_part part = {0, 4 * WH_ROW_ALIGN};
	struct wh_row_spec rows[NODES];
	struct wh_image_spec spec = {
		.key = key, .members = NODES, .my_rank = id, .control_bytes = WH_ROW_ALIGN, .rows = rows};
	struct wh_image *image;
	struct wh_error err;

	for (uint32_t r = 0; r < NODES; r++)
		rows[r] = (struct wh_row_spec){r, lab->incarnation[r], 4 * WH_ROW_ALIGN, &part, 1};
	ck_assert_int_eq(lab->node[id]->ops->image_open(lab->node[id], &spec, &image, &err), WHORL_OK);
	return image;
}

void begin_life(struct lab *lab, uint32_t id)
{
	const struct wh_transport_config config = {.env = wh_sim_env(lab->sim, id),
						   .group = "lab",
						   .node = id,
						   .nodes = NODES,
						   .incarnation = ++lab->incarnation[id],
						   .patience_ns = WH_NS_PER_S - WH_NS_PER_MS};
	struct wh_error err;

	lab->image[id] = NULL;
	lab->messages[id] = 0;
	memset(lab->met[id], 0, sizeof(lab->met[id]));
	memset(lab->over[id], 0, sizeof(lab->over[id]));
	ck_assert_int_eq(wh_sim_create(&config, lab->sim, &lab->node[id], &err), WHORL_OK);
}

struct lab *make_empty(struct wh_sim_options options)
{
	struct lab *lab = calloc(1, sizeof(*lab));
	struct wh_error err;

	ck_assert_ptr_nonnull(lab);
	lab->in_order = true;
	lab->crash_push = UINT64_MAX;
	options.posting = posting;
	options.ctx = lab;
	ck_assert_int_eq(wh_sim_new(&lab->sim, &options, &err), WHORL_OK);
	for (uint32_t i = 0; i < NODES; i++)
		lab->incarnation[i] = 100 * (i + 1);
	return lab;
}

struct lab *make_strangers(struct wh_sim_options options)
{
	struct lab *lab = make_empty(options);

	for (uint32_t i = 0; i < NODES; i++)
		begin_life(lab, i);
	return lab;
}

struct lab *sim_lab_make(struct wh_sim_options options)
{
	struct lab *lab = make_strangers(options);

	for (uint32_t i = 0; i < NODES; i++)
		lab->image[i] = open_image(lab, i, 1);
	run(lab, LONG_NS);
	for (uint32_t i = 0; i < NODES; i++)
		ck_assert(lab->image[i]->ready);
	return lab;
}

void destroy(struct lab *lab, uint32_t id)
{
	lab->node[id]->ops->destroy(lab->node[id], false);
	lab->node[id] = NULL;
}

void leave_in_order(struct lab *lab, uint32_t id)
{
	lab->node[id]->ops->leave(lab->node[id]);
	destroy(lab, id);
}

void end(struct lab *lab)
{
	ck_assert_ptr_null(wh_sim_verdict(lab->sim));
	ck_assert(lab->in_order);
	for (uint32_t i = 0; i < NODES; i++)
		if (lab->node[i] != NULL)
			destroy(lab, i);
	wh_sim_free(lab->sim);
	free(lab);
}

/* ---- lives ------------------------------------------------------------------------------------------------------------ */

void slow(struct lab *lab, uint32_t from, uint32_t to)
{
	wh_sim_link_set(lab->sim, from, to, &(struct wh_sim_link_cost){SLOW_NS, SLOW_NS, 0});
}

bool have_met(const struct lab *lab, uint32_t at, uint32_t of)
{
	return lab->met[at][of] == lab->incarnation[of];
}

void assert_all_met(const struct lab *lab)
{
	for (uint32_t at = 0; at < NODES; at++)
		for (uint32_t of = 0; of < NODES; of++)
			ck_assert(at == of || have_met(lab, at, of));
}

void end_life(struct lab *lab, uint32_t id, enum manner manner)
{
	if (manner == CRASHES)
		wh_sim_crash(lab->sim, id);
	else if (manner == VANISHES)
		wh_sim_vanish(lab->sim, id);
	else
		lab->node[id]->ops->leave(lab->node[id]);
	destroy(lab, id);
}

void assert_ends(const struct lab *lab, uint32_t at, uint32_t of, uint32_t down, uint32_t left)
{
	ck_assert_uint_eq(lab->down[at][of], down);
	ck_assert_uint_eq(lab->left[at][of], left);
	ck_assert_uint_eq(lab->refused[at][of], 0);
}

void look_without_taking(struct lab *lab)
{
	uint64_t until = wh_sim_now(lab->sim) + WH_NS_PER_MS;

	while (wh_sim_step(lab->sim, until))
		for (uint32_t i = 0; i < NODES; i++)
			lab->node[i]->ops->service(lab->node[i]);
}

/* ---- pushes and messages ----------------------------------------------------------------------------------------------- */

struct wh_push push_word(uint32_t from, uint64_t value)
{
	return (struct wh_push){
		.kind = WH_PUSH_WORD, .to_count = NODES - 1, .to = others[from], .offset = WORD, .value = value};
}

void post(struct lab *lab, uint32_t from, const struct wh_push *pushes, size_t count)
{
	lab->image[from]->ops->post(lab->image[from], pushes, count);
}

void post_word(struct lab *lab, uint32_t from, uint64_t value)
{
	const struct wh_push push = push_word(from, value);

	post(lab, from, &push, 1);
}

void post_page(struct lab *lab, uint32_t from, uint64_t value)
{
	const struct wh_push pushes[] = {{.kind = WH_PUSH_BYTES,
					  .to_count = NODES - 1,
					  .to = others[from],
					  .offset = WH_ROW_ALIGN,
					  .bytes = WH_ROW_ALIGN},
					 push_word(from, value)};

	memset(lab->image[from]->own + WH_ROW_ALIGN, (int)value, WH_ROW_ALIGN);
	post(lab, from, pushes, 2);
}

uint64_t word(const struct lab *lab, uint32_t at, uint32_t of)
{
	return wh_load_acquire((const wh_word *)(const void *)(lab->image[at]->control[of] + WORD));
}

enum whorl_result send_number(struct lab *lab, uint32_t from, uint32_t to, uint64_t number)
{
	return lab->node[from]->ops->control_send(lab->node[from], to, &number, sizeof(number));
}
