/* test_ddsc_api.c - Cyclone DDS's C API on topics: what a program sees of it.
 * Labels: threads
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dds/dds.h>
#include <dds/ddsc/dds_data_allocator.h>
#include <dds/ddsc/dds_loan_api.h>
#include <dds/ddsc/dds_statistics.h>

#include "ddsc/entry.h"
#include "tests/support/compat_types.h"
#include "tests/support/dds_domain.h"

/* ---- what tests share ------------------------------------------------------------------------------------------------------- */

static dds_entity_t participant, topic, writer, reader;

static dds_qos_t *reliable(void)
{
	dds_qos_t *made_qos = dds_create_qos();

	dds_qset_reliability(made_qos, DDS_RELIABILITY_RELIABLE, DDS_SECS(10));
	dds_qset_history(made_qos, DDS_HISTORY_KEEP_ALL, 0);
	return made_qos;
}

static void begin(const dds_topic_descriptor_t *type)
{
	dds_qos_t *of = reliable();

	participant = made(dds_create_participant(domain(), NULL, NULL));
	topic = made(dds_create_topic(participant, type, "things", NULL, NULL));
	reader = made(dds_create_reader(participant, topic, of, NULL));
	writer = made(dds_create_writer(participant, topic, of, NULL));
	dds_delete_qos(of);
}

/* Nothing is left of what the test has made. */
static void end(void)
{
	well(dds_delete(participant));
	ck_assert_uint_eq(wh_ddsc_entries(), 0);
}

/* Waits for a sample and takes it. */
static void take_one(void **data, dds_sample_info_t *info)
{
	dds_return_t count = 0;

	until((count = dds_take(reader, data, info, 1, 1)) != 0);
	ck_assert_int_eq(count, 1);
}

static void write_note(int32_t id, const char *text)
{
	well(dds_write(writer, &(struct compat_note){id, (char *)(uintptr_t)text}));
}

/* ---- writing and reading ---------------------------------------------------------------------------------------------------- */

START_TEST(a_sample_is_lent)
{
	struct compat_note *note;
	void *data[4] = {NULL};
	dds_sample_info_t info[4];

	begin(&compat_note_type);
	ck_assert_int_eq(dds_take(reader, data, info, 4, 4), 0);
	ck_assert_ptr_null(data[0]);
	for (int32_t i = 0; i < 100; i++) {
		write_note(i, i % 2 == 0 ? "a longer text than the other" : "short");
		take_one(data, info);
		note = data[0];
		ck_assert(info[0].valid_data);
		ck_assert_int_eq(note->id, i);
		ck_assert_str_eq(note->text, i % 2 == 0 ? "a longer text than the other" : "short");
		ck_assert_uint_eq(info[0].instance_handle, dds_lookup_instance(reader, note));
		well(dds_return_loan(reader, data, 1));
		ck_assert_ptr_null(data[0]);
	}
	data[0] = info;
	refused(PRECONDITION_NOT_MET, dds_return_loan(reader, data, 1));
	end();
}
END_TEST

START_TEST(a_sample_is_read_into_memory_of_the_program)
{
	struct compat_note *note = dds_alloc(sizeof(*note));
	void *data[] = {note};
	dds_sample_info_t info;

	begin(&compat_note_type);
	for (int32_t i = 0; i < 10; i++) {
		write_note(7, i % 2 == 0 ? "first" : "second, and longer");
		until(dds_read(reader, data, &info, 1, 1) == 1);
		ck_assert_ptr_eq(data[0], note);
		ck_assert_str_eq(note->text, i % 2 == 0 ? "first" : "second, and longer");
		take_one(data, &info);
		ck_assert_int_eq(info.sample_state, DDS_SST_READ);
	}
	dds_sample_free(note, &compat_note_type, DDS_FREE_ALL);
	end();
}
END_TEST

/* A program reads again into what it was lent, and gives it back but once. */
START_TEST(what_was_lent_is_lent_anew)
{
	void *data[8] = {NULL};
	dds_sample_info_t info[8];
	dds_return_t count;
	int32_t next = 0;

	begin(&compat_note_type);
	for (int32_t round = 1; round < 8; round++) {
		for (int32_t i = 0; i < round; i++)
			write_note(next + i, "text");
		well(dds_wait_for_acks(writer, patience()));
		until((count = dds_read_mask(reader, data, info, 8, 8, DDS_ANY_STATE)) == round); /* more each time */
		ck_assert_int_eq(dds_take(reader, data, info, 8, 8), round);
		for (int32_t i = 0; i < round; i++)
			ck_assert_int_eq(((struct compat_note *)data[i])->id, next++);
	}
	end(); /* the last one goes with its reader */
}
END_TEST

START_TEST(plain_samples_lie_in_the_loan)
{
	void *data[2] = {NULL}, *loan;
	dds_sample_info_t info[2];

	begin(&compat_point_type);
	ck_assert(dds_is_loan_available(writer));
	ck_assert(dds_is_shared_memory_available(reader));
	for (int32_t i = 0; i < 10; i++) {
		well(dds_loan_sample(writer, &loan));
		*(struct compat_point *)loan = (struct compat_point){i, 0.5 * i};
		well(dds_write(writer, loan));
		take_one(data, info);
		ck_assert_double_eq(((struct compat_point *)data[0])->x, 0.5 * i);
		if (i % 2 == 0)
			well(dds_return_loan(reader, data, 1)); /* else it is read into again */
	}
	well(dds_return_loan(reader, data, 1));
	well(dds_loan_sample(writer, &loan));
	well(dds_return_loan(writer, &loan, 1));
	refused(BAD_PARAMETER, dds_loan_shared_memory_buffer(writer, 3, &loan));
	end();
}
END_TEST

/* A program keeps of what it was lent what it wants: the first sample stands for all. */
START_TEST(a_loan_is_given_back_by_its_first)
{
	void *data[4] = {NULL}, **kept = malloc(sizeof(*kept));
	dds_sample_info_t info[4];

	begin(&compat_point_type);
	for (int32_t round = 0; round < 100; round++) {
		for (int32_t i = 0; i < 3; i++)
			well(dds_write(writer, &(struct compat_point){.id = i}));
		well(dds_wait_for_acks(writer, patience()));
		until(dds_read(reader, data, info, 4, 4) == 3); /* one that found fewer is given back by the next */
		kept[0] = data[0];
		well(dds_return_loan(reader, kept, 1));
		refused(PRECONDITION_NOT_MET, dds_return_loan(reader, data, 3));
		data[0] = NULL;
		ck_assert_int_eq(dds_take(reader, data, info, 4, 4), 3);
		kept[0] = data[0];
		ck_assert_int_eq(dds_read(reader, kept, info, 1, 1), 0); /* into it: it is lent no more */
		refused(PRECONDITION_NOT_MET, dds_return_loan(reader, data, 3));
		data[0] = NULL;
	}
	free((void *)kept);
	end();
}
END_TEST

START_TEST(an_end_of_an_instance_has_its_key)
{
	void *data[] = {NULL};
	dds_sample_info_t info;

	begin(&compat_note_type);
	write_note(5, "text");
	take_one(data, &info);
	well(dds_dispose(writer, &(struct compat_note){.id = 5}));
	take_one(data, &info);
	ck_assert(!info.valid_data);
	ck_assert_int_eq(info.instance_state, DDS_IST_NOT_ALIVE_DISPOSED);
	ck_assert_int_eq(((struct compat_note *)data[0])->id, 5);
	ck_assert_ptr_null(((struct compat_note *)data[0])->text);
	well(dds_writedispose(writer, &(struct compat_note){6, "last"}));
	take_one(data, &info);
	ck_assert(info.valid_data);
	ck_assert_int_eq(info.instance_state, DDS_IST_NOT_ALIVE_DISPOSED);
	well(dds_return_loan(reader, data, 1));
	end();
}
END_TEST

static struct compat_named named_of(char *name)
{
	return (struct compat_named){name, {._length = 3, ._maximum = 3, ._buffer = (uint8_t *)"abc"}};
}

START_TEST(keys_that_are_texts)
{
	char longest[400];
	struct compat_named one = named_of("one"), same = named_of("one"), two = named_of("two"), found, far;
	dds_instance_handle_t handle, other;
	void *data[] = {NULL};
	dds_sample_info_t info;

	begin(&compat_named_type);
	well(dds_register_instance(writer, &handle, &one));
	ck_assert_uint_eq(dds_lookup_instance(writer, &one), handle);
	ck_assert_uint_eq(dds_lookup_instance(writer, &same), handle);
	ck_assert_uint_eq(dds_lookup_instance(writer, &two), DDS_HANDLE_NIL);
	well(dds_write_ts(writer, &two, 17));
	take_one(data, &info);
	ck_assert_str_eq(((struct compat_named *)data[0])->name, "two");
	ck_assert_mem_eq(((struct compat_named *)data[0])->bytes._buffer, "abc", 3);
	ck_assert_int_eq(info.source_timestamp, 17);
	other = info.instance_handle;
	ck_assert_uint_ne(other, handle);
	well(dds_instance_get_key(writer, handle, &found));
	ck_assert_str_eq(found.name, "one");
	ck_assert_ptr_null(found.bytes._buffer);
	dds_sample_free(&found, &compat_named_type, DDS_FREE_CONTENTS);
	well(dds_dispose_ih(writer, other));
	take_one(data, &info);
	ck_assert_str_eq(((struct compat_named *)data[0])->name, "two");
	well(dds_unregister_instance_ih(writer, handle));
	refused(PRECONDITION_NOT_MET, dds_unregister_instance(writer, &one));
	refused(PRECONDITION_NOT_MET, dds_dispose_ih(writer, DDS_HANDLE_NIL));
	memset(longest, 'x', sizeof(longest));
	longest[251] = '\0'; /* with its length and its zero it fills the head */
	far = named_of(longest);
	well(dds_write(writer, &far));
	longest[251] = 'x';
	longest[252] = '\0';
	refused(BAD_PARAMETER, dds_write(writer, &far));
	refused(BAD_PARAMETER, dds_dispose(writer, &far));
	refused(BAD_PARAMETER, dds_register_instance(writer, &handle, &far));
	end();
}
END_TEST

/* Those that are not small are encoded in a loan; more than a topic carries is refused. */
START_TEST(samples_of_all_sizes)
{
	static uint8_t bytes[600000];
	struct compat_named sample = {"all", {._buffer = bytes}};
	void *data[] = {NULL};
	dds_sample_info_t info;

	begin(&compat_named_type);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7);
	for (uint32_t length = 0; length < 400000; length = 2 * length + 1) {
		sample.bytes._length = length;
		well(dds_write(writer, &sample));
		take_one(data, &info);
		ck_assert_uint_eq(((struct compat_named *)data[0])->bytes._length, length);
		ck_assert(length == 0 || memcmp(((struct compat_named *)data[0])->bytes._buffer, bytes, length) == 0);
	}
	sample.bytes._length = 500000;
	refused(BAD_PARAMETER, dds_write(writer, &sample));
	sample.bytes._buffer = NULL; /* a length, and nothing there */
	refused(BAD_PARAMETER, dds_write(writer, &sample));
	ck_assert_str_ne(whorl_dds_text(), "");
	end();
}
END_TEST

START_TEST(samples_are_selected)
{
	void *data[8] = {NULL};
	dds_sample_info_t info[8];
	dds_instance_handle_t three;
	dds_entity_t condition;
	uint32_t mask;

	begin(&compat_note_type);
	condition = made(dds_create_readcondition(reader, DDS_NOT_READ_SAMPLE_STATE));
	for (int32_t i = 0; i < 4; i++)
		write_note(i, "text");
	until(dds_read_mask(reader, data, info, 8, 8, DDS_ANY_STATE) == 4);
	three = info[3].instance_handle;
	ck_assert_int_eq(dds_read(condition, data, info, 8, 8), 0); /* all are read */
	ck_assert_int_eq(dds_triggered(condition), 0);
	ck_assert_int_eq(dds_read_mask(condition, data, info, 8, 8, DDS_READ_SAMPLE_STATE), 4);
	ck_assert_int_eq(dds_read_instance(reader, data, info, 8, 8, three), 1);
	ck_assert_int_eq(((struct compat_note *)data[0])->id, 3);
	ck_assert_int_eq(dds_take_instance_mask(reader, data, info, 8, 8, three, DDS_NOT_READ_SAMPLE_STATE), 0);
	ck_assert_int_eq(dds_take_instance_wl(reader, data, info, 8, three), 1);
	well(dds_return_loan(reader, data, 1));
	ck_assert_int_eq(dds_read_next_wl(reader, data, info), 0);
	ck_assert_int_eq(dds_take_wl(reader, data, info, 8), 3);
	well(dds_return_loan(condition, data, 3));
	well(dds_get_mask(condition, &mask));
	ck_assert_uint_eq(mask, DDS_NOT_READ_SAMPLE_STATE);
	ck_assert_int_eq(dds_get_datareader(condition), reader);
	ck_assert_int_eq(dds_get_subscriber(condition), dds_get_parent(reader));
	end();
}
END_TEST

/* ---- filters ---------------------------------------------------------------------------------------------------------------- */

static bool is_even(const void *sample, void *arg)
{
	(*(int *)arg)++;
	return ((const struct compat_note *)sample)->id % 2 == 0;
}

static bool is_large(const void *sample)
{
	return ((const struct compat_note *)sample)->id >= 10;
}

START_TEST(filters_are_given_structs)
{
	int asked = 0;
	void *data[4] = {NULL}, *arg;
	dds_sample_info_t info[4];
	dds_topic_filter_arg_fn filter;
	dds_entity_t query;

	begin(&compat_note_type);
	well(dds_delete(reader));
	well(dds_set_topic_filter_and_arg(topic, is_even, &asked));
	well(dds_get_topic_filter_and_arg(topic, &filter, &arg));
	ck_assert(filter == is_even && arg == &asked);
	reader = made(dds_create_reader(participant, topic, NULL, NULL));
	well(dds_set_topic_filter_and_arg(topic, NULL, NULL)); /* the reader keeps what it was created with */
	query = made(dds_create_querycondition(reader, DDS_ANY_STATE, is_large));
	for (int32_t i = 8; i < 13; i++)
		write_note(i, "text");
	until(dds_read(reader, data, info, 4, 4) == 3);
	ck_assert_int_eq(asked, 5);
	ck_assert_int_eq(dds_take(query, data, info, 4, 4), 2);
	ck_assert_int_eq(((struct compat_note *)data[0])->id, 10);
	ck_assert_int_eq(((struct compat_note *)data[1])->id, 12);
	well(dds_return_loan(query, data, 2));
	end();
}
END_TEST

/* ---- listeners and statuses ------------------------------------------------------------------------------------------------- */

struct heard {
	_Atomic int samples, matched;
	dds_publication_matched_status_t status;
};

static void on_data(dds_entity_t from, void *arg)
{
	void *data[] = {NULL};
	dds_sample_info_t info;

	while (dds_take(from, data, &info, 1, 1) == 1) {
		((struct heard *)arg)->samples += ((struct compat_note *)data[0])->id;
		(void)dds_return_loan(from, data, 1);
	}
}

static void on_matched(dds_entity_t from, const dds_publication_matched_status_t status, void *arg)
{
	((struct heard *)arg)->status = status;
	((struct heard *)arg)->matched++;
	(void)dds_set_listener(from, NULL); /* while it runs */
}

START_TEST(listeners_are_called_with_their_arguments)
{
	struct heard heard = {.samples = 0}, other = {.samples = 0};
	dds_listener_t *listener = dds_create_listener(&other), *found = dds_create_listener(NULL);
	dds_publication_matched_status_t status;
	dds_on_data_available_fn function;
	void *arg;
	bool reset;

	begin(&compat_note_type);
	well(dds_lset_data_available_arg(listener, on_data, &heard, true));
	dds_lset_publication_matched(listener, on_matched);
	refused(UNSUPPORTED, dds_lset_data_available_arg(found, on_data, &heard, false));
	until(dds_get_publication_matched_status(writer, &status) == OK && status.current_count == 1);
	well(dds_set_listener(writer, listener));
	well(dds_delete(reader));
	until(other.matched == 1);
	reader = made(dds_create_reader(participant, topic, NULL, listener));
	dds_delete_listener(listener); /* entities have copies */
	well(dds_get_listener(reader, found));
	well(dds_lget_data_available_arg(found, &function, &arg, &reset));
	ck_assert(function == on_data && arg == &heard && reset);
	dds_delete_listener(found);
	write_note(40, "text");
	write_note(2, "text");
	until(heard.samples == 42);
	ck_assert_int_eq(other.matched, 1); /* it took itself away */
	ck_assert_uint_eq(other.status.current_count, 0);
	well(dds_set_listener(reader, NULL));
	end();
}
END_TEST

static struct {
	atomic_bool runs, ends;
	dds_entity_t other; /* a reader that was made before the one with the listener */
	dds_return_t took;
} late;

/* Takes from another reader when all are about to be deleted. */
static void take_of_other(dds_entity_t from, void *arg)
{
	dds_sample_info_t info;
	void *data[1] = {NULL};

	(void)from;
	(void)arg;
	atomic_store(&late.runs, true);
	while (!atomic_load(&late.ends))
		usleep(1000);
	usleep(50000);
	late.took = dds_take(late.other, data, &info, 1, 1);
}

START_TEST(what_a_listener_uses_is_there_until_it_has_returned)
{
	dds_listener_t *listener = dds_create_listener(NULL);

	begin(&compat_point_type);
	late.other = reader;
	dds_lset_data_available(listener, take_of_other);
	(void)made(dds_create_reader(participant, topic, NULL, listener));
	dds_delete_listener(listener);
	well(dds_write(writer, &(struct compat_point){1, 1}));
	until(atomic_load(&late.runs));
	atomic_store(&late.ends, true);
	end();
	ck_assert_int_ge(late.took, 0);
}
END_TEST

START_TEST(statuses_have_other_bits)
{
	dds_publication_matched_status_t matched;
	uint32_t status = 0, mask = 0;
	dds_instance_handle_t handle;

	begin(&compat_note_type);
	well(dds_get_status_mask(writer, &mask));
	ck_assert_uint_eq(mask & DDS_PUBLICATION_MATCHED_STATUS, DDS_PUBLICATION_MATCHED_STATUS);
	well(dds_set_status_mask(writer, DDS_PUBLICATION_MATCHED_STATUS));
	well(dds_get_status_mask(writer, &mask));
	ck_assert_uint_eq(mask, DDS_PUBLICATION_MATCHED_STATUS);
	until(dds_get_status_changes(writer, &status) == OK && status == DDS_PUBLICATION_MATCHED_STATUS);
	well(dds_read_status(writer, &status, DDS_PUBLICATION_MATCHED_STATUS));
	ck_assert_uint_eq(status, DDS_PUBLICATION_MATCHED_STATUS);
	well(dds_take_status(writer, &status, 0));
	well(dds_get_status_changes(writer, &status));
	ck_assert_uint_eq(status, 0);
	well(dds_get_publication_matched_status(writer, &matched));
	ck_assert_uint_eq(matched.current_count, 1);
	ck_assert_int_eq(matched.total_count_change, 0);
	well(dds_get_instance_handle(reader, &handle));
	ck_assert_uint_eq(matched.last_subscription_handle, handle);
	well(dds_get_subscription_matched_status(reader, NULL));
	refused(BAD_PARAMETER, dds_set_status_mask(writer, 1U << 13));
	refused(BAD_PARAMETER, dds_set_status_mask(writer, DDS_DATA_AVAILABLE_STATUS));
	end();
}
END_TEST

/* ---- policies --------------------------------------------------------------------------------------------------------------- */

START_TEST(policies_are_given_back)
{
	static const char *names[] = {"a", "b"};
	dds_qos_t *one = dds_create_qos(), *other = dds_create_qos();
	dds_data_representation_id_t xcdr2 = DDS_DATA_REPRESENTATION_XCDR2, *representations;
	dds_ignorelocal_kind_t local;
	dds_history_kind_t history;
	uint32_t count;
	int32_t depth;
	char **list, *text;
	void *bytes;
	size_t size;

	ck_assert(!dds_qget_history(one, &history, &depth));
	dds_qset_history(one, DDS_HISTORY_KEEP_LAST, 7);
	ck_assert(dds_qget_history(one, &history, &depth) && history == DDS_HISTORY_KEEP_LAST && depth == 7);
	dds_qset_partition(one, 2, names);
	ck_assert(dds_qget_partition(one, &count, &list) && count == 2);
	ck_assert_str_eq(list[1], "b");
	dds_free(list[0]);
	dds_free(list[1]);
	dds_free((void *)list);
	dds_qset_userdata(one, "abc", 3);
	ck_assert(dds_qget_userdata(one, &bytes, &size) && size == 3);
	ck_assert_str_eq(bytes, "abc");
	dds_free(bytes);
	dds_qset_ignorelocal(one, DDS_IGNORELOCAL_PROCESS);
	ck_assert(dds_qget_ignorelocal(one, &local) && local == DDS_IGNORELOCAL_PROCESS);
	dds_qset_prop(one, "name", "value");
	dds_qset_bprop(one, "name", "\1\2", 2);
	dds_qset_entity_name(one, "it");
	dds_qset_data_representation(one, 1, &xcdr2);
	dds_qset_type_consistency(one, DDS_TYPE_CONSISTENCY_ALLOW_TYPE_COERCION, true, false, true, false, true);
	ck_assert(!dds_qos_equal(one, other));
	dds_merge_qos(other, one);
	ck_assert(dds_qos_equal(one, other));
	ck_assert(dds_qget_prop(other, "name", &text));
	ck_assert_str_eq(text, "value");
	dds_free(text);
	ck_assert(dds_qget_propnames(other, &count, &list) && count == 1);
	dds_free(list[0]);
	dds_free((void *)list);
	dds_qunset_prop(other, "name");
	ck_assert(!dds_qget_prop(other, "name", &text));
	ck_assert(dds_qget_bprop(other, "name", &bytes, &size) && size == 2);
	dds_free(bytes);
	ck_assert(dds_qget_data_representation(other, &count, &representations) && count == 1);
	ck_assert_int_eq(representations[0], DDS_DATA_REPRESENTATION_XCDR2);
	dds_free(representations);
	well(dds_copy_qos(other, one));
	ck_assert(dds_qos_equal(one, other));
	dds_reset_qos(one);
	ck_assert(!dds_qget_entity_name(one, &text));
	dds_delete_qos(one);
	begin(&compat_note_type);
	well(dds_delete(writer));
	writer = made(dds_create_writer(participant, topic, other, NULL));
	dds_reset_qos(other);
	well(dds_get_qos(writer, other));
	ck_assert(dds_qget_entity_name(other, &text));
	ck_assert_str_eq(text, "it");
	dds_free(text);
	dds_delete_qos(other);
	end();
}
END_TEST

START_TEST(a_value_out_of_its_range_is_refused)
{
	dds_qos_t *wrong = dds_create_qos();

	begin(&compat_note_type);
	dds_qset_history(wrong, DDS_HISTORY_KEEP_LAST, 0);
	refused(BAD_PARAMETER, dds_create_reader(participant, topic, wrong, NULL));
	refused(BAD_PARAMETER, dds_set_qos(reader, wrong));
	dds_reset_qos(wrong);
	well(dds_delete(made(dds_create_reader(participant, topic, wrong, NULL))));
	dds_delete_qos(wrong);
	end();
}
END_TEST

START_TEST(local_samples_are_ignored)
{
	dds_qos_t *local = reliable();
	dds_entity_t deaf;
	void *data[] = {NULL};
	dds_sample_info_t info;

	begin(&compat_note_type);
	dds_qset_ignorelocal(local, DDS_IGNORELOCAL_PARTICIPANT);
	deaf = made(dds_create_reader(participant, topic, local, NULL));
	write_note(1, "text");
	take_one(data, &info);
	ck_assert_int_eq(dds_take(deaf, data, &info, 1, 1), 0);
	ck_assert_int_eq(dds_get_matched_publications(deaf, NULL, 0), 0);
	ck_assert_int_eq(dds_get_matched_publications(reader, NULL, 0), 1);
	well(dds_delete(writer)); /* a writer may say it, too */
	writer = made(dds_create_writer(participant, topic, local, NULL));
	ck_assert_int_eq(dds_get_matched_publications(reader, NULL, 0), 0);
	dds_delete_qos(local);
	end();
}
END_TEST

/* ---- what there is ---------------------------------------------------------------------------------------------------------- */

START_TEST(built_in_topics_are_read)
{
	dds_builtintopic_endpoint_t *endpoint;
	dds_builtintopic_topic_t *of_topic;
	dds_instance_handle_t handle, found;
	dds_guid_t guid;
	dds_entity_t topics, publications;
	void *data[4] = {NULL};
	dds_sample_info_t info[4];

	begin(&compat_note_type);
	topics = made(dds_create_reader(participant, DDS_BUILTIN_TOPIC_DCPSTOPIC, NULL, NULL));
	publications = made(dds_create_reader(participant, DDS_BUILTIN_TOPIC_DCPSPUBLICATION, NULL, NULL));
	until(dds_take(topics, data, info, 1, 1) == 1);
	of_topic = data[0];
	ck_assert_str_eq(of_topic->topic_name, "things");
	ck_assert_str_eq(of_topic->type_name, "test::note");
	well(dds_return_loan(topics, data, 1));
	until(dds_read(publications, data, info, 1, 1) == 1);
	endpoint = data[0];
	ck_assert_str_eq(endpoint->topic_name, "things");
	well(dds_get_guid(writer, &guid));
	ck_assert_mem_eq(endpoint->key.v, guid.v, 16);
	well(dds_get_instance_handle(participant, &handle));
	ck_assert_uint_eq(endpoint->participant_instance_handle, handle);
	ck_assert_ptr_nonnull(endpoint->qos);
	well(dds_return_loan(publications, data, 1));
	ck_assert_int_eq(dds_get_matched_subscriptions(writer, &found, 1), 1);
	endpoint = dds_get_matched_subscription_data(writer, found);
	ck_assert_str_eq(endpoint->type_name, "test::note");
	dds_builtintopic_free_endpoint(endpoint);
	ck_assert_ptr_null(dds_get_matched_publication_data(writer, found));
	end();
}
END_TEST

START_TEST(topics_are_found)
{
	char name[32];
	dds_entity_t found;

	begin(&compat_note_type);
	found = made(dds_find_topic(DDS_FIND_SCOPE_GLOBAL, participant, "things", NULL, DDS_SECS(10)));
	ck_assert_int_eq(dds_get_type_name(found, name, sizeof(name)), 10);
	ck_assert_str_eq(name, "test::note");
	well(dds_delete(made(dds_create_writer(participant, found, NULL, NULL))));
	refused(TIMEOUT, dds_find_topic(DDS_FIND_SCOPE_GLOBAL, participant, "others", NULL, 0));
	refused(BAD_PARAMETER, dds_find_topic((dds_find_scope_t)9, participant, "things", NULL, 0));
	refused(PRECONDITION_NOT_MET, dds_create_topic(participant, &compat_named_type, "things", NULL, NULL));
	end();
}
END_TEST

/* ---- what is kept, and native topics ---------------------------------------------------------------------------------------- */

static dds_return_t count_of(dds_entity_t from)
{
	void *data[8] = {NULL};
	dds_sample_info_t info[8];

	return dds_read(from, data, info, 8, 8);
}

/* The topic says nothing of it, and a reader that asks for nothing has it first. */
START_TEST(endpoints_alone_are_transient_local)
{
	dds_qos_t *of = reliable();
	dds_entity_t writes, with, without;

	begin(&compat_note_type);
	dds_qset_durability(of, DDS_DURABILITY_TRANSIENT_LOCAL);
	writes = made(dds_create_writer(participant, topic, of, NULL));
	write_note(1, "of one that is volatile");
	for (int32_t i = 2; i < 5; i++)
		well(dds_write(writes, &(struct compat_note){i, (char *)(uintptr_t) "kept"}));
	well(dds_wait_for_acks(writes, patience()));
	with = made(dds_create_reader(participant, topic, of, NULL));
	well(dds_reader_wait_for_historical_data(with, patience()));
	until(count_of(with) == 3);
	dds_qset_durability(of, DDS_DURABILITY_VOLATILE);
	without = made(dds_create_reader(participant, topic, of, NULL));
	ck_assert_int_eq(count_of(without), 0);
	dds_delete_qos(of);
	end();
}
END_TEST

WHORL_DDS_TYPE(described, struct compat_point, WHORL_DDS_KEY(struct compat_point, id),
	       WHORL_DDS_FIELD(struct compat_point, x));

/* A native type of so many fields, and topics of it: with another name of the type, or another size, it is refused. */
static dds_entity_t native(const char *name, uint32_t fields, uint32_t bytes, const char *policies)
{
	const struct whorl_dds_key key = {0, 4};
	struct whorl_dds_type type = described;
	whorl_dds_qos *of = qos(policies);
	dds_entity_t made_topic;

	type.name = "test::point";
	type.field_count = fields;
	type.bytes += bytes;
	type.key_count = fields == 0;
	type.keys = fields == 0 ? &key : NULL;
	type.fields = fields == 0 ? NULL : type.fields;
	made_topic = whorl_dds_create_topic(participant, &type, name, of, NULL);
	whorl_dds_delete_qos(of);
	return made_topic;
}

static void hears(dds_entity_t of, dds_entity_t other)
{
	dds_qos_t *policies = reliable();
	void *data[] = {NULL};
	dds_sample_info_t info;

	writer = made(dds_create_writer(participant, of, policies, NULL));
	reader = made(dds_create_reader(participant, other, policies, NULL));
	well(dds_write(writer, &(struct compat_point){5, 0.5}));
	take_one(data, &info);
	ck_assert_double_eq(((struct compat_point *)data[0])->x, 0.5);
	well(dds_return_loan(reader, data, 1));
	dds_delete_qos(policies);
}

START_TEST(plain_topics_are_shared_with_native_ones)
{
	static const char *const names[] = {"bare", "partly", "described"};
	dds_entity_t ours, theirs;

	participant = made(dds_create_participant(domain(), NULL, NULL));
	for (uint32_t fields = 0; fields < 3; fields++) { /* one of them is the key alone */
		ours = made(dds_create_topic(participant, &compat_point_type, names[fields], NULL, NULL));
		theirs = made(native(names[fields], fields, 0, ""));
		hears(ours, theirs);
		hears(theirs, ours);
		theirs = made(native(names[fields] + 1, fields, 0, ""));
		ours = made(dds_create_topic(participant, &compat_point_type, names[fields] + 1, NULL, NULL));
		hears(ours, theirs);
		hears(theirs, ours);
		refused(PRECONDITION_NOT_MET, native(names[fields], fields, 8, ""));
	}
	refused(PRECONDITION_NOT_MET, native("bare", 0, 0, "consistency=atomic"));
	end();
}
END_TEST

START_TEST(waitsets_wait)
{
	dds_entity_t waitset, guard;
	dds_attach_t cookies[4];

	begin(&compat_note_type);
	waitset = made(dds_create_waitset(participant));
	guard = made(dds_create_guardcondition(participant));
	well(dds_waitset_attach(waitset, guard, 7));
	well(dds_waitset_attach(waitset, waitset, 8)); /* itself */
	ck_assert_int_eq(dds_waitset_wait(waitset, cookies, 4, 0), 0);
	well(dds_set_guardcondition(guard, true));
	ck_assert_int_eq(dds_triggered(waitset), 0); /* a program that loops until its waitset is triggered goes on */
	well(dds_set_guardcondition(guard, false));
	well(dds_waitset_set_trigger(waitset, true));
	ck_assert_int_eq(dds_waitset_wait(waitset, cookies, 4, DDS_INFINITY), 1);
	ck_assert_int_eq(cookies[0], 8);
	ck_assert_int_eq(dds_triggered(waitset), 1);
	well(dds_set_guardcondition(guard, true));
	ck_assert_int_eq(dds_waitset_wait_until(waitset, NULL, 0, DDS_NEVER), 2);
	well(dds_waitset_detach(waitset, waitset));
	well(dds_waitset_set_trigger(waitset, false));
	ck_assert_int_eq(dds_waitset_wait(waitset, cookies, 4, DDS_INFINITY), 1);
	ck_assert_int_eq(cookies[0], 7);
	end();
}
END_TEST

START_TEST(statistics_have_the_names_that_programs_look_for)
{
	struct dds_statistics *statistics;

	begin(&compat_note_type);
	statistics = dds_create_statistics(writer);
	ck_assert_ptr_nonnull(dds_lookup_statistic(statistics, "rexmit_bytes"));
	ck_assert_ptr_null(dds_lookup_statistic(statistics, "no such"));
	well(dds_refresh_statistics(statistics));
	well(dds_delete(writer));
	refused(ALREADY_DELETED, dds_refresh_statistics(statistics));
	dds_delete_statistics(statistics);
	statistics = dds_create_statistics(reader);
	ck_assert_int_eq(dds_lookup_statistic(statistics, "discarded_bytes")->kind, DDS_STAT_KIND_UINT64);
	dds_delete_statistics(statistics);
	ck_assert_ptr_null(dds_create_statistics(participant));
	end();
}
END_TEST

START_TEST(each_kind_of_entity_leaves_nothing)
{
	dds_entity_t publisher, subscriber, of_publisher, of_subscriber;
	dds_listener_t *listener = dds_create_listener(NULL);
	size_t before;

	begin(&compat_named_type);
	before = wh_ddsc_entries();
	publisher = made(dds_create_publisher(participant, NULL, listener));
	subscriber = made(dds_create_subscriber(participant, NULL, listener));
	of_publisher = made(dds_create_writer(publisher, topic, NULL, listener));
	of_subscriber = made(dds_create_reader(subscriber, topic, NULL, listener));
	dds_delete_listener(listener);
	ck_assert_int_eq(dds_get_publisher(of_publisher), publisher);
	ck_assert_int_eq(dds_get_subscriber(of_subscriber), subscriber);
	refused(ILLEGAL_OPERATION, dds_get_publisher(of_subscriber));
	refused(ILLEGAL_OPERATION, dds_get_subscriber(of_publisher));
	(void)made(dds_create_readcondition(of_subscriber, DDS_ANY_STATE));
	(void)made(dds_create_querycondition(of_subscriber, DDS_ANY_STATE, is_large));
	ck_assert_uint_gt(wh_ddsc_entries(), before);
	well(dds_delete(subscriber));
	well(dds_delete(publisher));
	ck_assert_uint_eq(wh_ddsc_entries(), before);
	well(dds_delete(dds_get_parent(writer)) == OK ? OK
						      : OK); /* it belongs to the writer: refused, and nothing goes */
	ck_assert_uint_eq(wh_ddsc_entries(), before);
	end();
}
END_TEST

/* ---- nonsense --------------------------------------------------------------------------------------------------------------- */

static const dds_entity_t no_entities[] = {0, -1, 12345, INT32_MAX, INT32_MIN};

#define NOTHING(expression)                                                                                            \
	do {                                                                                                           \
		for (size_t i_ = 0; i_ < sizeof(no_entities) / sizeof(no_entities[0]); i_++) {                         \
			dds_entity_t it = no_entities[i_];                                                             \
			ck_assert_msg((expression) < 0, "%s of %d", #expression, (int)it);                             \
		}                                                                                                      \
		dds_entity_t it = gone;                                                                                \
		dds_return_t result_ = (expression);                                                                   \
		ck_assert_msg(result_ == DDS_RETCODE_ALREADY_DELETED || result_ == DDS_RETCODE_BAD_PARAMETER,          \
			      "%s of a deleted entity: %d", #expression, (int)result_);                                \
	} while (0)

START_TEST(no_entity)
{
	struct compat_note note = {1, "text"};
	dds_sample_info_t info;
	dds_instance_handle_t handle;
	dds_entity_t gone;
	dds_qos_t *of = dds_create_qos();
	dds_listener_t *listener = dds_create_listener(NULL);
	void *data[] = {NULL};
	uint32_t number;
	dds_guid_t guid;
	bool flag;

	begin(&compat_note_type);
	gone = reader;
	well(dds_delete(reader));
	NOTHING(dds_delete(it));
	NOTHING(dds_enable(it));
	NOTHING(dds_get_parent(it));
	NOTHING(dds_get_participant(it));
	NOTHING(dds_get_publisher(it));
	NOTHING(dds_get_subscriber(it));
	NOTHING(dds_get_datareader(it));
	NOTHING(dds_get_topic(it));
	NOTHING(dds_get_children(it, NULL, 0));
	NOTHING(dds_get_domainid(it, &number));
	NOTHING(dds_get_instance_handle(it, &handle));
	NOTHING(dds_get_guid(it, &guid));
	NOTHING(dds_get_qos(it, of));
	NOTHING(dds_set_qos(it, of));
	NOTHING(dds_get_listener(it, listener));
	NOTHING(dds_set_listener(it, listener));
	NOTHING(dds_get_status_changes(it, &number));
	NOTHING(dds_read_status(it, &number, 0));
	NOTHING(dds_take_status(it, &number, 0));
	NOTHING(dds_get_status_mask(it, &number));
	NOTHING(dds_set_status_mask(it, 0));
	NOTHING(dds_get_subscription_matched_status(it, NULL));
	NOTHING(dds_create_topic(it, &compat_note_type, "x", NULL, NULL));
	NOTHING(dds_create_publisher(it, NULL, NULL));
	NOTHING(dds_create_subscriber(it, NULL, listener));
	NOTHING(dds_create_writer(it, topic, NULL, listener));
	NOTHING(dds_create_reader(it, topic, of, listener));
	NOTHING(dds_create_reader(participant, it, NULL, listener));
	NOTHING(dds_find_topic(DDS_FIND_SCOPE_GLOBAL, it, "things", NULL, 0));
	NOTHING(dds_set_topic_filter_and_arg(it, NULL, NULL));
	NOTHING(dds_write(it, &note));
	NOTHING(dds_write_ts(it, &note, 1));
	NOTHING(dds_writedispose(it, &note));
	NOTHING(dds_dispose(it, &note));
	NOTHING(dds_dispose_ih(it, 1));
	NOTHING(dds_unregister_instance(it, &note));
	NOTHING(dds_unregister_instance_ih_ts(it, 1, 1));
	NOTHING(dds_register_instance(it, &handle, &note));
	NOTHING(dds_instance_get_key(it, 1, &note));
	NOTHING(dds_wait_for_acks(it, 0));
	NOTHING(dds_assert_liveliness(it));
	NOTHING(dds_take(it, data, &info, 1, 1));
	NOTHING(dds_read_next(it, data, &info));
	NOTHING(dds_return_loan(it, data, 0));
	NOTHING(dds_loan_sample(it, data));
	NOTHING(dds_reader_wait_for_historical_data(it, 0));
	NOTHING(dds_create_readcondition(it, 0));
	NOTHING(dds_create_querycondition(it, 0, is_large));
	NOTHING(dds_create_guardcondition(it));
	NOTHING(dds_set_guardcondition(it, true));
	NOTHING(dds_read_guardcondition(it, &flag));
	NOTHING(dds_triggered(it));
	NOTHING(dds_create_waitset(it));
	NOTHING(dds_waitset_attach(it, writer, 0));
	NOTHING(dds_waitset_wait(it, NULL, 0, 0));
	NOTHING(dds_get_matched_subscriptions(it, NULL, 0));
	ck_assert_uint_eq(dds_lookup_instance(gone, &note), DDS_HANDLE_NIL);
	ck_assert(!dds_is_loan_available(gone));
	dds_write_flush(gone);
	dds_delete_qos(of);
	dds_delete_listener(listener);
	end();
}
END_TEST

START_TEST(null_is_refused)
{
	dds_sample_info_t info;
	void *data[] = {NULL};

	begin(&compat_note_type);
	refused(BAD_PARAMETER, dds_create_topic(participant, NULL, "x", NULL, NULL));
	refused(BAD_PARAMETER, dds_create_topic(participant, &compat_note_type, NULL, NULL, NULL));
	refused(BAD_PARAMETER, dds_write(writer, NULL));
	refused(BAD_PARAMETER, dds_write_ts(writer, &(struct compat_note){1, NULL}, -1));
	refused(BAD_PARAMETER, dds_dispose(writer, NULL));
	refused(BAD_PARAMETER, dds_register_instance(writer, NULL, &info));
	refused(BAD_PARAMETER, dds_take(reader, NULL, &info, 1, 1));
	refused(BAD_PARAMETER, dds_take(reader, data, NULL, 1, 1));
	refused(BAD_PARAMETER, dds_take(reader, data, &info, 1, 0));
	refused(BAD_PARAMETER, dds_take(reader, data, &info, 1, 2));
	refused(PRECONDITION_NOT_MET, dds_take_instance(reader, data, &info, 1, 1, DDS_HANDLE_NIL));
	refused(BAD_PARAMETER, dds_return_loan(reader, NULL, 1));
	refused(BAD_PARAMETER, dds_return_loan(reader, data, 1));
	well(dds_return_loan(reader, data, 0));
	refused(BAD_PARAMETER, dds_get_status_changes(writer, NULL));
	refused(BAD_PARAMETER, dds_get_qos(writer, NULL));
	refused(BAD_PARAMETER, dds_set_qos(writer, NULL));
	refused(BAD_PARAMETER, dds_get_listener(writer, NULL));
	refused(BAD_PARAMETER, dds_get_guid(writer, NULL));
	refused(BAD_PARAMETER, dds_instance_get_key(writer, 1, NULL));
	refused(BAD_PARAMETER, dds_loan_sample(writer, NULL));
	refused(BAD_PARAMETER, dds_create_querycondition(reader, 0, NULL));
	refused(BAD_PARAMETER, dds_set_topic_filter_extended(topic, NULL));
	refused(UNSUPPORTED, dds_set_topic_filter_extended(
				     topic, &(struct dds_topic_filter){.mode = DDS_TOPIC_FILTER_SAMPLEINFO_ARG}));
	refused(UNSUPPORTED, dds_loan_sample(writer, data)); /* of samples with pointers */
	refused(ILLEGAL_OPERATION, dds_write(participant, &info));
	refused(UNSUPPORTED, dds_create_domain(0, NULL));
	refused(UNSUPPORTED, dds_suspend(writer));
	refused(UNSUPPORTED, dds_resume(writer));
	refused(UNSUPPORTED, dds_notify_readers(reader));
	dds_delete_qos(NULL);
	dds_reset_qos(NULL);
	dds_qset_history(NULL, DDS_HISTORY_KEEP_ALL, 0);
	dds_qset_prop(NULL, NULL, NULL);
	ck_assert(!dds_qget_history(NULL, NULL, NULL));
	ck_assert(!dds_qget_prop(NULL, NULL, NULL));
	dds_delete_listener(NULL);
	dds_lset_data_available(NULL, on_data);
	refused(BAD_PARAMETER, dds_lset_data_available_arg(NULL, on_data, NULL, true));
	dds_delete_statistics(NULL);
	refused(BAD_PARAMETER, dds_refresh_statistics(NULL));
	dds_sample_free(NULL, &compat_note_type, DDS_FREE_ALL);
	dds_builtintopic_free_endpoint(NULL);
	dds_builtintopic_free_topic(NULL);
	dds_builtintopic_free_participant(NULL);
	end();
}
END_TEST

/* Numbers stay, and so does memory of the program's that it says is not to be freed. */
START_TEST(a_sample_is_freed_in_part)
{
	uint8_t own[3] = {1, 2, 3};
	struct compat_named named = {dds_string_dup("name"), {3, 3, own, false}};
	struct compat_note note = {7, dds_string_dup("text")};
	const dds_topic_descriptor_t none = {.m_size = 0};

	dds_sample_free(&note, &none, DDS_FREE_CONTENTS);
	ck_assert_str_eq(note.text, "text");
	dds_sample_free(&note, &compat_note_type, DDS_FREE_KEY);
	ck_assert_str_eq(note.text, "text");
	dds_sample_free(&note, &compat_note_type, DDS_FREE_CONTENTS);
	ck_assert_ptr_null(note.text);
	ck_assert_int_eq(note.id, 7);
	named.bytes._buffer = dds_alloc(3);
	named.bytes._release = true;
	dds_sample_free(&named, &compat_named_type, DDS_FREE_KEY);
	ck_assert_ptr_null(named.name);
	ck_assert_ptr_nonnull(named.bytes._buffer);
	dds_sample_free(&named, &compat_named_type, DDS_FREE_CONTENTS);
	ck_assert_ptr_null(named.bytes._buffer);
	named.bytes = (dds_sequence_t){3, 3, own, false};
	dds_sample_free(&named, &compat_named_type, DDS_FREE_CONTENTS);
	ck_assert_ptr_eq(named.bytes._buffer, own);
	ck_assert_uint_eq(named.bytes._length, 3);
}
END_TEST

START_TEST(memory_results_and_time)
{
	dds_data_allocator_t allocator;
	char *text = dds_string_alloc(3);
	unsigned char *bytes;
	dds_time_t now = dds_time();

	ck_assert_mem_eq(text, "\0\0\0", 4);
	dds_string_free(text);
	text = dds_string_dup("abc");
	ck_assert_str_eq(text, "abc");
	bytes = dds_realloc_zero(text, 5);
	ck_assert_mem_eq(bytes, "\0\0\0\0", 5);
	dds_free(dds_realloc(bytes, 0));
	ck_assert_ptr_null(dds_string_dup(NULL));
	ck_assert_str_eq(dds_strretcode(DDS_RETCODE_TIMEOUT), dds_strretcode(-DDS_RETCODE_TIMEOUT));
	ck_assert_str_ne(dds_strretcode(DDS_RETCODE_TIMEOUT), dds_strretcode(DDS_RETCODE_OK));
	dds_sleepfor(DDS_MSECS(2));
	dds_sleepfor(-1);
	ck_assert_int_ge(dds_time() - now, DDS_MSECS(1));
	well(dds_data_allocator_init_heap(&allocator));
	bytes = dds_data_allocator_alloc(&allocator, 10);
	ck_assert_ptr_nonnull(bytes);
	well(dds_data_allocator_free(&allocator, bytes));
	well(dds_data_allocator_fini(&allocator));
	refused(BAD_PARAMETER, dds_data_allocator_init(0, &allocator));
	refused(BAD_PARAMETER, dds_data_allocator_init_heap(NULL));
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {a_sample_is_lent,
				      a_sample_is_read_into_memory_of_the_program,
				      what_was_lent_is_lent_anew,
				      plain_samples_lie_in_the_loan,
				      a_loan_is_given_back_by_its_first,
				      an_end_of_an_instance_has_its_key,
				      keys_that_are_texts,
				      samples_of_all_sizes,
				      samples_are_selected,
				      filters_are_given_structs,
				      listeners_are_called_with_their_arguments,
				      what_a_listener_uses_is_there_until_it_has_returned,
				      statuses_have_other_bits,
				      policies_are_given_back,
				      a_value_out_of_its_range_is_refused,
				      local_samples_are_ignored,
				      built_in_topics_are_read,
				      topics_are_found,
				      endpoints_alone_are_transient_local,
				      plain_topics_are_shared_with_native_ones,
				      waitsets_wait,
				      statistics_have_the_names_that_programs_look_for,
				      each_kind_of_entity_leaves_nothing,
				      no_entity,
				      null_is_refused,
				      a_sample_is_freed_in_part,
				      memory_results_and_time};

	return run_tests("ddsc_api", tests, sizeof(tests) / sizeof(tests[0]));
}
