/* shm_meet.c - how the nodes of a group find each other.
 *
 * Each node listens on an abstract Unix socket named by user, group and id, so an id can be had once, and the name goes
 * with its process. Who connects is asked of the kernel (SO_PEERCRED) before a byte of his is read; another user's
 * process is turned away. Who is let in but does not say a good hello within a second costs one of a few places for that
 * second and no more: if all are taken the oldest goes, and calls again if it was a peer.
 */
#include "transport/shm_int.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#define RETRY_FIRST_NS (2 * WH_NS_PER_MS)
#define RETRY_LAST_NS (50 * WH_NS_PER_MS)
#define ACCEPTED_AT_ONCE 8

/* ---- small things ------------------------------------------------------------------------------------------------- */

void wh_shm_timer_start(struct wh_shm *t, uint64_t in_ns)
{
	struct itimerspec when = {.it_value.tv_sec = (time_t)(in_ns / WH_NS_PER_S),
				  .it_value.tv_nsec = (long)(in_ns % WH_NS_PER_S)};
	uint64_t at = wh_env_now(t->env) + in_ns;

	if ((t->timer_ns == 0 || at < t->timer_ns) && timerfd_settime(t->timer, 0, &when, NULL) == 0)
		t->timer_ns = at;
}

static socklen_t name_socket(const struct wh_shm *t, uint32_t node, struct sockaddr_un *name)
{
	int length;

	memset(name, 0, sizeof(*name));
	name->sun_family = AF_UNIX;
	length = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "whorl/%" PRIu64 "/%s/%" PRIu32,
			  (uint64_t)t->user, t->group, node);
	_Static_assert(WH_SHM_GROUP_BYTES + sizeof("whorl/4294967295//4294967295") <= sizeof(name->sun_path) - 1,
		       "every name fits");
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static bool ask_kernel(int socket, struct ucred *who)
{
	socklen_t bytes = sizeof(*who);

	return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, who, &bytes) == 0;
}

/* ---- hello -------------------------------------------------------------------------------------------------------- */

static bool send_hello(struct wh_shm *t, int socket, pid_t pid)
{
	struct wh_shm_hello hello = {.head = wh_shm_head(WH_SHM_HELLO), .node = t->node, .nodes = t->nodes};
	int fds[] = {t->doorbell, t->memory.fd};

	hello.status = wh_shm_memory_claim(&t->memory, WH_SHM_STATUS_BYTES, pid == getpid());
	memcpy(hello.group, t->group, sizeof(hello.group));
	return wh_shm_send(socket, &hello, sizeof(hello), fds, 2) == 0;
}

/* True, and why, if its sender cannot be of our group as we know it. */
static bool is_foreign(const struct wh_shm *t, const struct wh_shm_hello *hello, char reason[WH_SHM_REASON_BYTES])
{
	if (hello->head.version != WH_SHM_VERSION)
		snprintf(reason, WH_SHM_REASON_BYTES,
			 "node %" PRIu32 " speaks version %" PRIu32 " of the protocol, node %" PRIu32 " version %d",
			 hello->node, hello->head.version, t->node, WH_SHM_VERSION);
	else if (hello->nodes != t->nodes)
		snprintf(reason, WH_SHM_REASON_BYTES,
			 "node %" PRIu32 " is of a group of %" PRIu32 " nodes, node %" PRIu32 " of one of %" PRIu32,
			 hello->node, hello->nodes, t->node, t->nodes);
	else if (strcmp(hello->group, t->group) != 0)
		snprintf(reason, WH_SHM_REASON_BYTES, "node %" PRIu32 " is of group %s, node %" PRIu32 " of group %s",
			 hello->node, hello->group, t->node, t->group);
	else
		return false;
	return true;
}

/* A descriptor that a write cannot block on. */
static bool is_doorbell(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_NONBLOCK) != 0 && (flags & O_ACCMODE) == O_RDWR;
}

/* The peer's hello has come; its doorbell and its page are taken over. False: it has been refused. */
bool wh_shm_welcome(struct wh_shm *t, struct wh_shm_peer *peer, struct wh_shm_packet *packet)
{
	const struct wh_row_part whole = {.offset = 0, .bytes = WH_SHM_STATUS_BYTES};
	const struct wh_shm_hello *hello = &packet->hello;
	char reason[WH_SHM_REASON_BYTES];
	struct wh_error err;

	if (is_foreign(t, hello, reason)) {
		wh_shm_refuse(t, peer, "%s", reason);
		return false;
	}
	if (hello->node != peer->node) {
		wh_shm_refuse(t, peer, "node %" PRIu32 " answers where node %" PRIu32 " should", hello->node,
			      peer->node);
		return false;
	}
	if (hello->status.bytes != WH_SHM_STATUS_BYTES || !is_doorbell(packet->fds[0])) {
		wh_shm_refuse(t, peer, "node %" PRIu32 " has no proper doorbell", hello->node);
		return false;
	}
	if (wh_shm_view_map(&peer->view, packet->fds[1], &hello->status, &whole, 1, peer->pid == getpid(), &err) !=
	    WHORL_OK) {
		wh_shm_refuse(t, peer, "status page of node %" PRIu32 ": %s", hello->node, err.text);
		return false;
	}
	peer->status = (const struct wh_shm_status *)(const void *)peer->view.base;
	peer->doorbell = packet->fds[0];
	packet->fds[0] = -1;
	peer->rung = 0;
	return true;
}

/* ---- the caller's side -------------------------------------------------------------------------------------------- */

static void call(struct wh_shm *t, struct wh_shm_peer *peer)
{
	struct sockaddr_un name;
	socklen_t name_bytes = name_socket(t, peer->node, &name);
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct ucred who;

	if (s < 0) {
		wh_shm_complain(t, "cannot call node %" PRIu32 ": %s", peer->node, strerror(errno));
		return;
	}
	if (connect(s, (const struct sockaddr *)&name, name_bytes) != 0 || !ask_kernel(s, &who)) {
		if (errno != ECONNREFUSED && errno != EAGAIN) /* not there yet; its queue is full */
			wh_shm_complain(t, "cannot call node %" PRIu32 ": %s", peer->node, strerror(errno));
		close(s);
		return;
	}
	peer->pid = who.pid;
	if (who.uid != t->user) {
		close(s);
		wh_shm_event_text(t, WH_EVENT_REFUSED, peer->node,
				  "the place of node %" PRIu32 " of group %s is held by pid %d of user %" PRIu64,
				  peer->node, t->group, (int)who.pid, (uint64_t)who.uid);
		peer->state = WH_SHM_GONE;
		return;
	}
	if (!send_hello(t, s, who.pid) || !wh_shm_watch(t, EPOLL_CTL_ADD, s, WH_SHM_PEER, peer->node)) {
		close(s);
		return;
	}
	peer->socket = s;
	peer->state = WH_SHM_CALLED;
}

void wh_shm_meet_tick(struct wh_shm *t)
{
	bool absent = false, strangers = false;
	uint64_t now = wh_env_now(t->env), times;

	t->timer_ns = 0;
	(void)!read(t->timer, &times, sizeof(times));
	if (t->left)
		return;
	if (t->listener_rests)
		t->listener_rests = !wh_shm_watch(t, EPOLL_CTL_MOD, t->listener, WH_SHM_LISTENER, 0);
	for (uint32_t i = 0; i < WH_SHM_STRANGERS; i++) {
		if (t->strangers[i].socket >= 0 && t->strangers[i].deadline_ns <= now)
			wh_shm_hang_up(t, &t->strangers[i].socket);
		strangers = strangers || t->strangers[i].socket >= 0;
	}
	for (uint32_t node = 0; node < t->node; node++) {
		if (t->peers[node].state == WH_SHM_ABSENT && !wh_shm_events_full(t))
			call(t, &t->peers[node]);
		absent = absent || t->peers[node].state == WH_SHM_ABSENT;
	}
	if (absent) {
		wh_shm_timer_start(t, t->retry_ns);
		t->retry_ns = 2 * t->retry_ns < RETRY_LAST_NS ? 2 * t->retry_ns : RETRY_LAST_NS;
	} else if (strangers || t->listener_rests) {
		wh_shm_timer_start(t, RETRY_LAST_NS);
	}
}

/* ---- the called side ---------------------------------------------------------------------------------------------- */

static uint32_t place_for_stranger(struct wh_shm *t)
{
	uint32_t oldest = 0;

	for (uint32_t i = 0; i < WH_SHM_STRANGERS; i++) {
		if (t->strangers[i].socket < 0)
			return i;
		if (t->strangers[i].deadline_ns < t->strangers[oldest].deadline_ns)
			oldest = i;
	}
	wh_shm_hang_up(t, &t->strangers[oldest].socket);
	return oldest;
}

void wh_shm_meet_accept(struct wh_shm *t)
{
	for (int n = 0; n < ACCEPTED_AT_ONCE && !wh_shm_events_full(t); n++) {
		int s = accept4(t->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct ucred who = {.uid = (uid_t)-1};
		uint32_t i;

		if (s < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
			return;
		if (s < 0) { /* out of descriptors: not again before the timer */
			wh_shm_complain(t, "cannot accept a connection: %s", strerror(errno));
			t->listener_rests =
				epoll_ctl(t->epoll, EPOLL_CTL_MOD, t->listener, &(struct epoll_event){0}) == 0;
			wh_shm_timer_start(t, RETRY_LAST_NS);
			return;
		}
		if (!ask_kernel(s, &who) || who.uid != t->user) {
			close(s);
			wh_shm_complain(t, "turned away a process of user %" PRIu64, (uint64_t)who.uid);
			continue;
		}
		i = place_for_stranger(t);
		if (!wh_shm_watch(t, EPOLL_CTL_ADD, s, WH_SHM_STRANGER, i)) {
			close(s);
			continue;
		}
		t->strangers[i] = (struct wh_shm_stranger){
			.socket = s, .pid = who.pid, .deadline_ns = wh_env_now(t->env) + WH_SHM_STRANGER_NS};
		wh_shm_timer_start(t, RETRY_LAST_NS);
		wh_shm_meet_stranger(t, i); /* a peer has said its hello already */
	}
}

/* One who does not belong here, and without whom the group can form: told why, and forgotten. */
static void turn_away(struct wh_shm *t, struct wh_shm_stranger *stranger, const char *reason)
{
	wh_shm_send_refusal(stranger->socket, reason);
	wh_shm_hang_up(t, &stranger->socket);
	wh_shm_complain(t, "turned away pid %d: %s", (int)stranger->pid, reason);
}

/* A stranger has said hello. If it is a peer that we wait for, the connection becomes the peer's. */
static void hear_hello(struct wh_shm *t, struct wh_shm_stranger *stranger, struct wh_shm_packet *packet)
{
	const struct wh_shm_hello *hello = &packet->hello;
	bool is_higher = hello->node > t->node && hello->node < t->nodes;
	struct wh_shm_peer *peer = &t->peers[is_higher ? hello->node : t->node];
	char reason[WH_SHM_REASON_BYTES];

	if (peer->state != WH_SHM_ABSENT) {
		if (is_foreign(t, hello, reason))
			;
		else if (!is_higher)
			snprintf(reason, sizeof(reason), "node %" PRIu32 " has nothing to call node %" PRIu32 " for",
				 hello->node, t->node);
		else
			snprintf(reason, sizeof(reason), "node %" PRIu32 " (pid %d) %s", peer->node, (int)peer->pid,
				 peer->state == WH_SHM_MET ? "is here already" : "is gone for good");
		turn_away(t, stranger, reason);
		return;
	}
	peer->socket = stranger->socket;
	peer->pid = stranger->pid;
	stranger->socket = -1;
	if (!wh_shm_welcome(t, peer, packet))
		return;
	if (wh_shm_watch(t, EPOLL_CTL_MOD, peer->socket, WH_SHM_PEER, peer->node) &&
	    send_hello(t, peer->socket, peer->pid))
		peer->state = WH_SHM_MET;
	else
		wh_shm_end_connection(t, peer, WH_SHM_ABSENT); /* it has hung up: it will call again */
}

void wh_shm_meet_stranger(struct wh_shm *t, uint32_t i)
{
	struct wh_shm_stranger *stranger = &t->strangers[i];
	struct wh_shm_packet packet;

	if (stranger->socket < 0)
		return;
	switch (wh_shm_receive(stranger->socket, &packet)) {
	case WH_SHM_NOTHING:
		return;
	case WH_SHM_PACKET:
		if (packet.head.kind == WH_SHM_HELLO)
			hear_hello(t, stranger, &packet);
		else
			wh_shm_hang_up(t, &stranger->socket);
		wh_shm_packet_close(&packet);
		return;
	case WH_SHM_HUNG_UP:
	case WH_SHM_GARBAGE:
		wh_shm_hang_up(t, &stranger->socket);
		return;
	}
}

/* ---- open --------------------------------------------------------------------------------------------------------- */

/* The name is taken: by whom? */
static enum whorl_result name_taken(struct wh_shm *t, const struct sockaddr_un *name, socklen_t bytes,
				    struct wh_error *err)
{
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool known;
	struct ucred who;

	known = s >= 0 && connect(s, (const struct sockaddr *)name, bytes) == 0 && ask_kernel(s, &who);
	if (s >= 0)
		close(s);
	if (!known)
		return wh_error_set(err, WHORL_REFUSED, "node %" PRIu32 " of group %s is already running", t->node,
				    t->group);
	if (who.uid != t->user)
		return wh_error_set(err, WHORL_REFUSED,
				    "the place of node %" PRIu32 " of group %s is held by pid %d of user %" PRIu64,
				    t->node, t->group, (int)who.pid, (uint64_t)who.uid);
	return wh_error_set(err, WHORL_REFUSED, "node %" PRIu32 " of group %s is already running (pid %d)", t->node,
			    t->group, (int)who.pid);
}

enum whorl_result wh_shm_meet_open(struct wh_shm *t, struct wh_error *err)
{
	struct sockaddr_un name;
	socklen_t bytes = name_socket(t, t->node, &name);

	t->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (t->listener < 0)
		return wh_error_system(err, errno, "socket");
	if (bind(t->listener, (const struct sockaddr *)&name, bytes) != 0)
		return errno == EADDRINUSE ? name_taken(t, &name, bytes, err) : wh_error_system(err, errno, "bind");
	if (listen(t->listener, SOMAXCONN) != 0)
		return wh_error_system(err, errno, "listen");
	if (!wh_shm_watch(t, EPOLL_CTL_ADD, t->listener, WH_SHM_LISTENER, 0))
		return wh_error_system(err, errno, "epoll_ctl");
	t->retry_ns = RETRY_FIRST_NS;
	wh_shm_timer_start(t, 1);
	return WHORL_OK;
}
