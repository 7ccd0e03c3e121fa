/* test_dds_ignore_local.c - writers and readers of one process that have nothing to do with each other; and a waitset at itself.
 * Labels: threads
 */
#include "tests/support/dds_domain.h"

struct count {
	int32_t id;
};

WHORL_DDS_TYPE(count_type, struct count, WHORL_DDS_FIELD(struct count, id));

static const char *const policies[] = {"ignore_local=participant", "ignore_local=process"};

static size_t matches_of(whorl_dds_entity reader)
{
	return (size_t)whorl_dds_get_matched_publications(reader, NULL, 0);
}

START_TEST(a_reader_ignores_its_own_process)
{
	struct place place = place_of(&count_type, "counts", "");
	whorl_dds_entity writer = new_writer(&place, ""), hears = new_reader(&place, RELIABLE_ALL);
	whorl_dds_entity ignores = new_reader(&place, policies[_i]);
	struct whorl_dds_sample_info info = {.size = sizeof(info)};
	void *data[] = {NULL};

	ck_assert_uint_eq(matches_of(hears), 1);
	ck_assert_uint_eq(matches_of(ignores), 0);
	well(whorl_dds_write(writer, &(struct count){1}));
	take_lent(hears, data, &info);
	well(whorl_dds_return_loan(hears, data, 1));
	ck_assert_int_eq(whorl_dds_take(ignores, data, &info, 1), 0);
	well(whorl_dds_delete(place.participant));
}
END_TEST

START_TEST(a_writer_ignores_its_own_process)
{
	struct place place = place_of(&count_type, "counts", "consistency=stored durability=transient");
	whorl_dds_entity writer = new_writer(&place, policies[_i]), reader;
	struct whorl_dds_sample_info info = {.size = sizeof(info)};
	void *data[] = {NULL};

	well(whorl_dds_write(writer, &(struct count){1}));
	reader = new_reader(&place, "durability=transient history=all");
	ck_assert_uint_eq(matches_of(reader), 0);
	well(whorl_dds_wait_for_historical_data(reader, patience()));
	ck_assert_int_eq(whorl_dds_take(reader, data, &info, 1), 0); /* nor is it in the history */
	well(whorl_dds_delete(place.participant));
}
END_TEST

START_TEST(a_waitset_is_attached_to_itself)
{
	whorl_dds_entity participant = made(whorl_dds_create_participant(domain(), NULL, NULL));
	whorl_dds_entity waitset = made(whorl_dds_create_waitset(participant));
	whorl_dds_entity other = made(whorl_dds_create_waitset(participant));
	intptr_t cookie = 0;

	well(whorl_dds_waitset_attach(waitset, waitset, 7));
	well(whorl_dds_waitset_attach(other, waitset, 8));
	ck_assert_int_eq(whorl_dds_waitset_wait(waitset, &cookie, 1, 0), 0);
	well(whorl_dds_waitset_set_trigger(waitset, true));
	ck_assert_int_eq(whorl_dds_waitset_wait(waitset, &cookie, 1, WHORL_DDS_INFINITY), 1);
	ck_assert_int_eq(cookie, 7);
	ck_assert_int_eq(whorl_dds_waitset_wait(other, &cookie, 1, WHORL_DDS_INFINITY), 1);
	ck_assert_int_eq(cookie, 8);
	well(whorl_dds_waitset_set_trigger(waitset, false));
	ck_assert_int_eq(whorl_dds_triggered(waitset), 0);
	ck_assert_int_eq(whorl_dds_triggered(other), 0);
	well(whorl_dds_delete(waitset)); /* attached as it is */
	ck_assert_int_eq(whorl_dds_waitset_get_entities(other, NULL, 0), 0);
	well(whorl_dds_delete(participant));
}
END_TEST

Suite *suite(void)
{
	Suite *all = suite_create("dds_ignore_local");
	TCase *local = tcase_create("local");

	tcase_add_loop_test(local, a_reader_ignores_its_own_process, 0, 2);
	tcase_add_loop_test(local, a_writer_ignores_its_own_process, 0, 2);
	tcase_add_test(local, a_waitset_is_attached_to_itself);
	suite_add_tcase(all, local);
	return all;
}
