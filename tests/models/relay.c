/* relay.c - messages that members relay (docs/decisions/0074), in all interleavings: a sender, relays in a chain, and one of them that goes.
 *
 * Member 0 sends. Its messages have one or two parts, each a slot of its ring; some are relayed. It writes a message, pushes to all members
 * the headers, and the whole slots of what is not relayed, and then its guard. The bytes of relayed slots it pushes to member 1 alone, each
 * followed by a word: how many slots are there by now. Each member that holds such a slot pushes it on to the next, from its own copy,
 * with a word of its own. What one member pushes to another becomes visible in that order (T2), some time; bytes are read where they lie
 * when they become visible (T4). A member takes in the whole messages that the guard announces and that it holds, and says so; it delivers
 * what all have taken in. The sender writes a slot again when all have delivered what was in it. What a member says of itself others see at
 * once: to see it late only holds them up.
 *
 * The image of one member may not be ready yet when the others begin: it does nothing until then. The sender, which has heard that it has a place for the
 * sender's row, pushes to it; and so does the member before it in the chain, though that knows nothing of that place. What comes lands.
 *
 * At any moment one member may be suspected, the sender too: dead, or alive, and then it goes on as if nothing were. What it has pushed comes
 * through in part. Each other member stops at a moment of its own (it wedges); when all have, the cut is what all of them have taken in, and
 * all deliver that.
 *
 * What must hold: no member counts as received what it has not; what is delivered is what was sent; no member has delivered anything beyond
 * the cut, and all that stay deliver up to it; the sender, if it stays, has all that is to be sent again; and nothing comes to a stand before
 * all is delivered, unless one goes. Each rule is then replaced by a wrong one: the search must find what breaks.
 */
#include "explorer.h"

#define WINDOW 3
#define MEMBERS 4 /* at most */
#define MESSAGES 4
#define SLOTS 6
#define STEPS 32

static const uint8_t first_of[MESSAGES + 1] = {0, 2, 3, 4, SLOTS};
static const bool is_relayed[MESSAGES] = {true, false, true, true};

enum rule {
	RIGHT,
	BY_GUARD,       /* a member takes in what the guard announces, whatever it holds */
	WORD_FIRST,     /* the word leaves before the bytes that it counts */
	FORWARD_UNSEEN, /* a relay pushes on what the guard announces, whether it holds it or not */
	FREED_BY_NEXT,  /* a slot is written again when the next in the chain has delivered it */
	FREED_AT_END,   /* when all have taken it in */
	HEARS_ON,       /* a member goes on to take in when it has wedged */
	CUT_OF_MOST,    /* the cut is the most that a member which stays has taken in */
	GUARD_FIRST,    /* the guard leaves before its headers */
	PART,           /* a message is taken in when its first part is there */
	COUNTS_BLOCKS,  /* the word counts what was relayed, and not the slots between */
	DROPS_EARLY,    /* what is relayed to a member before its image is ready has no place there */
};

struct copy {                                  /* what a member has of the ring, and what it has done */
	uint8_t header[WINDOW], bytes[WINDOW]; /* the number of a slot + 1; 0: nothing */
	uint8_t seen;                          /* of what the sender pushes to all */
	uint8_t pushed;              /* to the next in the chain: slots, relayed or not, that it has passed on */
	uint8_t half;                /* of the next: of bytes and word the first has been pushed */
	uint8_t came, came_half;     /* of what the member before it pushes: likewise, what is visible */
	uint8_t received, delivered; /* messages */
	uint8_t wedged;
};

struct state {
	uint8_t written;      /* messages */
	uint8_t pushes;       /* to all; the sender makes those of a message in one step */
	uint8_t suspect;      /* + 1; 0: none */
	uint8_t dead;         /* it has ended */
	uint8_t decided, cut; /* when all that stay have wedged */
	uint8_t late;         /* + 1: the image of this member is not ready; 0: all are */
	struct copy of[MEMBERS];
};

struct world {
	enum rule rule;
	uint8_t members;
	bool calm;    /* no member is suspected */
	uint8_t late; /* + 1: the member with an image that is not ready at first; 0: all are */
};

enum step_kind { WRITE, SEE, FORWARD, COME, RECEIVE, DELIVER, DIE, REMOVE, WEDGE, CUT, READY, STEP_KINDS };

#define UNHELD "a member counts as received what it has not"
#define MIXED "what is delivered is not what was sent"
#define BEYOND "more is delivered than the cut says"
#define GONE "what is to be sent again is gone"
#define STILL "it stands still"

static uint8_t message_of(uint8_t slot)
{
	uint8_t m = 0;

	while (first_of[m + 1] <= slot)
		m++;
	return m;
}

static bool relayed_slot(uint8_t slot)
{
	return is_relayed[message_of(slot)];
}

/* Of the pushes to all: how many slots the guard announces, as far as `seen` goes. */
static uint8_t announced(const struct world *w, uint8_t seen)
{
	uint8_t slots = 0, at = 0;

	for (uint8_t m = 0; m < MESSAGES; m++) {
		uint8_t parts = (uint8_t)(first_of[m + 1] - first_of[m]);

		if (at + (w->rule == GUARD_FIRST ? 1 : parts + 1) <= seen)
			slots = first_of[m + 1];
		at = (uint8_t)(at + parts + 1);
	}
	return slots;
}

/* The slot of which the push with that number has the header; SLOTS: it is a guard. */
static uint8_t slot_of_push(const struct world *w, uint8_t number)
{
	uint8_t at = 0;

	for (uint8_t m = 0; m < MESSAGES; m++) {
		uint8_t parts = (uint8_t)(first_of[m + 1] - first_of[m]);

		if (number <= at + parts) {
			uint8_t k = (uint8_t)(number - at);

			if (w->rule == GUARD_FIRST)
				return k == 0 ? SLOTS : (uint8_t)(first_of[m] + k - 1);
			return k == parts ? SLOTS : (uint8_t)(first_of[m] + k);
		}
		at = (uint8_t)(at + parts + 1);
	}
	return SLOTS;
}

/* How many slots are there by the word of the member before it. */
static uint8_t held(const struct world *w, const struct copy *copy)
{
	uint8_t blocks = 0, came = copy->came;

	if (w->rule == WORD_FIRST && copy->came_half)
		came++;
	if (w->rule != COUNTS_BLOCKS)
		return came;
	for (uint8_t slot = 0; slot < came; slot++)
		blocks = (uint8_t)(blocks + relayed_slot(slot));
	return blocks;
}

/* As a header says it, right or not. */
static bool says_relayed(const struct copy *copy, uint8_t slot)
{
	uint8_t header = copy->header[slot % WINDOW];

	return header != 0 && relayed_slot((uint8_t)(header - 1));
}

/* Is that slot, which is announced, there for all that this member can tell? */
static bool is_here(const struct world *w, const struct copy *copy, uint8_t member, uint8_t slot)
{
	return member == 0 || !says_relayed(copy, slot) || slot < held(w, copy);
}

/* How many slots of those announced are there, one after the other. */
static uint8_t here(const struct world *w, const struct state *s, uint8_t member)
{
	const struct copy *copy = &s->of[member];
	uint8_t most = member == 0 ? first_of[s->written] : announced(w, copy->seen);
	uint8_t slot = copy->pushed < first_of[copy->received] ? copy->pushed : first_of[copy->received];

	while (slot < most && is_here(w, copy, member, slot))
		slot++;
	return slot;
}

static uint8_t whole(const struct world *w, const struct state *s, uint8_t member)
{
	const struct copy *copy = &s->of[member];
	uint8_t most = member == 0 ? first_of[s->written] : announced(w, copy->seen);
	uint8_t slots = w->rule == BY_GUARD ? most : here(w, s, member), m = copy->received;

	while (m < MESSAGES && first_of[m + 1] <= most &&
	       (first_of[m + 1] <= slots || (w->rule == PART && first_of[m] < slots)))
		m++;
	return m;
}

/* ---- what a member may do -------------------------------------------------------------------------------------------------- */

static bool is_suspect(const struct state *s, uint8_t member)
{
	return s->suspect == member + 1;
}

/* It is in the view, as far as it knows. */
static bool runs(const struct state *s, uint8_t member)
{
	return is_suspect(s, member) ? !s->dead : !s->of[member].wedged;
}

static bool hears(const struct world *w, const struct state *s, uint8_t member)
{
	return runs(s, member) || (w->rule == HEARS_ON && !is_suspect(s, member));
}

static uint8_t least(const struct world *w, const struct state *s, bool delivered)
{
	uint8_t value = MESSAGES;

	for (uint8_t i = 0; i < w->members; i++) {
		uint8_t of = delivered ? s->of[i].delivered : s->of[i].received;

		value = of < value ? of : value;
	}
	return value;
}

static uint8_t freed(const struct world *w, const struct state *s)
{
	if (w->rule == FREED_BY_NEXT)
		return s->of[0].delivered < s->of[1].delivered ? s->of[0].delivered : s->of[1].delivered;
	return least(w, s, w->rule != FREED_AT_END);
}

static bool may_write(const struct world *w, const struct state *s)
{
	return runs(s, 0) && s->written < MESSAGES && first_of[s->written + 1] <= first_of[freed(w, s)] + WINDOW;
}

static bool may_forward(const struct world *w, const struct state *s, uint8_t member)
{
	const struct copy *copy = &s->of[member];
	uint8_t most = member == 0 || w->rule != FORWARD_UNSEEN ? here(w, s, member) : announced(w, copy->seen);

	return member + 1 < w->members && runs(s, member) && copy->pushed < most;
}

/* The words of the one before it are read until it is suspected; bytes land all the same. */
static bool may_come(const struct world *w, const struct state *s, uint8_t member)
{
	const struct copy *before = &s->of[member - 1], *copy = &s->of[member];

	(void)w;
	return copy->came < before->pushed || (copy->came_half < before->half && copy->came == before->pushed);
}

static bool all_wedged(const struct world *w, const struct state *s)
{
	for (uint8_t i = 0; i < w->members; i++)
		if (!is_suspect(s, i) && !s->of[i].wedged)
			return false;
	return true;
}

static uint8_t stable(const struct world *w, const struct state *s, uint8_t member)
{
	if (s->decided && !is_suspect(s, member))
		return s->cut;
	return runs(s, member) ? least(w, s, false) : 0;
}

/* ---- steps ------------------------------------------------------------------------------------------------------------ */

static void write(struct state *s)
{
	for (uint8_t slot = first_of[s->written]; slot < first_of[s->written + 1]; slot++)
		s->of[0].header[slot % WINDOW] = s->of[0].bytes[slot % WINDOW] = (uint8_t)(slot + 1);
	s->pushes = (uint8_t)(s->pushes + first_of[s->written + 1] - first_of[s->written] + 1);
	s->written++;
}

static void see(const struct world *w, struct state *s, uint8_t member)
{
	struct copy *copy = &s->of[member];
	uint8_t slot = slot_of_push(w, copy->seen++);

	if (slot == SLOTS)
		return;
	copy->header[slot % WINDOW] = s->of[0].header[slot % WINDOW];
	if (!relayed_slot(slot))
		copy->bytes[slot % WINDOW] = s->of[0].bytes[slot % WINDOW];
}

/* What is not relayed is passed over. */
static void forward(struct copy *copy)
{
	if (relayed_slot(copy->pushed) && !copy->half) {
		copy->half = 1;
		return;
	}
	copy->half = 0;
	copy->pushed++;
}

/* Bytes, then their word. */
static void come(const struct world *w, struct state *s, uint8_t member)
{
	struct copy *copy = &s->of[member];
	bool bytes = relayed_slot(copy->came) && copy->came_half == (w->rule == WORD_FIRST);
	bool lands = w->rule != DROPS_EARLY || s->late != member + 1;

	if (bytes && lands)
		copy->bytes[copy->came % WINDOW] = s->of[member - 1].bytes[copy->came % WINDOW];
	if (relayed_slot(copy->came) && !copy->came_half) {
		copy->came_half = 1;
		return;
	}
	copy->came_half = 0;
	copy->came++;
}

static bool holds(const struct copy *copy, uint8_t from, uint8_t to)
{
	for (uint8_t slot = first_of[from]; slot < first_of[to]; slot++)
		if (copy->header[slot % WINDOW] != slot + 1 || copy->bytes[slot % WINDOW] != slot + 1)
			return false;
	return true;
}

static const char *receive(const struct world *w, struct state *s, uint8_t member)
{
	struct copy *copy = &s->of[member];
	uint8_t to = whole(w, s, member);

	if (!holds(copy, copy->received, to))
		return UNHELD;
	copy->received = to;
	return NULL;
}

static const char *deliver(struct state *s, uint8_t member)
{
	struct copy *copy = &s->of[member];
	bool right = holds(copy, copy->delivered, (uint8_t)(copy->delivered + 1));

	copy->delivered++;
	return right ? NULL : MIXED;
}

static const char *cut(const struct world *w, struct state *s)
{
	uint8_t value = w->rule == CUT_OF_MOST ? 0 : MESSAGES;

	for (uint8_t i = 0; i < w->members; i++) {
		uint8_t of = s->of[i].received;

		if (!is_suspect(s, i) && (w->rule == CUT_OF_MOST ? of > value : of < value))
			value = of;
	}
	s->cut = value;
	s->decided = 1;
	if (is_suspect(s, 0))
		return NULL;
	return holds(&s->of[0], value, s->written) ? NULL : GONE;
}

static int moves_of(const struct world *w, const struct state *s, uint8_t i, struct step *out)
{
	const struct copy *copy = &s->of[i];
	int count = 0;

	if (i > 0 && copy->seen < s->pushes && !s->decided)
		out[count++] = (struct step){SEE, i, slot_of_push(w, copy->seen)};
	if (i > 0 && may_come(w, s, i) && !s->decided)
		out[count++] = (struct step){COME, i, copy->came};
	if (s->late == i + 1) { /* it sees nothing of it yet */
		out[count++] = (struct step){READY, i};
		return count;
	}
	if (may_forward(w, s, i) && !s->decided)
		out[count++] = (struct step){FORWARD, i, copy->pushed};
	if (hears(w, s, i) && whole(w, s, i) > copy->received)
		out[count++] = (struct step){RECEIVE, i, whole(w, s, i)};
	if (copy->delivered < stable(w, s, i))
		out[count++] = (struct step){DELIVER, i, copy->delivered};
	if (s->suspect != 0 && !is_suspect(s, i) && !copy->wedged)
		out[count++] = (struct step){WEDGE, i};
	return count;
}

static int steps_from(const struct world *w, const struct state *s, bool calm, struct step *out)
{
	int count = 0;

	if (may_write(w, s))
		out[count++] = (struct step){WRITE, 0, s->written};
	for (uint8_t i = 0; i < w->members; i++)
		count += moves_of(w, s, i, out + count);
	if (s->suspect != 0 && !s->decided && all_wedged(w, s))
		out[count++] = (struct step){CUT};
	for (uint8_t i = 0; i < w->members && !calm && !w->calm && s->suspect == 0; i++) {
		out[count++] = (struct step){DIE, i};
		out[count++] = (struct step){REMOVE, i};
	}
	return count;
}

static const char *take(const struct world *w, struct state *s, struct step step)
{
	switch ((enum step_kind)step.kind) {
	case WRITE:
		write(s);
		return NULL;
	case SEE:
		see(w, s, step.node);
		return NULL;
	case FORWARD:
		forward(&s->of[step.node]);
		return NULL;
	case COME:
		come(w, s, step.node);
		return NULL;
	case RECEIVE:
		return receive(w, s, step.node);
	case DELIVER:
		return deliver(s, step.node);
	case WEDGE:
		s->of[step.node].wedged = 1;
		return NULL;
	case CUT:
		return cut(w, s);
	case READY:
		s->late = 0;
		return NULL;
	default: /* DIE, REMOVE */
		s->suspect = (uint8_t)(step.node + 1);
		s->dead = step.kind == DIE;
		return NULL;
	}
}

/* Where nothing follows, unless one goes. */
static const char *judge_end(struct search *x, const struct state *s)
{
	const struct world *w = x->world;

	if (s->suspect != 0 && !s->decided)
		return STILL;
	for (uint8_t i = 0; i < w->members; i++)
		if (!is_suspect(s, i) && s->of[i].delivered != (s->suspect != 0 ? s->cut : MESSAGES))
			return STILL;
	x->noted[s->suspect == 0 ? 0 : 1]++;
	return NULL;
}

static const char *judge(struct search *x, const struct state *s)
{
	struct step steps[STEPS];

	for (uint8_t i = 0; i < x->world->members && s->decided; i++)
		if (s->of[i].delivered > s->cut)
			return BEYOND;
	return steps_from(x->world, s, true, steps) == 0 ? judge_end(x, s) : NULL;
}

static void begin(const struct world *w, struct state *s)
{
	s->late = w->late;
}

static const struct trial trials[] = {
	{"all rules, three members", EVERY, NULL, WORLD(RIGHT, 3)},
	{"all rules, four members, none goes", EVERY, NULL, WORLD(RIGHT, 4, true)},
	{"all rules, four members", LARGE, NULL, WORLD(RIGHT, 4)},
	{"all rules, three members, the last is ready later", EVERY, NULL, WORLD(RIGHT, 3, .late = 3)},
	{"all rules, three members, the relay is ready later", EVERY, NULL, WORLD(RIGHT, 3, .late = 2)},
	{"what the guard announces is taken in", EVERY, UNHELD, WORLD(BY_GUARD, 3)},
	{"the word leaves before the bytes", EVERY, UNHELD, WORLD(WORD_FIRST, 3)},
	{"a relay pushes on what it does not hold", EVERY, UNHELD, WORLD(FORWARD_UNSEEN, 3)},
	{"a slot is free when the next has delivered it", EVERY, MIXED, WORLD(FREED_BY_NEXT, 3)},
	{"a slot is free when all have taken it in", EVERY, MIXED, WORLD(FREED_AT_END, 3)},
	{"a member that has wedged takes in", EVERY, BEYOND, WORLD(HEARS_ON, 3)},
	{"the cut is what one has", EVERY, MIXED, WORLD(CUT_OF_MOST, 3)},
	{"the guard leaves before the headers", EVERY, UNHELD, WORLD(GUARD_FIRST, 3)},
	{"a message is taken in with its first part", EVERY, UNHELD, WORLD(PART, 3)},
	{"the word counts what was relayed alone", EVERY, STILL, WORLD(COUNTS_BLOCKS, 3)},
	{"what is relayed before an image is ready is dropped", EVERY, UNHELD, WORLD(DROPS_EARLY, 3, .late = 3)},
};

int main(int argc, char **argv)
{
	static const char *const names[STEP_KINDS] = {
		"writes message",       "sees a push: slot",      "pushes on slot", "gets slot", "takes in", "delivers",
		"dies, suspect of all", "is suspected, and runs", "wedges",         "the cut",   "is ready"};
	static const char *const notes[] = {"with all delivered", "at the cut", NULL};
	static const struct model model = {
		.what = "relay: messages that members relay",
		.state_bytes = sizeof(struct state),
		.notes = notes,
		.not_in_vain = true,
		.most = UINT32_MAX,
		.begin = begin,
		.steps = steps_from,
		.take = take,
		.judge = judge,
		.names = names,
	};

	return try_all(&model, trials, COUNT_OF(trials), read_options(&model, argc, argv));
}
