/* secure.h - which nodes are let in: what two nodes prove to each other at the start of a connection, before anything else of it is
 * believed; and, with TLS, the encryption of everything after.
 *
 * A channel is one end of a connection as a machine over bytes: it is fed what has come from the socket, and gives what is to
 * be sent. It knows no sockets and no clocks: time-outs, and how many unproven connections there may be, are the caller's.
 *
 *     open   no key, no TLS    both ends show eight bytes (version, mode) and are through; nothing is proven. For loopback alone
 *     key    key_file          ... then prove to each other that they have the cluster key, and are the nodes they say
 *     tls    tls = on          ... then TLS 1.3 with certificates on both sides, and inside it which nodes they are
 *     all    protect = all     ... then TLS 1.3 that begins from the cluster key, and inside it the key is proven, bound to that connection
 *     both                     ... the key is proven inside TLS with certificates, bound to that TLS connection
 *
 * WITHOUT TLS A CONNECTION IS AUTHENTICATED AT ITS START ONLY. An attacker that can read the network reads everything. One that can
 * change packets on their way can wait for the proof and then put in bytes of its own. docs/security.md says it to users.
 *
 * docs/wire.md has the bytes, docs/security.md what is promised and what is not.
 *
 * Threads: an end is one thread's at a time, and may go from one to another: which has it is the callers' to agree on. The key and the TLS
 * context are not changed once made: channels of several threads may have the same, and any thread frees them.
 * The bytes that come are validated, never asserted. What is held for a peer that has proven nothing is bounded: a message of at
 * most 204 bytes, and with TLS WH_SECURE_UNPROVEN_MAX bytes in all beside OpenSSL's own state.
 */
#ifndef WH_TRANSPORT_SECURE_SECURE_H
#define WH_TRANSPORT_SECURE_SECURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/error.h"

#define WH_SECURE_GROUP_BYTES 64           /* of a group's name, with the zero */
#define WH_SECURE_REASON_BYTES 320         /* of a text, with the zero */
#define WH_SECURE_UNPROVEN_MAX (64 * 1024) /* with TLS: bytes of a peer that has not proven its identity */
#define WH_SECURE_PENDING_MAX                                                                                          \
	(256 * 1024)                  /* with TLS: sealed bytes that may wait to be sent; beyond that seal takes none */
#define WH_SECURE_FED_MAX (64 * 1024) /* with TLS: received bytes that may wait to be opened */
#define WH_SECURE_VISITOR UINT32_MAX  /* in the place of a node id: a visitor (T11) */
#define WH_SECURE_KEY_LEAST 16        /* bytes in a key file */
#define WH_SECURE_KEY_MOST 4096

struct wh_secure_key;
struct wh_secure_tls;

/* ---- keys and certificates ------------------------------------------------------------------------------------------- */

/* Reads the cluster key: all bytes of the file, 16 to 4096 of them. The file must be a regular one and no symbolic link, of the
 * user that runs this or root, and no other user may read or write it. Blocks as files do. WHORL_OK, WHORL_CONFIG (the file is not
 * as it should be: the text names it and says how), WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_secure_key_load(const char *path, struct wh_secure_key **out, struct wh_error *err);
struct wh_secure_key *wh_secure_key_hold(struct wh_secure_key *key); /* then it is freed once more; NULL is fine */
void wh_secure_key_free(struct wh_secure_key *key); /* the last of its channels wipes it; NULL is fine */

struct wh_secure_files {         /* all PEM */
	const char *certificate; /* mine, then those between it and the authority's, if any */
	const char *key;         /* its private key: without a pass phrase; the rules of the cluster key's file hold */
	const char *authority;   /* certificates of those that may have signed those of peers; no others count */
};

/* Reads them, and checks that the certificate is for node `node` of `group`: a subjectAltName URI:whorl://GROUP/NODE (one
 * certificate may have several), and good now to a peer that has the same authorities. A `node` of WH_SECURE_VISITOR: that of
 * any node, or of whorl://GROUP/visitor, whichever authority has signed it. Blocks as files do, but for no pipe.
 * WHORL_OK, WHORL_CONFIG, WHORL_MEMORY, WHORL_SYSTEM. */
WH_MUST_CHECK enum whorl_result wh_secure_tls_load(const struct wh_secure_files *files, const char *group,
						   uint32_t node, struct wh_secure_tls **out, struct wh_error *err);
struct wh_secure_tls *wh_secure_tls_hold(struct wh_secure_tls *tls);
void wh_secure_tls_free(struct wh_secure_tls *tls); /* its channels go on; NULL is fine */

/* TLS that begins from the cluster key, without certificates: a ground has it with that key. WHORL_OK, WHORL_MEMORY, WHORL_SYSTEM,
 * WHORL_UNSUPPORTED. */
WH_MUST_CHECK enum whorl_result wh_secure_tls_of_key(const struct wh_secure_key *key, struct wh_secure_tls **out,
						     struct wh_error *err);

/* ---- channels -------------------------------------------------------------------------------------------------------- */

/* What all channels of a node have in common: copied by each, which may outlive it, and the key and the TLS context. */
struct wh_secure_ground {
	struct wh_secure_key *key; /* NULL: none */
	struct wh_secure_tls *tls; /* NULL: none */
	const char *group;
	uint16_t version;     /* of all that goes over the connection: both ends must have the same */
	uint32_t node;        /* my id, or WH_SECURE_VISITOR: such a one only calls */
	uint64_t incarnation; /* mine; of a node not 0 */
	uint64_t rekey_bytes; /* with TLS: after so many sealed bytes the key is changed; 0: WH_SECURE_REKEY_BYTES */
	/* Fills `count` bytes at random; false: it cannot. NULL: OpenSSL's RAND_bytes, as everywhere but in tests and fuzzers. */
	bool (*random)(unsigned char *bytes, size_t count);
};

/* RFC 8446 §5.5 allows 2^24.5 full records of AES-GCM under one key, and of any size no more: far below it with records of 16 KB,
 * and still below with records of 1 KB. */
#define WH_SECURE_REKEY_BYTES (UINT64_C(1) << 34)

enum wh_secure_state {
	WH_SECURE_GOING_ON,
	WH_SECURE_PROVEN,  /* application bytes may go */
	WH_SECURE_REFUSED, /* by one of the two: wh_secure_reason. Send what is pending, if it goes, then close */
};

struct wh_secure; /* one end of one connection */

/* The end that has accepted, or that has called node `to` (of which it knows no more; WH_SECURE_VISITOR: whichever it is, in open
 * mode alone). WHORL_OK, WHORL_MEMORY, WHORL_SYSTEM (no
 * random numbers). */
WH_MUST_CHECK enum whorl_result wh_secure_accept(const struct wh_secure_ground *ground, struct wh_secure **out,
						 struct wh_error *err);
WH_MUST_CHECK enum whorl_result wh_secure_connect(const struct wh_secure_ground *ground, uint32_t to,
						  struct wh_secure **out, struct wh_error *err);
void wh_secure_free(struct wh_secure *s); /* NULL is fine */

/* The calling thread, which has had ends with TLS, will soon be no more: what OpenSSL keeps for it goes now, and not when the process may
 * be ending. */
void wh_secure_thread_ends(void);

enum wh_secure_state wh_secure_state(const struct wh_secure *s);

/* How many bytes to read from the socket now, at most. Going on without TLS: what is missing of the message that is on its way,
 * so that no byte of the application is ever taken off the socket here. 0: none (proven without TLS: the socket is the
 * application's; refused; with TLS: open first). */
size_t wh_secure_wants(const struct wh_secure *s);

/* Takes bytes from the socket, at most wh_secure_wants; returns how many. The state, and what is pending, may have changed. */
size_t wh_secure_feed(struct wh_secure *s, const void *bytes, size_t count);

/* What is to be sent: valid until the next call that is not const. */
const void *wh_secure_pending(const struct wh_secure *s, size_t *count);
void wh_secure_sent(struct wh_secure *s, size_t count); /* of what was pending so much has gone */

/* Why it was refused, one line of printable ASCII, the same on both sides where it can be: "node 1 and node 2 have different
 * cluster keys"; what the other end says of itself, or as its reason, is not proven to come from it. "" before. */
const char *wh_secure_reason(const struct wh_secure *s);

/* Which of them it was that did not fit. */
enum wh_secure_fault {
	WH_SECURE_UNPROVEN,    /* the key or the certificate is missing, or another, or proves another node */
	WH_SECURE_FOREIGN,     /* its version, its group, which node it is or has called */
	WH_SECURE_GARBLED,     /* it does not speak as whorl does */
	WH_SECURE_TURNED_DOWN, /* it has refused this end, and why is its own business */
	WH_SECURE_STARVED,     /* there was no memory, or something else that the system should give */
	WH_SECURE_OVER,        /* it was proven, and has ended TLS in order: nothing was changed on its way */
};
enum wh_secure_fault wh_secure_fault(const struct wh_secure *s); /* of one that is refused */

/* The version that the other end speaks, as far as it has said so; 0: it has not. */
uint32_t wh_secure_spoken(const struct wh_secure *s);

/* What the other end is; of one that called me: what it has proven to be when the state is PROVEN, and what it only claims before.
 * Not known in open mode: node WH_SECURE_VISITOR, incarnation 0. */
struct wh_secure_peer {
	uint32_t node; /* WH_SECURE_VISITOR: it may ask, and is no node */
	uint64_t incarnation;
};
struct wh_secure_peer wh_secure_peer(const struct wh_secure *s);

/* What the peer says of itself in its hello is held against what it has proven. False, and why, if they differ. True in open mode,
 * where there is nothing to hold it against. The state must be PROVEN. */
bool wh_secure_admits(const struct wh_secure *s, uint32_t node, uint64_t incarnation,
		      char reason[WH_SECURE_REASON_BYTES]);

/* ---- application bytes ------------------------------------------------------------------------------------------------ */

/* True with TLS: all bytes go through seal and open. False: they go to the socket and come from it as they are, and the channel
 * may be freed once it is proven. */
bool wh_secure_wraps(const struct wh_secure *s);

/* With TLS, when proven. Seals up to `count` bytes, which are then pending; returns how many, 0: too much is pending, or -1: the
 * channel is broken for good. */
ptrdiff_t wh_secure_seal(struct wh_secure *s, const void *bytes, size_t count);

/* With TLS, when proven. Opens up to `count` bytes of what was fed, straight into `bytes`; returns how many, 0: feed more, or -1: the
 * channel is at its end or broken (bytes were changed on their way). When the state has just become PROVEN, and after each feed,
 * open until it gives 0: bytes that wait inside are not seen by poll. It may make bytes pending. */
ptrdiff_t wh_secure_open(struct wh_secure *s, void *bytes, size_t count);

/* In the place of feed, once it is proven: open asks for what has come, which is put where it is opened, not copied to there. It
 * returns how many bytes, at most `count`; 0: none for now. Until the next call of this; NULL: feed is all there is. */
typedef size_t wh_secure_fetch(void *from, void *bytes, size_t count);
void wh_secure_fetch_by(struct wh_secure *s, wh_secure_fetch *fetch, void *from);

/* ---- without either --------------------------------------------------------------------------------------------------- */

/* True if only this host can be at that address: 127.0.0.0/8, ::1, and the former as an IPv6 address. */
bool wh_secure_is_loopback(const struct sockaddr *address);

#endif
