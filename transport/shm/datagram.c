/* datagram.c - one datagram is one message: on a socket that keeps order and never splits one, descriptors with it.
 *
 * Descriptors that have come are somebody's to close from then on: whatever is not wanted is closed here, or by
 * wh_shm_datagram_close_fds.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "transport/shm/shm_int.h"

#define FDS_TAKEN 8 /* room for more than belongs there: the kernel closes what does not fit, and says so */

static void take_sender(const struct cmsghdr *c, struct wh_shm_datagram *d)
{
	struct ucred process;

	memcpy(&process, CMSG_DATA(c), sizeof(process));
	d->sender = process.pid;
}

/* Takes the descriptors out of the control data: those that there is a place for, the others are closed. And the sender, if it is
 * told. */
static void take_control(struct msghdr *message, struct wh_shm_datagram *d)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS)
			take_sender(c, d);
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++, d->fd_count++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (d->fd_count < WH_MESSAGE_FDS)
				d->fds[d->fd_count] = fd;
			else
				close(fd);
		}
	}
}

enum wh_wire_result wh_shm_datagram_receive(int socket, struct wh_shm_datagram *d)
{
	union {
		struct cmsghdr align;
		unsigned char bytes[CMSG_SPACE(FDS_TAKEN * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct iovec place = {.iov_base = d->bytes, .iov_len = sizeof(d->bytes)};
	struct msghdr message = {.msg_iov = &place, .msg_iovlen = 1, .msg_control = &control};
	ssize_t got;

	for (size_t i = 0; i < WH_MESSAGE_FDS; i++)
		d->fds[i] = -1;
	d->fd_count = 0;
	d->sender = -1;
	do { /* a reset is told once, before what is still to be read */
		message.msg_controllen = sizeof(control);
		got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	} while (got < 0 && (errno == EINTR || errno == ECONNRESET));
	if (got < 0)
		return errno == EAGAIN ? WH_WIRE_LATER : WH_WIRE_ENDED;
	take_control(&message, d);
	if (got == 0)
		return WH_WIRE_ENDED;
	d->count = (size_t)got;
	d->cut = (message.msg_flags & MSG_TRUNC) != 0;
	d->fds_cut = (message.msg_flags & MSG_CTRUNC) != 0;
	return WH_WIRE_DONE;
}

void wh_shm_datagram_close_fds(struct wh_shm_datagram *d)
{
	for (size_t i = 0; i < WH_MESSAGE_FDS; i++) {
		if (d->fds[i] >= 0)
			close(d->fds[i]);
		d->fds[i] = -1;
	}
}

enum wh_wire_result wh_shm_datagram_send(int socket, const struct iovec *parts, size_t part_count, const int *fds,
					 size_t fd_count)
{
	union {
		struct cmsghdr align;
		unsigned char bytes[CMSG_SPACE(WH_MESSAGE_FDS * sizeof(int))];
	} control;
	struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = part_count};
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
		return WH_WIRE_DONE;
	return errno == EPIPE || errno == ECONNRESET ? WH_WIRE_ENDED
						     : WH_WIRE_LATER; /* as EAGAIN, ENOBUFS, ETOOMANYREFS */
}
