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

static const char *state_of(const struct actor *actor)
{
	if (actor->crashed)
		return "has crashed";
	if (actor->left)
		return "has left";
	if (actor->removed)
		return actor->state == ACTOR_ASLEEP ? "was removed, and sleeps" : "was removed, and is awake";
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
		fprintf(play->log, " (%.3f ms after all nodes had met)", (double)(now_ns - play->met_ns) / 1e6);
	fprintf(play->log, ":\n  %s\n\nthe group: ", play->verdict);
	wh_plan_print(play->plan, play->log);
	for (uint64_t i = 0; wh_play_has_faults(play) && i < play->schedule->count; i++)
		fprintf(play->log, "%s  %s%s\n", i == 0 ? "\nthe faults:\n" : "",
			wh_fault_print(&play->schedule->faults[i], line),
			(play->happened >> i & 1) != 0 ? "" : "   (has not come about)");
	for (uint32_t i = 0; i < play->nodes; i++) {
		struct actor *actor = &play->actors[i];

		fprintf(play->log, "\nnode %u %s", i, state_of(actor));
		if (actor->scene != NULL)
			fprintf(play->log, ", in view %" PRIu64, actor->scene->number);
		fprintf(play->log, actor->node != NULL ? "; its last events:\n" : "\n");
		if (actor->node != NULL)
			dump_node(play, actor);
	}
	fputc('\n', play->log);
}
