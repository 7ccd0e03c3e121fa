/* replicas.c - see replicas.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/kv/replicas.h"
#include "tests/patience.h"
#include "tests/ports.h"
#include "tests/temporary.h"

#define MS UINT64_C(1000000)
#define SETTLE_MS 20000
#define VAIN_MOST 5  /* a newcomer may be removed on its way in, but not for ever */
#define SLACK_MS 500 /* for a machine that has other things to do */
#define DISK_MS 20000
#define PASSWORD "beside-the-point"

static void look_again(void)
{
	static const struct timespec time = {0, 5000000};

	nanosleep(&time, NULL);
}

/* ---- what they say -------------------------------------------------------------------------------------------------------- */

static void path_of(const struct replicas *replicas, const char *name, char path[180])
{
	snprintf(path, 180, "%s/%s", replicas->directory, name);
}

static void log_of(const struct replicas *replicas, uint32_t id, char path[180])
{
	snprintf(path, 180, "%s/log-%" PRIu32, replicas->directory, id);
}

static void print_end_of_log(const struct replicas *replicas, uint32_t id)
{
	char path[180], lines[3000];
	FILE *file;
	size_t bytes;

	log_of(replicas, id, path);
	file = fopen(path, "r");
	if (file == NULL)
		return;
	if (fseek(file, 1 - (long)sizeof(lines), SEEK_END) != 0)
		rewind(file);
	bytes = fread(lines, 1, sizeof(lines) - 1, file);
	lines[bytes] = '\0';
	fclose(file);
	printf("--- replica %" PRIu32 ", started %" PRIu32 " times\n%s", id, replicas->all[id].starts, lines);
}

/* What it has on its disk: files alone. */
static void remove_disk(const struct replicas *replicas, uint32_t id)
{
	char path[180], name[180 + 256];
	const struct dirent *entry;
	DIR *directory;

	snprintf(path, sizeof(path), "%s/disks/%" PRIu32, replicas->directory, id);
	directory = opendir(path);
	while (directory != NULL && (entry = readdir(directory)) != NULL) {
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		unlink(name);
	}
	if (directory != NULL)
		closedir(directory);
	rmdir(path);
}

static void remove_files(struct replicas *replicas)
{
	static const char *const names[] = {"group.ini", "key", "password"};
	char path[180];

	if (replicas->directory[0] == '\0')
		return;
	for (uint32_t id = 0; id < replicas->options.nodes; id++) {
		log_of(replicas, id, path);
		unlink(path);
		remove_disk(replicas, id);
	}
	path_of(replicas, "disks", path);
	rmdir(path);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		path_of(replicas, names[i], path);
		unlink(path);
	}
	rmdir(replicas->directory);
}

void replicas_fail(struct replicas *replicas, const char *format, ...)
{
	va_list list;

	printf("failed after %.3f s: ", (double)(resp_now_ns() - replicas->begin_ns) / 1e9);
	va_start(list, format);
	vprintf(format, list);
	va_end(list);
	printf("\n");
	for (uint32_t id = 0; id < replicas->options.nodes; id++) {
		if (replicas->all[id].fate != FATE_GONE) {
			kill(replicas->all[id].pid, SIGKILL);
			waitpid(replicas->all[id].pid, NULL, 0);
		}
		print_end_of_log(replicas, id);
	}
	remove_files(replicas);
	fflush(stdout);
	_exit(EXIT_FAILURE); /* the clients are at work still */
}

void replicas_note(const struct replicas *replicas, const char *format, ...)
{
	va_list list;

	if (getenv("WHORL_NOTES") == NULL)
		return;
	printf("%8.3f s: ", (double)(resp_now_ns() - replicas->begin_ns) / 1e9);
	va_start(list, format);
	vprintf(format, list);
	va_end(list);
	printf("\n");
	fflush(stdout);
}

/* ---- the group -------------------------------------------------------------------------------------------------------------- */

static FILE *create(struct replicas *replicas, const char *name)
{
	char path[180];
	int fd;

	path_of(replicas, name, path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		replicas_fail(replicas, "%s cannot be made: %s", path, strerror(errno));
	return fdopen(fd, "w");
}

static void write_group(struct replicas *replicas)
{
	const struct replicas_options *options = &replicas->options;
	FILE *file = create(replicas, "group.ini");

	fprintf(file,
		"[group]\nname = kv-nemesis-%d\ntransport = %s\nnodes = %" PRIu32 "\nfailure_timeout_ms = %" PRIu32
		"\n",
		(int)getpid(), options->transport, options->nodes, options->failure_ms);
	if (options->hosts)
		fprintf(file, "key_file = %s/key\n", replicas->directory);
	if (options->durable)
		fprintf(file, "log_dir = %s/disks\ndisk_timeout_ms = %" PRIu64 "\n", replicas->directory,
			test_patience(DISK_MS));
	for (uint32_t id = 0; id < options->nodes && options->hosts; id++)
		fprintf(file, "[node %" PRIu32 "]\naddress = 10.22.%" PRIu32 ".2:22000\n", id, id);
	fprintf(file,
		"[subgroup kv]\n%swindow = 2048\nmessage_bytes = 1k\nlarge_bytes = 2m\n"
		"[subgroup directory]\nwindow = 8\nmessage_bytes = 512\n",
		options->durable ? "mode = durable\nlog_bytes = 12m\n" : ""); /* so checkpoints are made, too */
	fclose(file);
	if (!options->hosts)
		return;
	file = create(replicas, "key");
	fprintf(file, "a key of no value, for a network that is gone with the test");
	fclose(file);
	file = create(replicas, "password");
	fprintf(file, "%s\n", PASSWORD);
	fclose(file);
	replicas->clients->password = PASSWORD;
}

/* One that is free now, on loopback. */
static uint16_t free_port(struct replicas *replicas)
{
	unsigned port = 0;

	if (!test_find_ports(&port, 1))
		replicas_fail(replicas, "there is no port: %s", strerror(errno));
	return (uint16_t)port;
}

static void place(struct replicas *replicas, uint32_t id)
{
	struct server *server = &replicas->clients->servers[id];

	if (replicas->options.hosts) {
		snprintf(server->address, sizeof(server->address), "10.23.%" PRIu32 ".2", id);
		server->port = 6379;
	} else {
		snprintf(server->address, sizeof(server->address), "127.0.0.1");
		server->port = free_port(replicas);
	}
}

void replicas_begin(struct replicas *replicas, const struct replicas_options *options, struct load_options *clients)
{
	char name[TEST_PATH_BYTES], disks[180];

	*replicas = (struct replicas){.options = *options, .clients = clients, .begin_ns = resp_now_ns()};
	if (mkdtemp(test_temporary(name, "kv-nemesis")) == NULL)
		replicas_fail(replicas, "%s cannot be made: %s", name, strerror(errno));
	snprintf(replicas->directory, sizeof(replicas->directory), "%s", name);
	path_of(replicas, "disks", disks);
	if (options->durable && mkdir(disks, 0700) != 0)
		replicas_fail(replicas, "%s cannot be made: %s", disks, strerror(errno));
	clients->servers_count = options->nodes;
	setenv("ASAN_OPTIONS", "exitcode=99", 0); /* 1 says that it was removed */
	write_group(replicas);
	for (uint32_t id = 0; id < options->nodes; id++)
		place(replicas, id);
	for (uint32_t id = 0; id < options->nodes; id++)
		replicas_start(replicas, id);
	replicas_settle(replicas);
}

/* ---- what is done to them ------------------------------------------------------------------------------------------------------ */

/* In the child. */
__attribute__((noreturn)) static void become(const struct replicas *replicas, uint32_t id, int log)
{
	char group[180], password[180], host[40], number[12], port[12], bind[40];
	const struct server *server = &replicas->clients->servers[id];
	const char *words[] = {"nsenter",  host, replicas->options.program, group,    "--id",  number,
			       "--listen", port, "--password-file",         password, "--set", bind,
			       NULL};
	int first = replicas->options.hosts ? 0 : 2, null = open("/dev/null", O_RDONLY);

	path_of(replicas, "group.ini", group);
	path_of(replicas, "password", password);
	snprintf(host, sizeof(host), "--net=/run/netns/h%" PRIu32, id);
	snprintf(number, sizeof(number), "%" PRIu32, id);
	snprintf(port, sizeof(port), "%u", server->port);
	snprintf(bind, sizeof(bind), "kv.bind=%s", server->address);
	if (!replicas->options.hosts)
		words[8] = NULL;          /* it listens on loopback, and needs no password */
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* it does not outlive the test */
	dup2(null, 0);
	dup2(log, 1);
	dup2(log, 2);
	execvp(words[first], (char *const *)(words + first));
	dprintf(2, "%s: %s\n", words[first], strerror(errno));
	_exit(127);
}

void replicas_start(struct replicas *replicas, uint32_t id)
{
	struct replica *replica = &replicas->all[id];
	char path[180];
	int log;

	log_of(replicas, id, path);
	log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	replicas_note(replicas, "replica %" PRIu32 " is started", id);
	fflush(stdout);
	replica->pid = fork();
	if (replica->pid == 0)
		become(replicas, id, log);
	if (log < 0 || replica->pid < 0)
		replicas_fail(replicas, "replica %" PRIu32 " cannot be started: %s", id, strerror(errno));
	close(log);
	replica->fate = FATE_LIVES;
	replica->may_be_removed = false;
	replica->starts++;
}

void replicas_kill(struct replicas *replicas, uint32_t id)
{
	struct replica *replica = &replicas->all[id];

	replicas_see_ends(replicas);
	if (replica->fate == FATE_GONE)
		return;
	replicas_note(replicas, "replica %" PRIu32 " is killed", id);
	kill(replica->pid, SIGKILL);
	waitpid(replica->pid, NULL, 0);
	replica->fate = FATE_GONE;
	replicas->kills++;
}

void replicas_stop(struct replicas *replicas, uint32_t id, bool may_be_removed)
{
	struct replica *replica = &replicas->all[id];

	if (replica->fate != FATE_LIVES)
		return;
	replicas_note(replicas, "replica %" PRIu32 " stands still", id);
	kill(replica->pid, SIGSTOP);
	replica->fate = FATE_STOPPED;
	replica->may_be_removed |= may_be_removed;
	replicas->stops++;
}

void replicas_continue(struct replicas *replicas, uint32_t id)
{
	struct replica *replica = &replicas->all[id];

	if (replica->fate != FATE_STOPPED)
		return;
	replicas_note(replicas, "replica %" PRIu32 " goes on", id);
	kill(replica->pid, SIGCONT);
	replica->fate = FATE_LIVES;
}

static void run_command(struct replicas *replicas, const char *command)
{
	if (system(command) != 0)
		replicas_fail(replicas, "that failed: %s", command);
}

static void note_cut(struct replicas *replicas, uint32_t id)
{
	replicas->all[id].may_be_removed = true;
}

#define WHOLE 1500 /* bytes that go through at once */
#define HARDLY 72  /* an acknowledgement takes 52 */

static size_t add_rule(char *lines, size_t bytes, uint32_t from, uint32_t to)
{
	return (size_t)snprintf(
		lines, bytes, "rule add from 10.22.%" PRIu32 ".0/24 to 10.22.%" PRIu32 ".0/24 priority 11 blackhole\\n",
		from, to);
}

static size_t set_mtu(char *lines, size_t bytes, uint32_t id, int mtu)
{
	return (size_t)snprintf(lines, bytes, "link set h%" PRIu32 " mtu %d\\n", id, mtu);
}

/* As `sever` and `heal` of tests/network/hosts.sh, at once. */
static void change_network(struct replicas *replicas, const char *lines)
{
	char command[9000];

	snprintf(command, sizeof(command), "printf '%s' | ip -batch -", lines);
	run_command(replicas, command);
}

void replicas_cut(struct replicas *replicas, uint32_t some, uint32_t others)
{
	uint32_t nodes = replicas->options.nodes;
	char lines[8000] = "";
	size_t at = 0;

	replicas_note(replicas, "replicas %#" PRIx32 " and %#" PRIx32 " are cut from each other", some, others);
	for (uint32_t one = 0; one < nodes; one++)
		for (uint32_t other = one + 1; other < nodes; other++)
			if ((((some >> one & others >> other) | (others >> one & some >> other)) & 1) != 0) {
				at += add_rule(lines + at, sizeof(lines) - at, one, other);
				at += add_rule(lines + at, sizeof(lines) - at, other, one);
				note_cut(replicas, one);
				note_cut(replicas, other);
			}
	for (uint32_t id = 0; id < nodes; id++) /* that were muffled */
		at += set_mtu(lines + at, sizeof(lines) - at, id, WHOLE);
	change_network(replicas, lines);
	replicas->cuts++;
}

void replicas_muffle(struct replicas *replicas, uint32_t id)
{
	char lines[80];

	replicas_note(replicas, "replica %" PRIu32 " is hardly heard", id);
	set_mtu(lines, sizeof(lines), id, HARDLY);
	change_network(replicas, lines);
	note_cut(replicas, id);
	replicas->cuts++;
}

void replicas_heal(struct replicas *replicas)
{
	replicas_note(replicas, "nothing is cut any more");
	run_command(replicas, "while ip rule del priority 11 2>/dev/null; do :; done");
}

/* ---- what becomes of them ------------------------------------------------------------------------------------------------------- */

static void see_end(struct replicas *replicas, uint32_t id, int status)
{
	struct replica *replica = &replicas->all[id];

	replica->fate = FATE_GONE;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 1)
		replicas_fail(replicas, "replica %" PRIu32 " has ended with %s %d", id,
			      WIFEXITED(status) ? "status" : "signal",
			      WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	if (++replica->vain > VAIN_MOST)
		replicas_fail(replicas, "replica %" PRIu32 " has ended with status 1, %d times before it was ready", id,
			      VAIN_MOST);
	replicas_note(replicas, "replica %" PRIu32 " has ended: it was removed", id);
	replicas->removed++;
	replicas->unasked += !replica->may_be_removed;
}

void replicas_see_ends(struct replicas *replicas)
{
	int status;

	for (uint32_t id = 0; id < replicas->options.nodes; id++)
		if (replicas->all[id].fate != FATE_GONE && waitpid(replicas->all[id].pid, &status, WNOHANG) > 0)
			see_end(replicas, id, status);
}

/* A client that has no stale reads. */
static struct load_options reader(const struct replicas *replicas)
{
	struct load_options options = *replicas->clients;

	options.local_reads = false;
	return options;
}

static bool is_ready(const struct replicas *replicas, uint32_t id, char why[160])
{
	struct load_options options = reader(replicas);

	return load_is_ready(&options, id, replicas->options.failure_ms, why);
}

/* All are there, and members: none that is not answers a read. */
static bool all_are_ready(struct replicas *replicas, char text[200])
{
	/* After the end of all any of them may be needed: one may have gone on alone at last. */
	for (uint32_t id = 0; id < replicas->options.nodes; id++)
		if (replicas->all[id].fate == FATE_GONE)
			replicas_start(replicas, id);
	for (uint32_t id = 0; id < replicas->options.nodes; id++) {
		char why[160];

		if (!is_ready(replicas, id, why)) {
			snprintf(text, 200, "replica %" PRIu32 ": %s", id, why);
			return false;
		}
	}
	return true;
}

void replicas_settle(struct replicas *replicas)
{
	uint64_t from_ns = resp_now_ns();
	char text[200] = "";

	for (;;) {
		replicas_see_ends(replicas);
		if (all_are_ready(replicas, text))
			break;
		if (resp_now_ns() - from_ns > test_patience(SETTLE_MS) * MS)
			replicas_fail(replicas, "the replicas are not ready: %s", text);
		look_again();
	}
	for (uint32_t id = 0; id < replicas->options.nodes; id++) {
		replicas->all[id].may_be_removed = false;
		replicas->all[id].vain = 0;
	}
	replicas_note(replicas, "all are ready, after %.3f s", (double)(resp_now_ns() - from_ns) / 1e9);
}

/* One command: is it refused for that reason? */
static bool is_refused(const struct replicas *replicas, uint32_t id, const char *command, const char *reason,
		       uint64_t until_ns)
{
	struct resp resp = {.fd = -1};
	struct resp_reply reply;
	struct load_options options = reader(replicas);
	bool refused = load_connect(&options, &resp, id, until_ns) && resp_ask(&resp, &reply, "%s", command) &&
		       reply.kind == RESP_ERROR && strncmp(reply.text, reason, strlen(reason)) == 0;

	resp_free(&resp);
	return refused;
}

uint64_t replicas_await_down(struct replicas *replicas, uint32_t id, uint64_t from_ns)
{
	static const char *const commands[] = {"GET nothing", "SET probe 1"};
	uint64_t most_ns = (replicas->options.failure_ms + test_patience(SLACK_MS)) * MS, read_ns = 0;

	for (int i = 0; i < 2; i++) {
		while (!is_refused(replicas, id, commands[i], "CLUSTERDOWN ", from_ns + most_ns)) {
			if (resp_now_ns() - from_ns > most_ns)
				replicas_fail(replicas,
					      "replica %" PRIu32 " has no quorum, and does not say so to %s in %" PRIu64
					      " ms",
					      id, commands[i], most_ns / MS);
			look_again();
		}
		if (i == 0)
			read_ns = resp_now_ns();
		most_ns += test_patience(SLACK_MS) * MS;
	}
	return read_ns;
}

void replicas_await_loading(struct replicas *replicas, uint32_t id)
{
	uint64_t until_ns = resp_now_ns() + test_patience(SETTLE_MS / 4) * MS;

	while (!is_refused(replicas, id, "GET nothing", "LOADING ", until_ns)) {
		replicas_see_ends(replicas);
		if (resp_now_ns() > until_ns)
			replicas_fail(replicas,
				      "replica %" PRIu32 " cannot come in, and does not say that it is loading", id);
		look_again();
	}
	replicas_note(replicas, "replica %" PRIu32 " says that it is loading", id);
}

/* ---- in the end ------------------------------------------------------------------------------------------------------------------ */

/* The value of a line of INFO. */
static bool find_info(const char *info, const char *name, char value[80])
{
	const char *at = strstr(info, name);

	if (at == NULL || (at > info && at[-1] != '\n'))
		return false;
	at += strlen(name);
	snprintf(value, 80, "%.*s", (int)strcspn(at, "\r\n"), at);
	return true;
}

static bool ask_info(struct replicas *replicas, uint32_t id, char digest[80], char view[80])
{
	struct resp resp = {.fd = -1};
	struct resp_reply reply;
	uint64_t until_ns = resp_now_ns() + replicas->options.failure_ms * MS;
	bool good = load_connect(replicas->clients, &resp, id, until_ns) && resp_ask(&resp, &reply, "INFO") &&
		    reply.kind == RESP_BULK && find_info(reply.text, "digest:", digest) &&
		    find_info(reply.text, "view:", view);

	resp_free(&resp);
	return good;
}

uint64_t replicas_compare(struct replicas *replicas)
{
	uint64_t from_ns = resp_now_ns();
	char digests[LOAD_SERVERS][80], view[80] = "";

	for (;;) {
		bool same = true;

		for (uint32_t id = 0; id < replicas->options.nodes && same; id++) {
			snprintf(digests[id], sizeof(digests[id]), "no answer");
			same = ask_info(replicas, id, digests[id], view) && strcmp(digests[id], digests[0]) == 0;
			if (!same && resp_now_ns() - from_ns > test_patience(SETTLE_MS / 4) * MS)
				replicas_fail(replicas, "replica %" PRIu32 " has the digest %s, replica 0 has %s", id,
					      digests[id], digests[0]);
		}
		if (same)
			return strtoull(view, NULL, 10);
		look_again();
	}
}

void replicas_end(struct replicas *replicas)
{
	for (uint32_t id = 0; id < replicas->options.nodes; id++)
		kill(replicas->all[id].pid, SIGTERM);
	for (uint32_t id = 0; id < replicas->options.nodes; id++) {
		uint64_t from_ns = resp_now_ns();
		int status = 0;

		while (waitpid(replicas->all[id].pid, &status, WNOHANG) == 0) {
			if (resp_now_ns() - from_ns > test_patience(SETTLE_MS) * MS)
				replicas_fail(replicas, "replica %" PRIu32 " does not end", id);
			look_again();
		}
		replicas->all[id].fate = FATE_GONE;
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			replicas_fail(replicas, "replica %" PRIu32 " was told to end, and did with %#x", id,
				      (unsigned)status);
	}
	remove_files(replicas);
}
