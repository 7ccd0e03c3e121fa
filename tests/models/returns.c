/* returns.c - rows that are used again (T8, docs/decisions/0043), in all interleavings: an owner, and a peer that it offers its rows to.
 *
 * The owner opens images in the order of their keys, and closes them in any. An image has a file: one that has come back, or a new one.
 * The peer opens, maps and closes on its own; it may stand still for ever, which is to take no step, or its connection may end while it still
 * reads. Messages arrive in order, and a LET_GO may find no room.
 *
 * What must hold: a file that the peer has mapped for an image is that image's, and no other's; and two open images of the owner never share
 * one. That rows do come back is found, too. Each rule is then left out in turn: the search must find what breaks. -v prints the
 * shortest course to it. The code: transport/shm/returns.c; offers are session/image.c's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "old_book.h"

#define KEYS 3  /* images, 0 to 2 */
#define FILES 4 /* 1 to 3; 0: none */
#define QUEUE 3

/* Rules; a world has all but those that are taken out of it. */
enum {
	WAITS = 1,          /* a row comes back when the peer has let go of it */
	BY_KEY = 2,         /* it has let go of the row of one image, and not of another */
	OWN_CLOSE = 4,      /* and when its owner has closed the image */
	ENDED_READ_ON = 8,  /* a peer that ends without having said so is taken to read on */
	CLOSED_BEFORE = 16, /* a peer says so when it has closed the image */
	PAST = 32,          /* and then maps nothing more of it, though it is offered again */
	ALL_RULES = 63
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

struct entry {
	struct state state;
	uint32_t before; /* its number + 1 */
	char step[24];
};

struct search {
	uint32_t rules, at;
	struct book book;
	bool returns; /* some row has come back */
};

static void reach(struct search *s, const struct state *to, const char *step, uint32_t key)
{
	struct entry entry;

	memset(&entry, 0, sizeof(entry));
	entry.state = *to;
	entry.before = s->at + 1;
	snprintf(entry.step, sizeof(entry.step), "%s %u", step, (unsigned)key);
	s->returns = s->returns || to->came_back;
	(void)book_add(&s->book, &entry);
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

static void open_mine(struct search *s, struct state st, uint32_t key)
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
	reach(s, &st, "open", key);
}

static void close_mine(struct search *s, struct state st, uint32_t key)
{
	struct owned *mine = &st.owned[key];
	bool held = (s->rules & WAITS) != 0 && mine->offers > 0 && !mine->let_go;

	mine->state = CLOSED;
	st.returning = 0; /* the one that was awaited goes */
	if (!held || (st.apart && (s->rules & ENDED_READ_ON) == 0)) {
		if (mine->let_go != 2) /* 2: it has come back already, wrongly */
			give(&st, mine->file);
	} else if (!st.apart) {
		st.returning = mine->file;
		st.returning_key = (uint8_t)key;
	}
	reach(s, &st, "close", key);
}

static void offer(struct search *s, struct state st, uint32_t key)
{
	st.owned[key].offers++;
	st.offers[st.offer_count++] = (uint8_t)(key + 1);
	reach(s, &st, "offer", key);
}

static void hear_let_go(struct search *s, struct state st)
{
	uint32_t key = take_first(st.let_gos, &st.let_go_count) - 1u;

	if (st.owned[key].state == OPEN) {
		st.owned[key].let_go = 1;
		if ((s->rules & OWN_CLOSE) == 0) {
			st.owned[key].let_go = 2;
			give(&st, st.owned[key].file);
		}
	} else if (st.returning != 0 && (st.returning_key == key || (s->rules & BY_KEY) == 0)) {
		give(&st, st.returning);
		st.returning = 0;
	}
	reach(s, &st, "hear-let-go", key);
}

static void step_owner(struct search *s, const struct state *st)
{
	for (uint32_t key = 0; key < KEYS; key++) {
		const struct owned *mine = &st->owned[key];

		if (mine->state == UNOPENED && (key == 0 || st->owned[key - 1].state != UNOPENED))
			open_mine(s, *st, key);
		if (mine->state != OPEN)
			continue;
		close_mine(s, *st, key);
		if (!st->apart && mine->offers < 2 &&
		    st->offer_count < QUEUE) /* twice: the peer may have dropped the first */
			offer(s, *st, key);
	}
	if (st->let_go_count > 0)
		hear_let_go(s, *st);
}

/* ---- the peer --------------------------------------------------------------------------------------------------------- */

static bool is_past(const struct search *s, const struct state *st, uint32_t key)
{
	for (uint32_t k = key; (s->rules & PAST) != 0 && k < KEYS; k++)
		if (st->read[k].state == CLOSED)
			return true;
	return false;
}

static void hear_offer(struct search *s, struct state st)
{
	uint32_t key = take_first(st.offers, &st.offer_count) - 1u;

	if (st.read[key].mapped == 0 && (st.read[key].state == OPEN || !is_past(s, &st, key)))
		st.read[key].kept = st.owned[key].file;
	reach(s, &st, "hear-offer", key);
}

/* `finds_room`: the word is sent. */
static void say_let_go(struct search *s, struct state st, uint32_t key, bool finds_room)
{
	if (finds_room && !st.apart && st.let_go_count < QUEUE)
		st.let_gos[st.let_go_count++] = (uint8_t)(key + 1);
	reach(s, &st, "let-go", key);
}

static void close_theirs(struct search *s, struct state st, uint32_t key)
{
	st.read[key].state = (s->rules & PAST) != 0 ? CLOSED : UNOPENED;
	st.read[key].mapped = 0;
	for (uint32_t k = 0; k <= key; k++)
		if (st.read[k].state != OPEN && (s->rules & PAST) != 0)
			st.read[k].kept = 0;
	if ((s->rules & CLOSED_BEFORE) == 0) {
		reach(s, &st, "peer-close", key);
		return;
	}
	say_let_go(s, st, key, true);
	say_let_go(s, st, key, false);
}

static void step_peer(struct search *s, const struct state *st)
{
	if (st->offer_count > 0)
		hear_offer(s, *st);
	for (uint32_t key = 0; key < KEYS; key++) {
		struct state next = *st;

		if (st->read[key].state == UNOPENED && !is_past(s, st, key)) {
			next.read[key].state = OPEN;
			reach(s, &next, "peer-open", key);
		}
		if (st->read[key].state != OPEN)
			continue;
		close_theirs(s, *st, key);
		if (st->read[key].kept != 0) {
			next.read[key].mapped = st->read[key].kept;
			next.read[key].kept = 0;
			reach(s, &next, "map", key);
		}
		if ((s->rules & CLOSED_BEFORE) == 0 && st->read[key].mapped != 0 && !st->read[key].said) {
			next = *st;
			next.read[key].said = 1;
			say_let_go(s, next, key, true);
		}
	}
}

/* What is under way is lost; what the peer has mapped it reads on. */
static void part(struct search *s, struct state st)
{
	st.apart = 1;
	memset(st.offers, 0, sizeof(st.offers));
	memset(st.let_gos, 0, sizeof(st.let_gos));
	st.offer_count = st.let_go_count = 0;
	if (st.returning != 0 && (s->rules & ENDED_READ_ON) == 0)
		give(&st, st.returning);
	st.returning = 0;
	reach(s, &st, "part", 0);
}

/* ---- the search ------------------------------------------------------------------------------------------------------- */

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

/* True: something is broken, at s->at. */
static bool explore(struct search *s)
{
	struct state start;

	memset(&start, 0, sizeof(start));
	s->at = UINT32_MAX; /* + 1: none */
	reach(s, &start, "begin", 0);
	for (s->at = 0; s->at < s->book.count; s->at++) {
		const struct entry entry = ((const struct entry *)(const void *)s->book.entries)[s->at];

		if (is_broken(&entry.state))
			return true;
		step_owner(s, &entry.state);
		step_peer(s, &entry.state);
		if (!entry.state.apart)
			part(s, entry.state);
	}
	return false;
}

static void print_course(const struct search *s, uint32_t at)
{
	const struct entry *entry = &((const struct entry *)(const void *)s->book.entries)[at];

	if (entry->before != 0)
		print_course(s, entry->before - 1);
	printf(" %s", entry->step);
}

static const struct {
	const char *what;
	uint32_t without;
} worlds[] = {
	{"all rules", 0},
	{"without waiting for the peer", WAITS},
	{"a word about one image counts for another", BY_KEY},
	{"it comes back before its owner has closed the image", OWN_CLOSE},
	{"a peer that has ended reads no more", ENDED_READ_ON},
	{"the peer says so while it reads", CLOSED_BEFORE},
	{"the peer may map what it had closed", PAST},
};

int main(int argc, char **argv)
{
	bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
	int surprises = 0;

	for (size_t i = 0; i < sizeof(worlds) / sizeof(worlds[0]); i++) {
		struct search s = {.rules = ALL_RULES & ~worlds[i].without,
				   .book = {.state_bytes = sizeof(struct state), .entry_bytes = sizeof(struct entry)}};
		bool broken = explore(&s), expected = broken == (worlds[i].without != 0) && (broken || s.returns);

		printf("%-55s %8u states  %s%s\n", worlds[i].what, (unsigned)s.book.count, broken ? "broken" : "holds",
		       expected ? "" : "  <-- SURPRISE");
		if (broken && verbose) {
			print_course(&s, s.at);
			printf("\n");
		}
		surprises += !expected;
		book_close(&s.book);
	}
	return surprises == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
