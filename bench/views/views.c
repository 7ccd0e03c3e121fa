/* views.c - how long a change of view takes, as JSON.
 *
 *     whorl-views [--transport T] [--nodes N] [--subgroups N] [--bytes N] [--window N] [--changes N] [--pause MS]
 *
 * Nodes are processes of this host, and all of them are members and senders of all subgroups. Node 1 pauses its sending in one of
 * them, and takes it back, again and again: each is a change of view in which no member has failed. *Wish to view* is the time from that
 * call to its view upcall; *wedged to installed* that in which it neither sends nor delivers, which is a part of it. What a
 * node prepares for the next view is prepared while nothing happens, or the next view waits for it: with --pause 0 a wish follows each
 * view at once.
 *
 * `processor_us` is what a node uses for a change, on all its threads and with what is prepared in the pause after it: the mean of all
 * nodes. It says more than the times where processors are shared. `descriptors` and `maps` are those of the process of node 1 at the end.
 */
#include <dirent.h>
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <whorl/whorl.h>

#define READY_MS 60000
#define CHANGE_MS 30000
#define CHANGER 1 /* it is not the leader */

struct plan {
	const char *transport;
	unsigned long nodes, subgroups, bytes, window, changes, pause_ms;
};

struct change {
	uint64_t wish_to_view_ns, wedged_to_installed_ns;
};

struct run {          /* of a plan */
	pid_t *nodes; /* by id */
	struct change *changes;
	uint64_t processor_ns; /* of all nodes */
};

static _Atomic uint64_t view_ns; /* of the last view upcall */
static _Atomic uint64_t view_number;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Of processor, that this process has used. */
static uint64_t processor_ns(pid_t process)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &used) != 0)
		err(1, "the processor time of %ld", (long)process);
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

static void sleep_us(long us)
{
	nanosleep(&(struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000}, NULL);
}

static void note_view(const struct whorl_view *view, void *ctx)
{
	(void)ctx;
	atomic_store(&view_ns, now_ns());
	atomic_store(&view_number, view->number);
}

/* ---- nodes ---------------------------------------------------------------------------------------------------------- */

static whorl_config *configure(const struct plan *plan, pid_t group)
{
	whorl_config *config = whorl_config_new();
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (out == NULL || config == NULL)
		errx(1, "no memory");
	fprintf(out,
		"[group]\nname = views-%ld\ntransport = %s\nnodes = %lu\nmemory_max = 64g\nfailure_timeout_ms = 10000\n",
		(long)group, plan->transport, plan->nodes);
	for (unsigned long g = 0; g < plan->subgroups; g++)
		fprintf(out, "[subgroup s%lu]\nwindow = %lu\nmessage_bytes = %lu\n", g, plan->window, plan->bytes);
	fclose(out);
	if (whorl_config_load_text(config, "views", text) != WHORL_OK)
		errx(1, "%s", whorl_config_error(config));
	free(text);
	return config;
}

static whorl_node *open_node(const struct plan *plan, pid_t group, uint32_t id)
{
	whorl_config *config = configure(plan, group);
	enum whorl_result result;
	whorl_node *node;
	char why[512];

	if (whorl_open(config, id, NULL, &node) != WHORL_OK)
		errx(1, "node %" PRIu32 ": %s", id, whorl_config_error(config));
	whorl_config_free(config);
	if (id == CHANGER)
		whorl_on_view(node, note_view, NULL);
	result = whorl_start(node);
	if (result == WHORL_OK)
		result = whorl_ready(node, READY_MS);
	if (result != WHORL_OK) {
		whorl_progress(node, why, sizeof(why));
		warnx("node %" PRIu32 ": %s: %s", id, whorl_result_text(result), why);
		whorl_error(node, why, sizeof(why));
		errx(1, "node %" PRIu32 ": %s", id, why);
	}
	return node;
}

/* Until the pipe is closed, or the process that would close it has ended. */
static _Noreturn void be_member(const struct plan *plan, pid_t group, uint32_t id, const int until[2])
{
	whorl_node *node;
	char byte;

	close(until[1]);
	node = open_node(plan, group, id);
	(void)!read(until[0], &byte, 1);
	whorl_close(node, 1000);
	exit(0);
}

/* ---- changes -------------------------------------------------------------------------------------------------------- */

static struct change change_view(const whorl_node *node, whorl_subgroup *subgroup, bool pauses)
{
	struct whorl_node_stats stats = {.size = sizeof(stats)};
	uint64_t before = atomic_load(&view_number), wish_ns = now_ns();
	struct change change;

	if (whorl_pause_sending(subgroup, pauses) != WHORL_OK)
		errx(1, "it cannot be said that node %d pauses", CHANGER);
	while (atomic_load(&view_number) == before) {
		if (now_ns() - wish_ns > CHANGE_MS * UINT64_C(1000000))
			errx(1, "the view has not changed in %d s", CHANGE_MS / 1000);
		sleep_us(50);
	}
	change.wish_to_view_ns = atomic_load(&view_ns) - wish_ns;
	do { /* it is written just after the upcall */
		sleep_us(50);
		whorl_node_statistics(node, &stats);
	} while (stats.change_ns[WHORL_STAGE_INSTALLED] == 0);
	change.wedged_to_installed_ns = stats.change_ns[WHORL_STAGE_INSTALLED] - stats.change_ns[WHORL_STAGE_WEDGED];
	return change;
}

/* ---- what is printed ------------------------------------------------------------------------------------------------ */

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void print_times(const char *name, uint64_t *ns, unsigned long count)
{
	qsort(ns, count, sizeof(*ns), compare);
	printf(", \"%s\": {\"p10\": %.0f, \"p50\": %.0f, \"p90\": %.0f, \"max\": %.0f}", name,
	       (double)ns[count / 10] / 1e3, (double)ns[count / 2] / 1e3, (double)ns[count * 9 / 10] / 1e3,
	       (double)ns[count - 1] / 1e3);
}

static unsigned long count_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned long count = 0;

	while (folder != NULL && readdir(folder) != NULL)
		count++;
	if (folder != NULL)
		closedir(folder);
	return count < 3 ? 0 : count - 3; /* ".", "..", and that of the folder itself */
}

static unsigned long count_maps(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long count = 0;

	for (int c; maps != NULL && (c = getc(maps)) != EOF;)
		count += c == '\n';
	if (maps != NULL)
		fclose(maps);
	return count;
}

static void print(const struct plan *plan, const struct run *run)
{
	uint64_t *ns = calloc(plan->changes, sizeof(*ns));

	if (ns == NULL)
		errx(1, "no memory");
	printf("{\"transport\": \"%s\", \"nodes\": %lu, \"subgroups\": %lu, \"message_bytes\": %lu, \"window\": %lu, "
	       "\"changes\": %lu, \"pause_ms\": %lu",
	       plan->transport, plan->nodes, plan->subgroups, plan->bytes, plan->window, plan->changes, plan->pause_ms);
	for (unsigned long i = 0; i < plan->changes; i++)
		ns[i] = run->changes[i].wish_to_view_ns;
	print_times("wish_to_view_us", ns, plan->changes);
	for (unsigned long i = 0; i < plan->changes; i++)
		ns[i] = run->changes[i].wedged_to_installed_ns;
	print_times("wedged_to_installed_us", ns, plan->changes);
	printf(", \"processor_us\": %.0f", (double)run->processor_ns / 1e3 / (double)(plan->changes * plan->nodes));
	printf(", \"descriptors\": %lu, \"maps\": %lu}\n", count_descriptors(), count_maps());
	free(ns);
}

/* ---- the command line ----------------------------------------------------------------------------------------------- */

static unsigned long number(const char *name, const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*text == '\0' || *end != '\0')
		errx(2, "--%s %s: it is a number", name, text);
	return value;
}

static void read_options(struct plan *plan, int argc, char *argv[])
{
	static const struct option options[] = {
		{"transport", required_argument, NULL, 't'}, {"nodes", required_argument, NULL, 'n'},
		{"subgroups", required_argument, NULL, 's'}, {"bytes", required_argument, NULL, 'b'},
		{"window", required_argument, NULL, 'w'},    {"changes", required_argument, NULL, 'c'},
		{"pause", required_argument, NULL, 'p'},     {0},
	};
	int which, c;

	while ((c = getopt_long(argc, argv, "", options, &which)) != -1) {
		unsigned long *value = c == 'n'   ? &plan->nodes
				       : c == 's' ? &plan->subgroups
				       : c == 'b' ? &plan->bytes
				       : c == 'w' ? &plan->window
				       : c == 'c' ? &plan->changes
						  : &plan->pause_ms;

		if (c == '?')
			exit(2);
		if (c == 't')
			plan->transport = optarg;
		else
			*value = number(options[which].name, optarg);
	}
	if (optind < argc)
		errx(2, "%s: what is that?", argv[optind]);
	if (plan->nodes < 2 || plan->subgroups < 1 || plan->changes < 1)
		errx(2, "it takes two nodes, a subgroup and a change at least");
}

static uint64_t all_processor_ns(const struct plan *plan, const struct run *run)
{
	uint64_t sum = 0;

	for (unsigned long id = 0; id < plan->nodes; id++)
		sum += processor_ns(run->nodes[id]);
	return sum;
}

/* The first two changes are not counted: rows are made in them that later ones find. */
static void run_changes(const struct plan *plan, struct run *run, const whorl_node *node, whorl_subgroup *subgroup)
{
	for (unsigned long i = 0; i < plan->changes + 2; i++) {
		struct change change = change_view(node, subgroup, i % 2 == 0);

		if (i >= 2)
			run->changes[i - 2] = change;
		sleep_us((long)plan->pause_ms * 1000);
		if (i == 1)
			run->processor_ns = all_processor_ns(plan, run);
	}
	run->processor_ns = all_processor_ns(plan, run) - run->processor_ns;
}

int main(int argc, char *argv[])
{
	struct plan plan = {"shm", 4, 500, 128, 100, 20, 100};
	pid_t group = getpid();
	whorl_node *node;
	struct run run = {.processor_ns = 0};
	int until[2];

	read_options(&plan, argc, argv);
	run.changes = calloc(plan.changes, sizeof(*run.changes));
	run.nodes = calloc(plan.nodes, sizeof(*run.nodes));
	if (run.changes == NULL || run.nodes == NULL || pipe(until) != 0)
		err(1, "start");
	for (uint32_t id = 0; id < plan.nodes; id++) {
		run.nodes[id] = id == CHANGER ? group : fork();
		if (run.nodes[id] == 0)
			be_member(&plan, group, id, until);
		if (run.nodes[id] < 0)
			err(1, "fork");
	}
	node = open_node(&plan, group, CHANGER);
	run_changes(&plan, &run, node, whorl_subgroup_at(node, 0));
	print(&plan, &run);
	close(until[1]);
	whorl_close(node, 1000);
	while (wait(NULL) > 0)
		;
	free(run.nodes);
	free(run.changes);
	return 0;
}
