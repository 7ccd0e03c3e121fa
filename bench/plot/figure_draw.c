/* figure_draw.c - the script of a figure, for gnuplot.
 *
 * What is along x stands at even distances, whatever the values: they are chosen so that each step is worth a look, and may be words.
 * Series stand a little beside each other, so that the bars of one do not hide those of another.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/plot/figure.h"
#include "bench/plot/gnuplot.h"
#include "bench/plot/template.h"
#include "command/output.h"

#define WIDTH 560
#define PANEL_HEIGHT 290
#define KEY_ROW_HEIGHT 22 /* of the names of two series */
#define TITLE_HEIGHT 40
#define BESIDE 0.03 /* from one series to the next, in steps of x */
#define BUCKETS 20
#define QUANTILES 5
#define VARIANTS_MAX 12 /* of which histograms are drawn: more would be a wallpaper */

/* The values of what `of` says of the lines at one place. */
struct place {
	size_t panel, series, x;
};

struct drawing {
	const struct wh_figure *figure;
	FILE *script;
	double *values;          /* [lines] */
	size_t *points, *limits; /* [series]: how many of a series are drawn, and of how many there is a limit */
	struct place places[VARIANTS_MAX];
	size_t variants, panels; /* places that have lines; pictures, one below the other */
	/* of the picture that is drawn */
	const struct wh_figure_measure *measure;
	size_t panel;
	const struct place *place;
	bool height;        /* some value is above 0 */
	size_t last_bucket; /* with a batch in it */
};

#define PRINT(drawing, text, marks)                                                                                    \
	wh_template_print((drawing)->script, text, marks, sizeof(marks) / sizeof((marks)[0]), drawing)

static bool is_at(const struct wh_figure *figure, size_t line, const struct place *place)
{
	const size_t *places = &figure->places[line * figure->axis_count];

	return figure->series[line] == place->series &&
	       (figure->x >= figure->axis_count || places[figure->x] == place->x) &&
	       (figure->panels >= figure->axis_count || places[figure->panels] == place->panel);
}

static size_t count_of(const struct wh_figure *figure, size_t axis)
{
	return axis < figure->axis_count ? figure->axes[axis].count : 1;
}

static struct wh_figure_spread spread_at(const struct drawing *drawing, const struct wh_figure_measure *measure,
					 const struct place *place)
{
	size_t count = 0;

	for (size_t l = 0; l < json_array_size(drawing->figure->lines); l++)
		if (is_at(drawing->figure, l, place))
			drawing->values[count++] =
				wh_figure_measure_of(measure, json_array_get(drawing->figure->lines, l));
	return wh_figure_spread_of(drawing->values, count);
}

/* What a run is held against: a line of its own, of which only the median is drawn. */
static struct wh_figure_spread limit_at(const struct drawing *drawing, const struct wh_figure_measure *measure,
					const struct place *place)
{
	const struct wh_figure_measure limit = {.path = measure->limit, .scale = measure->scale};

	return measure->limit != NULL ? spread_at(drawing, &limit, place) : (struct wh_figure_spread){.count = 0};
}

/* ---- lines -------------------------------------------------------------------------------------------------------------------*/

/* The data of one series. */
static void print_series(struct drawing *drawing, struct place place)
{
	const struct wh_figure *figure = drawing->figure;

	drawing->points[place.series] = drawing->limits[place.series] = 0;
	fprintf(drawing->script, "$s%zu << END\n", place.series);
	for (place.x = 0; place.x < count_of(figure, figure->x); place.x++) {
		struct wh_figure_spread spread = spread_at(drawing, drawing->measure, &place);
		struct wh_figure_spread limit = limit_at(drawing, drawing->measure, &place);
		double x = (double)place.x + BESIDE * ((double)place.series - (double)(figure->series_count - 1) / 2);

		if (spread.count == 0)
			continue;
		fprintf(drawing->script, "%.4f %.9g %.9g %.9g ", x, spread.median, spread.least, spread.greatest);
		if (limit.count > 0)
			fprintf(drawing->script, "%.9g\n", limit.median);
		else
			fprintf(drawing->script, "NaN\n");
		drawing->points[place.series]++;
		drawing->limits[place.series] += limit.count > 0;
		drawing->height |= spread.greatest > 0 || (limit.count > 0 && limit.median > 0);
	}
	fprintf(drawing->script, "END\n");
}

static void print_panel_title(FILE *out, void *ctx)
{
	const struct drawing *drawing = ctx;
	char text[512];

	wh_gnuplot_text(out, wh_figure_panel_text(drawing->figure, drawing->panel, text, sizeof text));
}

static void print_measure(FILE *out, void *ctx)
{
	const struct drawing *drawing = ctx;

	wh_gnuplot_text(out, drawing->measure->label);
}

static void print_key(FILE *out, void *ctx)
{
	const struct wh_figure *figure = ((const struct drawing *)ctx)->figure;

	wh_gnuplot_text(out, figure->x < figure->axis_count ? figure->axes[figure->x].key : "");
}

static void print_values(FILE *out, void *ctx)
{
	const struct wh_figure *figure = ((const struct drawing *)ctx)->figure;

	for (size_t v = 0; v < count_of(figure, figure->x); v++) {
		if (v > 0)
			fputs(", ", out);
		wh_gnuplot_label(out, figure->x < figure->axis_count ? figure->axes[figure->x].values[v] : "");
		fprintf(out, " %zu", v);
	}
}

static void print_right(FILE *out, void *ctx)
{
	const struct wh_figure *figure = ((const struct drawing *)ctx)->figure;

	fprintf(out, "%.1f", (double)count_of(figure, figure->x) - 0.6);
}

static void print_all_series(FILE *out, void *ctx)
{
	struct drawing *drawing = ctx;

	(void)out;
	drawing->height = false;
	for (size_t s = 0; s < drawing->figure->series_count; s++)
		print_series(drawing, (struct place){drawing->panel, s, 0});
}

static bool is_drawn(const struct drawing *drawing)
{
	for (size_t s = 0; s < drawing->figure->series_count; s++)
		if (drawing->points[s] > 0)
			return true;
	return false;
}

/* An axis without values cannot be logarithmic. */
static bool is_logarithmic(const struct drawing *drawing)
{
	return drawing->measure->logarithmic && is_drawn(drawing);
}

static void print_logarithmic(FILE *out, void *ctx)
{
	fputs(is_logarithmic(ctx) ? "set" : "unset", out);
}

static void print_least(FILE *out, void *ctx)
{
	fputs(is_logarithmic(ctx) ? "*" : "0", out);
}

/* Without a height it is 1: as with nulls where there are none. */
static void print_greatest(FILE *out, void *ctx)
{
	const struct drawing *drawing = ctx;

	fputs(is_drawn(drawing) && (drawing->height || drawing->measure->logarithmic) ? "*" : "1", out);
}

static void print_lines(FILE *out, void *ctx)
{
	const struct drawing *drawing = ctx;
	size_t plotted = 0;
	char text[512];

	for (size_t s = 0; s < drawing->figure->series_count; s++) {
		if (drawing->points[s] == 0)
			continue;
		fprintf(out, "%s$s%zu using 1:2:3:4 with yerrorlines lw 2 lc %zu pt %zu title ",
			plotted++ == 0 ? "" : ", ", s, s + 1, s + 4);
		wh_gnuplot_text(out, wh_figure_series_text(drawing->figure, s, text, sizeof text));
		if (drawing->limits[s] > 0)
			fprintf(out, ", $s%zu using 1:5 with lines dt 2 lc %zu title %s", s, s + 1,
				plotted == 1 ? "'dashed: the limit'" : "''");
	}
	if (plotted == 0)
		fputs("NaN title 'nothing was measured'", out);
}

static void draw_lines(struct drawing *drawing, const struct wh_figure_measure *measure, size_t panel)
{
	static const struct wh_template_mark marks[] = {
		{"@TITLE@", print_panel_title}, {"@MEASURE@", print_measure},
		{"@KEY@", print_key},           {"@VALUES@", print_values},
		{"@RIGHT@", print_right},       {"@SERIES@", print_all_series},
		{"@LEAST@", print_least},       {"@LOGARITHMIC@", print_logarithmic},
		{"@LINES@", print_lines},       {"@GREATEST@", print_greatest},
	};

	drawing->measure = measure;
	drawing->panel = panel;
	PRINT(drawing, wh_template_lines, marks);
}

/* ---- histograms ---------------------------------------------------------------------------------------------------------------
 * A variant is a series and a place on x: each has a histogram. */

static const char *variant_text(const struct drawing *drawing, const struct place *place)
{
	const json_t *lines = drawing->figure->lines;

	for (size_t l = 0; l < json_array_size(lines); l++)
		if (is_at(drawing->figure, l, place)) {
			const char *text = json_string_value(json_object_get(json_array_get(lines, l), "variant"));

			return text != NULL ? text : "";
		}
	return NULL;
}

/* The places that have lines, at most VARIANTS_MAX of them. */
static size_t find_places(const struct drawing *drawing, struct place *out)
{
	const struct wh_figure *figure = drawing->figure;
	size_t count = 0;

	for (size_t p = 0; p < count_of(figure, figure->panels); p++)
		for (size_t s = 0; s < figure->series_count; s++)
			for (size_t x = 0; x < count_of(figure, figure->x) && count < VARIANTS_MAX; x++) {
				struct place place = {p, s, x};

				if (variant_text(drawing, &place) != NULL)
					out[count++] = place;
			}
	return count;
}

/* Which share of its stage's batches is in a bucket, in percent. */
static double share_of(const json_t *line, const char *stage, size_t bucket)
{
	const json_t *histogram = json_object_get(json_object_get(json_object_get(line, "batch"), stage), "histogram");
	double all = 0;

	for (size_t b = 0; b < json_array_size(histogram); b++)
		all += json_number_value(json_array_get(histogram, b));
	return all > 0 ? 100 * json_number_value(json_array_get(histogram, bucket)) / all : NAN;
}

static struct wh_figure_spread share_at(const struct drawing *drawing, const struct place *place, const char *stage,
					size_t bucket)
{
	size_t count = 0;

	for (size_t l = 0; l < json_array_size(drawing->figure->lines); l++)
		if (is_at(drawing->figure, l, place))
			drawing->values[count++] = share_of(json_array_get(drawing->figure->lines, l), stage, bucket);
	return wh_figure_spread_of(drawing->values, count);
}

static void print_variant(FILE *out, void *ctx)
{
	const struct drawing *drawing = ctx;

	wh_gnuplot_text(out, variant_text(drawing, drawing->place));
}

static void print_shares(FILE *out, void *ctx)
{
	static const char *const stages[] = {"send", "receive", "deliver"}; /* as batches.gp has them */
	struct drawing *drawing = ctx;

	drawing->last_bucket = 0;
	for (size_t b = 0; b < BUCKETS; b++) {
		if (b == 0)
			fprintf(out, "1");
		else
			fprintf(out, "%zu-%zu", (size_t)1 << b, ((size_t)2 << b) - 1);
		for (size_t stage = 0; stage < sizeof(stages) / sizeof(stages[0]); stage++) {
			struct wh_figure_spread spread = share_at(drawing, drawing->place, stages[stage], b);

			if (spread.count > 0 && spread.greatest > 0)
				drawing->last_bucket = b;
			fprintf(out, " %.4f %.4f %.4f", spread.median, spread.least, spread.greatest);
		}
		fprintf(out, "\n");
	}
}

static void print_last_bucket(FILE *out, void *ctx)
{
	fprintf(out, "%.1f", (double)((const struct drawing *)ctx)->last_bucket + 0.7);
}

static void draw_batches(struct drawing *drawing, const struct place *place)
{
	static const struct wh_template_mark marks[] = {
		{"@TITLE@", print_variant}, {"@SHARES@", print_shares}, {"@RIGHT@", print_last_bucket}};

	drawing->place = place;
	PRINT(drawing, wh_template_batches, marks);
}

static void print_quantiles(FILE *out, void *ctx)
{
	static const char *const names[QUANTILES] = {"p50", "p90", "p99", "p999", "max"};
	const struct drawing *drawing = ctx;

	for (size_t p = 0; p < drawing->variants; p++) {
		fprintf(out, "$s%zu << END\n", p);
		for (size_t q = 0; q < QUANTILES; q++) {
			char path[32];
			struct wh_figure_measure measure = {.path = path, .scale = 1};
			struct wh_figure_spread spread;

			snprintf(path, sizeof path, "latency_us.%s", names[q]);
			spread = spread_at(drawing, &measure, &drawing->places[p]);
			if (spread.count > 0)
				fprintf(out, "%.4f %.6g %.6g %.6g\n",
					(double)q + BESIDE * ((double)p - (double)(drawing->variants - 1) / 2),
					spread.median, spread.least, spread.greatest);
		}
		fprintf(out, "END\n");
	}
}

static void print_variants(FILE *out, void *ctx)
{
	const struct drawing *drawing = ctx;

	for (size_t p = 0; p < drawing->variants; p++) {
		fprintf(out, "%s$s%zu using 1:2:3:4 with yerrorlines lw 2 title ", p > 0 ? ", " : "", p);
		wh_gnuplot_text(out, variant_text(drawing, &drawing->places[p]));
	}
}

static void draw_quantiles(struct drawing *drawing)
{
	static const struct wh_template_mark marks[] = {{"@SERIES@", print_quantiles}, {"@LINES@", print_variants}};

	PRINT(drawing, wh_template_quantiles, marks);
}

/* ---- all of it ------------------------------------------------------------------------------------------------------------------*/

static const char *words_of(const struct wh_figure *figure)
{
	json_t *section = json_object_get(json_array_get(figure->lines, 0), "figure");
	const char *words = json_string_value(json_object_get(section, "y"));

	return words != NULL && words[strspn(words, " ")] != '\0' ? words : "throughput";
}

/* How many pictures there are, one below the other. */
static size_t count_panels(const struct wh_figure *figure, size_t variants)
{
	const char *at = words_of(figure);
	wh_figure_text word;
	size_t count = 0;

	while (wh_figure_next_word(&at, word, sizeof word)) {
		if (strcmp(word, "batches") == 0)
			count += variants;
		else if (strcmp(word, "quantiles") == 0)
			count++;
		else if (wh_figure_measure_find(word) != NULL)
			count += count_of(figure, figure->panels);
	}
	return count > 0 ? count : 1;
}

static void print_width(FILE *out, void *ctx)
{
	(void)ctx;
	fprintf(out, "%d", WIDTH);
}

static void print_height(FILE *out, void *ctx)
{
	const struct drawing *drawing = ctx;
	size_t key_rows = (drawing->figure->series_count + 2) / 2;

	fprintf(out, "%zu", TITLE_HEIGHT + drawing->panels * (PANEL_HEIGHT + key_rows * KEY_ROW_HEIGHT));
}

static void print_panels(FILE *out, void *ctx)
{
	fprintf(out, "%zu", ((const struct drawing *)ctx)->panels);
}

static void print_title(FILE *out, void *ctx)
{
	wh_gnuplot_text(out, ((const struct drawing *)ctx)->figure->title);
}

static void draw_all(struct drawing *drawing)
{
	static const struct wh_template_mark marks[] = {{"@WIDTH@", print_width},
							{"@HEIGHT@", print_height},
							{"@PANELS@", print_panels},
							{"@TITLE@", print_title}};
	const struct wh_figure *figure = drawing->figure;
	const char *at = words_of(figure);
	wh_figure_text word;

	PRINT(drawing, wh_template_picture, marks);
	while (wh_figure_next_word(&at, word, sizeof word)) {
		const struct wh_figure_measure *measure = wh_figure_measure_find(word);

		if (strcmp(word, "batches") == 0)
			for (size_t p = 0; p < drawing->variants; p++)
				draw_batches(drawing, &drawing->places[p]);
		else if (strcmp(word, "quantiles") == 0)
			draw_quantiles(drawing);
		for (size_t panel = 0; measure != NULL && panel < count_of(figure, figure->panels); panel++)
			draw_lines(drawing, measure, panel);
	}
}

static void free_drawing(struct drawing *drawing)
{
	free(drawing->values);
	free(drawing->points);
	free(drawing->limits);
}

char *wh_figure_draw(const struct wh_figure *figure, const char *name)
{
	struct drawing drawing = {.figure = figure};
	struct wh_gnuplot gnuplot;
	char *image;

	drawing.values = calloc(json_array_size(figure->lines) + 1, sizeof *drawing.values);
	drawing.points = calloc(figure->series_count + 1, sizeof *drawing.points);
	drawing.limits = calloc(figure->series_count + 1, sizeof *drawing.limits);
	if (drawing.values == NULL || drawing.points == NULL || drawing.limits == NULL) {
		wh_say("%s: no memory for a picture", name);
		free_drawing(&drawing);
		return NULL;
	}
	drawing.variants = find_places(&drawing, drawing.places);
	drawing.panels = count_panels(figure, drawing.variants);
	if (!wh_gnuplot_open(&gnuplot)) {
		wh_say("gnuplot: %s", strerror(errno));
		free_drawing(&drawing);
		return NULL;
	}
	drawing.script = gnuplot.script;
	draw_all(&drawing);
	free_drawing(&drawing);
	image = wh_gnuplot_close(&gnuplot);
	if (image == NULL)
		wh_say("%s: gnuplot could not draw it", name);
	return image;
}
