#include "tests/support/state_lab.h"

/* ---- the program --------------------------------------------------------------------------------------------------------- */

unsigned char lab_byte(size_t at)
{
	return (unsigned char)(at * 31 + (at >> 8) * 7 + (at >> 16));
}

static void *program_snapshot(const struct whorl_position *position, void *ctx)
{
	struct program *program = ctx;
	struct snapshot *snapshot = program->none ? NULL : calloc(1, sizeof(*snapshot));

	program->position = *position; /* its senders are the library's */
	for (uint32_t i = 0; i < position->sender_count; i++)
		program->next_of[WHORL_AT(whorl_position_of, position->senders, i)->id] =
			WHORL_AT(whorl_position_of, position->senders, i)->next;
	if (snapshot == NULL)
		return NULL;
	wh_fetch_add(&program->snapshots, 1);
	snapshot->program = program;
	return program->last = snapshot;
}

static ptrdiff_t program_read(void *handle, void *bytes, size_t count, void *ctx)
{
	struct program *program = ctx;
	struct snapshot *snapshot = handle;
	size_t left = program->bytes - snapshot->at;

	if (program->on_read != NULL)
		program->on_read(program);
	if (program->read_fails != 0 && snapshot->at >= program->fails_at)
		return program->read_fails;
	count = count < left ? count : left;
	count = count < program->chunk ? count : program->chunk;
	for (size_t i = 0; i < count; i++)
		((unsigned char *)bytes)[i] = lab_byte(snapshot->at + i);
	snapshot->at += count;
	return (ptrdiff_t)count;
}

void program_release(void *handle, void *ctx)
{
	struct program *program = ctx;

	wh_fetch_add(&program->released, 1);
	free(handle); /* twice is found by the sanitizers, and by the count */
}

static bool program_restore(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx)
{
	struct program *program = ctx;

	if (wh_exchange(&program->restoring, 1) != 0)
		wh_fetch_add(&program->overlaps, 1);
	if (program->on_restore != NULL)
		program->on_restore(program, step);
	if (step == WHORL_RESTORE_BEGIN) {
		wh_fetch_add(&program->begins, 1);
		program->restored_bytes = 0;
	} else if (step == WHORL_RESTORE_BYTES) {
		program->restored = realloc(program->restored, program->restored_bytes + count);
		memcpy(program->restored + program->restored_bytes, bytes, count);
		program->restored_bytes += count;
	} else {
		wh_fetch_add(&program->ends, 1);
	}
	wh_store_release(&program->restoring, 0);
	return program->refuses != (int)step;
}

/* ---- a party ------------------------------------------------------------------------------------------------------------- */

uint64_t lab_now(void *ctx)
{
	struct lab *lab = ctx;

	return lab->kind == LAB_THREADS ? wh_env_now(wh_env_system()) : wh_load_relaxed(&lab->now_ns);
}

static void lab_submit(void *ctx, void (*job)(void *argument), void *argument)
{
	struct lab *lab = ctx;

	if (lab->kind == LAB_THREADS) {
		wh_env_system()->submit(NULL, job, argument);
	} else if (lab->kind == LAB_AT_ONCE) {
		job(argument);
	} else {
		ck_assert_uint_lt(lab->queued, LAB_QUEUE);
		lab->queue[lab->queued].run = job;
		lab->queue[lab->queued++].argument = argument;
	}
}

void lab_advance(struct lab *lab, uint64_t ns)
{
	wh_fetch_add(&lab->now_ns, ns);
	lab->loop_ns = lab_now(lab);
}

static struct party *party_of(struct wh_transport *transport)
{
	return (struct party *)(void *)((char *)transport - offsetof(struct party, transport));
}

static void party_wake(struct wh_transport *transport)
{
	wh_fetch_add(&party_of(transport)->wakes, 1);
}

static enum whorl_result party_open(struct wh_transport *transport, uint32_t node, uint64_t tag, struct wh_stream **out)
{
	struct party *party = party_of(transport);
	struct pipe *pipe;

	ck_assert_uint_eq(tag, party->hooks.subgroup);
	if (party->opens != WHORL_OK)
		return party->opens;
	pipe = pipe_create(party->lab->capacity, party->lab->kind == LAB_THREADS);
	pipe->to = node;
	pipe->from_node = party->id;
	party->lab->pipes[party->lab->pipe_count++] = pipe;
	*out = &pipe->out;
	return WHORL_OK;
}

static bool hook_position(void *ctx, struct wh_position *out, uint64_t *view, uint32_t *shard)
{
	struct party *party = ctx;

	*out = party->position;
	*view = party->view;
	*shard = party->shard;
	return !party->no_member;
}

static uint32_t hook_givers(void *ctx, uint32_t *ids, uint32_t max)
{
	struct party *party = ctx;

	ck_assert_uint_le(party->giver_count, max);
	memcpy(ids, party->givers, sizeof(*ids) * party->giver_count);
	return party->giver_count;
}

static bool hook_may_give(void *ctx, uint32_t node)
{
	(void)ctx;
	(void)node;
	return true;
}

static bool hook_hears_quorum(void *ctx)
{
	const struct party *party = ctx;

	return !party->hears_no_quorum;
}

static bool hook_ask(void *ctx, uint32_t node)
{
	struct party *party = ctx;

	if (party->cannot_ask)
		return false;
	party->asked[party->asked_count++] = node;
	return true;
}

static bool hook_decline(void *ctx, uint32_t node)
{
	struct party *party = ctx;

	if (party->cannot_decline)
		return false;
	party->declined[party->declined_count++] = node;
	return true;
}

static size_t hook_upcall(void *ctx, const struct whorl_message *messages, size_t count)
{
	struct party *party = ctx;

	count = count < party->takes ? count : party->takes;
	ck_assert_uint_le(party->upcalled_count + count, LAB_LOG);
	for (size_t i = 0; i < count; i++) /* its text says which it is: lab_message */
		if (messages[i].bytes != sizeof(uint64_t) || (uintptr_t)messages[i].data % 16 != 0 ||
		    *(const uint64_t *)messages[i].data != messages[i].index * 1000 + messages[i].sender)
			ck_abort_msg("message %zu of a run is wrong", i);
	memcpy(party->upcalled + party->upcalled_count, messages, count * sizeof(*messages));
	party->upcalled_count += count;
	party->longest_run = count > party->longest_run ? count : party->longest_run;
	wh_fetch_add(&party->lab->now_ns, party->upcall_takes_ns); /* the loop's clock is moved on by the state */
	return count;
}

static const struct wh_backlog *hook_refused(void *ctx)
{
	const struct party *party = ctx;

	return &party->refused;
}

static void hook_restored(void *ctx)
{
	struct party *party = ctx;

	party->restored++;
	party->upcalled_before_restored = party->upcalled_count;
}

static void hook_failed(void *ctx, enum whorl_result code, const char *why)
{
	struct party *party = ctx;

	party->failed++;
	party->failed_code = code;
	snprintf(party->failed_text, sizeof(party->failed_text), "%s", why);
}

static void hook_job_begins(void *ctx)
{
	wh_fetch_add(&((struct party *)ctx)->jobs, 1);
}

static void hook_job_ends(void *ctx)
{
	wh_fetch_add(&((struct party *)ctx)->jobs, UINT64_MAX);
}

static void hook_log(void *ctx, enum wh_log_level level, const char *text)
{
	struct party *party = ctx;
	size_t used = strlen(party->log);

	(void)level;
	snprintf(party->log + used, sizeof(party->log) - used, "%s\n", text);
}

/* ---- the lab ------------------------------------------------------------------------------------------------------------- */

static struct whorl_state program_functions(struct program *program)
{
	return (struct whorl_state){
		sizeof(struct whorl_state), program_snapshot, program_read, program_release, program_restore, program};
}

static void party_init(struct party *party, struct lab *lab, uint32_t id)
{
	static const struct wh_transport_ops ops = {.wake = party_wake, .stream_open = party_open};
	struct whorl_state functions = program_functions(&party->program);
	struct wh_error err;

	party->lab = lab;
	party->id = id;
	party->transport.ops = &ops;
	party->program.chunk = SIZE_MAX;
	party->program.refuses = -1;
	party->takes = SIZE_MAX;
	wh_backlog_init(&party->refused, 1 << 24);
	party->hooks = (struct wh_state_hooks){
		.env = &lab->env,
		.transport = &party->transport,
		.backlog_max = 1 << 24,
		.share = 100,
		.steps = &lab->steps,
		.idle_steps = &lab->idle_steps,
		.subgroup = 5,
		.ordered = true,
		.timeout_ns = LAB_TIMEOUT_NS,
		.name = "orders",
		.gives = &party->gives,
		.now_ns = &lab->loop_ns,
		.upcall_ns = WH_NS_PER_MS,
		.ctx = party,
		.position = hook_position,
		.givers = hook_givers,
		.may_give = hook_may_give,
		.hears_quorum = hook_hears_quorum,
		.ask = hook_ask,
		.decline = hook_decline,
		.upcall = hook_upcall,
		.refused = hook_refused,
		.restored = hook_restored,
		.failed = hook_failed,
		.job_begins = hook_job_begins,
		.job_ends = hook_job_ends,
		.log = hook_log,
	};
	ck_assert_int_eq(wh_state_create(&party->state, &functions, &party->hooks, &err), WHORL_OK);
}

struct lab *lab_create(enum lab_jobs kind)
{
	struct lab *lab = calloc(1, sizeof(*lab));

	ck_assert_ptr_nonnull(lab);
	lab->kind = kind;
	lab->capacity = 1 << 16;
	lab->env = (struct wh_env){.ctx = lab, .now_ns = lab_now, .submit = lab_submit};
	lab_advance(lab, WH_NS_PER_S);
	for (uint32_t i = 0; i < LAB_PARTIES; i++)
		party_init(&lab->parties[i], lab, i);
	return lab;
}

void party_anew(struct party *party)
{
	struct whorl_state functions = program_functions(&party->program);
	struct wh_error err;

	wh_state_free(party->state, false);
	ck_assert_int_eq(wh_state_create(&party->state, &functions, &party->hooks, &err), WHORL_OK);
}

uint64_t word_of(const wh_word *w)
{
	return wh_load_acquire(w);
}

void lab_run_jobs(struct lab *lab)
{
	size_t count = lab->queued;

	for (size_t i = 0; i < count; i++)
		lab->queue[i].run(lab->queue[i].argument);
	memmove(lab->queue, lab->queue + count, (lab->queued - count) * sizeof(lab->queue[0]));
	lab->queued -= count;
}

/* Streams that were opened come to the party they were opened to. */
static void lab_deliver(struct lab *lab)
{
	for (size_t i = 0; i < lab->pipe_count; i++)
		wh_state_stream(lab->parties[lab->pipes[i]->to].state, lab->pipes[i]->from_node, &lab->pipes[i]->in);
	lab->pipe_count = 0;
}

size_t state_lab_step(struct lab *lab)
{
	size_t work = 0;

	lab_advance(lab, 1000);
	lab_deliver(lab);
	lab_run_jobs(lab);
	for (uint32_t i = 0; i < LAB_PARTIES; i++)
		work += wh_state_step(lab->parties[i].state);
	return work;
}

void lab_steps(struct lab *lab, int count)
{
	while (count-- > 0)
		state_lab_step(lab);
}

void state_lab_free(struct lab *lab)
{
	for (uint32_t i = 0; i < LAB_PARTIES; i++)
		wh_state_stop(lab->parties[i].state);
	for (uint32_t i = 0; i < LAB_PARTIES; i++) {
		struct party *party = &lab->parties[i];

		while (wh_load_acquire(&party->jobs) > 0) {
			lab_run_jobs(lab);
			sched_yield();
		}
		wh_state_free(party->state, false);
		ck_assert_uint_eq(wh_load_relaxed(&party->program.snapshots),
				  wh_load_relaxed(&party->program.released));
		ck_assert_uint_eq(wh_load_relaxed(&party->program.overlaps), 0);
		free(party->program.restored);
	}
	for (size_t i = 0; i < lab->pipe_count; i++)
		lab->pipes[i]->in.ops->close(&lab->pipes[i]->in);
	free(lab);
}

/* ---- messages and streams, made by hand ---------------------------------------------------------------------------------- */

struct whorl_message lab_message(uint32_t sender, uint64_t index, uint64_t view, uint64_t *text)
{
	*text = index * 1000 + sender;
	return (struct whorl_message){.data = text,
				      .bytes = sizeof(*text),
				      .sender = sender,
				      .index = index,
				      .view = view,
				      .parts = 1,
				      .indexes = 1};
}

void party_message(struct party *party, uint32_t sender, uint64_t index)
{
	_Alignas(16) uint64_t text;
	struct whorl_message message = lab_message(sender, index, party->view, &text);

	if (wh_state_keeps(party->state))
		wh_state_keep(party->state, &message, 1);
	else
		hook_upcall(party, &message, 1);
}

void party_sends(struct party *party, uint32_t id, uint64_t next)
{
	party->position.of[party->position.count++] = (struct wh_position_of){.id = id, .next = next};
}

struct pipe *state_lab_open(struct party *to, uint32_t from, const struct party *as)
{
	struct pipe *pipe = pipe_create(1 << 20, to->lab->kind == LAB_THREADS);
	struct wh_state_header header = {to->hooks.subgroup, as->shard, as->view, as->position, false};
	unsigned char bytes[WH_STATE_HEADER_BYTES];

	pipe_write(&pipe->out, bytes, wh_state_put_header(bytes, &header));
	wh_state_stream(to->state, from, &pipe->in);
	return pipe;
}

void pipe_put(struct pipe *pipe, size_t at, size_t count)
{
	unsigned char bytes[4];

	wh_state_put_length(bytes, (uint32_t)count);
	pipe_write(&pipe->out, bytes, sizeof(bytes));
	for (size_t i = 0; i < count; i++) {
		bytes[0] = lab_byte(at + i);
		pipe_write(&pipe->out, bytes, 1);
	}
}

void pipe_end(struct pipe *pipe)
{
	pipe->out.ops->close(&pipe->out);
}

void check_restored(const struct program *program, size_t bytes)
{
	ck_assert_uint_eq(program->restored_bytes, bytes);
	for (size_t i = 0; i < bytes; i++)
		if (program->restored[i] != lab_byte(i))
			ck_abort_msg("byte %zu of the state is wrong", i);
}

void check_upcalled(const struct party *party, size_t at, uint32_t sender, uint64_t index)
{
	const struct whorl_message *message = &party->upcalled[at];

	if (at >= party->upcalled_count || message->sender != sender || message->index != index)
		ck_abort_msg("upcall %zu of %zu is not message %u of sender %u", at, party->upcalled_count,
			     (unsigned)index, (unsigned)sender);
}
