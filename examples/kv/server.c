/* examples/kv/server.c - whorl-kv: one replica of a key-value store that redis' tools can talk to (README.md). main, and the turns.
 *
 * A turn: whorl is stepped, what its upcalls have left is done, reads are asked for; then, if there is nothing to do, the thread
 * sleeps in epoll until a client, a member of the group or the timer wants something.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "examples/kv/server.h"

#define STEPS_AT_ONCE 64 /* a busy group must not starve the clients */
#define EVENTS 256
#define LOOK_MS 50 /* less than KV_TICK_MS */
#define CLOSE_MS 5000
#define BACKLOG 1024

uint64_t kv_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void kv_list_add(struct kv_list *list, struct kv_connection *connection)
{
	connection->next_same = NULL;
	if (list->last != NULL)
		list->last->next_same = connection;
	else
		list->first = connection;
	list->last = connection;
}

void kv_list_put_back(struct kv_list *list, struct kv_connection *connection)
{
	connection->next_same = list->first;
	list->first = connection;
	if (list->last == NULL)
		list->last = connection;
}

struct kv_connection *kv_list_take(struct kv_list *list)
{
	struct kv_connection *first = list->first;

	if (first == NULL)
		return NULL;
	list->first = first->next_same;
	if (list->first == NULL)
		list->last = NULL;
	return first;
}

/* ---- what epoll watches -------------------------------------------------------------------------------------------------------*/

/* The places of descriptors in the server say which they are. */
static bool watch(struct kv_server *server, int *fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = fd};

	return *fd >= 0 && epoll_ctl(server->epoll, EPOLL_CTL_ADD, *fd, &event) == 0;
}

/* The address to listen at; returns its length. */
static socklen_t make_address(const struct kv_options *options, struct sockaddr_storage *address)
{
	struct sockaddr_in *four = (struct sockaddr_in *)address;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;

	memset(address, 0, sizeof(*address));
	if (inet_pton(AF_INET, options->bind, &four->sin_addr) == 1) {
		four->sin_family = AF_INET;
		four->sin_port = htons(options->port);
		return sizeof(*four);
	}
	(void)inet_pton(AF_INET6, options->bind, &six->sin6_addr);
	six->sin6_family = AF_INET6;
	six->sin6_port = htons(options->port);
	return sizeof(*six);
}

static bool listen_for_clients(struct kv_server *server)
{
	struct kv_options *options = &server->options;
	struct sockaddr_storage address;
	socklen_t bytes = make_address(options, &address);
	const int on = 1;

	server->listener = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (server->listener < 0 || setsockopt(server->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
	    bind(server->listener, (struct sockaddr *)&address, bytes) != 0 || listen(server->listener, BACKLOG) != 0 ||
	    getsockname(server->listener, (struct sockaddr *)&address, &bytes) != 0) {
		fprintf(stderr, "whorl-kv: %s port %u: %s\n", options->bind, (unsigned)options->port, strerror(errno));
		return false;
	}
	options->port = ntohs(address.ss_family == AF_INET ? ((struct sockaddr_in *)&address)->sin_port
							   : ((struct sockaddr_in6 *)&address)->sin6_port);
	snprintf(server->address, sizeof(server->address), "%s %u",
		 options->announce[0] != '\0' ? options->announce : options->bind, (unsigned)options->port);
	return true;
}

/* Signals are read, like everything else. Before whorl is opened, so that its threads have them blocked, too. */
static bool take_signals(struct kv_server *server)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return false;
	server->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return watch(server, &server->signals);
}

static bool start_timer(struct kv_server *server)
{
	const struct itimerspec every = {{0, LOOK_MS * 1000000L}, {0, LOOK_MS * 1000000L}};

	server->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return timerfd_settime(server->timer, 0, &every, NULL) == 0 && watch(server, &server->timer);
}

/* A descriptor for each client, if the system allows them. */
static void raise_limit(struct kv_options *options)
{
	const uint64_t others = 600; /* whorl's, and our own */
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	if (limit.rlim_cur < options->maxclients + others) {
		limit.rlim_cur =
			limit.rlim_max < options->maxclients + others ? limit.rlim_max : options->maxclients + others;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (options->maxclients + others > limit.rlim_cur)
		options->maxclients = limit.rlim_cur > 2 * others ? limit.rlim_cur - others : limit.rlim_cur / 2;
}

static bool prepare(struct kv_server *server)
{
	const struct kv_options *options = &server->options;
	unsigned char dice[20] = {0};

	raise_limit(&server->options);
	(void)!getrandom(dice, sizeof(dice), 0);
	for (size_t i = 0; i < sizeof(dice); i++)
		snprintf(server->run_id + 2 * i, 3, "%02x", dice[i]);
	server->limits = (struct kv_limits){options->value_max, options->command_max, KV_ARGUMENTS_MAX};
	server->limits_before_auth = (struct kv_limits){16384, 32768, 10}; /* as redis */
	server->shards = 1;
	server->started_ms = server->clock_from_ms = kv_now_ms();
	server->epoll = epoll_create1(EPOLL_CLOEXEC);
	server->buffer = malloc(KV_BUFFER_BYTES);
	server->window = server->listener = -1;
	if (server->epoll < 0 || server->buffer == NULL || !take_signals(server))
		return fprintf(stderr, "whorl-kv: it cannot begin: %s\n", strerror(errno)), false;
	return true;
}

static bool watch_all(struct kv_server *server)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = &server->node};

	server->window = whorl_window_fd(server->kv); /* -1: this node only listens */
	if (server->window >= 0 && !watch(server, &server->window))
		return false;
	return epoll_ctl(server->epoll, EPOLL_CTL_ADD, whorl_fd(server->node), &event) == 0 &&
	       watch(server, &server->listener) && start_timer(server);
}

/* ---- turns --------------------------------------------------------------------------------------------------------------------*/

/* What upcalls have left to be done; it may leave more. */
static void resume_all(struct kv_server *server)
{
	struct kv_connection *connection;

	while ((connection = kv_list_take(&server->resumed)) != NULL)
		kv_connection_resume(connection);
}

/* True: nothing is left to do, and the doorbell is armed. */
static bool step(struct kv_server *server)
{
	size_t done = 0;

	kv_replica_read(server);
	for (int i = 0; i < STEPS_AT_ONCE && (done = whorl_step(server->node)) > 0; i++)
		resume_all(server);
	resume_all(server);
	kv_replica_read(server);
	server->asked = false; /* what has been asked for so far whorl_arm sees */
	return !kv_store_tidy(server->store) && server->reads.first == NULL && server->local_reads.first == NULL &&
	       done == 0 && !whorl_yield(server->node) && whorl_arm(server->node) == 0 && server->resumed.first == NULL;
}

/* The doorbell is armed, and nothing has been asked of whorl: late reads, and what needs no whorl, cost no pass and no other bell. True:
 * nothing is left to do, and it is so still. */
static bool step_aside(struct kv_server *server)
{
	kv_replica_read_local(server);
	resume_all(server);
	return !server->asked && server->reads.first == NULL && server->local_reads.first == NULL;
}

/* False: the server ends. */
static bool look(struct kv_server *server)
{
	uint64_t count;

	if (read(server->timer, &count, sizeof(count)) != sizeof(count))
		return true;
	kv_connections_look(server);
	if (!kv_replica_look(server))
		return false;
	kv_replica_retry(server);
	return true;
}

static void room(struct kv_server *server)
{
	uint64_t count;

	if (read(server->window, &count, sizeof(count)) == sizeof(count))
		server->window_armed = false;
	kv_replica_retry(server);
}

/* What epoll says, of one. The timer comes last: it may close clients of which an event is still to come. */
static void handle_event(struct kv_server *server, const struct epoll_event *event, bool *timer, bool *ends)
{
	if (event->data.ptr == &server->timer)
		*timer = true;
	else if (event->data.ptr == &server->signals)
		*ends = true;
	else if (event->data.ptr == &server->listener)
		kv_accept(server);
	else if (event->data.ptr == &server->window)
		room(server);
	else if (event->data.ptr == &server->node)
		server->asked = true;
	else
		kv_connection_event(event->data.ptr, event->events);
}

/* Exit status. */
static int serve(struct kv_server *server)
{
	struct epoll_event events[EVENTS];
	bool ends = false, idle = false;

	while (!ends) {
		bool timer = false;
		int count;

		idle = (idle && !server->asked && step_aside(server)) || step(server);
		count = epoll_wait(server->epoll, events, EVENTS, !idle ? 0 : server->window_soon ? 1 : -1);

		for (int i = 0; i < count; i++)
			handle_event(server, &events[i], &timer, &ends);
		if (server->window_soon)
			kv_replica_retry(server);
		if (timer && !look(server))
			return EXIT_FAILURE;
		server->asked = server->asked || timer;
	}
	return EXIT_SUCCESS;
}

/* Leaves the group. What is answered meanwhile still goes to the clients. */
static int finish(struct kv_server *server, int status)
{
	enum whorl_result result = whorl_close(server->node, status == EXIT_SUCCESS ? CLOSE_MS : 0);

	if (status == EXIT_SUCCESS && result != WHORL_OK) {
		fprintf(stderr, "whorl-kv: node %" PRIu32 " has not left in order: %s\n", server->options.id,
			whorl_result_text(result));
		status = EXIT_FAILURE;
	}
	server->ready = false;
	resume_all(server);
	while (server->connections != NULL)
		kv_connection_close(server->connections);
	resume_all(server);
	return status;
}

static void free_all(struct kv_server *server)
{
	struct kv_connection *connection;

	while ((connection = kv_list_take(&server->parked)) != NULL ||
	       (connection = kv_list_take(&server->reads)) != NULL ||
	       (connection = kv_list_take(&server->local_reads)) != NULL) {
		connection->waits = KV_WAITS_NOT;
		kv_connection_resume(connection);
	}
	(void)kv_server_store(server);
	(void)kv_server_addresses(server);
	kv_store_free(server->store);
	if (server->restore != NULL)
		kv_store_free(kv_restore_end(server->restore));
	free(server->addresses);
	free(server->addresses_restore);
	kv_bytes_clear(&server->reply, 0);
	whorl_config_free(server->config);
	free(server->buffer);
	free(server->options.sets);
}

int main(int argc, char **argv)
{
	static struct kv_server server;
	int status = EXIT_FAILURE;
	bool usage = false;

	switch (kv_options_read(&server.options, argc, argv)) {
	case KV_START_GO:
		break;
	case KV_START_HELP:
		return EXIT_SUCCESS;
	default:
		return 2;
	}
	if (!prepare(&server) || !listen_for_clients(&server))
		return EXIT_FAILURE;
	if (!kv_replica_open(&server, &usage)) {
		if (server.node != NULL)
			(void)whorl_close(server.node, 0);
		status = usage ? 2 : EXIT_FAILURE;
	} else if (!watch_all(&server)) {
		fprintf(stderr, "whorl-kv: it cannot begin: %s\n", strerror(errno));
		(void)finish(&server, EXIT_FAILURE);
	} else {
		printf("node %" PRIu32 " serves %s port %u\n", server.options.id, server.options.bind,
		       (unsigned)server.options.port);
		fflush(stdout);
		status = finish(&server, serve(&server));
	}
	free_all(&server);
	return status;
}
