#include "tests/support/replica_lab.h"

bool apply_calls(const struct whorl_call *calls, size_t count, void *ctx)
{
	struct machine *m = ctx;
	bool applied = true;

	atomic_fetch_add(&m->runs, 1);
	for (size_t i = 0; applied && i < count; i++) {
		const struct whorl_call *call = WHORL_AT(whorl_call, calls, i);
		struct applied entry = {.view = call->view,
					.sequence = call->sequence,
					.index = call->index,
					.bytes = call->bytes,
					.caller = call->caller,
					.awaited = call->awaited};
		unsigned long total;

		if (call->bytes > 0)
			memcpy(&entry.word, call->data, call->bytes < 8 ? call->bytes : 8);
		if (m->logged < LOG_MAX)
			m->log[m->logged++] = entry;
		total = atomic_load(&m->total) * 31 + entry.word;
		atomic_store(&m->total, total);
		atomic_fetch_add(&m->count, 1);
		if (m->answer != NULL)
			applied = m->answer(m, call);
		else
			ck_assert_int_eq(whorl_answer(call, &total, sizeof(total)), WHORL_OK);
	}
	return applied;
}

/* ---- its state, as given to newcomers ------------------------------------------------------------------------------------------- */

static void *machine_snapshot(const struct whorl_position *position, void *ctx)
{
	struct machine *m = ctx;
	struct machine_snapshot *snapshot = calloc(1, sizeof(*snapshot));

	(void)position;
	ck_assert_ptr_nonnull(snapshot);
	snapshot->words[0] = atomic_load(&m->count);
	snapshot->words[1] = atomic_load(&m->total);
	return snapshot;
}

static ptrdiff_t machine_read(void *handle, void *bytes, size_t count, void *ctx)
{
	struct machine_snapshot *snapshot = handle;
	struct machine *m = ctx;

	(void)count;
	while (m->breaks && !atomic_load(&m->may_go_on))
		sched_yield();
	if (m->breaks)
		return -1;
	if (snapshot->read)
		return 0;
	snapshot->read = true;
	memcpy(bytes, snapshot->words, sizeof(snapshot->words));
	return sizeof(snapshot->words);
}

static void machine_release(void *handle, void *ctx)
{
	(void)ctx;
	free(handle);
}

static bool machine_restore(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx)
{
	struct machine *m = ctx;

	if (step == WHORL_RESTORE_BEGIN)
		m->given_bytes = m->given[0] = m->given[1] = 0;
	if (step == WHORL_RESTORE_BYTES) {
		ck_assert_uint_le(m->given_bytes + count, sizeof(m->given));
		memcpy((char *)m->given + m->given_bytes, bytes, count);
		m->given_bytes += count;
	}
	if (step != WHORL_RESTORE_END)
		return true;
	atomic_fetch_add(&m->restoring, 1);
	while (m->waits && !atomic_load(&m->may_go_on))
		sched_yield();
	atomic_store(&m->count, m->given[0]);
	atomic_store(&m->total, m->given[1]);
	return true;
}

/* ---- the cluster ---------------------------------------------------------------------------------------------------------------- */

void lab_attach(struct lab *l, unsigned id, bool has_state)
{
	struct machine *m = &l->machines[id];
	const struct whorl_state functions = {.size = sizeof(functions),
					      .snapshot = machine_snapshot,
					      .read = machine_read,
					      .release = machine_release,
					      .restore = machine_restore,
					      .ctx = m};

	m->subgroup = subgroup_of(&l->c, id, l->name);
	ck_ok(whorl_on_calls(m->subgroup, apply_calls, m));
	if (has_state)
		ck_ok(whorl_on_state(m->subgroup, &functions));
}

struct lab *replica_lab_open(unsigned nodes, const char *group, const char *rest)
{
	struct lab *l = calloc(1, sizeof(*l));

	ck_assert_ptr_nonnull(l);
	l->name = "s";
	cluster_open(&l->c, nodes, group, rest);
	for (unsigned id = 0; id < nodes; id++)
		lab_attach(l, id, false);
	return l;
}

struct lab *lab_start(unsigned nodes, const char *group, const char *rest)
{
	struct lab *l = replica_lab_open(nodes, group, rest);

	cluster_start(&l->c);
	return l;
}

struct lab *lab_with_state(unsigned nodes, const char *group, const char *rest)
{
	struct lab *l = calloc(1, sizeof(*l));
	char lines[256];

	ck_assert_ptr_nonnull(l);
	l->name = "s";
	snprintf(lines, sizeof(lines), "nodes_max = %u\n%s", nodes + 1, group);
	cluster_open(&l->c, nodes, lines, rest);
	for (unsigned id = 0; id < nodes; id++)
		lab_attach(l, id, true);
	cluster_start(&l->c);
	return l;
}

void lab_enter(struct lab *l, unsigned id)
{
	free(l->c.records[id]);
	if (id >= l->c.count)
		l->c.count = id + 1;
	cluster_open_node(&l->c, id);
	lab_attach(l, id, true);
	ck_ok(whorl_start(l->c.nodes[id]));
}

void replica_lab_step(struct lab *l)
{
	cluster_step(&l->c);
}

void replica_lab_free(struct lab *l)
{
	cluster_free(&l->c);
	free(l);
}

bool lab_agrees(const struct lab *l, unsigned long count)
{
	const struct machine *first = NULL;

	for (unsigned id = 0; id < l->c.count; id++) {
		const struct machine *m = &l->machines[id];

		if (l->c.nodes[id] == NULL || m->subgroup == NULL)
			continue;
		if (first == NULL)
			first = m;
		if (atomic_load(&m->count) != count || atomic_load(&m->total) != atomic_load(&first->total))
			return false;
	}
	return first != NULL;
}

/* ---- what callers and readers are told ------------------------------------------------------------------------------------------- */

static atomic_ulong tellings;

void note_outcome(const struct whorl_outcome *outcome, void *ctx)
{
	struct told *t = ctx;

	t->result = outcome->result;
	t->bytes = outcome->bytes;
	t->word = 0;
	if (outcome->bytes > 0)
		memcpy(&t->word, outcome->answer, outcome->bytes < 8 ? outcome->bytes : 8);
	t->view = outcome->view;
	t->sequence = outcome->sequence;
	snprintf(t->text, sizeof(t->text), "%s", outcome->text);
	t->order = atomic_fetch_add(&tellings, 1);
	t->applied = t->machine != NULL ? atomic_load(&t->machine->count) : 0;
	atomic_fetch_add(&t->times, 1);
}

bool is_told(const struct told *t)
{
	ck_assert_uint_le(atomic_load(&t->times), 1);
	return atomic_load(&t->times) == 1;
}

enum whorl_result call_word(struct machine *m, uint64_t word, struct told *t)
{
	if (t != NULL)
		t->machine = m;
	return whorl_call(m->subgroup, &word, sizeof(word), t != NULL ? note_outcome : NULL, t);
}

void note_look(enum whorl_result result, void *ctx)
{
	struct look *look = ctx;

	look->result = result;
	look->count = atomic_load(&look->machine->count);
	look->total = atomic_load(&look->machine->total);
	look->order = atomic_fetch_add(&tellings, 1);
	atomic_fetch_add(&look->times, 1);
}

bool has_looked(const struct look *look)
{
	ck_assert_uint_le(atomic_load(&look->times), 1);
	return atomic_load(&look->times) == 1;
}

enum whorl_result look_at(struct machine *m, enum whorl_freshness freshness, struct look *look)
{
	look->machine = m;
	return whorl_read(m->subgroup, freshness, note_look, look);
}
