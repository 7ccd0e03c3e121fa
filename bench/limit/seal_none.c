/* seal_none.c - seal.h of a command that is built without OpenSSL (WHORL_TLS off): its groups have no TLS to be compared. */
#include <errno.h>
#include <stddef.h>

#include "bench/limit/seal.h"

int wh_limit_seal_open(struct wh_limit_seal **out, int socket, bool connects, uint64_t word)
{
	(void)socket, (void)connects, (void)word;
	*out = NULL;
	return ENOTSUP;
}

void wh_limit_seal_close(struct wh_limit_seal *seal)
{
	(void)seal;
}

ssize_t wh_limit_seal_send(struct wh_limit_seal *seal, const void *bytes, size_t count)
{
	(void)seal, (void)bytes, (void)count;
	errno = ENOTSUP;
	return -1;
}

ssize_t wh_limit_seal_receive(struct wh_limit_seal *seal, void *bytes, size_t count)
{
	(void)seal, (void)bytes, (void)count;
	errno = ENOTSUP;
	return -1;
}
