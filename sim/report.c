/* report.c - what is told of a run that has failed: the property, the group, the faults, the last events of each node. */
#include <inttypes.h>
#include <stdlib.h>

#include "sim/play_int.h"

#define DUMP_LINES 24 /* of each node */
#define DUMP_BYTES 200

void wh_report_line(void *ctx, uint32_t node, enum wh_log_level level, const char *line)
{
	struct play *play = ctx;

	(void)node;
	(void)level;
	if (play->dump != NULL)
		snprintf(play->dump[play->dumped++ % DUMP_LINES], DUMP_BYTES, "%s", line);
}

static void dump_node(struct play *play, struct actor *actor)
{
	char(*lines)[DUMP_BYTES] = wh_plan_alloc(DUMP_LINES, DUMP_BYTES);
	uint64_t first;

	play->dump = lines;
	play->dumped = 0;
	wh_inspect_dump(actor->node);
	play->dump = NULL;
	first = play->dumped > DUMP_LINES ? play->dumped - DUMP_LINES : 0;
	for (uint64_t i = first; i < play->dumped; i++)
		fprintf(play->log, "  %s\n", lines[i % DUMP_LINES]);
	free(lines);
}

void wh_tell(const struct actor *actor, enum told_kind kind, uint32_t g, uint64_t a, uint64_t b, uint64_t c)
{
	struct play *play = actor->play;

	play->told[play->told_count++ % TOLD] = (struct told){wh_sim_now(play->sim), actor, kind, g, a, b, c};
}

static void print_told(FILE *log, const struct told *told)
{
	static const char *const roles[] = {"out", "member", "sender"};

	fprintf(log, "  %10.3f ms  %s", (double)told->when_ns / 1e6, told->actor->name);
	if (told->kind == TOLD_VIEW)
		fprintf(log, ": view %" PRIu64 ", g%u: %s in shard %" PRIu64 "\n", told->a, told->g, roles[told->b],
			told->c);
	else if (told->kind == TOLD_COMMIT)
		fprintf(log, ", g%u: %s message %" PRIu64 "\n", told->g, told->b ? "aborts" : "commits", told->a);
	else if (told->kind == TOLD_REFUSED)
		fprintf(log, ", g%u: message %" PRIu64 " is refused\n", told->g, told->a);
	else if (told->kind == TOLD_DELIVER)
		fprintf(log, ", g%u: delivers message %" PRIu64 " of node %" PRIu64 " in view %" PRIu64 "\n", told->g,
			told->a, told->b, told->c);
	else if (told->kind == TOLD_WISH)
		fprintf(log, ", d%u: %ss%s\n", told->g, wh_fault_word((enum wh_fault_kind)told->a),
			told->b ? " otherwise" : "");
	else if (told->kind == TOLD_OUTCOME)
		fprintf(log, ", g%u: call %" PRIu64 " has the outcome: %s\n", told->g, told->a,
			whorl_result_text((enum whorl_result)told->b));
	else if (told->kind == TOLD_READ)
		fprintf(log, ", g%u: a %s: %s\n", told->g,
			told->a == 0   ? "linearizable read begins"
			: told->a == 1 ? "local read begins"
			: told->a == 2 ? "linearizable read ends"
				       : "local read ends",
			whorl_result_text((enum whorl_result)told->b));
	else if (told->kind == TOLD_REST)
		fprintf(log, ": %s\n", told->a ? "rests" : "does not rest any more");
	else
		fprintf(log, ", g%u: %s state %016" PRIx64 ", view %" PRIu64 ", message %" PRIu64 " there\n", told->g,
			told->kind == TOLD_GIVE      ? "gives"
			: told->kind == TOLD_RESTORE ? "restores"
						     : "has caught up since",
			told->a, told->b, told->c);
}

/* What the applications saw last. */
static void dump_story(const struct play *play)
{
	uint64_t first = play->told_count > TOLD ? play->told_count - TOLD : 0;

	fprintf(play->log, "\nthe last %d things that applications did or saw:\n", TOLD);
	for (; first < play->told_count; first++)
		print_told(play->log, &play->told[first % TOLD]);
}

static const char *state_of(const struct actor *actor)
{
	if (actor->crashed)
		return "has crashed";
	if (actor->state == ACTOR_ABSENT)
		return "is absent";
	if (actor->left)
		return "has left";
	if (actor->removed)
		return actor->state == ACTOR_ASLEEP ? "has failed, and sleeps" : "has failed, and is awake";
	if (wh_sim_now(actor->play->sim) < actor->stalled_until_ns)
		return "is stalled";
	return actor->state == ACTOR_ASLEEP ? "sleeps" : "is awake";
}

void wh_report(struct play *play)
{
	uint64_t now_ns = wh_sim_now(play->sim);
	char line[WH_FAULT_TEXT];

	fprintf(play->log, "FAILED at step %" PRIu64 ", %.3f ms", play->steps, (double)now_ns / 1e6);
	if (play->met)
		fprintf(play->log, " (%.3f ms after the beginning)", (double)(now_ns - play->met_ns) / 1e6);
	fprintf(play->log, ":\n  %s\n\nthe group: ", play->verdict);
	wh_plan_print(play->plan, play->log);
	for (uint64_t i = 0; play->schedule != NULL && i < play->schedule->count; i++)
		fprintf(play->log, "%s  %s%s\n", i == 0 ? "\nthe faults:\n" : "",
			wh_fault_print(&play->schedule->faults[i], line),
			(play->happened >> i & 1) != 0 ? "" : "   (has not come about)");
	for (uint32_t i = 0; i < play->lives; i++) {
		struct actor *actor = &play->actors[i];
		char progress[256] = "";

		fprintf(play->log, "\n%s %s", actor->name, state_of(actor));
		if (actor->view != NULL)
			fprintf(play->log, ", in view %" PRIu64, actor->view->number);
		if (wh_actor_runs(actor) && actor->node != NULL)
			whorl_progress(actor->node, progress, sizeof(progress));
		fprintf(play->log, "%s%s", progress[0] != '\0' ? ": " : "", progress);
		fprintf(play->log, actor->node != NULL ? "; its last events:\n" : "\n");
		if (actor->node != NULL)
			dump_node(play, actor);
	}
	dump_story(play);
	fputc('\n', play->log);
}
