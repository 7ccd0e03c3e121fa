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
#include "command/output.h"

#define WIDTH 560
#define PANEL_HEIGHT 290
#define KEY_ROW_HEIGHT 22 /* of the names of two series */
#define TITLE_HEIGHT 40
#define BESIDE 0.03 /* from one series to the next, in steps of x */
#define STAGES 3
#define BUCKETS 20
#define QUANTILES 5
#define VARIANTS_MAX 12 /* of which histograms are drawn: more would be a wallpaper */

struct drawing {
	const struct wh_figure *figure;
	FILE *script;
	double *values; /* [lines] */
};

/* The values of what `of` says of the lines at one place. */
struct place {
	size_t panel, series, x;
};

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

static void print_title(const struct drawing *drawing, const char *text)
{
	fputs("set title ", drawing->script);
	wh_gnuplot_text(drawing->script, text);
	fputc('\n', drawing->script);
}

/* ---- lines -------------------------------------------------------------------------------------------------------------------*/

/* The data of one series. Returns the number of points; *limits is that of points with a limit; *height: there is one above 0. */
static size_t print_series(const struct drawing *drawing, const struct wh_figure_measure *measure, struct place place,
			   size_t *limits, bool *height)
{
	const struct wh_figure *figure = drawing->figure;
	size_t points = 0;

	*limits = 0;
	fprintf(drawing->script, "$s%zu << END\n", place.series);
	for (place.x = 0; place.x < count_of(figure, figure->x); place.x++) {
		struct wh_figure_spread spread = spread_at(drawing, measure, &place);
		struct wh_figure_spread limit = limit_at(drawing, measure, &place);
		double x = (double)place.x + BESIDE * ((double)place.series - (double)(figure->series_count - 1) / 2);

		if (spread.count == 0)
			continue;
		fprintf(drawing->script, "%.4f %.9g %.9g %.9g ", x, spread.median, spread.least, spread.greatest);
		if (limit.count > 0)
			fprintf(drawing->script, "%.9g\n", limit.median);
		else
			fprintf(drawing->script, "NaN\n");
		points++;
		*limits += limit.count > 0;
		*height |= spread.greatest > 0 || (limit.count > 0 && limit.median > 0);
	}
	fprintf(drawing->script, "END\n");
	return points;
}

static void print_axes(const struct drawing *drawing, const struct wh_figure_measure *measure)
{
	const struct wh_figure *figure = drawing->figure;
	FILE *script = drawing->script;

	fputs("set ylabel ", script);
	wh_gnuplot_text(script, measure->label);
	fputs("\nset xlabel ", script);
	wh_gnuplot_text(script, figure->x < figure->axis_count ? figure->axes[figure->x].key : "");
	fputs("\nset xtics (", script);
	for (size_t v = 0; v < count_of(figure, figure->x); v++) {
		if (v > 0)
			fputs(", ", script);
		wh_gnuplot_label(script, figure->x < figure->axis_count ? figure->axes[figure->x].values[v] : "");
		fprintf(script, " %zu", v);
	}
	fprintf(script, ")\nset xrange [-0.4:%.1f]\n", (double)count_of(figure, figure->x) - 0.6);
	fputs(measure->logarithmic ? "set logscale y\nset yrange [*:*]\n" : "unset logscale y\nset yrange [0:*]\n",
	      script);
}

static void draw_lines(const struct drawing *drawing, const struct wh_figure_measure *measure, size_t panel)
{
	const struct wh_figure *figure = drawing->figure;
	size_t plotted = 0;
	size_t *points = calloc(2 * figure->series_count + 1, sizeof *points), *limits;
	bool height = false;
	char text[512];

	if (points == NULL)
		return;
	limits = points + figure->series_count;
	print_title(drawing, wh_figure_panel_text(figure, panel, text, sizeof text));
	print_axes(drawing, measure);
	for (size_t s = 0; s < figure->series_count; s++)
		points[s] = print_series(drawing, measure, (struct place){panel, s, 0}, &limits[s], &height);
	if (!height && !measure->logarithmic) /* as with nulls where there are none */
		fputs("set yrange [0:1]\n", drawing->script);
	for (size_t s = 0; s < figure->series_count; s++) {
		if (points[s] == 0)
			continue;
		fprintf(drawing->script, "%s $s%zu using 1:2:3:4 with yerrorlines lw 2 lc %zu pt %zu title ",
			plotted++ == 0 ? "plot" : ",", s, s + 1, s + 4);
		wh_gnuplot_text(drawing->script, wh_figure_series_text(figure, s, text, sizeof text));
		if (limits[s] > 0)
			fprintf(drawing->script, ", $s%zu using 1:5 with lines dt 2 lc %zu title %s", s, s + 1,
				plotted == 1 ? "'dashed: the limit'" : "''");
	}
	fputs(plotted > 0 ? "\n" : "set yrange [0:1]\nplot NaN title 'nothing was measured'\n", drawing->script);
	free(points);
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

static void draw_batches(const struct drawing *drawing, const struct place *place)
{
	static const char *const stages[STAGES] = {"send", "receive", "deliver"};
	FILE *script = drawing->script;
	size_t last = 0;

	print_title(drawing, variant_text(drawing, place));
	fputs("set xlabel 'messages in a batch'\nset ylabel 'batches of a stage, %'\nset xtics auto\nunset logscale y\n"
	      "set style histogram errorbars gap 1 lw 1\nset style fill solid 0.6 border -1\nset yrange [0:*]\n$s0 << END\n",
	      script);
	for (size_t b = 0; b < BUCKETS; b++) {
		if (b == 0)
			fprintf(script, "1");
		else
			fprintf(script, "%zu-%zu", (size_t)1 << b, ((size_t)2 << b) - 1);
		for (size_t stage = 0; stage < STAGES; stage++) {
			struct wh_figure_spread spread = share_at(drawing, place, stages[stage], b);

			if (spread.count > 0 && spread.greatest > 0)
				last = b;
			fprintf(script, " %.4f %.4f %.4f", spread.median, spread.least, spread.greatest);
		}
		fprintf(script, "\n");
	}
	fprintf(script, "END\nset xrange [-0.7:%.1f]\nplot", (double)last + 0.7);
	for (size_t stage = 0; stage < STAGES; stage++)
		fprintf(script, "%s $s0 using %zu:%zu:%zu:xtic(1) with histogram lc %zu title '%s'",
			stage > 0 ? "," : "", 3 * stage + 2, 3 * stage + 3, 3 * stage + 4, stage + 1, stages[stage]);
	fputc('\n', script);
}

static void draw_quantiles(const struct drawing *drawing, const struct place *places, size_t count)
{
	static const char *const names[QUANTILES] = {"p50", "p90", "p99", "p999", "max"};
	FILE *script = drawing->script;

	print_title(drawing, "");
	fputs("set xlabel 'part of the messages'\nset ylabel 'at most so many us'\nset logscale y\nset yrange [*:*]\n"
	      "set xtics ('50 %%' 0, '90 %%' 1, '99 %%' 2, '99.9 %%' 3, 'all' 4)\nset xrange [-0.4:4.4]\n",
	      script);
	for (size_t p = 0; p < count; p++) {
		fprintf(script, "$s%zu << END\n", p);
		for (size_t q = 0; q < QUANTILES; q++) {
			char path[32];
			struct wh_figure_measure measure = {.path = path, .scale = 1};
			struct wh_figure_spread spread;

			snprintf(path, sizeof path, "latency_us.%s", names[q]);
			spread = spread_at(drawing, &measure, &places[p]);
			if (spread.count > 0)
				fprintf(script, "%.4f %.6g %.6g %.6g\n",
					(double)q + BESIDE * ((double)p - (double)(count - 1) / 2), spread.median,
					spread.least, spread.greatest);
		}
		fprintf(script, "END\n");
	}
	for (size_t p = 0; p < count; p++) {
		fprintf(script, "%s $s%zu using 1:2:3:4 with yerrorlines lw 2 title ", p > 0 ? "," : "plot", p);
		wh_gnuplot_text(script, variant_text(drawing, &places[p]));
	}
	fputc('\n', script);
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

static void draw_all(const struct drawing *drawing, const struct place *places, size_t variants)
{
	const struct wh_figure *figure = drawing->figure;
	const char *at = words_of(figure);
	wh_figure_text word;

	while (wh_figure_next_word(&at, word, sizeof word)) {
		const struct wh_figure_measure *measure = wh_figure_measure_find(word);

		if (strcmp(word, "batches") == 0)
			for (size_t p = 0; p < variants; p++)
				draw_batches(drawing, &places[p]);
		else if (strcmp(word, "quantiles") == 0)
			draw_quantiles(drawing, places, variants);
		for (size_t panel = 0; measure != NULL && panel < count_of(figure, figure->panels); panel++)
			draw_lines(drawing, measure, panel);
	}
}

char *wh_figure_draw(const struct wh_figure *figure, const char *name)
{
	struct wh_gnuplot gnuplot;
	char *image;
	struct drawing drawing = {.figure = figure};
	struct place places[VARIANTS_MAX];
	size_t variants, panels, key_rows = (figure->series_count + 2) / 2;
	int height;

	drawing.values = calloc(json_array_size(figure->lines) + 1, sizeof *drawing.values);
	if (drawing.values == NULL) {
		wh_say("%s: no memory for a picture", name);
		return NULL;
	}
	variants = find_places(&drawing, places);
	panels = count_panels(figure, variants);
	height = TITLE_HEIGHT + (int)panels * (PANEL_HEIGHT + (int)key_rows * KEY_ROW_HEIGHT);
	if (!wh_gnuplot_open(&gnuplot, WIDTH, height)) {
		wh_say("gnuplot: %s", strerror(errno));
		free(drawing.values);
		return NULL;
	}
	drawing.script = gnuplot.script;
	fprintf(drawing.script,
		"set key below maxcols 2 font ',12'\nset ylabel font ',13'\nset xlabel offset 0,0.6\nset multiplot layout %zu,1 title ",
		panels);
	wh_gnuplot_text(drawing.script, figure->title);
	fputs(" font ',11'\n", drawing.script); /* a sentence has room */
	draw_all(&drawing, places, variants);
	free(drawing.values);
	image = wh_gnuplot_close(&gnuplot);
	if (image == NULL)
		wh_say("%s: gnuplot could not draw it", name);
	return image;
}
