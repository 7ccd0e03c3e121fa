/* name.c - where nodes are: each listens on an abstract Unix socket named by user, group and id.
 *
 * So an id can be had once, and the name goes with its process. Any process may take a name: the kernel is asked which has it
 * (SO_PEERCRED).
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "transport/shm/shm.h"
#include "transport/shm/shm_int.h"

socklen_t wh_shm_name(struct sockaddr_un *name, uid_t user, const char *group, uint32_t node)
{
	int length;

	memset(name, 0, sizeof(*name));
	name->sun_family = AF_UNIX;
	length = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "whorl/%" PRIu64 "/%s/%" PRIu32,
			  (uint64_t)user, group, node);
	_Static_assert(WH_MESSAGE_GROUP_BYTES + sizeof("whorl/4294967295//4294967295") <= sizeof(name->sun_path) - 1,
		       "every name fits");
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

bool wh_shm_other_end(int socket, struct ucred *process)
{
	socklen_t bytes = sizeof(*process);

	return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, process, &bytes) == 0;
}

void wh_shm_name_explain(char reason[WH_MESSAGE_REASON_BYTES], const char *group, uint32_t node, pid_t holder,
			 uid_t user)
{
	snprintf(reason, WH_MESSAGE_REASON_BYTES,
		 "the place of node %" PRIu32 " of group %s is held by pid %d of user %" PRIu64, node, group,
		 (int)holder, (uint64_t)user);
}

/* ---- which process has a name ------------------------------------------------------------------------------------- */

pid_t wh_shm_name_holder(uid_t me, const char *group, uint32_t node, uid_t *user)
{
	struct sockaddr_un name;
	socklen_t bytes = wh_shm_name(&name, me, group, node);
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct ucred process = {.pid = -1, .uid = (uid_t)-1};
	int why;

	*user = process.uid;
	if (s < 0)
		return -1;
	if (connect(s, (const struct sockaddr *)&name, bytes) != 0 || !wh_shm_other_end(s, &process))
		process.pid = -1;
	why = errno;
	close(s);
	errno = why;
	*user = process.uid;
	return process.pid;
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
	const struct wh_shm_conn *conn = wh_shm_peer_conn(t, node);
	struct wh_shm_peer *peer = &t->peers[node];
	uint64_t now = wh_env_now(t->env);
	bool is_ours;
	uid_t user;

	if (conn != NULL)
		return pid_or_none(conn->pid);
	if (peer->held_ns != 0 && now < peer->held_ns + HELD_NS)
		return pid_or_none(peer->holder);
	errno = 0;
	peer->holder = wh_shm_name_holder(t->wire.user, t->wire.group, node, &user);
	is_ours = peer->holder == -1 ? errno != ECONNREFUSED
				     : user == t->wire.user; /* another user's is no node of this group */
	peer->held_ns = is_ours ? now : 0;
	return is_ours ? pid_or_none(peer->holder) : 0;
}

/* ---- mine --------------------------------------------------------------------------------------------------------- */

static enum whorl_result name_taken(uid_t me, const char *group, uint32_t node, struct wh_error *err)
{
	char reason[WH_MESSAGE_REASON_BYTES];
	uid_t user;
	pid_t holder = wh_shm_name_holder(me, group, node, &user);

	if (holder == -1)
		return wh_error_set(err, WHORL_REFUSED, "node %" PRIu32 " of group %s is already running", node, group);
	if (user != me) {
		wh_shm_name_explain(reason, group, node, holder, user);
		return wh_error_set(err, WHORL_REFUSED, "%s", reason);
	}
	return wh_error_set(err, WHORL_REFUSED, "node %" PRIu32 " of group %s is already running (pid %d)", node, group,
			    (int)holder);
}

/* WHORL_AGAIN: a process has it. Otherwise *listener is to be closed, if it is one. */
static enum whorl_result take_name(uid_t user, const char *group, uint32_t node, int *listener, struct wh_error *err)
{
	struct sockaddr_un name;
	socklen_t bytes = wh_shm_name(&name, user, group, node);

	*listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*listener < 0)
		return wh_error_system(err, errno, "socket");
	if (bind(*listener, (const struct sockaddr *)&name, bytes) != 0)
		return errno == EADDRINUSE ? WHORL_AGAIN : wh_error_system(err, errno, "bind");
	if (listen(*listener, SOMAXCONN) != 0)
		return wh_error_system(err, errno, "listen");
	return WHORL_OK;
}

enum whorl_result wh_shm_name_listen(uid_t user, const char *group, uint32_t node, int *listener, struct wh_error *err)
{
	enum whorl_result result = take_name(user, group, node, listener, err);

	return result == WHORL_AGAIN ? name_taken(user, group, node, err) : result;
}

enum whorl_result wh_shm_take_id(const char *group, uint32_t node, int *held, struct wh_error *err)
{
	enum whorl_result result = take_name(geteuid(), group, node, held, err);

	if (result != WHORL_OK && *held >= 0)
		close(*held);
	*held = result == WHORL_OK ? *held : -1;
	return result;
}
