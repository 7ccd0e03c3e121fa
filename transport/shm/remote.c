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

struct wh_shm_account { /* the initiator's side; it stays when the peer ends, for what has not been taken */
	struct wh_remote_account base;
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

static enum wh_peer_state state_of(const struct wh_shm *t, uint32_t node)
{
	return wh_session_peer(t->base.session, node)->state;
}

/* A peer that has been met is a node of this process. */
static bool is_mine(const struct wh_shm *t, uint32_t node)
{
	return wh_shm_peer_conn(t, node)->pid == getpid();
}

/* ---- immediates --------------------------------------------------------------------------------------------------- */

/* What the target says may be nonsense: then nothing can be sent, which is its own loss. */
static bool mailbox_is_full(const struct wh_shm_account *account)
{
	/* The number that was there has been read. Partner: take_mail */
	return account->sent - wh_load_acquire(&account->box->taken) >= WH_REMOTE_IMMEDIATES;
}

static void send_mail(struct wh_shm *t, uint32_t node, uint32_t number)
{
	struct wh_shm_account *account = t->peers[node].account;

	wh_store_relaxed(&account->box->numbers[account->sent % WH_REMOTE_IMMEDIATES], number);
	wh_store_release(&account->box->sent, ++account->sent); /* data and number before it. Partner: take_mail */
	if (state_of(t, node) != WH_PEER_MET)
		return;
	wh_fence_full(); /* the count, then the look. Partner: the fence in arm() */
	wh_shm_look_at(t, &t->peers[node]);
}

static bool take_mail(struct wh_shm *t, uint32_t node, struct wh_remote_event *out)
{
	struct wh_peer *peer = wh_session_peer(t->base.session, node);
	struct wh_shm_mail *mail = t->peers[node].mail;
	uint64_t there;

	if (mail == NULL)
		return false;
	there = wh_load_acquire(&mail->box->sent) - mail->taken; /* partner: send_mail */
	if (there == 0)
		return false;
	if (there > WH_REMOTE_IMMEDIATES) {
		if (!wh_session_is_full(t->base.session))
			wh_session_lose(t->base.session, peer,
					"has broken the protocol: it counts immediates that it cannot have sent");
		return false;
	}
	*out = (struct wh_remote_event){
		.kind = WH_REMOTE_IMMEDIATE,
		.node = node,
		.incarnation = node == t->node ? t->incarnation : peer->incarnation,
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
	enum wh_peer_state state;
	struct wh_shm_account *account;
	uint64_t value;

	if (op->node >= t->nodes)
		return WHORL_INVALID;
	state = state_of(t, op->node);
	account = t->peers[op->node].account;
	if (wh_session_has_left(t->base.session) || (state != WH_PEER_MET && state != WH_PEER_SELF))
		return WHORL_MEMBER_GONE;
	if (account == NULL)
		return WHORL_NOT_FOUND;
	result = wh_remote_judge(&account->base, op, &grant);
	if (result == WHORL_OK && op->kind == WH_REMOTE_WRITE_IMMEDIATE && mailbox_is_full(account))
		result = WHORL_AGAIN;
	if (result != WHORL_OK)
		return result;
	value = wh_remote_carry_out(account->words[grant - account->base.grants], op);
	wh_remote_posted(&account->base, op, grant->incarnation);
	wh_remote_complete(&account->base, WHORL_OK, value);
	if (op->kind == WH_REMOTE_WRITE_IMMEDIATE)
		send_mail(t, op->node, op->immediate);
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
		uint32_t node = (t->next_account + k) % t->nodes;
		struct wh_shm_account *account = t->peers[node].account;

		if ((account != NULL && wh_remote_account_next(&account->base, out)) || take_mail(t, node, out)) {
			t->next_account = node + 1;
			return true;
		}
	}
	return false;
}

/* ---- what peers grant --------------------------------------------------------------------------------------------- */

static struct wh_shm_account *account_of(struct wh_shm *t, uint32_t node)
{
	struct wh_shm_peer *peer = &t->peers[node];

	if (peer->account == NULL)
		peer->account = calloc(1, sizeof(*peer->account));
	if (peer->account != NULL)
		peer->account->base.node = node;
	return peer->account;
}

static void forget_grant(struct wh_shm_account *account, size_t i)
{
	wh_shm_view_unmap(&account->memory[i]);
	account->words[i] = NULL;
}

/* What a peer says of a region, or its mailbox. */
struct said {
	uint32_t node;
	uint64_t name;
	struct wh_shm_claim claim;
	int fd;
};

/* Maps what has come with the message. False: it cannot be, and the peer has been refused. */
static bool map_region(struct wh_shm *t, const struct said *said, struct wh_shm_view *view)
{
	struct wh_error err;

	if (wh_shm_view_map_shared(view, said->fd, &said->claim, is_mine(t, said->node), &err) == WHORL_OK)
		return true;
	wh_session_refuse(t->base.session, wh_session_peer(t->base.session, said->node), WH_COMPLAINT_FOREIGN,
			  "region of node %" PRIu32 ": %s", said->node, err.text);
	return false;
}

static bool on_mailbox(struct wh_shm *t, struct wh_shm_account *account, const struct said *said)
{
	if (account->box != NULL || said->claim.bytes != MAILBOX_BYTES)
		return false;
	if (map_region(t, said, &account->mailbox))
		account->box = (struct mailbox *)words_of(&account->mailbox);
	return true;
}

static bool on_grant(struct wh_shm *t, struct wh_shm_account *account, const struct said *said)
{
	struct wh_remote_grant *grant;
	size_t i;

	if (account->box == NULL)
		return false;
	grant = wh_remote_grant_add(&account->base, said->name, said->claim.bytes,
				    wh_session_peer(t->base.session, said->node)->incarnation);
	if (grant == NULL)
		return false;
	i = (size_t)(grant - account->base.grants);
	if (map_region(t, said, &account->memory[i]))
		account->words[i] = words_of(&account->memory[i]);
	return true;
}

static bool on_withdrawal(struct wh_shm_account *account, const struct said *said)
{
	struct wh_remote_grant *grant = wh_remote_grant_find(&account->base, said->name);

	if (grant == NULL)
		return false;
	forget_grant(account, (size_t)(grant - account->base.grants));
	wh_remote_grant_withdraw(&account->base, grant);
	return true;
}

bool wh_shm_remote_on_message(struct wh_transport *transport, uint32_t node, struct wh_message *m)
{
	bool claims = m->head.kind == WH_SHM_MAILBOX || m->head.kind == WH_SHM_GRANT;
	struct said said = {.node = node, .name = m->head.number, .fd = m->fds[0]};
	struct wh_shm *t = wh_shm_of(transport);
	struct wh_shm_account *account = account_of(t, node);

	if (m->head.bytes != (claims ? WH_SHM_CLAIM_BYTES : 0))
		return false;
	if (claims)
		said.claim = wh_shm_claim_take(m->body);
	if (account == NULL) {
		wh_shm_claim_drop(&said.claim, is_mine(t, node));
		wh_session_refuse(t->base.session, wh_session_peer(t->base.session, node), WH_COMPLAINT_STARVED,
				  "no memory for the regions of node %" PRIu32, node);
		return true;
	}
	switch (m->head.kind) {
	case WH_SHM_MAILBOX:
		return on_mailbox(t, account, &said);
	case WH_SHM_GRANT:
		return on_grant(t, account, &said);
	case WH_SHM_WITHDRAWN:
		return on_withdrawal(account, &said);
	default:
		return false;
	}
}

void wh_shm_remote_end(struct wh_shm_peer *peer)
{
	struct wh_shm_account *account = peer->account;

	if (account != NULL) {
		for (size_t i = 0; i < WH_REMOTE_GRANTS; i++)
			forget_grant(account, i);
		wh_shm_view_unmap(&account->mailbox);
		account->box = NULL;
		account->sent = 0;
		wh_remote_account_end(&account->base);
	}
	if (peer->mail != NULL) {
		wh_shm_memory_free(&peer->mail->memory);
		free(peer->mail);
		peer->mail = NULL;
	}
}

/* ---- what I grant ------------------------------------------------------------------------------------------------- */

/* `memory`: what goes with it, of `bytes` bytes; NULL: nothing. */
static bool send_message(struct wh_shm *t, uint32_t node, enum wh_shm_kind kind, uint64_t name,
			 struct wh_shm_memory *memory, uint64_t bytes)
{
	const struct wh_message_head head = {
		.kind = (uint8_t)kind, .bytes = memory != NULL ? WH_SHM_CLAIM_BYTES : 0, .number = name};
	unsigned char message[WH_HEAD_BYTES + WH_SHM_CLAIM_BYTES];
	struct wh_shm_claim claim = {.bytes = 0};

	if (memory != NULL)
		claim = wh_shm_memory_claim(memory, bytes, is_mine(t, node));
	wh_message_head_put(message, &head);
	wh_shm_claim_put(message + WH_HEAD_BYTES, &claim);
	if (wh_session_send(t->base.session, node, message, WH_HEAD_BYTES + head.bytes,
			    memory != NULL ? &memory->fd : NULL, memory != NULL ? 1 : 0, WH_WIRE_OWN) == WH_WIRE_DONE)
		return true;
	wh_shm_claim_drop(&claim, is_mine(t, node));
	wh_poll_alarm(&t->poll, SEND_AGAIN_NS);
	return false;
}

/* True: there is nothing more to be said. */
static bool tell(struct wh_shm *t, struct wh_shm_region *region, uint32_t node, size_t *done)
{
	const struct wh_peer *peer = wh_session_peer(t->base.session, node);
	struct wh_shm_mail *mail = t->peers[node].mail;
	struct grantee *to = &region->to[node];

	if (to->incarnation == 0 || peer->state != WH_PEER_MET || peer->incarnation != to->incarnation)
		return true;
	if (region->closed) {
		if (to->told && !to->told_of_end)
			*done += to->told_of_end = send_message(t, node, WH_SHM_WITHDRAWN, region->base.name, NULL, 0);
		return !to->told || to->told_of_end;
	}
	if (!mail->offered)
		*done += mail->offered = send_message(t, node, WH_SHM_MAILBOX, 0, &mail->memory, MAILBOX_BYTES);
	if (mail->offered)
		wh_shm_memory_let_go(&mail->memory);
	if (mail->offered && !to->told)
		*done += to->told =
			send_message(t, node, WH_SHM_GRANT, region->base.name, &region->memory, region->base.bytes);
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
			said = tell(t, region, node, &done) && said;
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
	uint64_t incarnation;

	if (node >= t->nodes || node == t->node)
		return WHORL_INVALID;
	if (state_of(t, node) != WH_PEER_MET || wh_session_has_left(t->base.session))
		return WHORL_MEMBER_GONE;
	peer = &t->peers[node];
	if (peer->mail == NULL)
		peer->mail = new_mail();
	if (peer->mail == NULL)
		return WHORL_MEMORY;
	incarnation = wh_session_peer(t->base.session, node)->incarnation;
	if (region->to[node].incarnation != incarnation)
		region->to[node] = (struct grantee){.incarnation = incarnation};
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

/* I use it as others do, through an account to myself. */
static enum whorl_result grant_myself(struct wh_shm *t, const struct wh_shm_region *region)
{
	struct wh_shm_peer *me = &t->peers[t->node];
	struct wh_shm_account *account = account_of(t, t->node);
	struct wh_remote_grant *own;

	if (me->mail == NULL)
		me->mail = new_mail();
	if (account == NULL || me->mail == NULL)
		return WHORL_MEMORY;
	wh_shm_memory_let_go(&me->mail->memory);
	account->box = me->mail->box;
	own = wh_remote_grant_add(&account->base, region->base.name, region->base.bytes, t->incarnation);
	if (own == NULL)
		return WHORL_INVALID;
	own->state = WH_GRANT_USED;
	account->base.news--; /* no news to me */
	account->words[own - account->base.grants] = region->base.words;
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
	struct wh_shm_account *account = t->peers[t->node].account;
	struct wh_remote_grant *own = wh_remote_grant_find(&account->base, base->name);

	account->words[own - account->base.grants] = NULL;
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
	wh_shm_remote_end(&t->peers[t->node]); /* of others their connections have */
	for (uint32_t node = 0; node < t->nodes; node++) {
		free(t->peers[node].account);
		t->peers[node].account = NULL;
	}
}

const struct wh_remote_ops wh_shm_remote_ops = {
	.region_open = region_open,
	.grant = grant,
	.region_close = region_close,
	.post = post,
	.next = next,
};
