/* older.c - nodes and visitors of versions before 4, in which messages were structs as they lay in memory.
 *
 * They are refused, and are to know why: so of what such a stranger says first that is made which the session understands, in its
 * version, and what the session answers is said as they know it. From 2 on a hello began with head, node, nodes and incarnation, a
 * question with head, and a refusal was the same.
 */
#include <string.h>

#include "transport/shm/shm_int.h"

#define MAGIC UINT64_C(0x6d68732d6c726877) /* "whrl-shm" */

enum kind { HELLO = 1, REFUSED = 5, QUERY = 7 };

struct head {
	uint64_t magic;
	uint32_t version;
	uint32_t kind;
};

struct hello { /* and more */
	struct head head;
	uint32_t node, nodes;
	uint64_t incarnation;
};

struct refused {
	struct head head;
	uint64_t incarnation;
	char reason[512];
};

bool wh_shm_older_take(struct wh_shm_datagram *d)
{
	struct hello old = {.node = 0};

	memcpy(&old, d->bytes, d->count < sizeof(old) ? d->count : sizeof(old));
	if (d->count < sizeof(old.head) || old.head.magic != MAGIC || old.head.version >= WH_SHM_VERSION)
		return false;
	if (old.head.kind == HELLO && d->count >= sizeof(old)) {
		const struct wh_hello hello = {.version = old.head.version,
					       .node = old.node,
					       .nodes = old.nodes,
					       .incarnation = old.incarnation};

		d->count = wh_message_put_hello(d->bytes, &hello, 0);
		return true;
	}
	if (old.head.kind == QUERY)
		d->count = wh_message_put_query(d->bytes, old.head.version, "", 0);
	return old.head.kind == QUERY;
}

enum wh_wire_result wh_shm_older_refuse(int socket, const struct iovec *said)
{
	struct refused old = {.head = {.magic = MAGIC, .version = WH_SHM_VERSION, .kind = REFUSED}};
	const struct iovec part = {&old, sizeof(old)};
	struct wh_message_head head;
	struct wh_refused refused;

	if (!wh_message_head_take(&head, said->iov_base) || head.kind != WH_MESSAGE_REFUSED ||
	    !wh_message_take_refused(&refused, &head, (const unsigned char *)said->iov_base + WH_HEAD_BYTES))
		return WH_WIRE_ENDED;
	old.incarnation = refused.incarnation;
	_Static_assert(sizeof(old.reason) >= sizeof(refused.reason), "it fits");
	memcpy(old.reason, refused.reason, strlen(refused.reason));
	return wh_shm_datagram_send(socket, &part, 1, NULL, 0);
}
