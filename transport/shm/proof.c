/* proof.c - T12: for each node that has been met a descriptor of its process, a pidfd, which is readable when that has ended.
 *
 * Nothing else is a proof. A connection ends when a process closes it, or calls exec, and goes on; and it does not end as long as a
 * forked child has it. A pid by itself may be another process's by now. So the descriptor is got while the two meet:
 *
 * From Linux 6.5 on the kernel has kept the process that called connect(), or listen(), with the socket, and gives it. Before that
 * the pid is opened, then the other end must answer: the kernel says which pid the answer was sent by, and that process has not
 * ended when it comes. So the pid was its all the time, and it is the one that speaks: what a node answers a HELLO with, its own HELLO
 * or TAKEN, is sent behind mine, and mine behind the opening.
 *
 * The connection's end is told first. The process may be at its end for a while then, as memory is taken apart, or run on: so what is
 * kept here outlives the connection, also that of a node that has left in order: it may be said to have failed before that.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "transport/shm/shm_int.h"

#ifndef SO_PEERPIDFD
#if defined(__hppa__)
#define SO_PEERPIDFD 0x404b
#elif defined(__sparc__)
#define SO_PEERPIDFD 0x0056
#else
#define SO_PEERPIDFD 77
#endif
#endif

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* ---- while two meet ------------------------------------------------------------------------------------------------- */

/* Once: it is so of all, or of one after the other. */
static void log_none(struct wh_shm_conn *conn, const char *why)
{
	struct wh_shm_wire *w = conn->wire;

	if (!w->proofless)
		wh_event_queue_log(
			wh_session_events(w->session), WH_LOG_WARNING,
			"there will be no proof when the process at %s ends: %s; then it takes a quorum to go on. "
			"This is said once",
			conn->base.text, why);
	w->proofless = true;
}

/* Any process that was ever at the other end, also one that has ended since: then it can be read at once. */
static int pidfd_of_socket(const struct wh_shm_conn *conn)
{
	int pidfd = -1;
	socklen_t bytes = sizeof(pidfd);

	if ((conn->wire->lacks & WH_SHM_LACKS_PEERPIDFD) != 0 ||
	    getsockopt(conn->socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &bytes) != 0)
		return -1;
	return pidfd;
}

static int pidfd_of_pid(const struct wh_shm_conn *conn)
{
	if ((conn->wire->lacks & WH_SHM_LACKS_PIDFD_OPEN) == 0)
		return (int)syscall(SYS_pidfd_open, conn->pid, 0);
	errno = ENOSYS;
	return -1;
}

void wh_shm_proof_ask(struct wh_shm_conn *conn)
{
	const int on = 1;

	if (conn->wire->is_lane)
		return; /* the node's own transport looks for it */
	if (conn->pid == getpid())
		return; /* its end is mine */
	conn->pidfd = pidfd_of_socket(conn);
	if (conn->pidfd >= 0)
		return;
	if (conn->pid <= 0) {
		log_none(conn, "it is in another namespace of pids");
		return;
	}
	conn->pidfd = pidfd_of_pid(conn);
	if (conn->pidfd < 0 && errno != ESRCH) /* else it ends before it is met */
		log_none(conn, strerror(errno));
	if (conn->pidfd < 0)
		return;
	conn->doubted = true;
	(void)setsockopt(conn->socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
}

void wh_shm_proof_drop(struct wh_shm_conn *conn)
{
	if (conn->pidfd >= 0)
		close(conn->pidfd);
	conn->pidfd = -1;
	conn->doubted = false;
}

/* All that the process ever stored is seen from then on. Each of its threads has entered the kernel after its last store, and has let
 * go of locks and taken others there, with a full barrier in between (exit_mm), before it counted as ended: so what is read here comes
 * behind its stores. The fence keeps what is read next behind that. A node that hears of it from another's row acquires the word there,
 * which was released behind this fence, and sees the same. */
static bool has_ended(int pidfd)
{
	struct pollfd look = {.fd = pidfd, .events = POLLIN};

	if (poll(&look, 1, 0) != 1 || (look.revents & POLLIN) == 0)
		return false;
	wh_fence_full(); /* partner: the end of the process, in the kernel */
	return true;
}

void wh_shm_proof_on_answer(struct wh_shm_conn *conn, pid_t sender)
{
	const int off = 0;

	conn->doubted = false;
	(void)setsockopt(conn->socket, SOL_SOCKET, SO_PASSCRED, &off, sizeof(off));
	if (sender == conn->pid && !has_ended(conn->pidfd))
		return;
	if (sender != conn->pid)
		log_none(conn, "another process answers");
	wh_shm_proof_drop(conn);
}

/* ---- lives ---------------------------------------------------------------------------------------------------------- */

/* By name, as a forked child may have the same descriptor, which would keep it in epoll. That child itself only closes. */
static void forget(struct wh_shm *t, struct wh_shm_life *life, bool forked)
{
	if (life->pidfd >= 0 && !forked)
		(void)epoll_ctl(t->poll.epoll, EPOLL_CTL_DEL, life->pidfd, NULL);
	if (life->pidfd >= 0)
		close(life->pidfd);
	*life = (struct wh_shm_life){.pidfd = -1};
}

/* A free one, or that of the life that was met first. */
static struct wh_shm_life *place_for(struct wh_shm *t, struct wh_shm_peer *peer)
{
	struct wh_shm_life *place = &peer->lives[0];

	for (size_t i = 1; i < WH_SHM_LIVES && place->pidfd >= 0; i++)
		if (peer->lives[i].pidfd < 0 || peer->lives[i].number < place->number)
			place = &peer->lives[i];
	forget(t, place, false);
	return place;
}

void wh_shm_proof_met(struct wh_transport *transport, uint32_t node)
{
	struct wh_shm *t = wh_shm_of(transport);
	struct wh_shm_conn *conn = wh_shm_peer_conn(t, node);
	struct wh_shm_peer *peer = &t->peers[node];
	struct wh_shm_life *life;
	uint32_t index;

	if (conn->pidfd < 0)
		return;
	life = place_for(t, peer);
	index = node * WH_SHM_LIVES + (uint32_t)(life - peer->lives);
	if (!wh_poll_watch(&t->poll, EPOLL_CTL_ADD, conn->pidfd, EPOLLIN, WH_SHM_PROCESS, index)) {
		log_none(conn, strerror(errno));
		wh_shm_proof_drop(conn);
		return;
	}
	*life = (struct wh_shm_life){.pidfd = conn->pidfd,
				     .incarnation = wh_session_peer(t->base.session, node)->incarnation,
				     .number = ++t->lives_met};
	conn->pidfd = -1;
}

size_t wh_shm_proof_on_ready(struct wh_shm *t, uint32_t index)
{
	uint32_t node = index / WH_SHM_LIVES;
	struct wh_shm_life *life = &t->peers[node].lives[index % WH_SHM_LIVES];

	/* What epoll has told may have been of another that was here, and is not any more. */
	if (life->pidfd < 0 || !has_ended(life->pidfd))
		return 0;
	if (wh_session_prove_dead(t->base.session, node, life->incarnation))
		forget(t, life, false);
	return 1;
}

void wh_shm_proof_forget_all(struct wh_shm *t, bool forked)
{
	for (uint32_t node = 0; node < t->nodes; node++)
		for (size_t i = 0; i < WH_SHM_LIVES; i++)
			forget(t, &t->peers[node].lives[i], forked);
}
