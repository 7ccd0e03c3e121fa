/* secure.c - the greeting of two ends, as a machine over bytes.
 *
 *     caller                                 answerer
 *     preamble (magic, mode, version)   ->
 *                                       <-   preamble                 open mode: this is all
 *     [the TLS 1.3 handshake; what follows goes through it]
 *     CALL   who, whom, group, nonce    ->
 *                                       <-   ANSWER   the same of the other
 *     PROOF  HMAC of all of that        ->
 *                                       <-   DONE     HMAC of all of that, under another label
 *
 * The answerer shows nothing that depends on the key before the caller has proven that it has it. Both proofs are about all
 * that both have said, so nothing of it can have been changed on its way; they have different labels, so none is good in the other
 * direction; both ends put in a fresh nonce, so none is good twice. Either end may say REFUSED, with a reason, in place of
 * its next message.
 *
 * Nobody speaks before he has the whole of the other's last message, and none is longer than MESSAGE_MOST: when one end refuses
 * and closes nothing unread is left in its socket, which would make the kernel throw the reason away.
 */
#include "transport/secure_int.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "whorl"
#define MAGIC_BYTES 5
#define PREAMBLE_BYTES 8
#define MODE_KEY 1
#define MODE_TLS 2
#define HEAD_BYTES 4
#define REASON_MOST 200 /* bytes in a REFUSED */
#define MESSAGE_MOST (HEAD_BYTES + REASON_MOST)

enum kind { KIND_CALL = 1, KIND_ANSWER, KIND_PROOF, KIND_DONE, KIND_REFUSED };

/* What the end waits for. */
enum phase { PHASE_PREAMBLE, PHASE_SHAKE, PHASE_GREETING, PHASE_PROOF, PHASE_END };

struct wh_secure {
	const struct wh_secure_ground *ground;
	bool caller, claimed; /* claimed: the peer has said who it is */
	uint32_t to;          /* of a caller */
	enum wh_secure_state state;
	enum phase phase;
	struct wh_secure_peer peer;
	struct wh_secure_talk talk;
	unsigned char nonce[WH_SECURE_NONCE_BYTES];
	unsigned char message[MESSAGE_MOST]; /* what has come of the one that is on its way */
	size_t have;
	size_t unproven; /* bytes taken while it was going on */
	bool wraps;      /* the tunnel is there */
	struct wh_secure_tunnel tunnel;
	struct wh_secure_bytes in, out; /* of the socket; `in` with TLS alone */
	char reason[WH_SECURE_REASON_BYTES];
};

_Static_assert(WH_SECURE_GREETING_BYTES <= REASON_MOST && WH_SECURE_PROOF_BYTES <= REASON_MOST, "the longest message");

/* ---- numbers, independent of byte order -------------------------------------------------------------------------------- */

static void put(unsigned char *at, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t get(const unsigned char *at, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)at[i] << 8 * i;
	return value;
}

/* ---- names ------------------------------------------------------------------------------------------------------------- */

#define NAME_BYTES 24

static const char *name_of(uint32_t node, char out[NAME_BYTES])
{
	if (node == WH_SECURE_VISITOR)
		return "a visitor";
	snprintf(out, NAME_BYTES, "node %" PRIu32, node);
	return out;
}

static const char *other(const struct wh_secure *s, char out[NAME_BYTES])
{
	if (s->caller)
		return name_of(s->to, out);
	return s->claimed ? name_of(s->peer.node, out) : "the caller";
}

static void tame(char *text)
{
	for (; *text != '\0'; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

/* ---- sending ----------------------------------------------------------------------------------------------------------- */

/* False: no memory, or TLS is broken. */
static bool emit(struct wh_secure *s, const void *bytes, size_t count)
{
	if (s->wraps)
		return wh_secure_tunnel_write(&s->tunnel, bytes, count) == (ptrdiff_t)count;
	return wh_secure_bytes_put(&s->out, bytes, count);
}

static bool emit_message(struct wh_secure *s, enum kind kind, const void *body, size_t count)
{
	unsigned char message[MESSAGE_MOST] = {(unsigned char)kind};

	put(message + 2, count, 2);
	memcpy(message + HEAD_BYTES, body, count);
	return emit(s, message, HEAD_BYTES + count);
}

static void refuse(struct wh_secure *s, bool tell, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* It is over. `tell`: the other end understands a REFUSED, and gets the reason. */
static void refuse(struct wh_secure *s, bool tell, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(s->reason, sizeof(s->reason), format, arguments);
	va_end(arguments);
	tame(s->reason);
	s->state = WH_SECURE_REFUSED;
	if (tell)
		(void)emit_message(s, KIND_REFUSED, s->reason, strnlen(s->reason, REASON_MOST));
}

static void refuse_without(struct wh_secure *s, const char *what)
{
	char name[NAME_BYTES];

	refuse(s, false, "%s cannot be met: %s", other(s, name), what);
}

/* ---- the preamble ------------------------------------------------------------------------------------------------------ */

static unsigned mode_of(const struct wh_secure_ground *ground)
{
	return (ground->key != NULL ? MODE_KEY : 0U) | (ground->tls != NULL ? MODE_TLS : 0U);
}

static void send_call(struct wh_secure *s);

static void shake(struct wh_secure *s)
{
	char name[NAME_BYTES], reason[WH_SECURE_REASON_BYTES];
	int done = wh_secure_tunnel_shake(&s->tunnel, other(s, name), s->reason);

	if (done < 0) {
		tame(s->reason);
		s->state = WH_SECURE_REFUSED;
		return;
	}
	if (done == 0)
		return;
	if (!wh_secure_tunnel_secret(&s->tunnel, s->talk.channel)) {
		refuse_without(s, "TLS has no secret to export");
		return;
	}
	s->wraps = true;
	s->phase = PHASE_GREETING;
	if (s->caller && !wh_secure_tunnel_is_for(&s->tunnel, s->ground->group, s->to, reason))
		refuse(s, true, "%s", reason);
	else if (s->caller)
		send_call(s);
}

static void begin_after_preamble(struct wh_secure *s)
{
	if (s->ground->tls != NULL) {
		s->phase = PHASE_SHAKE;
		if (!wh_secure_tunnel_begin(&s->tunnel, s->ground->tls, s->caller, &s->in, &s->out))
			refuse_without(s, "no memory for TLS");
		else
			shake(s);
	} else if (s->ground->key != NULL) {
		s->phase = PHASE_GREETING;
		if (s->caller)
			send_call(s);
	} else {
		s->phase = PHASE_END;
		s->state = WH_SECURE_PROVEN;
	}
}

static void judge_preamble(struct wh_secure *s)
{
	unsigned mode = s->message[MAGIC_BYTES], mine = mode_of(s->ground);
	unsigned version = (unsigned)get(s->message + MAGIC_BYTES + 1, 2);
	char name[NAME_BYTES], my_name[NAME_BYTES];
	const char *it = other(s, name), *i = name_of(s->ground->node, my_name);

	if (memcmp(s->message, MAGIC, MAGIC_BYTES) != 0) {
		refuse(s, false, "%s does not speak as whorl does", it);
		return;
	}
	if (!s->caller && !emit(s, s->talk.preamble, PREAMBLE_BYTES)) {
		refuse_without(s, "no memory");
		return;
	}
	if (version != s->ground->version)
		refuse(s, false, "%s speaks version %u of the protocol, %s version %u", it, version, i,
		       s->ground->version);
	else if (((mode ^ mine) & MODE_KEY) != 0)
		refuse(s, false, "%s has %s cluster key (key_file), %s has %s", it, (mode & MODE_KEY) != 0 ? "a" : "no",
		       i, (mine & MODE_KEY) != 0 ? "one" : "none");
	else if (((mode ^ mine) & MODE_TLS) != 0)
		refuse(s, false, "%s has tls = %s, %s has tls = %s", it, (mode & MODE_TLS) != 0 ? "on" : "off", i,
		       (mine & MODE_TLS) != 0 ? "on" : "off");
	else if (mode != mine)
		refuse(s, false, "%s asks for a mode %u that is not known", it, mode);
	else
		begin_after_preamble(s);
}

/* ---- CALL and ANSWER --------------------------------------------------------------------------------------------------- */

struct greeting {
	uint32_t node, to;
	uint64_t incarnation;
	char group[WH_SECURE_GROUP_BYTES];
};

#define AT_TO 4
#define AT_INCARNATION 8
#define AT_NONCE 16
#define AT_GROUP (AT_NONCE + WH_SECURE_NONCE_BYTES)
_Static_assert(AT_GROUP + WH_SECURE_GROUP_BYTES == WH_SECURE_GREETING_BYTES, "the fields fill it");

static void write_greeting(const struct wh_secure *s, unsigned char out[WH_SECURE_GREETING_BYTES], uint32_t to)
{
	memset(out, 0, WH_SECURE_GREETING_BYTES);
	put(out, s->ground->node, 4);
	put(out + AT_TO, to, 4);
	put(out + AT_INCARNATION, s->ground->incarnation, 8);
	memcpy(out + AT_NONCE, s->nonce, WH_SECURE_NONCE_BYTES);
	memcpy(out + AT_GROUP, s->ground->group, strnlen(s->ground->group, WH_SECURE_GROUP_BYTES - 1));
}

/* False: no node writes that. */
static bool read_greeting(const unsigned char in[WH_SECURE_GREETING_BYTES], struct greeting *out)
{
	size_t length = strnlen((const char *)in + AT_GROUP, WH_SECURE_GROUP_BYTES);

	out->node = (uint32_t)get(in, 4);
	out->to = (uint32_t)get(in + AT_TO, 4);
	out->incarnation = get(in + AT_INCARNATION, 8);
	memcpy(out->group, in + AT_GROUP, WH_SECURE_GROUP_BYTES);
	for (size_t i = length; i < WH_SECURE_GROUP_BYTES; i++)
		if (out->group[i] != '\0')
			return false;
	if (length == 0 || length == WH_SECURE_GROUP_BYTES)
		return false;
	tame(out->group);
	return out->incarnation != 0 || out->node == WH_SECURE_VISITOR;
}

static void send_call(struct wh_secure *s)
{
	write_greeting(s, s->talk.call, s->to);
	if (!emit_message(s, KIND_CALL, s->talk.call, WH_SECURE_GREETING_BYTES))
		refuse_without(s, "no memory");
}

/* Whether the two go together, as far as they can know before anything is proven. False: it is refused. */
static bool judge_greeting(struct wh_secure *s, const struct greeting *greeting)
{
	char name[NAME_BYTES], my_name[NAME_BYTES], third[NAME_BYTES], reason[WH_SECURE_REASON_BYTES];
	const char *it = other(s, name), *i = name_of(s->ground->node, my_name);

	if (strcmp(greeting->group, s->ground->group) != 0)
		refuse(s, true, "%s is of group %s, %s of group %s", it, greeting->group, i, s->ground->group);
	else if (s->caller && greeting->node != s->to)
		refuse(s, true, "%s answers where %s should", name_of(greeting->node, third), it);
	else if (greeting->to != s->ground->node)
		refuse(s, true, "%s calls %s, and this is %s", it, name_of(greeting->to, third), i);
	else if (greeting->node == s->ground->node)
		refuse(s, true, "there are two nodes with the id %" PRIu32, greeting->node);
	else if (!s->caller && s->wraps &&
		 !wh_secure_tunnel_is_for(&s->tunnel, s->ground->group, greeting->node, reason))
		refuse(s, true, "%s", reason);
	return s->state == WH_SECURE_GOING_ON;
}

static void send_proof(struct wh_secure *s, enum kind kind)
{
	unsigned char proof[WH_SECURE_PROOF_BYTES];

	if (!wh_secure_prove(s->ground->key, s->caller, &s->talk, proof) ||
	    !emit_message(s, kind, proof, sizeof(proof)))
		refuse_without(s, "no memory");
}

static void take_greeting(struct wh_secure *s, const unsigned char *body)
{
	struct greeting greeting;
	char name[NAME_BYTES];

	if (!read_greeting(body, &greeting)) {
		refuse(s, false, "%s says what no node says", other(s, name));
		return;
	}
	s->claimed = true;
	s->peer = (struct wh_secure_peer){.node = greeting.node, .incarnation = greeting.incarnation};
	memcpy(s->caller ? s->talk.answer : s->talk.call, body, WH_SECURE_GREETING_BYTES);
	if (!judge_greeting(s, &greeting))
		return;
	s->phase = PHASE_PROOF;
	if (s->caller) {
		send_proof(s, KIND_PROOF);
		return;
	}
	write_greeting(s, s->talk.answer, greeting.node);
	if (!emit_message(s, KIND_ANSWER, s->talk.answer, WH_SECURE_GREETING_BYTES))
		refuse_without(s, "no memory");
}

/* ---- PROOF and DONE ---------------------------------------------------------------------------------------------------- */

static void take_proof(struct wh_secure *s, const unsigned char *body)
{
	unsigned char proof[WH_SECURE_PROOF_BYTES];
	char name[NAME_BYTES], my_name[NAME_BYTES];

	if (!wh_secure_prove(s->ground->key, !s->caller, &s->talk, proof)) {
		refuse_without(s, "OpenSSL has no HMAC-SHA-256");
		return;
	}
	if (CRYPTO_memcmp(proof, body, sizeof(proof)) != 0) {
		/* Of an answerer that has accepted my proof, and has not sent this, the next bytes are the application's. */
		refuse(s, !s->caller, "%s and %s have different cluster keys (key_file)", other(s, name),
		       name_of(s->ground->node, my_name));
		return;
	}
	if (!s->caller) {
		send_proof(s, KIND_DONE);
		if (s->state != WH_SECURE_GOING_ON)
			return;
	}
	s->phase = PHASE_END;
	s->state = WH_SECURE_PROVEN;
}

/* ---- receiving --------------------------------------------------------------------------------------------------------- */

/* How long the message is that is on its way, as far as can be known by now; 0: it is none. */
static size_t needs(const struct wh_secure *s)
{
	bool greeting = s->phase == PHASE_GREETING;
	enum kind expected = s->caller ? (greeting ? KIND_ANSWER : KIND_DONE) : (greeting ? KIND_CALL : KIND_PROOF);
	size_t body;

	if (s->phase == PHASE_PREAMBLE)
		return PREAMBLE_BYTES;
	if (s->have < HEAD_BYTES)
		return HEAD_BYTES;
	body = (size_t)get(s->message + 2, 2);
	if (s->message[1] != 0)
		return 0;
	if (s->message[0] == KIND_REFUSED)
		return body >= 1 && body <= REASON_MOST ? HEAD_BYTES + body : 0;
	if (s->message[0] != expected || body != (greeting ? WH_SECURE_GREETING_BYTES : WH_SECURE_PROOF_BYTES))
		return 0;
	return HEAD_BYTES + body;
}

static void take_refusal(struct wh_secure *s)
{
	char text[REASON_MOST + 1], name[NAME_BYTES];
	size_t bytes = s->have - HEAD_BYTES;

	memcpy(text, s->message + HEAD_BYTES, bytes);
	text[bytes] = '\0';
	refuse(s, false, "%s refuses: %s", other(s, name), text);
}

/* Takes what has come of a message; when it is whole, the message. */
static void take_bytes(struct wh_secure *s)
{
	size_t need = needs(s);
	char name[NAME_BYTES];

	if (need == 0) {
		refuse(s, false, "%s says what no node says", other(s, name));
		return;
	}
	if (s->have < need)
		return;
	if (s->phase == PHASE_PREAMBLE)
		judge_preamble(s);
	else if (s->message[0] == KIND_REFUSED)
		take_refusal(s);
	else if (s->phase == PHASE_GREETING)
		take_greeting(s, s->message + HEAD_BYTES);
	else
		take_proof(s, s->message + HEAD_BYTES);
	s->have = 0;
}

static size_t missing(const struct wh_secure *s)
{
	return needs(s) - s->have;
}

/* With TLS, going on: as far as the bytes that are there lead. */
static void pump(struct wh_secure *s)
{
	char name[NAME_BYTES];

	if (s->phase == PHASE_SHAKE)
		shake(s);
	while (s->state == WH_SECURE_GOING_ON && s->phase != PHASE_SHAKE) {
		ptrdiff_t got =
			wh_secure_tunnel_read(&s->tunnel, s->message + s->have, missing(s), other(s, name), s->reason);

		if (got < 0) {
			tame(s->reason);
			s->state = WH_SECURE_REFUSED;
		}
		if (got <= 0)
			return;
		s->have += (size_t)got;
		take_bytes(s);
	}
}

size_t wh_secure_wants(const struct wh_secure *s)
{
	size_t waiting = wh_secure_bytes_count(&s->in), room = WH_SECURE_FED_MAX - waiting;

	if (s->state == WH_SECURE_PROVEN)
		return s->wraps ? room : 0;
	if (s->state == WH_SECURE_REFUSED)
		return 0;
	if (s->phase == PHASE_PREAMBLE || s->ground->tls == NULL)
		return missing(s);
	return room < WH_SECURE_UNPROVEN_MAX - s->unproven ? room : WH_SECURE_UNPROVEN_MAX - s->unproven;
}

size_t wh_secure_feed(struct wh_secure *s, const void *bytes, size_t count)
{
	const unsigned char *at = bytes;
	size_t taken = 0, now;
	char name[NAME_BYTES];

	while (taken < count && (now = wh_secure_wants(s)) > 0) {
		now = now < count - taken ? now : count - taken;
		if (s->phase == PHASE_PREAMBLE || s->ground->tls == NULL) {
			memcpy(s->message + s->have, at + taken, now);
			s->have += now;
			take_bytes(s);
		} else if (!wh_secure_bytes_put(&s->in, at + taken, now)) {
			refuse_without(s, "no memory");
		} else if (s->state == WH_SECURE_GOING_ON) {
			s->unproven += now;
			pump(s);
			if (s->state == WH_SECURE_GOING_ON && s->unproven == WH_SECURE_UNPROVEN_MAX)
				refuse(s, false, "%s says too much before it has proven who it is", other(s, name));
		}
		taken += now;
	}
	return taken;
}

/* ---- the rest of secure.h ---------------------------------------------------------------------------------------------- */

static enum whorl_result create(const struct wh_secure_ground *ground, bool caller, uint32_t to, struct wh_secure **out,
				struct wh_error *err)
{
	struct wh_secure *s = calloc(1, sizeof(*s));
	unsigned char *preamble;
	bool random;

	*out = NULL;
	if (s == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a connection");
	*s = (struct wh_secure){
		.ground = ground, .caller = caller, .to = to, .peer = {.node = WH_SECURE_VISITOR, .incarnation = 0}};
	preamble = s->talk.preamble;
	memcpy(preamble, MAGIC, MAGIC_BYTES);
	preamble[MAGIC_BYTES] = (unsigned char)mode_of(ground);
	put(preamble + MAGIC_BYTES + 1, ground->version, 2);
	random = ground->random != NULL ? ground->random(s->nonce, sizeof(s->nonce))
					: RAND_bytes(s->nonce, (int)sizeof(s->nonce)) == 1;
	if (!random) {
		free(s);
		return wh_error_set(err, WHORL_SYSTEM, "there are no random numbers to be had");
	}
	if (caller && !emit(s, preamble, PREAMBLE_BYTES)) {
		free(s);
		return wh_error_set(err, WHORL_MEMORY, "no memory for a connection");
	}
	*out = s;
	return WHORL_OK;
}

enum whorl_result wh_secure_accept(const struct wh_secure_ground *ground, struct wh_secure **out, struct wh_error *err)
{
	return create(ground, false, 0, out, err);
}

enum whorl_result wh_secure_call(const struct wh_secure_ground *ground, uint32_t to, struct wh_secure **out,
				 struct wh_error *err)
{
	return create(ground, true, to, out, err);
}

void wh_secure_free(struct wh_secure *s)
{
	if (s == NULL)
		return;
	wh_secure_tunnel_end(&s->tunnel);
	wh_secure_bytes_free(&s->in);
	wh_secure_bytes_free(&s->out);
	OPENSSL_cleanse(&s->talk, sizeof(s->talk));
	free(s);
}

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

struct wh_secure_peer wh_secure_peer(const struct wh_secure *s)
{
	return s->peer;
}

bool wh_secure_admits(const struct wh_secure *s, uint32_t node, uint64_t incarnation,
		      char reason[WH_SECURE_REASON_BYTES])
{
	char name[NAME_BYTES], said[NAME_BYTES];

	if (mode_of(s->ground) == 0)
		return true;
	if (s->state == WH_SECURE_PROVEN && node == s->peer.node && incarnation == s->peer.incarnation)
		return true;
	snprintf(reason, WH_SECURE_REASON_BYTES, "%s (%016" PRIx64 ") says that it is %s (%016" PRIx64 ")",
		 name_of(s->peer.node, name), s->peer.incarnation, name_of(node, said), incarnation);
	return false;
}

bool wh_secure_wraps(const struct wh_secure *s)
{
	return s->wraps;
}

ptrdiff_t wh_secure_seal(struct wh_secure *s, const void *bytes, size_t count)
{
	uint64_t limit = s->ground->rekey_bytes != 0 ? s->ground->rekey_bytes : WH_SECURE_REKEY_BYTES;
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
	char name[NAME_BYTES];
	ptrdiff_t got;

	if (s->state != WH_SECURE_PROVEN || !s->wraps)
		return -1;
	got = wh_secure_tunnel_read(&s->tunnel, bytes, count, other(s, name), s->reason);
	if (got < 0) {
		tame(s->reason);
		s->state = WH_SECURE_REFUSED;
	}
	return got;
}

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
