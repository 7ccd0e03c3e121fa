/* meet.c - how the nodes of a group find each other.
 *
 * Each node listens on an abstract Unix socket named by user, group and id, so an id can be had once, and the name goes
 * with its process. A newcomer listens first and then calls all others, each once: of two nodes at least the one that
 * comes later reaches the other. So no node has to ask again and again whether another has come.
 *
 * The kernel is asked which process connects (SO_PEERCRED) before a byte of it is read; another user's process is turned away.
 * A caller that is let in but does not say a good hello within a second costs one of a few places for that second and no
 * more: if all are taken the oldest goes, and calls again if it was a peer.
 */
#include "transport/shm/shm_int.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define REDIAL_SELDOM_NS (2 * WH_NS_PER_S) /* a node that is not there is called so often, in case it cannot call me */
#define LISTENER_RESTS_NS (50 * WH_NS_PER_MS)
#define ACCEPTED_AT_ONCE 8

/* ---- hello -------------------------------------------------------------------------------------------------------- */

static bool send_hello(struct wh_shm *t, int socket, pid_t pid)
{
	struct wh_shm_hello hello = {
		.head = wh_shm_head(WH_SHM_HELLO), .node = t->node, .nodes = t->nodes, .incarnation = t->incarnation};
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

/* The peer's hello is judged; its doorbell and its page are taken over. False: it has been refused. */
static bool welcome(struct wh_shm *t, struct wh_shm_peer *peer, struct wh_shm_packet *packet)
{
	const struct wh_row_part whole = {.offset = 0, .bytes = WH_SHM_STATUS_BYTES};
	const struct wh_shm_hello *hello = &packet->hello;
	char reason[WH_SHM_REASON_BYTES];
	struct wh_error err;

	peer->incarnation = hello->incarnation;
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

void wh_shm_meet(struct wh_shm *t, struct wh_shm_peer *peer)
{
	peer->state = WH_SHM_MET;
	wh_dial_met(&t->redial, &peer->redial);
	wh_event_queue_tell(&t->event_queue, WH_EVENT_PEER_MET, peer->node, peer->incarnation,
			    "node %" PRIu32 " (pid %d) is here", peer->node, (int)peer->pid);
}

/* ---- the caller's side -------------------------------------------------------------------------------------------- */

/* Through `*unused`, a socket that is not connected, or -1. */
static void call(struct wh_shm *t, struct wh_shm_peer *peer, int *unused)
{
	struct sockaddr_un name;
	socklen_t name_bytes = wh_shm_name(&name, t->user, t->group, peer->node);
	struct ucred who;
	int s;

	if (*unused < 0)
		*unused = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	s = *unused;
	if (s < 0 || connect(s, (const struct sockaddr *)&name, name_bytes) != 0) {
		if (s >= 0 && errno == ECONNREFUSED) {
			wh_dial_seldom(&t->redial, &peer->redial);
			return;
		}
		if (s < 0 || errno != EAGAIN) /* its queue is full */
			wh_event_queue_complain(&t->event_queue, "cannot call node %" PRIu32 ": %s", peer->node,
						strerror(errno));
		wh_dial_soon(&t->redial, &peer->redial);
		return;
	}
	*unused = -1;
	if (!wh_shm_who(s, &who) || !wh_shm_watch(t, EPOLL_CTL_ADD, s, WH_SHM_PEER, peer->node)) {
		close(s);
		wh_dial_soon(&t->redial, &peer->redial);
		return;
	}
	peer->socket = s;
	peer->pid = who.pid;
	if (who.uid != t->user) {
		wh_event_queue_tell(&t->event_queue, WH_EVENT_REFUSED, peer->node, 0,
				    "the place of node %" PRIu32 " of group %s is held by pid %d of user %" PRIu64,
				    peer->node, t->group, (int)who.pid, (uint64_t)who.uid);
		wh_shm_end_connection(t, peer, WH_SHM_REJECTED);
		return;
	}
	peer->state = WH_SHM_GREETING;
	if (!send_hello(t, s, who.pid))
		wh_shm_lose(t, peer, "has hung up");
}

static void connect_absent(struct wh_shm *t, uint64_t now)
{
	uint64_t next = UINT64_MAX;
	uint32_t again = 0;
	int unused = -1;

	for (uint32_t node = 0; node < t->nodes; node++) {
		struct wh_shm_peer *peer = &t->peers[node];

		if (peer->state == WH_SHM_ABSENT && !wh_event_queue_is_full(&t->event_queue) &&
		    wh_dial_is_due(&peer->redial, now, &again))
			call(t, peer, &unused);
		if (peer->state == WH_SHM_ABSENT && peer->redial.at_ns < next)
			next = peer->redial.at_ns;
	}
	if (unused >= 0)
		close(unused);
	wh_dial_tried(&t->redial, now, next);
}

static void hang_up_late(struct wh_shm *t, uint64_t now)
{
	for (uint32_t i = 0; i < WH_SHM_STRANGERS; i++) {
		struct wh_shm_stranger *stranger = &t->strangers[i];

		if (stranger->socket >= 0 && stranger->deadline_ns <= now)
			wh_shm_hang_up(t, &stranger->socket);
		if (stranger->socket >= 0)
			wh_dial_timer(&t->redial, stranger->deadline_ns - now);
	}
}

void wh_shm_meet_tick(struct wh_shm *t)
{
	uint64_t now = wh_dial_tick(&t->redial);

	if (t->left)
		return;
	if (t->listener_rests)
		t->listener_rests = !wh_shm_watch(t, EPOLL_CTL_MOD, t->listener, WH_SHM_LISTENER, 0);
	if (t->listener_rests)
		wh_dial_timer(&t->redial, LISTENER_RESTS_NS);
	hang_up_late(t, now);
	connect_absent(t, now);
}

void wh_shm_on_answer(struct wh_shm *t, struct wh_shm_peer *peer, struct wh_shm_packet *packet)
{
	const struct wh_shm_head taken = wh_shm_head(WH_SHM_TAKEN);

	if (wh_known_incarnations_has(&peer->ended,
				      packet->hello.incarnation)) { /* there yet, with nothing to say to me any more */
		wh_shm_claim_drop(&packet->hello.status, peer->pid == getpid());
		wh_shm_end_connection(t, peer, WH_SHM_REJECTED);
		return;
	}
	if (!welcome(t, peer, packet))
		return;
	if (wh_shm_send(peer->socket, &taken, sizeof(taken), NULL, 0) == 0)
		wh_shm_meet(t, peer);
	else
		wh_shm_lose(t, peer, "has hung up");
}

bool wh_shm_searching(struct wh_transport *transport)
{
	const struct wh_shm *t = wh_shm_of(transport);

	return t->redial.searching && !t->left;
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
	for (int n = 0; n < ACCEPTED_AT_ONCE && !wh_event_queue_is_full(&t->event_queue); n++) {
		int s = accept4(t->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct ucred who = {.uid = (uid_t)-1};
		uint32_t i;

		if (s < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
			return;
		if (s < 0) { /* out of descriptors: not again before the timer */
			wh_event_queue_complain(&t->event_queue, "cannot accept a connection: %s", strerror(errno));
			t->listener_rests =
				epoll_ctl(t->epoll, EPOLL_CTL_MOD, t->listener, &(struct epoll_event){0}) == 0;
			wh_dial_timer(&t->redial, LISTENER_RESTS_NS);
			return;
		}
		if (!wh_shm_who(s, &who) || who.uid != t->user) {
			close(s);
			wh_event_queue_complain(&t->event_queue, "turned away a process of user %" PRIu64,
						(uint64_t)who.uid);
			continue;
		}
		i = place_for_stranger(t);
		if (!wh_shm_watch(t, EPOLL_CTL_ADD, s, WH_SHM_STRANGER, i)) {
			close(s);
			continue;
		}
		t->strangers[i] = (struct wh_shm_stranger){
			.socket = s, .pid = who.pid, .deadline_ns = wh_env_now(t->env) + WH_SHM_STRANGER_NS};
		wh_dial_timer(&t->redial, WH_SHM_STRANGER_NS);
		wh_shm_meet_stranger(t, i); /* a peer has said its hello already */
	}
}

/* A caller that does not belong here, and without which the group can form: it is told why, and forgotten. */
static void turn_away(struct wh_shm *t, const struct wh_shm_stranger *stranger, const char *reason)
{
	wh_shm_send_refusal(stranger->socket, t->incarnation, reason);
	wh_event_queue_complain(&t->event_queue, "turned away pid %d: %s", (int)stranger->pid, reason);
}

/* The process that listens where that node should; -1: not known, errno says why: ECONNREFUSED: there is none. */
static pid_t holder_of(const struct wh_shm *t, uint32_t node, uid_t *user)
{
	struct sockaddr_un name;
	socklen_t bytes = wh_shm_name(&name, t->user, t->group, node);
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct ucred who = {.pid = -1, .uid = (uid_t)-1};
	int why;

	*user = who.uid;
	if (s < 0)
		return -1;
	if (connect(s, (const struct sockaddr *)&name, bytes) != 0 || !wh_shm_who(s, &who))
		who.pid = -1;
	why = errno;
	close(s);
	errno = why;
	*user = who.uid;
	return who.pid;
}

/* A call to what holds an id and does not accept stays in its queue, so it is not looked for again and again. */
#define HELD_NS WH_NS_PER_S

/* The kernel gives none of a process in another namespace of pids. */
static int known_pid(pid_t pid)
{
	return pid > 0 ? (int)pid : -1;
}

/* A child that such a process has forked keeps its sockets open, and is no node. */
static int pid_or_none(pid_t pid)
{
	bool has_ended = pid > 0 && kill(pid, 0) != 0 && errno == ESRCH;

	return has_ended ? 0 : known_pid(pid);
}

int wh_shm_holder(struct wh_transport *transport, uint32_t node)
{
	struct wh_shm *t = wh_shm_of(transport);
	struct wh_shm_peer *peer = &t->peers[node];
	uint64_t now = wh_env_now(t->env);
	bool is_ours;
	uid_t user;

	if (peer->state != WH_SHM_ABSENT && peer->state != WH_SHM_REJECTED)
		return pid_or_none(peer->pid);
	if (peer->held_ns != 0 && now < peer->held_ns + HELD_NS)
		return pid_or_none(peer->holder);
	errno = 0;
	peer->holder = holder_of(t, node, &user);
	is_ours = peer->holder == -1 ? errno != ECONNREFUSED
				     : user == t->user; /* another user's is no node of this group */
	peer->held_ns = is_ours ? now : 0;
	return is_ours ? pid_or_none(peer->holder) : 0;
}

enum verdict { COME, NOT_NOW /* it calls again */, NEVER };

/* Another incarnation has called while one is here, or is answered. If it has got the name, then that one's process is dead, or it
 * has left, and I have not noticed yet: what it has sent comes first. Else the call is late, of a life that ended long ago, and the
 * answered one may have met this node already. */
static enum verdict make_way(struct wh_shm *t, struct wh_shm_peer *peer, pid_t pid)
{
	uid_t user;
	pid_t holder = holder_of(t, peer->node, &user);

	if (holder != pid)
		return holder == -1 ? NOT_NOW : NEVER;
	if (!wh_shm_peer_read(t, peer))
		return NOT_NOW;
	if (peer->state == WH_SHM_MET)
		wh_shm_lose(t, peer, "has died: another process has its place");
	return COME;
}

static enum verdict judge(struct wh_shm *t, const struct wh_shm_stranger *stranger, const struct wh_shm_hello *hello,
			  char reason[WH_SHM_REASON_BYTES])
{
	struct wh_shm_peer *peer = &t->peers[hello->node < t->nodes ? hello->node : t->node];
	enum verdict verdict = COME;

	if (peer->state == WH_SHM_SELF) {
		if (!is_foreign(t, hello, reason))
			snprintf(reason, WH_SHM_REASON_BYTES,
				 "node %" PRIu32 " has nothing to call node %" PRIu32 " for", hello->node, t->node);
		return NEVER;
	}
	if (wh_known_incarnations_has(&peer->ended, hello->incarnation)) {
		snprintf(reason, WH_SHM_REASON_BYTES, "node %" PRIu32 " (pid %d) is gone for good", hello->node,
			 (int)stranger->pid);
		return NEVER;
	}
	if (peer->state == WH_SHM_GREETING && t->node > peer->node)
		return NOT_NOW; /* our calls have crossed */
	if (peer->state == WH_SHM_MET && peer->incarnation == hello->incarnation)
		return NOT_NOW; /* they had, and this is what is left of its call */
	if (peer->state == WH_SHM_MET || (peer->state == WH_SHM_ANSWERED && peer->incarnation != hello->incarnation))
		verdict = make_way(t, peer, stranger->pid);
	if (verdict == NEVER)
		snprintf(reason, WH_SHM_REASON_BYTES, "node %" PRIu32 " (pid %d) is here already", peer->node,
			 (int)peer->pid);
	return verdict;
}

/* A stranger has said hello. If it is a peer, the connection becomes the peer's. */
static void on_hello(struct wh_shm *t, struct wh_shm_stranger *stranger, struct wh_shm_packet *packet)
{
	char reason[WH_SHM_REASON_BYTES];
	enum verdict verdict = judge(t, stranger, &packet->hello, reason);
	struct wh_shm_peer *peer;

	if (verdict != COME) {
		wh_shm_claim_drop(&packet->hello.status, stranger->pid == getpid());
		if (verdict == NEVER)
			turn_away(t, stranger, reason);
		wh_shm_hang_up(t, &stranger->socket);
		return;
	}
	peer = &t->peers[packet->hello.node];
	wh_shm_end_connection(t, peer, WH_SHM_ANSWERED); /* of what was under way */
	peer->socket = stranger->socket;
	peer->pid = stranger->pid;
	stranger->socket = -1;
	if (welcome(t, peer, packet) && !(wh_shm_watch(t, EPOLL_CTL_MOD, peer->socket, WH_SHM_PEER, peer->node) &&
					  send_hello(t, peer->socket, peer->pid)))
		wh_shm_lose(t, peer, "has hung up");
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
		if (packet.head.kind == WH_SHM_HELLO && stranger->query == 0)
			on_hello(t, stranger, &packet);
		else if (packet.head.kind == WH_SHM_QUERY && stranger->query == 0)
			wh_shm_on_question(t, stranger, &packet);
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

/* The name is taken: by which process? */
static enum whorl_result name_taken(struct wh_shm *t, const struct sockaddr_un *name, socklen_t bytes,
				    struct wh_error *err)
{
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool known;
	struct ucred who;

	known = s >= 0 && connect(s, (const struct sockaddr *)name, bytes) == 0 && wh_shm_who(s, &who);
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
	socklen_t bytes = wh_shm_name(&name, t->user, t->group, t->node);

	t->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (t->listener < 0)
		return wh_error_system(err, errno, "socket");
	if (bind(t->listener, (const struct sockaddr *)&name, bytes) != 0)
		return errno == EADDRINUSE ? name_taken(t, &name, bytes, err) : wh_error_system(err, errno, "bind");
	if (listen(t->listener, SOMAXCONN) != 0)
		return wh_error_system(err, errno, "listen");
	if (!wh_shm_watch(t, EPOLL_CTL_ADD, t->listener, WH_SHM_LISTENER, 0))
		return wh_error_system(err, errno, "epoll_ctl");
	wh_dial_begin(&t->redial, REDIAL_SELDOM_NS);
	return WHORL_OK;
}
