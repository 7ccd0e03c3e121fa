/* greet.c - the greeting of two ends, as a machine over bytes.
 *
 *     caller                                 answerer
 *     preamble (magic, mode, version)   ->
 *                                       <-   preamble                 open mode: this is all
 *     [the TLS 1.3 handshake, from certificates or the key; what follows goes through it]
 *     CALL   from, to, group, nonce     ->
 *                                       <-   ANSWER   the same of the other
 *     PROOF  HMAC of all of that        ->
 *                                       <-   DONE     HMAC of all of that, under another label
 *
 * The answerer shows nothing that depends on the key before the caller has proven that it has it. Both proofs are about all
 * that both have said, so nothing of it can have been changed on its way; they have different labels, so none is good in the other
 * direction; both ends put in a fresh nonce, so none is good twice. Either end may say REFUSED, with a reason, in place of
 * its next message.
 *
 * Neither end speaks before it has the whole of the other's last message, and no message is longer than WH_SECURE_MESSAGE_MOST:
 * when one end refuses and closes nothing unread is left in its socket, which would make the kernel throw the reason away.
 */
#include "base/text.h"
#include "transport/secure/secure_int.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAGIC "whorl"
#define MAGIC_BYTES 5
#define MODE_KEY 1
#define MODE_TLS 2
#define MODE_ALL 4 /* TLS that begins from the key */

enum kind { KIND_CALL = 1, KIND_ANSWER, KIND_PROOF, KIND_DONE, KIND_REFUSED };

_Static_assert(WH_SECURE_GREETING_BYTES <= WH_SECURE_REASON_MOST && WH_SECURE_PROOF_BYTES <= WH_SECURE_REASON_MOST,
	       "the longest message");

/* ---- numbers, independent of byte order -------------------------------------------------------------------------------- */

static void put_number(unsigned char *at, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t get_number(const unsigned char *at, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)at[i] << 8 * i;
	return value;
}

/* ---- names ------------------------------------------------------------------------------------------------------------- */

const char *wh_secure_name(uint32_t node, char out[WH_SECURE_NAME_BYTES])
{
	if (node == WH_SECURE_VISITOR)
		return "a query";
	snprintf(out, WH_SECURE_NAME_BYTES, "node %" PRIu32, node);
	return out;
}

const char *wh_secure_other(const struct wh_secure *s, char out[WH_SECURE_NAME_BYTES])
{
	if (s->connects)
		return s->to == WH_SECURE_VISITOR ? "the node" : wh_secure_name(s->to, out);
	return s->claimed ? wh_secure_name(s->peer.node, out) : "the caller";
}

/* ---- sending ----------------------------------------------------------------------------------------------------------- */

/* False: no memory, or TLS is broken. */
static bool emit_bytes(struct wh_secure *s, const void *bytes, size_t count)
{
	if (s->wraps)
		return wh_secure_tunnel_write(&s->tunnel, bytes, count) == (ptrdiff_t)count;
	return wh_secure_bytes_put(&s->out, bytes, count);
}

static bool emit_message(struct wh_secure *s, enum kind kind, const void *body, size_t count)
{
	unsigned char message[WH_SECURE_MESSAGE_MOST] = {(unsigned char)kind};

	put_number(message + 2, count, 2);
	memcpy(message + WH_SECURE_HEAD_BYTES, body, count);
	return emit_bytes(s, message, WH_SECURE_HEAD_BYTES + count);
}

static void refuse_peer(struct wh_secure *s, enum wh_secure_fault fault, bool tell, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* It is over. `tell`: the other end understands a REFUSED, and gets the reason. */
static void refuse_peer(struct wh_secure *s, enum wh_secure_fault fault, bool tell, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(s->reason, sizeof(s->reason), format, arguments);
	va_end(arguments);
	wh_text_tame(s->reason, sizeof(s->reason));
	s->state = WH_SECURE_REFUSED;
	s->fault = fault;
	if (tell)
		(void)emit_message(s, KIND_REFUSED, s->reason, strnlen(s->reason, WH_SECURE_REASON_MOST));
}

static void refuse_key(struct wh_secure *s, bool tell)
{
	char name[WH_SECURE_NAME_BYTES], my_name[WH_SECURE_NAME_BYTES];

	refuse_peer(s, WH_SECURE_UNPROVEN, tell, "%s and %s have different cluster keys (key_file)",
		    wh_secure_other(s, name), wh_secure_name(s->ground.node, my_name));
}

static void refuse_without(struct wh_secure *s, const char *what)
{
	char name[WH_SECURE_NAME_BYTES];

	refuse_peer(s, WH_SECURE_STARVED, false, "%s cannot be met: %s", wh_secure_other(s, name), what);
}

void wh_secure_refuse_as_said(struct wh_secure *s)
{
	wh_text_tame(s->reason, sizeof(s->reason));
	s->state = WH_SECURE_REFUSED;
	s->fault = s->tunnel.failure == WH_SECURE_OF_SYSTEM ? WH_SECURE_STARVED : WH_SECURE_UNPROVEN;
}

/* ---- the preamble ------------------------------------------------------------------------------------------------------ */

unsigned wh_secure_mode(const struct wh_secure_ground *ground)
{
	bool all = wh_secure_tls_is_of_key(ground->tls);

	return (ground->key != NULL ? MODE_KEY : 0U) | (ground->tls != NULL && !all ? MODE_TLS : 0U) |
	       (all ? MODE_ALL : 0U);
}

void wh_secure_preamble(const struct wh_secure_ground *ground, unsigned char out[WH_SECURE_PREAMBLE_BYTES])
{
	memcpy(out, MAGIC, MAGIC_BYTES);
	out[MAGIC_BYTES] = (unsigned char)wh_secure_mode(ground);
	put_number(out + MAGIC_BYTES + 1, ground->version, 2);
}

static void send_call(struct wh_secure *s);

static void shake_hands(struct wh_secure *s)
{
	char name[WH_SECURE_NAME_BYTES], reason[WH_SECURE_REASON_BYTES];
	int done = wh_secure_tunnel_shake(&s->tunnel, wh_secure_other(s, name), s->reason);
	bool all = wh_secure_tls_is_of_key(s->ground.tls);

	if ((done < 0 && s->tunnel.failure == WH_SECURE_OF_KEY) ||
	    (done > 0 && all && !wh_secure_tunnel_of_key(&s->tunnel))) {
		refuse_key(s, false);
		return;
	}
	if (done < 0) {
		wh_secure_refuse_as_said(s);
		return;
	}
	if (done == 0)
		return;
	if (!wh_secure_tunnel_secret(&s->tunnel, s->talk.channel)) {
		refuse_without(s, "TLS has no secret to export");
		return;
	}
	s->wraps = true;
	s->phase = WH_SECURE_GREETING;
	if (s->connects && !all && !wh_secure_tunnel_is_for(&s->tunnel, s->ground.group, s->to, reason))
		refuse_peer(s, WH_SECURE_UNPROVEN, true, "%s", reason);
	else if (s->connects)
		send_call(s);
}

static void begin_after_preamble(struct wh_secure *s)
{
	if (s->ground.tls != NULL) {
		s->phase = WH_SECURE_SHAKE;
		if (!wh_secure_tunnel_begin(&s->tunnel, s->ground.tls, s->connects, &s->in, &s->out))
			refuse_without(s, "no memory for TLS");
		else
			shake_hands(s);
	} else if (s->ground.key != NULL) {
		s->phase = WH_SECURE_GREETING;
		if (s->connects)
			send_call(s);
	} else {
		s->phase = WH_SECURE_END;
		s->state = WH_SECURE_PROVEN;
	}
}

static void judge_preamble(struct wh_secure *s)
{
	unsigned mode = s->message[MAGIC_BYTES], mine = wh_secure_mode(&s->ground);
	unsigned version = (unsigned)get_number(s->message + MAGIC_BYTES + 1, 2);
	char name[WH_SECURE_NAME_BYTES], my_name[WH_SECURE_NAME_BYTES];
	const char *it = wh_secure_other(s, name), *i = wh_secure_name(s->ground.node, my_name);

	if (memcmp(s->message, MAGIC, MAGIC_BYTES) != 0) {
		refuse_peer(s, WH_SECURE_GARBLED, false, "%s does not speak as whorl does", it);
		return;
	}
	s->spoken = (uint16_t)version;
	if (!s->connects && !emit_bytes(s, s->talk.preamble, WH_SECURE_PREAMBLE_BYTES)) {
		refuse_without(s, "no memory");
		return;
	}
	if (version != s->ground.version)
		refuse_peer(s, WH_SECURE_FOREIGN, false, "%s speaks version %u of the protocol, %s version %u", it,
			    version, i, s->ground.version);
	else if (((mode ^ mine) & MODE_KEY) != 0)
		refuse_peer(s, WH_SECURE_UNPROVEN, false, "%s has %s cluster key (key_file), %s has %s", it,
			    (mode & MODE_KEY) != 0 ? "a" : "no", i, (mine & MODE_KEY) != 0 ? "one" : "none");
	else if (((mode ^ mine) & MODE_TLS) != 0)
		refuse_peer(s, WH_SECURE_UNPROVEN, false, "%s has tls = %s, %s has tls = %s", it,
			    (mode & MODE_TLS) != 0 ? "on" : "off", i, (mine & MODE_TLS) != 0 ? "on" : "off");
	else if (((mode ^ mine) & MODE_ALL) != 0)
		refuse_peer(s, WH_SECURE_UNPROVEN, false, "%s has protect = %s, %s has protect = %s", it,
			    (mode & MODE_ALL) != 0 ? "all" : "meeting", i, (mine & MODE_ALL) != 0 ? "all" : "meeting");
	else if (mode != mine)
		refuse_peer(s, WH_SECURE_GARBLED, false, "%s asks for a mode %u that is not known", it, mode);
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
	put_number(out, s->ground.node, 4);
	put_number(out + AT_TO, to, 4);
	put_number(out + AT_INCARNATION, s->ground.incarnation, 8);
	memcpy(out + AT_NONCE, s->nonce, WH_SECURE_NONCE_BYTES);
	memcpy(out + AT_GROUP, s->group, WH_SECURE_GROUP_BYTES);
}

/* False: no node writes that. */
static bool read_greeting(const unsigned char in[WH_SECURE_GREETING_BYTES], struct greeting *out)
{
	size_t length = strnlen((const char *)in + AT_GROUP, WH_SECURE_GROUP_BYTES);

	out->node = (uint32_t)get_number(in, 4);
	out->to = (uint32_t)get_number(in + AT_TO, 4);
	out->incarnation = get_number(in + AT_INCARNATION, 8);
	memcpy(out->group, in + AT_GROUP, WH_SECURE_GROUP_BYTES);
	for (size_t i = length; i < WH_SECURE_GROUP_BYTES; i++)
		if (out->group[i] != '\0')
			return false;
	if (length == 0 || length == WH_SECURE_GROUP_BYTES)
		return false;
	wh_text_tame(out->group, sizeof(out->group));
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
	char name[WH_SECURE_NAME_BYTES], my_name[WH_SECURE_NAME_BYTES], third[WH_SECURE_NAME_BYTES],
		reason[WH_SECURE_REASON_BYTES];
	const char *it = wh_secure_other(s, name), *i = wh_secure_name(s->ground.node, my_name);

	if (strcmp(greeting->group, s->ground.group) != 0)
		refuse_peer(s, WH_SECURE_FOREIGN, true, "%s is of group %s, %s of group %s", it, greeting->group, i,
			    s->ground.group);
	else if (s->connects && greeting->node != s->to)
		refuse_peer(s, WH_SECURE_FOREIGN, true, "%s answers where %s should",
			    wh_secure_name(greeting->node, third), it);
	else if (greeting->to != s->ground.node)
		refuse_peer(s, WH_SECURE_FOREIGN, true, "%s calls %s, and this is %s", it,
			    wh_secure_name(greeting->to, third), i);
	else if (greeting->node == s->ground.node)
		refuse_peer(s, WH_SECURE_FOREIGN, true, "there are two nodes with the id %" PRIu32, greeting->node);
	else if (!s->connects && s->wraps && !wh_secure_tls_is_of_key(s->ground.tls) &&
		 !wh_secure_tunnel_is_for(&s->tunnel, s->ground.group, greeting->node, reason))
		refuse_peer(s, WH_SECURE_UNPROVEN, true, "%s", reason);
	return s->state == WH_SECURE_GOING_ON;
}

static void send_proof(struct wh_secure *s, enum kind kind)
{
	unsigned char proof[WH_SECURE_PROOF_BYTES];

	if (!wh_secure_prove(s->ground.key, s->connects, &s->talk, proof) ||
	    !emit_message(s, kind, proof, sizeof(proof)))
		refuse_without(s, "no memory");
}

static void take_greeting(struct wh_secure *s, const unsigned char *body)
{
	struct greeting greeting;
	char name[WH_SECURE_NAME_BYTES];

	if (!read_greeting(body, &greeting)) {
		refuse_peer(s, WH_SECURE_GARBLED, false, "%s says what no node says", wh_secure_other(s, name));
		return;
	}
	s->claimed = true;
	s->peer = (struct wh_secure_peer){.node = greeting.node, .incarnation = greeting.incarnation};
	memcpy(s->connects ? s->talk.answer : s->talk.call, body, WH_SECURE_GREETING_BYTES);
	if (!judge_greeting(s, &greeting))
		return;
	s->phase = WH_SECURE_PROOF;
	if (s->connects) {
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

	if (!wh_secure_prove(s->ground.key, !s->connects, &s->talk, proof)) {
		refuse_without(s, "OpenSSL has no HMAC-SHA-256");
		return;
	}
	if (!wh_secure_same(proof, body, sizeof(proof))) {
		/* Of an answerer that has accepted my proof, and has not sent this, the next bytes are the application's. */
		refuse_key(s, !s->connects);
		return;
	}
	if (!s->connects) {
		send_proof(s, KIND_DONE);
		if (s->state != WH_SECURE_GOING_ON)
			return;
	}
	s->phase = WH_SECURE_END;
	s->state = WH_SECURE_PROVEN;
}

/* ---- receiving --------------------------------------------------------------------------------------------------------- */

/* How long the message is that is on its way, as far as can be known by now; 0: it is none. */
static size_t bytes_needed(const struct wh_secure *s)
{
	bool greeting = s->phase == WH_SECURE_GREETING;
	enum kind expected = s->connects ? (greeting ? KIND_ANSWER : KIND_DONE) : (greeting ? KIND_CALL : KIND_PROOF);
	size_t body;

	if (s->phase == WH_SECURE_PREAMBLE)
		return WH_SECURE_PREAMBLE_BYTES;
	if (s->have < WH_SECURE_HEAD_BYTES)
		return WH_SECURE_HEAD_BYTES;
	body = (size_t)get_number(s->message + 2, 2);
	if (s->message[1] != 0)
		return 0;
	if (s->message[0] == KIND_REFUSED)
		return body >= 1 && body <= WH_SECURE_REASON_MOST ? WH_SECURE_HEAD_BYTES + body : 0;
	if (s->message[0] != expected || body != (greeting ? WH_SECURE_GREETING_BYTES : WH_SECURE_PROOF_BYTES))
		return 0;
	return WH_SECURE_HEAD_BYTES + body;
}

static void take_refusal(struct wh_secure *s)
{
	char text[WH_SECURE_REASON_MOST + 1], name[WH_SECURE_NAME_BYTES];
	size_t bytes = s->have - WH_SECURE_HEAD_BYTES;

	memcpy(text, s->message + WH_SECURE_HEAD_BYTES, bytes);
	text[bytes] = '\0';
	refuse_peer(s, WH_SECURE_TURNED_DOWN, false, "%s refuses: %s", wh_secure_other(s, name), text);
}

/* Takes what has come of a message; when it is whole, the message. */
static void take_bytes(struct wh_secure *s)
{
	size_t need = bytes_needed(s);
	char name[WH_SECURE_NAME_BYTES];

	if (need == 0) {
		refuse_peer(s, WH_SECURE_GARBLED, false, "%s says what no node says", wh_secure_other(s, name));
		return;
	}
	if (s->have < need)
		return;
	if (s->phase == WH_SECURE_PREAMBLE)
		judge_preamble(s);
	else if (s->message[0] == KIND_REFUSED)
		take_refusal(s);
	else if (s->phase == WH_SECURE_GREETING)
		take_greeting(s, s->message + WH_SECURE_HEAD_BYTES);
	else
		take_proof(s, s->message + WH_SECURE_HEAD_BYTES);
	s->have = 0;
}

static size_t bytes_missing(const struct wh_secure *s)
{
	return bytes_needed(s) - s->have;
}

/* With TLS, going on: as far as the bytes that are there lead. */
static void pump_tunnel(struct wh_secure *s)
{
	char name[WH_SECURE_NAME_BYTES];

	if (s->phase == WH_SECURE_SHAKE)
		shake_hands(s);
	while (s->state == WH_SECURE_GOING_ON && s->phase != WH_SECURE_SHAKE) {
		ptrdiff_t got = wh_secure_tunnel_read(&s->tunnel, s->message + s->have, bytes_missing(s),
						      wh_secure_other(s, name), s->reason);

		if (got < 0)
			wh_secure_refuse_as_said(s);
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
	if (s->phase == WH_SECURE_PREAMBLE || s->ground.tls == NULL)
		return bytes_missing(s);
	return room < WH_SECURE_UNPROVEN_MAX - s->unproven ? room : WH_SECURE_UNPROVEN_MAX - s->unproven;
}

size_t wh_secure_feed(struct wh_secure *s, const void *bytes, size_t count)
{
	const unsigned char *at = bytes;
	size_t taken = 0, now;
	char name[WH_SECURE_NAME_BYTES];

	while (taken < count && (now = wh_secure_wants(s)) > 0) {
		now = now < count - taken ? now : count - taken;
		if (s->phase == WH_SECURE_PREAMBLE || s->ground.tls == NULL) {
			memcpy(s->message + s->have, at + taken, now);
			s->have += now;
			take_bytes(s);
		} else if (!wh_secure_bytes_put(&s->in, at + taken, now)) {
			refuse_without(s, "no memory");
		} else if (s->state == WH_SECURE_GOING_ON) {
			s->unproven += now;
			pump_tunnel(s);
			if (s->state == WH_SECURE_GOING_ON && s->unproven == WH_SECURE_UNPROVEN_MAX)
				refuse_peer(s, WH_SECURE_UNPROVEN, false,
					    "%s says too much before it has proven which node it is",
					    wh_secure_other(s, name));
		}
		taken += now;
	}
	return taken;
}
