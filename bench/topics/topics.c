/* topics.c - what many topics cost, and late readers, as JSON.
 *
 *     whorl-topics [--topics N,N...] [--own no|yes|both] [--processes N] [--seconds N] [--rounds N]
 *     whorl-topics --history MB,MB... [--bytes N] [--rate N] [--seconds N] [--rounds N]
 *
 * Each line of output is a run. Processes are on shared memory of this host, in a group of their own, new ones for each run; runs of different
 * kinds take turns in a round.
 *
 * Of many topics: process 0 has a writer of each, the others a reader in place of each. `create_ms` is how long all of that takes, `views` how often the
 * members changed meanwhile, `rss_mb`, `pss_mb` and `virtual_mb` what a process then has of memory (the mean; pss: shared pages in parts). Then one topic is
 * written as fast as there is room: `samples_per_s`, the mean of the readers.
 *
 * Of a history: process 0 keeps so many MB of a topic, and writes another one of the same channel, which process 1 reads. Process 2 comes late, and reads
 * what was kept: `late_ms` from its participant to the reader that has all. `before`, `during` and `after` are samples that process 0 wrote in a second;
 * `loss` is what is missing of the first while process 2 came. With --rate it writes so many at most. `fresh_mb_per_s` is the limit of what a newcomer
 * keeps: as much as a thread of this machine can touch of memory that it never had.
 */
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <whorl/dds.h>

#define MOST 16 /* processes, and cases */
#define SECOND UINT64_C(1000000000)
#define STEP_S 600 /* a step of a run takes no longer */

struct plan {
	unsigned long topics[MOST], histories[MOST], processes, seconds, rounds, bytes, rate;
	unsigned topic_count, history_count;
	const char *own;
};

struct one { /* a run */
	unsigned long topics, history_mb;
	bool own;
	uint32_t processes;
};

/* What parent and children say to each other. */
struct board {
	atomic_uint stage, reached[MOST];
	atomic_ulong written;
	struct {
		double create_ms, rate;
		uint64_t first_view, last_view, samples;
		unsigned long rss_kb, pss_kb, virtual_kb;
	} of[MOST];
};

static struct board *board;
static char file[64];

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static int made(int result)
{
	if (result < 0)
		errx(1, "%s", whorl_dds_text());
	return result;
}

/* ---- stages: the parent raises them, all follow ---------------------------------------------------------------------- */

static void reach(uint32_t self, unsigned stage)
{
	atomic_store(&board->reached[self], stage);
}

static void await_stage(unsigned stage)
{
	while (atomic_load(&board->stage) < stage)
		nap();
}

/* All of these processes have come to the stage; one that ends before ends the run. */
static void await_all(uint32_t from, uint32_t to, unsigned stage)
{
	uint64_t until = now_ns() + STEP_S * SECOND;

	for (uint32_t i = from; i < to; i++)
		while (atomic_load(&board->reached[i]) < stage) {
			if (waitpid(-1, NULL, WNOHANG) > 0)
				errx(1, "a process has ended before its time");
			if (now_ns() > until)
				errx(1, "process %" PRIu32 " has not come to stage %u in %d s", i, stage, STEP_S);
			nap();
		}
}

/* ---- what a process has -------------------------------------------------------------------------------------------------- */

static unsigned long number_in(const char *path, const char *key)
{
	unsigned long value = 0;
	char line[256];
	FILE *in = fopen(path, "re");

	while (in != NULL && fgets(line, sizeof line, in) != NULL)
		if (strncmp(line, key, strlen(key)) == 0)
			value = strtoul(line + strlen(key), NULL, 10);
	if (in != NULL)
		fclose(in);
	return value;
}

static void note_memory(uint32_t self)
{
	board->of[self].rss_kb = number_in("/proc/self/status", "VmRSS:");
	board->of[self].virtual_kb = number_in("/proc/self/status", "VmSize:");
	board->of[self].pss_kb = number_in("/proc/self/smaps_rollup", "Pss:");
}

/* On the loop. */
static void hear(whorl_dds_entity reader, const void *data, const struct whorl_dds_sample_info *info, void *arg)
{
	(void)reader;
	(void)data;
	if (info->valid_data)
		atomic_fetch_add_explicit((atomic_ulong *)arg, 1, memory_order_relaxed);
}

/* A sample tells the number of the view in which it was said. */
static void hear_view(whorl_dds_entity reader, const void *data, const struct whorl_dds_sample_info *info, void *arg)
{
	uint64_t *view = arg;

	(void)reader;
	(void)data;
	if (info->valid_data)
		__atomic_store_n(view, info->view, __ATOMIC_RELEASE); /* partner: view_now */
}

static whorl_dds_entity join(void)
{
	const struct whorl_dds_participant_options options = {
		.size = sizeof options, .file = file, .ready = (int64_t)(60 * SECOND)};

	return made(whorl_dds_create_participant_with(0, &options, NULL, NULL));
}

static whorl_dds_entity topic_of(whorl_dds_entity participant, const char *name, uint32_t bytes, const char *policies)
{
	const struct whorl_dds_type type = {.size = sizeof type, .name = "block", .bytes = bytes, .align = 8};
	whorl_dds_qos *qos = whorl_dds_create_qos();
	whorl_dds_entity topic;

	made(whorl_dds_qos_parse(qos, policies));
	topic = made(whorl_dds_create_topic(participant, &type, name, qos, NULL));
	whorl_dds_delete_qos(qos);
	return topic;
}

static whorl_dds_entity read_in_place(whorl_dds_entity participant, whorl_dds_entity topic, const char *policies,
				      whorl_dds_in_place_fn *function, void *arg)
{
	whorl_dds_listener *listener = whorl_dds_create_listener(arg);
	whorl_dds_qos *qos = whorl_dds_create_qos();
	whorl_dds_entity reader;

	made(whorl_dds_qos_parse(qos, policies));
	whorl_dds_lset_in_place(listener, function);
	reader = made(whorl_dds_create_reader(participant, topic, qos, listener));
	whorl_dds_delete_listener(listener);
	whorl_dds_delete_qos(qos);
	return reader;
}

static bool write_one(whorl_dds_entity writer, const void *sample)
{
	whorl_dds_return result = whorl_dds_write(writer, sample);

	if (result != WHORL_DDS_RETCODE_TIMEOUT)
		made(result);
	return result == WHORL_DDS_RETCODE_OK;
}

/* The number of the view now: of a sample of a topic of its own. */
static uint64_t view_now(whorl_dds_entity participant, uint32_t self)
{
	uint64_t view = 0;
	char name[32], sample[8] = "";
	whorl_dds_entity topic, reader, writer;

	snprintf(name, sizeof name, "view.%" PRIu32, self);
	topic = topic_of(participant, name, sizeof sample, "");
	reader = read_in_place(participant, topic, "reliability=reliable", hear_view, &view);
	writer = made(whorl_dds_create_writer(participant, topic, NULL, NULL));
	while (!write_one(writer, sample))
		;
	while (__atomic_load_n(&view, __ATOMIC_ACQUIRE) == 0) /* partner: hear_view */
		nap();
	made(whorl_dds_delete(writer));
	made(whorl_dds_delete(reader));
	return view;
}

/* ---- many topics ------------------------------------------------------------------------------------------------------------ */

static void make_topics(whorl_dds_entity participant, const struct one *one, uint32_t self, whorl_dds_entity *writer,
			atomic_ulong *heard)
{
	char name[32];

	for (unsigned long t = 0; t < one->topics; t++) {
		whorl_dds_entity topic, end;

		snprintf(name, sizeof name, "t%lu", t);
		topic = topic_of(participant, name, 128, "");
		if (self == 0)
			end = made(whorl_dds_create_writer(participant, topic, NULL, NULL));
		else
			end = read_in_place(participant, topic, "reliability=reliable", hear, heard);
		if (self == 0 && t == 0)
			*writer = end;
	}
}

static void be_one_of_many(const struct one *one, uint32_t self)
{
	whorl_dds_entity participant = join(), writer = 0;
	atomic_ulong heard = 0;
	unsigned char sample[128] = {0};
	uint64_t began;
	unsigned long before;

	if (self == 0)
		board->of[0].first_view = view_now(participant, self);
	reach(self, 1);
	await_stage(2);
	began = now_ns();
	make_topics(participant, one, self, &writer, &heard);
	board->of[self].create_ms = (double)(now_ns() - began) / 1e6;
	reach(self, 2);
	await_stage(3);
	note_memory(self);
	if (self == 0)
		board->of[0].last_view = view_now(participant, self);
	reach(self, 3);
	await_stage(4);
	began = now_ns();
	before = atomic_load(&heard);
	while (atomic_load(&board->stage) == 4)
		if (self == 0)
			(void)write_one(writer, sample);
		else
			nap();
	board->of[self].rate = (double)(atomic_load(&heard) - before) * 1e9 / (double)(now_ns() - began);
	reach(self, 4);
	await_stage(6);
	whorl_dds_delete(participant);
}

static void sleep_s(double seconds)
{
	uint64_t ns = (uint64_t)(seconds * 1e9);

	nanosleep(&(struct timespec){(time_t)(ns / SECOND), (long)(ns % SECOND)}, NULL);
}

static void lead_many(const struct plan *plan, const struct one *one)
{
	double create = 0, rate = 0, rss = 0, pss = 0, all = 0;

	for (unsigned stage = 1; stage <= 3; stage++) {
		atomic_store(&board->stage, stage);
		await_all(0, one->processes, stage);
	}
	sleep_s(1); /* those that only read rest by now */
	atomic_store(&board->stage, 4);
	sleep_s((double)plan->seconds);
	atomic_store(&board->stage, 5);
	await_all(0, one->processes, 4);
	atomic_store(&board->stage, 6);
	for (uint32_t i = 0; i < one->processes; i++) {
		create = board->of[i].create_ms > create ? board->of[i].create_ms : create;
		rate += board->of[i].rate / (one->processes - 1);
		rss += (double)board->of[i].rss_kb / 1024 / one->processes;
		pss += (double)board->of[i].pss_kb / 1024 / one->processes;
		all += (double)board->of[i].virtual_kb / 1024 / one->processes;
	}
	printf("{\"topics\": %lu, \"channels\": \"%s\", \"processes\": %" PRIu32
	       ", \"create_ms\": %.0f, \"views\": %" PRIu64 ", "
	       "\"rss_mb\": %.1f, \"pss_mb\": %.1f, \"virtual_mb\": %.0f, \"samples_per_s\": %.0f}\n",
	       one->topics, one->own ? "own" : "shared", one->processes, create,
	       board->of[0].last_view - board->of[0].first_view, rss, pss, all, rate);
}

/* ---- a history --------------------------------------------------------------------------------------------------------------- */

#define KEPT "consistency=stored durability=transient history=all reliability=reliable"
#define LOAD "consistency=stored reliability=reliable"

static void be_the_writer(const struct plan *plan, const struct one *one)
{
	whorl_dds_entity participant = join();
	whorl_dds_entity kept = topic_of(participant, "kept", (uint32_t)plan->bytes, KEPT);
	whorl_dds_entity load = topic_of(participant, "load", (uint32_t)plan->bytes, LOAD);
	whorl_dds_entity writer = made(whorl_dds_create_writer(participant, kept, NULL, NULL));
	unsigned long count = one->history_mb * 1000000 / plan->bytes;
	unsigned char *sample = calloc(1, plan->bytes);
	uint64_t began, written = 0;

	if (sample == NULL)
		errx(1, "no memory");
	await_stage(2);
	for (unsigned long i = 0; i < count;)
		i += write_one(writer, sample);
	while (whorl_dds_wait_for_acks(writer, (int64_t)SECOND) != WHORL_DDS_RETCODE_OK)
		;
	board->of[0].samples = count;
	writer = made(whorl_dds_create_writer(participant, load, NULL, NULL));
	reach(0, 2);
	await_stage(3);
	for (began = now_ns(); atomic_load(&board->stage) < 6;)
		if (plan->rate > 0 && now_ns() - began < written * (SECOND / plan->rate)) {
			sleep_s(0.0005);
		} else if (write_one(writer, sample)) {
			written++;
			atomic_fetch_add_explicit(&board->written, 1, memory_order_relaxed);
		}
	reach(0, 6);
	free(sample);
	whorl_dds_delete(participant);
}

static void be_a_member(const struct plan *plan)
{
	whorl_dds_entity participant = join();
	atomic_ulong heard = 0;

	read_in_place(participant, topic_of(participant, "load", (uint32_t)plan->bytes, LOAD), "reliability=reliable",
		      hear, &heard);
	reach(1, 1);
	await_stage(6);
	whorl_dds_delete(participant);
}

static void be_late(const struct plan *plan)
{
	whorl_dds_entity participant;
	atomic_ulong heard = 0;
	uint64_t began;

	await_stage(4);
	began = now_ns();
	participant = join();
	read_in_place(participant, topic_of(participant, "kept", (uint32_t)plan->bytes, KEPT), KEPT, hear, &heard);
	board->of[2].create_ms = (double)(now_ns() - began) / 1e6;
	board->of[2].samples = atomic_load(&heard);
	note_memory(2);
	reach(2, 4);
	await_stage(6);
	whorl_dds_delete(participant);
}

static double count_for(uint64_t ns)
{
	unsigned long before = atomic_load(&board->written);
	uint64_t began = now_ns();

	sleep_s((double)ns / 1e9);
	return (double)(atomic_load(&board->written) - before) * 1e9 / (double)(now_ns() - began);
}

/* Megabytes of it in a second. */
static double touch_fresh_memory(void)
{
	const size_t bytes = 64u << 20;
	volatile unsigned char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t began = now_ns();
	double rate;

	if (memory == MAP_FAILED)
		err(1, "memory");
	for (size_t at = 0; at < bytes; at += 4096)
		memory[at] = 1;
	rate = (double)bytes / 1e6 / ((double)(now_ns() - began) / 1e9);
	munmap((void *)memory, bytes);
	return rate;
}

static void lead_late(const struct plan *plan, const struct one *one)
{
	double before, during, after;
	unsigned long count;
	uint64_t began;

	atomic_store(&board->stage, 1);
	await_all(1, 2, 1);
	atomic_store(&board->stage, 2);
	await_all(0, 1, 2);
	atomic_store(&board->stage, 3);
	sleep_s(1);
	before = count_for(plan->seconds * SECOND);
	began = now_ns();
	count = atomic_load(&board->written);
	atomic_store(&board->stage, 4);
	await_all(2, 3, 4);
	during = (double)(atomic_load(&board->written) - count) * 1e9 / (double)(now_ns() - began);
	after = count_for(plan->seconds * SECOND);
	atomic_store(&board->stage, 6);
	await_all(0, 1, 6);
	if (board->of[2].samples != board->of[0].samples)
		errx(1, "the late reader has %" PRIu64 " of %" PRIu64 " samples", board->of[2].samples,
		     board->of[0].samples);
	printf("{\"history_mb\": %lu, \"bytes\": %lu, \"samples\": %" PRIu64 ", \"late_ms\": %.0f, \"before\": %.0f, "
	       "\"during\": %.0f, \"after\": %.0f, \"loss\": %.2f, \"rss_mb\": %.0f, \"fresh_mb_per_s\": %.0f}\n",
	       one->history_mb, plan->bytes, board->of[0].samples, board->of[2].create_ms, before, during, after,
	       before > 0 ? 1 - during / before : 0.0, (double)board->of[2].rss_kb / 1024, touch_fresh_memory());
}

/* ---- runs -------------------------------------------------------------------------------------------------------------------- */

static void write_file(const struct one *one)
{
	int fd;
	FILE *out;

	snprintf(file, sizeof file, "/dev/shm/whorl-topics-XXXXXX");
	fd = mkstemp(file);
	out = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (out == NULL)
		err(1, "%s", file);
	fprintf(out, "[group]\nname = topics-%ld\nnodes = 0\nnodes_max = %d\nmemory_max = 64g\n%s", (long)getpid(),
		MOST, one->own ? "[topic *]\nchannel = own\n" : "");
	if (fclose(out) != 0)
		err(1, "%s", file);
}

static void remove_file(void)
{
	if (file[0] != '\0')
		(void)unlink(file);
	file[0] = '\0';
}

static _Noreturn void be(const struct plan *plan, const struct one *one, uint32_t self)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (one->topics > 0)
		be_one_of_many(one, self);
	else if (self == 0)
		be_the_writer(plan, one);
	else if (self == 1)
		be_a_member(plan);
	else
		be_late(plan);
	_exit(0);
}

static void run(const struct plan *plan, const struct one *one)
{
	memset(board, 0, sizeof *board);
	write_file(one);
	fflush(stdout);
	for (uint32_t i = 0; i < one->processes; i++) {
		pid_t child = fork();

		if (child < 0)
			err(1, "fork");
		if (child == 0)
			be(plan, one, i);
	}
	if (one->topics > 0)
		lead_many(plan, one);
	else
		lead_late(plan, one);
	while (wait(NULL) > 0)
		;
	remove_file();
	fflush(stdout);
}

/* ---- the command line -------------------------------------------------------------------------------------------------------- */

static unsigned numbers(const char *name, const char *text, unsigned long *values)
{
	unsigned count = 0;
	char *end;

	do {
		values[count++] = strtoul(text, &end, 10);
		if (end == text || (*end != '\0' && *end != ',') || count == MOST)
			errx(2, "--%s: expected numbers with commas between them, %d at most", name, MOST - 1);
		text = end + 1;
	} while (*end == ',');
	return count;
}

static void read_options(struct plan *plan, int argc, char *argv[])
{
	static const struct option options[] = {
		{"topics", required_argument, NULL, 't'},
		{"own", required_argument, NULL, 'o'},
		{"history", required_argument, NULL, 'h'},
		{"bytes", required_argument, NULL, 'b'},
		{"processes", required_argument, NULL, 'p'},
		{"seconds", required_argument, NULL, 's'},
		{"rounds", required_argument, NULL, 'r'},
		{"rate", required_argument, NULL, 'w'},
		{0},
	};
	int which, c;

	while ((c = getopt_long(argc, argv, "", options, &which)) != -1) {
		unsigned long values[MOST];
		unsigned long *one = c == 'b'   ? &plan->bytes
				     : c == 'p' ? &plan->processes
				     : c == 's' ? &plan->seconds
				     : c == 'w' ? &plan->rate
						: &plan->rounds;

		if (c == '?')
			exit(2);
		if (c == 't')
			plan->topic_count = numbers("topics", optarg, plan->topics);
		else if (c == 'h')
			plan->history_count = numbers("history", optarg, plan->histories);
		else if (c == 'o')
			plan->own = optarg;
		else if (numbers(options[which].name, optarg, values) == 1)
			*one = values[0];
	}
	if (optind < argc ||
	    (strcmp(plan->own, "no") != 0 && strcmp(plan->own, "yes") != 0 && strcmp(plan->own, "both") != 0))
		errx(2, "--own is no, yes or both, and there are no other words");
	if (plan->processes < 2 || plan->processes >= MOST || plan->bytes < 8 || plan->seconds < 1)
		errx(2, "it takes 2 to %d processes, samples of 8 bytes and a second at least", MOST - 1);
	if (plan->rate > SECOND)
		errx(2, "--rate is %lu, expected %" PRIu64 " samples a second at most", plan->rate, SECOND);
}

int main(int argc, char *argv[])
{
	struct plan plan = {.topics = {1, 50, 500},
			    .topic_count = 3,
			    .processes = 4,
			    .seconds = 2,
			    .rounds = 1,
			    .bytes = 1000,
			    .own = "both"};

	read_options(&plan, argc, argv);
	board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (board == MAP_FAILED)
		err(1, "memory");
	atexit(remove_file);
	for (unsigned long round = 0; round < plan.rounds; round++) {
		for (unsigned i = 0; i < plan.history_count; i++)
			run(&plan, &(struct one){.history_mb = plan.histories[i], .processes = 3});
		for (unsigned i = 0; plan.history_count == 0 && i < plan.topic_count; i++)
			for (int own = strcmp(plan.own, "yes") == 0; own <= (strcmp(plan.own, "no") != 0); own++)
				run(&plan, &(struct one){.topics = plan.topics[i],
							 .own = own != 0,
							 .processes = (uint32_t)plan.processes});
	}
	return 0;
}
