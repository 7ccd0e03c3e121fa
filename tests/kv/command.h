/* command.h - the commands of the load: what is drawn, what is sent, and what the answers say.
 *
 * Keys come in ages, so that none has a history of any length: six in each. Two are numbers and two are texts, to which anything is
 * done. Two are ledgers, a count and a text, to which is only added, and of which nothing may be missing or there twice. The values
 * that are set, and the tokens of texts, are unique.
 */
#ifndef WH_TESTS_KV_COMMAND_H
#define WH_TESTS_KV_COMMAND_H

#include "tests/kv/resp.h"
#include "tests/linear/linear.h"

#define COMMAND_KEYS 6 /* of an age */
#define COMMAND_TOKEN_BYTES 10

enum command_class { COMMAND_NUMBER, COMMAND_TEXT, COMMAND_COUNT, COMMAND_LEDGER };

enum command_end {
	COMMAND_DONE,
	COMMAND_LOADING,     /* this and the next: an error; it was not done, and will not be */
	COMMAND_CLUSTERDOWN, /* no quorum */
	COMMAND_OOM,
	COMMAND_UNKNOWN, /* there is no answer */
	COMMAND_ODD,     /* there is one that should not be: it says which */
	COMMAND_ENDS
};

struct dice {
	uint64_t is;
};

uint64_t command_roll(struct dice *dice, uint64_t below);

enum command_class command_class(uint64_t key);
void command_name(uint64_t key, char name[32]);

/* An operation on that key; *token counts up, and no other client has its upper half. */
void command_draw(struct linear_op *op, uint64_t key, struct dice *dice, uint64_t *token);

/* Queues it. */
void command_put(struct resp *resp, const struct linear_op *op);
/* Takes its answers, which it puts into the operation. `text`: the error. */
enum command_end command_take(struct resp *resp, struct linear_op *op, char text[160]);

/* One step of it, outside of any transaction. */
void command_put_step(struct resp *resp, uint64_t key, const struct linear_step *step);
enum command_end command_take_step(struct resp *resp, uint64_t key, struct linear_step *step, char text[160]);

#endif
