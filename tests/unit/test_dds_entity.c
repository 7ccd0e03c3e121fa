/* test_dds_entity.c - handles: what they name, use after deletion, trees that are deleted, threads that do all of it at once.
 * Labels: threads random
 */
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "base/rcu.h"
#include "dds/entity/entity.h"
#include "tests/harness.h"
#include "transport/dice.h"

#define OK WHORL_DDS_RETCODE_OK
#define BAD WHORL_DDS_RETCODE_BAD_PARAMETER
#define GONE WHORL_DDS_RETCODE_ALREADY_DELETED

/* Check notes each of its own assertions, also those that hold. */
#define must(condition)                                                                                                \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			ck_abort_msg("%s", #condition);                                                                \
	} while (0)

struct thing {
	struct wh_dds_entity entity;
	uint64_t live; /* while it is */
	int *closes, *frees;
	int left;
	int closed_as; /* the how manieth */
	void (*in_close)(struct thing *thing);
};

static struct wh_dds_table *table;
static int closes, frees, leaves;
static int order[8];
static whorl_dds_entity shared[8]; /* by several threads */

static void leave_thing(struct wh_dds_entity *entity)
{
	struct thing *thing = (struct thing *)entity;

	must(entity->deleted);
	must(__atomic_fetch_add(&thing->left, 1, __ATOMIC_SEQ_CST) == 0);
	__atomic_add_fetch(&leaves, 1, __ATOMIC_SEQ_CST);
}

static void close_thing(struct wh_dds_entity *entity)
{
	struct thing *thing = (struct thing *)entity;

	must((thing->live) == (1));
	must(entity->first == NULL); /* children come before */
	__atomic_store_n(&thing->closed_as, __atomic_add_fetch(thing->closes, 1, __ATOMIC_SEQ_CST), __ATOMIC_SEQ_CST);
	if (thing->closed_as <= 8)
		order[thing->closed_as - 1] = entity->handle;
	if (thing->in_close != NULL)
		thing->in_close(thing);
}

static void free_thing(struct wh_dds_entity *entity)
{
	struct thing *thing = (struct thing *)entity;

	must((thing->live) == (1));
	must(thing->closed_as > 0);
	thing->live = 0;
	__atomic_add_fetch(thing->frees, 1, __ATOMIC_SEQ_CST);
	free(thing);
}

static const struct wh_dds_entity_ops ops = {.leave = leave_thing, .close = close_thing, .free = free_thing};

static struct thing *new_thing(void)
{
	struct thing *thing = calloc(1, sizeof(*thing));

	thing->live = 1;
	thing->closes = &closes;
	thing->frees = &frees;
	return thing;
}

/* It is not made yet, and held. < 0: the result. */
static whorl_dds_entity begin_thing(struct thing **out, enum wh_dds_kind kind, whorl_dds_entity parent)
{
	struct wh_dds_entity *above = NULL;
	whorl_dds_entity handle;

	if (parent != 0) {
		whorl_dds_return result = wh_dds_entity_get(table, parent, WH_DDS_ANY_KIND, &above);

		if (result != OK)
			return result;
	}
	*out = new_thing();
	handle = wh_dds_table_add(table, &(*out)->entity, kind, above, &ops);
	if (handle < 0)
		free(*out);
	wh_dds_entity_put(above);
	return handle;
}

/* < 0: the result. */
static whorl_dds_entity add(enum wh_dds_kind kind, whorl_dds_entity parent)
{
	struct thing *thing;
	whorl_dds_entity handle = begin_thing(&thing, kind, parent);

	if (handle < 0)
		return handle;
	for (int i = 0; i < 2; i++) {
		must(__atomic_load_n(&thing->closed_as, __ATOMIC_SEQ_CST) == 0); /* others may have deleted it */
		must(__atomic_load_n(&thing->left, __ATOMIC_SEQ_CST) == 0);
		if (i == 0 && handle % 16 == 0)
			sched_yield();
	}
	wh_dds_entity_made(&thing->entity);
	wh_dds_entity_put(&thing->entity); /* it was held by this */
	return handle;
}

static whorl_dds_return look(whorl_dds_entity handle, uint32_t kinds)
{
	struct wh_dds_entity *entity;
	whorl_dds_return result = wh_dds_entity_get(table, handle, kinds, &entity);

	must((entity != NULL) == (result == OK));
	must(entity == NULL || entity->handle == handle);
	wh_dds_entity_put(entity);
	return result;
}

static whorl_dds_return destroy(whorl_dds_entity handle)
{
	struct wh_dds_entity *entity;
	whorl_dds_return result = wh_dds_entity_get(table, handle, WH_DDS_ANY_KIND, &entity);

	if (result == OK) {
		result = wh_dds_entity_delete(entity);
		wh_dds_entity_put(entity);
	}
	return result;
}

static void begin(void)
{
	table = wh_dds_table_new();
	closes = frees = leaves = 0;
	memset(order, 0, sizeof(order));
}

static void end(void)
{
	ck_assert_uint_eq(wh_dds_entity_children(table, NULL, NULL, 0), 0);
	ck_assert_int_eq(closes, frees);
	wh_dds_table_free(table);
}

START_TEST(numbers_that_are_no_handles)
{
	whorl_dds_entity handle = add(WH_DDS_PARTICIPANT, 0);

	ck_assert_int_gt(handle, 0);
	ck_assert_int_lt(handle, WH_DDS_ENTITY_BEYOND);
	ck_assert_int_eq(look(handle, WH_DDS_ANY_KIND), OK);
	ck_assert_int_eq(look(handle, WH_DDS_KIND(WH_DDS_PARTICIPANT)), OK);
	ck_assert_int_eq(look(handle, WH_DDS_KIND(WH_DDS_TOPIC)), WHORL_DDS_RETCODE_ILLEGAL_OPERATION);
	ck_assert_int_eq(look(0, WH_DDS_ANY_KIND), BAD);
	ck_assert_int_eq(look(-1, WH_DDS_ANY_KIND), BAD);
	ck_assert_int_eq(look(INT32_MIN, WH_DDS_ANY_KIND), BAD);
	ck_assert_int_eq(look(INT32_MAX, WH_DDS_ANY_KIND), BAD);
	ck_assert_int_eq(look(1, WH_DDS_ANY_KIND), BAD);
	ck_assert_int_eq(look(handle + 1, WH_DDS_ANY_KIND), BAD);
	ck_assert_int_eq(look(handle + 0x10000, WH_DDS_ANY_KIND), BAD); /* not yet */
	ck_assert_int_eq(look(handle + 300, WH_DDS_ANY_KIND), BAD);
	ck_assert_int_eq(destroy(handle), OK);
	ck_assert_int_eq(look(handle, WH_DDS_ANY_KIND), GONE);
	ck_assert_int_eq(destroy(handle), GONE);
	ck_assert_int_eq(frees, 1);
}
END_TEST

/* A place is used again, and an old handle of it is known to be one. */
START_TEST(handles_are_given_once)
{
	whorl_dds_entity first = add(WH_DDS_PARTICIPANT, 0), next;

	ck_assert_int_eq(destroy(first), OK);
	next = add(WH_DDS_PARTICIPANT, 0);
	ck_assert_int_eq(next & 0xffff, first & 0xffff);
	ck_assert_int_ne(next, first);
	ck_assert_int_eq(look(first, WH_DDS_ANY_KIND), GONE);
	ck_assert_int_eq(look(next, WH_DDS_ANY_KIND), OK);
	ck_assert_int_eq(destroy(first), GONE);
	ck_assert_int_eq(look(next, WH_DDS_ANY_KIND), OK);
	ck_assert_int_eq(destroy(next), OK);
	/* A place comes to its end after so many turns, and another is taken. */
	for (int turn = 3; turn <= 0x7ffe; turn++) {
		next = add(WH_DDS_PARTICIPANT, 0);
		must((next) == (turn << 16 | (first & 0xffff)));
		ck_assert_int_lt(next, WH_DDS_ENTITY_BEYOND);
		must((destroy(next)) == (OK));
	}
	next = add(WH_DDS_PARTICIPANT, 0);
	ck_assert_int_eq(next & 0xffff, (first & 0xffff) + 1);
	ck_assert_int_eq(look(first, WH_DDS_ANY_KIND), GONE);
	ck_assert_int_eq(destroy(next), OK);
}
END_TEST

START_TEST(trees_go_together)
{
	whorl_dds_entity participant = add(WH_DDS_PARTICIPANT, 0), topic = add(WH_DDS_TOPIC, participant);
	whorl_dds_entity publisher = add(WH_DDS_PUBLISHER, participant), writer = add(WH_DDS_WRITER, publisher);
	whorl_dds_entity second = add(WH_DDS_WRITER, publisher), children[4] = {0};
	struct wh_dds_entity *held, *parent;

	ck_assert_int_eq(wh_dds_entity_get(table, publisher, WH_DDS_ANY_KIND, &parent), OK);
	ck_assert_uint_eq(wh_dds_entity_children(table, parent, children, 1), 2);
	ck_assert_int_eq(children[0], writer);
	ck_assert_int_eq(children[1], 0);
	ck_assert_uint_eq(wh_dds_entity_children(table, parent->parent, children, 4), 2);
	ck_assert_int_eq(children[0], topic);
	ck_assert_int_eq(children[1], publisher);
	wh_dds_entity_put(parent);

	ck_assert_int_eq(wh_dds_entity_get(table, writer, WH_DDS_ANY_KIND, &held), OK);
	ck_assert_int_eq(destroy(participant), OK);
	ck_assert_int_eq(closes, 5);
	ck_assert_int_eq(leaves, 5);
	ck_assert_int_eq(order[0], topic);
	ck_assert_int_eq(order[1], writer);
	ck_assert_int_eq(order[2], second);
	ck_assert_int_eq(order[3], publisher);
	ck_assert_int_eq(order[4], participant);
	/* What is held is there, with all above it. */
	ck_assert_int_eq(frees, 2);
	ck_assert_int_eq(held->parent->handle, publisher);
	ck_assert_int_eq(held->parent->parent->handle, participant);
	ck_assert_int_eq(look(publisher, WH_DDS_ANY_KIND), GONE);
	ck_assert_int_eq(add(WH_DDS_WRITER, publisher), GONE);
	wh_dds_entity_put(held);
	ck_assert_int_eq(frees, 5);
}
END_TEST

START_TEST(children_go_alone)
{
	whorl_dds_entity participant = add(WH_DDS_PARTICIPANT, 0), topic[3], children[3];
	struct wh_dds_entity *parent;

	for (int i = 0; i < 3; i++)
		topic[i] = add(WH_DDS_TOPIC, participant);
	ck_assert_int_eq(wh_dds_entity_get(table, participant, WH_DDS_ANY_KIND, &parent), OK);
	ck_assert_int_eq(destroy(topic[1]), OK);
	ck_assert_uint_eq(wh_dds_entity_children(table, parent, children, 3), 2);
	ck_assert_int_eq(children[1], topic[2]);
	ck_assert_int_eq(destroy(topic[2]), OK);
	ck_assert_int_eq(destroy(topic[0]), OK);
	ck_assert_uint_eq(wh_dds_entity_children(table, parent, children, 3), 0);
	wh_dds_entity_put(parent);
	ck_assert_int_eq(frees, 3);
	ck_assert_int_eq(destroy(participant), OK);
}
END_TEST

static void delete_parent(struct thing *thing)
{
	whorl_dds_entity parent = thing->entity.parent->handle;

	ck_assert_int_eq(destroy(parent), OK);
	ck_assert_int_eq(destroy(parent), GONE);
	ck_assert_int_eq(look(thing->entity.handle, WH_DDS_ANY_KIND), GONE);
}

/* What runs in a close deletes the parent: it is closed by the thread that is at the child, when that is done. */
START_TEST(what_is_deleted_is_not_seen)
{
	whorl_dds_entity handle = add(WH_DDS_TOPIC, 0), other = add(WH_DDS_WRITER, 0);
	struct wh_dds_entity *held;

	ck_assert_int_eq(wh_dds_entity_get(table, handle, WH_DDS_ANY_KIND, &held), OK);
	wh_rcu_read_lock();
	ck_assert_ptr_eq(wh_dds_entity_peek(table, handle, WH_DDS_ANY_KIND), held);
	ck_assert_ptr_eq(wh_dds_entity_peek(table, handle, WH_DDS_KIND(WH_DDS_TOPIC)), held);
	ck_assert_ptr_null(wh_dds_entity_peek(table, handle, WH_DDS_KIND(WH_DDS_READER)));
	ck_assert_ptr_null(
		wh_dds_entity_peek(table, handle + (1 << 16), WH_DDS_ANY_KIND)); /* the next that has its place */
	ck_assert_ptr_null(wh_dds_entity_peek(table, other + 1, WH_DDS_ANY_KIND));
	ck_assert_ptr_null(wh_dds_entity_peek(table, 0, WH_DDS_ANY_KIND));
	ck_assert_ptr_null(wh_dds_entity_peek(table, 1000, WH_DDS_ANY_KIND));
	ck_assert_ptr_null(wh_dds_entity_peek(table, -handle, WH_DDS_ANY_KIND));
	ck_assert_ptr_null(wh_dds_entity_peek(table, WH_DDS_ENTITY_BEYOND, WH_DDS_ANY_KIND));
	wh_rcu_read_unlock();
	ck_assert_int_eq(destroy(handle), OK);
	wh_rcu_read_lock();
	ck_assert_ptr_null(wh_dds_entity_peek(table, handle, WH_DDS_ANY_KIND)); /* though it is held */
	wh_rcu_read_unlock();
	wh_dds_entity_put(held);
	ck_assert_int_eq(destroy(other), OK);
}
END_TEST

START_TEST(a_listener_deletes_its_parent)
{
	whorl_dds_entity participant = add(WH_DDS_PARTICIPANT, 0), reader = add(WH_DDS_READER, participant);
	struct wh_dds_entity *entity;

	ck_assert_int_eq(wh_dds_entity_get(table, reader, WH_DDS_ANY_KIND, &entity), OK);
	((struct thing *)entity)->in_close = delete_parent;
	ck_assert_int_eq(wh_dds_entity_delete(entity), OK);
	ck_assert_int_eq(closes, 2);
	ck_assert_int_eq(order[0], reader);
	ck_assert_int_eq(order[1], participant);
	ck_assert_int_eq(wh_dds_entity_delete(entity), GONE);
	wh_dds_entity_put(entity);
	ck_assert_int_eq(frees, 2);
}
END_TEST

static void try_child(struct thing *thing)
{
	struct thing *child = new_thing();

	ck_assert_int_eq(wh_dds_table_add(table, &child->entity, WH_DDS_TOPIC, &thing->entity, &ops), GONE);
	free(child);
}

START_TEST(nothing_is_created_below_what_is_deleted)
{
	struct thing *thing = new_thing();

	thing->in_close = try_child;
	ck_assert_int_gt(wh_dds_table_add(table, &thing->entity, WH_DDS_PARTICIPANT, NULL, &ops), 0);
	wh_dds_entity_made(&thing->entity);
	ck_assert_int_eq(wh_dds_entity_delete(&thing->entity), OK);
	try_child(thing);
	ck_assert_int_eq(frees, 0);
	wh_dds_entity_put(&thing->entity);
	ck_assert_int_eq(frees, 1);
}
END_TEST

START_TEST(what_is_still_made_is_closed_by_its_maker)
{
	whorl_dds_entity participant = add(WH_DDS_PARTICIPANT, 0), handle;
	struct thing *thing;

	handle = begin_thing(&thing, WH_DDS_READER, participant);
	ck_assert_int_gt(handle, 0);
	ck_assert_int_eq(look(handle, WH_DDS_ANY_KIND), OK); /* a listener may be at it already */
	ck_assert_int_eq(destroy(participant), OK);
	ck_assert_int_eq(look(handle, WH_DDS_ANY_KIND), GONE);
	ck_assert_int_eq(closes, 0);
	ck_assert_int_eq(thing->left, 0);
	wh_dds_entity_made(&thing->entity);
	ck_assert_int_eq(thing->left, 1);
	ck_assert_int_eq(closes, 2);
	ck_assert_int_eq(order[0], handle);
	ck_assert_int_eq(order[1], participant);
	ck_assert_int_eq(frees, 0);
	wh_dds_entity_put(&thing->entity);
	ck_assert_int_eq(frees, 2);
}
END_TEST

static void *destroy_shared(void *unused)
{
	(void)unused;
	must(destroy(shared[0]) == OK);
	return NULL;
}

static pthread_t deleter;

/* The parent is seen without being held, while another thread deletes it; its child, which is closed here, was its last. */
static void see_parent(struct thing *thing)
{
	wh_rcu_read_lock();
	must(wh_dds_entity_peek(table, shared[0], WH_DDS_ANY_KIND) == thing->entity.parent);
	must(pthread_create(&deleter, NULL, destroy_shared, NULL) == 0);
	while (wh_dds_entity_peek(table, shared[0], WH_DDS_ANY_KIND) != NULL)
		sched_yield();
}

START_TEST(what_is_seen_is_not_closed_behind_its_child)
{
	struct wh_dds_entity *writer, *guard;

	shared[0] = add(WH_DDS_WRITER, 0);
	ck_assert_int_eq(wh_dds_entity_get(table, shared[0], WH_DDS_ANY_KIND, &writer), OK);
	ck_assert_int_eq(wh_dds_entity_get(table, add(WH_DDS_GUARD_CONDITION, shared[0]), WH_DDS_ANY_KIND, &guard), OK);
	((struct thing *)guard)->in_close = see_parent;
	ck_assert_int_eq(wh_dds_entity_delete(guard), OK);
	ck_assert_int_eq(((struct thing *)guard)->closed_as, 1);
	ck_assert_int_eq(((struct thing *)writer)->closed_as, 0); /* it was marked, and is seen still */
	wh_rcu_read_unlock();
	pthread_join(deleter, NULL);
	ck_assert_int_eq(((struct thing *)writer)->closed_as, 2);
	wh_dds_entity_put(guard);
	wh_dds_entity_put(writer);
}
END_TEST

START_TEST(there_are_so_many_places)
{
	whorl_dds_entity participant = add(WH_DDS_PARTICIPANT, 0), handle = 0;

	for (int i = 1; i < WH_DDS_ENTITIES_MAX; i++) {
		handle = add(WH_DDS_TOPIC, participant);
		must(handle > 0);
	}
	ck_assert_int_eq(add(WH_DDS_TOPIC, participant), WHORL_DDS_RETCODE_OUT_OF_RESOURCES);
	ck_assert_int_eq(destroy(handle), OK);
	ck_assert_int_eq(add(WH_DDS_TOPIC, participant), (2 << 16) | (handle & 0xffff));
	ck_assert_int_eq(destroy(participant), OK);
	ck_assert_int_eq(frees, WH_DDS_ENTITIES_MAX + 1);
}
END_TEST

/* ---- at random ----------------------------------------------------------------------------------------------------------------- */

#define KNOWN 200

struct known { /* what a handle must be, said once more */
	whorl_dds_entity handle, parent;
	bool gone;
};

static void forget(struct known *known, size_t count, whorl_dds_entity handle)
{
	for (size_t i = 0; i < count; i++) {
		if (known[i].gone || (known[i].handle != handle && known[i].parent != handle))
			continue;
		known[i].gone = true;
		if (known[i].handle != handle)
			forget(known, count, known[i].handle);
	}
}

START_TEST(random_trees)
{
	struct wh_dice dice = {test_seed(3)};

	for (int round = 0; round < 300; round++) {
		struct known known[KNOWN];
		size_t count = 0, held = SIZE_MAX;
		struct wh_dds_entity *entity = NULL;

		while (count < KNOWN) {
			size_t at = count > 0 ? (size_t)wh_dice_below(&dice, count) : 0;

			if (count == 0 || wh_dice_below(&dice, 3) > 0) {
				whorl_dds_entity parent =
					count > 0 && wh_dice_below(&dice, 8) > 0 ? known[at].handle : 0;
				whorl_dds_entity handle = add(WH_DDS_TOPIC, parent);

				must((handle > 0 ? OK : handle) == (parent != 0 && known[at].gone ? GONE : OK));
				if (handle > 0)
					known[count++] = (struct known){handle, parent, false};
			} else {
				must((destroy(known[at].handle)) == (known[at].gone ? GONE : OK));
				forget(known, count, known[at].handle);
			}
			if (wh_dice_below(&dice, 8) == 0 &&
			    !known[at].gone) { /* it stays readable, whatever is deleted */
				wh_dds_entity_put(entity);
				held = at;
				ck_assert_int_eq(wh_dds_entity_get(table, known[at].handle, WH_DDS_ANY_KIND, &entity),
						 OK);
			}
			must(entity == NULL || entity->handle == known[held].handle);
			for (size_t i = 0; i < count; i += 7)
				must((look(known[i].handle, WH_DDS_ANY_KIND)) == (known[i].gone ? GONE : OK));
		}
		wh_dds_entity_put(entity);
		for (size_t i = 0; i < count; i++)
			if (known[i].parent == 0)
				(void)destroy(known[i].handle);
		must((closes) == (frees));
	}
}
END_TEST

/* ---- threads -------------------------------------------------------------------------------------------------------------------- */

#define THREADS 4
#define ROUNDS 4000

/* Nothing that it sees is closed while it looks. What deletes waits for it meanwhile, some milliseconds: so it is not done often. */
static void peek(whorl_dds_entity handle)
{
	const struct thing *thing;

	wh_rcu_read_lock();
	thing = (const struct thing *)wh_dds_entity_peek(table, handle, WH_DDS_ANY_KIND);
	for (int i = 0; thing != NULL && i < 4; i++) {
		must(thing->live == 1);
		must(__atomic_load_n(&thing->closed_as, __ATOMIC_SEQ_CST) == 0);
		sched_yield(); /* not waiting, but others may go on */
	}
	wh_rcu_read_unlock();
}

static void *run(void *argument)
{
	struct wh_dice dice = {(uint64_t)(uintptr_t)argument};

	for (int round = 0; round < ROUNDS; round++) {
		whorl_dds_entity handle = __atomic_load_n(&shared[wh_dice_below(&dice, 8)], __ATOMIC_SEQ_CST), made;
		struct wh_dds_entity *entity;
		whorl_dds_return result = wh_dds_entity_get(table, handle, WH_DDS_ANY_KIND, &entity);

		must(result == OK || result == GONE || handle == 0);
		if (round % 64 == 0)
			peek(handle);
		switch (wh_dice_below(&dice, 4)) {
		case 0:
			made = add(WH_DDS_TOPIC, result == OK ? handle : 0);
			if (made > 0)
				__atomic_store_n(&shared[wh_dice_below(&dice, 8)], made, __ATOMIC_SEQ_CST);
			must(made > 0 || made == GONE);
			break;
		case 1:
			if (entity != NULL)
				must(wh_dds_entity_delete(entity) == OK || look(handle, WH_DDS_ANY_KIND) == GONE);
			break;
		default:
			for (struct wh_dds_entity *at = entity; at != NULL; at = at->parent)
				must((((struct thing *)at)->live) == (1));
		}
		wh_dds_entity_put(entity);
	}
	return NULL;
}

START_TEST(threads_do_all_at_once)
{
	pthread_t threads[THREADS];
	uint64_t seed = test_seed(4);
	whorl_dds_entity left[64];
	uint32_t count;

	memset(shared, 0, sizeof(shared));
	for (size_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)(seed * THREADS + i)), 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	while ((count = wh_dds_entity_children(table, NULL, left, 64)) > 0)
		for (uint32_t i = 0; i < count && i < 64; i++)
			ck_assert_int_eq(destroy(left[i]), OK);
	ck_assert_int_gt(frees, ROUNDS / 2);
}
END_TEST

Suite *suite(void)
{
	Suite *entities = suite_create("dds_entity");
	TCase *handles = tcase_create("handles"), *random = tcase_create("random"), *threads = tcase_create("threads");

	tcase_add_test(handles, numbers_that_are_no_handles);
	tcase_add_test(handles, handles_are_given_once);
	tcase_add_test(handles, trees_go_together);
	tcase_add_test(handles, children_go_alone);
	tcase_add_test(handles, what_is_deleted_is_not_seen);
	tcase_add_test(handles, a_listener_deletes_its_parent);
	tcase_add_test(handles, nothing_is_created_below_what_is_deleted);
	tcase_add_test(handles, what_is_still_made_is_closed_by_its_maker);
	tcase_add_test(handles, what_is_seen_is_not_closed_behind_its_child);
	tcase_add_test(handles, there_are_so_many_places);
	tcase_add_test(random, random_trees);
	tcase_add_test(threads, threads_do_all_at_once);
	for (size_t i = 0; i < 3; i++) {
		TCase *test_case = (TCase *[]){handles, random, threads}[i];

		tcase_add_checked_fixture(test_case, begin, end);
		suite_add_tcase(entities, test_case);
	}
	return entities;
}
