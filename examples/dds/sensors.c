/* sensors.c - a process writes what two sensors measure, and one of them falls silent: with a DEADLINE the reader is told which. */
#include <err.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <whorl/dds.h>

#define SECOND ((whorl_dds_duration)1000000000)

struct reading {
	int32_t sensor, count;
	double celsius;
};

WHORL_DDS_TYPE(reading_type, struct reading, WHORL_DDS_KEY(struct reading, sensor),
	       WHORL_DDS_FIELD(struct reading, count), WHORL_DDS_FIELD(struct reading, celsius));

static whorl_dds_entity made(whorl_dds_entity entity)
{
	if (entity < 0)
		errx(1, "%s", whorl_dds_text());
	return entity;
}

/* The topic, for which a deadline is said: writers offer it, and readers ask for it. */
static whorl_dds_entity enter(uint32_t domain, whorl_dds_entity *participant)
{
	whorl_dds_qos *qos = whorl_dds_create_qos();
	whorl_dds_entity topic;

	*participant = made(whorl_dds_create_participant(domain, NULL, NULL));
	made(whorl_dds_qset_deadline(qos, SECOND / 2));
	topic = made(whorl_dds_create_topic(*participant, &reading_type, "readings", qos, NULL));
	whorl_dds_delete_qos(qos);
	return topic;
}

/* Sensor 1 for ever, sensor 2 twenty times. */
static void measure(uint32_t domain)
{
	whorl_dds_entity participant, topic = enter(domain, &participant);
	whorl_dds_entity writer = made(whorl_dds_create_writer(participant, topic, NULL, NULL));

	for (int32_t count = 0;; count++) {
		made(whorl_dds_write(writer, &(struct reading){.sensor = 1, .count = count, .celsius = 20.5}));
		if (count < 20)
			made(whorl_dds_write(writer, &(struct reading){.sensor = 2, .count = count, .celsius = 19}));
		nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	}
}

/* Until a deadline is missed of the sensor that had been heard. Returns which. */
static int32_t watch(whorl_dds_entity participant, whorl_dds_entity topic)
{
	whorl_dds_entity reader = made(whorl_dds_create_reader(participant, topic, NULL, NULL));
	whorl_dds_entity waitset = made(whorl_dds_create_waitset(participant));
	struct whorl_dds_deadline_missed_status missed = {0};
	struct reading key = {0};

	made(whorl_dds_set_status_mask(reader, WHORL_DDS_REQUESTED_DEADLINE_MISSED_STATUS));
	made(whorl_dds_waitset_attach(waitset, reader, 0));
	do {
		if (made(whorl_dds_waitset_wait(waitset, NULL, 0, 60 * SECOND)) == 0)
			errx(1, "no deadline was missed");
		made(whorl_dds_take_status(reader, WHORL_DDS_REQUESTED_DEADLINE_MISSED_STATUS, &missed, sizeof(missed)));
		made(whorl_dds_instance_get_key(reader, missed.last_instance_handle, &key));
		printf("sensor %" PRId32 " is late\n", key.sensor);
	} while (key.sensor != 2); /* on a busy machine the other may be late, too */
	return key.sensor;
}

int main(void)
{
	uint32_t domain = (uint32_t)getpid() % 65536;
	whorl_dds_entity participant, topic;
	pid_t child = fork(); /* before this process has a participant */

	alarm(120); /* should anything stand still */
	if (child == 0) {
		alarm(120);
		measure(domain);
	}
	topic = enter(domain, &participant);
	printf("sensor %" PRId32 " has fallen silent\n", watch(participant, topic));
	made(whorl_dds_delete(participant));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}
