/* trial.h - what `whorl sim` tries: the sections [sim] and [fault NAME] of an ini file, and one run for a seed.
 *
 * A trial is a plan and a schedule, drawn from a seed within the options; the schedule may be given instead. It can be
 * played here, or apart, in a process of its own: whatever it does, its judge lives on.
 */
#ifndef WH_SIM_TRIAL_H
#define WH_SIM_TRIAL_H

#include "base/option.h"
#include "sim/play.h"

struct wh_trial_options {
	int64_t seed, runs;
	int flavour; /* enum wh_flavours */
	int64_t nodes_min, nodes_max, subgroups_max, messages_max, deliveries_max;
	int64_t faults_max;
	char fault_kinds[WH_OPTION_TEXT_BYTES]; /* words of schedule.h */
	int forming;                            /* enum wh_plan_forming */
	bool proofs, words, large, relays, refusals, wishes, calls, disks;
	int64_t failure_timeout_ms, cut_max_ms, latency_max_us;
};

struct wh_trial_fault { /* a section [fault NAME] */
	char line[WH_OPTION_TEXT_BYTES];
};

extern const struct wh_option_table wh_trial_table, wh_trial_fault_table;

/* Which kinds the words name: bit k is enum wh_fault_kind. False: one of them is none. */
bool wh_trial_kinds(const char *words, uint32_t *kinds);

struct wh_trial {
	struct wh_trial_options options;
	uint64_t seed;
	struct wh_plan plan;
	struct wh_schedule schedule;
};

/* `given` NULL: the schedule is drawn. */
void wh_trial_make(struct wh_trial *trial, const struct wh_trial_options *options, uint64_t seed,
		   const struct wh_schedule *given);
void wh_trial_free(struct wh_trial *trial);

struct wh_verdict {
	bool good;
	struct wh_play_result result;
	char text[512]; /* what is broken, "property: ..." */
};

/* A report of what is broken goes to `log`, unless that is NULL. */
void wh_trial_play(const struct wh_trial *trial, FILE *log, struct wh_verdict *out);
/* The same in a process of its own, which is given up after a while. */
void wh_trial_play_apart(const struct wh_trial *trial, FILE *log, struct wh_verdict *out);

/* Of one run after the other. */
uint64_t wh_trial_mix(uint64_t digest, const struct wh_verdict *verdict);

/* What shrinking needs; wh_trial_play_apart, for one. */
typedef void wh_trial_play_fn(const struct wh_trial *trial, FILE *log, struct wh_verdict *out);

/* Makes a trial with a bad verdict smaller, as long as it breaks the same property: fewer faults, earlier and shorter ones,
 * fewer nodes, subgroups and messages. `tell` is told after each attempt, and ends it by returning false. Returns how many
 * attempts were made. */
uint32_t wh_trial_shrink(struct wh_trial *trial, struct wh_verdict *verdict, wh_trial_play_fn *play,
			 bool (*tell)(void *ctx, uint32_t attempts), void *ctx);

#endif
