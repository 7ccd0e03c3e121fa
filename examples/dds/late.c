/* late.c - a reader that comes late is given the history of a stored topic, each sample with its first place in the order. */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <whorl/dds.h>

#define SECOND ((whorl_dds_duration)1000000000)
#define EARLY 5

struct entry {
	int32_t number;
	char text[24];
};

WHORL_DDS_TYPE(entry_type, struct entry, WHORL_DDS_FIELD(struct entry, number), WHORL_DDS_FIELD(struct entry, text));

static whorl_dds_entity made(whorl_dds_entity entity)
{
	if (entity < 0)
		errx(1, "%s", whorl_dds_text());
	return entity;
}

static whorl_dds_entity enter(uint32_t domain, whorl_dds_entity *participant)
{
	whorl_dds_qos *qos = whorl_dds_create_qos();
	whorl_dds_entity topic;

	*participant = made(whorl_dds_create_participant(domain, NULL, NULL));
	made(whorl_dds_qos_parse(qos, "reliability=reliable durability=transient history=all"));
	topic = made(whorl_dds_create_topic(*participant, &entry_type, "log", qos, NULL));
	whorl_dds_delete_qos(qos);
	return topic;
}

/* Another process, which finds what was written before it was there. */
static int read_late(uint32_t domain)
{
	whorl_dds_entity participant, topic = enter(domain, &participant);
	whorl_dds_entity reader = made(whorl_dds_create_reader(participant, topic, NULL, NULL));
	struct whorl_dds_sample_info infos[EARLY] = {{.size = sizeof(infos[0])}};
	void *data[EARLY] = {NULL};
	int32_t count;

	made(whorl_dds_wait_for_historical_data(reader, 10 * SECOND));
	count = made(whorl_dds_take(reader, data, infos, EARLY));
	for (int32_t i = 0; i < count; i++)
		printf("late: entry %" PRId32 ", \"%s\", place %" PRIu64 ".%" PRIu64 "\n",
		       ((const struct entry *)data[i])->number, ((const struct entry *)data[i])->text, infos[i].view,
		       infos[i].sequence);
	made(whorl_dds_return_loan(reader, data, count));
	made(whorl_dds_delete(participant));
	fflush(stdout);
	return count == EARLY ? 0 : 1;
}

int main(void)
{
	uint32_t domain = (uint32_t)getpid() % 65536;
	int ready[2], status = 1;
	whorl_dds_entity participant, topic, writer;
	pid_t child;

	if (pipe(ready) != 0)
		err(1, "pipe");
	child = fork(); /* before this process has a participant */
	alarm(60);      /* should anything stand still */
	if (child == 0) {
		char byte;

		alarm(60);
		if (read(ready[0], &byte, 1) != 1)
			return 1;
		_exit(read_late(domain));
	}
	topic = enter(domain, &participant);
	writer = made(whorl_dds_create_writer(participant, topic, NULL, NULL));
	for (int32_t i = 1; i <= EARLY; i++) {
		struct entry entry = {.number = i};

		snprintf(entry.text, sizeof(entry.text), "line %" PRId32, i);
		made(whorl_dds_write(writer, &entry));
	}
	made(whorl_dds_wait_for_acks(writer, 10 * SECOND));
	if (write(ready[1], "", 1) != 1)
		err(1, "pipe");
	waitpid(child, &status, 0);
	made(whorl_dds_delete(participant));
	return status == 0 ? 0 : 1;
}
