/* peer.c - a program for Cyclone DDS, as its examples are: `peer pub N`, `peer sub N`, `peer ping N`, `peer pong`, `peer quit`, `peer topics`,
 * `peer keep N`, `peer late N`, `peer hold`.
 *
 * It sees the headers of Cyclone DDS alone, and is linked with libwhorl_ddsc alone. What it has done it says in one line; 1 if it did not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dds/dds.h"
#include "dds/ddsrt/misc.h"

#define MANY 16

struct letter { /* what idlc makes of { @key long to; string text; sequence<octet> more; } */
	int32_t to;
	char *text;
	dds_sequence_t more;
};

static const uint32_t words[] = {DDS_OP_ADR | DDS_OP_FLAG_KEY | DDS_OP_TYPE_4BY | DDS_OP_FLAG_SGN,
				 offsetof(struct letter, to),
				 DDS_OP_ADR | DDS_OP_TYPE_STR,
				 offsetof(struct letter, text),
				 DDS_OP_ADR | DDS_OP_TYPE_SEQ | DDS_OP_SUBTYPE_1BY,
				 offsetof(struct letter, more),
				 DDS_OP_RTS,
				 DDS_OP_KOF | 1,
				 0};
static const dds_key_descriptor_t keys[] = {{"to", 7, 0}};
static const dds_topic_descriptor_t letter_desc = {.m_size = sizeof(struct letter),
						   .m_align = dds_alignof(struct letter),
						   .m_nkeys = 1,
						   .m_typename = "peer::letter",
						   .m_keys = keys,
						   .m_nops = 4,
						   .m_ops = words,
						   .m_meta = ""};

static dds_entity_t participant;

static dds_entity_t must(dds_entity_t result)
{
	if (result < 0)
		DDS_FATAL("refused: %s\n", dds_strretcode(-result));
	return result;
}

static dds_qos_t *policies(void)
{
	dds_qos_t *qos = dds_create_qos();

	dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_SECS(60));
	dds_qset_history(qos, DDS_HISTORY_KEEP_ALL, 0);
	dds_qset_writer_data_lifecycle(qos, false);
	return qos;
}

static dds_entity_t new_writer(const char *name)
{
	dds_qos_t *qos = policies();
	dds_entity_t topic = must(dds_create_topic(participant, &letter_desc, name, NULL, NULL));
	dds_entity_t writer = must(dds_create_writer(participant, topic, qos, NULL));

	dds_delete_qos(qos);
	return writer;
}

static dds_entity_t new_reader(const char *name)
{
	dds_qos_t *qos = policies();
	dds_entity_t topic = must(dds_create_topic(participant, &letter_desc, name, NULL, NULL));
	dds_entity_t reader = must(dds_create_reader(participant, topic, qos, NULL));

	dds_delete_qos(qos);
	return reader;
}

static void await_reader(dds_entity_t writer)
{
	uint32_t status = 0;

	must(dds_set_status_mask(writer, DDS_PUBLICATION_MATCHED_STATUS));
	while ((status & DDS_PUBLICATION_MATCHED_STATUS) == 0) {
		must(dds_get_status_changes(writer, &status));
		dds_sleepfor(DDS_MSECS(2));
	}
}

static void write_letter(dds_entity_t writer, int32_t to)
{
	uint8_t more[1000];
	struct letter letter = {.to = to, .text = to % 2 == 0 ? "even" : "an odd one"};

	memset(more, to & 255, sizeof(more));
	letter.more = (dds_sequence_t){._length = (uint32_t)to % 1000, ._buffer = more, ._maximum = sizeof(more)};
	must(dds_write(writer, &letter));
}

static int is_letter(const struct letter *letter)
{
	for (uint32_t i = 0; i < letter->more._length; i++)
		if (letter->more._buffer[i] != (letter->to & 255))
			return 0;
	return letter->more._length == (uint32_t)letter->to % 1000 &&
	       strcmp(letter->text, letter->to % 2 == 0 ? "even" : "an odd one") == 0;
}

/* Waits for letters by a waitset, and takes some. */
static int32_t await_letters(dds_entity_t waitset, dds_entity_t reader, void **data, dds_sample_info_t *infos)
{
	must(dds_waitset_wait(waitset, NULL, 0, DDS_INFINITY));
	return must(dds_take(reader, data, infos, MANY, MANY));
}

static dds_entity_t waitset_of(dds_entity_t reader)
{
	dds_entity_t waitset = must(dds_create_waitset(participant));

	must(dds_waitset_attach(waitset, must(dds_create_readcondition(reader, DDS_ANY_STATE)), reader));
	return waitset;
}

static int publish(int32_t count)
{
	dds_entity_t writer = new_writer("letters");

	await_reader(writer);
	for (int32_t i = 0; i < count; i++)
		write_letter(writer, i);
	must(dds_wait_for_acks(writer, DDS_SECS(60)));
	printf("published %d\n", count);
	return 0;
}

/* All letters of one that publishes, in their order; or, if it dies, of the next one. */
static int subscribe(int32_t count)
{
	dds_entity_t reader = new_reader("letters"), waitset = waitset_of(reader);
	dds_sample_info_t infos[MANY];
	void *data[MANY] = {NULL};
	int32_t next = 0;

	printf("reads\n");
	fflush(stdout);
	while (next < count) {
		int32_t taken = await_letters(waitset, reader, data, infos);

		for (int32_t i = 0; i < taken; i++) {
			const struct letter *letter = data[i];

			if (!infos[i].valid_data)
				continue;
			next = letter->to == 0 ? 0 : next;
			if (letter->to != next++ || !is_letter(letter))
				DDS_FATAL("letter %d where %d was due\n", (int)letter->to, (int)next - 1);
		}
		must(dds_return_loan(reader, data, taken));
	}
	printf("received %d\n", next);
	return 0;
}

static int ping(int32_t count)
{
	dds_entity_t writer = new_writer("there"), reader = new_reader("back"), waitset = waitset_of(reader);
	dds_sample_info_t infos[MANY];
	void *data[MANY] = {NULL};

	await_reader(writer);
	for (int32_t i = 0, back = 0; i < count; i++, back = 0) {
		write_letter(writer, i);
		while (back == 0) {
			int32_t taken = await_letters(waitset, reader, data, infos);

			for (int32_t k = 0; k < taken; k++)
				back += infos[k].valid_data && ((struct letter *)data[k])->to == i;
			must(dds_return_loan(reader, data, taken));
		}
	}
	printf("%d came back\n", count);
	return 0;
}

/* Until a letter is disposed of. */
static int pong(void)
{
	dds_entity_t reader = new_reader("there"), writer = new_writer("back"), waitset = waitset_of(reader);
	dds_sample_info_t infos[MANY];
	void *data[MANY] = {NULL};
	int goes_on = 1, answered = 0;

	while (goes_on) {
		int32_t taken = await_letters(waitset, reader, data, infos);

		for (int32_t i = 0; i < taken; i++) {
			if (infos[i].instance_state == DDS_IST_NOT_ALIVE_DISPOSED)
				goes_on = 0;
			else if (infos[i].valid_data)
				answered += must(dds_write_ts(writer, data[i], infos[i].source_timestamp)) == 0;
		}
		must(dds_return_loan(reader, data, taken));
	}
	printf("answered %s\n", answered > 0 ? "some" : "none");
	return 0;
}

static int quit(void)
{
	dds_entity_t writer = new_writer("there");

	await_reader(writer);
	must(dds_writedispose(writer, &(struct letter){.to = -1}));
	must(dds_wait_for_acks(writer, DDS_SECS(60)));
	return 0;
}

/* What is kept for late readers is said of the writer and the reader alone. */
static dds_qos_t *local(void)
{
	dds_qos_t *qos = policies();

	dds_qset_durability(qos, DDS_DURABILITY_TRANSIENT_LOCAL);
	return qos;
}

static void say_and_stay(const char *what)
{
	printf("%s\n", what);
	fflush(stdout);
	while (1)
		dds_sleepfor(DDS_SECS(1));
}

static int keep(int32_t count)
{
	dds_qos_t *qos = local();
	dds_entity_t topic = must(dds_create_topic(participant, &letter_desc, "kept", NULL, NULL));
	dds_entity_t writer = must(dds_create_writer(participant, topic, qos, NULL));

	dds_delete_qos(qos);
	for (int32_t i = 0; i < count; i++)
		write_letter(writer, i);
	say_and_stay("kept");
	return 1;
}

static int late(int32_t count)
{
	dds_qos_t *qos = local();
	dds_entity_t topic = must(dds_create_topic(participant, &letter_desc, "kept", NULL, NULL));
	dds_entity_t reader = must(dds_create_reader(participant, topic, qos, NULL)), waitset = waitset_of(reader);
	dds_sample_info_t infos[MANY];
	void *data[MANY] = {NULL};
	int32_t next = 0;

	dds_delete_qos(qos);
	while (next < count) {
		int32_t taken = await_letters(waitset, reader, data, infos);

		for (int32_t i = 0; i < taken; i++)
			if (((struct letter *)data[i])->to != next++ || !is_letter(data[i]))
				DDS_FATAL("letter %d where %d was due\n", (int)((struct letter *)data[i])->to,
					  (int)next - 1);
		must(dds_return_loan(reader, data, taken));
	}
	printf("found %d\n", next);
	return 0;
}

/* One that asks for nothing has the topic first. */
static int hold(void)
{
	(void)new_reader("kept");
	say_and_stay("holds");
	return 1;
}

/* Until it has seen one. */
static int topics(void)
{
	dds_entity_t reader = must(dds_create_reader(participant, DDS_BUILTIN_TOPIC_DCPSTOPIC, NULL, NULL));
	dds_entity_t waitset = waitset_of(reader);
	dds_sample_info_t info;
	void *data[] = {NULL};

	while (dds_waitset_wait(waitset, NULL, 0, DDS_INFINITY) > 0) {
		int32_t taken = must(dds_take(reader, data, &info, 1, 1));
		const dds_builtintopic_topic_t *topic = data[0];

		if (taken == 1 && info.valid_data) {
			printf("topic %s %s\n", topic->topic_name, topic->type_name);
			return dds_return_loan(reader, data, 1);
		}
		must(dds_return_loan(reader, data, taken));
	}
	return 1;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int32_t count = argc > 2 ? (int32_t)atoi(argv[2]) : 1;
	int result = 2;

	participant = must(dds_create_participant(DDS_DOMAIN_DEFAULT, NULL, NULL));
	if (strcmp(what, "pub") == 0)
		result = publish(count);
	else if (strcmp(what, "sub") == 0)
		result = subscribe(count);
	else if (strcmp(what, "ping") == 0)
		result = ping(count);
	else if (strcmp(what, "pong") == 0)
		result = pong();
	else if (strcmp(what, "quit") == 0)
		result = quit();
	else if (strcmp(what, "topics") == 0)
		result = topics();
	else if (strcmp(what, "keep") == 0)
		result = keep(count);
	else if (strcmp(what, "late") == 0)
		result = late(count);
	else if (strcmp(what, "hold") == 0)
		result = hold();
	must(dds_delete(participant));
	return result;
}
