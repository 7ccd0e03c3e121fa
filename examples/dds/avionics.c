/* avionics.c - 40 topics and 6 units, each a process, which all read all topics. One is killed as it writes. The others have heard the
 * same samples of each topic in the same order, also what the one that was killed had written. */
#include <err.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <whorl/dds.h>

#define SECOND ((whorl_dds_duration)1000000000)
#define TOPICS 40
#define UNITS 6
#define ROUNDS 50
#define VICTIM 2

struct value {
	int32_t unit, round;
	double value;
};

WHORL_DDS_TYPE(value_type, struct value, WHORL_DDS_FIELD(struct value, unit), WHORL_DDS_FIELD(struct value, round),
	       WHORL_DDS_FIELD(struct value, value));

struct unit {
	whorl_dds_entity participant, waitset, readers[TOPICS], writers[TOPICS];
	uint64_t digests[TOPICS];
};

static struct verdict { /* of each unit, for the parent */
	uint64_t samples, victims, digest;
} * verdicts;

static whorl_dds_entity made(whorl_dds_entity entity)
{
	if (entity < 0)
		errx(1, "%s", whorl_dds_text());
	return entity;
}

/* All topics are read; each unit writes those of its number. */
static void enter(struct unit *unit, uint32_t domain, int number)
{
	whorl_dds_qos *qos = whorl_dds_create_qos();
	char name[24];

	made(whorl_dds_qos_parse(qos, "reliability=reliable reliability.max_blocking=20s history=all"));
	unit->participant = made(whorl_dds_create_participant(domain, NULL, NULL));
	unit->waitset = made(whorl_dds_create_waitset(unit->participant));
	for (int t = 0; t < TOPICS; t++) {
		whorl_dds_entity topic;

		snprintf(name, sizeof(name), "signal-%d", t);
		topic = made(whorl_dds_create_topic(unit->participant, &value_type, name, qos, NULL));
		unit->readers[t] = made(whorl_dds_create_reader(unit->participant, topic, NULL, NULL));
		made(whorl_dds_waitset_attach(
			unit->waitset, made(whorl_dds_create_readcondition(unit->readers[t], WHORL_DDS_ANY_STATE)), t));
		made(whorl_dds_set_status_mask(unit->readers[t], WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS));
		made(whorl_dds_waitset_attach(unit->waitset, unit->readers[t], t)); /* a writer that comes, or goes */
		if (t % UNITS == number)
			unit->writers[t] = made(whorl_dds_create_writer(unit->participant, topic, NULL, NULL));
	}
	whorl_dds_delete_qos(qos);
}

/* How many match it now, or did (total). */
static struct whorl_dds_matched_status matches(whorl_dds_entity endpoint, uint32_t status)
{
	struct whorl_dds_matched_status matched = {0};

	made(whorl_dds_take_status(endpoint, status, &matched, sizeof(matched)));
	return matched;
}

/* Until all units read what this one writes, and each topic has a writer. */
static void await_others(struct unit *unit)
{
	for (int t = 0; t < TOPICS; t++) {
		while (unit->writers[t] != 0 &&
		       matches(unit->writers[t], WHORL_DDS_PUBLICATION_MATCHED_STATUS).total_count < UNITS)
			usleep(1000);
		while (matches(unit->readers[t], WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS).total_count < 1)
			usleep(1000);
	}
}

static void write_round(struct unit *unit, int number, int round)
{
	for (int t = 0; t < TOPICS; t++) {
		struct value value = {.unit = number, .round = round, .value = 0.1 * t};

		if (unit->writers[t] == 0)
			continue;
		if (number == VICTIM && round == ROUNDS / 2 && t > TOPICS / 2)
			raise(SIGKILL);
		made(whorl_dds_write(unit->writers[t], &value));
	}
	if (number == VICTIM) /* so that something of it is heard, whenever the others come to it */
		for (int t = 0; t < TOPICS; t++)
			if (unit->writers[t] != 0)
				made(whorl_dds_wait_for_acks(unit->writers[t], 60 * SECOND));
}

static void take_all(struct unit *unit, int t, struct verdict *verdict)
{
	struct whorl_dds_sample_info info = {.size = sizeof(info)};
	struct value value;
	void *data[1] = {&value};

	while (made(whorl_dds_take(unit->readers[t], data, &info, 1)) == 1) {
		if (!info.valid_data)
			continue;
		verdict->samples++;
		verdict->victims += value.unit == VICTIM;
		unit->digests[t] =
			(unit->digests[t] ^ info.number ^ ((uint64_t)value.round << 32)) * UINT64_C(1099511628211);
		unit->digests[t] = (unit->digests[t] ^ info.view ^ (info.sequence << 16)) * UINT64_C(1099511628211);
	}
}

static void fly(uint32_t domain, int number)
{
	static struct unit unit;
	int over = 0;

	enter(&unit, domain, number);
	await_others(&unit);
	for (int round = 0; round < ROUNDS; round++)
		write_round(&unit, number, round);
	for (int t = 0; t < TOPICS; t++)
		if (unit.writers[t] != 0)
			made(whorl_dds_delete(unit.writers[t])); /* behind what it has written */
	while (over < TOPICS) {
		if (made(whorl_dds_waitset_wait(unit.waitset, NULL, 0, 60 * SECOND)) == 0)
			errx(1, "unit %d: nothing comes any more", number);
		over = 0;
		for (int t = 0; t < TOPICS; t++) {
			over += matches(unit.readers[t], WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS).current_count == 0;
			take_all(&unit, t, &verdicts[number]); /* its writer has gone: then this is all */
		}
	}
	for (int t = 0; t < TOPICS; t++)
		verdicts[number].digest = (verdicts[number].digest ^ unit.digests[t]) * UINT64_C(1099511628211);
	made(whorl_dds_delete(unit.participant));
}

int main(void)
{
	uint32_t domain = (uint32_t)getpid() % 65536;
	int alike = 0, first = VICTIM == 0;

	verdicts = mmap(NULL, UNITS * sizeof(*verdicts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (verdicts == MAP_FAILED)
		err(1, "mmap");
	for (int number = 0; number < UNITS; number++)
		if (fork() == 0) {
			alarm(200); /* should anything stand still */
			fly(domain, number);
			_exit(0);
		}
	while (wait(NULL) > 0)
		continue;
	for (int number = 0; number < UNITS; number++) {
		const struct verdict *verdict = &verdicts[number];

		if (number == VICTIM)
			continue;
		printf("unit %d: %" PRIu64 " samples, %" PRIu64 " of unit %d, digest %016" PRIx64 "\n", number,
		       verdict->samples, verdict->victims, VICTIM, verdict->digest);
		alike += verdict->samples > 0 && memcmp(verdict, &verdicts[first], sizeof(*verdict)) == 0;
	}
	printf("%d units have heard the same\n", alike);
	return alike == UNITS - 1 ? 0 : 1;
}
