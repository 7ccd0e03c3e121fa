/* returns.c - rows that are used again (T8, docs/decisions/0043), in all interleavings: an owner, and a peer that it offers its rows to.
 *
 * The owner opens images in the order of their keys, and closes them in any. An image has a file: one that has come back, or a new one.
 * The peer opens, maps and closes on its own; it may stand still for ever, which is to take no step, or its connection may end while it still
 * reads. Messages arrive in order, and a LET_GO may find no room.
 *
 * What must hold: a file that the peer has mapped for an image is that image's, and no other's; and two open images of the owner never share
 * one. That rows do come back is found, too. Each rule is then left out in turn: the search must find what breaks. The code:
 * transport/shm/returns.c; offers are session/image.c's.
 */
#include <string.h>

#include "explorer.h"

#define KEYS 3  /* images, 0 to 2 */
#define FILES 4 /* 1 to 3; 0: none */
#define QUEUE 3
#define BROKEN "a file is not that image's alone"

/* Rules. */
enum {
	WAITS = 1,          /* a row comes back when the peer has let go of it */
	BY_KEY = 2,         /* it has let go of the row of one image, and not of another */
	OWN_CLOSE = 4,      /* and when its owner has closed the image */
	ENDED_READ_ON = 8,  /* a peer that ends without having said so is taken to read on */
	CLOSED_BEFORE = 16, /* a peer says so when it has closed the image */
	PAST = 32,          /* and then maps nothing more of it, though it is offered again */
};

struct world {
	uint32_t without; /* rules */
};

enum step_kind {
	OPENS,
	CLOSES,
	OFFERS,
	HEARS_LET_GO,
	HEARS_OFFER,
	LETS_GO,
	PEER_CLOSES,
	PEER_OPENS,
	MAPS,
	PARTS,
	STEP_KINDS
};

enum { UNOPENED, OPEN, CLOSED };

struct owned { /* an image at the owner */
	uint8_t state, file, offers, let_go;
};

struct read { /* and at the peer */
	uint8_t state, mapped, kept, said;
};

struct state {
	struct owned owned[KEYS];
	struct read read[KEYS];
	uint8_t belongs[FILES]; /* to which image, + 1 */
	uint8_t spare, returning, returning_key, came_back;
	uint8_t apart; /* the connection has ended */
	uint8_t offers[QUEUE], offer_count;
	uint8_t let_gos[QUEUE], let_go_count;
};

static bool holds(const struct search *x, uint32_t rule)
{
	return (x->world->without & rule) == 0;
}

static uint8_t take_first(uint8_t *queue, uint8_t *count)
{
	uint8_t first = queue[0];

	memmove(queue, queue + 1, (size_t)-- * count);
	queue[*count] = 0;
	return first;
}

/* ---- the owner -------------------------------------------------------------------------------------------------------- */

static void give(struct state *st, uint8_t file)
{
	if (st->spare != 0)
		return; /* it goes: it is never used again */
	st->spare = file;
	st->came_back = 1;
}

static void open_mine(struct search *x, struct state st, uint32_t key)
{
	uint8_t file = st.spare;

	for (uint8_t f = 1; file == 0 && f < FILES; f++)
		if (st.belongs[f] == 0)
			file = f;
	if (file == 0)
		return;
	st.spare = file == st.spare ? 0 : st.spare;
	st.belongs[file] = (uint8_t)(key + 1);
	st.owned[key].state = OPEN;
	st.owned[key].file = file;
	reach_by(x, &st, OPENS, key, 0);
}

static void close_mine(struct search *x, struct state st, uint32_t key)
{
	struct owned *mine = &st.owned[key];
	bool held = holds(x, WAITS) && mine->offers > 0 && !mine->let_go;

	mine->state = CLOSED;
	st.returning = 0; /* the one that was awaited goes */
	if (!held || (st.apart && !holds(x, ENDED_READ_ON))) {
		if (mine->let_go != 2) /* 2: it has come back already, wrongly */
			give(&st, mine->file);
	} else if (!st.apart) {
		st.returning = mine->file;
		st.returning_key = (uint8_t)key;
	}
	reach_by(x, &st, CLOSES, key, 0);
}

static void offer(struct search *x, struct state st, uint32_t key)
{
	st.owned[key].offers++;
	st.offers[st.offer_count++] = (uint8_t)(key + 1);
	reach_by(x, &st, OFFERS, key, 0);
}

static void hear_let_go(struct search *x, struct state st)
{
	uint32_t key = take_first(st.let_gos, &st.let_go_count) - 1u;

	if (st.owned[key].state == OPEN) {
		st.owned[key].let_go = 1;
		if (!holds(x, OWN_CLOSE)) {
			st.owned[key].let_go = 2;
			give(&st, st.owned[key].file);
		}
	} else if (st.returning != 0 && (st.returning_key == key || !holds(x, BY_KEY))) {
		give(&st, st.returning);
		st.returning = 0;
	}
	reach_by(x, &st, HEARS_LET_GO, key, 0);
}

static void step_owner(struct search *x, const struct state *st)
{
	for (uint32_t key = 0; key < KEYS; key++) {
		const struct owned *mine = &st->owned[key];

		if (mine->state == UNOPENED && (key == 0 || st->owned[key - 1].state != UNOPENED))
			open_mine(x, *st, key);
		if (mine->state != OPEN)
			continue;
		close_mine(x, *st, key);
		if (!st->apart && mine->offers < 2 &&
		    st->offer_count < QUEUE) /* twice: the peer may have dropped the first */
			offer(x, *st, key);
	}
	if (st->let_go_count > 0)
		hear_let_go(x, *st);
}

/* ---- the peer --------------------------------------------------------------------------------------------------------- */

static bool is_past(const struct search *x, const struct state *st, uint32_t key)
{
	for (uint32_t k = key; holds(x, PAST) && k < KEYS; k++)
		if (st->read[k].state == CLOSED)
			return true;
	return false;
}

static void hear_offer(struct search *x, struct state st)
{
	uint32_t key = take_first(st.offers, &st.offer_count) - 1u;

	if (st.read[key].mapped == 0 && (st.read[key].state == OPEN || !is_past(x, &st, key)))
		st.read[key].kept = st.owned[key].file;
	reach_by(x, &st, HEARS_OFFER, key, 0);
}

/* `finds_room`: the word is sent. */
static void say_let_go(struct search *x, struct state st, uint32_t key, bool finds_room)
{
	if (finds_room && !st.apart && st.let_go_count < QUEUE)
		st.let_gos[st.let_go_count++] = (uint8_t)(key + 1);
	reach_by(x, &st, LETS_GO, key, 0);
}

static void close_theirs(struct search *x, struct state st, uint32_t key)
{
	st.read[key].state = holds(x, PAST) ? CLOSED : UNOPENED;
	st.read[key].mapped = 0;
	for (uint32_t k = 0; k <= key; k++)
		if (st.read[k].state != OPEN && holds(x, PAST))
			st.read[k].kept = 0;
	if (!holds(x, CLOSED_BEFORE)) {
		reach_by(x, &st, PEER_CLOSES, key, 0);
		return;
	}
	say_let_go(x, st, key, true);
	say_let_go(x, st, key, false);
}

static void step_peer(struct search *x, const struct state *st)
{
	if (st->offer_count > 0)
		hear_offer(x, *st);
	for (uint32_t key = 0; key < KEYS; key++) {
		struct state next = *st;

		if (st->read[key].state == UNOPENED && !is_past(x, st, key)) {
			next.read[key].state = OPEN;
			reach_by(x, &next, PEER_OPENS, key, 0);
		}
		if (st->read[key].state != OPEN)
			continue;
		close_theirs(x, *st, key);
		if (st->read[key].kept != 0) {
			next.read[key].mapped = st->read[key].kept;
			next.read[key].kept = 0;
			reach_by(x, &next, MAPS, key, 0);
		}
		if (!holds(x, CLOSED_BEFORE) && st->read[key].mapped != 0 && !st->read[key].said) {
			next = *st;
			next.read[key].said = 1;
			say_let_go(x, next, key, true);
		}
	}
}

/* What is under way is lost; what the peer has mapped it reads on. */
static void part(struct search *x, struct state st)
{
	st.apart = 1;
	memset(st.offers, 0, sizeof(st.offers));
	memset(st.let_gos, 0, sizeof(st.let_gos));
	st.offer_count = st.let_go_count = 0;
	if (st.returning != 0 && !holds(x, ENDED_READ_ON))
		give(&st, st.returning);
	st.returning = 0;
	reach_by(x, &st, PARTS, 0, 0);
}

/* ---- all of it ---------------------------------------------------------------------------------------------------- */

static bool is_broken(const struct state *st)
{
	for (uint32_t key = 0; key < KEYS; key++) {
		uint8_t mapped = st->read[key].mapped, mine = st->owned[key].file;

		if (mapped != 0 && st->belongs[mapped] != key + 1)
			return true;
		if (st->owned[key].state == OPEN && st->belongs[mine] != key + 1)
			return true;
	}
	return false;
}

static const char *judge(struct search *x, const struct state *st)
{
	x->noted[0] += st->came_back;
	return is_broken(st) ? BROKEN : NULL;
}

static void go_on(struct search *x, const struct state *st)
{
	step_owner(x, st);
	step_peer(x, st);
	if (!st->apart)
		part(x, *st);
}

static const struct trial trials[] = {
	{"all rules", EVERY, NULL, WORLD(0)},
	{"without waiting for the peer", EVERY, BROKEN, WORLD(WAITS)},
	{"a word about one image counts for another", EVERY, BROKEN, WORLD(BY_KEY)},
	{"it comes back before its owner has closed the image", EVERY, BROKEN, WORLD(OWN_CLOSE)},
	{"a peer that has ended reads no more", EVERY, BROKEN, WORLD(ENDED_READ_ON)},
	{"the peer says so while it reads", EVERY, BROKEN, WORLD(CLOSED_BEFORE)},
	{"the peer may map what it had closed", EVERY, BROKEN, WORLD(PAST)},
};

int main(int argc, char **argv)
{
	static const char *const names[STEP_KINDS] = {"is opened",
						      "is closed",
						      "is offered",
						      "is let go of: heard",
						      "is offered: heard",
						      "is let go of",
						      "is closed by the peer",
						      "is opened by the peer",
						      "is mapped",
						      "the connection ends"};
	static const char *const notes[] = {"with rows that came back", NULL};
	static const struct model model = {
		.what = "returns: rows that are used again",
		.state_bytes = sizeof(struct state),
		.notes = notes,
		.not_in_vain = true,
		.most = UINT32_MAX,
		.go_on = go_on,
		.judge = judge,
		.names = names,
	};

	return try_all(&model, trials, COUNT_OF(trials), read_options(&model, argc, argv));
}
