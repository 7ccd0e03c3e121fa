/* dds_world.h - what tests of topics share: a type, entities that must be made, a file that all domains are, processes that come and go,
 * and a board on which they tell how far they are.
 *
 * Each test has a domain of its own (test_main forks for each); processes are forked before the one that forks has a node.
 */
#ifndef WH_TESTS_SUPPORT_DDS_WORLD_H
#define WH_TESTS_SUPPORT_DDS_WORLD_H

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/support/dds_domain.h"
#include "tests/temporary.h"

struct pose {
	int32_t id;
	int32_t count;
	double x;
};

WHORL_DDS_TYPE(pose_type, struct pose, WHORL_DDS_KEY(struct pose, id), WHORL_DDS_FIELD(struct pose, count),
	       WHORL_DDS_FIELD(struct pose, x));

/* ---- entities ------------------------------------------------------------------------------------------------------------------ */

whorl_dds_entity new_topic(whorl_dds_entity participant, const char *name, const char *policies);
struct place enter(uint32_t number, const char *name, const char *policies);

/* ---- a file -------------------------------------------------------------------------------------------------------------------- */

#define TEST_GROUP "dds-test-%d" /* of the process that writes the file */

extern char domain_file[TEST_PATH_BYTES];

/* A group of this test alone on this host, in four lines; `rest` follows. The environment names the file from here on. */
void write_group(const char *rest);
void remove_file(void);

/* ---- reading ------------------------------------------------------------------------------------------------------------------- */

/* Takes one into *pose, if there is one. */
bool take_now(whorl_dds_entity reader, struct pose *pose, struct whorl_dds_sample_info *info);
struct pose take_one(whorl_dds_entity reader, struct whorl_dds_sample_info *info);

/* How many there are, at most 64. */
int samples_of(whorl_dds_entity reader);
uint32_t lost_of(whorl_dds_entity reader);
int matched_of(whorl_dds_entity entity, uint32_t status);

/* ---- processes ----------------------------------------------------------------------------------------------------------------- */

extern struct board { /* of all processes */
	atomic_int step[256];
} * board;

void reach(int which, int step);
void await(int which, int step);

/* A failed check in a process ends it: CK_FORK does not hold there, so Check's own exit code tells. */
pid_t begin_process(void (*work)(uint32_t), uint32_t number);
void await_end(pid_t pid, bool killed);
int give_up(const char *what);

/* Where Check is not there to tell of it. */
#define need(condition) ((condition) ? 0 : give_up(#condition))

/* ---- suites -------------------------------------------------------------------------------------------------------------------- */

struct named_test {
	const char *name;
	const TTest *test;
};

int run_processes(const char *name, const struct named_test *tests, size_t count);

#endif
