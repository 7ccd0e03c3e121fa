#include "tests/support/dds_domain.h"

uint32_t domain(void)
{
	return (uint32_t)getpid() % 60000;
}

whorl_dds_duration patience(void)
{
	return (whorl_dds_duration)test_patience(20 * SECOND);
}

whorl_dds_entity must_be_made(whorl_dds_entity entity, const char *what)
{
	if (entity <= 0)
		ck_abort_msg("%s: %d, %s", what, (int)entity, whorl_dds_text());
	return entity;
}

whorl_dds_qos *qos(const char *text)
{
	whorl_dds_qos *it = whorl_dds_create_qos();

	ck_assert_ptr_nonnull(it);
	well(whorl_dds_qos_parse(it, text));
	return it;
}

void moment(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

whorl_dds_entity topic_of(whorl_dds_entity participant, const struct whorl_dds_type *type, const char *name,
			  const char *policies)
{
	whorl_dds_qos *of = qos(policies);
	whorl_dds_entity topic = made(whorl_dds_create_topic(participant, type, name, of, NULL));

	whorl_dds_delete_qos(of);
	return topic;
}

struct place place_in(uint32_t number, const struct whorl_dds_type *type, const char *name, const char *policies)
{
	struct place place = {made(whorl_dds_create_participant(number, NULL, NULL)), 0};

	place.topic = topic_of(place.participant, type, name, policies);
	return place;
}

struct place place_of(const struct whorl_dds_type *type, const char *name, const char *policies)
{
	return place_in(domain(), type, name, policies);
}

whorl_dds_entity new_writer(const struct place *place, const char *policies)
{
	whorl_dds_qos *of = qos(policies);
	whorl_dds_entity writer = made(whorl_dds_create_writer(place->participant, place->topic, of, NULL));

	whorl_dds_delete_qos(of);
	return writer;
}

whorl_dds_entity new_reader(const struct place *place, const char *policies)
{
	whorl_dds_qos *of = qos(policies);
	whorl_dds_entity reader = made(whorl_dds_create_reader(place->participant, place->topic, of, NULL));

	whorl_dds_delete_qos(of);
	return reader;
}

void take_lent(whorl_dds_entity reader, void **data, struct whorl_dds_sample_info *info)
{
	whorl_dds_entity waitset = made(whorl_dds_create_waitset(whorl_dds_get_participant(reader)));
	whorl_dds_entity condition = made(whorl_dds_create_readcondition(reader, WHORL_DDS_ANY_STATE));
	intptr_t cookie = 0;

	well(whorl_dds_waitset_attach(waitset, condition, 77));
	ck_assert_msg(whorl_dds_waitset_wait(waitset, &cookie, 1, patience()) == 1, "nothing came: %s",
		      whorl_dds_text());
	info->size = sizeof(*info);
	*data = NULL;
	ck_assert_int_eq(whorl_dds_take(reader, data, info, 1), 1);
	well(whorl_dds_delete(condition));
	well(whorl_dds_delete(waitset));
}

void await_status(whorl_dds_entity entity, uint32_t status)
{
	whorl_dds_entity waitset = made(whorl_dds_create_waitset(whorl_dds_get_participant(entity)));
	intptr_t cookie;

	well(whorl_dds_set_status_mask(entity, status));
	well(whorl_dds_waitset_attach(waitset, entity, 5));
	ck_assert_msg(whorl_dds_waitset_wait(waitset, &cookie, 1, patience()) == 1, "the status does not change");
	ck_assert_int_eq(whorl_dds_get_status_changes(entity), (int)status);
	well(whorl_dds_delete(waitset));
}

int run_tests(const char *name, const TTest *const *tests, size_t count)
{
	Suite *s = suite_create(name);

	for (size_t i = 0; i < count; i++) {
		TCase *c = tcase_create(tests[i]->name);

		tcase_add_test(c, tests[i]);
		suite_add_tcase(s, c);
	}
	return test_main(s);
}
