/* secure_lab.h - two ends of a connection, and the wire between them in the test's hands. */
#ifndef WH_TESTS_SUPPORT_SECURE_LAB_H
#define WH_TESTS_SUPPORT_SECURE_LAB_H

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/harness.h"
#include "tests/temporary.h"
#include "transport/secure/secure.h"

enum { CALLER, ANSWERER };

#define LOG_MOST (128 * 1024)

#define LAB_PATH_BYTES (TEST_PATH_BYTES + 16)

struct lab {
	char directory[TEST_PATH_BYTES];
	struct wh_secure_ground ground[2];
	struct wh_secure *end[2];
	struct {
		unsigned char bytes[LOG_MOST]; /* all that it has sent so far */
		size_t count;
	} said[2];
};

void lab_path(const struct lab *lab, const char *name, char out[LAB_PATH_BYTES]);

void secure_lab_write(const struct lab *lab, const char *name, const void *bytes, size_t count, mode_t mode,
		      char out[LAB_PATH_BYTES]);

struct wh_secure_key *secure_lab_key(const struct lab *lab, const char *text);

/* Node 1 calls node 2 of the group g; in open mode unless the test adds to it. */
void secure_lab_begin(struct lab *lab);
void lab_with_key(struct lab *lab);
void secure_lab_end(struct lab *lab);
void lab_connect(struct lab *lab);

/* What `from` has to say: off its hands and into the log. Returns where in the log it begins. */
size_t lab_listen(struct lab *lab, int from, size_t *count);

/* Byte by byte, as the worst of networks. Returns whether anything was there. */
bool lab_carry(struct lab *lab, int from);

/* Until neither has anything more to say. */
void lab_run(struct lab *lab);
void lab_meet(struct lab *lab);
bool lab_is(const struct lab *lab, int end, enum wh_secure_state state);

#define expect_both(lab, state)                                                                                        \
	do {                                                                                                           \
		ck_assert_msg(lab_is((lab), CALLER, (state)), "caller: %s", wh_secure_reason((lab)->end[CALLER]));     \
		ck_assert_msg(lab_is((lab), ANSWERER, (state)), "answerer: %s",                                        \
			      wh_secure_reason((lab)->end[ANSWERER]));                                                 \
	} while (0)

/* Both have refused, and each says so in these words. */
void expect_refusal(struct lab *lab, const char *caller, const char *answerer);
void expect_faults(const struct lab *lab, enum wh_secure_fault caller, enum wh_secure_fault answerer);

#endif
