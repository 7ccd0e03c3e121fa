/* answer.c - callers: each is judged by what comes with its request, before anything is made for it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "transport/verbs/verbs_int.h"

#define CONNECT_COUNTS_NS (WH_NS_PER_S / 2) /* of two calls that cross one that is older than this does not count */
#define RIVAL_NS (WH_NS_PER_S / 4)          /* when another calls in its name, a peer has so long to turn out dead */

struct wh_verbs_hello wh_verbs_my_hello(const struct wh_verbs *t)
{
	return (struct wh_verbs_hello){.magic = WH_VERBS_MAGIC,
				       .version = WH_VERBS_VERSION,
				       .node = t->node,
				       .incarnation = t->incarnation,
				       .group = wh_verbs_group_digest(t->group),
				       .nodes = t->nodes};
}

bool wh_verbs_is_foreign(const struct wh_verbs *t, const struct wh_verbs_hello *hello,
			 char reason[WH_VERBS_REFUSAL_BYTES])
{
	if (hello->version != WH_VERBS_VERSION)
		snprintf(reason, WH_VERBS_REFUSAL_BYTES,
			 "node %" PRIu32 " speaks version %" PRIu32 ", node %" PRIu32 " version %d", hello->node,
			 hello->version, t->node, WH_VERBS_VERSION);
	else if (hello->group != wh_verbs_group_digest(t->group))
		snprintf(reason, WH_VERBS_REFUSAL_BYTES,
			 "node %" PRIu32 " is not of group %.30s, as node %" PRIu32 " is", hello->node, t->group,
			 t->node);
	else if (hello->nodes != t->nodes)
		snprintf(reason, WH_VERBS_REFUSAL_BYTES,
			 "node %" PRIu32 " is of a group of %" PRIu32 " nodes, node %" PRIu32 " of one of %" PRIu32,
			 hello->node, hello->nodes, t->node, t->nodes);
	else
		return false;
	return true;
}

/* Another incarnation has called while one is here. If that one is dead I am about to hear it: a message goes to it, and is
 * not acknowledged. If nothing is heard it is alive, and the other is refused. */
static enum wh_verbs_verdict make_way(struct wh_verbs *t, struct wh_verbs_peer *peer,
				      const struct wh_verbs_hello *hello)
{
	struct wh_verbs_head credit = {.kind = WH_VERBS_CREDIT};
	uint64_t now = wh_env_now(t->env);

	if (peer->rival != hello->incarnation) {
		peer->rival = hello->incarnation;
		peer->rival_ns = now;
		(void)wh_verbs_link_send(t, peer->link, WH_VERBS_FOR_CREDIT, &credit, sizeof(credit), NULL, 0);
		return WH_VERBS_NOT_NOW;
	}
	return now - peer->rival_ns < RIVAL_NS || !wh_verbs_link_is_idle(peer->link) || peer->link->ended
		       ? WH_VERBS_NOT_NOW
		       : WH_VERBS_NEVER;
}

static enum wh_verbs_verdict judge(struct wh_verbs *t, const struct wh_verbs_hello *hello,
				   char reason[WH_VERBS_REFUSAL_BYTES])
{
	struct wh_verbs_peer *peer = &t->peers[hello->node < t->nodes ? hello->node : t->node];
	enum wh_verbs_verdict verdict = WH_VERBS_COME;

	if (wh_verbs_is_foreign(t, hello, reason))
		return WH_VERBS_NEVER;
	if (peer->state == WH_VERBS_SELF) {
		snprintf(reason, WH_VERBS_REFUSAL_BYTES, "node %" PRIu32 " has nothing to call node %" PRIu32 " for",
			 hello->node, t->node);
		return WH_VERBS_NEVER;
	}
	if (wh_known_incarnations_has(&peer->ended, hello->incarnation)) {
		snprintf(reason, WH_VERBS_REFUSAL_BYTES, "node %" PRIu32 " is gone for good", hello->node);
		return WH_VERBS_NEVER;
	}
	if (peer->state == WH_VERBS_GREETING && t->node > peer->node &&
	    wh_env_now(t->env) - peer->link->begun_ns < CONNECT_COUNTS_NS)
		return WH_VERBS_NOT_NOW; /* our calls have crossed */
	if (peer->state == WH_VERBS_MET && peer->incarnation == hello->incarnation)
		return WH_VERBS_NOT_NOW; /* they had, and this is what is left of its call */
	if (peer->state == WH_VERBS_MET)
		verdict = make_way(t, peer, hello);
	if (verdict == WH_VERBS_NEVER)
		snprintf(reason, WH_VERBS_REFUSAL_BYTES, "node %" PRIu32 " is here already", peer->node);
	return verdict;
}

static void turn_away(struct wh_verbs *t, struct rdma_cm_id *id, enum wh_verbs_verdict verdict, const char *reason)
{
	struct wh_verbs_refusal refusal = {.hello = wh_verbs_my_hello(t), .verdict = (uint32_t)verdict};

	snprintf(refusal.reason, sizeof(refusal.reason), "%s", reason);
	(void)rdma_reject(id, &refusal, sizeof(refusal));
	rdma_destroy_id(id);
	if (verdict == WH_VERBS_NEVER)
		wh_event_queue_complain(&t->event_queue, "turned away: %s", reason);
}

static void welcome(struct wh_verbs *t, struct wh_verbs_peer *peer, struct rdma_cm_id *id)
{
	struct wh_verbs_hello hello = wh_verbs_my_hello(t);
	struct rdma_conn_param given = {.private_data = &hello,
					.private_data_len = sizeof(hello),
					.retry_count = WH_VERBS_RETRIES,
					.rnr_retry_count = WH_VERBS_RNR_RETRIES};

	id->context = peer->link;
	peer->link->id = id;
	if (!wh_verbs_link_prepare(t, peer->link)) {
		if (errno != EINVAL) /* it has given up meanwhile */
			wh_event_queue_complain(&t->event_queue, "cannot answer node %" PRIu32 ": %s", peer->node,
						peer->link->how);
		wh_verbs_give_up(t, peer, true);
		return;
	}
	wh_verbs_set_timeout(t, id);
	if (rdma_accept(id, &given) != 0)
		wh_verbs_give_up(t, peer, true);
}

void wh_verbs_on_connect(struct wh_verbs *t, struct rdma_cm_id *id, const void *bytes, size_t count)
{
	char reason[WH_VERBS_REFUSAL_BYTES] = "this is no node";
	enum wh_verbs_verdict verdict = WH_VERBS_NEVER;
	struct wh_verbs_hello hello;
	struct wh_verbs_peer *peer;

	if (wh_verbs_read_hello(bytes, count, &hello))
		verdict = t->left ? WH_VERBS_NOT_NOW : judge(t, &hello, reason);
	if (verdict != WH_VERBS_COME) {
		turn_away(t, id, verdict, verdict == WH_VERBS_NEVER ? reason : "");
		return;
	}
	peer = &t->peers[hello.node];
	if (peer->link != NULL)
		peer->link->ended = true;
	wh_verbs_end_connection(t, peer, WH_VERBS_ANSWERED); /* of what was under way */
	peer->link = wh_verbs_link_new(t, peer, false);
	if (peer->link == NULL) {
		peer->state = WH_VERBS_ABSENT;
		wh_dial_soon(&t->redial, &peer->redial);
		turn_away(t, id, WH_VERBS_NOT_NOW, "");
		return;
	}
	peer->incarnation = hello.incarnation;
	welcome(t, peer, id);
}
