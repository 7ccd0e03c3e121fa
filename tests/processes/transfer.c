/* transfer.c - what a newcomer costs a busy group when it must be given a large state.
 *
 *     whorl-transfer [-n NODES] [-r REPETITIONS] [--bytes SIZE] [--nap MICROSECONDS] [--idle] [--share PERCENT]
 *                    [--transport shm|tcp] [--json FILE] [--plot FILE.svg]
 *
 * Each repetition starts a group of its own, in which all send as fast as they can, or 16 messages in each
 * subgroup and then nothing for so long (--nap), or nothing at all (--idle), lets it run for two seconds, starts the newcomer, waits until that has
 * restored the state, and lets all run for two seconds more. How many messages the members have delivered is looked at
 * every two milliseconds; the longest time between two deliveries is measured by each member itself. The newcomer verifies
 * every byte, and the logs are compared.
 *
 * Before each repetition and after it, and with nothing else at work, a plain program copies as many bytes over a connection of the same kind
 * (copy.h). The faster of the two counts: the scheduler may put both ends on one processor.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/plot/gnuplot.h"
#include "bench/plot/template.h"
#include "tests/processes/cluster.h"
#include "tests/processes/copy.h"
#include "tests/processes/member.h"

#define MS UINT64_C(1000000)
#define SAMPLE_NS (2 * MS)
#define PHASE_NS (2000 * MS)
#define PHASE_IDLE_NS (200 * MS) /* where there are no rates */
#define BIN_S 0.02               /* of the timeline */
#define REPETITIONS_MAX 1000

enum { BEFORE, DURING, AFTER, PHASES };
static const char *const phases[PHASES] = {"before", "during", "after"};

struct sample {
	double s;           /* since the newcomer was started */
	double messages;    /* that each member has delivered, in the mean */
	double taken, kept; /* bytes: restored; kept back at most */
};

/* What members do. */
struct manner {
	uint32_t nap_us; /* between two bursts */
	bool idle;       /* nothing */
};

struct timeline {
	struct sample *samples;
	size_t count, room;
	double ready_s;
};

/* What a repetition is, in numbers. */
enum {
	RATE_BEFORE, /* messages/s at each member */
	RATE_DURING,
	RATE_AFTER,
	LOSS, /* of the rate, while it lasts */
	GAP_BEFORE,
	GAP_DURING,
	GAP_AFTER,
	ENTRY,    /* s from the fork until it is ready */
	TRANSFER, /* s from the first byte to the last */
	SPEED,    /* MB/s */
	COPY,     /* MB/s, of a plain copy of as many bytes */
	OF_COPY,  /* SPEED over it */
	BACKLOG,  /* MB */
	FIGURES
};

static const char *const names[FIGURES] = {
	[RATE_BEFORE] = "messages_per_s_before",
	[RATE_DURING] = "messages_per_s_during",
	[RATE_AFTER] = "messages_per_s_after",
	[LOSS] = "loss",
	[GAP_BEFORE] = "longest_gap_ms_before",
	[GAP_DURING] = "longest_gap_ms_during",
	[GAP_AFTER] = "longest_gap_ms_after",
	[ENTRY] = "entry_s",
	[TRANSFER] = "transfer_s",
	[SPEED] = "transfer_mb_per_s",
	[COPY] = "copy_mb_per_s",
	[OF_COPY] = "of_copy",
	[BACKLOG] = "backlog_mb",
};

static double figures[FIGURES][REPETITIONS_MAX];

/* ---- a repetition --------------------------------------------------------------------------------------------------- */

static void look(struct cluster *c, uint32_t members, uint64_t begin, struct timeline *line)
{
	const struct state *newcomer = &c->board->state[members];
	struct sample sample = {.s = ((double)now_ns() - (double)begin) / 1e9,
				.taken = (double)newcomer->taken,
				.kept = (double)newcomer->kept};

	for (uint32_t id = 0; id < members; id++)
		sample.messages += (double)c->board->state[id].total / members;
	if (line->count == line->room) {
		size_t room = 2 * line->room + 4096;
		struct sample *samples = realloc(line->samples, room * sizeof(*samples));

		if (samples == NULL)
			cluster_fail(c, "no memory for the timeline");
		line->samples = samples;
		line->room = room;
	}
	line->samples[line->count++] = sample;
}

/* Looks until it is enough, or (ns == 0) until the newcomer is ready. Returns the longest gap. */
static double watch(struct cluster *c, uint32_t members, uint64_t begin, uint64_t ns, struct timeline *line)
{
	uint64_t from = now_ns(), next = from;

	cluster_watch_gaps(c);
	while (ns > 0 ? now_ns() < from + ns : !cluster_is_ready(c, members)) {
		cluster_pass(c, from + ns + 10 * PATIENCE_NS, "the state is restored");
		cluster_at(next, SAMPLE_NS);
		next += SAMPLE_NS;
		look(c, members, begin, line);
	}
	return cluster_longest_gap_ms(c);
}

static double rate(const struct timeline *line, double from, double to)
{
	const struct sample *first = NULL, *last = NULL;

	for (size_t i = 0; i < line->count; i++) {
		const struct sample *sample = &line->samples[i];

		if (first == NULL && sample->s >= from)
			first = sample;
		if (sample->s <= to)
			last = sample;
	}
	return first != NULL && last != NULL && last->s > first->s
		       ? (last->messages - first->messages) / (last->s - first->s)
		       : 0;
}

static void note_transfer(const struct state *newcomer, const struct cluster_options *options, unsigned n)
{
	double seconds = (double)(newcomer->took_ns - newcomer->takes_ns) / 1e9;

	figures[TRANSFER][n] = seconds;
	figures[SPEED][n] = seconds > 0 ? (double)options->body_bytes / seconds / 1e6 : 0;
}

static double plain_copy(const struct cluster_options *options)
{
	return copy_seconds(strcmp(options->transport, "tcp") == 0, options->body_bytes, options->seed);
}

static void note_copy(const struct cluster_options *options, double seconds, unsigned n)
{
	figures[COPY][n] = seconds > 0 ? (double)options->body_bytes / seconds / 1e6 : 0;
	figures[OF_COPY][n] = figures[COPY][n] > 0 ? figures[SPEED][n] / figures[COPY][n] : 0;
}

static void note_rates(const struct timeline *line, unsigned n)
{
	double before = rate(line, -1e9, 0), during = rate(line, 0, line->ready_s);

	figures[RATE_BEFORE][n] = before;
	figures[RATE_DURING][n] = during;
	figures[RATE_AFTER][n] = rate(line, line->ready_s, 1e9);
	figures[LOSS][n] = before > 0 ? 1 - during / before : 0;
}

static void start_members(struct cluster *c, const struct cluster_options *options, const struct manner *manner)
{
	cluster_make(c, options);
	c->board->nap_us = manner->nap_us;
	c->board->silent = manner->idle;
	for (uint32_t id = 0; id < options->nodes; id++)
		cluster_add(c, id, NULL);
	UNTIL(c, cluster_all(c, cluster_is_ready));
	c->first_slot = board_slot(c->board, now_ns()) + 1;
	if (!manner->idle)
		cluster_warm_up(c);
}

static void repeat(const struct cluster_options *options, const struct manner *manner, unsigned n,
		   struct timeline *line)
{
	static struct cluster c; /* large */
	double copy_s = plain_copy(options), again_s;
	uint64_t phase_ns = manner->idle ? PHASE_IDLE_NS : PHASE_NS, begin;
	const struct state *newcomer;

	line->count = 0;
	start_members(&c, options, manner);
	begin = now_ns() + phase_ns;
	figures[GAP_BEFORE][n] = watch(&c, options->nodes, begin, phase_ns, line);
	begin = now_ns();
	newcomer = &c.board->state[cluster_add(&c, options->nodes, NULL)];
	figures[GAP_DURING][n] = watch(&c, options->nodes, begin, 0, line);
	line->ready_s = ((double)newcomer->ready_ns - (double)begin) / 1e9;
	figures[GAP_AFTER][n] = watch(&c, options->nodes, begin, phase_ns, line);
	note_rates(line, n);
	figures[ENTRY][n] = line->ready_s;
	note_transfer(newcomer, options, n);
	figures[BACKLOG][n] = (double)newcomer->kept / 1e6;
	cluster_end(&c, true);
	again_s = plain_copy(options);
	note_copy(options, copy_s < again_s ? copy_s : again_s, n);
}

/* ---- what comes of it ----------------------------------------------------------------------------------------------- */

static int compare(const void *one, const void *other)
{
	double a = *(const double *)one, b = *(const double *)other;

	return a < b ? -1 : a > b;
}

static double median(const double *values, unsigned count)
{
	double sorted[REPETITIONS_MAX];

	memcpy(sorted, values, count * sizeof(sorted[0]));
	qsort(sorted, count, sizeof(sorted[0]), compare);
	return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

static double most(const double *values, unsigned count)
{
	double greatest = values[0];

	for (unsigned n = 1; n < count; n++)
		greatest = values[n] > greatest ? values[n] : greatest;
	return greatest;
}

static double least_of(const double *values, unsigned count)
{
	double least = values[0];

	for (unsigned n = 1; n < count; n++)
		least = values[n] < least ? values[n] : least;
	return least;
}

static void print_transfer(unsigned repetitions)
{
	printf("in %.2f s; transfer %.2f s, %.0f MB/s; a plain copy %.0f MB/s, of which this is %.2f; backlog %.1f MB\n",
	       median(figures[ENTRY], repetitions), median(figures[TRANSFER], repetitions),
	       median(figures[SPEED], repetitions), median(figures[COPY], repetitions),
	       median(figures[SPEED], repetitions) / median(figures[COPY], repetitions),
	       median(figures[BACKLOG], repetitions));
}

static void print_rates(unsigned repetitions)
{
	printf("%-10s %16s %16s %16s\n", "", "messages/s", "longest gap, ms", "worst gap, ms");
	for (int phase = 0; phase < PHASES; phase++)
		printf("%-10s %16.0f %16.1f %16.1f\n", phases[phase], median(figures[RATE_BEFORE + phase], repetitions),
		       median(figures[GAP_BEFORE + phase], repetitions),
		       most(figures[GAP_BEFORE + phase], repetitions));
	printf("\nloss while it lasts %.1f %% (at worst %.1f %%)\n", 100 * median(figures[LOSS], repetitions),
	       100 * most(figures[LOSS], repetitions));
}

/* A line for each bin of the timeline: when it begins, messages/s in it, MB restored and kept back by its end. */
static void print_bins(const struct timeline *line, FILE *out, bool json)
{
	const struct sample *from = &line->samples[0];

	for (size_t i = 1; i < line->count; i++) {
		const struct sample *sample = &line->samples[i];

		if (sample->s < from->s + BIN_S)
			continue;
		if (json && from != line->samples)
			fprintf(out, ",\n");
		fprintf(out, json ? "  [%.4f, %.0f, %.3f, %.3f]" : "%.4f %.0f %.3f %.3f\n", from->s,
			(sample->messages - from->messages) / (sample->s - from->s), sample->taken / 1e6,
			sample->kept / 1e6);
		from = sample;
	}
}

static bool write_json(const char *path, const struct cluster_options *options, const struct manner *manner,
		       unsigned repetitions, const struct timeline *line)
{
	FILE *out = fopen(path, "w");
	bool written;

	if (out == NULL) {
		perror(path);
		return false;
	}
	fprintf(out,
		"{\"version\": \"%s\", \"nodes\": %u, \"transport\": \"%s\", \"bytes\": %llu, \"nap_us\": %u, \"idle\": %s, "
		"\"share\": %u, \"repetitions\": %u,\n\"median\": {",
		whorl_version(), options->nodes, options->transport, (unsigned long long)options->body_bytes,
		manner->nap_us, manner->idle ? "true" : "false", options->state_share, repetitions);
	for (int f = 0; f < FIGURES; f++)
		fprintf(out, "%s\"%s\": %.4f", f > 0 ? ", " : "", names[f], median(figures[f], repetitions));
	fprintf(out, "},\n\"each\": {");
	for (int f = 0; f < FIGURES; f++) {
		fprintf(out, "%s\"%s\": [", f > 0 ? ",\n  " : "\n  ", names[f]);
		for (unsigned n = 0; n < repetitions; n++)
			fprintf(out, "%s%.4f", n > 0 ? ", " : "", figures[f][n]);
		fprintf(out, "]");
	}
	fprintf(out, "},\n\"ready_s\": %.4f,\n\"timeline\": [\n", line->ready_s);
	print_bins(line, out, true);
	fprintf(out, "],\n\"timeline_columns\": [\"s\", \"messages_per_s\", \"restored_mb\", \"kept_mb\"]}\n");
	written = ferror(out) == 0;
	return fclose(out) == 0 && written;
}

struct picture {
	const struct cluster_options *options;
	const struct timeline *line;
};

static void print_members(FILE *out, void *ctx)
{
	fprintf(out, "%u", ((const struct picture *)ctx)->options->nodes);
}

static void print_state(FILE *out, void *ctx)
{
	fprintf(out, "%.0f", (double)((const struct picture *)ctx)->options->body_bytes / 1e6);
}

static void print_ready(FILE *out, void *ctx)
{
	fprintf(out, "%.4f", ((const struct picture *)ctx)->line->ready_s);
}

static void print_line(FILE *out, void *ctx)
{
	print_bins(((const struct picture *)ctx)->line, out, false);
}

extern const char wh_template_transfer[];

/* The timeline of the last repetition. */
static bool plot(const char *path, const struct cluster_options *options, const struct timeline *line)
{
	static const struct wh_template_mark marks[] = {{"@MEMBERS@", print_members},
							{"@STATE@", print_state},
							{"@READY@", print_ready},
							{"@LINE@", print_line}};
	struct picture picture = {options, line};
	struct wh_gnuplot gnuplot;
	char *image;
	FILE *out;
	bool good;

	if (!wh_gnuplot_is_there()) {
		printf("no plot: gnuplot is not installed\n");
		return true;
	}
	if (!wh_gnuplot_open(&gnuplot))
		return false;
	wh_template_print(gnuplot.script, wh_template_transfer, marks, sizeof marks / sizeof marks[0], &picture);
	image = wh_gnuplot_close(&gnuplot);
	out = fopen(path, "we");
	good = image != NULL && out != NULL && fputs(image, out) >= 0;
	free(image);
	return out != NULL && fclose(out) == 0 && good;
}

/* ---- the command line ----------------------------------------------------------------------------------------------- */

static int usage(void)
{
	fprintf(stderr,
		"usage: whorl-transfer [-n NODES (2 to %d)] [-r REPETITIONS] [--bytes SIZE] [--nap MICROSECONDS] [--idle]\n"
		"                      [--share PERCENT] [--transport shm|tcp] [--json FILE] [--plot FILE.svg]\n",
		MEMBERS_MAX - 1);
	return 2;
}

/* "64m"; 0: it is no size. */
static uint64_t parse_size(const char *text)
{
	static const char units[] = "kmg";
	char *end;
	unsigned long long value = strtoull(text, &end, 10);
	const char *unit = *end != '\0' ? strchr(units, *end) : NULL;

	if (unit != NULL) {
		value <<= 10 * (unit - units + 1);
		end++;
	}
	return *end == '\0' && value <= UINT64_C(1) << 40 ? value : 0;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{"bytes", required_argument, NULL, 'b'}, {"nap", required_argument, NULL, 'N'},
		{"share", required_argument, NULL, 's'}, {"json", required_argument, NULL, 'j'},
		{"plot", required_argument, NULL, 'p'},  {"transport", required_argument, NULL, 't'},
		{"idle", no_argument, NULL, 'i'},        {NULL, 0, NULL, 0},
	};
	struct cluster_options options = {.nodes = 4,
					  .timeout_ms = 20000,
					  .thread = "dedicated",
					  .transport = "shm",
					  .body_bytes = UINT64_C(1) << 30,
					  .body_groups = 1,
					  .backlog_bytes = UINT64_C(8) << 30};
	struct timeline line = {.count = 0};
	const char *json = NULL, *svg = NULL;
	unsigned repetitions = 3;
	struct manner manner = {.nap_us = 0};
	bool good = true;
	int option;

	if (member_wanted(argc, argv))
		return member_main(argv);
	while ((option = getopt_long(argc, argv, "n:r:", longs, NULL)) != -1) {
		if (option == 'n')
			options.nodes = (uint32_t)atoi(optarg);
		else if (option == 'r')
			repetitions = (unsigned)atoi(optarg);
		else if (option == 'b')
			options.body_bytes = parse_size(optarg);
		else if (option == 'N')
			manner.nap_us = (uint32_t)atoi(optarg);
		else if (option == 's')
			options.state_share = (unsigned)atoi(optarg);
		else if (option == 't' && (strcmp(optarg, "shm") == 0 || strcmp(optarg, "tcp") == 0))
			options.transport = optarg;
		else if (option == 'i')
			manner.idle = true;
		else if (option == 'j')
			json = optarg;
		else if (option == 'p')
			svg = optarg;
		else
			return usage();
	}
	if (optind != argc || options.nodes < 2 || options.nodes >= MEMBERS_MAX || repetitions < 1 ||
	    repetitions > REPETITIONS_MAX || options.body_bytes < 8)
		return usage();
	options.nodes_max = options.nodes + 1;
	for (unsigned n = 0; n < repetitions; n++) {
		options.seed = n + 1;
		repeat(&options, &manner, n, &line);
	}
	printf("%u members on %s%s, a newcomer is given %.0f MB, %u times; medians\n\n", options.nodes,
	       options.transport, manner.idle ? " that say nothing" : "", (double)options.body_bytes / 1e6,
	       repetitions);
	if (!manner.idle)
		print_rates(repetitions);
	print_transfer(repetitions);
	good = least_of(figures[COPY], repetitions) > 0 &&
	       (json == NULL || write_json(json, &options, &manner, repetitions, &line)) &&
	       (svg == NULL || plot(svg, &options, &line));
	free(line.samples);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
