/* judge.h - what clients have seen of a server, judged: could one copy have given it; is all there that was acknowledged, and once? */
#ifndef WH_TESTS_KV_JUDGE_H
#define WH_TESTS_KV_JUDGE_H

#include "tests/kv/load.h"

#define JUDGE_READER 1000 /* clients from here on are those that read all in the end */

struct judge {
	struct history all; /* sorted by key, then by time */
	uint64_t keys;
	char **ends; /* of ledgers and counts, what was read last; NULL: nothing */
	uint64_t began_ns;
	bool expects_bad; /* then no history is written, but where WHORL_LOGS says */
};

/* The load has ended. */
void judge_begin(struct judge *judge, const struct load *load);
void judge_free(struct judge *judge);

/* Reads all keys from one server, as an operation each. False: it does not answer; `text`: what it said. */
bool judge_read_all(struct judge *judge, const struct load_options *options, uint32_t server, uint64_t timeout_ms,
		    char text[160]);

/* True: all is well. Otherwise it is printed what is not, and the history is written to a file. `stale`, if it is not NULL: the fault
 * is a read that came too late. */
bool judge_all(struct judge *judge, bool *stale);

#endif
