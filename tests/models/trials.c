/* trials.c - what is tried of a model, as its options say. See explorer.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explorer_int.h"

static bool same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* How many states or runs are looked at; *all: of what there is. */
static uint32_t search(struct search *x, const struct trial *t, const struct options *o, bool *all)
{
	const struct model *m = x->model;
	uint32_t times = t->once ? 1 : o->times, to_find = t->expected != NULL && m->to_find != 0 ? m->to_find : 1;
	uint32_t most = t->runs != 0 ? t->runs : t->extent == RANDOM ? m->runs : m->cut_off;

	*all = true;
	if (t->extent == TIMELINE) {
		x->wrong = play(x, x->taken, (uint32_t)m->read_timeline(t, x->taken), true, x->verbose);
		return 1;
	}
	if (t->extent == RANDOM) {
		most *= times * to_find;
		return wander(x, o->runs != 0 && o->runs < most ? o->runs : most, m->gait.seeds[times > 1]);
	}
	most = t->extent == CUT_OFF ? most * times * to_find : m->most;
	most = o->states != 0 && o->states < most ? o->states : most;
	*all = explore(x, most);
	return m->counts == ALL_LOOKED_AT && x->wrong != NULL ? x->at + 1 : x->seen.count;
}

static bool is_surprise(const struct search *x, const struct trial *t, const struct options *o, uint32_t looked,
			bool all)
{
	bool in_vain = x->model->not_in_vain && x->wrong == NULL && x->noted[0] == 0;

	if (!same_text(x->wrong, t->expected))
		return true;
	if (o->states != 0 || o->runs != 0)
		return false; /* by the options it is less than it should be */
	return (!all && t->extent != CUT_OFF) || in_vain || (t->looked != 0 && looked != t->looked) ||
	       (t->noted != 0 && x->noted[0] != t->noted);
}

static bool try(const struct model *m, const struct trial *t, const struct options *o)
{
	static const char *const extents[] = {"states", "states", "runs", "timeline", "states"};
	struct search x = {.model = m, .world = t->world, .verbose = o->verbose};
	uint32_t looked;
	bool all, odd;

	open_way(&x);
	looked = search(&x, t, o, &all);
	odd = is_surprise(&x, t, o, looked, all);
	if (m->print_world != NULL)
		m->print_world(t->world);
	printf("%s%s%-66s %8u %s", t->name != NULL ? t->name : "", t->name != NULL ? "  " : "", t->what, looked,
	       extents[t->extent]);
	for (int k = 0; m->notes != NULL && m->notes[k] != NULL; k++)
		if (x.noted[k] > 0)
			printf(", %u %s", x.noted[k], m->notes[k]);
	if (x.stuck > 0)
		printf(", %u of them stuck", x.stuck);
	printf("%s: %s%s\n", all ? "" : ", cut off", x.wrong != NULL ? x.wrong : "holds", odd ? "  <-- SURPRISE" : "");
	fflush(stdout);
	close_way(&x);
	return !odd;
}

int try_all(const struct model *m, const struct trial *trials, size_t count, struct options options)
{
	int tried = 0, surprises = 0;

	for (size_t i = 0; i < count; i++) {
		if ((trials[i].extent == LARGE && options.times == 1) ||
		    (options.rule != NULL && strstr(trials[i].what, options.rule) == NULL))
			continue;
		tried++;
		surprises += !try(m, &trials[i], &options);
	}
	printf("%d tried, %d surprises\n", tried, surprises);
	return surprises == 0 && tried > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void print_help(const struct model *m, const char *program)
{
	printf("%s\n\n"
	       "    %s [-v] [--times N] [--rule WORDS] [--states N] [--runs N]\n\n"
	       "One line for each thing that is tried; the exit status is 0 if there is no surprise.\n"
	       "    -v            the way to each finding, before its line\n"
	       "    --times N     what is random or cut off N times as long, with other seeds; and what is too large for every day\n"
	       "    --rule WORDS  only what has these words in its line\n"
	       "    --states N    states of a search, at most\n"
	       "    --runs N      random runs, at most\n",
	       m->what, program);
}

static uint32_t number_of(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*end != '\0' || n == 0 || n > UINT32_MAX) {
		fprintf(stderr, "%s is not a number from 1 on\n", text);
		exit(EXIT_FAILURE);
	}
	return (uint32_t)n;
}

struct options read_options(const struct model *m, int argc, char **argv)
{
	struct options o = {.times = 1};

	for (int a = 1; a < argc; a++) {
		const char *value = a + 1 < argc ? argv[a + 1] : NULL;

		if (strcmp(argv[a], "-v") == 0) {
			o.verbose = true;
			continue;
		}
		if (strcmp(argv[a], "--help") == 0 || value == NULL) {
			print_help(m, argv[0]);
			exit(strcmp(argv[a], "--help") == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
		}
		if (strcmp(argv[a], "--times") == 0) {
			o.times = number_of(value);
		} else if (strcmp(argv[a], "--states") == 0) {
			o.states = number_of(value);
		} else if (strcmp(argv[a], "--runs") == 0) {
			o.runs = number_of(value);
		} else if (strcmp(argv[a], "--rule") == 0) {
			o.rule = value;
		} else {
			print_help(m, argv[0]);
			exit(EXIT_FAILURE);
		}
		a++;
	}
	return o;
}
