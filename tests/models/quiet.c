/* quiet.c - all states of the two worlds of quiet.h, by the rule and by wrong ones. One line is printed for each; the exit status is 0 if
 * there is no surprise. An argument makes the worlds larger.
 */
#include "quiet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "old_book.h"

/* ---- the search ------------------------------------------------------------------------------------------------------------- */

struct edges { /* by their ends, in the order in which they were found */
	uint32_t (*list)[2];
	uint32_t count, room;
};

static void add_edge(struct edges *e, uint32_t from, uint32_t to)
{
	if (e->count == e->room) {
		e->room = e->room != 0 ? 2 * e->room : 1024;
		e->list = realloc(e->list, e->room * sizeof(*e->list));
		if (e->list == NULL)
			abort();
	}
	e->list[e->count][0] = from;
	e->list[e->count++][1] = to;
}

static void *zeros(size_t count, size_t bytes)
{
	void *p = calloc(count, bytes);

	if (p == NULL)
		abort();
	return p;
}

/* From each state a rest can be reached: goes back from the rests, edge by edge. */
static bool all_reach(const struct edges *e, uint32_t states, uint8_t *reached)
{
	uint32_t *first = zeros(states + 1, sizeof(*first)), *from = zeros(e->count + 1, sizeof(*from));
	uint32_t *queue = zeros(states, sizeof(*queue)), head = 0, tail = 0;

	for (uint32_t i = 0; i < e->count; i++)
		first[e->list[i][1] + 1]++;
	for (uint32_t i = 0; i < states; i++)
		first[i + 1] += first[i];
	for (uint32_t i = e->count; i-- > 0;)
		from[--first[e->list[i][1] + 1]] = e->list[i][0];
	/* Now those that lead to state i begin at first[i + 1], and end where those of the next begin. */
	for (uint32_t i = 0; i < states; i++)
		if (reached[i])
			queue[tail++] = i;
	while (head < tail) {
		uint32_t state = queue[head++], end = state + 2 <= states ? first[state + 2] : e->count;

		for (uint32_t i = first[state + 1]; i < end; i++)
			if (!reached[from[i]]) {
				reached[from[i]] = 1;
				queue[tail++] = from[i];
			}
	}
	free(first);
	free(from);
	free(queue);
	return tail == states;
}

static enum finding explore(const struct world *w, uint32_t *states)
{
	struct book seen = {.state_bytes = sizeof(struct state), .entry_bytes = sizeof(struct state)};
	struct edges edges = {0};
	enum finding found = HOLDS;
	struct nexts nexts;
	struct state s;
	uint8_t *rests;

	w->begin(w, &s);
	(void)book_add(&seen, &s);
	for (uint32_t i = 0; i < seen.count && found == HOLDS; i++) {
		memcpy(&s, seen.entries + i * sizeof(s), sizeof(s));
		w->go_on(w, &s, &nexts);
		for (int n = 0; n < nexts.count; n++) {
			(void)book_add(&seen, &nexts.states[n]);
			add_edge(&edges, i, book_find(&seen, &nexts.states[n]));
		}
		if (w->is_rest(w, &s) && !w->has_seen_all(w, &s))
			found = MISSED;
	}
	*states = seen.count;
	rests = zeros(seen.count, 1);
	for (uint32_t i = 0; i < seen.count; i++)
		rests[i] = w->is_rest(w, (const struct state *)(const void *)(seen.entries + i * sizeof(s)));
	if (found == HOLDS && !all_reach(&edges, seen.count, rests))
		found = NO_REST;
	free(rests);
	free(edges.list);
	book_close(&seen);
	return found;
}

/* ---- what is tried ------------------------------------------------------------------------------------------------------------ */

static const struct trial {
	const char *name;
	const struct world *world;
	int rule;
	const char *what;
	enum finding expected;
	uint32_t states; /* of the usual size, 0: not held against anything */
} trials[] = {
	{"peers", &peers_behind, PEERS_RIGHT, "by the rule, the look behind the step", HOLDS, 61792},
	{"peers", &peers_behind, WORD_FIRST, "the word is pushed before the counter", MISSED, 42465},
	{"peers", &peers_behind, THIS_STRETCH_ONLY, "the word names those of this stretch alone", MISSED, 64196},
	{"peers", &peers_behind, THREE_STRETCHES, "a reader that missed two stretches trusts the names", MISSED, 54917},
	{"peers", &peers_behind, NO_LAST_LOOK, "the look after arm leaves the word out", MISSED, 21737},
	{"peers", &peers_behind, WORD_DOES_NOT_RING, "the word's own post does not ring", MISSED, 27123},
	{"peers", &peers_behind, WORD_READ_AGAIN, "seen is the word as read behind the names", MISSED, 66175},

	{"built", &peers_built, PEERS_RIGHT, "as built: look, then step; words held back; all stepped", HOLDS, 0},
	{"built", &peers_built, WORD_FIRST, "the word is pushed before the counter", MISSED, 0},
	{"built", &peers_built, THIS_STRETCH_ONLY, "the word names those of this stretch alone", MISSED, 0},
	{"built", &peers_built, NO_LAST_LOOK, "the look after arm leaves the word out", MISSED, 0},
	{"built", &peers_built, WORD_DOES_NOT_RING, "the word's own post does not ring", MISSED, 0},
	{"built", &peers_built, WORD_READ_AGAIN, "seen is the word as read behind the names", MISSED, 0},
	{"built", &peers_built, ALL_LEFT_COLD, "when no longer all are stepped the word counts as seen", MISSED, 0},
	{"built", &peers_built, HELD_FOR_EVER, "a word that was held back is never said", MISSED, 0},

	{"commits", &commits, COMMITS_RIGHT, "by the rule", HOLDS, 1076},
	{"commits", &commits, BIT_FIRST, "the bit is tested before the mark is stored", MISSED, 1108},
	{"commits", &commits, BIT_TAKEN_AFTER_THE_LOOK, "the bit is taken away after the last look", MISSED, 1281},
	{"commits", &commits, NO_BARRIER, "the bit is taken away without a barrier", MISSED, 1116},
	{"commits", &commits, BARRIER_FIRST, "the barrier comes before the bit is taken away", MISSED, 1175},
	{"commits", &commits, COMMITS_FENCE, "no barrier: commits fence before they test the bit", HOLDS, 0},
	{"commits", &commits, COMMITS_FENCE_TOO_LATE, "no barrier: commits fence behind that test", NO_REST, 0},
};

int main(int argc, char **argv)
{
	static const char *const words[] = {"nothing is missed", "MISSED", "no rest"};
	bool large = argc > 1 && strcmp(argv[1], "soak") == 0;
	int surprises = 0;

	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++) {
		const struct trial *t = &trials[i];
		struct world w = *t->world;
		enum finding found;
		uint32_t states;
		bool odd;

		w.rule = t->rule;
		w.moves += large;
		found = explore(&w, &states);
		odd = found != t->expected || (!large && found == HOLDS && t->states != 0 && states != t->states);
		printf("%-8s %-56s %9u states: %s%s\n", t->name, t->what, states, words[found],
		       odd ? "  <-- SURPRISE" : "");
		surprises += odd;
	}
	return surprises == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
