/* peer.c - a program of the bridge's tests, in the API of Cyclone DDS: built against Debian's headers, and against whorl's.
 *
 *     peer pub TOPIC TYPE N [durable] [dispose] [stay MS] [pause MS] [first N] [readers N] [bad]   writes N samples of three instances, from number `first` on
 *     peer sub TOPIC TYPE MS [durable] [until N]            prints what it reads, a line each: instance, number, state, whether there is data
 *
 * Both: [strength N] EXCLUSIVE ownership, of a writer with this strength; [partition NAME]; [deadline MS], which a reader says when it is missed, and a
 * writer, too; [manual] liveliness by hand, [coherent].
 *
 * DOMAIN in the environment is the domain's number. A writer waits for its first reader, or for so many.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dds/dds.h>

#include "bridge_types.h"

#ifdef WITH_CDR
#include <dds/ddsi/ddsi_serdata.h>
#include <dds/ddsi/ddsi_serdata_default.h>
#endif

#define MS INT64_C(1000000)

struct asked {
	bool durable, dispose, bad;
	bool manual, coherent;
	long stay, pause, first, until, readers, strength, deadline; /* 0: not said */
	const char *partition;
};

static const char *const names[] = {"alpha", "beta", "gamma"};

static void *make(char type, int64_t n, void *sample)
{
	static bridged_inner inners[2];
	static char *texts[] = {"one", "two"};
	static uint8_t bytes[3] = {1, 2, 3};

	if (type == 'p') {
		bridged_plain *plain = sample;

		*plain = (bridged_plain){
			.id = (int32_t)(n % 3), .number = (uint64_t)n, .values = {1, 2, 3, 4}, .text = "plain"};
	} else if (type == 'd') {
		bridged_deep *deep = sample;

		*deep = (bridged_deep){.name = (char *)names[n % 3],
				       .id = (int32_t)(n % 3),
				       .number = (uint64_t)n,
				       .hue = bridged_BLUE,
				       .flag = true};
		inners[0] = (bridged_inner){.a = 1, .b = 0.5, .text = "first"};
		inners[1] = (bridged_inner){.a = 2, .b = 1.5, .text = "second"};
		deep->inners._buffer = inners;
		deep->inners._length = deep->inners._maximum = (uint32_t)(n % 3);
		deep->texts._buffer = texts;
		deep->texts._length = deep->texts._maximum = 2;
		deep->bytes._buffer = bytes;
		deep->bytes._length = deep->bytes._maximum = 3;
		deep->grid[2][1] = (int32_t)n;
	} else {
		bridged_chosen *chosen = sample;

		*chosen = (bridged_chosen){.id = (int32_t)(n % 3), .what = {._d = 1, ._u = {.a = 7}}};
	}
	return sample;
}

/* Is all of it there? */
static bool is_whole(const bridged_deep *deep)
{
	uint32_t inners = (uint32_t)(deep->number % 3);

	return deep->inners._length == inners && (inners < 1 || strcmp(deep->inners._buffer[0].text, "first") == 0) &&
	       (inners < 2 || deep->inners._buffer[1].b == 1.5) && deep->texts._length == 2 &&
	       strcmp(deep->texts._buffer[1], "two") == 0 && deep->hue == bridged_BLUE && deep->flag &&
	       deep->bytes._length == 3 && deep->bytes._buffer[2] == 3 && deep->grid[2][1] == (int32_t)deep->number;
}

static void print(char type, const void *sample, const dds_sample_info_t *info)
{
	const bridged_plain *plain = sample;
	const bridged_deep *deep = sample;
	const char *state = info->instance_state == DDS_ALIVE_INSTANCE_STATE                ? "alive"
			    : info->instance_state == DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE ? "disposed"
											    : "no-writers";

	if (type == 'p')
		printf("%s %" PRIu64 " %s %s\n", names[plain->id % 3], info->valid_data ? plain->number : 0, state,
		       !info->valid_data                                                          ? "none"
		       : plain->values[3] == 4 && strcmp((const char *)plain->text, "plain") == 0 ? "whole"
												  : "broken");
	else
		printf("%s %" PRIu64 " %s %s\n", deep->name, info->valid_data ? deep->number : 0, state,
		       !info->valid_data ? "none"
		       : is_whole(deep)  ? "whole"
					 : "broken");
	fflush(stdout);
}

static dds_qos_t *policies(const struct asked *asked)
{
	dds_qos_t *qos = dds_create_qos();

	dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, 10000 * MS);
	dds_qset_history(qos, DDS_HISTORY_KEEP_ALL, 0);
	dds_qset_writer_data_lifecycle(qos, false);
	if (asked->strength > 0) {
		dds_qset_ownership(qos, DDS_OWNERSHIP_EXCLUSIVE);
		dds_qset_ownership_strength(qos, (int32_t)asked->strength);
	}
	if (asked->partition != NULL)
		dds_qset_partition1(qos, asked->partition);
	if (asked->deadline > 0)
		dds_qset_deadline(qos, asked->deadline * MS);
	if (asked->manual)
		dds_qset_liveliness(qos, DDS_LIVELINESS_MANUAL_BY_TOPIC, 60000 * MS);
	if (asked->coherent)
		dds_qset_presentation(qos, DDS_PRESENTATION_TOPIC, true, true);
	if (asked->durable) {
		dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, 1);
		dds_qset_durability(qos, DDS_DURABILITY_TRANSIENT_LOCAL);
	}
	return qos;
}

#ifdef WITH_CDR
/* Samples with a string of a length that there is not. The type is that of what a reader gets. */
static int write_bad(dds_entity_t participant, dds_entity_t topic, dds_entity_t writer, const void *sample)
{
	dds_entity_t reader = dds_create_reader(participant, topic, NULL, NULL);
	struct ddsi_serdata *data = NULL;
	dds_sample_info_t info;
	int bad = dds_write(writer, sample);

	for (int i = 0; i < 3000 && dds_takecdr(reader, &data, 1, &info, DDS_ANY_STATE) <= 0; i++)
		dds_sleepfor(10 * MS);
	for (int i = 0; data != NULL && i < 5; i++) {
		struct ddsi_serdata *spoilt = ddsi_serdata_from_sample(data->type, SDK_DATA, sample);

		memset(((struct ddsi_serdata_default *)spoilt)->data, 0xff, 4);
		bad |= dds_writecdr(writer, spoilt);
	}
	(void)dds_delete(reader);
	return bad | dds_write(writer, sample);
}
#endif

static int publish(dds_entity_t participant, dds_entity_t topic, char type, long count, const struct asked *asked)
{
	union {
		bridged_plain plain;
		bridged_deep deep;
		bridged_chosen chosen;
	} sample;
	dds_qos_t *qos = policies(asked);
	dds_entity_t publisher = dds_create_publisher(participant, qos, NULL);
	dds_entity_t writer = dds_create_writer(publisher, topic, qos, NULL);
	dds_publication_matched_status_t matched = {.current_count = 0};
	int bad = 0;

	for (int i = 0; i < 3000 && (long)matched.current_count < asked->readers; i++) {
		(void)dds_get_publication_matched_status(writer, &matched);
		dds_sleepfor(10 * MS);
	}
	for (long n = 0; n < count; n++) {
		bad |= dds_write(writer, make(type, asked->first + n, &sample)) != DDS_RETCODE_OK;
		if (asked->pause > 0)
			dds_sleepfor(asked->pause * MS);
	}
#ifdef WITH_CDR
	if (asked->bad)
		bad |= write_bad(participant, topic, writer, make(type, asked->first + count, &sample));
#endif
	if (asked->dispose) {
		bad |= dds_dispose(writer, make(type, 0, &sample));
		bad |= dds_unregister_instance(writer, make(type, 1, &sample));
	}
	(void)dds_wait_for_acks(writer, 5000 * MS);
	dds_sleepfor(asked->stay * MS);
	dds_delete_qos(qos);
	return bad != 0;
}

static void say_deadline(dds_entity_t reader)
{
	dds_requested_deadline_missed_status_t missed;

	if (dds_get_requested_deadline_missed_status(reader, &missed) == DDS_RETCODE_OK &&
	    missed.total_count_change > 0) {
		printf("missed a deadline\n");
		fflush(stdout);
	}
}

static int subscribe(dds_entity_t participant, dds_entity_t topic, char type, long ms, const struct asked *asked)
{
	dds_qos_t *qos = policies(asked);
	dds_entity_t reader;
	dds_time_t end = dds_time() + ms * MS;
	long seen = 0;

	dds_qset_history(qos, DDS_HISTORY_KEEP_ALL, 0);
	reader = dds_create_reader(dds_create_subscriber(participant, qos, NULL), topic, qos, NULL);
	printf("ready\n");
	fflush(stdout);
	while (reader > 0 && dds_time() < end && (asked->until == 0 || seen < asked->until)) {
		dds_sample_info_t infos[64];
		void *data[64] = {NULL};
		dds_return_t got = dds_take(reader, data, infos, 64, 64);

		say_deadline(reader);
		for (dds_return_t i = 0; i < got; i++)
			print(type, data[i], &infos[i]);
		if (got > 0) {
			seen += got;
			(void)dds_return_loan(reader, data, got);
		} else {
			dds_sleepfor(2 * MS);
		}
	}
	dds_delete_qos(qos);
	return reader < 0;
}

static void parse(struct asked *asked, int argc, char **argv)
{
	for (int i = 5; i < argc; i++) {
		long value = i + 1 < argc ? atol(argv[i + 1]) : 0;

		asked->durable = asked->durable || strcmp(argv[i], "durable") == 0;
		asked->dispose = asked->dispose || strcmp(argv[i], "dispose") == 0;
		asked->bad = asked->bad || strcmp(argv[i], "bad") == 0;
		asked->manual = asked->manual || strcmp(argv[i], "manual") == 0;
		asked->coherent = asked->coherent || strcmp(argv[i], "coherent") == 0;
		if (strcmp(argv[i], "stay") == 0)
			asked->stay = value;
		else if (strcmp(argv[i], "pause") == 0)
			asked->pause = value;
		else if (strcmp(argv[i], "first") == 0)
			asked->first = value;
		else if (strcmp(argv[i], "until") == 0)
			asked->until = value;
		else if (strcmp(argv[i], "readers") == 0)
			asked->readers = value;
		else if (strcmp(argv[i], "strength") == 0)
			asked->strength = value;
		else if (strcmp(argv[i], "deadline") == 0)
			asked->deadline = value;
		else if (strcmp(argv[i], "partition") == 0)
			asked->partition = argv[i + 1];
	}
}

int main(int argc, char **argv)
{
	struct asked asked = {.stay = 300, .readers = 1};
	dds_entity_t participant, topic;
	dds_qos_t *qos;
	const dds_topic_descriptor_t *type;
	int status;

	if (argc < 5)
		return 2;
	parse(&asked, argc, argv);
	type = argv[3][0] == 'p' ? &bridged_plain_desc : argv[3][0] == 'd' ? &bridged_deep_desc : &bridged_chosen_desc;
	qos = policies(&asked);
	participant = dds_create_participant((dds_domainid_t)atol(getenv("DOMAIN")), NULL, NULL);
	topic = dds_create_topic(participant, type, argv[2], asked.durable ? qos : NULL, NULL);
	dds_delete_qos(qos);
	if (topic < 0) {
		fprintf(stderr, "peer: no topic: %d\n", topic);
		return 1;
	}
	if (strcmp(argv[1], "pub") == 0)
		status = publish(participant, topic, argv[3][0], atol(argv[4]), &asked);
	else
		status = subscribe(participant, topic, argv[3][0], atol(argv[4]), &asked);
	(void)dds_delete(participant);
	return status;
}
