/* peer_iceoryx.c - the latency of iceoryx beside that of topics: a process writes samples at a rate, another waits for each in a waitset.
 *
 *     peer-iceoryx BYTES RATE SECONDS
 *
 * iox-roudi runs already. Prints {"latency_us": {"p50", "p99"}, "samples", "rate"}: from just before a sample is lent to when the reader has it.
 * Nothing is promised that topics do: a reader with a full queue loses samples, and there is no order among writers.
 */
#include <err.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <iceoryx_binding_c/publisher.h>
#include <iceoryx_binding_c/runtime.h>
#include <iceoryx_binding_c/subscriber.h>
#include <iceoryx_binding_c/types.h>
#include <iceoryx_binding_c/wait_set.h>

#include "bench/peers/measure.h"

#define SECOND UINT64_C(1000000000)
#define MEET_S 10

static void name_process(char name[64], const char *what)
{
	snprintf(name, 64, "whorl-peers-%s-%ld", what, (long)getpid());
	iox_runtime_init(name);
}

static unsigned long number(const char *text, unsigned long least, unsigned long most)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*text == '\0' || *end != '\0' || value < least || value > most)
		errx(2, "\"%s\": expected a number from %lu to %lu", text, least, most);
	return value;
}

/* Until its parent ends it. */
static void write_samples(const char *event, uint32_t bytes, uint64_t rate)
{
	iox_pub_storage_t storage;
	char name[64];
	iox_pub_t publisher;
	uint64_t next;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	name_process(name, "writer");
	publisher = iox_pub_init(&storage, "whorl", "peers", event, NULL);
	for (next = peers_now();; next += SECOND / rate) {
		const struct timespec until = {(time_t)(next / SECOND), (long)(next % SECOND)};
		void *sample = NULL;
		uint64_t now;

		(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		now = peers_now();
		if (iox_pub_loan_chunk(publisher, &sample, bytes) != AllocationResult_SUCCESS)
			errx(1, "iceoryx lends no sample of %" PRIu32 " bytes", bytes);
		memset(sample, 1, bytes);
		memcpy(sample, &now, sizeof now);
		iox_pub_publish_chunk(publisher, sample);
	}
}

static void take_all(iox_sub_t subscriber, struct wh_histogram *latency)
{
	const void *sample;

	while (iox_sub_take_chunk(subscriber, &sample) == ChunkReceiveResult_SUCCESS) {
		uint64_t sent;

		memcpy(&sent, sample, sizeof sent);
		wh_histogram_add(latency, peers_now() - sent);
		iox_sub_release_chunk(subscriber, sample);
	}
}

static void read_samples(const char *event, uint64_t seconds, struct wh_histogram *latency)
{
	iox_sub_storage_t storage;
	iox_ws_storage_t set_storage;
	iox_notification_info_t info;
	iox_sub_t subscriber;
	iox_ws_t set;
	char name[64];
	uint64_t until = peers_now() + MEET_S * SECOND, missed;

	name_process(name, "reader");
	subscriber = iox_sub_init(&storage, "whorl", "peers", event, NULL);
	set = iox_ws_init(&set_storage);
	if (iox_ws_attach_subscriber_state(set, subscriber, SubscriberState_HAS_DATA, 1, NULL) != WaitSetResult_SUCCESS)
		errx(1, "iceoryx attaches no subscriber");
	while (peers_now() < until) {
		if (iox_ws_timed_wait(set, (struct timespec){.tv_nsec = 100000000}, &info, 1, &missed) == 0)
			continue;
		if (latency->count == 0)
			until = peers_now() + seconds * SECOND;
		take_all(subscriber, latency);
	}
}

int main(int argc, char **argv)
{
	static struct wh_histogram latency;
	char event[32];
	uint32_t bytes;
	unsigned long rate, seconds;
	pid_t writer;

	if (argc != 4)
		errx(2, "usage: peer-iceoryx BYTES RATE SECONDS");
	bytes = (uint32_t)number(argv[1], sizeof(uint64_t), 1000000);
	rate = number(argv[2], 1, 1000000);
	seconds = number(argv[3], 1, 3600);
	snprintf(event, sizeof event, "%ld", (long)getpid());
	writer = fork();
	if (writer < 0)
		err(1, "fork");
	if (writer == 0)
		write_samples(event, bytes, rate);
	read_samples(event, seconds, &latency);
	kill(writer, SIGKILL);
	waitpid(writer, NULL, 0);
	if (latency.count == 0)
		errx(1, "no sample has come");
	printf("{\"latency_us\": {\"p50\": %.3f, \"p99\": %.3f}, \"samples\": %" PRIu64 ", \"rate\": %lu}\n",
	       wh_histogram_quantile(&latency, 0.5) / 1e3, wh_histogram_quantile(&latency, 0.99) / 1e3, latency.count,
	       rate);
	fflush(stdout);
	_exit(0); /* its runtime would ask RouDi to let it go, and wait for an answer that may not come */
}
