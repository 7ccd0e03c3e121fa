/* vouch.c - a word in my status page that the kernel marks when the thread that vouches for this process ends without having taken that back.
 *
 * A process that is killed ends from the inside out: the kernel walks the robust mutexes of each thread and marks them, takes its memory apart, closes its
 * connections, and then there is the proof. With many megabytes the connections are a hundred milliseconds behind the marks. So the loop's
 * thread holds a robust mutex as long as it makes passes, and peers look at the word of it.
 *
 * The mark is no proof: the other threads may still run for a moment, a process that calls exec has it, and so has one of which that thread alone
 * has ended (then no loop runs any more). It says what the end of a connection says, and earlier: suspect it now. What was sent before is read
 * first (receive() in shm/wire.c).
 *
 * The mutex is locked and unlocked by its owner's thread alone, and never waited for. A forked child has no robust mutexes, and another id.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "transport/shm/shm_int.h"

#define OWNER_DIED 0x40000000u /* FUTEX_OWNER_DIED */

/* The kernel knows which word of a mutex it is, as the C library has told it; here it is found by what it holds once the mutex is
 * locked: this thread's number. 0: it was not found. Peers are told of it: their libraries may be others. */
static uint64_t find_word(const struct wh_shm_status *status)
{
	const uint32_t me = (uint32_t)syscall(SYS_gettid);
	const unsigned char *mutex = (const unsigned char *)&status->voucher;
	uint32_t word;

	for (size_t at = 0; at + sizeof(word) <= sizeof(status->voucher); at += sizeof(word)) {
		memcpy(&word, mutex + at, sizeof(word));
		if (word == me)
			return (uint64_t)(mutex + at - (const unsigned char *)status);
	}
	return 0;
}

void wh_shm_vouch_init(struct wh_shm *t)
{
	pthread_mutexattr_t attributes;

	_Static_assert(sizeof(struct wh_shm_status) <= WH_SHM_STATUS_BYTES, "it fits");
	if (pthread_mutexattr_init(&attributes) != 0)
		return;
	t->may_vouch = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0 &&
		       pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0 &&
		       pthread_mutex_init(&t->status->voucher, &attributes) == 0;
	pthread_mutexattr_destroy(&attributes);
}

/* The kernel ends such contexts of a process that is killed after it has marked the word and before it takes the memory apart, and waits
 * for a grace period: meanwhile no survivor stands behind that in line for a processor. Where there is none, nothing waits. */
static void hold_death(struct wh_shm *t)
{
	if (t->death_waits && t->hold == 0 && syscall(SYS_io_setup, 1, &t->hold) != 0)
		t->hold = 0;
}

static void release_death(struct wh_shm *t)
{
	if (t->hold != 0)
		(void)syscall(SYS_io_destroy, t->hold);
	t->hold = 0;
}

/* Where it fails none vouches, and the end of the connection is noticed. */
void wh_shm_vouch(struct wh_transport *transport, bool on)
{
	struct wh_shm *t = wh_shm_of(transport);
	int error;

	if (!t->may_vouch)
		return;
	if (!on) {
		if (!t->vouches || !pthread_equal(t->vouching, pthread_self()))
			return; /* it is not this thread's to take back */
		release_death(t);
		t->vouches = false;
		(void)pthread_mutex_unlock(&t->status->voucher); /* refused in a forked child: the parent has it */
		return;
	}
	error = pthread_mutex_trylock(&t->status->voucher);
	if (error == EOWNERDEAD) /* the thread that had it ended, and this one goes on */
		(void)pthread_mutex_consistent(&t->status->voucher);
	else if (error == 0 && wh_load_relaxed(&t->status->word_at) == 0)
		/* Release: the mutex as it was made. Partner: wh_shm_is_forsaken. */
		wh_store_release(&t->status->word_at, find_word(t->status));
	if (error == 0 || error == EOWNERDEAD) {
		t->vouches = true;
		t->vouching = pthread_self();
		hold_death(t);
	}
}

/* The page is another process's: what it says of itself is looked at within the page. */
bool wh_shm_is_forsaken(const struct wh_shm_status *status)
{
	uint64_t at = wh_load_acquire(&status->word_at); /* partner: wh_shm_vouch */

	if (at == 0 || at > WH_SHM_STATUS_BYTES - sizeof(uint32_t) || at % sizeof(uint32_t) != 0)
		return false;
	/* Acquire: what that thread has stored and sent is there. The kernel marks by compare-and-swap, behind all that. */
	return (wh_load_acquire_32((const unsigned char *)status + at) & OWNER_DIED) != 0;
}

/* One peer a pass: however many there are a pass costs the same. */
size_t wh_shm_vouch_look(struct wh_transport *transport)
{
	struct wh_shm *t = wh_shm_of(transport);
	uint32_t node = t->next_looked;

	t->next_looked = node + 1 < t->nodes ? node + 1 : 0;
	if (t->peers[node].status == NULL || !wh_shm_is_forsaken(t->peers[node].status) ||
	    wh_shm_peer_conn(t, node) == NULL || wh_session_is_full(t->base.session))
		return 0;
	return wh_session_on_ready(t->base.session, wh_shm_peer_conn(t, node)->base.slot);
}
