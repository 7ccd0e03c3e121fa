/* secure.c - channels: what a caller of secure.h sees of them. How two ends greet each other is in secure/greet.c. */
#include "transport/secure/secure_int.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- from the beginning to the end --------------------------------------------------------------------------------------- */

static enum whorl_result create_connection(const struct wh_secure_ground *ground, bool connects, uint32_t to,
					   struct wh_secure **out, struct wh_error *err)
{
	struct wh_secure *s = calloc(1, sizeof(*s));
	bool random;

	*out = NULL;
	if (s == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a connection");
	*s = (struct wh_secure){.ground = *ground,
				.connects = connects,
				.to = to,
				.peer = {.node = WH_SECURE_VISITOR, .incarnation = 0}};
	memcpy(s->group, ground->group, strnlen(ground->group, sizeof(s->group) - 1));
	s->ground.group = s->group;
	wh_secure_preamble(ground, s->talk.preamble);
	random = (ground->random != NULL ? ground->random : wh_secure_random)(s->nonce, sizeof(s->nonce));
	if (!random) {
		free(s);
		return wh_error_set(err, WHORL_SYSTEM, "there are no random numbers to be had");
	}
	if (connects && !wh_secure_bytes_put(&s->out, s->talk.preamble, WH_SECURE_PREAMBLE_BYTES)) {
		free(s);
		return wh_error_set(err, WHORL_MEMORY, "no memory for a connection");
	}
	s->ground.key = wh_secure_key_hold(ground->key);
	s->ground.tls = wh_secure_tls_hold(ground->tls);
	*out = s;
	return WHORL_OK;
}

enum whorl_result wh_secure_accept(const struct wh_secure_ground *ground, struct wh_secure **out, struct wh_error *err)
{
	return create_connection(ground, false, 0, out, err);
}

enum whorl_result wh_secure_connect(const struct wh_secure_ground *ground, uint32_t to, struct wh_secure **out,
				    struct wh_error *err)
{
	return create_connection(ground, true, to, out, err);
}

void wh_secure_free(struct wh_secure *s)
{
	if (s == NULL)
		return;
	wh_secure_tunnel_end(&s->tunnel);
	wh_secure_tls_free(s->ground.tls);
	wh_secure_key_free(s->ground.key);
	wh_secure_bytes_free(&s->in);
	wh_secure_bytes_free(&s->out);
	wh_secure_cleanse(&s->talk, sizeof(s->talk));
	free(s);
}

/* ---- what is said of it -------------------------------------------------------------------------------------------------- */

enum wh_secure_state wh_secure_state(const struct wh_secure *s)
{
	return s->state;
}

const void *wh_secure_pending(const struct wh_secure *s, size_t *count)
{
	*count = wh_secure_bytes_count(&s->out);
	return *count > 0 ? s->out.at + s->out.begin : NULL;
}

void wh_secure_sent(struct wh_secure *s, size_t count)
{
	wh_secure_bytes_take(&s->out, NULL, count);
}

const char *wh_secure_reason(const struct wh_secure *s)
{
	return s->reason;
}

enum wh_secure_fault wh_secure_fault(const struct wh_secure *s)
{
	return s->fault;
}

uint32_t wh_secure_spoken(const struct wh_secure *s)
{
	return s->spoken;
}

struct wh_secure_peer wh_secure_peer(const struct wh_secure *s)
{
	return s->peer;
}

bool wh_secure_admits(const struct wh_secure *s, uint32_t node, uint64_t incarnation,
		      char reason[WH_SECURE_REASON_BYTES])
{
	char name[WH_SECURE_NAME_BYTES], said[WH_SECURE_NAME_BYTES];

	if (wh_secure_mode(&s->ground) == 0)
		return true;
	if (s->state == WH_SECURE_PROVEN && node == s->peer.node && incarnation == s->peer.incarnation)
		return true;
	snprintf(reason, WH_SECURE_REASON_BYTES, "%s (%016" PRIx64 ") says that it is %s (%016" PRIx64 ")",
		 wh_secure_name(s->peer.node, name), s->peer.incarnation, wh_secure_name(node, said), incarnation);
	return false;
}

/* ---- application bytes --------------------------------------------------------------------------------------------------- */

bool wh_secure_wraps(const struct wh_secure *s)
{
	return s->wraps;
}

ptrdiff_t wh_secure_seal(struct wh_secure *s, const void *bytes, size_t count)
{
	uint64_t limit = s->ground.rekey_bytes != 0 ? s->ground.rekey_bytes : WH_SECURE_REKEY_BYTES;
	size_t pending = wh_secure_bytes_count(&s->out);

	if (s->state != WH_SECURE_PROVEN || !s->wraps)
		return -1;
	if (pending >= WH_SECURE_PENDING_MAX)
		return 0;
	if (s->tunnel.sealed >= limit && !wh_secure_tunnel_rekey(&s->tunnel))
		return -1;
	if (count > WH_SECURE_PENDING_MAX - pending)
		count = WH_SECURE_PENDING_MAX - pending;
	return wh_secure_tunnel_write(&s->tunnel, bytes, count);
}

ptrdiff_t wh_secure_open(struct wh_secure *s, void *bytes, size_t count)
{
	char name[WH_SECURE_NAME_BYTES];
	ptrdiff_t got;

	if (s->state != WH_SECURE_PROVEN || !s->wraps)
		return -1;
	got = wh_secure_tunnel_read(&s->tunnel, bytes, count, wh_secure_other(s, name), s->reason);
	if (got < 0) {
		wh_secure_refuse_as_said(s);
		if (s->tunnel.failure == WH_SECURE_OF_END)
			s->fault = WH_SECURE_OVER;
	}
	return got;
}

bool wh_secure_tls_is_of_key(const struct wh_secure_tls *tls)
{
	return tls != NULL && tls->of_key;
}

void wh_secure_fetch_by(struct wh_secure *s, wh_secure_fetch *fetch, void *from)
{
	s->tunnel.fetch = fetch;
	s->tunnel.from = from;
}

/* ---- without either ------------------------------------------------------------------------------------------------------ */

bool wh_secure_is_loopback(const struct sockaddr *address)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	if (address->sa_family == AF_INET) {
		memcpy(&v4, address, sizeof(v4));
		return ntohl(v4.sin_addr.s_addr) >> 24 == 127;
	}
	if (address->sa_family != AF_INET6)
		return false;
	memcpy(&v6, address, sizeof(v6));
	if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
		return v6.sin6_addr.s6_addr[12] == 127;
	return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}
