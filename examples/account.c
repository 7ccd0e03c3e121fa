/* account.c - a replicated account: calls that are answered, and reads that are never stale.
 *
 * Three processes, each with the whole state, an account. All of them take and put at the same time, and each call says whether it was
 * done: the account is never overdrawn, though any of them may be asked, and none of them is the first. Then one reads what the others
 * have done.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <whorl/replica.h>

#define NODES 3
#define CALLS 3000 /* by each */

struct account {
	int64_t balance;
	uint64_t calls;
};

/* The state machine: every replica applies the same calls in the same order. Where the call was made it is answered. */
static bool apply(const struct whorl_call *calls, size_t count, void *ctx)
{
	struct account *account = ctx;

	for (size_t i = 0; i < count; i++) {
		const struct whorl_call *call = WHORL_AT(whorl_call, calls, i);
		const int64_t *amount = call->data;
		bool covered = account->balance + *amount >= 0;

		account->balance += covered ? *amount : 0;
		account->calls++;
		whorl_answer(call, &covered, sizeof(covered));
	}
	return true;
}

static int report(whorl_node *node, const char *what, enum whorl_result result)
{
	char why[256];

	whorl_error(node, why, sizeof(why));
	return fprintf(stderr, "account: %s: %s. %s\n", what, whorl_result_text(result), why), 1;
}

static int use_account(whorl_node *node, whorl_subgroup *accounts, unsigned *refused)
{
	for (int i = 0; i < CALLS; i++) {
		int64_t amount = i % 3 == 0 ? 2 : -1 - (int64_t)(whorl_node_id(node) % 2);
		bool covered = false;
		size_t bytes = sizeof(covered);
		enum whorl_result result = whorl_call_wait(accounts, &amount, sizeof(amount), &covered, &bytes, 20000);

		if (result != WHORL_OK)
			return report(node, "call", result);
		*refused += !covered;
	}
	return 0;
}

struct look {
	const struct account *account;
	struct account seen;
};

/* On the loop, between two calls: the state holds still. */
static void look_at_account(enum whorl_result result, void *ctx)
{
	struct look *look = ctx;

	if (result == WHORL_OK)
		look->seen = *look->account;
}

/* Waits until all have done, by reading: no message is sent for it, and what is read has all that any of them was answered. */
static int read_account(whorl_node *node, whorl_subgroup *accounts, struct look *look)
{
	enum whorl_result result;

	do
		result = whorl_read_wait(accounts, WHORL_LINEARIZABLE, look_at_account, look, 20000);
	while (result == WHORL_OK && look->seen.calls < NODES * CALLS);
	return result == WHORL_OK ? 0 : report(node, "read", result);
}

static int run_replica(whorl_config *config, unsigned id)
{
	struct account account = {.balance = 0};
	struct look look = {.account = &account};
	unsigned refused = 0;
	whorl_subgroup *accounts;
	whorl_node *node;
	int failed;

	alarm(60); /* should anything stand still */
	if (whorl_open(config, id, NULL, &node) != WHORL_OK)
		return fprintf(stderr, "account: %s\n", whorl_config_error(config)), 1;
	accounts = whorl_subgroup_find(node, "accounts");
	failed = whorl_on_calls(accounts, apply, &account) != WHORL_OK || whorl_start(node) != WHORL_OK ||
		 whorl_ready(node, 20000) != WHORL_OK || use_account(node, accounts, &refused) ||
		 read_account(node, accounts, &look);
	if (!failed)
		dprintf(1, "replica %u: balance %" PRId64 " after %" PRIu64 " calls; %u of its own were not covered\n",
			id, look.seen.balance, look.seen.calls, refused);
	whorl_close(node, 5000);
	return failed;
}

int main(void)
{
	whorl_config *config = whorl_config_new();
	int status, failed = 0;
	char text[256];

	snprintf(text, sizeof(text),
		 "[group]\nname = account-%d\nnodes = %d\nstart_timeout_ms = 20000\n[subgroup accounts]\n",
		 (int)getpid(), NODES);
	if (config == NULL || whorl_config_load_text(config, "account", text) != WHORL_OK)
		return fprintf(stderr, "account: it cannot begin\n"), 1;
	for (unsigned id = 0; id < NODES; id++) /* nodes are opened after fork, never before */
		if (fork() == 0)
			_exit(run_replica(config, id));
	for (unsigned id = 0; id < NODES; id++)
		failed |= wait(&status) < 0 || status != 0;
	whorl_config_free(config);
	return failed;
}
