/* secure_int.h - inside the channels of secure.h.
 *
 *     secure.c        channels, as secure.h has them
 *     secure/greet.c  the greeting: which node calls which, the challenges and the answers to them
 *     secure/bytes.c  buffers
 *     secure/key.c    the cluster key: its file, and what is proven with it
 *     secure/tls.c    OpenSSL over bytes
 *     secure/psk.c    TLS from the cluster key
 *     secure/cert.c   certificates: their files, and which nodes they are for
 *     secure/none.c   in the place of the last four where whorl is built without OpenSSL (WHORL_TLS): open mode alone
 */
#ifndef WH_TRANSPORT_SECURE_SECURE_INT_H
#define WH_TRANSPORT_SECURE_SECURE_INT_H

#include "base/atomics.h"
#include "transport/secure/secure.h"

/* ---- bytes on their way ------------------------------------------------------------------------------------------------ */

struct wh_secure_bytes {
	unsigned char *at; /* NULL, or `room` bytes */
	size_t begin, end, room;
};

/* Appends; false: no memory, nothing has changed. */
bool wh_secure_bytes_put(struct wh_secure_bytes *b, const void *bytes, size_t count);
/* Takes at most `count` from the front, into `out` unless that is NULL; returns how many. */
size_t wh_secure_bytes_take(struct wh_secure_bytes *b, void *out, size_t count);
void wh_secure_bytes_free(struct wh_secure_bytes *b);
static inline size_t wh_secure_bytes_count(const struct wh_secure_bytes *b)
{
	return b->end - b->begin;
}

/* ---- secure/key.c ------------------------------------------------------------------------------------------------------ */

bool wh_secure_random(unsigned char *bytes, size_t count); /* as wh_secure_ground's */
bool wh_secure_same(const void *one, const void *other,
		    size_t count);                 /* in a time that does not tell where they differ */
void wh_secure_cleanse(void *bytes, size_t count); /* overwrites */

/* The bytes of a file that must be private, kept out of core files; wiped by wh_secure_wipe. `what` names the key of the
 * configuration. WHORL_OK, WHORL_CONFIG, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_secure_file_read(const char *what, const char *path, size_t least, size_t most,
						    unsigned char **out, size_t *count, struct wh_error *err);
void wh_secure_wipe(void *bytes, size_t count); /* overwrites and frees */

#define WH_SECURE_PSK_BYTES 48

/* Another key, which tells nothing of the first. False: OpenSSL cannot. */
bool wh_secure_key_derive(const struct wh_secure_key *key, unsigned char out[WH_SECURE_PSK_BYTES]);

#define WH_SECURE_NONCE_BYTES 32
#define WH_SECURE_PROOF_BYTES 32
#define WH_SECURE_GREETING_BYTES (4 + 4 + 8 + WH_SECURE_NONCE_BYTES + WH_SECURE_GROUP_BYTES)

/* All that both ends have said and that a proof is about. */
struct wh_secure_talk {
	unsigned char preamble[8];
	unsigned char call[WH_SECURE_GREETING_BYTES];
	unsigned char answer[WH_SECURE_GREETING_BYTES];
	unsigned char channel[32]; /* a secret that only the ends of this TLS connection have; 0 without */
};

/* HMAC-SHA-256 under the key (none: of no bytes, which proves something only by the secret of TLS). False: OpenSSL cannot. */
bool wh_secure_prove(const struct wh_secure_key *key, bool connects, const struct wh_secure_talk *talk,
		     unsigned char out[WH_SECURE_PROOF_BYTES]);

/* ---- secure/cert.c ----------------------------------------------------------------------------------------------------- */

struct x509_st; /* X509 */

struct wh_secure_tls {
	wh_word holders;            /* channels, and the one that has loaded it; the last frees it [any thread] */
	struct ssl_ctx_st *ctx;     /* OpenSSL's names: SSL_CTX */
	struct bio_method_st *pipe; /* BIO_METHOD: from and to the buffers of a channel */
	bool of_key;                /* there are no certificates, but */
	unsigned char psk[WH_SECURE_PSK_BYTES];
};

bool wh_secure_tls_is_of_key(const struct wh_secure_tls *tls); /* false of NULL */

struct bio_method_st *wh_secure_pipe_new(void); /* NULL: no memory; BIO_meth_free */

/* Is it for that node of that group (WH_SECURE_VISITOR: for any node or visitor in it)? */
bool wh_secure_cert_is_for(struct x509_st *certificate, const char *group, uint32_t node);
/* The first name in it that begins with whorl://, or words that it has none; printable. */
void wh_secure_cert_name(struct x509_st *certificate, char *out, size_t bytes);

/* ---- secure/tls.c ------------------------------------------------------------------------------------------------------ */

/* Of a handshake. */
enum wh_secure_failure {
	WH_SECURE_OF_TLS,
	WH_SECURE_OF_KEY,    /* as it fails where the other end has another key */
	WH_SECURE_OF_SYSTEM, /* memory is out, or OpenSSL cannot */
	WH_SECURE_OF_END,    /* none: the other end has said that nothing more comes */
};

struct wh_secure_tunnel {                 /* TLS over bytes */
	struct ssl_st *ssl;               /* SSL */
	struct wh_secure_bytes *in, *out; /* of the channel */
	wh_secure_fetch *fetch;           /* NULL, or behind `in` there is more to be had */
	void *from;
	uint64_t sealed;                /* since the key was last changed */
	enum wh_secure_failure failure; /* when a call has given -1 */
};

bool wh_secure_tunnel_begin(struct wh_secure_tunnel *t, const struct wh_secure_tls *tls, bool connects,
			    struct wh_secure_bytes *in, struct wh_secure_bytes *out);
/* 1: the handshake is done; 0: more is needed; -1: it has failed, and `reason` says why and names the other end. */
int wh_secure_tunnel_shake(struct wh_secure_tunnel *t, const char *who, char reason[WH_SECURE_REASON_BYTES]);
/* As wh_secure_seal and wh_secure_open; on -1 `reason` says why. */
ptrdiff_t wh_secure_tunnel_write(struct wh_secure_tunnel *t, const void *bytes, size_t count);
ptrdiff_t wh_secure_tunnel_read(struct wh_secure_tunnel *t, void *bytes, size_t count, const char *who,
				char reason[WH_SECURE_REASON_BYTES]);
/* Both ends began from the cluster key. */
bool wh_secure_tunnel_of_key(const struct wh_secure_tunnel *t);
bool wh_secure_tunnel_rekey(struct wh_secure_tunnel *t);
/* The secret of this connection that both ends have. */
bool wh_secure_tunnel_secret(struct wh_secure_tunnel *t, unsigned char out[32]);
/* False, and why, if the other end's certificate is not for that node (or visitor) of that group. */
bool wh_secure_tunnel_is_for(struct wh_secure_tunnel *t, const char *group, uint32_t node,
			     char reason[WH_SECURE_REASON_BYTES]);
void wh_secure_tunnel_end(struct wh_secure_tunnel *t);

/* ---- secure/greet.c ---------------------------------------------------------------------------------------------------- */

#define WH_SECURE_PREAMBLE_BYTES 8
#define WH_SECURE_HEAD_BYTES 4
#define WH_SECURE_REASON_MOST 200 /* bytes in a REFUSED */
#define WH_SECURE_MESSAGE_MOST (WH_SECURE_HEAD_BYTES + WH_SECURE_REASON_MOST)

/* What the end waits for. */
enum wh_secure_phase { WH_SECURE_PREAMBLE, WH_SECURE_SHAKE, WH_SECURE_GREETING, WH_SECURE_PROOF, WH_SECURE_END };

struct wh_secure {
	struct wh_secure_ground ground; /* a copy: `group` is below, key and tls are held */
	char group[WH_SECURE_GROUP_BYTES];
	bool connects, claimed; /* claimed: the peer has named itself */
	uint32_t to;            /* of a caller */
	enum wh_secure_state state;
	enum wh_secure_phase phase;
	struct wh_secure_peer peer;
	struct wh_secure_talk talk;
	unsigned char nonce[WH_SECURE_NONCE_BYTES];
	unsigned char message[WH_SECURE_MESSAGE_MOST]; /* what has come of the one that is on its way */
	size_t have;
	size_t unproven; /* bytes taken while it was going on */
	bool wraps;      /* the tunnel is there */
	struct wh_secure_tunnel tunnel;
	struct wh_secure_bytes in, out; /* of the socket; `in` with TLS alone */
	char reason[WH_SECURE_REASON_BYTES];
	enum wh_secure_fault fault; /* of that */
	uint16_t spoken;            /* the version that the other end has named; 0: none yet */
};

/* What it shows of its key and TLS in the preamble; 0: open mode. */
unsigned wh_secure_mode(const struct wh_secure_ground *ground);
void wh_secure_preamble(const struct wh_secure_ground *ground, unsigned char out[WH_SECURE_PREAMBLE_BYTES]);

/* TLS has failed, and has said why: in `reason`. */
void wh_secure_refuse_as_said(struct wh_secure *s);

#define WH_SECURE_NAME_BYTES 24
const char *wh_secure_name(uint32_t node, char out[WH_SECURE_NAME_BYTES]);
const char *wh_secure_other(const struct wh_secure *s,
			    char out[WH_SECURE_NAME_BYTES]); /* the other end, as far as it is known */

#endif
