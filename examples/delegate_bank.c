/* delegate_bank.c - accounts at several workers, and tellers that move money from one to another.
 *
 * A transfer has to wait for two accounts, so it is launched: it runs in a fiber of its own at the bank, and while it waits the bank is
 * latched: one transfer at a time, and in between nobody sees money that has left one account and not come to the other. Clients are
 * fibers, which are spawned and joined.
 */
#include <err.h>
#include <stdio.h>
#include <whorl/delegate.h>

#define ACCOUNTS 4
#define CLIENTS 6
#define TRANSFERS 500
#define PATIENCE_MS 60000

/* ---- accounts ---------------------------------------------------------------------------------------------------------------- */

struct account {
	int64_t balance;
};

struct amount {
	int64_t n;
};

static WHORL_TYPE(account_type, struct account, NULL);

/* How much was taken: nothing, if there is not enough. */
WHORL_FUNCTION(account_take, struct account, struct amount, int64_t, WHORL_DETERMINISTIC)
{
	*result = property->balance >= args->n ? args->n : 0;
	property->balance -= *result;
}

WHORL_FUNCTION(account_pay, struct account, struct amount, int64_t, WHORL_DETERMINISTIC)
{
	property->balance += args->n;
	*result = property->balance;
}

/* ---- the bank ---------------------------------------------------------------------------------------------------------------- */

struct bank {
	struct whorl_trust accounts[ACCOUNTS];
	uint64_t transfers;
};

static WHORL_TYPE(bank_type, struct bank, NULL);

struct transfer {
	uint32_t from, to;
	int64_t amount;
};

WHORL_FUNCTION(move_money, struct bank, struct transfer, int64_t, 0)
{
	int64_t taken, balance;

	*result = 0;
	if (whorl_apply(&property->accounts[args->from], account_take, &(struct amount){args->amount}, &taken,
			PATIENCE_MS) != WHORL_OK ||
	    whorl_apply(&property->accounts[args->to], account_pay, &(struct amount){taken}, &balance, PATIENCE_MS) !=
		    WHORL_OK)
		errx(1, "an account does not answer");
	property->transfers += taken > 0;
	*result = taken;
}

/* All balances, between two transfers. */
WHORL_FUNCTION(audit, struct bank, struct whorl_none, int64_t, WHORL_READ)
{
	int64_t balance;

	*result = 0;
	for (int i = 0; i < ACCOUNTS; i++) {
		if (whorl_apply(&property->accounts[i], account_pay, &(struct amount){0}, &balance, PATIENCE_MS) !=
		    WHORL_OK)
			errx(1, "an account does not answer");
		*result += balance;
	}
}

/* ---- clients ----------------------------------------------------------------------------------------------------------------- */

struct client {
	struct whorl_trust bank;
	uint32_t seed;
};

WHORL_FUNCTION(be_client, struct whorl_none, struct client, int64_t, 0)
{
	struct whorl_trust bank = args->bank;
	uint32_t dice = args->seed;
	int64_t taken;

	*result = 0;
	for (int i = 0; i < TRANSFERS; i++) {
		dice = dice * 1664525 + 1013904223;
		if (whorl_launch(&bank, move_money,
				 &((struct transfer){dice >> 8 & 3, dice >> 10 & 3, 1 + (int64_t)(dice >> 12 & 63)}),
				 &taken, PATIENCE_MS) != WHORL_OK)
			errx(1, "the bank does not answer");
		*result += taken;
	}
	if (whorl_trust_drop(&bank) != WHORL_OK)
		errx(1, "drop: %s", whorl_invalid_text());
}

int main(void)
{
	const struct whorl_work_options options = {.size = sizeof(options), .workers = 3, WHORL_FUNCTIONS_LINKED};
	struct whorl_place where = whorl_at_worker(WHORL_NODE_HERE, 0);
	struct whorl_join joins[CLIENTS];
	struct whorl_trust trust;
	struct bank bank = {.transfers = 0};
	int64_t moved = 0, n;
	whorl_work *work;

	if (whorl_work_open(NULL, &options, &work) != WHORL_OK)
		errx(1, "workers: %s", whorl_invalid_text());
	for (uint32_t i = 0; i < ACCOUNTS; i++) /* the bank's worker gets the handles: it alone uses them */
		if (whorl_entrust(work, whorl_at_worker(WHORL_NODE_HERE, i % 3), &account_type, &(struct account){1000},
				  sizeof(struct account), &bank.accounts[i], PATIENCE_MS) != WHORL_OK ||
		    whorl_trust_send(&bank.accounts[i], where) != WHORL_OK)
			errx(1, "account: %s", whorl_invalid_text());
	if (whorl_entrust(work, where, &bank_type, &bank, sizeof(bank), &trust, PATIENCE_MS) != WHORL_OK)
		errx(1, "bank: %s", whorl_invalid_text());
	for (uint32_t i = 0; i < CLIENTS; i++) {
		struct whorl_place place = whorl_at_worker(WHORL_NODE_HERE, i % 3);
		struct client client = {.seed = i + 1};

		if (whorl_trust_clone(&trust, &client.bank) != WHORL_OK ||
		    whorl_trust_send(&client.bank, place) != WHORL_OK ||
		    whorl_spawn(work, place, be_client, &client, &joins[i]) != WHORL_OK)
			errx(1, "client: %s", whorl_invalid_text());
	}
	if (whorl_launch(&trust, audit, NULL, &n, PATIENCE_MS) != WHORL_OK)
		errx(1, "no audit");
	printf("while they move money there is %lld in all\n", (long long)n);
	for (int i = 0; i < CLIENTS; i++) {
		if (whorl_join(&joins[i], &n, sizeof(n), PATIENCE_MS) != WHORL_OK)
			errx(1, "a client does not end");
		moved += n;
	}
	if (whorl_launch(&trust, audit, NULL, &n, PATIENCE_MS) != WHORL_OK)
		errx(1, "no audit");
	printf("%d clients have moved %s; there is %lld in all\n", CLIENTS, moved > 0 ? "money" : "nothing",
	       (long long)n);
	if (whorl_trust_drop(&trust) != WHORL_OK || whorl_work_close(work, PATIENCE_MS) != WHORL_OK)
		errx(1, "close");
	return 0;
}
