/* ring.c - see ring.h. */
#include "smc/ring.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/rcu.h"
#include "smc/single.h"

#define CLAIM_CLOSED (UINT64_C(1) << 63) /* for good */
#define CLAIM_WEDGED (UINT64_C(1) << 62) /* until the next view */
#define CLAIM_AWAY (UINT64_C(1) << 61)   /* I am no sender, until a view in which I am one again */
#define CLAIM_PAUSED (UINT64_C(1) << 60) /* I do not want to send */
#define CLAIM_BITS WH_CLAIM_BITS         /* these four */
#define CLAIM_NUMBER_BITS 60

static uint64_t claim_number(const struct wh_ring *ring, uint64_t word)
{
	return (word & ~CLAIM_BITS) >> ring->slot_bits;
}

static uint32_t bits_of(uint32_t window)
{
	uint32_t bits = 0;

	while ((window - 1) >> bits != 0)
		bits++;
	return bits;
}

uint64_t wh_ring_numbers(uint32_t window)
{
	return (UINT64_C(1) << (CLAIM_NUMBER_BITS - bits_of(window))) - 1;
}

/* The next claim's number never goes beyond it: there is no bit for more. */
static uint64_t number_end(const struct wh_ring *ring)
{
	return wh_ring_numbers(ring->window);
}

/* ---- descriptors ---------------------------------------------------------------------------------------------------- */

static int descriptor_in(const wh_word *word)
{
	return (int)wh_load_acquire(word) - 1;
}

/* Of threads that ask at once one makes it for all. -1: none can be made. */
static int make_descriptor(wh_word *word, int flags)
{
	uint64_t none = 0;
	int fd = descriptor_in(word);

	if (fd >= 0)
		return fd;
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | flags);
	if (fd < 0)
		return -1;
	while (none == 0)
		if (wh_compare_swap(word, &none, (uint64_t)fd + 1))
			return fd;
	close(fd);
	return descriptor_in(word);
}

static void add_to(int fd, uint64_t count)
{
	ssize_t written = write(fd, &count, sizeof(count));

	(void)written; /* fails only when the eventfd is at its maximum, which is readable as well */
}

int wh_ring_window_fd(struct wh_ring *ring)
{
	return make_descriptor(&ring->window_fd, 0);
}

void wh_ring_drain_window(struct wh_ring *ring)
{
	int fd = wh_ring_window_fd(ring);
	uint64_t count;

	if (fd >= 0)
		(void)!read(fd, &count, sizeof(count)); /* nothing to drain is fine */
}

/* Where there is none no thread waits on it: a thread that makes it looks once more after that. */
static void tell_waiters(struct wh_ring *ring)
{
	int fd = descriptor_in(&ring->window_fd);

	if (fd >= 0)
		add_to(fd, 1);
}

/* ---- making ----------------------------------------------------------------------------------------------------------- */

uint64_t wh_ring_estimate(uint32_t window)
{
	return sizeof(struct wh_ring) + (uint64_t)window * sizeof(struct wh_ready);
}

enum whorl_result wh_ring_create(struct wh_ring **out, struct wh_gate *gate, struct wh_diag *diag, uint32_t window,
				 uint32_t message_bytes, struct wh_error *err)
{
	struct wh_ring *ring = aligned_alloc(WH_CACHE_LINE, sizeof(*ring));

	if (ring == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a ring");
	*ring = (struct wh_ring){
		.gate = gate,
		.diag = diag,
		.window = window,
		.slot_bits = bits_of(window),
		.message_bytes = message_bytes,
		.claim = CLAIM_WEDGED,
		.limit = window,
	};
	ring->ready = calloc(window, sizeof(*ring->ready));
	if (ring->ready == NULL) {
		free(ring);
		return wh_error_set(err, WHORL_MEMORY, "no memory for %u slots", window);
	}
	wh_frontiers_init(&ring->frontiers, gate);
	*out = ring;
	return WHORL_OK;
}

void wh_ring_free(struct wh_ring *ring)
{
	if (ring == NULL)
		return;
	if (descriptor_in(&ring->window_fd) >= 0)
		close(descriptor_in(&ring->window_fd));
	if (descriptor_in(&ring->room_fd) >= 0)
		close(descriptor_in(&ring->room_fd));
	wh_frontiers_close(&ring->frontiers);
	free(ring->ready);
	free(ring);
}

void wh_ring_promise_single(struct wh_ring *ring)
{
	ring->single = true;
}

/* While a single sender's ring is wedged a claim that came too late may stand in its own word for a moment. */
uint64_t wh_ring_claimed(const struct wh_ring *ring)
{
	uint64_t word = wh_load_relaxed(&ring->claim);

	if (!ring->single)
		return claim_number(ring, word);
	return (word & CLAIM_WEDGED) != 0 ? wh_load_relaxed(&ring->at_wedge)
					  : claim_number(ring, wh_load_relaxed(&ring->own));
}

/* So many can be claimed, if no other thread wants many. */
static bool has_slots(const struct wh_ring *ring, uint64_t word, uint64_t count)
{
	return (word & CLAIM_WEDGED) == 0 && wh_ring_claimed(ring) + count <= wh_load_relaxed(&ring->limit);
}

bool wh_ring_has_room_for(const struct wh_ring *ring, uint32_t wanted)
{
	uint64_t word = wh_load_relaxed(&ring->claim);

	if ((word & (CLAIM_CLOSED | CLAIM_AWAY | CLAIM_PAUSED)) != 0 || !wh_gate_is_open(ring->gate))
		return true;
	return wanted > 0 ? has_slots(ring, word, wanted)
			  : has_slots(ring, word, 1) && wh_load_relaxed(&ring->wanted) == 0;
}

bool wh_ring_has_room(const struct wh_ring *ring)
{
	return wh_ring_has_room_for(ring, 0);
}

#define STARVED_IN_A_CALL UINT64_C(1)
#define STARVED_ARM UINT64_C(2)

/* A thread that armed is told of room alone; without it, or without the descriptor, the arms stay. A thread that arms too late to be
 * counted here sees the room: partner wh_ring_arm. */
static void tell_arms(struct wh_ring *ring)
{
	int fd = descriptor_in(&ring->room_fd);
	uint64_t arms;

	if (fd < 0 || wh_load_relaxed(&ring->starved) < STARVED_ARM || !wh_ring_has_room(ring))
		return;
	arms = wh_fetch_and(&ring->starved, STARVED_IN_A_CALL) / STARVED_ARM;
	if (arms > 0)
		add_to(fd, arms);
}

int wh_ring_room_fd(struct wh_ring *ring)
{
	int fd;

	if (descriptor_in(&ring->room_fd) >= 0)
		return descriptor_in(&ring->room_fd);
	fd = make_descriptor(&ring->room_fd, EFD_SEMAPHORE);
	/* The descriptor, then the arms and the room. Partners: wh_ring_signal, wh_ring_publish_limit, which look for it after their
	 * fence: one of us tells those that armed before. */
	wh_fence_full();
	tell_arms(ring);
	return fd;
}

void wh_ring_signal(struct wh_ring *ring)
{
	/* Why there is room, which was stored before, then which threads are to be told, and on what. Partners: wh_ring_arm,
	 * wh_ring_room_fd, and threads that make window_fd before they look again: wh_ring_starve, is_to_return in group/send.c. */
	wh_fence_full();
	tell_waiters(ring);
	tell_arms(ring);
}

void wh_ring_arm(struct wh_ring *ring)
{
	wh_fetch_add(&ring->starved, STARVED_ARM);
	wh_fence_full(); /* my arm, then the room. Partners: wh_ring_publish_limit, wh_ring_signal. One of us sees the other. */
}

bool wh_ring_disarm(struct wh_ring *ring)
{
	uint64_t starved = wh_load_relaxed(&ring->starved);

	while (starved >= STARVED_ARM)
		if (wh_compare_swap(&ring->starved, &starved, starved - STARVED_ARM))
			return true;
	return false;
}

/* The signal that I have drained was that of the thread that wants many. */
static bool is_anothers(const struct wh_ring *ring, uint32_t wanted)
{
	uint64_t count = wanted == 0 ? wh_load_relaxed(&ring->wanted) : 0;

	return count > 0 && wh_ring_has_room_for(ring, (uint32_t)count);
}

bool wh_ring_starve(struct wh_ring *ring, uint32_t wanted)
{
	wh_ring_drain_window(ring);
	wh_fetch_or(&ring->starved, STARVED_IN_A_CALL);
	/* The descriptor and my flag, then the limit; partner: the limit, then the flag, in wh_ring_publish_limit. One of us sees the
	 * other. */
	wh_fence_full();
	if (!wh_ring_has_room_for(ring, wanted)) {
		if (__builtin_expect(is_anothers(ring, wanted), 0))
			tell_waiters(ring);
		return false;
	}
	tell_waiters(ring); /* I may have drained a signal that another thread waits for */
	return true;
}

bool wh_ring_want(struct wh_ring *ring, uint32_t count)
{
	uint64_t none = 0;

	if (ring->single && !wh_single_may_send(ring))
		return false;
	/* Claims that have looked already may still be made: they only take longer to become free. */
	return wh_compare_swap(&ring->wanted, &none, count);
}

void wh_ring_want_no_more(struct wh_ring *ring)
{
	wh_store_release(&ring->wanted, 0);
	wh_ring_signal(ring); /* those that were held up */
}

/* The lines of a slot that will be claimed soon: the readers of its last message still hold copies of them, and a fill
 * that has to take them back one by one holds up the next compare-and-swap. Only of slots that are free. */
WH_HINT_INLINE void prefetch(const struct wh_place *place, uint32_t slot, uint64_t room)
{
	const unsigned char *payload;

	if (room <= WH_SLOTS_AHEAD || place->slots.payload_stride > WH_SLOT_SMALL)
		return;
	payload = place->row + wh_slot_payload(&place->slots, wh_slot_ahead(&place->slots, slot));
	for (uint32_t at = 0; at < place->slots.payload_stride; at += WH_CACHE_LINE)
		wh_prefetch_write(payload + at);
}

/* Why no claim can be made now. */
static enum whorl_result claim_refusal(uint64_t word)
{
	return word & CLAIM_CLOSED ? WHORL_CLOSED : word & (CLAIM_AWAY | CLAIM_PAUSED) ? WHORL_NOT_SENDER : WHORL_AGAIN;
}

/* The same as take_numbers for the one thread that sends. */
static inline __attribute__((always_inline)) enum whorl_result take_single(struct wh_ring *ring, uint32_t count,
									   bool wanted, struct wh_claims *out,
									   uint64_t *room)
{
	uint64_t bits = wh_load_relaxed(&ring->claim) & CLAIM_BITS, own, number, after, limit;
	uint32_t slot;

	if (__builtin_expect(bits != 0, 0))
		return claim_refusal(bits);
	if (__builtin_expect(!wh_single_is_sender(ring), 0))
		return WHORL_INVALID;
	own = wh_load_relaxed(&ring->own) & ~WH_OWN_FROZEN; /* nobody else moves it */
	number = claim_number(ring, own);
	slot = (uint32_t)(own & ((UINT64_C(1) << ring->slot_bits) - 1));
	limit = wh_load_acquire(&ring->limit); /* as in take_numbers; so is `wanted` */
	if (number + count > limit || (!wanted && wh_load_relaxed(&ring->wanted) != 0)) {
		atomic_fetch_add_explicit(&ring->window_full, 1, memory_order_relaxed);
		return WHORL_AGAIN;
	}
	after = (number + count) << ring->slot_bits | wh_slot_behind(slot, count, ring->window);
	bits = wh_single_move(ring, own, after);
	if (__builtin_expect(bits != 0, 0))
		return claim_refusal(bits);
	*out = (struct wh_claims){wh_rcu_dereference(ring->place), number, slot};
	*room = limit - number;
	return WHORL_OK;
}

/* Takes so many numbers, and the slots that belong to them, all or none. *room: how many there were. `wanted`: they are wanted for this
 * thread. */
static inline __attribute__((always_inline)) enum whorl_result take_numbers(struct wh_ring *ring, uint32_t count,
									    bool wanted, struct wh_claims *out,
									    uint64_t *room)
{
	uint64_t word = wh_load_relaxed(&ring->claim);

	if (ring->single)
		return take_single(ring, count, wanted, out, room);
	for (;;) {
		uint64_t number = claim_number(ring, word), limit;
		uint32_t slot = (uint32_t)(word & ((UINT64_C(1) << ring->slot_bits) - 1));

		if (__builtin_expect((word & CLAIM_BITS) != 0, 0))
			return claim_refusal(word);
		/* Acquire: the readers of these slots' last messages have finished with them. Partner: wh_ring_publish_limit. */
		limit = wh_load_acquire(&ring->limit);
		/* Relaxed: it keeps claims apart from nothing, it holds them up. It lies beside the limit. */
		if (number + count > limit || (!wanted && wh_load_relaxed(&ring->wanted) != 0)) {
			atomic_fetch_add_explicit(&ring->window_full, 1, memory_order_relaxed);
			return WHORL_AGAIN;
		}
		if (wh_compare_swap(&ring->claim, &word,
				    (number + count) << ring->slot_bits | wh_slot_behind(slot, count, ring->window))) {
			/* After the claim: the place of its view or of a later one, never an older. Partner: wh_ring_enter. */
			*out = (struct wh_claims){wh_rcu_dereference(ring->place), number, slot};
			*room = limit - number;
			return WHORL_OK;
		}
	}
}

/* What take_numbers gives is set where its result is WHORL_OK; not all compilers see that, so it begins as 0. */
enum whorl_result wh_ring_claim(struct wh_ring *ring, struct wh_claim *out)
{
	struct wh_claims claims = {.number = 0};
	uint64_t room = 0;
	enum whorl_result result = take_numbers(ring, 1, false, &claims, &room);

	if (result == WHORL_OK) {
		prefetch(claims.place, claims.slot, room);
		*out = wh_ring_claim_of(&claims, 0);
	}
	return result;
}

enum whorl_result wh_ring_claim_many(struct wh_ring *ring, uint32_t count, struct wh_claims *out)
{
	uint64_t room = 0;
	enum whorl_result result = take_numbers(ring, count, false, out, &room);

	for (uint32_t i = 0; result == WHORL_OK && i < count; i++)
		prefetch(out->place, wh_slot_behind(out->slot, i, ring->window), room - i);
	return result;
}

enum whorl_result wh_ring_claim_parts(struct wh_ring *ring, uint32_t count, bool wanted, struct wh_claim *out)
{
	struct wh_claims claims = {.number = 0};
	uint64_t room = 0;
	enum whorl_result result = take_numbers(ring, count, wanted, &claims, &room);

	if (result == WHORL_OK)
		*out = wh_ring_claim_of(&claims, 0);
	return result;
}

bool wh_ring_mark_parts(struct wh_ring *ring, uint64_t dropped, const struct wh_claim *claim, uint32_t parts,
			uint64_t bytes, bool aborted)
{
	bool taken = true;

	for (uint32_t k = parts; k-- > 0;) {
		const struct wh_claim part = {.number = claim->number + k,
					      .slot = wh_slot_behind(claim->slot, k, ring->window),
					      .home = claim->home};
		uint64_t before = (uint64_t)k * ring->message_bytes, rest = bytes > before ? bytes - before : 0;
		uint32_t here = (uint32_t)(rest < ring->message_bytes ? rest : ring->message_bytes);

		taken &= wh_ring_mark(ring, dropped, &part, k + 1 < parts ? here | WH_READY_MORE : here, aborted);
	}
	return taken;
}

bool wh_ring_ids_exhausted(const struct wh_ring *ring)
{
	return ring->freed == number_end(ring);
}

/* What all have delivered all have received; so a thread that sees the one sees the other. */
static void tell_frontiers(struct wh_ring *ring, uint64_t delivered)
{
	wh_frontier_move(&ring->frontiers, WH_RECEIVED_BY_ALL, delivered);
	wh_frontier_move(&ring->frontiers, WH_DELIVERED_BY_ALL, delivered);
}

void wh_ring_publish_limit(struct wh_ring *ring)
{
	uint64_t limit = ring->freed + ring->window, end = number_end(ring);

	/* Release: partner take_numbers. */
	wh_store_release(&ring->limit, limit < end ? limit : end);
	if (!ring->held)
		tell_frontiers(ring, ring->freed);
	wh_fence_full(); /* partners: wh_ring_starve, wh_ring_arm */
	if (wh_load_relaxed(&ring->starved) == 0)
		return;
	if ((wh_fetch_and(&ring->starved, ~STARVED_IN_A_CALL) & STARVED_IN_A_CALL) != 0)
		tell_waiters(ring);
	tell_arms(ring);
}

void wh_ring_close(struct wh_ring *ring)
{
	wh_fetch_or(&ring->claim, CLAIM_CLOSED);
	wh_ring_signal(ring);
}

uint64_t wh_ring_open_claims(const struct wh_ring *ring)
{
	uint64_t open = 0, claimed = wh_ring_claimed(ring);
	uint32_t bytes, slot = ring->sent_slot;
	bool aborted;

	for (uint64_t number = ring->sent; number < claimed; number++) {
		open += !wh_ring_ready(ring, number, slot, &bytes, &aborted);
		slot = wh_slot_after(slot, ring->window);
	}
	return open + (ring->dropped_open - wh_load_acquire(&ring->late));
}

bool wh_ring_is_away(const struct wh_ring *ring)
{
	return (wh_load_relaxed(&ring->claim) & CLAIM_AWAY) != 0;
}

bool wh_ring_is_open(const struct wh_ring *ring)
{
	return (wh_load_relaxed(&ring->claim) & (CLAIM_AWAY | CLAIM_PAUSED)) == 0;
}

void wh_ring_pause(struct wh_ring *ring, bool paused)
{
	uint64_t before = paused ? wh_fetch_or(&ring->claim, CLAIM_PAUSED) : wh_fetch_and(&ring->claim, ~CLAIM_PAUSED);

	if (((before & CLAIM_PAUSED) != 0) != paused)
		wh_ring_signal(ring);
}

/* ---- from view to view ---------------------------------------------------------------------------------------------- */

/* The number of a single sender, which is wedged: claims that are made later are taken back. */
static void freeze(struct wh_ring *ring)
{
	/* The bit, then the number: partner wh_single_move. Where barriers have been forbidden meanwhile all claims that are under way are
	 * waited for: they are in their RCU lock, and wait for nothing. */
	if (!wh_gate_barrier(ring->gate))
		wh_rcu_synchronize();
	wh_store_relaxed(&ring->at_wedge, claim_number(ring, wh_fetch_or(&ring->own, WH_OWN_FROZEN)));
}

void wh_ring_wedge(struct wh_ring *ring)
{
	uint64_t before = wh_fetch_or(&ring->claim, CLAIM_WEDGED);

	/* Once for each view: a second look might count what the first has not. */
	if (ring->single && (before & CLAIM_WEDGED) == 0)
		freeze(ring);
}

static void begin_at(struct wh_ring *ring, uint64_t first)
{
	uint64_t claimed = wh_ring_claimed(ring);

	WH_CHECK(ring->diag, first <= claimed && claimed <= first + ring->window);
	if (ring->sent < wh_load_relaxed(&ring->dropped)) { /* views follow so quickly that these are not counted yet */
		wh_rcu_synchronize();
		wh_ring_count_dropped(ring);
	}
	if (ring->place != NULL)
		ring->place->end = claimed;
	ring->held = true;
	ring->sent = ring->freed = first;
	ring->sent_slot = ring->freed_slot = (uint32_t)(first % ring->window);
}

void wh_ring_release(struct wh_ring *ring)
{
	if (!ring->held)
		return;
	ring->held = false;
	tell_frontiers(ring, wh_ring_settled(ring));
}

/* Nothing can be claimed meanwhile: it is wedged, and stays so if it ends. */
static void begin_role(struct wh_ring *ring, uint64_t opened, bool ends)
{
	ring->ends = ends;
	if (ends)
		wh_fetch_or(&ring->claim, CLAIM_AWAY);
	else /* Release: the place, before a claim can be made in this view. Partner: take_numbers. */
		wh_fetch_and(&ring->claim, ~opened);
}

void wh_ring_rest(struct wh_ring *ring, uint64_t first, bool ends)
{
	begin_at(ring, first);
	begin_role(ring, CLAIM_AWAY, ends);
}

void wh_ring_enter(struct wh_ring *ring, struct wh_place *place, uint64_t first, bool ends)
{
	begin_at(ring, first);
	place->older = ring->place;
	wh_rcu_publish(ring->place, place);
	wh_ring_publish_limit(ring);
	begin_role(ring, CLAIM_WEDGED | CLAIM_AWAY, ends);
	wh_ring_signal(ring);
}

/* It sends nothing, nor did in the view before. */
static bool sends_nothing(const struct wh_ring *ring)
{
	return (wh_load_relaxed(&ring->claim) & CLAIM_AWAY) != 0 && !ring->ends;
}

uint64_t wh_ring_drop(struct wh_ring *ring, uint64_t first)
{
	uint64_t claimed;

	if (sends_nothing(ring))
		return 0;
	wh_ring_wedge(ring); /* if it is not */
	claimed = wh_ring_claimed(ring);
	ring->ends = false;
	begin_at(ring, first);
	wh_store_release(&ring->dropped, claimed); /* partner: wh_ring_mark */
	wh_fetch_or(&ring->claim, CLAIM_AWAY | CLAIM_WEDGED);
	wh_ring_signal(ring);
	return claimed - first;
}

void wh_ring_count_dropped(struct wh_ring *ring)
{
	uint64_t end = wh_load_relaxed(&ring->dropped);
	uint32_t bytes;
	bool aborted;

	if (ring->sent >= end)
		return;
	for (; ring->sent < end; ring->sent++) {
		ring->dropped_open += !wh_ring_ready(ring, ring->sent, ring->sent_slot, &bytes, &aborted);
		ring->sent_slot = wh_slot_after(ring->sent_slot, ring->window);
	}
	ring->freed = ring->sent;
	ring->freed_slot = ring->sent_slot;
}

bool wh_ring_is_done_with(const struct wh_ring *ring, const struct wh_place *place)
{
	if (!sends_nothing(ring) && place == ring->place)
		return false;
	if (ring->sent < wh_load_relaxed(&ring->dropped)) /* `late` is ahead of `dropped_open` */
		return false;
	return ring->sent >= place->end && wh_load_acquire(&ring->late) == ring->dropped_open;
}

void wh_ring_forget(struct wh_ring *ring, struct wh_place *place)
{
	struct wh_place **at = &ring->place;

	while (*at != NULL && *at != place)
		at = &(*at)->older;
	if (*at == place)
		*at = place->older;
}
