/* test_dds_policy_memory.c - memory is out: at every allocation that policies, types and handles make, in turn.
 * Labels: nosan
 *
 * Each time the call must say so, leave nothing behind, and what it was given as it was.
 */
#include <string.h>

#include "dds/entity/entity.h"
#include "dds/type/type.h"
#include "tests/harness.h"
#include "tests/unit/refuse.h"

static struct wh_dds_policies before, policies, wanted, made;
static struct whorl_dds_type *type, *new_type;
static struct wh_dds_out out, said;

static const char words[] = "user_data=a topic_data=b group_data=c partition=d,e history=3";

static whorl_dds_return copy(void)
{
	return wh_dds_policies_copy(&made, &wanted);
}

static whorl_dds_return parse(void)
{
	return wh_dds_policies_parse(&policies, words, NULL);
}

static whorl_dds_return change(void)
{
	return wh_dds_policies_change(&policies, WH_DDS_PUBLISHER, &wanted, NULL, NULL);
}

static whorl_dds_return decode(void)
{
	struct wh_dds_in in = {.at = said.bytes, .left = said.count, .ok = true};
	bool read = wh_dds_take_policies(&in, &made, WH_DDS_READER);

	ck_assert(in.starved == !read);
	return read ? WHORL_DDS_RETCODE_OK : WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
}

static whorl_dds_return copy_type(void)
{
	struct whorl_dds_type hashless = *type;

	hashless.hash = 0;
	return wh_dds_type_new(&new_type, &hashless, NULL);
}

static whorl_dds_return parse_type(void)
{
	return wh_dds_type_parse(&new_type, "", "long w; @key long n", NULL);
}

static whorl_dds_return decode_type(void)
{
	return wh_dds_type_decode(&new_type, out.bytes, out.count, NULL);
}

static whorl_dds_return make_table(void)
{
	struct wh_dds_table *table = wh_dds_table_new();
	struct wh_dds_entity entity;
	whorl_dds_entity handle = WHORL_DDS_RETCODE_OUT_OF_RESOURCES;

	if (table != NULL) {
		handle = wh_dds_table_add(table, &entity, WH_DDS_PARTICIPANT, NULL, NULL);
		ck_assert_uint_eq(wh_dds_entity_children(table, NULL, NULL, 0), handle > 0);
		if (handle > 0)
			wh_dds_entity_put(&entity);
		wh_dds_table_free(table);
	}
	return handle > 0 ? WHORL_DDS_RETCODE_OK : handle;
}

static const struct {
	whorl_dds_return (*call)(void);
	long least; /* so many allocations at least */
} calls[] = {{copy, 4},      {parse, 5},      {change, 2},      {decode, 4},
	     {copy_type, 2}, {parse_type, 3}, {decode_type, 2}, {make_table, 2}};

static void begin(void)
{
	wh_dds_policies_init(&policies, WH_DDS_PUBLISHER);
	ck_assert_int_eq(wh_dds_policies_parse(&policies, "partition=old", NULL), WHORL_DDS_RETCODE_OK);
	ck_assert_int_eq(wh_dds_policies_copy(&before, &policies), WHORL_DDS_RETCODE_OK);
	wh_dds_policies_init(&wanted, WH_DDS_READER);
	ck_assert_int_eq(wh_dds_policies_parse(&wanted, words, NULL), WHORL_DDS_RETCODE_OK);
	wh_dds_put_policies(&said, &wanted);
	ck_assert_int_eq(wh_dds_type_parse(&type, "t", "long w; @key long n", NULL), WHORL_DDS_RETCODE_OK);
	wh_dds_type_encode(type, &out);
	memset(&made, 0, sizeof(made));
	new_type = NULL;
}

TEST_CASE("all", .setup = begin);

TEST_LOOP(memory_is_out, 0, sizeof(calls) / sizeof(*calls))
{
	whorl_dds_return result = WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
	long allocations = 0, was = live;

	for (; result != WHORL_DDS_RETCODE_OK; allocations++) {
		refuse_at = allocations;
		result = calls[_i].call();
		refuse_at = -1;
		ck_assert_int_lt(allocations, 100);
		if (result == WHORL_DDS_RETCODE_OK)
			break;
		ck_assert_int_eq(result, WHORL_DDS_RETCODE_OUT_OF_RESOURCES);
		ck_assert_int_eq(live, was);
		ck_assert(wh_dds_policies_equal(&policies, &before, NULL));
		ck_assert_uint_eq(policies.set, before.set);
		ck_assert_ptr_null(new_type);
	}
	ck_assert_int_ge(allocations, calls[_i].least);
	wh_dds_policies_free(&made);
	wh_dds_type_free(new_type);
}

/* Merging stops where it is: what was taken over is whole, and is set. */
TEST(merging_stops)
{
	for (long allocations = 0; allocations < 4; allocations++) {
		struct wh_dds_policies to;

		wh_dds_policies_init(&to, WH_DDS_READER);
		refuse_at = allocations;
		ck_assert_int_eq(wh_dds_policies_merge(&to, WH_DDS_KINDS, &wanted, WH_DDS_KINDS),
				 WHORL_DDS_RETCODE_OUT_OF_RESOURCES);
		refuse_at = -1;
		ck_assert_int_lt(__builtin_popcountll(to.set), 5);
		ck_assert_int_eq(wh_dds_policies_merge(&to, WH_DDS_KINDS, &wanted, WH_DDS_KINDS), WHORL_DDS_RETCODE_OK);
		ck_assert(wh_dds_policies_equal(&to, &wanted, NULL));
		ck_assert_uint_eq(to.set, wanted.set);
		wh_dds_policies_free(&to);
	}
}

TEST_SUITE("dds_policy_memory")
