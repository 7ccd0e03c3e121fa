/* remote.c - regions (T7): memory files that their owner and the nodes that have been granted them may write to.
 *
 * An operation is carried out where it is posted, by the initiator's processor, and is completed then and there: atomic
 * operations are the machine's own. An immediate goes into a mailbox, a page of the target's for each node that it has
 * granted something, of which the initiator writes the numbers and their count, and the target how many it has taken.
 * Then the doorbell is looked at, as after a push.
 *
 * A peer that may write to a region or a mailbox can scribble on it at will. Its size is sealed, so no process faults, and of a
 * mailbox the counts are checked. When a region is closed its owner lets go of the memory, which lives on, of no
 * account to any node, until the others have done so too.
 */
#include "transport/shm/shm_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/remote_account.h"

#define SEND_AGAIN_NS (2 * WH_NS_PER_MS)
#define MAILBOX_BYTES 4096

struct mailbox {
	wh_word sent; /* by the initiator */
	unsigned char pad[WH_CACHE_LINE - sizeof(wh_word)];
	wh_word taken; /* by the target */
	unsigned char more_pad[WH_CACHE_LINE - sizeof(wh_word)];
	wh_word numbers[WH_REMOTE_IMMEDIATES];
};
_Static_assert(sizeof(struct mailbox) <= MAILBOX_BYTES, "a mailbox is a page");

struct wh_shm_mail { /* the target's side; of my own node's the words are not shared */
	struct wh_shm_memory memory;
	struct mailbox *box;
	uint64_t taken;
	bool offered;
};

struct wh_shm_lane { /* the initiator's side; it stays when the peer ends, for what has not been taken */
	struct wh_remote_lane base;
	struct wh_shm_view mailbox;
	struct mailbox *box; /* NULL: the peer has not sent it yet */
	uint64_t sent;
	struct wh_shm_view memory[WH_REMOTE_GRANTS]; /* by grant */
	wh_word *words[WH_REMOTE_GRANTS];
};

struct grantee {
	uint64_t incarnation; /* 0: it has not been granted it */
	bool told, told_of_end;
};

struct wh_shm_region {
	struct wh_region base;
	struct wh_shm_region *next;
	struct wh_shm_memory memory;
	bool closed;
	struct grantee to[]; /* by node */
};

static wh_word *words_of(const struct wh_shm_view *view)
{
	return (wh_word *)(uintptr_t)view->base; /* mapped writable */
}

/* ---- immediates --------------------------------------------------------------------------------------------------- */

/* What the target says may be nonsense: then nothing can be sent, which is its own loss. */
static bool mailbox_is_full(const struct wh_shm_lane *lane)
{
	/* The number that was there has been read. Partner: take_mail */
	return lane->sent - wh_load_acquire(&lane->box->taken) >= WH_REMOTE_IMMEDIATES;
}

static void send_mail(struct wh_shm *t, struct wh_shm_peer *peer, uint32_t number)
{
	struct wh_shm_lane *lane = peer->lane;

	wh_store_relaxed(&lane->box->numbers[lane->sent % WH_REMOTE_IMMEDIATES], number);
	wh_store_release(&lane->box->sent, ++lane->sent); /* data and number before it. Partner: take_mail */
	if (peer->state != WH_SHM_MET)
		return;
	wh_fence_full(); /* the count, then the look. Partner: the fence in arm() */
	wh_shm_look_at(t, peer);
}

static bool take_mail(struct wh_shm *t, struct wh_shm_peer *peer, struct wh_remote_event *out)
{
	struct wh_shm_mail *mail = peer->mail;
	uint64_t there;

	if (mail == NULL)
		return false;
	there = wh_load_acquire(&mail->box->sent) - mail->taken; /* partner: send_mail */
	if (there == 0)
		return false;
	if (there > WH_REMOTE_IMMEDIATES) {
		if (!wh_event_queue_is_full(&t->event_queue))
			wh_shm_lose(t, peer, "has broken the protocol: it counts immediates that it cannot have sent");
		return false;
	}
	*out = (struct wh_remote_event){
		.kind = WH_REMOTE_IMMEDIATE,
		.node = peer->node,
		.incarnation = peer->node == t->node ? t->incarnation : peer->incarnation,
		.immediate = (uint32_t)wh_load_relaxed(&mail->box->numbers[mail->taken % WH_REMOTE_IMMEDIATES]),
	};
	wh_store_release(&mail->box->taken,
			 ++mail->taken); /* read, before it may be written. Partner: mailbox_is_full */
	return true;
}

/* ---- operations --------------------------------------------------------------------------------------------------- */

static enum whorl_result post_one(struct wh_shm *t, const struct wh_remote_op *op)
{
	struct wh_remote_grant *grant;
	enum whorl_result result;
	struct wh_shm_peer *peer;
	struct wh_shm_lane *lane;
	uint64_t value;

	if (op->node >= t->nodes)
		return WHORL_INVALID;
	peer = &t->peers[op->node];
	lane = peer->lane;
	if (t->left || (peer->state != WH_SHM_MET && peer->state != WH_SHM_SELF))
		return WHORL_MEMBER_GONE;
	if (lane == NULL)
		return WHORL_NOT_FOUND;
	result = wh_remote_judge(&lane->base, op, &grant);
	if (result == WHORL_OK && op->kind == WH_REMOTE_WRITE_IMMEDIATE && mailbox_is_full(lane))
		result = WHORL_AGAIN;
	if (result != WHORL_OK)
		return result;
	value = wh_remote_carry_out(lane->words[grant - lane->base.grants], op);
	wh_remote_posted(&lane->base, op, grant->incarnation);
	wh_remote_complete(&lane->base, WHORL_OK, value);
	if (op->kind == WH_REMOTE_WRITE_IMMEDIATE)
		send_mail(t, peer, op->immediate);
	return WHORL_OK;
}

static enum whorl_result post(struct wh_transport *transport, const struct wh_remote_op *ops, size_t count,
			      size_t *posted)
{
	for (*posted = 0; *posted < count; ++*posted) {
		enum whorl_result result = post_one(wh_shm_of(transport), &ops[*posted]);

		if (result != WHORL_OK)
			return result;
	}
	return WHORL_OK;
}

/* Nodes in turn, so that none holds up the others. */
static bool next(struct wh_transport *transport, struct wh_remote_event *out)
{
	struct wh_shm *t = wh_shm_of(transport);

	for (uint32_t k = 0; k < t->nodes; k++) {
		uint32_t node = (t->next_lane + k) % t->nodes;
		struct wh_shm_peer *peer = &t->peers[node];

		if ((peer->lane != NULL && wh_remote_lane_next(&peer->lane->base, out)) || take_mail(t, peer, out)) {
			t->next_lane = node + 1;
			return true;
		}
	}
	return false;
}

/* ---- what peers grant --------------------------------------------------------------------------------------------- */

static struct wh_shm_lane *lane_of(struct wh_shm_peer *peer)
{
	if (peer->lane == NULL)
		peer->lane = calloc(1, sizeof(*peer->lane));
	if (peer->lane != NULL)
		peer->lane->base.node = peer->node;
	return peer->lane;
}

static void forget_grant(struct wh_shm_lane *lane, size_t i)
{
	wh_shm_view_unmap(&lane->memory[i]);
	lane->words[i] = NULL;
}

/* Maps what has come with the message. False: it cannot be, and the peer has been refused. */
static bool map_region(struct wh_shm *t, struct wh_shm_peer *peer, const struct wh_shm_packet *packet,
		       struct wh_shm_view *view)
{
	struct wh_error err;

	if (wh_shm_view_map_shared(view, packet->fds[0], &packet->region.memory, peer->pid == getpid(), &err) ==
	    WHORL_OK)
		return true;
	wh_shm_refuse(t, peer, "region of node %" PRIu32 ": %s", peer->node, err.text);
	return false;
}

static bool on_mailbox(struct wh_shm *t, struct wh_shm_peer *peer, const struct wh_shm_packet *packet)
{
	struct wh_shm_lane *lane = peer->lane;

	if (lane->box != NULL || packet->region.memory.bytes != MAILBOX_BYTES)
		return false;
	if (map_region(t, peer, packet, &lane->mailbox))
		lane->box = (struct mailbox *)words_of(&lane->mailbox);
	return true;
}

static bool on_grant(struct wh_shm *t, struct wh_shm_peer *peer, const struct wh_shm_packet *packet)
{
	const struct wh_shm_region_message *message = &packet->region;
	struct wh_shm_lane *lane = peer->lane;
	struct wh_remote_grant *grant;
	size_t i;

	if (lane->box == NULL)
		return false;
	grant = wh_remote_grant_add(&lane->base, message->name, message->memory.bytes, peer->incarnation);
	if (grant == NULL)
		return false;
	i = (size_t)(grant - lane->base.grants);
	if (map_region(t, peer, packet, &lane->memory[i]))
		lane->words[i] = words_of(&lane->memory[i]);
	return true;
}

static bool on_withdrawal(struct wh_shm_peer *peer, const struct wh_shm_packet *packet)
{
	struct wh_remote_grant *grant = wh_remote_grant_find(&peer->lane->base, packet->region.name);

	if (grant == NULL)
		return false;
	forget_grant(peer->lane, (size_t)(grant - peer->lane->base.grants));
	wh_remote_grant_withdraw(&peer->lane->base, grant);
	return true;
}

bool wh_shm_remote_on_message(struct wh_shm *t, struct wh_shm_peer *peer, struct wh_shm_packet *packet)
{
	bool sound = false;

	if (lane_of(peer) == NULL) {
		wh_shm_claim_drop(&packet->region.memory, peer->pid == getpid());
		wh_shm_refuse(t, peer, "no memory for the regions of node %" PRIu32, peer->node);
		return true;
	}
	if (packet->head.kind == WH_SHM_MAILBOX)
		sound = on_mailbox(t, peer, packet);
	else if (packet->head.kind == WH_SHM_GRANT)
		sound = on_grant(t, peer, packet);
	else
		sound = on_withdrawal(peer, packet);
	return sound;
}

void wh_shm_remote_end(struct wh_shm_peer *peer)
{
	struct wh_shm_lane *lane = peer->lane;

	if (lane != NULL) {
		for (size_t i = 0; i < WH_REMOTE_GRANTS; i++)
			forget_grant(lane, i);
		wh_shm_view_unmap(&lane->mailbox);
		lane->box = NULL;
		lane->sent = 0;
		wh_remote_lane_end(&lane->base);
	}
	if (peer->mail != NULL) {
		wh_shm_memory_free(&peer->mail->memory);
		free(peer->mail);
		peer->mail = NULL;
	}
}

/* ---- what I grant ------------------------------------------------------------------------------------------------- */

static bool send_message(struct wh_shm *t, const struct wh_shm_peer *peer, enum wh_shm_kind kind, uint64_t name,
			 struct wh_shm_memory *memory, uint64_t bytes)
{
	struct wh_shm_region_message message = {.head = wh_shm_head(kind), .name = name};

	if (memory != NULL)
		message.memory = wh_shm_memory_claim(memory, bytes, peer->pid == getpid());
	if (wh_shm_send(peer->socket, &message, sizeof(message), memory != NULL ? &memory->fd : NULL,
			memory != NULL ? 1 : 0) == 0)
		return true;
	wh_shm_claim_drop(&message.memory, peer->pid == getpid());
	wh_dial_timer(&t->redial, SEND_AGAIN_NS);
	return false;
}

/* True: there is nothing more to be said. */
static bool tell(struct wh_shm *t, struct wh_shm_region *region, struct wh_shm_peer *peer, size_t *done)
{
	struct grantee *to = &region->to[peer->node];

	if (to->incarnation == 0 || peer->state != WH_SHM_MET || peer->incarnation != to->incarnation)
		return true;
	if (region->closed) {
		if (to->told && !to->told_of_end)
			*done += to->told_of_end = send_message(t, peer, WH_SHM_WITHDRAWN, region->base.name, NULL, 0);
		return !to->told || to->told_of_end;
	}
	if (!peer->mail->offered)
		*done += peer->mail->offered =
			send_message(t, peer, WH_SHM_MAILBOX, 0, &peer->mail->memory, MAILBOX_BYTES);
	if (peer->mail->offered)
		wh_shm_memory_let_go(&peer->mail->memory);
	if (peer->mail->offered && !to->told)
		*done += to->told =
			send_message(t, peer, WH_SHM_GRANT, region->base.name, &region->memory, region->base.bytes);
	return to->told;
}

static void free_region(struct wh_shm_region *region)
{
	wh_shm_memory_free(&region->memory);
	free(region);
}

size_t wh_shm_remote_advance(struct wh_shm *t)
{
	struct wh_shm_region **at = &t->regions;
	size_t done = 0;

	t->regions_unsaid = false;
	while (*at != NULL) {
		struct wh_shm_region *region = *at;
		bool said = true;

		for (uint32_t node = 0; node < t->nodes; node++)
			said = tell(t, region, &t->peers[node], &done) && said;
		t->regions_unsaid = t->regions_unsaid || !said;
		if (said && region->closed) {
			*at = region->next;
			free_region(region);
		} else {
			at = &region->next;
		}
	}
	return done;
}

/* NULL: there is no memory for it. */
static struct wh_shm_mail *new_mail(void)
{
	const struct wh_shm_wish wish = {.name = "whorl-mailbox", .bytes = MAILBOX_BYTES, .shared = true};
	struct wh_shm_mail *mail = calloc(1, sizeof(*mail));

	if (mail == NULL)
		return NULL;
	mail->memory.fd = -1;
	if (wh_shm_memory_make(&mail->memory, &wish, NULL) != WHORL_OK) {
		free(mail);
		return NULL;
	}
	mail->box = (struct mailbox *)(void *)mail->memory.base;
	return mail;
}

static enum whorl_result grant(struct wh_region *base, uint32_t node)
{
	struct wh_shm *t = wh_shm_of(base->transport);
	struct wh_shm_region *region = (struct wh_shm_region *)base;
	struct wh_shm_peer *peer;

	if (node >= t->nodes || node == t->node)
		return WHORL_INVALID;
	peer = &t->peers[node];
	if (peer->state != WH_SHM_MET || t->left)
		return WHORL_MEMBER_GONE;
	if (peer->mail == NULL)
		peer->mail = new_mail();
	if (peer->mail == NULL)
		return WHORL_MEMORY;
	if (region->to[node].incarnation != peer->incarnation)
		region->to[node] = (struct grantee){.incarnation = peer->incarnation};
	(void)wh_shm_remote_advance(t);
	return WHORL_OK;
}

/* ---- mine --------------------------------------------------------------------------------------------------------- */

static uint32_t count_regions(const struct wh_shm *t)
{
	uint32_t count = 0;

	for (const struct wh_shm_region *region = t->regions; region != NULL; region = region->next)
		count++;
	return count;
}

/* I use it as others do, through a lane to myself. */
static enum whorl_result grant_myself(struct wh_shm *t, const struct wh_shm_region *region)
{
	struct wh_shm_peer *me = &t->peers[t->node];
	struct wh_shm_lane *lane = lane_of(me);
	struct wh_remote_grant *own;

	if (me->mail == NULL)
		me->mail = new_mail();
	if (lane == NULL || me->mail == NULL)
		return WHORL_MEMORY;
	wh_shm_memory_let_go(&me->mail->memory);
	lane->box = me->mail->box;
	own = wh_remote_grant_add(&lane->base, region->base.name, region->base.bytes, t->incarnation);
	if (own == NULL)
		return WHORL_INVALID;
	own->state = WH_GRANT_USED;
	lane->base.news--; /* no news to me */
	lane->words[own - lane->base.grants] = region->base.words;
	return WHORL_OK;
}

static enum whorl_result region_open(struct wh_transport *transport, uint64_t name, uint64_t bytes,
				     struct wh_region **out, struct wh_error *err)
{
	struct wh_shm *t = wh_shm_of(transport);
	const struct wh_shm_wish wish = {.name = "whorl-region", .bytes = bytes, .shared = true};
	struct wh_shm_region *region;
	enum whorl_result result;

	*out = NULL;
	if (bytes == 0 || bytes % sizeof(wh_word) != 0 || bytes > WH_REMOTE_REGION_MAX)
		return wh_error_set(err, WHORL_INVALID, "a region cannot have %" PRIu64 " bytes", bytes);
	if (count_regions(t) == WH_REMOTE_REGIONS)
		return wh_error_set(err, WHORL_AGAIN, "%d regions are open", WH_REMOTE_REGIONS);
	region = calloc(1, sizeof(*region) + t->nodes * sizeof(region->to[0]));
	if (region == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a region");
	region->memory.fd = -1;
	result = wh_shm_memory_make(&region->memory, &wish, err);
	if (result != WHORL_OK) {
		free_region(region);
		return result;
	}
	region->base = (struct wh_region){
		.ops = transport->ops->remote,
		.transport = transport,
		.name = name,
		.bytes = bytes,
		.words = (wh_word *)(void *)region->memory.base,
	};
	result = grant_myself(t, region);
	if (result != WHORL_OK) {
		free_region(region);
		return wh_error_set(err, result, "region %" PRIx64 " cannot be opened", name);
	}
	region->next = t->regions;
	t->regions = region;
	*out = &region->base;
	return WHORL_OK;
}

static void region_close(struct wh_region *base)
{
	struct wh_shm *t = wh_shm_of(base->transport);
	struct wh_shm_region *region = (struct wh_shm_region *)base;
	struct wh_shm_lane *lane = t->peers[t->node].lane;
	struct wh_remote_grant *own = wh_remote_grant_find(&lane->base, base->name);

	lane->words[own - lane->base.grants] = NULL;
	own->state = WH_GRANT_NONE;
	region->closed = true;
	wh_shm_memory_free(&region->memory);
	(void)wh_shm_remote_advance(t);
}

void wh_shm_remote_free(struct wh_shm *t)
{
	while (t->regions != NULL) {
		struct wh_shm_region *region = t->regions;

		t->regions = region->next;
		free_region(region);
	}
	for (uint32_t node = 0; node < t->nodes; node++) {
		free(t->peers[node].lane);
		t->peers[node].lane = NULL;
	}
}

const struct wh_remote_ops wh_shm_remote_ops = {
	.region_open = region_open,
	.grant = grant,
	.region_close = region_close,
	.post = post,
	.next = next,
};
