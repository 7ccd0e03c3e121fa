/* Where each field of the interface's structs lies, on a 64-bit machine: programs that are compiled keep to it. What is here stays; what
 * is new is added behind (whorl.h, STRUCTS).
 */
#include <whorl/dds.h>
#include <whorl/delegate.h>
#include <whorl/replica.h>
#include <whorl/status.h>

#include <string.h>

#include "tests/harness.h"

#define FIELD(type, field, offset, bytes)                                                                              \
	{                                                                                                              \
#type "." #field, offsetof(struct type, field), sizeof(((struct type *)0)->field), offset, bytes       \
	}

static const struct {
	const char *name;
	size_t is_at, has, was_at, had;
} fields[] = {
	FIELD(whorl_message, size, 0, 4),
	FIELD(whorl_message, sender, 4, 4),
	FIELD(whorl_message, data, 8, 8),
	FIELD(whorl_message, bytes, 16, 8),
	FIELD(whorl_message, index, 24, 8),
	FIELD(whorl_message, view, 32, 8),
	FIELD(whorl_message, sequence, 40, 8),
	FIELD(whorl_message, subgroup, 48, 8),
	FIELD(whorl_message, incarnation, 56, 8),
	FIELD(whorl_message, parts, 64, 4),
	FIELD(whorl_message, indexes, 68, 4),
	FIELD(whorl_message, pieces, 72, 8),
	FIELD(whorl_open_options, size, 0, 8),
	FIELD(whorl_open_options, log, 8, 8),
	FIELD(whorl_open_options, log_ctx, 16, 8),
	FIELD(whorl_open_options, layout, 24, 8),
	FIELD(whorl_open_options, layout_ctx, 32, 8),
	FIELD(whorl_open_options, form, 40, 1),
	FIELD(whorl_position, size, 0, 8),
	FIELD(whorl_position, view, 8, 8),
	FIELD(whorl_position, sequence, 16, 8),
	FIELD(whorl_position, senders, 24, 8),
	FIELD(whorl_position, sender_count, 32, 4),
	FIELD(whorl_position, shard, 36, 4),
	FIELD(whorl_state, size, 0, 8),
	FIELD(whorl_state, snapshot, 8, 8),
	FIELD(whorl_state, read, 16, 8),
	FIELD(whorl_state, release, 24, 8),
	FIELD(whorl_state, restore, 32, 8),
	FIELD(whorl_state, ctx, 40, 8),
	FIELD(whorl_node_stats, size, 0, 8),
	FIELD(whorl_node_stats, steps, 8, 8),
	FIELD(whorl_node_stats, idle_steps, 16, 8),
	FIELD(whorl_node_stats, yields, 24, 8),
	FIELD(whorl_node_stats, sleeps, 32, 8),
	FIELD(whorl_node_stats, pushes, 40, 8),
	FIELD(whorl_node_stats, writes, 48, 8),
	FIELD(whorl_node_stats, bytes_pushed, 56, 8),
	FIELD(whorl_node_stats, posts, 64, 8),
	FIELD(whorl_node_stats, post_ns, 72, 8),
	FIELD(whorl_node_stats, heartbeats, 80, 8),
	FIELD(whorl_node_stats, memory_bytes, 88, 8),
	FIELD(whorl_node_stats, views, 96, 8),
	FIELD(whorl_node_stats, change_ns, 104, 128),
	FIELD(whorl_node_stats, entry_ns, 232, 128),
	FIELD(whorl_node_stats, state_given, 360, 8),
	FIELD(whorl_node_stats, state_taken, 368, 8),
	FIELD(whorl_node_stats, state_kept, 376, 8),
	FIELD(whorl_node_stats, gives, 384, 8),
	FIELD(whorl_node_stats, takes, 392, 8),
	FIELD(whorl_node_stats, complaints, 400, 128),
	FIELD(whorl_subgroup_stats, size, 0, 8),
	FIELD(whorl_subgroup_stats, claimed, 8, 8),
	FIELD(whorl_subgroup_stats, sent, 16, 8),
	FIELD(whorl_subgroup_stats, aborted, 24, 8),
	FIELD(whorl_subgroup_stats, resent, 32, 8),
	FIELD(whorl_subgroup_stats, dropped, 40, 8),
	FIELD(whorl_subgroup_stats, in_doubt, 48, 8),
	FIELD(whorl_subgroup_stats, open_claim, 56, 8),
	FIELD(whorl_subgroup_stats, delivered, 64, 8),
	FIELD(whorl_subgroup_stats, delivered_bytes, 72, 8),
	FIELD(whorl_subgroup_stats, nulls, 80, 8),
	FIELD(whorl_subgroup_stats, received_num, 88, 8),
	FIELD(whorl_subgroup_stats, delivered_num, 96, 8),
	FIELD(whorl_subgroup_stats, window_full, 104, 8),
	FIELD(whorl_subgroup_stats, window_wait_ns, 112, 8),
	FIELD(whorl_subgroup_stats, upcall_longest_ns, 120, 8),
	FIELD(whorl_subgroup_stats, slowest_member, 128, 4),
	FIELD(whorl_subgroup_stats, slowest_behind, 136, 8),
	FIELD(whorl_subgroup_stats, send, 144, 176),
	FIELD(whorl_subgroup_stats, receive, 320, 176),
	FIELD(whorl_subgroup_stats, deliver, 496, 176),
	FIELD(whorl_subgroup_info, size, 0, 8),
	FIELD(whorl_subgroup_info, name, 8, 8),
	FIELD(whorl_subgroup_info, members, 16, 4),
	FIELD(whorl_subgroup_info, senders, 20, 4),
	FIELD(whorl_subgroup_info, window, 24, 4),
	FIELD(whorl_subgroup_info, message_bytes, 28, 4),
	FIELD(whorl_subgroup_info, sender, 32, 4),
	FIELD(whorl_subgroup_info, shard, 36, 4),
	FIELD(whorl_subgroup_info, shards, 40, 4),
	FIELD(whorl_subgroup_info, condition, 44, 4),
	FIELD(whorl_subgroup_info, large_bytes, 48, 8),
	FIELD(whorl_subgroup_options, size, 0, 8),
	FIELD(whorl_subgroup_options, mode, 8, 4),
	FIELD(whorl_subgroup_options, window, 12, 4),
	FIELD(whorl_subgroup_options, message_bytes, 16, 4),
	FIELD(whorl_subgroup_options, large_bytes, 24, 8),
	FIELD(whorl_subgroup_options, listens, 32, 1),
	FIELD(whorl_subgroup_options, on_message, 40, 8),
	FIELD(whorl_subgroup_options, on_batch, 48, 8),
	FIELD(whorl_subgroup_options, on_offer, 56, 8),
	FIELD(whorl_subgroup_options, upcall_ctx, 64, 8),
	FIELD(whorl_subgroup_options, on_refused, 72, 8),
	FIELD(whorl_subgroup_options, on_refused_ctx, 80, 8),
	FIELD(whorl_subgroup_options, refuse_max_ms, 88, 8),
	FIELD(whorl_subgroup_options, state, 96, 8),
	FIELD(whorl_type, size, 0, 8),
	FIELD(whorl_type, name, 8, 8),
	FIELD(whorl_type, bytes, 16, 8),
	FIELD(whorl_type, drop, 24, 8),
	FIELD(whorl_type, flags, 32, 4),
	FIELD(whorl_function, size, 0, 8),
	FIELD(whorl_function, name, 8, 8),
	FIELD(whorl_function, property, 16, 8),
	FIELD(whorl_function, property_bytes, 24, 8),
	FIELD(whorl_function, argument_bytes, 32, 8),
	FIELD(whorl_function, result_bytes, 40, 8),
	FIELD(whorl_function, flags, 48, 4),
	FIELD(whorl_function, run, 56, 8),
	FIELD(whorl_function, run_bytes, 64, 8),
	FIELD(whorl_work_options, size, 0, 8),
	FIELD(whorl_work_options, workers, 8, 4),
	FIELD(whorl_work_options, dedicated, 12, 4),
	FIELD(whorl_work_options, functions, 16, 8),
	FIELD(whorl_work_options, function_count, 24, 8),
	FIELD(whorl_work_options, stack_bytes, 32, 8),
	FIELD(whorl_work_options, types, 40, 8),
	FIELD(whorl_work_options, type_count, 48, 8),
	FIELD(whorl_place, node, 0, 4),
	FIELD(whorl_place, worker, 4, 4),
	FIELD(whorl_place, shard, 8, 8),
	FIELD(whorl_trust, work, 0, 8),
	FIELD(whorl_trust, id, 8, 8),
	FIELD(whorl_trust, node, 16, 4),
	FIELD(whorl_trust, worker, 20, 4),
	FIELD(whorl_trust, property, 24, 4),
	FIELD(whorl_trust, owner, 28, 4),
	FIELD(whorl_trust, room, 32, 16),
	FIELD(whorl_join, work, 0, 8),
	FIELD(whorl_join, call, 8, 8),
	FIELD(whorl_worker_stats, size, 0, 8),
	FIELD(whorl_worker_stats, calls, 8, 8),
	FIELD(whorl_worker_stats, lent_calls, 16, 8),
	FIELD(whorl_worker_stats, batches, 24, 8),
	FIELD(whorl_worker_stats, batch_calls, 32, 8),
	FIELD(whorl_worker_stats, largest_batch, 40, 8),
	FIELD(whorl_worker_stats, deferred, 48, 8),
	FIELD(whorl_worker_stats, refused, 56, 8),
	FIELD(whorl_worker_stats, functions_ns, 64, 8),
	FIELD(whorl_worker_stats, looking_ns, 72, 8),
	FIELD(whorl_worker_stats, properties, 80, 8),
	FIELD(whorl_worker_stats, fibers, 88, 8),
	FIELD(whorl_worker_stats, fibers_started, 96, 8),
	FIELD(whorl_worker_stats, passes, 104, 8),
	FIELD(whorl_worker_stats, sleeps, 112, 8),
	FIELD(whorl_call, size, 0, 8),
	FIELD(whorl_call, data, 8, 8),
	FIELD(whorl_call, bytes, 16, 8),
	FIELD(whorl_call, view, 24, 8),
	FIELD(whorl_call, sequence, 32, 8),
	FIELD(whorl_call, index, 40, 8),
	FIELD(whorl_call, incarnation, 48, 8),
	FIELD(whorl_call, caller, 56, 4),
	FIELD(whorl_call, awaited, 60, 1),
	FIELD(whorl_call, replayed, 61, 1),
	FIELD(whorl_call, place, 64, 8),
	FIELD(whorl_outcome, size, 0, 8),
	FIELD(whorl_outcome, result, 8, 4),
	FIELD(whorl_outcome, answer, 16, 8),
	FIELD(whorl_outcome, bytes, 24, 8),
	FIELD(whorl_outcome, view, 32, 8),
	FIELD(whorl_outcome, sequence, 40, 8),
	FIELD(whorl_outcome, text, 48, 8),
	FIELD(whorl_log_stats, size, 0, 8),
	FIELD(whorl_log_stats, persisted, 8, 8),
	FIELD(whorl_log_stats, persisted_by_all, 16, 8),
	FIELD(whorl_log_stats, segments, 24, 8),
	FIELD(whorl_log_stats, bytes, 32, 8),
	FIELD(whorl_log_stats, used_bytes, 40, 8),
	FIELD(whorl_log_stats, batches, 48, 8),
	FIELD(whorl_log_stats, syncs, 56, 8),
	FIELD(whorl_log_stats, longest_sync_ns, 64, 8),
	FIELD(whorl_log_stats, checkpoints, 72, 8),
	FIELD(whorl_log_stats, whole, 80, 1),
	FIELD(whorl_log_stats, slowest_member, 84, 4),
	FIELD(whorl_log_stats, slowest_behind, 88, 8),
	FIELD(whorl_log_stats, written_batches, 96, 8),
	FIELD(whorl_log_stats, written_messages, 104, 8),
	FIELD(whorl_log_stats, written_bytes, 112, 8),
	FIELD(whorl_log_stats, checks, 120, 8),
	FIELD(whorl_log_stats, rot, 128, 1),
	FIELD(whorl_status_place, size, 0, 4),
	FIELD(whorl_status_place, received_num, 16, 8),
	FIELD(whorl_status_place, delivered_num, 24, 8),
	FIELD(whorl_status_place, persisted_num, 32, 8),
	FIELD(whorl_status_shard, size, 0, 4),
	FIELD(whorl_status_shard, name, 4, 64),
	FIELD(whorl_status_shard, shard, 68, 4),
	FIELD(whorl_status_shard, shards, 72, 4),
	FIELD(whorl_status_shard, ordered, 76, 1),
	FIELD(whorl_status_shard, lost, 77, 1),
	FIELD(whorl_status_shard, condition, 80, 4),
	FIELD(whorl_status_shard, members, 84, 4),
	FIELD(whorl_status_shard, senders, 88, 4),
	FIELD(whorl_status_shard, resting, 92, 4),
	FIELD(whorl_status_shard, window, 96, 4),
	FIELD(whorl_status_shard, message_bytes, 100, 4),
	FIELD(whorl_status_shard, stats, 104, 8),
	FIELD(whorl_status_shard, place_count, 112, 4),
	FIELD(whorl_status_shard, places, 120, 8),
	FIELD(whorl_status_shard, large_bytes, 128, 8),
	FIELD(whorl_status_shard, durable, 136, 1),
	FIELD(whorl_status_shard, log, 144, 8),
	FIELD(whorl_status_missing, size, 0, 4),
	FIELD(whorl_status_missing, id, 4, 4),
	FIELD(whorl_status_missing, address, 8, 64),
	FIELD(whorl_status, size, 0, 8),
	FIELD(whorl_status, version, 8, 16),
	FIELD(whorl_status, group, 24, 64),
	FIELD(whorl_status, id, 88, 4),
	FIELD(whorl_status, pid, 92, 4),
	FIELD(whorl_status, incarnation, 96, 8),
	FIELD(whorl_status, identity, 104, 8),
	FIELD(whorl_status, other, 112, 8),
	FIELD(whorl_status, standing, 120, 4),
	FIELD(whorl_status, result, 124, 4),
	FIELD(whorl_status, error, 128, 512),
	FIELD(whorl_status, progress, 640, 256),
	FIELD(whorl_status, ready, 896, 1),
	FIELD(whorl_status, failure_timeout_ms, 900, 4),
	FIELD(whorl_status, view, 904, 8),
	FIELD(whorl_status, voters, 912, 4),
	FIELD(whorl_status, leader, 916, 4),
	FIELD(whorl_status, tie_breaker, 920, 4),
	FIELD(whorl_status, quorum, 924, 1),
	FIELD(whorl_status, change, 928, 4),
	FIELD(whorl_status, change_ms, 936, 8),
	FIELD(whorl_status, member_count, 944, 4),
	FIELD(whorl_status, members, 952, 8),
	FIELD(whorl_status, stats, 960, 8),
	FIELD(whorl_status, shard_count, 968, 4),
	FIELD(whorl_status, shards, 976, 8),
	FIELD(whorl_status, shards_left_off, 984, 4),
	FIELD(whorl_status, worker_count, 988, 4),
	FIELD(whorl_status, workers, 992, 8),
	FIELD(whorl_status, disk_busy_ms, 1000, 8),
	FIELD(whorl_status, disk_full_ms, 1008, 8),
	FIELD(whorl_status, disk_timeout_ms, 1016, 4),
	FIELD(whorl_status, restart, 1020, 4),
	FIELD(whorl_status, coordinator, 1024, 4),
	FIELD(whorl_status, restart_view, 1032, 8),
	FIELD(whorl_status, missing_count, 1040, 4),
	FIELD(whorl_status, missing, 1048, 8),
	FIELD(whorl_status_worker, size, 0, 8),
	FIELD(whorl_status_worker, open_ns, 8, 8),
	FIELD(whorl_status_worker, calls, 16, 8),
	FIELD(whorl_status_worker, lent_calls, 24, 8),
	FIELD(whorl_status_worker, batches, 32, 8),
	FIELD(whorl_status_worker, batch_calls, 40, 8),
	FIELD(whorl_status_worker, largest_batch, 48, 8),
	FIELD(whorl_status_worker, deferred, 56, 8),
	FIELD(whorl_status_worker, refused, 64, 8),
	FIELD(whorl_status_worker, functions_ns, 72, 8),
	FIELD(whorl_status_worker, looking_ns, 80, 8),
	FIELD(whorl_status_worker, properties, 88, 8),
	FIELD(whorl_status_worker, fibers, 96, 8),
	FIELD(whorl_status_worker, fibers_started, 104, 8),
	FIELD(whorl_status_worker, passes, 112, 8),
	FIELD(whorl_status_worker, sleeps, 120, 8),
	FIELD(whorl_dds_field, size, 0, 4),
	FIELD(whorl_dds_field, kind, 4, 4),
	FIELD(whorl_dds_field, offset, 8, 4),
	FIELD(whorl_dds_field, count, 12, 4),
	FIELD(whorl_dds_field, flags, 16, 4),
	FIELD(whorl_dds_field, unused, 20, 4),
	FIELD(whorl_dds_field, name, 24, 8),
	FIELD(whorl_dds_type, size, 0, 8),
	FIELD(whorl_dds_type, name, 8, 8),
	FIELD(whorl_dds_type, bytes, 16, 4),
	FIELD(whorl_dds_type, align, 20, 4),
	FIELD(whorl_dds_type, flags, 24, 4),
	FIELD(whorl_dds_type, bytes_max, 28, 4),
	FIELD(whorl_dds_type, fields, 32, 8),
	FIELD(whorl_dds_type, field_count, 40, 4),
	FIELD(whorl_dds_type, key_count, 44, 4),
	FIELD(whorl_dds_type, keys, 48, 8),
	FIELD(whorl_dds_type, hash, 56, 8),
	FIELD(whorl_dds_participant_options, size, 0, 8),
	FIELD(whorl_dds_participant_options, file, 8, 8),
	FIELD(whorl_dds_participant_options, node, 16, 8),
	FIELD(whorl_dds_participant_options, spins, 24, 1),
	FIELD(whorl_dds_participant_options, ready, 32, 8),
	FIELD(whorl_dds_write_options, size, 0, 8),
	FIELD(whorl_dds_write_options, kind, 8, 4),
	FIELD(whorl_dds_write_options, has_time, 12, 1),
	FIELD(whorl_dds_write_options, timestamp, 16, 8),
	FIELD(whorl_dds_write_options, bytes, 24, 8),
	FIELD(whorl_dds_write_options, instance, 32, 8),
	FIELD(whorl_dds_sample_info, size, 0, 4),
	FIELD(whorl_dds_sample_info, sample_state, 4, 4),
	FIELD(whorl_dds_sample_info, view_state, 8, 4),
	FIELD(whorl_dds_sample_info, instance_state, 12, 4),
	FIELD(whorl_dds_sample_info, valid_data, 16, 1),
	FIELD(whorl_dds_sample_info, writer, 20, 4),
	FIELD(whorl_dds_sample_info, disposed_generation_count, 24, 4),
	FIELD(whorl_dds_sample_info, no_writers_generation_count, 28, 4),
	FIELD(whorl_dds_sample_info, sample_rank, 32, 4),
	FIELD(whorl_dds_sample_info, generation_rank, 36, 4),
	FIELD(whorl_dds_sample_info, absolute_generation_rank, 40, 4),
	FIELD(whorl_dds_sample_info, bytes, 48, 8),
	FIELD(whorl_dds_sample_info, source_timestamp, 56, 8),
	FIELD(whorl_dds_sample_info, reception_timestamp, 64, 8),
	FIELD(whorl_dds_sample_info, instance_handle, 72, 8),
	FIELD(whorl_dds_sample_info, publication_handle, 80, 8),
	FIELD(whorl_dds_sample_info, view, 88, 8),
	FIELD(whorl_dds_sample_info, sequence, 96, 8),
	FIELD(whorl_dds_sample_info, number, 104, 8),
	FIELD(whorl_dds_select, size, 0, 8),
	FIELD(whorl_dds_select, mask, 8, 4),
	FIELD(whorl_dds_select, next, 12, 1),
	FIELD(whorl_dds_select, peek, 13, 1),
	FIELD(whorl_dds_select, instance, 16, 8),
	FIELD(whorl_dds_select, buffer_bytes, 24, 8),
	FIELD(whorl_dds_builtin_participant, size, 0, 4),
	FIELD(whorl_dds_builtin_participant, node, 4, 4),
	FIELD(whorl_dds_builtin_participant, handle, 8, 8),
	FIELD(whorl_dds_builtin_participant, incarnation, 16, 8),
	FIELD(whorl_dds_builtin_participant, qos, 24, 8),
	FIELD(whorl_dds_builtin_topic, size, 0, 4),
	FIELD(whorl_dds_builtin_topic, consistency, 4, 4),
	FIELD(whorl_dds_builtin_topic, handle, 8, 8),
	FIELD(whorl_dds_builtin_topic, name, 16, 8),
	FIELD(whorl_dds_builtin_topic, channel, 24, 8),
	FIELD(whorl_dds_builtin_topic, type, 32, 8),
	FIELD(whorl_dds_builtin_topic, qos, 40, 8),
	FIELD(whorl_dds_builtin_endpoint, size, 0, 4),
	FIELD(whorl_dds_builtin_endpoint, node, 4, 4),
	FIELD(whorl_dds_builtin_endpoint, handle, 8, 8),
	FIELD(whorl_dds_builtin_endpoint, participant, 16, 8),
	FIELD(whorl_dds_builtin_endpoint, topic, 24, 8),
	FIELD(whorl_dds_builtin_endpoint, topic_name, 32, 8),
	FIELD(whorl_dds_builtin_endpoint, type_name, 40, 8),
	FIELD(whorl_dds_builtin_endpoint, qos, 48, 8),
	FIELD(whorl_dds_builtin_endpoint, behind, 56, 8),
};

START_TEST(fields_stay_where_they_are)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		ck_assert_msg(fields[i].is_at == fields[i].was_at && fields[i].has == fields[i].had,
			      "%s has %zu bytes at %zu, and had %zu at %zu", fields[i].name, fields[i].has,
			      fields[i].is_at, fields[i].had, fields[i].was_at);
}
END_TEST

/* Two never grow; a message is no more than it must be: the loop writes one for each that it delivers. */
START_TEST(some_sizes_are_final)
{
	ck_assert_uint_eq(sizeof(struct whorl_claim), 64);
	ck_assert_uint_eq(sizeof(struct whorl_batch_stats), 22 * 8);
	ck_assert_uint_eq(sizeof(struct whorl_message), 80);
}
END_TEST

/* A program that was compiled says these by their numbers. What is new comes behind. */
START_TEST(modes_keep_their_numbers)
{
	ck_assert_int_eq(WHORL_MODE_DEFAULT, 0);
	ck_assert_int_eq(WHORL_ORDERED, 1);
	ck_assert_int_eq(WHORL_UNORDERED, 2);
	ck_assert_uint_eq(sizeof(enum whorl_mode), 4);
	ck_assert_int_eq(WHORL_LOCAL, 0);
	ck_assert_int_eq(WHORL_LINEARIZABLE, 1);
}
END_TEST

/* Elements lie as far apart as the first says, however large this header's are. */
START_TEST(arrays_are_stepped_through_by_size)
{
	_Alignas(16) unsigned char bytes[3 * 96] = {0};
	const struct whorl_message *messages = (const struct whorl_message *)(void *)bytes;

	for (size_t i = 0; i < 3; i++) {
		const struct whorl_message m = {.size = 96, .index = i};

		memcpy(bytes + 96 * i, &m, sizeof(m));
	}
	for (size_t i = 0; i < 3; i++)
		ck_assert_uint_eq(WHORL_AT(whorl_message, messages, i)->index, i);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("abi");
	TCase *t = tcase_create("abi");

	tcase_add_test(t, fields_stay_where_they_are);
	tcase_add_test(t, some_sizes_are_final);
	tcase_add_test(t, modes_keep_their_numbers);
	tcase_add_test(t, arrays_are_stepped_through_by_size);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return test_main(suite());
}
