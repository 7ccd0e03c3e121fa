/* wire.c - messages between two nodes: a datagram each, on a socket that keeps order and never splits one.
 *
 * Nothing is believed of what comes: a message that has not exactly the size and the number of descriptors of its kind,
 * or that was cut, is garbage, and descriptors that came with it are closed.
 */
#include "base/text.h"
#include "transport/shm/shm_int.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FDS_TAKEN 8 /* room for more than belongs there: the kernel closes what does not fit, and says so */

static const struct {
	uint16_t least, most; /* bytes */
	uint16_t fds;
} kinds[WH_SHM_KINDS] = {
	[WH_SHM_HELLO] = {sizeof(struct wh_shm_hello), sizeof(struct wh_shm_hello), 2},
	[WH_SHM_TAKEN] = {sizeof(struct wh_shm_head), sizeof(struct wh_shm_head), 0},
	[WH_SHM_OFFER] = {sizeof(struct wh_shm_offer), sizeof(struct wh_shm_offer), 1},
	[WH_SHM_MAPPED] = {sizeof(struct wh_shm_mapped), sizeof(struct wh_shm_mapped), 0},
	[WH_SHM_CONTROL] = {sizeof(struct wh_shm_head), sizeof(struct wh_shm_control), 0},
	[WH_SHM_REFUSED] = {sizeof(struct wh_shm_refused), sizeof(struct wh_shm_refused), 0},
	[WH_SHM_MAILBOX] = {sizeof(struct wh_shm_region_message), sizeof(struct wh_shm_region_message), 1},
	[WH_SHM_GRANT] = {sizeof(struct wh_shm_region_message), sizeof(struct wh_shm_region_message), 1},
	[WH_SHM_WITHDRAWN] = {sizeof(struct wh_shm_region_message), sizeof(struct wh_shm_region_message), 0},
	[WH_SHM_STREAM] = {sizeof(struct wh_shm_opened), sizeof(struct wh_shm_opened), 1},
	[WH_SHM_QUERY] = {sizeof(struct wh_shm_head), sizeof(struct wh_shm_control), 0},
	[WH_SHM_ANSWER] = {1, 0, 0}, /* goes to visitors, which are no nodes, and comes from none */
};

struct wh_shm_head wh_shm_head(enum wh_shm_kind kind)
{
	return (struct wh_shm_head){.magic = WH_SHM_MAGIC, .version = WH_SHM_VERSION, .kind = (uint32_t)kind};
}

/* ---- receiving ---------------------------------------------------------------------------------------------------- */

/* Takes the descriptors out of the control data: those that fit into the packet, the others are closed. Returns how
 * many there were. */
static size_t take_fds(struct msghdr *message, struct wh_shm_packet *packet)
{
	size_t count = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++, count++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (count < WH_SHM_FDS)
				packet->fds[count] = fd;
			else
				close(fd);
		}
	}
	return count;
}

/* A hello or a question of another version is let through for its first fields: its sender is to be told why it is
 * refused. */
static bool is_sound(struct wh_shm_packet *packet, size_t fds, bool cut)
{
	const struct wh_shm_head *head = &packet->head;

	if (packet->bytes < sizeof(*head) || head->magic != WH_SHM_MAGIC)
		return false;
	if (head->kind == WH_SHM_HELLO && head->version != WH_SHM_VERSION)
		return packet->bytes >= offsetof(struct wh_shm_hello, status);
	if (head->kind == WH_SHM_QUERY && head->version != WH_SHM_VERSION)
		return true;
	if (cut || head->kind == 0 || head->kind >= WH_SHM_KINDS ||
	    (head->version != WH_SHM_VERSION && head->kind != WH_SHM_REFUSED))
		return false;
	if (packet->bytes < kinds[head->kind].least || packet->bytes > kinds[head->kind].most ||
	    fds != kinds[head->kind].fds)
		return false;
	if (head->kind == WH_SHM_HELLO && packet->hello.incarnation == 0)
		return false;
	if (head->kind == WH_SHM_HELLO)
		wh_text_tame(packet->hello.group, sizeof(packet->hello.group));
	if (head->kind == WH_SHM_REFUSED)
		wh_text_tame(packet->refused.reason, sizeof(packet->refused.reason));
	return true;
}

enum wh_shm_received wh_shm_receive(int socket, struct wh_shm_packet *packet)
{
	union {
		struct cmsghdr align;
		unsigned char bytes[CMSG_SPACE(FDS_TAKEN * sizeof(int))];
	} control;
	struct iovec place = {.iov_base = packet, .iov_len = sizeof(struct wh_shm_control)};
	struct msghdr message = {.msg_iov = &place, .msg_iovlen = 1, .msg_control = &control};
	ssize_t got;
	size_t fds;

	_Static_assert(sizeof(struct wh_shm_control) >= sizeof(struct wh_shm_refused), "the largest message");
	for (size_t i = 0; i < WH_SHM_FDS; i++)
		packet->fds[i] = -1;
	do { /* a reset is told once, before what is still to be read */
		message.msg_controllen = sizeof(control);
		got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	} while (got < 0 && (errno == EINTR || errno == ECONNRESET));
	if (got < 0)
		return errno == EAGAIN ? WH_SHM_NOTHING : WH_SHM_HUNG_UP;
	if (got == 0)
		return WH_SHM_HUNG_UP;
	packet->bytes = (size_t)got;
	fds = take_fds(&message, packet);
	if (is_sound(packet, fds, (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0))
		return WH_SHM_PACKET;
	wh_shm_packet_close(packet);
	return WH_SHM_GARBAGE;
}

void wh_shm_packet_close(struct wh_shm_packet *packet)
{
	for (size_t i = 0; i < WH_SHM_FDS; i++) {
		if (packet->fds[i] >= 0)
			close(packet->fds[i]);
		packet->fds[i] = -1;
	}
}

/* ---- sending ------------------------------------------------------------------------------------------------------ */

int wh_shm_send(int socket, const void *bytes, size_t count, const int *fds, size_t fd_count)
{
	union {
		struct cmsghdr align;
		unsigned char bytes[CMSG_SPACE(WH_SHM_FDS * sizeof(int))];
	} control;
	struct iovec place = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = count};
	struct msghdr message = {.msg_iov = &place, .msg_iovlen = 1};
	ssize_t sent;

	if (fd_count > 0) {
		struct cmsghdr *c = &control.align;

		memset(&control, 0, sizeof(control));
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		memcpy(CMSG_DATA(c), fds, fd_count * sizeof(int));
	}
	do {
		sent = sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	if (sent >= 0)
		return 0;
	return errno == EWOULDBLOCK || errno == ENOBUFS || errno == ETOOMANYREFS ? EAGAIN : errno;
}

void wh_shm_send_refusal(int socket, uint64_t incarnation, const char *reason)
{
	struct wh_shm_refused refused = {.head = wh_shm_head(WH_SHM_REFUSED), .incarnation = incarnation};

	memcpy(refused.reason, reason, strnlen(reason, sizeof(refused.reason) - 1));
	(void)wh_shm_send(socket, &refused, sizeof(refused), NULL, 0); /* if it does not get there: it sees the end */
}

/* ---- where nodes are ---------------------------------------------------------------------------------------------- */

socklen_t wh_shm_name(struct sockaddr_un *name, uid_t user, const char *group, uint32_t node)
{
	int length;

	memset(name, 0, sizeof(*name));
	name->sun_family = AF_UNIX;
	length = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "whorl/%" PRIu64 "/%s/%" PRIu32,
			  (uint64_t)user, group, node);
	_Static_assert(WH_SHM_GROUP_BYTES + sizeof("whorl/4294967295//4294967295") <= sizeof(name->sun_path) - 1,
		       "every name fits");
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

bool wh_shm_who(int socket, struct ucred *who)
{
	socklen_t bytes = sizeof(*who);

	return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, who, &bytes) == 0;
}
