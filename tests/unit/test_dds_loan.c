/* test_dds_loan.c - loans of writers: memory that lies in the window, is written without a copy, or given back.
 * Labels: threads
 */
#include <string.h>

#include "tests/support/dds_domain.h"

struct pose {
	int32_t id;
	int32_t count;
	double x;
};

WHORL_DDS_TYPE(pose_type, struct pose, WHORL_DDS_KEY(struct pose, id), WHORL_DDS_FIELD(struct pose, count),
	       WHORL_DDS_FIELD(struct pose, x));

#define RELIABLE "reliability=reliable reliability.max_blocking=20s"

static struct pose *borrow(whorl_dds_entity writer)
{
	void *data = NULL;

	well(whorl_dds_request_loan(writer, 0, &data));
	ck_assert_ptr_nonnull(data);
	ck_assert_uint_eq((uintptr_t)data % 16, 0);
	return data;
}

static void expect(whorl_dds_entity reader, int32_t id, int32_t count)
{
	struct whorl_dds_sample_info info;
	void *data;

	take_lent(reader, &data, &info);
	ck_assert(info.valid_data);
	ck_assert_int_eq(((struct pose *)data)->id, id);
	ck_assert_int_eq(((struct pose *)data)->count, count);
	well(whorl_dds_return_loan(reader, &data, 1));
}

START_TEST(a_loan_is_written)
{
	struct place place = place_of(&pose_type, "poses", "");
	whorl_dds_entity reader = new_reader(&place, RELIABLE_ALL), writer = new_writer(&place, RELIABLE);

	for (int i = 0; i < 1000; i++) { /* more than there are slots */
		struct pose *pose = borrow(writer);

		*pose = (struct pose){.id = i % 3, .count = i};
		well(whorl_dds_write(writer, pose));
		expect(reader, i % 3, i);
	}
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* What was borrowed first is delivered first, whatever is written when. */
START_TEST(loans_have_the_order_in_which_they_were_had)
{
	struct place place = place_of(&pose_type, "poses", "");
	whorl_dds_entity reader = new_reader(&place, RELIABLE_ALL), writer = new_writer(&place, RELIABLE);
	struct pose *one = borrow(writer), *two = borrow(writer), *three = borrow(writer);

	ck_assert_ptr_ne(one, two);
	*three = (struct pose){.count = 3};
	well(whorl_dds_write(writer, three));
	*one = (struct pose){.count = 1};
	well(whorl_dds_write_ts(writer, one, 77));
	well(whorl_dds_return_loan(writer, (void *[]){two}, 1));
	expect(reader, 0, 1);
	expect(reader, 0, 3);
	well(whorl_dds_wait_for_acks(writer, patience()));
	well(whorl_dds_delete(place.participant));
}
END_TEST

START_TEST(a_loan_is_given_back)
{
	struct place place = place_of(&pose_type, "poses", "");
	whorl_dds_entity reader = new_reader(&place, RELIABLE_ALL), writer = new_writer(&place, RELIABLE);
	struct pose none = {.id = 5};
	void *data[2];

	for (int i = 0; i < 1000; i++) {
		data[0] = borrow(writer);
		well(whorl_dds_return_loan(writer, data, 1));
		ck_assert_ptr_null(data[0]);
	}
	data[0] = borrow(writer);
	data[1] = data[0];
	refused(PRECONDITION_NOT_MET, whorl_dds_return_loan(writer, data, 2)); /* the second is not lent any more */
	data[0] = &none;
	data[1] = borrow(writer);
	refused(PRECONDITION_NOT_MET, whorl_dds_return_loan(writer, data, 2)); /* but that one is given back */
	data[0] = NULL;
	data[1] = borrow(writer);
	refused(PRECONDITION_NOT_MET, whorl_dds_return_loan(writer, data, 2));
	data[0] = data[1] = NULL;
	refused(PRECONDITION_NOT_MET, whorl_dds_return_loan(reader, data, 2)); /* nothing is at no address */
	data[0] = (void *)(uintptr_t)1;
	refused(PRECONDITION_NOT_MET, whorl_dds_return_loan(reader, data, 1));
	refused(BAD_PARAMETER, whorl_dds_return_loan(reader, data, -1));
	refused(BAD_PARAMETER, whorl_dds_return_loan(reader, NULL, 1));
	well(whorl_dds_write(writer, &none));
	expect(reader, 5, 0);
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* Of these the key alone goes, and the loan with it. */
START_TEST(a_loan_ends_an_instance)
{
	struct place place = place_of(&pose_type, "poses", "");
	whorl_dds_entity reader = new_reader(&place, RELIABLE_ALL);
	whorl_dds_entity writer = new_writer(&place, RELIABLE " writer_data_lifecycle=off");
	struct whorl_dds_sample_info info;
	whorl_dds_instance_handle handle = 0;
	struct pose *pose = borrow(writer);
	void *data;

	*pose = (struct pose){.id = 9, .count = 1};
	well(whorl_dds_writedispose(writer, pose));
	take_lent(reader, &data, &info);
	ck_assert_int_eq(((struct pose *)data)->count, 1);
	ck_assert_uint_eq(info.instance_state, WHORL_DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE);
	well(whorl_dds_return_loan(reader, &data, 1));
	pose = borrow(writer);
	pose->id = 8;
	well(whorl_dds_register_instance(writer, &handle, pose));
	ck_assert_uint_eq(handle, whorl_dds_lookup_instance(writer, &(struct pose){.id = 8}));
	well(whorl_dds_write(writer, &(struct pose){.id = 8, .count = 2}));
	expect(reader, 8, 2);
	pose = borrow(writer);
	pose->id = 8;
	well(whorl_dds_dispose(writer, pose));
	take_lent(reader, &data, &info);
	ck_assert(!info.valid_data);
	ck_assert_int_eq(((struct pose *)data)->id, 8);
	ck_assert_uint_eq(info.instance_state, WHORL_DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE);
	well(whorl_dds_return_loan(reader, &data, 1));
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* A function that writes takes it over though it fails, and nothing stays behind that would hold up the channel. */
START_TEST(a_loan_that_is_refused_is_gone)
{
	struct place place = place_of(&pose_type, "poses", "");
	whorl_dds_entity reader = new_reader(&place, RELIABLE_ALL);
	whorl_dds_entity writer = new_writer(&place, RELIABLE " resource_limits.instances=1");
	struct pose *pose = borrow(writer);

	pose->id = 4;
	refused(PRECONDITION_NOT_MET, whorl_dds_unregister_instance(writer, pose));
	refused(PRECONDITION_NOT_MET, whorl_dds_return_loan(writer, (void *[]){pose}, 1));
	well(whorl_dds_write(writer, &(struct pose){.id = 1}));
	pose = borrow(writer);
	pose->id = 2;
	refused(OUT_OF_RESOURCES, whorl_dds_write(writer, pose));
	pose = borrow(writer);
	pose->id = 1;
	refused(BAD_PARAMETER, whorl_dds_write_ts(writer, pose, -1));
	well(whorl_dds_write(writer, &(struct pose){.id = 1, .count = 1}));
	expect(reader, 1, 0);
	expect(reader, 1, 1);
	well(whorl_dds_wait_for_acks(writer, patience()));
	well(whorl_dds_delete(place.participant));
}
END_TEST

START_TEST(there_are_no_more_loans_than_slots)
{
	struct place place = place_of(&pose_type, "poses", "");
	whorl_dds_entity writer = new_writer(&place, "reliability=reliable reliability.max_blocking=300ms");
	whorl_dds_return result = OK;
	void *data[4096];
	int count = 0;

	while (count < 4096 && (result = whorl_dds_request_loan(writer, 0, &data[count])) == OK)
		count++;
	ck_assert_int_eq(result, WHORL_DDS_RETCODE_TIMEOUT);
	ck_assert_int_gt(count, 8);
	refused(TIMEOUT, whorl_dds_write(writer, &(struct pose){.id = 1}));
	for (int i = 0; i < count; i++) /* nothing but writing: there is no room to be waited for */
		memset(data[i], 0, sizeof(struct pose));
	well(whorl_dds_write(writer, data[0]));
	well(whorl_dds_return_loan(writer, data + 1, count - 1));
	well(whorl_dds_wait_for_acks(writer, patience()));
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* Its end is said though loans of it are out, and so is that of others in the channel. */
START_TEST(a_writer_is_deleted_with_its_loans)
{
	struct place place = place_of(&pose_type, "poses", "");
	whorl_dds_entity writer = new_writer(&place, RELIABLE), other = new_writer(&place, RELIABLE);
	whorl_dds_entity reader = new_reader(&place, RELIABLE_ALL);
	struct whorl_dds_matched_status matched = {0};
	void *data = NULL;

	for (int i = 0; i < 5; i++)
		(void)borrow(writer);
	well(whorl_dds_delete(writer));
	refused(ALREADY_DELETED, whorl_dds_request_loan(writer, 0, &data));
	until(whorl_dds_take_status(reader, WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS, &matched, sizeof(matched)) == OK &&
	      matched.current_count == 1);
	well(whorl_dds_write(other, &(struct pose){.id = 3, .count = 4}));
	expect(reader, 3, 4);
	(void)borrow(other);
	well(whorl_dds_delete(place.participant)); /* which waits for nothing, either */
}
END_TEST

/* ---- bytes of any number --------------------------------------------------------------------------------------------------- */

static void fill(unsigned char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		bytes[i] = (unsigned char)(i * 7 + i / 251);
}

/* Of several slots too: they lie in one piece for the program, wherever the ring ends. */
START_TEST(loans_of_bytes)
{
	static const size_t sizes[] = {0, 1, 1000, 16000, 100000, 490000};
	static unsigned char like[490000];
	struct place place = place_of(whorl_dds_bytes_type(), "bytes", "");
	whorl_dds_entity reader = new_reader(&place, RELIABLE_ALL), writer = new_writer(&place, RELIABLE);
	struct whorl_dds_sample_info info;
	void *data = NULL, *lent;

	fill(like, sizeof(like));
	for (int round = 0; round < 40; round++) {
		size_t count = sizes[round % 6], less = count / (1 + (size_t)round % 2);

		well(whorl_dds_request_loan(writer, count, &lent));
		fill(lent, count);
		well(whorl_dds_write_bytes(writer, lent, less));
		take_lent(reader, &data, &info);
		ck_assert_uint_eq(info.bytes, less);
		ck_assert_int_eq(memcmp(data, like, less), 0);
		well(whorl_dds_return_loan(reader, &data, 1));
	}
	well(whorl_dds_request_loan(writer, 10, &lent));
	refused(BAD_PARAMETER, whorl_dds_write_bytes(writer, lent, 11)); /* more than was asked for */
	refused(BAD_PARAMETER, whorl_dds_request_loan(writer, 10000000, &lent));
	well(whorl_dds_delete(place.participant));
}
END_TEST

struct wide { /* no slot is aligned so */
	_Alignas(64) int32_t id;
	char text[60];
};

WHORL_DDS_TYPE(wide_type, struct wide, WHORL_DDS_KEY(struct wide, id), WHORL_DDS_FIELD(struct wide, text));

START_TEST(loans_are_aligned_as_the_type_is)
{
	struct place place = place_of(&wide_type, "wide", "");
	whorl_dds_entity reader = new_reader(&place, RELIABLE_ALL), writer = new_writer(&place, RELIABLE);
	struct whorl_dds_sample_info info;
	void *lent = NULL, *data;

	for (int i = 0; i < 4; i++) {
		well(whorl_dds_request_loan(writer, 0, &lent));
		ck_assert_uint_eq((uintptr_t)lent % 64, 0);
		*(struct wide *)lent = (struct wide){.id = i, .text = "wide"};
		well(whorl_dds_write(writer, lent));
		take_lent(reader, &data, &info);
		ck_assert_int_eq(((struct wide *)data)->id, i);
		ck_assert_str_eq(((struct wide *)data)->text, "wide");
		well(whorl_dds_return_loan(reader, &data, 1));
	}
	well(whorl_dds_delete(place.participant));
}
END_TEST

START_TEST(no_loan)
{
	struct place place = place_of(&pose_type, "poses", "");
	whorl_dds_entity reader = new_reader(&place, ""), writer = new_writer(&place, "");
	void *data = &place;

	refused(BAD_PARAMETER, whorl_dds_request_loan(writer, 0, NULL));
	refused(ILLEGAL_OPERATION, whorl_dds_request_loan(reader, 0, &data));
	refused(BAD_PARAMETER, whorl_dds_request_loan(0, 0, &data));
	refused(BAD_PARAMETER, whorl_dds_request_loan(writer, sizeof(struct pose) + 1, &data));
	ck_assert_ptr_null(data); /* nothing that could be written to */
	well(whorl_dds_delete(place.participant));
	refused(ALREADY_DELETED, whorl_dds_request_loan(writer, 0, &data));
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {a_loan_is_written,
				      loans_have_the_order_in_which_they_were_had,
				      a_loan_is_given_back,
				      a_loan_ends_an_instance,
				      a_loan_that_is_refused_is_gone,
				      there_are_no_more_loans_than_slots,
				      a_writer_is_deleted_with_its_loans,
				      loans_of_bytes,
				      loans_are_aligned_as_the_type_is,
				      no_loan};

	return run_tests("dds_loan", tests, sizeof(tests) / sizeof(tests[0]));
}
