/* test_ddsc_threads.c - threads that create, use and delete each other's entities: each call answers, and nothing is left.
 * Labels: threads
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dds/dds.h>
#include <dds/ddsc/dds_loan_api.h>

#include "base/rcu.h"
#include "dds/status/listener.h"
#include "ddsc/entry.h"
#include "tests/patience.h"
#include "tests/support/compat_types.h"
#include "tests/support/dds_domain.h"

#define THREADS 2
#define SHARED 8
#define ROUNDS 400

static dds_entity_t keeper, participant, topics[COMPAT_TYPES];
static _Atomic dds_entity_t shared[SHARED];
static pthread_barrier_t together;

static unsigned draw(unsigned *state)
{
	*state = *state * 1103515245U + 12345U;
	return *state >> 16;
}

static dds_entity_t some(unsigned *state)
{
	return atomic_load(&shared[draw(state) % SHARED]);
}

/* What is put in its place another thread may have begun to use: it is deleted all the same. */
static void put(unsigned *state, dds_entity_t made)
{
	if (made > 0)
		(void)dds_delete(atomic_exchange(&shared[draw(state) % SHARED], made));
}

static bool odd(const void *sample)
{
	return ((uintptr_t)sample >> 4) % 2 == 1; /* some */
}

static void create(unsigned *state)
{
	dds_entity_t topic = topics[draw(state) % COMPAT_TYPES];

	switch (draw(state) % 7) {
	case 0:
		put(state, dds_create_reader(participant, topic, NULL, NULL));
		break;
	case 1:
		put(state, dds_create_writer(participant, topic, NULL, NULL));
		break;
	case 2:
		put(state, dds_create_readcondition(some(state), DDS_ANY_STATE));
		break;
	case 3:
		put(state, dds_create_waitset(participant));
		break;
	case 4:
		put(state, dds_create_reader(some(state), topic, NULL, NULL));
		break;
	case 5:
		put(state, dds_create_querycondition(some(state), DDS_ANY_STATE, odd));
		break;
	default:
		put(state, dds_create_subscriber(participant, NULL, NULL));
		break;
	}
}

/* Samples of the type that a writer has, also of one that is deleted meanwhile; of any other entity, none is looked at. */
static void write_some(dds_entity_t with, dds_entity_t topic)
{
	struct compat_note note = {3, (char *)(uintptr_t) "text"};
	struct compat_named named = {(char *)(uintptr_t) "name", {._length = 0}};
	struct compat_point point = {3, 0.5};

	(void)dds_write(with, topic == topics[0] ? (void *)&note : topic == topics[1] ? (void *)&named : &point);
}

static void use(unsigned *state)
{
	void *data[2] = {NULL, NULL};
	dds_sample_info_t info[2];
	dds_entity_t of = some(state), topic;
	dds_qos_t *policies;

	switch (draw(state) % 6) {
	case 0:
		topic = dds_get_topic(of);
		if (topic > 0)
			write_some(of, topic);
		break;
	case 1:
		if (dds_take(of, data, info, 2, 2) > 0)
			(void)dds_return_loan(of, data, 2);
		break;
	case 2:
		(void)dds_read(of, data, info, 2, 2); /* it is left to the reader's end */
		break;
	case 3:
		(void)dds_waitset_attach(of, some(state), 1);
		(void)dds_waitset_wait(of, NULL, 0, 0);
		break;
	case 4:
		policies = dds_create_qos();
		(void)dds_get_qos(of, policies);
		dds_delete_qos(policies);
		break;
	default:
		(void)dds_set_listener(of, NULL);
		(void)dds_get_parent(of);
		break;
	}
}

static void *work(void *arg)
{
	unsigned state = *(unsigned *)arg;

	(void)pthread_barrier_wait(&together);
	for (int i = 0; i < ROUNDS; i++)
		if (draw(&state) % 4 == 0)
			create(&state);
		else
			use(&state);
	return NULL;
}

static void begin(void)
{
	keeper = made(dds_create_participant(domain(), NULL, NULL));
	participant = made(dds_create_participant(domain(), NULL, NULL));
	for (size_t i = 0; i < COMPAT_TYPES; i++)
		topics[i] = made(
			dds_create_topic(participant, compat_types[i], compat_types[i]->m_typename + 6, NULL, NULL));
}

START_TEST(threads_use_what_others_delete)
{
	pthread_t threads[THREADS];
	unsigned seeds[THREADS];

	begin();
	pthread_barrier_init(&together, NULL, THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		seeds[i] = 77 * i + 1;
		ck_assert_int_eq(pthread_create(&threads[i], NULL, work, &seeds[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	pthread_barrier_destroy(&together);
	well(dds_delete(participant));
	ck_assert_uint_eq(wh_ddsc_entries(), 1); /* the keeper */
	well(dds_delete(keeper));
	ck_assert_uint_eq(wh_ddsc_entries(), 0);
}
END_TEST

/* Readers that no function here has created yet: the threads are told of them at once, and each makes the entry. */
static void *look(void *arg)
{
	struct wh_ddsc_entry *entry = NULL;

	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		(void)pthread_barrier_wait(&together);
		if (wh_ddsc_entry_get(__func__, atomic_load(&shared[0]), &entry) == DDS_RETCODE_OK)
			wh_ddsc_entry_put(entry);
		(void)pthread_barrier_wait(&together);
	}
	return NULL;
}

START_TEST(threads_that_learn_of_one_entity_at_once)
{
	pthread_t threads[THREADS];

	begin();
	pthread_barrier_init(&together, NULL, THREADS + 1);
	for (unsigned i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, look, NULL), 0);
	for (int i = 0; i < ROUNDS; i++) {
		atomic_store(&shared[0], made(whorl_dds_create_guardcondition(participant)));
		(void)pthread_barrier_wait(&together);
		(void)pthread_barrier_wait(&together);
		well(dds_delete(atomic_load(&shared[0])));
	}
	for (unsigned i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	pthread_barrier_destroy(&together);
	well(dds_delete(participant));
	well(dds_delete(keeper));
	ck_assert_uint_eq(wh_ddsc_entries(), 0); /* and the sanitizer: no other is left */
}
END_TEST

static atomic_bool listens;

/* Until it is seen that the reader's end has begun: its children are known by then. */
static void create_late(dds_entity_t reader, void *arg)
{
	whorl_dds_listener *listener = whorl_dds_create_listener(NULL);

	(void)arg;
	atomic_store(&listens, true);
	do {
		sched_yield();
		ck_assert_int_eq(whorl_dds_get_listener(reader, listener), DDS_RETCODE_OK);
	} while (listener->asks != 0);
	atomic_store(&shared[0], dds_create_querycondition(reader, DDS_ANY_STATE, odd));
	whorl_dds_delete_listener(listener);
}

START_TEST(what_comes_below_what_is_deleted_goes_with_it)
{
	struct compat_point point = {3, 0.5};
	dds_listener_t *listener = dds_create_listener(NULL);
	dds_entity_t reader, writer;

	begin();
	dds_lset_data_available(listener, create_late);
	reader = made(dds_create_reader(participant, topics[2], NULL, listener));
	writer = made(dds_create_writer(participant, topics[2], NULL, NULL));
	well(dds_write(writer, &point));
	while (!atomic_load(&listens))
		sched_yield();
	well(dds_delete(reader));
	ck_assert_int_gt(atomic_load(&shared[0]), 0);
	ck_assert_int_eq(dds_get_parent(atomic_load(&shared[0])), DDS_RETCODE_ALREADY_DELETED);
	dds_delete_listener(listener);
	well(dds_delete(participant));
	well(dds_delete(keeper));
	ck_assert_uint_eq(wh_ddsc_entries(), 0);
}
END_TEST

/* As a thread that is in a call. */
static void *look_on(void *ctx)
{
	(void)ctx;
	wh_rcu_read_lock();
	(void)pthread_barrier_wait(&together);
	(void)pthread_barrier_wait(&together);
	wh_rcu_read_unlock();
	return NULL;
}

/* A child may use nothing here, and has an answer all the same: threads that were in a call at the fork, and are none of its own, are not waited for. */
START_TEST(a_child_does_not_wait_for_threads_that_it_does_not_have)
{
	struct wh_ddsc_entry *entry;
	dds_entity_t condition;
	pthread_t thread;
	pid_t child;
	int status;

	begin();
	condition = made(whorl_dds_create_guardcondition(participant));
	pthread_barrier_init(&together, NULL, 2);
	ck_assert_int_eq(pthread_create(&thread, NULL, look_on, NULL), 0);
	(void)pthread_barrier_wait(&together);
	child = fork();
	if (child == 0) {
		alarm((unsigned)test_patience(20));
		if (wh_ddsc_entry_get("test", condition, &entry) == DDS_RETCODE_OK)
			wh_ddsc_entry_put(entry);
		(void)dds_delete(condition);
		_exit(0);
	}
	ck_assert_int_gt(child, 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	(void)pthread_barrier_wait(&together);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	pthread_barrier_destroy(&together);
	well(dds_delete(participant));
	well(dds_delete(keeper));
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {threads_use_what_others_delete, threads_that_learn_of_one_entity_at_once,
				      what_comes_below_what_is_deleted_goes_with_it,
				      a_child_does_not_wait_for_threads_that_it_does_not_have};

	return run_tests("ddsc_threads", tests, sizeof(tests) / sizeof(tests[0]));
}
