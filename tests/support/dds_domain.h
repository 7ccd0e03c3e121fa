/* dds_domain.h - what tests of participants share: a domain of their own, entities that must be made, a sample that is waited for.
 *
 * Each test is a process, so its number makes a domain that no other has.
 */
#ifndef WH_TESTS_SUPPORT_DDS_DOMAIN_H
#define WH_TESTS_SUPPORT_DDS_DOMAIN_H

#include <time.h>
#include <unistd.h>

#include <whorl/dds.h>

#include "tests/harness.h"
#include "tests/patience.h"

#define OK WHORL_DDS_RETCODE_OK
#define SECOND (INT64_C(1000000000))
#define RELIABLE_ALL "reliability=reliable history=all"

uint32_t domain(void);
whorl_dds_duration patience(void);

/* > 0, or why not. In a process of its own Check is not there: then the process ends. */
whorl_dds_entity must_be_made(whorl_dds_entity entity, const char *what);
#define made(expression) must_be_made(expression, #expression)
#define well(expression)                                                                                               \
	do {                                                                                                           \
		whorl_dds_return well_ = (expression);                                                                 \
		if (well_ != OK)                                                                                       \
			ck_abort_msg("%s: %d, %s", #expression, (int)well_, whorl_dds_text());                         \
	} while (0)
/* It is answered with this, and says why. */
#define refused(result, expression)                                                                                    \
	do {                                                                                                           \
		whorl_dds_return refused_ = (expression);                                                              \
		if (refused_ != WHORL_DDS_RETCODE_##result)                                                            \
			ck_abort_msg("%s: %d, %s", #expression, (int)refused_, whorl_dds_text());                      \
	} while (0)

whorl_dds_qos *qos(const char *text);
void moment(void);

struct place {
	whorl_dds_entity participant, topic;
};

whorl_dds_entity topic_of(whorl_dds_entity participant, const struct whorl_dds_type *type, const char *name,
			  const char *policies);

struct place place_in(uint32_t number, const struct whorl_dds_type *type, const char *name, const char *policies);

struct place place_of(const struct whorl_dds_type *type, const char *name, const char *policies);
whorl_dds_entity new_writer(const struct place *place, const char *policies);
whorl_dds_entity new_reader(const struct place *place, const char *policies);

/* Waits until the reader has a sample, and takes it: `*data` is lent. */
void take_lent(whorl_dds_entity reader, void **data, struct whorl_dds_sample_info *info);

/* Waits until the entity's status has changed. */
void await_status(whorl_dds_entity entity, uint32_t status);

/* Looks again and again until it is so. */
#define until(condition)                                                                                               \
	do {                                                                                                           \
		whorl_dds_time end_ = whorl_dds_now() + patience();                                                    \
		while (!(condition)) {                                                                                 \
			ck_assert_msg(whorl_dds_now() < end_, "it never is: %s", #condition);                          \
			moment();                                                                                      \
		}                                                                                                      \
	} while (0)

int run_tests(const char *name, const TTest *const *tests, size_t count);

#endif
