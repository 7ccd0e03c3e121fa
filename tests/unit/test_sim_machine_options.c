/* test_sim_machine_options.c - the preset of [cpu] that comes from the paper: its constants are what its sentences give (docs/simulator.md). */
#include <math.h>

#include "sim/machine.h"
#include "tests/harness.h"

static struct wh_cpu_options bound(const char *set, const char *other)
{
	static const struct wh_option_table *const tables[] = {&wh_cpu_table};
	struct wh_conf *conf = wh_conf_new(tables, 1);
	struct wh_cpu_options options;

	ck_assert_ptr_nonnull(conf);
	wh_conf_set(conf, set);
	if (other != NULL)
		wh_conf_set(conf, other);
	ck_assert_int_eq(wh_conf_check(conf), WHORL_OK);
	wh_cpu_bind(conf, 0, &options);
	wh_conf_free(conf);
	return options;
}

#define NEAR(value, expected, percent)                                                                                 \
	ck_assert_double_le(fabs((double)(value) - (expected)), (expected) * (percent) / 100)

/* What the paper says; times in ns, of 16 nodes. */
#define MESSAGES 16e6
#define POSTING_SHARE 0.30              /* III-A, of the baseline's loop */
#define POSTING_NS (64.84e9 / MESSAGES) /* IV-A1 */
#define BATCHED_SHARE sqrt(0.20 * 0.50) /* III-C */
#define BATCHED_POSTING_NS 4.29e9       /* IV-A1 */
#define BATCHES (MESSAGES / 22.18)      /* IV-A3 */
#define ACTIVE_SHARE 0.15               /* IV-A3, of 50 subgroups */
#define NOT_WAITING 0.024               /* IV-A1 */
#define SENT 1e6                        /* by each */
#define PREDICATES 3                    /* II-D */

TEST(the_papers_constants_are_its_sentences)
{
	struct wh_cpu_options cpu = bound("cpu.preset=paper", NULL);
	double whole = POSTING_NS / POSTING_SHARE, own = whole - POSTING_NS;
	double run = BATCHED_POSTING_NS / BATCHED_SHARE;
	double message = (run - BATCHED_POSTING_NS - BATCHES * own) / (MESSAGES - BATCHES);
	double look = (1 / ACTIVE_SHARE - 1) * whole / 49;
	double busy = NOT_WAITING * whole * MESSAGES / SENT, wait = whole / PREDICATES / 2;

	NEAR(cpu.message_ns + cpu.deliver_ns, message, 1);
	NEAR(cpu.subgroup_ns + 16 * cpu.member_ns, look, 1);
	NEAR(cpu.trigger_ns, own - message - look - (double)cpu.pass_ns - (double)cpu.upcall_ns, 1);
	NEAR(cpu.send_ns, busy - wait, 2);
	ck_assert(cpu.lock);
}

TEST(what_is_given_stays)
{
	struct wh_cpu_options cpu = bound("cpu.trigger_ns=5", "cpu.preset=paper"),
			      all = bound("cpu.preset=paper", NULL);

	ck_assert_int_eq(cpu.trigger_ns, 5);
	ck_assert_int_eq(cpu.send_ns, all.send_ns);
	ck_assert(!bound("cpu.lock=off", "cpu.preset=paper").lock);
}

/* Unless it is asked for, nothing costs what did not before. */
TEST(the_librarys_has_none_of_it)
{
	struct wh_cpu_options cpu = bound("cpu.preset=library", NULL);

	ck_assert_int_eq(cpu.trigger_ns + cpu.miss_ns, 0);
	ck_assert(!cpu.lock);
	ck_assert_int_eq(cpu.send_ns, 25);
}

TEST_SUITE("options of the simulated machine")
