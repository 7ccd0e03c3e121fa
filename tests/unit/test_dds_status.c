/* test_dds_status.c - each of the 13 statuses happens, is counted, changes until it is looked at, and goes to a listener.
 * Labels: threads
 */
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/support/dds_domain.h"

struct pose {
	int32_t id;
	int32_t count;
};

WHORL_DDS_TYPE(pose_type, struct pose, WHORL_DDS_KEY(struct pose, id), WHORL_DDS_FIELD(struct pose, count));
WHORL_DDS_TYPE(other_type, struct pose, WHORL_DDS_KEY(struct pose, id));

struct flat {
	int32_t count;
};

WHORL_DDS_TYPE(flat_type, struct flat, WHORL_DDS_FIELD(struct flat, count));

/* ---- one that listens to all ------------------------------------------------------------------------------------------------- */

static atomic_uint calls[32]; /* by the number of a status' bit */

static void heard(uint32_t status, bool counts)
{
	if (counts)
		atomic_fetch_add(&calls[__builtin_ctz(status)], 1);
}

#define HEARS(name, type, status)                                                                                      \
	static void on_##name(whorl_dds_entity entity, const struct whorl_dds_##type##_status *it, void *arg)          \
	{                                                                                                              \
		(void)arg;                                                                                             \
		heard(WHORL_DDS_##status##_STATUS, entity > 0 && it->total_count > 0 && it->total_count_change > 0);   \
	}

HEARS(inconsistent_topic, inconsistent_topic, INCONSISTENT_TOPIC)
HEARS(offered_deadline_missed, deadline_missed, OFFERED_DEADLINE_MISSED)
HEARS(requested_deadline_missed, deadline_missed, REQUESTED_DEADLINE_MISSED)
HEARS(offered_incompatible_qos, incompatible_qos, OFFERED_INCOMPATIBLE_QOS)
HEARS(requested_incompatible_qos, incompatible_qos, REQUESTED_INCOMPATIBLE_QOS)
HEARS(sample_lost, sample_lost, SAMPLE_LOST)
HEARS(sample_rejected, sample_rejected, SAMPLE_REJECTED)
HEARS(liveliness_lost, liveliness_lost, LIVELINESS_LOST)
HEARS(publication_matched, matched, PUBLICATION_MATCHED)
HEARS(subscription_matched, matched, SUBSCRIPTION_MATCHED)

static void on_liveliness_changed(whorl_dds_entity reader, const struct whorl_dds_liveliness_changed_status *it,
				  void *arg)
{
	(void)arg;
	heard(WHORL_DDS_LIVELINESS_CHANGED_STATUS, reader > 0 && it->last_publication_handle != 0);
}

static void on_data_available(whorl_dds_entity reader, void *arg)
{
	(void)arg;
	heard(WHORL_DDS_DATA_AVAILABLE_STATUS, reader > 0);
}

static void on_data_on_readers(whorl_dds_entity subscriber, void *arg)
{
	(void)arg;
	heard(WHORL_DDS_DATA_ON_READERS_STATUS, subscriber > 0);
}

static whorl_dds_listener *listen(void)
{
	whorl_dds_listener *it = whorl_dds_create_listener(NULL);

	ck_assert_ptr_nonnull(it);
#define SET(name) well(whorl_dds_lset_##name(it, on_##name))
	SET(inconsistent_topic);
	SET(offered_deadline_missed);
	SET(requested_deadline_missed);
	SET(offered_incompatible_qos);
	SET(requested_incompatible_qos);
	SET(sample_lost);
	SET(sample_rejected);
	SET(data_available);
	SET(liveliness_lost);
	SET(liveliness_changed);
	SET(publication_matched);
	SET(subscription_matched);
#undef SET
	return it;
}

/* It was called for this status. */
static void is_heard(uint32_t status)
{
	until(atomic_load(&calls[__builtin_ctz(status)]) > 0);
}

/* Below a participant that listens to all: entities without a listener of their own. */
static struct place enter_listened(const struct whorl_dds_type *type)
{
	whorl_dds_listener *listener = listen();
	struct place place = {made(whorl_dds_create_participant(domain(), NULL, listener)), 0};

	place.topic = topic_of(place.participant, type, "poses", "");
	whorl_dds_delete_listener(listener);
	return place;
}

/* The status as it is, which has changed; taken, it has not any more. */
#define take_status(entity, STATUS, out)                                                                               \
	do {                                                                                                           \
		ck_assert((whorl_dds_get_status_changes(entity) & WHORL_DDS_##STATUS##_STATUS) != 0);                  \
		well(whorl_dds_take_status(entity, WHORL_DDS_##STATUS##_STATUS, (out), sizeof(*(out))));               \
		ck_assert((whorl_dds_get_status_changes(entity) & WHORL_DDS_##STATUS##_STATUS) == 0);                  \
	} while (0)

/* ---- each status --------------------------------------------------------------------------------------------------------------- */

START_TEST(inconsistent_topic)
{
	struct place place = place_of(&pose_type, "poses", ""), second;
	whorl_dds_entity again = made(whorl_dds_find_topic(place.participant, "poses", 0));
	whorl_dds_entity apart = topic_of(place.participant, &pose_type, "apart", "");
	struct whorl_dds_inconsistent_topic_status status = {0};

	refused(PRECONDITION_NOT_MET, whorl_dds_create_topic(place.participant, &other_type, "poses", NULL, NULL));
	refused(PRECONDITION_NOT_MET, whorl_dds_create_topic(place.participant, &other_type, "poses", NULL, NULL));
	take_status(place.topic, INCONSISTENT_TOPIC, &status);
	ck_assert_uint_eq(status.total_count, 2);
	ck_assert_int_eq(status.total_count_change, 2);
	take_status(again, INCONSISTENT_TOPIC, &status);
	ck_assert_uint_eq(status.total_count, 2);
	well(whorl_dds_read_status(apart, WHORL_DDS_INCONSISTENT_TOPIC_STATUS, &status, sizeof(status)));
	ck_assert_uint_eq(status.total_count, 0);
	well(whorl_dds_delete(again)); /* nothing is told of what is gone */
	refused(PRECONDITION_NOT_MET, whorl_dds_create_topic(place.participant, &other_type, "poses", NULL, NULL));
	second = enter_listened(&pose_type);
	refused(PRECONDITION_NOT_MET, whorl_dds_create_topic(place.participant, &other_type, "poses", NULL, NULL));
	is_heard(WHORL_DDS_INCONSISTENT_TOPIC_STATUS);
	well(whorl_dds_delete(second.participant));
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* Both sides count by their own clocks, writers that share an instance too. */
START_TEST(deadline_missed)
{
	struct place place = place_of(&pose_type, "poses", "");
	whorl_dds_entity writer = new_writer(&place, "deadline=50ms"), reader = new_reader(&place, "deadline=50ms");
	whorl_dds_entity idle = new_writer(&place, "deadline=50ms");
	struct whorl_dds_deadline_missed_status status = {0}, asked = {0};
	struct pose pose = {.id = 4};
	whorl_dds_instance_handle handle = 0;
	whorl_dds_entity quiet;

	well(whorl_dds_register_instance(idle, &handle, &pose)); /* it owes nothing before its first sample */
	well(whorl_dds_write(writer, &(struct pose){.id = 9}));
	well(whorl_dds_dispose(writer, &(struct pose){.id = 9})); /* of this none is due */
	well(whorl_dds_write(writer, &pose));
	await_status(writer, WHORL_DDS_OFFERED_DEADLINE_MISSED_STATUS);
	take_status(writer, OFFERED_DEADLINE_MISSED, &status);
	ck_assert_uint_ge(status.total_count, 1);
	ck_assert_int_eq(status.total_count_change, (int)status.total_count);
	ck_assert_uint_eq(status.last_instance_handle, handle);
	await_status(writer, WHORL_DDS_OFFERED_DEADLINE_MISSED_STATUS); /* and once more for each period */
	await_status(reader, WHORL_DDS_REQUESTED_DEADLINE_MISSED_STATUS);
	take_status(reader, REQUESTED_DEADLINE_MISSED, &asked);
	ck_assert_uint_eq(asked.last_instance_handle, handle);
	well(whorl_dds_read_status(idle, WHORL_DDS_OFFERED_DEADLINE_MISSED_STATUS, &status, sizeof(status)));
	ck_assert_uint_eq(status.total_count, 0);
	well(whorl_dds_unregister_instance(writer, &pose));
	take_status(writer, OFFERED_DEADLINE_MISSED, &status);
	well(whorl_dds_read_status(writer, WHORL_DDS_OFFERED_DEADLINE_MISSED_STATUS, &asked, sizeof(asked)));
	quiet = made(whorl_dds_create_waitset(place.participant));
	well(whorl_dds_waitset_attach(quiet, writer, 1));
	ck_assert_int_eq(whorl_dds_waitset_wait(quiet, NULL, 0, SECOND / 7), 0); /* nothing is to come */
	well(whorl_dds_read_status(writer, WHORL_DDS_OFFERED_DEADLINE_MISSED_STATUS, &status, sizeof(status)));
	ck_assert_uint_eq(status.total_count, asked.total_count);
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* Without keys, with one owner, with a deadline that is said later; and to listeners. */
START_TEST(deadline_missed_otherwise)
{
	struct place place = enter_listened(&flat_type);
	whorl_dds_entity writer = new_writer(&place, "ownership=exclusive");
	whorl_dds_entity reader = new_reader(&place, "ownership=exclusive");
	whorl_dds_qos *of = qos("deadline=50ms");

	well(whorl_dds_set_qos(writer, of));
	well(whorl_dds_set_qos(reader, of));
	well(whorl_dds_write(writer, &(struct flat){1}));
	is_heard(WHORL_DDS_OFFERED_DEADLINE_MISSED_STATUS);
	is_heard(WHORL_DDS_REQUESTED_DEADLINE_MISSED_STATUS);
	whorl_dds_delete_qos(of);
	well(whorl_dds_delete(place.participant));
}
END_TEST

START_TEST(incompatible_qos)
{
	struct place place = place_of(&pose_type, "poses", ""), second = enter_listened(&pose_type);
	whorl_dds_entity writer = new_writer(&place, "reliability=best_effort deadline=2s");
	whorl_dds_entity reader = new_reader(&place, "reliability=reliable");
	struct whorl_dds_incompatible_qos_status status = {0};

	take_status(writer, OFFERED_INCOMPATIBLE_QOS, &status);
	ck_assert_uint_eq(status.total_count, 1);
	ck_assert_int_eq(status.last_policy_id, WHORL_DDS_POLICY_RELIABILITY);
	take_status(reader, REQUESTED_INCOMPATIBLE_QOS, &status);
	ck_assert_int_eq(status.last_policy_id, WHORL_DDS_POLICY_RELIABILITY);
	(void)new_reader(&place, "deadline=1s");
	take_status(writer, OFFERED_INCOMPATIBLE_QOS, &status);
	ck_assert_uint_eq(status.total_count, 2);
	ck_assert_int_eq(status.last_policy_id, WHORL_DDS_POLICY_DEADLINE);
	(void)new_reader(&second, "deadline=1s");
	is_heard(WHORL_DDS_REQUESTED_INCOMPATIBLE_QOS_STATUS);
	(void)new_writer(&second, "reliability=best_effort");
	is_heard(WHORL_DDS_OFFERED_INCOMPATIBLE_QOS_STATUS);
	well(whorl_dds_delete(second.participant));
	well(whorl_dds_delete(place.participant));
}
END_TEST

START_TEST(matched)
{
	struct place place = enter_listened(&pose_type), second = place_of(&pose_type, "poses", "");
	whorl_dds_entity writer = new_writer(&second, ""), reader = new_reader(&second, "");
	struct whorl_dds_matched_status status = {0};
	whorl_dds_instance_handle handle = 0;

	well(whorl_dds_get_instance_handle(reader, &handle));
	take_status(writer, PUBLICATION_MATCHED, &status);
	ck_assert_uint_eq(status.last_handle, handle);
	ck_assert_int_eq(status.current_count_change, 1);
	take_status(reader, SUBSCRIPTION_MATCHED, &status);
	well(whorl_dds_delete(writer));
	take_status(reader, SUBSCRIPTION_MATCHED, &status);
	ck_assert_uint_eq(status.total_count, 1);
	ck_assert_uint_eq(status.current_count, 0);
	ck_assert_int_eq(status.current_count_change, -1);
	(void)new_writer(&place, "");
	is_heard(WHORL_DDS_PUBLICATION_MATCHED_STATUS);
	(void)new_reader(&place, "");
	is_heard(WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS);
	is_heard(WHORL_DDS_LIVELINESS_CHANGED_STATUS);
	well(whorl_dds_delete(place.participant));
	well(whorl_dds_delete(second.participant));
}
END_TEST

START_TEST(liveliness)
{
	struct place place = enter_listened(&pose_type), second = place_of(&pose_type, "poses", "");
	whorl_dds_entity writer = new_writer(&second, "liveliness=manual_by_topic liveliness.lease=50ms"),
			 reader = new_reader(&second, "");
	struct whorl_dds_liveliness_lost_status lost = {0};
	struct whorl_dds_liveliness_changed_status changed = {0};

	await_status(writer, WHORL_DDS_LIVELINESS_LOST_STATUS);
	take_status(writer, LIVELINESS_LOST, &lost);
	ck_assert_uint_ge(lost.total_count, 1);
	await_status(reader, WHORL_DDS_LIVELINESS_CHANGED_STATUS);
	take_status(reader, LIVELINESS_CHANGED, &changed);
	ck_assert_uint_eq(changed.alive_count + changed.not_alive_count, 1);
	(void)new_writer(&place, "liveliness=manual_by_topic liveliness.lease=50ms");
	is_heard(WHORL_DDS_LIVELINESS_LOST_STATUS);
	well(whorl_dds_delete(place.participant));
	well(whorl_dds_delete(second.participant));
}
END_TEST

START_TEST(sample_rejected)
{
	struct place place = place_of(&pose_type, "poses", ""), second = enter_listened(&pose_type);
	whorl_dds_entity reader = new_reader(&place, "resource_limits.instances=2"), writer = new_writer(&place, "");
	struct whorl_dds_sample_rejected_status status = {0};
	struct pose pose = {0};

	(void)new_reader(&second, "resource_limits.instances=1");
	for (; pose.id < 4; pose.id++)
		well(whorl_dds_write(writer, &pose));
	until((whorl_dds_read_status(reader, WHORL_DDS_SAMPLE_REJECTED_STATUS, &status, sizeof(status)),
	       status.total_count == 2));
	take_status(reader, SAMPLE_REJECTED, &status);
	ck_assert_int_eq(status.last_reason, WHORL_DDS_REJECTED_BY_INSTANCES_LIMIT);
	ck_assert_uint_eq(status.last_instance_handle, whorl_dds_lookup_instance(writer, &(struct pose){.id = 3}));
	is_heard(WHORL_DDS_SAMPLE_REJECTED_STATUS);
	well(whorl_dds_delete(second.participant));
	well(whorl_dds_delete(place.participant));
}
END_TEST

START_TEST(data)
{
	struct place place = place_of(&pose_type, "poses", ""), second = enter_listened(&pose_type);
	whorl_dds_entity subscriber = made(whorl_dds_create_subscriber(place.participant, NULL, NULL));
	struct place below = {subscriber, place.topic}, listened = {0, second.topic};
	whorl_dds_entity reader = new_reader(&below, ""), writer = new_writer(&place, "");
	whorl_dds_listener *on_readers = whorl_dds_create_listener(NULL);
	struct whorl_dds_sample_info info;
	void *lent;

	ck_assert_ptr_nonnull(on_readers);
	well(whorl_dds_lset_data_on_readers(on_readers, on_data_on_readers));
	(void)new_reader(&second, "");
	well(whorl_dds_write(writer, &(struct pose){.id = 1}));
	is_heard(WHORL_DDS_DATA_AVAILABLE_STATUS); /* where no subscriber hears of it before */
	listened.participant = made(whorl_dds_create_subscriber(second.participant, NULL, on_readers));
	(void)new_reader(&listened, "");
	well(whorl_dds_write(writer, &(struct pose){.id = 1}));
	is_heard(WHORL_DDS_DATA_ON_READERS_STATUS);
	ck_assert((whorl_dds_get_status_changes(subscriber) & WHORL_DDS_DATA_ON_READERS_STATUS) != 0);
	ck_assert((whorl_dds_get_status_changes(reader) & WHORL_DDS_DATA_AVAILABLE_STATUS) != 0);
	take_lent(reader, &lent, &info);
	ck_assert((whorl_dds_get_status_changes(subscriber) & WHORL_DDS_DATA_ON_READERS_STATUS) == 0);
	ck_assert((whorl_dds_get_status_changes(reader) & WHORL_DDS_DATA_AVAILABLE_STATUS) == 0);
	whorl_dds_delete_listener(on_readers);
	well(whorl_dds_delete(second.participant));
	well(whorl_dds_delete(place.participant));
}
END_TEST

/* ---- what goes with a coherent set --------------------------------------------------------------------------------------------- */

#define COHERENT "presentation=topic presentation.coherent=on"
#define need(condition) ((condition) ? (void)0 : (fprintf(stderr, "%s: %s\n", #condition, whorl_dds_text()), _exit(1)))

/* Begins a set of three, and waits for its end. */
static void write_three(uint32_t number, atomic_int *written)
{
	whorl_dds_qos *of = whorl_dds_create_qos();
	whorl_dds_entity participant, topic, writer;

	need(whorl_dds_qos_parse(of, COHERENT) == OK);
	participant = whorl_dds_create_participant(number, NULL, NULL);
	topic = whorl_dds_create_topic(participant, &pose_type, "poses", NULL, NULL);
	writer = whorl_dds_create_writer(participant, topic, of, NULL);
	need(writer > 0 && whorl_dds_begin_coherent(writer) == OK);
	for (int i = 0; i < 3; i++)
		need(whorl_dds_write(writer, &(struct pose){.id = i}) == OK);
	need(whorl_dds_wait_for_acks(writer, patience()) == OK);
	atomic_store(written, 1);
	for (;;)
		pause();
}

START_TEST(sample_lost)
{
	atomic_int *written = mmap(NULL, sizeof(*written), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct whorl_dds_sample_lost_status status = {0};
	uint32_t number = domain();
	whorl_dds_entity reader, apart;
	struct place place;
	int how;
	pid_t pid;

	ck_assert_ptr_ne(written, MAP_FAILED);
	pid = fork();
	if (pid == 0) {
		alarm((unsigned)test_patience(60));
		write_three(number, written);
	}
	until(atomic_load(written) == 1);
	place = enter_listened(&pose_type);
	reader = new_reader(&place, RELIABLE_ALL " " COHERENT);
	apart = new_reader(&place, "partition=x");
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &how, 0), pid);
	ck_assert(WIFSIGNALED(how));
	is_heard(WHORL_DDS_SAMPLE_LOST_STATUS);
	well(whorl_dds_read_status(reader, WHORL_DDS_SAMPLE_LOST_STATUS, &status, sizeof(status)));
	ck_assert_uint_eq(status.total_count, 3);
	well(whorl_dds_read_status(apart, WHORL_DDS_SAMPLE_LOST_STATUS, &status, sizeof(status)));
	ck_assert_uint_eq(status.total_count, 0);
	well(whorl_dds_delete(place.participant));
	munmap(written, sizeof(*written));
}
END_TEST

/* ---- turns --------------------------------------------------------------------------------------------------------------------- */

static struct {
	whorl_dds_entity writer;
	atomic_bool began, other_heard, gave_up;
	whorl_dds_time end;
} turns;

/* When it returns there is more already. */
static void on_data_again(whorl_dds_entity reader, void *arg)
{
	const struct whorl_dds_select peek = {.size = sizeof(peek), .peek = true};
	struct whorl_dds_sample_info info = {.size = sizeof(info)};
	const struct pose pose = {1, 1};
	struct pose got;
	void *into[] = {&got};

	(void)arg;
	while (whorl_dds_take(reader, into, &info, 1) > 0)
		;
	atomic_store(&turns.began, true);
	atomic_store(&turns.gave_up, whorl_dds_now() > turns.end);
	if (atomic_load(&turns.other_heard) || atomic_load(&turns.gave_up))
		return;
	well(whorl_dds_write(turns.writer, &pose));
	while (whorl_dds_read_select(reader, &peek, into, &info, 1) == 0)
		moment();
}

static void on_other_data(whorl_dds_entity reader, void *arg)
{
	(void)reader;
	(void)arg;
	atomic_store(&turns.other_heard, !atomic_load(&turns.gave_up));
}

/* While the listener of `turns.writer`'s reader has always more, what this writer does is told, too. */
static void other_hears(whorl_dds_entity writer)
{
	const struct pose pose = {1, 1};

	turns.end = whorl_dds_now() + (whorl_dds_duration)test_patience(2 * SECOND);
	well(whorl_dds_write(turns.writer, &pose));
	until(atomic_load(&turns.began));
	well(whorl_dds_write(writer, &pose));
	until(atomic_load(&turns.other_heard) || atomic_load(&turns.gave_up));
	ck_assert(atomic_load(&turns.other_heard));
}

/* A listener for which there is always more does not keep the thread from the others. */
START_TEST(others_have_their_turn)
{
	struct place place = place_of(&pose_type, "poses", "");
	struct place other = {place.participant, topic_of(place.participant, &pose_type, "others", "")};
	whorl_dds_listener *again = whorl_dds_create_listener(NULL), *once = whorl_dds_create_listener(NULL);
	whorl_dds_qos *all = qos(RELIABLE_ALL);
	whorl_dds_entity writer;

	well(whorl_dds_lset_data_available(again, on_data_again));
	well(whorl_dds_lset_data_available(once, on_other_data));
	turns.writer = new_writer(&place, RELIABLE_ALL);
	writer = new_writer(&other, RELIABLE_ALL);
	made(whorl_dds_create_reader(place.participant, place.topic, all, again));
	made(whorl_dds_create_reader(other.participant, other.topic, all, once));
	other_hears(writer);
	whorl_dds_delete_qos(all);
	whorl_dds_delete_listener(again);
	whorl_dds_delete_listener(once);
	well(whorl_dds_delete(place.participant));
}
END_TEST

static void on_other_missed(whorl_dds_entity writer, const struct whorl_dds_deadline_missed_status *status, void *arg)
{
	(void)status;
	on_other_data(writer, arg);
}

/* Nor from what time does: it is called for a deadline that runs out meanwhile. */
START_TEST(times_have_their_turn)
{
	struct place place = place_of(&pose_type, "poses", "");
	struct place other = {place.participant, topic_of(place.participant, &pose_type, "others", "")};
	whorl_dds_listener *again = whorl_dds_create_listener(NULL), *once = whorl_dds_create_listener(NULL);
	whorl_dds_qos *all = qos(RELIABLE_ALL), *due = qos("deadline=10ms");
	whorl_dds_entity writer;

	well(whorl_dds_lset_data_available(again, on_data_again));
	well(whorl_dds_lset_offered_deadline_missed(once, on_other_missed));
	turns.writer = new_writer(&place, RELIABLE_ALL);
	made(whorl_dds_create_reader(place.participant, place.topic, all, again));
	writer = made(whorl_dds_create_writer(other.participant, other.topic, due, once));
	other_hears(writer);
	whorl_dds_delete_qos(all);
	whorl_dds_delete_qos(due);
	whorl_dds_delete_listener(again);
	whorl_dds_delete_listener(once);
	well(whorl_dds_delete(place.participant));
}
END_TEST

static struct {
	atomic_bool began, goes_on;
	atomic_uint matches, lives;
} slow;

static void on_data_wait(whorl_dds_entity reader, void *arg)
{
	(void)reader;
	(void)arg;
	atomic_store(&slow.began, true);
	while (!atomic_load(&slow.goes_on))
		moment();
}

static void on_match_slowly(whorl_dds_entity reader, const struct whorl_dds_matched_status *it, void *arg)
{
	(void)reader;
	(void)it;
	(void)arg;
	for (int i = 0; i < 5; i++)
		moment();
	atomic_fetch_add(&slow.matches, 1);
}

static void on_life_slowly(whorl_dds_entity reader, const struct whorl_dds_liveliness_changed_status *it, void *arg)
{
	(void)it;
	on_match_slowly(reader, NULL, arg);
	atomic_fetch_sub(&slow.matches, 1);
	atomic_fetch_add(&slow.lives, 1);
}

/* Two statuses have changed while the thread was elsewhere, and the first that is told takes all of the turn: then the other one has another. */
START_TEST(what_a_turn_has_no_time_for_is_told)
{
	struct place place = place_of(&pose_type, "poses", "");
	whorl_dds_listener *waits = whorl_dds_create_listener(NULL), *tells = whorl_dds_create_listener(NULL);
	whorl_dds_entity writer = new_writer(&place, "");
	const struct pose pose = {1, 1};

	well(whorl_dds_lset_data_available(waits, on_data_wait));
	well(whorl_dds_lset_subscription_matched(tells, on_match_slowly));
	well(whorl_dds_lset_liveliness_changed(tells, on_life_slowly));
	made(whorl_dds_create_reader(place.participant, place.topic, NULL, waits));
	well(whorl_dds_write(writer, &pose));
	until(atomic_load(&slow.began));
	made(whorl_dds_create_reader(place.participant, place.topic, NULL, tells));
	atomic_store(&slow.goes_on, true);
	until(atomic_load(&slow.matches) == 1 && atomic_load(&slow.lives) == 1);
	whorl_dds_delete_listener(waits);
	whorl_dds_delete_listener(tells);
	well(whorl_dds_delete(place.participant));
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {inconsistent_topic,
				      deadline_missed,
				      deadline_missed_otherwise,
				      incompatible_qos,
				      matched,
				      liveliness,
				      sample_rejected,
				      data,
				      sample_lost,
				      others_have_their_turn,
				      times_have_their_turn,
				      what_a_turn_has_no_time_for_is_told};

	return run_tests("dds_status", tests, sizeof(tests) / sizeof(tests[0]));
}
