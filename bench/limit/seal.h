/* seal.h - a connection of the limit on tcp through OpenSSL: TLS 1.3 with AES-256-GCM, as a group with TLS has it, but for what proves
 * which node is at the other end: both know a key that is no secret.
 *
 * One thread at a time. Send and receive are as those of a socket that does not block: -1 and errno EAGAIN if nothing goes,
 * ECONNRESET if the other end has gone (no SIGPIPE).
 */
#ifndef WH_BENCH_LIMIT_SEAL_H
#define WH_BENCH_LIMIT_SEAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct wh_limit_seal;

/* The handshake, which waits for the other end's, on a socket that has a patience. From then on that does not block. The word is the same
 * at both ends. Returns 0 or an errno value; ENOTSUP: the command was built without OpenSSL. */
int wh_limit_seal_open(struct wh_limit_seal **out, int socket, bool connects, uint64_t word);
void wh_limit_seal_close(struct wh_limit_seal *seal); /* not the socket; NULL is fine */
ssize_t wh_limit_seal_send(struct wh_limit_seal *seal, const void *bytes, size_t count);
/* What has been received and does not fit waits inside, where poll does not see it. */
ssize_t wh_limit_seal_receive(struct wh_limit_seal *seal, void *bytes, size_t count);

#endif
