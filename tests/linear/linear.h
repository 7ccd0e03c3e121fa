/* linear.h - is a history of reads and writes one that a single copy could have given? (Herlihy and Wing, 1990.)
 *
 * Each operation has a time at which it began, and one at which it ended, with an answer. The history is linearizable if all
 * operations have an order that one variable explains, and in which an operation that ended before another began comes before that.
 * Each key is a variable of its own, and it suffices that each key's history is linearizable. The search is that of Wing and Gong
 * (1993), with the memory of Lowe (2017): the same operations with the same value behind them are tried once.
 *
 * The outcome of an operation may be unknown: its server was killed, or the connection closed. Then it may have taken place at any
 * time after it began, or never: at the end of the order nothing tells these two apart.
 *
 *     get     found, answer
 *     set     -
 *     claim   sets it if it is not there: found if it was there before, and stays as it is
 *     add     answer: what it is then; what is not there counts as 0
 *     remove  found: it was there
 *     append  answer: of how many tokens it is then; what is not there has none
 *
 * A value is a number, or a text of tokens. A text of one token is that number; one of more is told by linear_append. Set and claim
 * make one token, and so does add. An operation may be of two steps, which take effect at once: a transaction.
 */
#ifndef WH_TESTS_LINEAR_LINEAR_H
#define WH_TESTS_LINEAR_LINEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum linear_kind { LINEAR_GET, LINEAR_SET, LINEAR_CLAIM, LINEAR_ADD, LINEAR_REMOVE, LINEAR_APPEND, LINEAR_KINDS };

#define LINEAR_UNKNOWN UINT64_MAX

struct linear_step {
	enum linear_kind kind;
	uint64_t argument; /* set, claim, add, append */
	bool found;
	uint64_t answer;
};

struct linear_op {
	uint64_t key;
	uint32_t client; /* for people */
	enum linear_kind kind;
	uint64_t argument; /* set, claim, add, append */
	bool found;
	uint64_t answer;
	uint64_t began_ns,
		ended_ns; /* ended_ns: LINEAR_UNKNOWN, and then found and answer are not looked at; else not before began_ns */
	bool goes_on; /* there is another step, at once: `then` */
	struct linear_step then;
};

enum linear_verdict {
	LINEAR_GOOD,
	LINEAR_BAD,
	LINEAR_TOO_HARD, /* more is to be tried than `most` */
	LINEAR_NO_MEMORY
};

struct linear_fault {
	uint64_t key;
	size_t placed;       /* so many of the key's operations could be placed, at most... */
	struct linear_op op; /* ...when this one had to be, and could not */
	char text[400];      /* all that in words */
};

/* What a text is, as a get answers it, when a token is appended to it. Two texts that differ are not told as the same in any time. */
uint64_t linear_append(uint64_t text, uint64_t token);

/* What an operation was and was told, for people. */
void linear_tell(const struct linear_op *op, char *text, size_t bytes);

/* Checks each key by itself, up to the first that is not good, which *fault (may be NULL) tells. The order of `ops` does not
 * matter. `most`: so many states of one key are looked at, at most, 80 to 160 bytes each. */
enum linear_verdict linear_check(const struct linear_op *ops, size_t count, size_t most, struct linear_fault *fault);

#endif
