/* bell.c - see bell.h. */
#include "work/bell.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A futex is 32 bits: the half of the word that holds 0 and 1. */
static uint32_t *half_of(wh_word *word)
{
	return (uint32_t *)(void *)word + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 1 : 0);
}

static void futex(wh_word *word, int operation, uint32_t value, const struct timespec *timeout)
{
	int saved_errno = errno;

	syscall(SYS_futex, half_of(word), operation | FUTEX_PRIVATE_FLAG, value, timeout, NULL, 0);
	errno = saved_errno;
}

void wh_bell_ring(struct wh_bell *bell)
{
	/* What this thread has written before, the one that waits sees: partner: the exchange in wh_bell_wait. */
	if (wh_exchange(&bell->rung, 1) == 0)
		futex(&bell->rung, FUTEX_WAKE, 1, NULL);
}

void wh_bell_wait(struct wh_bell *bell, uint64_t timeout_ns)
{
	const struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / WH_NS_PER_S),
					 .tv_nsec = (long)(timeout_ns % WH_NS_PER_S)};

	if (wh_exchange(&bell->rung, 0) == 0) {
		futex(&bell->rung, FUTEX_WAIT, 0, &timeout);
		wh_exchange(&bell->rung, 0); /* partner: wh_bell_ring */
	}
}

/* ---- as a transport ---------------------------------------------------------------------------------------------------------- */

static struct wh_bell *bell_of(struct wh_transport *transport)
{
	return (struct wh_bell *)transport; /* its first field */
}

static size_t service(struct wh_transport *transport)
{
	(void)transport;
	return 0;
}

static void nothing(struct wh_transport *transport)
{
	(void)transport;
}

static void wait_on_bell(struct wh_transport *transport, uint64_t timeout_ns)
{
	wh_bell_wait(bell_of(transport), timeout_ns);
}

static void ring(struct wh_transport *transport)
{
	wh_bell_ring(bell_of(transport));
}

void wh_bell_init(struct wh_bell *bell)
{
	/* No ring is missed, because of the flag of the gate (base/gate.h): there is nothing to arm. Nothing of the loop's is in
	 * use during the wait, so it is lent. */
	static const struct wh_transport_ops ops = {.name = "bell",
						    .helper_may_post = true,
						    .service = service,
						    .arm = nothing,
						    .disarm = nothing,
						    .wait = wait_on_bell,
						    .wake = ring};

	*bell = (struct wh_bell){.base = {.ops = &ops}};
}
