/* away.c - how fast a member of a durable group that was away gets what it lacks, and what that costs the group, as JSON.
 *
 *     whorl-away [--dir D] [--seconds N] [--mb N] [--message-bytes N] [--rounds N]
 *
 * Three nodes are processes of this host, and node 0 sends --mb MB in a second, or all that it can (0). Node 2 is killed; --seconds later it is
 * started again. It has what it lacks when its log is whole (whole_s), and is back when it is ready and is upcalled for what the others are (took_s). The
 * program has no functions for a state, so it is given all of a member's log: also what it had. Then, in each round:
 *
 *   copy     as many bytes of the log of node 0 are written to another file, and synced: beside the load, and again without it
 *   join     the same group without disks; node 2 comes back when two seconds are over, and is given a state of as many bytes, from memory
 *
 * All rates are of messages' bytes, and MB are 10^6. What the group delivers is looked at at node 0: for five seconds before the kill, while it is away, until
 * it has all, and for five seconds behind that.
 */
#include "bench/restart/parts.h"

#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NODES 3
#define BACK 2 /* the node that is away */
#define WINDOW 100
#define PHASE_S 5.0
#define JOIN_AWAY_S 2.0

/* ---- the program ------------------------------------------------------------------------------------------------------ */

static size_t state_bytes;
static unsigned char *sink; /* what is restored is copied there */

static void *take_state(const struct whorl_position *position, void *ctx)
{
	size_t *left = malloc(sizeof(*left));

	(void)position;
	(void)ctx;
	if (left != NULL)
		*left = state_bytes;
	return left;
}

static ptrdiff_t read_state(void *snapshot, void *bytes, size_t room, void *ctx)
{
	size_t *left = snapshot, count = *left < room ? *left : room;

	(void)ctx;
	memcpy(bytes, sink, count < PIECE_BYTES ? count : PIECE_BYTES);
	*left -= count < PIECE_BYTES ? count : PIECE_BYTES;
	return (ptrdiff_t)(count < PIECE_BYTES ? count : PIECE_BYTES);
}

static void release_state(void *snapshot, void *ctx)
{
	(void)ctx;
	free(snapshot);
}

static bool restore_state(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx)
{
	(void)step;
	(void)ctx;
	for (size_t at = 0; at < count; at += PIECE_BYTES)
		memcpy(sink, (const unsigned char *)bytes + at, count - at < PIECE_BYTES ? count - at : PIECE_BYTES);
	return true;
}

struct watch {
	whorl_subgroup *all;
	uint32_t id;
};

/* A log may be whole before the node is ready. */
static void *watch_log(void *ctx)
{
	const struct watch *watch = ctx;
	struct whorl_log_stats log = {.size = sizeof(log)};

	while (whorl_log_statistics(watch->all, &log) != WHORL_OK || !log.whole)
		rest();
	atomic_store(&shared->is_whole[watch->id], true);
	return NULL;
}

static whorl_node *open_node(const struct plan *plan, uint32_t id)
{
	static struct watch watch;
	const struct whorl_state functions = {.size = sizeof(functions),
					      .snapshot = take_state,
					      .read = read_state,
					      .release = release_state,
					      .restore = restore_state};
	whorl_config *config;
	pthread_t thread;
	whorl_node *node;
	char text[2048];

	snprintf(text, sizeof(text),
		 "[group]\nname = away-%ld\nnodes = %d\n%s%s\nmemory_max = 64g\nbacklog_max = 64g\n"
		 "failure_timeout_ms = 30000\n"
		 "[subgroup all]\nmode = %s\nwindow = %d\nmessage_bytes = %lu\n",
		 (long)getppid(), NODES,
		 plan->ordered ? "" : "disk_timeout_ms = 600000\nlog_dir = ", plan->ordered ? "" : plan->logs,
		 plan->ordered ? "ordered" : "durable\nlog_bytes = 1024g", WINDOW, plan->message_bytes);
	config = load(text);
	if (whorl_open(config, id, NULL, &node) != WHORL_OK)
		errx(1, "node %" PRIu32 ": %s", id, whorl_config_error(config));
	whorl_config_free(config);
	if (whorl_on_message(whorl_subgroup_at(node, 0), count_message, &shared->upcalled[id]) != WHORL_OK ||
	    (plan->ordered && whorl_on_state(whorl_subgroup_at(node, 0), &functions) != WHORL_OK))
		errx(1, "node %" PRIu32 ": no upcalls", id);
	watch = (struct watch){whorl_subgroup_at(node, 0), id};
	if (plan->ordered)
		atomic_store(&shared->is_whole[id], true);
	else if (pthread_create(&thread, NULL, watch_log, &watch) != 0)
		errx(1, "no thread");
	await_ready(node, id);
	return node;
}

/* So many in a second, or all that it can. */
static void send_for_ever(const struct plan *plan, whorl_subgroup *all, const unsigned char *message)
{
	double began = now(), per_s = (double)plan->mb * 1e6 / (double)plan->message_bytes;

	for (double sent = 0;; sent++) {
		enum whorl_result result;

		while (plan->mb > 0 && sent > (now() - began) * per_s)
			rest();
		do {
			result = whorl_send(all, message, plan->message_bytes, 1000, NULL);
		} while (result == WHORL_TIMEOUT || result == WHORL_AGAIN || result == WHORL_NO_QUORUM);
		if (result != WHORL_OK)
			errx(1, "node 0: %s", whorl_result_text(result));
	}
}

static _Noreturn void be_node(const struct plan *plan, uint32_t id)
{
	unsigned char *message = calloc(1, plan->message_bytes);
	whorl_subgroup *all;

	state_bytes = plan->state_bytes;
	sink = calloc(1, PIECE_BYTES);
	if (message == NULL || sink == NULL)
		errx(1, "no memory");
	all = whorl_subgroup_at(open_node(plan, id), 0);
	while (atomic_load(&shared->ready) < NODES)
		rest();
	if (id == 0)
		send_for_ever(plan, all, message);
	for (;;)
		pause();
}

static void begin_node(const struct plan *plan, pid_t nodes[], uint32_t id)
{
	nodes[id] = fork();
	if (nodes[id] == 0)
		be_node(plan, id);
	if (nodes[id] < 0)
		err(1, "fork");
}

/* ---- a group that a node comes back to -------------------------------------------------------------------------------- */

enum { BEFORE, AWAY, DURING, AFTER, PHASES };
enum { TOOK = PHASES, WHOLE, LACKED, GIVEN, BESIDE, ALONE, FIGURES };

static double delivered(const struct plan *plan, uint32_t id)
{
	return (double)atomic_load(&shared->upcalled[id]) * (double)plan->message_bytes / 1e6;
}

/* What the group delivers in that time, in MB/s. */
static double rate_for(const struct plan *plan, const pid_t nodes[], double seconds)
{
	double began = now(), had = delivered(plan, 0);

	for (; now() - began < seconds; rest())
		check_all(plan, nodes);
	return (delivered(plan, 0) - had) / (now() - began);
}

static bool has_all(const struct plan *plan)
{
	double others = delivered(plan, 0), window = WINDOW * (double)plan->message_bytes / 1e6;

	return atomic_load(&shared->is_ready[BACK]) && atomic_load(&shared->is_whole[BACK]) &&
	       (plan->ordered || delivered(plan, BACK) + window >= others);
}

static void kill_node(pid_t nodes[], uint32_t id)
{
	kill(nodes[id], SIGKILL);
	(void)waitpid(nodes[id], NULL, 0);
	atomic_store(&shared->upcalled[id], 0);
	atomic_store(&shared->is_ready[id], false);
	atomic_store(&shared->is_whole[id], false);
}

static void come_back(const struct plan *plan, pid_t nodes[], double figures[])
{
	double began = now(), had = delivered(plan, 0);

	figures[LACKED] = had - figures[LACKED];
	begin_node(plan, nodes, BACK);
	for (; !has_all(plan); rest()) {
		check_all(plan, nodes);
		if (figures[WHOLE] == 0 && atomic_load(&shared->is_whole[BACK]) && !plan->ordered) {
			figures[WHOLE] = now() - began;
			figures[GIVEN] = delivered(plan, 0);
		}
	}
	figures[TOOK] = now() - began;
	figures[DURING] = (delivered(plan, 0) - had) / figures[TOOK];
	if (figures[WHOLE] == 0) {
		figures[WHOLE] = figures[TOOK];
		figures[GIVEN] = plan->ordered ? (double)plan->state_bytes / 1e6 : delivered(plan, 0);
	}
}

/* So many MB of the log of node 0, as a program copies files. Returns MB/s. */
static double copy_log(const struct plan *plan, double mb)
{
	unsigned char *piece = malloc(PIECE_BYTES);
	double began = now(), done = 0;
	const struct dirent *entry;
	char path[600], to[600];
	DIR *directory;
	ssize_t got;
	int out;

	snprintf(path, sizeof(path), "%s/0", plan->logs);
	snprintf(to, sizeof(to), "%s/copy", plan->logs);
	directory = opendir(path);
	out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (directory == NULL || out < 0 || piece == NULL)
		err(1, "%s", to);
	while (done < mb && (entry = readdir(directory)) != NULL) {
		int in = openat(dirfd(directory), entry->d_name, O_RDONLY | O_CLOEXEC);

		while (in >= 0 && entry->d_name[0] != '.' && done < mb && (got = read(in, piece, PIECE_BYTES)) > 0) {
			if (write(out, piece, (size_t)got) != got)
				err(1, "%s", to);
			done += (double)got / 1e6;
		}
		close(in);
	}
	if (fdatasync(out) != 0)
		err(1, "%s", to);
	closedir(directory);
	close(out);
	unlink(to);
	free(piece);
	return done / (now() - began);
}

static void run_group(const struct plan *plan, double figures[])
{
	pid_t nodes[NODES_MAX];

	*shared = (struct shared){.ready = 0};
	for (uint32_t id = 0; id < NODES; id++)
		begin_node(plan, nodes, id);
	for (; atomic_load(&shared->ready) < NODES; rest())
		check_all(plan, nodes);
	(void)rate_for(plan, nodes, 1);
	figures[BEFORE] = rate_for(plan, nodes, PHASE_S);
	figures[LACKED] = delivered(plan, 0);
	kill_node(nodes, BACK);
	figures[AWAY] = rate_for(plan, nodes, plan->ordered ? JOIN_AWAY_S : (double)plan->seconds);
	come_back(plan, nodes, figures);
	figures[AFTER] = rate_for(plan, nodes, PHASE_S);
	if (!plan->ordered)
		figures[BESIDE] = copy_log(plan, figures[GIVEN]);
	end_all(plan, nodes);
	if (!plan->ordered)
		figures[ALONE] = copy_log(plan, figures[GIVEN]);
	remove_files(plan, false);
}

/* ---- rounds ------------------------------------------------------------------------------------------------------------- */

static double all[2][FIGURES][ROUNDS_MAX]; /* what was away; what joined */

static void print_group(const char *name, double of[FIGURES][ROUNDS_MAX], unsigned long rounds, const char *end)
{
	static const char *const names[FIGURES] = {
		[BEFORE] = "before_mb_per_s",
		[AWAY] = "away_mb_per_s",
		[DURING] = "during_mb_per_s",
		[AFTER] = "after_mb_per_s",
		[TOOK] = "took_s",
		[WHOLE] = "whole_s",
		[LACKED] = "lacked_mb",
		[GIVEN] = "given_mb",
		[BESIDE] = "copied_beside_mb_per_s",
		[ALONE] = "copied_alone_mb_per_s",
	};
	double given[ROUNDS_MAX], lost[ROUNDS_MAX], lacked[ROUNDS_MAX], beside[ROUNDS_MAX], alone[ROUNDS_MAX];
	bool copied = of[ALONE][0] > 0;

	for (unsigned long r = 0; r < rounds; r++) {
		given[r] = of[GIVEN][r] / of[WHOLE][r];
		lacked[r] = of[LACKED][r] / of[WHOLE][r];
		lost[r] = 1 - of[DURING][r] / of[AFTER][r];
		beside[r] = copied ? given[r] / of[BESIDE][r] : 0;
		alone[r] = copied ? given[r] / of[ALONE][r] : 0;
	}
	printf("\"%s\": {", name);
	for (int f = 0; f < (copied ? FIGURES : BESIDE); f++)
		print_figure(names[f], of[f], rounds, ", ");
	if (copied) {
		print_figure("lacked_mb_per_s", lacked, rounds, ", ");
		print_figure("given_over_copied_beside", beside, rounds, ", ");
		print_figure("given_over_copied_alone", alone, rounds, ", ");
	}
	print_figure("given_mb_per_s", given, rounds, ", ");
	print_figure("lost_of_after", lost, rounds, end);
}

static void run_rounds(struct plan *plan)
{
	for (unsigned long r = 0; r < plan->rounds; r++) {
		double was_away[FIGURES] = {0}, joined[FIGURES] = {0};

		plan->ordered = false;
		run_group(plan, was_away);
		plan->ordered = true;
		plan->state_bytes = (unsigned long)(was_away[GIVEN] * 1e6);
		run_group(plan, joined);
		for (int f = 0; f < FIGURES; f++) {
			all[0][f][r] = was_away[f];
			all[1][f][r] = joined[f];
		}
		fprintf(stderr,
			"round %lu of %lu: %.0f MB, of which it lacked %.0f, in %.2f s, upcalled in %.2f s; copied at %.0f MB/s beside, %.0f alone; joins in %.2f s\n",
			r + 1, plan->rounds, was_away[GIVEN], was_away[LACKED], was_away[WHOLE], was_away[TOOK],
			was_away[BESIDE], was_away[ALONE], joined[TOOK]);
	}
	printf("{\"nodes\": %d, \"message_bytes\": %lu, \"mb_per_s\": %lu, \"seconds\": %lu, \"rounds\": %lu, ", NODES,
	       plan->message_bytes, plan->mb, plan->seconds, plan->rounds);
	print_group("away", all[0], plan->rounds, "}, ");
	print_group("join", all[1], plan->rounds, "}}\n");
}

/* ---- the command line ------------------------------------------------------------------------------------------------- */

static void read_options(struct plan *plan, int argc, char *argv[])
{
	const struct setting settings[] = {
		{"seconds", &plan->seconds},
		{"message-bytes", &plan->message_bytes},
		{"mb", &plan->mb},
		{"rounds", &plan->rounds},
		{0},
	};

	read_settings(plan, settings, argc, argv);
	if (plan->seconds < 1 || plan->rounds < 1 || plan->rounds > ROUNDS_MAX || plan->message_bytes < 1)
		errx(2, "it takes a second at least, 1 to %d rounds, and a byte", ROUNDS_MAX);
}

int main(int argc, char *argv[])
{
	struct plan plan = {.dir = ".", .nodes = NODES, .seconds = 60, .mb = 20, .message_bytes = 10240, .rounds = 3};

	read_options(&plan, argc, argv);
	make_place(&plan);
	run_rounds(&plan);
	remove_files(&plan, true);
	return 0;
}
