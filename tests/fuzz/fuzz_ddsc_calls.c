/* fuzz_ddsc_calls.c - any bytes as a sequence of calls of Cyclone DDS's C API, on topics of a domain of this process alone: one byte says which
 * call, and those behind it what it is given. Entities are those that earlier calls have made, deleted or not, of whatever kind, or none; pointers may
 * be NULL, sizes, times and policies nonsense. What a program must not do in C is not done: memory that it says is there is there.
 *
 * Each call must answer. When all participants are deleted this library must know of no entity.
 *
 *     cmake -S . -B build/fuzz -DCMAKE_C_COMPILER=clang -DWHORL_FUZZ=ON && cmake --build build/fuzz --target fuzz_ddsc_calls
 *     build/fuzz/tests/fuzz/fuzz_ddsc_calls -max_total_time=600 -max_len=400 CORPUS_DIRECTORY
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

#define POINT 2U
#define ENTITIES 16U
#define ROOM 8U /* of samples that are read at once */
#define CALLS_MAX 100
#define LARGE 5000U

#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

/* ---- the input -------------------------------------------------------------------------------------------------------------- */

static const uint8_t *at, *end_of_input;
static dds_entity_t entities[ENTITIES];
static uint32_t newest;
static dds_qos_t *policies;
static dds_listener_t *listener;
static void *lent[2][ROOM]; /* two lists, which are read into */
static dds_entity_t lender[2];
static dds_sample_info_t infos[ROOM];
static dds_instance_handle_t instance;

static uint8_t next(void)
{
	return at < end_of_input ? *at++ : 0;
}

static bool flag(void)
{
	return (next() & 1) != 0;
}

static int32_t number(void)
{
	static const int32_t numbers[] = {0, 1, -1, 2, 3, 8, 100, 65536, INT32_MAX, INT32_MIN};

	return numbers[next() % (sizeof(numbers) / sizeof(*numbers))];
}

/* None is so long that the fuzzer would wait. */
static dds_duration_t span(void)
{
	static const dds_duration_t spans[] = {0, 1, 1000, DDS_USECS(100), -1, INT64_MIN};

	return spans[next() % (sizeof(spans) / sizeof(*spans))];
}

/* Of a policy, which nothing waits for. */
static dds_duration_t period(void)
{
	uint8_t which = next();

	return which == 255 ? DDS_INFINITY : which % 8 == 7 ? DDS_SECS(3) : span();
}

static const char *text(void)
{
	static char longest[600];
	static const char *const texts[] = {"a", "b", "c", "a", "", "DCPSTopic", "x y\n\"*", "a*", "\xff\xfe"};
	uint8_t which = next();

	if (which >= 250)
		return NULL;
	if (which >= 245)
		return memset(longest, 'l', sizeof(longest) - 1);
	return texts[which % (sizeof(texts) / sizeof(*texts))];
}

static dds_entity_t entity(void)
{
	static const dds_entity_t none[] = {0,
					    -1,
					    INT32_MIN,
					    INT32_MAX,
					    1,
					    77,
					    DDS_BUILTIN_TOPIC_DCPSPARTICIPANT,
					    DDS_BUILTIN_TOPIC_DCPSTOPIC,
					    DDS_BUILTIN_TOPIC_DCPSPUBLICATION,
					    DDS_BUILTIN_TOPIC_DCPSSUBSCRIPTION,
					    DDS_DATA_ALLOCATOR_ALLOC_ON_HEAP};
	uint8_t which = next();

	if (which < 240)
		return entities[which % ENTITIES];
	return none[(which - 240U) % (sizeof(none) / sizeof(*none))];
}

static void keep(dds_entity_t made)
{
	if (made > 0)
		entities[newest++ % ENTITIES] = made;
}

static const dds_qos_t *qos(void)
{
	return flag() ? policies : NULL;
}

static const dds_listener_t *called(void)
{
	return flag() ? listener : NULL;
}

static dds_instance_handle_t any_instance(void)
{
	uint8_t which = next();

	return which < 200 ? instance : which < 240 ? which : which < 250 ? UINT64_MAX : DDS_HANDLE_NIL;
}

/* ---- samples ---------------------------------------------------------------------------------------------------------------- */

/* What type the samples have that a call with this entity reads or writes: an index of compat_types; its end: none. A program knows: its topic may
 * have been deleted since. */
static size_t type_of(dds_entity_t of)
{
	struct wh_ddsc_entry *entry;
	size_t i = 0;

	if (wh_ddsc_entry_typed(__func__, of, &entry) != DDS_RETCODE_OK)
		return COMPAT_TYPES;
	while (i < COMPAT_TYPES && (entry->kind->type == NULL || strcmp(wh_ddsc_type_shape(entry->kind->type)->name,
									compat_types[i]->m_typename) != 0))
		i++;
	if (i == COMPAT_TYPES && entry->kind->builtin == 0)
		i = POINT; /* found, and plain */
	wh_ddsc_entry_put(entry);
	return i;
}

static const void *sample(dds_entity_t of)
{
	static char large[LARGE + 1];
	static uint8_t bytes[LARGE];
	static struct compat_note note;
	static struct compat_named named;
	static struct compat_point point;
	static const char *const texts[] = {"text", "", NULL, large};
	const char *chosen = texts[next() % 4];
	uint8_t id = next();

	memset(large, 'x', LARGE);
	note = (struct compat_note){id, (char *)(uintptr_t)chosen};
	named = (struct compat_named){(char *)(uintptr_t)chosen,
				      {._length = id < 250 ? id * 19U : 3, ._buffer = id < 250 ? bytes : NULL}};
	point = (struct compat_point){id, 0.5};
	if (id == 255)
		return NULL;
	switch (type_of(of)) {
	case 0:
		return &note;
	case 1:
		return &named;
	default:
		return &point;
	}
}

/* Memory of the program's for as many samples as there is room for. */
static void own_memory(size_t which, dds_entity_t of)
{
	static max_align_t memory[COMPAT_TYPES][ROOM][sizeof(struct compat_named) / sizeof(max_align_t) + 1];
	size_t type = type_of(of);

	for (size_t i = 0; i < ROOM; i++)
		lent[which][i] = type < COMPAT_TYPES ? memory[type][i] : NULL;
	lender[which] = 0;
}

/* Which list is read into: one that holds what another entity has lent, or memory of another type, is begun anew. */
static void **list(dds_entity_t of)
{
	size_t which = next() % 2;
	uint8_t how = next();

	if (how < 60)
		own_memory(which, of);
	else if (lender[which] != of || how > 200)
		memset(lent[which], 0, sizeof(lent[which]));
	if (how >= 60)
		lender[which] = of;
	return how == 255 ? NULL : lent[which];
}

static size_t room(void)
{
	static const size_t rooms[] = {1, ROOM, 2, 0, ROOM};

	return rooms[next() % (sizeof(rooms) / sizeof(*rooms))];
}

/* No more than there is room for, or so many that no call accepts it. */
static uint32_t most(size_t room)
{
	uint8_t which = next();

	return which < 200 ? (uint32_t)room : which < 230 ? 1 : which < 245 ? 0 : UINT32_MAX;
}

static void *data_of(void **buffers)
{
	return buffers != NULL ? buffers[0] : NULL;
}

static void read_some(bool take)
{
	dds_entity_t from = entity();
	void **data = list(from);
	dds_sample_info_t *into = next() < 250 ? infos : NULL;
	size_t count = room();
	uint32_t max = most(count), mask = next() < 200 ? DDS_ANY_STATE : (uint32_t)number();
	uint32_t max_lent = max == 0 || max == UINT32_MAX ? max : (uint32_t)(max > count ? count : max);
	dds_return_t got;

	if (max != UINT32_MAX && max > count)
		count = 0;
	switch (next() % 10) {
	case 0:
		got = take ? dds_take(from, data, into, count, max) : dds_read(from, data, into, count, max);
		break;
	case 1:
		got = take ? dds_take_wl(from, data, into, max_lent) : dds_read_wl(from, data, into, max_lent);
		break;
	case 2:
		got = take ? dds_take_mask(from, data, into, count, max, mask)
			   : dds_read_mask(from, data, into, count, max, mask);
		break;
	case 3:
		got = take ? dds_take_mask_wl(from, data, into, max_lent, mask)
			   : dds_read_mask_wl(from, data, into, max_lent, mask);
		break;
	case 4:
		got = take ? dds_take_instance(from, data, into, count, max, any_instance())
			   : dds_read_instance(from, data, into, count, max, any_instance());
		break;
	case 5:
		got = take ? dds_take_instance_wl(from, data, into, max_lent, any_instance())
			   : dds_read_instance_wl(from, data, into, max_lent, any_instance());
		break;
	case 6:
		got = take ? dds_take_instance_mask(from, data, into, count, max, any_instance(), mask)
			   : dds_read_instance_mask(from, data, into, count, max, any_instance(), mask);
		break;
	case 7:
		got = take ? dds_take_instance_mask_wl(from, data, into, max_lent, any_instance(), mask)
			   : dds_read_instance_mask_wl(from, data, into, max_lent, any_instance(), mask);
		break;
	case 8:
		got = take ? dds_take_next(from, data, into) : dds_read_next(from, data, into);
		break;
	default:
		got = take ? dds_take_next_wl(from, data, into) : dds_read_next_wl(from, data, into);
		break;
	}
	REQUIRE(got < 0 || (got <= (dds_return_t)ROOM && (got == 0 || data_of(data) != NULL)));
	if (got > 0)
		instance = infos[0].instance_handle;
}

/* What is given back may be no loan, in part a loan, or one of another entity: in memory of just its length. */
static void give_back(void)
{
	dds_entity_t from = entity();
	size_t which = next() % 2, count = next() % (ROOM + 1);
	uint8_t how = next();
	void **some = malloc((count + 1) * sizeof(*some)), **exact = count > 0 ? malloc(count * sizeof(*exact)) : NULL;
	int32_t said = how >= 250 ? -1 : (int32_t)count;

	REQUIRE(some != NULL);
	for (size_t i = 0; i < count; i++)
		exact[i] = how < 200 ? lent[which][i] : how < 220 ? some : how < 240 && i != 1 ? lent[which][i] : NULL;
	(void)dds_return_loan(from, how == 249 ? NULL : exact, said);
	if (how < 150)
		memset(lent[which], 0, sizeof(lent[which]));
	free((void *)some);
	free((void *)exact);
}

/* ---- calls ------------------------------------------------------------------------------------------------------------------ */

/* A listener runs on its own thread, and uses the entity in ways that programs do. */
static _Atomic int heard;

static void on_data(dds_entity_t from, void *arg)
{
	void *data[] = {NULL};
	dds_sample_info_t info;

	if (atomic_fetch_add(&heard, 1) % 8 == 7) {
		(void)dds_set_listener(from, NULL);
		return;
	}
	(void)arg;
	if (dds_take(from, data, &info, 1, 1) > 0)
		(void)dds_return_loan(from, data, 1);
}

static void on_matched(dds_entity_t from, const dds_subscription_matched_status_t status, void *arg)
{
	(void)status;
	(void)arg;
	(void)dds_get_matched_publications(from, NULL, 0);
}

static void create_top(void)
{
	static const dds_domainid_t none[] = {70000, 0xfffffffe};
	uint8_t which = next();

	keep(dds_create_participant(which < 240 ? DDS_DOMAIN_DEFAULT : none[which % 2], qos(), called()));
}

static void create_topic(void)
{
	static const uint32_t no_ops[] = {0};
	static const dds_topic_descriptor_t broken[] = {
		{.m_size = 0},
		{.m_size = 8, .m_align = 3, .m_nkeys = 1, .m_typename = "t"},
		{.m_size = 8, .m_align = 4, .m_nkeys = UINT32_MAX, .m_typename = "t", .m_nops = 3},
		{.m_size = UINT32_MAX, .m_align = 4, .m_nops = 0, .m_typename = "t", .m_ops = no_ops},
	};
	uint8_t which = next();
	const dds_topic_descriptor_t *descriptor = which < 230   ? compat_types[which % COMPAT_TYPES]
						   : which < 250 ? &broken[which % 4]
								 : NULL;
	dds_entity_t of = entity();
	const char *name = text();

	keep(dds_create_topic(of, descriptor, name, qos(), called()));
}

static void create_more(void)
{
	static dds_entity_t (*const creates[])(dds_entity_t, const dds_qos_t *,
					       const dds_listener_t *) = {dds_create_publisher, dds_create_subscriber};
	dds_entity_t of = entity();

	switch (next() % 6) {
	case 0:
	case 1:
		keep(creates[next() % 2](of, qos(), called()));
		break;
	case 2:
		keep(dds_create_guardcondition(of));
		break;
	case 3:
		keep(dds_create_waitset(of));
		break;
	case 4:
		keep(dds_create_readcondition(of, next() < 200 ? DDS_ANY_STATE : (uint32_t)number()));
		break;
	default:
		keep(dds_create_domain((dds_domainid_t)number(), text()));
		break;
	}
}

static bool wants(const void *of)
{
	return *(const unsigned char *)of % 2 == 0;
}

static bool wants_too(const void *of, void *arg)
{
	(void)arg;
	return wants(of);
}

static void create_ends(void)
{
	dds_entity_t of = entity();

	switch (next() % 5) {
	case 0:
	case 1:
		keep(dds_create_writer(of, entity(), qos(), called()));
		break;
	case 2:
	case 3:
		keep(dds_create_reader(of, entity(), qos(), called()));
		break;
	default:
		keep(dds_create_querycondition(of, next() < 200 ? DDS_ANY_STATE : (uint32_t)number(),
					       flag() ? wants : NULL));
		break;
	}
}

static void filter(void)
{
	dds_entity_t of = entity();
	struct dds_topic_filter what = {.mode = (enum dds_topic_filter_mode)(next() % 6)};
	dds_topic_filter_arg_fn found;
	void *arg;

	if (flag() && what.mode == DDS_TOPIC_FILTER_SAMPLE_ARG)
		what.f.sample_arg = wants_too;
	else if (flag())
		what.f.sample = what.mode == DDS_TOPIC_FILTER_SAMPLE ? wants : NULL;
	switch (next() % 6) {
	case 0:
		(void)dds_set_topic_filter_extended(of, flag() ? &what : NULL);
		break;
	case 1:
		(void)dds_set_topic_filter_and_arg(of, flag() ? wants_too : NULL, NULL);
		break;
	case 2:
		dds_topic_set_filter(of, flag() ? wants : NULL);
		break;
	case 3:
		(void)dds_get_topic_filter_extended(of, flag() ? &what : NULL);
		break;
	case 4:
		(void)dds_get_topic_filter_and_arg(of, flag() ? &found : NULL, flag() ? &arg : NULL);
		break;
	default:
		(void)dds_topic_get_filter(of);
		break;
	}
}

static void write_sample(void)
{
	static dds_return_t (*const writes[])(dds_entity_t, const void *) = {dds_write, dds_write, dds_writedispose,
									     dds_dispose, dds_unregister_instance};
	static dds_return_t (*const timed[])(dds_entity_t, const void *, dds_time_t) = {
		dds_write_ts, dds_writedispose_ts, dds_dispose_ts, dds_unregister_instance_ts};
	dds_entity_t with = entity();
	const void *data = sample(with);

	if (flag())
		(void)timed[next() % 4](with, data, span());
	else
		(void)writes[next() % 5](with, data);
	dds_write_flush(with);
}

static void instances(void)
{
	dds_entity_t of = entity();
	size_t type = type_of(of);
	union {
		struct compat_note note;
		struct compat_named named;
		struct compat_point point;
	} key;

	switch (next() % 7) {
	case 0:
		(void)dds_register_instance(of, flag() ? &instance : NULL, sample(of));
		break;
	case 1:
		(void)dds_lookup_instance(of, sample(of));
		break;
	case 2:
		if (dds_instance_get_key(of, any_instance(), flag() ? &key : NULL) == DDS_RETCODE_OK)
			dds_sample_free(&key, type < COMPAT_TYPES ? compat_types[type] : NULL, DDS_FREE_CONTENTS);
		break;
	case 3:
		(void)dds_dispose_ih(of, any_instance());
		break;
	case 4:
		(void)dds_unregister_instance_ih(of, any_instance());
		break;
	case 5:
		(void)dds_dispose_ih_ts(of, any_instance(), span());
		break;
	default:
		(void)dds_unregister_instance_ih_ts(of, any_instance(), span());
		break;
	}
}

/* A loan that is written, given back, given back twice, or left. */
static void loans(void)
{
	dds_entity_t with = entity();
	void *memory[2] = {NULL, NULL};
	dds_return_t result = flag() ? dds_loan_sample(with, flag() ? memory : NULL)
				     : dds_loan_shared_memory_buffer(with, next(), memory);
	uint8_t how = next();

	(void)dds_is_loan_available(with);
	(void)dds_is_shared_memory_available(with);
	if (result != DDS_RETCODE_OK || memory[0] == NULL)
		return;
	memset(memory[0], how, sizeof(struct compat_point));
	memory[1] = memory[0];
	if (how % 4 == 0)
		(void)dds_write(with, memory[0]);
	if (how % 3 == 0)
		(void)dds_return_loan(with, memory, 1 + how % 2);
}

static void look_around(void)
{
	static dds_entity_t (*const gets[])(dds_entity_t) = {dds_get_parent,     dds_get_participant, dds_get_publisher,
							     dds_get_subscriber, dds_get_datareader,  dds_get_topic};
	dds_entity_t of = entity(), children[3];
	dds_guid_t guid;
	dds_instance_handle_t handle;
	dds_domainid_t domain;
	char name[8];

	for (size_t i = 0; i < sizeof(gets) / sizeof(*gets); i++)
		(void)gets[i](of);
	(void)dds_get_children(of, flag() ? children : NULL, next() % 4 > 0 ? 3 : 0);
	(void)dds_get_name(of, flag() ? name : NULL, next() % 2 * sizeof(name));
	(void)dds_get_type_name(of, flag() ? name : NULL, next() % 2 * sizeof(name));
	(void)dds_get_domainid(of, flag() ? &domain : NULL);
	(void)dds_get_guid(of, flag() ? &guid : NULL);
	(void)dds_get_instance_handle(of, flag() ? &handle : NULL);
	(void)dds_lookup_participant(DDS_DOMAIN_DEFAULT, flag() ? children : NULL, flag() ? 3 : 0);
	keep(dds_find_topic((dds_find_scope_t)(next() % 4), of, text(), NULL, 0));
}

static void matches(void)
{
	dds_entity_t of = entity();
	dds_instance_handle_t found[3];

	(void)dds_get_matched_publications(of, flag() ? found : NULL, flag() ? 3 : 0);
	if (dds_get_matched_subscriptions(of, found, 3) > 0)
		instance = found[0];
	dds_builtintopic_free_endpoint(dds_get_matched_subscription_data(of, any_instance()));
	dds_builtintopic_free_endpoint(dds_get_matched_publication_data(of, any_instance()));
}

#define STATUS(name)                                                                                                   \
	do {                                                                                                           \
		dds_##name##_status_t name;                                                                            \
		(void)dds_get_##name##_status(of, flag() ? &name : NULL);                                              \
	} while (0)

static void statuses(void)
{
	dds_entity_t of = entity();
	uint32_t mask;

	STATUS(inconsistent_topic);
	STATUS(liveliness_lost);
	STATUS(offered_deadline_missed);
	STATUS(offered_incompatible_qos);
	STATUS(publication_matched);
	STATUS(sample_lost);
	STATUS(sample_rejected);
	STATUS(liveliness_changed);
	STATUS(requested_deadline_missed);
	STATUS(requested_incompatible_qos);
	STATUS(subscription_matched);
	(void)dds_get_status_changes(of, flag() ? &mask : NULL);
	(void)dds_read_status(of, flag() ? &mask : NULL, (uint32_t)number());
	(void)dds_take_status(of, flag() ? &mask : NULL, (uint32_t)number());
	(void)dds_get_status_mask(of, flag() ? &mask : NULL);
	(void)dds_set_status_mask(of, (uint32_t)number());
}

static void waiting(void)
{
	dds_entity_t of = entity(), with = entity(), found[2];
	dds_attach_t cookies[2];
	bool triggered;
	uint32_t mask;

	switch (next() % 8) {
	case 0:
		(void)dds_waitset_attach(of, with, next());
		break;
	case 1:
		(void)dds_waitset_detach(of, with);
		break;
	case 2:
		(void)dds_waitset_wait(of, flag() ? cookies : NULL, next() % 3, span());
		break;
	case 3:
		(void)dds_waitset_wait_until(of, flag() ? cookies : NULL, next() % 3, span());
		break;
	case 4:
		(void)dds_waitset_set_trigger(of, flag());
		break;
	case 5:
		(void)dds_waitset_get_entities(of, flag() ? found : NULL, next() % 3);
		break;
	case 6:
		(void)dds_set_guardcondition(of, flag());
		(void)dds_read_guardcondition(of, flag() ? &triggered : NULL);
		(void)dds_take_guardcondition(of, flag() ? &triggered : NULL);
		break;
	default:
		(void)dds_triggered(of);
		(void)dds_get_mask(of, flag() ? &mask : NULL);
		break;
	}
}

static void qos_and_listener(void)
{
	dds_entity_t of = entity();

	switch (next() % 6) {
	case 0:
		(void)dds_get_qos(of, flag() ? policies : NULL);
		break;
	case 1:
		(void)dds_set_qos(of, qos());
		break;
	case 2:
		(void)dds_get_listener(of, flag() ? listener : NULL);
		break;
	case 3:
		(void)dds_set_listener(of, called());
		break;
	case 4:
		dds_reset_listener(flag() ? listener : NULL);
		break;
	default:
		dds_lset_data_available(listener, flag() ? on_data : NULL);
		dds_lset_subscription_matched(listener, flag() ? on_matched : NULL);
		break;
	}
}

static void whole_qos(void)
{
	dds_qos_t *other = dds_create_qos();

	REQUIRE(other != NULL);
	(void)dds_copy_qos(other, qos());
	dds_merge_qos(policies, flag() ? other : NULL);
	REQUIRE(dds_qos_equal(policies, policies));
	(void)dds_qos_equal(qos(), other);
	if (flag())
		dds_reset_qos(policies);
	dds_delete_qos(other);
}

static void set_kinds(void)
{
	int32_t value = number(), more = number();

	switch (next() % 10) {
	case 0:
		dds_qset_durability(policies, (dds_durability_kind_t)value);
		break;
	case 1:
		dds_qset_history(policies, (dds_history_kind_t)value, more);
		break;
	case 2:
		dds_qset_reliability(policies, (dds_reliability_kind_t)value, span());
		break;
	case 3:
		dds_qset_presentation(policies, (dds_presentation_access_scope_kind_t)value, flag(), flag());
		break;
	case 4:
		dds_qset_ownership(policies, (dds_ownership_kind_t)value);
		dds_qset_ownership_strength(policies, more);
		break;
	case 5:
		dds_qset_liveliness(policies, (dds_liveliness_kind_t)value, period());
		break;
	case 6:
		dds_qset_destination_order(policies, (dds_destination_order_kind_t)value);
		break;
	case 7:
		dds_qset_resource_limits(policies, value, more, number());
		break;
	case 8:
		dds_qset_durability_service(policies, span(), (dds_history_kind_t)value, more, number(), number(),
					    number());
		break;
	default:
		dds_qset_ignorelocal(policies, (dds_ignorelocal_kind_t)value);
		break;
	}
}

static void set_texts(void)
{
	const char *names[] = {text(), text()};
	uint8_t bytes = next();
	void *value;
	char *one;

	switch (next() % 8) {
	case 0:
		dds_qset_partition(policies, next() % 3, names);
		break;
	case 1:
		dds_qset_partition(policies, flag() ? UINT32_MAX : 2, NULL);
		break;
	case 2:
		dds_qset_userdata(policies, names[0], names[0] != NULL ? strlen(names[0]) : bytes);
		break;
	case 3:
		dds_qset_entity_name(policies, names[0]);
		break;
	case 4:
		dds_qset_prop(policies, names[0], names[1]);
		if (dds_qget_prop(policies, names[0], &one))
			dds_free(one);
		break;
	case 5:
		dds_qset_bprop(policies, names[0], names[1], names[1] != NULL ? strlen(names[1]) : bytes);
		if (dds_qget_bprop(policies, names[0], &value, NULL))
			dds_free(value);
		break;
	case 6:
		dds_qset_data_representation(policies, flag() ? UINT32_MAX : 1,
					     flag() ? NULL : &(dds_data_representation_id_t){(int16_t)bytes});
		break;
	default:
		dds_qunset_prop(policies, names[0]);
		break;
	}
}

static void set_spans(void)
{
	dds_duration_t value = period();

	switch (next() % 7) {
	case 0:
		dds_qset_lifespan(policies, value);
		break;
	case 1:
		dds_qset_deadline(policies, value);
		break;
	case 2:
		dds_qset_latency_budget(policies, value);
		break;
	case 3:
		dds_qset_time_based_filter(policies, value);
		break;
	case 4:
		dds_qset_reader_data_lifecycle(policies, value, period());
		break;
	case 5:
		dds_qset_writer_data_lifecycle(policies, flag());
		break;
	default:
		dds_qset_type_consistency(policies, (dds_type_consistency_kind_t)number(), flag(), flag(), flag(),
					  flag(), flag());
		break;
	}
}

static void publishing(void)
{
	dds_entity_t of = entity();

	switch (next() % 8) {
	case 0:
		(void)dds_begin_coherent(of);
		break;
	case 1:
		(void)dds_end_coherent(of);
		break;
	case 2:
		(void)dds_wait_for_acks(of, span());
		break;
	case 3:
		(void)dds_suspend(of);
		(void)dds_resume(of);
		break;
	case 4:
		(void)dds_assert_liveliness(of);
		break;
	case 5:
		(void)dds_notify_readers(of);
		break;
	case 6:
		(void)dds_reader_wait_for_historical_data(of, span());
		break;
	default:
		(void)dds_enable(of);
		break;
	}
}

static void others(void)
{
	dds_entity_t of = entity();
	dds_data_allocator_t allocator;
	struct dds_statistics *statistics = dds_create_statistics(of);

	(void)dds_refresh_statistics(statistics);
	(void)dds_lookup_statistic(statistics, text());
	dds_delete_statistics(statistics);
	if (dds_data_allocator_init(of, &allocator) == DDS_RETCODE_OK) {
		(void)dds_data_allocator_free(&allocator, dds_data_allocator_alloc(&allocator, next()));
		(void)dds_data_allocator_fini(&allocator);
	}
	(void)dds_strretcode(number());
}

static void delete (void)
{
	(void)dds_delete(entity());
}

static void take_some(void)
{
	read_some(true);
}

static void look_at_some(void)
{
	read_some(false);
}

static void (*const calls[])(void) = {create_top,   create_topic, create_more,      create_ends, create_ends, filter,
				      write_sample, write_sample, instances,        loans,       take_some,   take_some,
				      look_at_some, give_back,    give_back,        look_around, matches,     statuses,
				      waiting,      waiting,      qos_and_listener, whole_qos,   set_kinds,   set_texts,
				      set_spans,    publishing,   others,           delete};

/* ---- an input --------------------------------------------------------------------------------------------------------------- */

/* The domain is begun once: a participant that no call is given. */
static dds_entity_t keeper;

static void end_domain(void)
{
	(void)dds_delete(keeper);
}

static void begin_domain(void)
{
	char number_of_domain[16];
	unsigned value = (unsigned)getpid() % 60000U;
	size_t digits = sizeof(number_of_domain) - 1;

	number_of_domain[digits] = '\0';
	do
		number_of_domain[--digits] = (char)('0' + value % 10);
	while ((value /= 10) > 0);
	(void)setenv("WHORL_DDS_DOMAIN", number_of_domain + digits, 1);
	keeper = dds_create_participant(DDS_DOMAIN_DEFAULT, NULL, NULL);
	REQUIRE(keeper > 0);
	(void)atexit(end_domain);
}

/* What a sequence mostly begins with, so that few bytes come to the calls that need it. */
static void begin_entities(void)
{
	static dds_entity_t topics[COMPAT_TYPES];
	size_t type = next() % COMPAT_TYPES;

	keep(dds_create_participant(DDS_DOMAIN_DEFAULT, NULL, NULL));
	topics[type] = dds_create_topic(entities[0], compat_types[type], "a", NULL, NULL);
	keep(topics[type]);
	keep(dds_create_reader(entities[0], topics[type], NULL, NULL));
	keep(dds_create_writer(entities[0], topics[type], NULL, NULL));
}

static void end_entities(void)
{
	dds_entity_t participants[64];
	dds_return_t count = dds_lookup_participant(DDS_DOMAIN_DEFAULT, participants, 64);

	for (dds_return_t i = 0; i < count && i < 64; i++)
		if (participants[i] != keeper)
			REQUIRE(dds_delete(participants[i]) == DDS_RETCODE_OK);
	REQUIRE(wh_ddsc_entries() == 1); /* the keeper */
	dds_delete_qos(policies);
	dds_delete_listener(listener);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (keeper == 0)
		begin_domain();
	at = data;
	end_of_input = data + size;
	newest = 0;
	memset(entities, 0, sizeof(entities));
	memset(lent, 0, sizeof(lent));
	memset(lender, 0, sizeof(lender));
	instance = DDS_HANDLE_NIL;
	policies = dds_create_qos();
	listener = dds_create_listener(NULL);
	REQUIRE(policies != NULL && listener != NULL);
	dds_lset_data_available(listener, on_data);
	if (flag())
		begin_entities();
	for (int i = 0; i < CALLS_MAX && at < end_of_input; i++)
		calls[next() % (sizeof(calls) / sizeof(*calls))]();
	end_entities();
	return 0;
}
