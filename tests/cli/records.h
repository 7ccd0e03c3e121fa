/* records.h - the deliveries that nodes have written down, and what must hold of them. */
#ifndef WH_TESTS_CLI_RECORDS_H
#define WH_TESTS_CLI_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct records_subgroup {
	const char *name;
	uint32_t number; /* its place in the file */
	uint32_t members[16], member_count;
	uint32_t senders[16], sender_count; /* the declared ones */
	bool ordered;
	size_t bytes;   /* of each message */
	uint64_t total; /* messages that each member has delivered */
};

/* Checks the files node-N.txt in `directory`: in an ordered subgroup all members have the same sequence, otherwise the
 * same of each sender; each sender's messages come from 0 on without a gap; every message has the content that its
 * sender filled in. Returns the digest that follows from the records alone. */
uint64_t records_check(const char *directory, const struct records_subgroup *subgroup);

#endif
