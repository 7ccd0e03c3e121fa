/* sealed.c - what a connection with TLS writes and reads.
 *
 * A record of TLS costs more than a small part in it does, and a write more than that. So small parts are copied together until
 * a record is full, and what has been sealed leaves by one write. Large parts are sealed where they lie. What comes is received
 * where it is opened (wh_secure_fetch_by), and copied once, to its place.
 */
#include <poll.h>
#include <string.h>

#include "transport/tcp/tcp_int.h"

#define RECORD_BYTES (16u << 10)   /* the most that one has */
#define SEALED_AT_ONCE (64u << 10) /* then they are sent */
#define CAREFULLY_AT_ONCE (8u << 10)

/* ---- what leaves -------------------------------------------------------------------------------------------------- */

struct place { /* in parts: what is before it is sealed */
	const struct iovec *part, *end;
	size_t at; /* in *part, which has more */
};

static struct place advance(struct place from, size_t bytes)
{
	from.at += bytes;
	while (from.part < from.end && from.at >= from.part->iov_len)
		from.at -= from.part++->iov_len;
	return from;
}

static const void *bytes_at(const struct place *place)
{
	return (const char *)place->part->iov_base + place->at;
}

static size_t copy_from(struct place from, unsigned char *into, size_t most)
{
	size_t count = 0;

	while (from.part < from.end && count < most) {
		size_t rest = from.part->iov_len - from.at, some = rest < most - count ? rest : most - count;

		memcpy(into + count, bytes_at(&from), some);
		count += some;
		from = advance(from, some);
	}
	return count;
}

/* Seals what fills whole records, where it lies, or else a record that is put together; as wh_secure_seal. */
static ptrdiff_t seal_next(struct wh_secure *secure, struct place from, size_t most)
{
	unsigned char record[RECORD_BYTES];
	size_t rest = from.part->iov_len - from.at, count = rest < most ? rest : most;

	if (count >= sizeof(record) || from.part + 1 == from.end || count == most)
		return wh_secure_seal(secure, bytes_at(&from),
				      count > sizeof(record) ? count - count % sizeof(record) : count);
	count = copy_from(from, record, most < sizeof(record) ? most : sizeof(record));
	return wh_secure_seal(secure, record, count);
}

/* A socket is writable while a third of its buffer is free, which is more than a careful one seals at once. */
static bool has_room(const struct wh_tcp_channel *channel)
{
	struct pollfd room = {.fd = channel->fd, .events = POLLOUT};

	return !channel->careful || poll(&room, 1, 0) > 0; /* or broken: the next call says so */
}

/* Some of it, and sends that. WH_TCP_LATER: the socket is full; what is sealed already waits. */
static enum wh_tcp_io seal_some(struct wh_tcp_channel *channel, struct place *place, size_t *done)
{
	size_t most = channel->careful ? CAREFULLY_AT_ONCE : SEALED_AT_ONCE, count = 0;
	ptrdiff_t sealed = 1;

	if (!has_room(channel))
		return WH_TCP_LATER;
	while (place->part < place->end && count < most && sealed > 0) {
		sealed = seal_next(channel->secure, *place, most - count);
		if (sealed < 0)
			return WH_TCP_BROKEN;
		*place = advance(*place, (size_t)sealed);
		count += (size_t)sealed;
	}
	*done += count;
	return wh_tcp_channel_flush(channel);
}

enum wh_tcp_io wh_tcp_sealed_write(struct wh_tcp_channel *channel, const struct iovec *parts, size_t count,
				   size_t *done)
{
	struct place place = advance((struct place){.part = parts, .end = parts + count}, 0);
	enum wh_tcp_io io = wh_tcp_channel_flush(channel);

	*done = 0;
	while (place.part < place.end && io == WH_TCP_DONE)
		io = seal_some(channel, &place, done);
	return *done > 0 && io == WH_TCP_LATER ? WH_TCP_DONE : io;
}

/* ---- what comes --------------------------------------------------------------------------------------------------- */

/* A wh_secure_fetch. A socket that gave less than it could is empty for now: it is not asked once more only to say so. */
static size_t fetch(void *from, void *bytes, size_t count)
{
	struct wh_tcp_channel *channel = from;
	const struct iovec part = {bytes, count};
	size_t done = 0;

	if (channel->looks || channel->received != WH_TCP_DONE)
		return 0;
	channel->received = wh_tcp_channel_receive(channel, &part, 1, &done);
	if (channel->received == WH_TCP_DONE && done < count)
		channel->received = WH_TCP_LATER;
	return done;
}

/* Nothing can be opened any more: why. */
static enum wh_tcp_io how_left(const struct wh_tcp_channel *channel)
{
	return channel->looks || channel->received == WH_TCP_DONE ? WH_TCP_LATER : channel->received;
}

enum wh_tcp_io wh_tcp_sealed_read(struct wh_tcp_channel *channel, const struct iovec *parts, size_t count, size_t *done)
{
	size_t at = 0;

	*done = 0;
	channel->drained = false;
	channel->received = WH_TCP_DONE;
	wh_secure_fetch_by(channel->secure, fetch, channel); /* it may have been moved */
	for (size_t i = 0; i < count; at = 0, i++)
		while (at < parts[i].iov_len) {
			ptrdiff_t opened =
				wh_secure_open(channel->secure, (char *)parts[i].iov_base + at, parts[i].iov_len - at);

			if (opened <= 0) { /* what has been opened counts; the next time it is the same */
				channel->drained = true;
				return *done > 0 ? WH_TCP_DONE : opened < 0 ? WH_TCP_BROKEN : how_left(channel);
			}
			at += (size_t)opened;
			*done += (size_t)opened;
		}
	return WH_TCP_DONE;
}
