/* parts.c - see parts.h. */
#include "bench/restart/parts.h"

#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct shared *shared;

double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

void rest(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

static unsigned long number(const char *name, const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*text == '\0' || *end != '\0')
		errx(2, "--%s %s: it is a number", name, text);
	return value;
}

void read_settings(struct plan *plan, const struct setting *settings, int argc, char *argv[])
{
	struct option options[SETTINGS_MAX + 2] = {{"dir", required_argument, NULL, 'd'}};
	int which, c;

	for (int i = 0; settings[i].name != NULL; i++)
		options[i + 1] = (struct option){settings[i].name, required_argument, NULL, 's'};
	while ((c = getopt_long(argc, argv, "", options, &which)) != -1) {
		if (c == '?')
			exit(2);
		if (c == 'd')
			plan->dir = optarg;
		else
			*settings[which - 1].value = number(options[which].name, optarg);
	}
	if (optind < argc)
		errx(2, "%s: what is that?", argv[optind]);
}

void make_place(struct plan *plan)
{
	snprintf(plan->logs, sizeof(plan->logs), "%s/whorl-restart-XXXXXX", plan->dir);
	if (mkdtemp(plan->logs) == NULL)
		err(1, "%s", plan->logs);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		err(1, "memory");
}

/* ---- files ------------------------------------------------------------------------------------------------------------ */

uint64_t pass_files(const struct plan *plan, uint32_t id, bool reads)
{
	unsigned char *piece = reads ? malloc(PIECE_BYTES) : NULL;
	const struct dirent *entry;
	uint64_t sum = 0;
	struct stat is;
	char path[600];
	DIR *directory;
	ssize_t got;

	snprintf(path, sizeof(path), "%s/%" PRIu32, plan->logs, id);
	directory = opendir(path);
	if (directory == NULL || (reads && piece == NULL))
		err(1, "%s", path);
	while ((entry = readdir(directory)) != NULL) {
		int fd = openat(dirfd(directory), entry->d_name, O_RDONLY | O_CLOEXEC);

		if (fd < 0 || fstat(fd, &is) != 0)
			err(1, "%s/%s", path, entry->d_name);
		if (S_ISREG(is.st_mode))
			sum += (uint64_t)is.st_size;
		while (S_ISREG(is.st_mode) && reads && (got = read(fd, piece, PIECE_BYTES)) != 0)
			if (got < 0)
				err(1, "%s/%s", path, entry->d_name);
		if (!reads && S_ISREG(is.st_mode) &&
		    (fdatasync(fd) != 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0))
			err(1, "%s/%s", path, entry->d_name);
		close(fd);
	}
	closedir(directory);
	free(piece);
	return sum;
}

void remove_files(const struct plan *plan, bool all)
{
	for (uint32_t id = 0; id < plan->nodes; id++) {
		char path[600];
		const struct dirent *entry;
		DIR *directory;

		snprintf(path, sizeof(path), "%s/%" PRIu32, plan->logs, id);
		directory = opendir(path);
		while (directory != NULL && (entry = readdir(directory)) != NULL)
			unlinkat(dirfd(directory), entry->d_name, 0);
		if (directory != NULL)
			closedir(directory);
		rmdir(path);
	}
	if (all)
		rmdir(plan->logs);
}

/* ---- nodes ---------------------------------------------------------------------------------------------------------- */

void count_message(const struct whorl_message *message, void *ctx)
{
	(void)message;
	atomic_fetch_add((_Atomic unsigned long *)ctx, 1);
}

whorl_config *load(const char *text)
{
	whorl_config *config = whorl_config_new();

	if (config == NULL)
		errx(1, "no memory");
	if (whorl_config_load_text(config, "restart", text) != WHORL_OK)
		errx(1, "%s", whorl_config_error(config));
	return config;
}

void await_ready(whorl_node *node, uint32_t id)
{
	enum whorl_result result = whorl_start(node);
	char why[512];

	if (result == WHORL_OK)
		result = whorl_ready(node, READY_MS);
	if (result != WHORL_OK) {
		whorl_progress(node, why, sizeof(why));
		errx(1, "node %" PRIu32 ": %s: %s", id, whorl_result_text(result), why);
	}
	atomic_store(&shared->is_ready[id], true);
	atomic_fetch_add(&shared->ready, 1);
}

void end_all(const struct plan *plan, const pid_t nodes[])
{
	for (uint32_t id = 0; id < plan->nodes; id++)
		kill(nodes[id], SIGKILL);
	while (wait(NULL) > 0)
		;
}

void check_all(const struct plan *plan, const pid_t nodes[])
{
	if (waitpid(-1, NULL, WNOHANG) > 0) {
		end_all(plan, nodes);
		errx(1, "a node has ended");
	}
}

/* ---- figures ---------------------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void print_figure(const char *name, double *values, unsigned long count, const char *end)
{
	qsort(values, count, sizeof(*values), compare);
	printf("\"%s\": {\"min\": %.3f, \"p50\": %.3f, \"max\": %.3f}%s", name, values[0], values[count / 2],
	       values[count - 1], end);
}
