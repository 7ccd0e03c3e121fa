/* judge.c - see judge.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kv/judge.h"

#define MS UINT64_C(1000000)
#define STATES_MOST 20000000    /* of a key: up to 3 GB, which is not come near */
#define STATES_SHORTENED 300000 /* while it is shortened: what is harder counts as good */
#define SHOWN 40
#define SHORTENED_MOST 5 /* keys */

static int by_key_and_time(const void *one, const void *other)
{
	const struct linear_op *a = one, *b = other;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->began_ns < b->began_ns ? -1 : a->began_ns > b->began_ns;
}

static int by_end(const void *one, const void *other)
{
	const struct linear_op *a = one, *b = other;

	if (a->ended_ns != b->ended_ns)
		return a->ended_ns < b->ended_ns ? -1 : 1;
	return a->began_ns < b->began_ns ? -1 : a->began_ns > b->began_ns;
}

void judge_begin(struct judge *judge, const struct load *load)
{
	*judge = (struct judge){.keys = load_keys(load), .began_ns = load->begin_ns};
	judge->ends = calloc(judge->keys, sizeof(*judge->ends));
	if (judge->ends == NULL)
		abort();
	for (uint32_t i = 0; i < load->options.clients; i++)
		for (size_t k = 0; k < load->clients[i].history.count; k++)
			history_add(&judge->all, &load->clients[i].history.ops[k]);
}

void judge_free(struct judge *judge)
{
	for (uint64_t key = 0; key < judge->keys; key++)
		free(judge->ends[key]);
	free(judge->ends);
	free(judge->all.ops);
}

/* ---- what is there in the end ------------------------------------------------------------------------------------------------- */

static bool read_key(struct judge *judge, struct resp *resp, uint32_t server, uint64_t key, char text[160])
{
	struct linear_op op = {.key = key, .client = JUDGE_READER + server, .kind = LINEAR_GET};
	struct resp_reply reply;
	char name[32];

	command_name(key, name);
	op.began_ns = resp_now_ns();
	command_put(resp, &op);
	if (!resp_send(resp) || command_take(resp, &op, text) != COMMAND_DONE)
		return false;
	op.ended_ns = resp_now_ns();
	history_add(&judge->all, &op);
	if (command_class(key) < COMMAND_COUNT)
		return true;
	if (!resp_ask(resp, &reply, "GET %s", name) || (reply.kind != RESP_BULK && reply.kind != RESP_NIL))
		return false;
	free(judge->ends[key]);
	judge->ends[key] = strdup(reply.kind == RESP_BULK ? reply.text : "");
	return judge->ends[key] != NULL;
}

bool judge_read_all(struct judge *judge, const struct load_options *options, uint32_t server, uint64_t timeout_ms,
		    char text[160])
{
	struct resp resp = {.fd = -1};
	bool good = load_connect(options, &resp, server, resp_now_ns() + timeout_ms * MS);

	snprintf(text, 160, "nothing");
	for (uint64_t key = 0; key < judge->keys && good; key++) {
		resp_set_end(&resp, resp_now_ns() + timeout_ms * MS);
		good = read_key(judge, &resp, server, key, text);
	}
	resp_free(&resp);
	return good;
}

/* ---- ledgers ------------------------------------------------------------------------------------------------------------------- */

struct ledger {
	uint64_t key;
	uint64_t *tokens; /* sorted */
	size_t count, found;
};

static int by_number(const void *one, const void *other)
{
	const uint64_t *a = one, *b = other;

	return *a < *b ? -1 : *a > *b;
}

static bool read_ledger(struct ledger *ledger, const char *text)
{
	ledger->count = strlen(text) / COMMAND_TOKEN_BYTES;
	ledger->tokens = calloc(ledger->count + 1, sizeof(*ledger->tokens));
	if (ledger->tokens == NULL)
		abort();
	for (size_t i = 0; i < ledger->count; i++) {
		char word[COMMAND_TOKEN_BYTES + 1] = "";

		memcpy(word, text + i * COMMAND_TOKEN_BYTES, COMMAND_TOKEN_BYTES);
		ledger->tokens[i] = strtoull(word, NULL, 16);
	}
	qsort(ledger->tokens, ledger->count, sizeof(*ledger->tokens), by_number);
	for (size_t i = 1; i < ledger->count; i++)
		if (ledger->tokens[i] == ledger->tokens[i - 1]) {
			printf("applied twice: key %" PRIu64 " has the token %" PRIx64 " twice\n", ledger->key,
			       ledger->tokens[i]);
			return false;
		}
	return true;
}

static bool is_in_ledger(struct ledger *ledger, enum linear_kind kind, uint64_t token)
{
	bool is_in = kind == LINEAR_APPEND &&
		     bsearch(&token, ledger->tokens, ledger->count, sizeof(token), by_number) != NULL;

	ledger->found += is_in;
	return is_in;
}

/* Is it as the end shows it? *never: it was unknown, and was never applied. */
static bool fits_ledger(struct ledger *ledger, const struct linear_op *op, bool *never)
{
	size_t tokens = (op->kind == LINEAR_APPEND) + (op->goes_on && op->then.kind == LINEAR_APPEND), found = 0;

	found += is_in_ledger(ledger, op->kind, op->argument);
	found += op->goes_on && is_in_ledger(ledger, op->then.kind, op->then.argument);
	*never = op->ended_ns == LINEAR_UNKNOWN && found == 0;
	return found == tokens || *never;
}

/* Drops what is unknown and was never applied: the end has shown it. */
static size_t drop_never(struct ledger *ledger, struct linear_op *ops, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		bool never;

		fits_ledger(ledger, &ops[i], &never);
		if (!never)
			ops[kept++] = ops[i];
	}
	return kept;
}

static bool audit_ledger(struct linear_op *ops, size_t *count, const char *text)
{
	struct ledger ledger = {.key = ops[0].key};
	bool good = read_ledger(&ledger, text), never;
	char told[300];

	for (size_t i = 0; i < *count && good; i++) {
		good = fits_ledger(&ledger, &ops[i], &never);
		linear_tell(&ops[i], told, sizeof(told));
		if (!good)
			printf("lost: key %" PRIu64 " does not have in the end: %s\n", ledger.key, told);
	}
	if (good && ledger.found != ledger.count) {
		printf("applied, and never sent: key %" PRIu64 " has %zu tokens, of which the clients know %zu\n",
		       ledger.key, ledger.count, ledger.found);
		good = false;
	}
	if (good)
		*count = drop_never(&ledger, ops, *count);
	free(ledger.tokens);
	return good;
}

static uint64_t count_added(const struct linear_op *op)
{
	return (op->kind == LINEAR_ADD) + (op->goes_on && op->then.kind == LINEAR_ADD);
}

static bool audit_count(const struct linear_op *ops, size_t count, const char *text)
{
	uint64_t least = 0, most = 0, is = strtoull(text, NULL, 10);

	for (size_t i = 0; i < count; i++) {
		most += count_added(&ops[i]);
		least += ops[i].ended_ns != LINEAR_UNKNOWN ? count_added(&ops[i]) : 0;
	}
	if (is < least)
		printf("lost: key %" PRIu64 " is %" PRIu64 ", and %" PRIu64 " additions were acknowledged\n",
		       ops[0].key, is, least);
	if (is > most)
		printf("applied twice: key %" PRIu64 " is %" PRIu64 ", and there were %" PRIu64 " additions\n",
		       ops[0].key, is, most);
	return least <= is && is <= most;
}

static bool audit(struct judge *judge, struct linear_op *ops, size_t *count)
{
	const char *end = judge->ends[ops[0].key];

	if (end == NULL)
		return true;
	return command_class(ops[0].key) == COMMAND_LEDGER ? audit_ledger(ops, count, end)
							   : audit_count(ops, *count, end);
}

/* ---- what is wrong, in few words ------------------------------------------------------------------------------------------------ */

static bool is_bad(const struct linear_op *ops, size_t count, struct linear_fault *fault)
{
	return linear_check(ops, count, STATES_SHORTENED, fault) == LINEAR_BAD;
}

/* The first operations of a history that is sorted by end, up to that of number `last`: of those that had begun before that, the outcome is
 * unknown. */
static size_t cut_behind(const struct linear_op *ops, size_t count, size_t last, struct linear_op *out)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (i > last && ops[i].began_ns > ops[last].ended_ns)
			continue;
		out[kept] = ops[i];
		if (i > last)
			out[kept].ended_ns = LINEAR_UNKNOWN;
		kept++;
	}
	return kept;
}

static bool only_reads(const struct linear_op *op)
{
	return op->kind == LINEAR_GET && (!op->goes_on || op->then.kind == LINEAR_GET);
}

/* Leaves out reads, which others do not depend on, as long as it stays bad. */
static size_t leave_out_reads(struct linear_op *ops, size_t count, struct linear_op *tried)
{
	for (size_t part = count; part > 0; part /= 2)
		for (size_t from = 0; from < count; from += part) {
			size_t kept = 0;

			for (size_t i = 0; i < count; i++)
				if (i < from || i >= from + part || !only_reads(&ops[i]))
					tried[kept++] = ops[i];
			if (kept == count || !is_bad(tried, kept, NULL))
				continue;
			memcpy(ops, tried, kept * sizeof(*ops));
			count = kept;
		}
	return count;
}

/* The shortest beginning that is bad, without reads that do not matter. Returns how many there are, in `ops`. */
static size_t shorten(struct linear_op *ops, size_t count)
{
	struct linear_op *tried = calloc(count, sizeof(*tried));
	size_t low = 0, high = count - 1; /* all up to `high` is bad */

	if (tried == NULL)
		return count;
	qsort(ops, count, sizeof(*ops), by_end);
	while (high > 0 && ops[high].ended_ns == LINEAR_UNKNOWN)
		high--;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (is_bad(tried, cut_behind(ops, count, middle, tried), NULL))
			high = middle;
		else
			low = middle + 1;
	}
	count = cut_behind(ops, count, high, tried);
	memcpy(ops, tried, count * sizeof(*ops));
	count = leave_out_reads(ops, count, tried);
	free(tried);
	return count;
}

static void print_op(FILE *file, const struct linear_op *op, uint64_t began_ns)
{
	struct linear_op shown = *op;
	char text[300];

	shown.began_ns -= began_ns;
	shown.ended_ns -= op->ended_ns != LINEAR_UNKNOWN ? began_ns : 0;
	linear_tell(&shown, text, sizeof(text));
	fprintf(file, "  key %" PRIu64 ": %s\n", op->key, text);
}

static void write_history(const struct judge *judge, const struct linear_op *ops, size_t count)
{
	const char *path = getenv("WHORL_LOGS");
	FILE *file;

	if (path == NULL && judge->expects_bad)
		return;
	path = path != NULL ? path : "kv-nemesis.history";
	file = fopen(path, "w");
	if (file == NULL) {
		printf("the history cannot be written to %s: %s\n", path, strerror(errno));
		return;
	}
	for (size_t i = 0; i < count; i++)
		print_op(file, &ops[i], judge->began_ns);
	fclose(file);
	printf("the history of key %" PRIu64 ", %zu operations, is in %s\n", ops[0].key, count, path);
}

/* ---- all of it ------------------------------------------------------------------------------------------------------------------ */

struct fault { /* of the key of which least must be told */
	struct linear_op *ops, *shortest;
	size_t count, shortest_count;
	unsigned keys;
};

static void note_fault(struct fault *fault, struct linear_op *ops, size_t count)
{
	struct linear_op *copy;
	size_t shortest;

	if (fault->keys++ >= SHORTENED_MOST)
		return;
	copy = calloc(count, sizeof(*copy));
	if (copy == NULL)
		abort();
	memcpy(copy, ops, count * sizeof(*copy));
	shortest = shorten(copy, count);
	if (fault->shortest != NULL && shortest >= fault->shortest_count) {
		free(copy);
		return;
	}
	free(fault->shortest);
	fault->ops = ops;
	fault->count = count;
	fault->shortest = copy;
	fault->shortest_count = shortest;
}

static void tell_fault(const struct judge *judge, const struct fault *fault, bool *stale)
{
	size_t count = fault->shortest_count, shown = count < SHOWN ? count : SHOWN;
	struct linear_fault last = {.text = ""};
	char name[32];

	write_history(judge, fault->ops, fault->count);
	command_name(fault->ops[0].key, name);
	printf("not linearizable: %u keys, among them %s. The last %zu of the %zu operations that it takes to see it, by their "
	       "ends, in ns since the beginning:\n",
	       fault->keys, name, shown, count);
	for (size_t i = count - shown; i < count; i++)
		print_op(stdout, &fault->shortest[i], judge->began_ns);
	if (!is_bad(fault->shortest, count, &last))
		return;
	printf("behind %zu operations nothing explains this one:\n", last.placed);
	print_op(stdout, &last.op, judge->began_ns);
	if (stale != NULL)
		*stale = last.op.kind == LINEAR_GET;
}

static bool judge_key(struct judge *judge, struct linear_op *ops, size_t count, struct fault *fault)
{
	bool good = audit(judge, ops, &count);
	enum linear_verdict verdict = linear_check(ops, count, STATES_MOST, NULL);

	if (verdict == LINEAR_BAD)
		note_fault(fault, ops, count);
	else if (verdict != LINEAR_GOOD)
		printf("key %" PRIu64 " with %zu operations is %s to judge\n", ops[0].key, count,
		       verdict == LINEAR_TOO_HARD ? "too hard" : "too much");
	else if (!good)
		write_history(judge, ops, count);
	return good && verdict == LINEAR_GOOD;
}

bool judge_all(struct judge *judge, bool *stale)
{
	struct linear_op *ops = judge->all.ops;
	size_t count = judge->all.count;
	struct fault fault = {.ops = NULL};
	bool good = true;

	if (count > 0)
		qsort(ops, count, sizeof(*ops), by_key_and_time);
	for (size_t first = 0, next; first < count; first = next) {
		for (next = first + 1; next < count && ops[next].key == ops[first].key; next++)
			;
		good &= judge_key(judge, ops + first, next - first, &fault);
	}
	if (fault.shortest != NULL)
		tell_fault(judge, &fault, stale);
	free(fault.shortest);
	fflush(stdout);
	return good;
}
