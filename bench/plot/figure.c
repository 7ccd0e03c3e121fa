/* figure.c - what a figure shows: see figure.h. The section [figure], axes from the texts of the variants, measures, medians. */
#include "bench/plot/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command/output.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define FIGURE(field) offsetof(struct wh_figure_options, field)

static const struct wh_option figure_options[] = {
	{"title", WH_OPTION_TEXT, "", "", 0, 0, NULL, "What the picture is called; nothing: the name of the file.",
	 FIGURE(title), false},
	{"x", WH_OPTION_TEXT, "", "", 0, 0, NULL,
	 "The key that is along x, one of those with a list, as in bytes or bench large.bytes; nothing: the first of them.",
	 FIGURE(x), false},
	{"panels", WH_OPTION_TEXT, "", "", 0, 0, NULL,
	 "The key, with a list, each value of which has a panel of its own; nothing: all are in one. Keys that are left make series.",
	 FIGURE(panels), false},
	{"y", WH_OPTION_TEXT, "", "throughput", 0, 0, NULL,
	 "What is measured, a panel for each word: throughput, messages, latency, fraction (of the limit), writes, nulls (both per "
	 "message), posting, waiting (shares of the time), batches, quantiles (of the latency).",
	 FIGURE(y), false},
};
const struct wh_option_table wh_figure_table = {
	"figure",       WH_OPTION_UNNAMED,     "What `whorl bench --plot` and `whorl report` draw of the results.",
	figure_options, COUNT(figure_options), sizeof(struct wh_figure_options)};

/* ---- measures -------------------------------------------------------------------------------------------------------------*/

static const struct wh_figure_measure measures[] = {
	{"throughput", "GB/s at each node", "bytes_per_s", NULL, "limit.bytes_per_s", 1e-9, false, false},
	{"messages", "million messages/s at each node", "messages_per_s", NULL, "limit.messages_per_s", 1e-6, false,
	 false},
	{"latency", "latency, median of a run, us", "latency_us.p50", NULL, NULL, 1, false, true},
	{"fraction", "part of the limit", "fraction_of_limit", NULL, NULL, 1, false, false},
	{"writes", "writes posted per message", "writes_posted", "delivered", NULL, 1, true, true},
	{"nulls", "nulls per message", "nulls", "delivered", NULL, 1, true, false},
	{"posting", "time in posting writes, % of the run", "post_seconds", "seconds", NULL, 100, false, false},
	{"waiting", "time that senders wait for room, %", "sender_wait_fraction", NULL, NULL, 100, false, false},
};

const struct wh_figure_measure *wh_figure_measure_find(const char *name)
{
	for (size_t m = 0; m < COUNT(measures); m++)
		if (strcmp(measures[m].name, name) == 0)
			return &measures[m];
	return NULL;
}

double wh_figure_number(const json_t *object, const char *path)
{
	while (object != NULL) {
		size_t length = strcspn(path, ".");
		char key[WH_FIGURE_TEXT_BYTES];

		snprintf(key, sizeof key, "%.*s", (int)length, path);
		object = json_object_get(object, key); /* NULL of what is no object */
		path += length;
		if (*path == '\0')
			break;
		path++;
	}
	return json_is_number(object) ? json_number_value(object) : NAN;
}

double wh_figure_measure_of(const struct wh_figure_measure *measure, const json_t *line)
{
	double value = wh_figure_number(line, measure->path) * measure->scale, over;

	if (measure->over == NULL)
		return value;
	over = wh_figure_number(line, measure->over);
	if (measure->per_node)
		over /= wh_figure_number(line, "nodes");
	return over > 0 ? value / over : NAN;
}

static int compare_doubles(const void *a, const void *b)
{
	double one = *(const double *)a, other = *(const double *)b;

	return (one > other) - (one < other);
}

struct wh_figure_spread wh_figure_spread_of(double *values, size_t count)
{
	struct wh_figure_spread spread = {NAN, NAN, NAN, 0};
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (isfinite(values[i]))
			values[n++] = values[i];
	if (n == 0)
		return spread;
	qsort(values, n, sizeof *values, compare_doubles);
	spread.count = n;
	spread.least = values[0];
	spread.greatest = values[n - 1];
	spread.median = (values[(n - 1) / 2] + values[n / 2]) / 2;
	return spread;
}

/* ---- the section -----------------------------------------------------------------------------------------------------------*/

bool wh_figure_next_word(const char **at, char *buf, size_t bytes)
{
	size_t length;

	*at += strspn(*at, " ");
	length = strcspn(*at, " ");
	snprintf(buf, bytes, "%.*s", (int)length, *at);
	*at += length;
	return length > 0;
}

void wh_figure_mistakes(struct wh_conf *conf)
{
	struct wh_figure_options options;
	wh_figure_text word;
	const char *at;

	wh_conf_bind(conf, 0, &wh_figure_table, NULL, &options);
	if (options.x[0] != '\0' && !wh_conf_may_vary(conf, options.x))
		wh_conf_mistake(conf, "figure", NULL, "x", "is \"%s\", expected a key that may be a list", options.x);
	if (options.panels[0] != '\0' && !wh_conf_may_vary(conf, options.panels))
		wh_conf_mistake(conf, "figure", NULL, "panels", "is \"%s\", expected a key that may be a list",
				options.panels);
	for (at = options.y; wh_figure_next_word(&at, word, sizeof word);)
		if (wh_figure_measure_find(word) == NULL && strcmp(word, "batches") != 0 &&
		    strcmp(word, "quantiles") != 0)
			wh_conf_mistake(conf, "figure", NULL, "y",
					"has \"%s\", expected words as `whorl config --describe` lists them", word);
}

json_t *wh_figure_section(const struct wh_conf *conf)
{
	struct wh_figure_options options;

	wh_conf_bind(conf, 0, &wh_figure_table, NULL, &options);
	return json_pack("{s:s,s:s,s:s,s:s}", "title", options.title, "x", options.x, "panels", options.panels, "y",
			 options.y);
}

/* ---- axes ------------------------------------------------------------------------------------------------------------------*/

/* "a = 1, b = 2": the next pair behind *at. False: there is none. */
static bool next_pair(const char **at, wh_figure_text key, wh_figure_text value)
{
	const char *equals = strstr(*at, " = "), *end;

	if (equals == NULL)
		return false;
	snprintf(key, WH_FIGURE_TEXT_BYTES, "%.*s", (int)(equals - *at), *at);
	equals += strlen(" = ");
	end = strstr(equals, ", ");
	if (end == NULL)
		end = equals + strlen(equals);
	snprintf(value, WH_FIGURE_TEXT_BYTES, "%.*s", (int)(end - equals), equals);
	*at = *end != '\0' ? end + strlen(", ") : end;
	return true;
}

/* The place of `value` on the axis, where it is put if it is not there. False: memory is out. */
static bool place_on(struct wh_figure_axis *axis, const char *value, size_t *place)
{
	wh_figure_text *more;

	for (*place = 0; *place < axis->count; ++*place)
		if (strcmp(axis->values[*place], value) == 0)
			return true;
	more = realloc(axis->values, (axis->count + 1) * sizeof *more);
	if (more == NULL)
		return false;
	axis->values = more;
	snprintf(more[axis->count++], sizeof *more, "%s", value);
	return true;
}

static const char *variant_of(const json_t *line)
{
	const char *text = json_string_value(json_object_get(line, "variant"));

	return text != NULL ? text : "";
}

/* The first line has all axes: each variant's text has the same keys. What has others is beside the point. */
static bool find_axes(struct wh_figure *figure)
{
	const char *at = variant_of(json_array_get(figure->lines, 0));
	size_t lines = json_array_size(figure->lines);
	wh_figure_text key, value;

	while (figure->axis_count < WH_FIGURE_AXES && next_pair(&at, key, value))
		memcpy(figure->axes[figure->axis_count++].key, key, sizeof key);
	figure->places = calloc(lines * WH_FIGURE_AXES + 1, sizeof *figure->places);
	figure->series = calloc(lines + 1, sizeof *figure->series);
	if (figure->places == NULL || figure->series == NULL)
		return false;
	for (size_t l = 0; l < lines; l++) {
		size_t *places = &figure->places[l * figure->axis_count];

		at = variant_of(json_array_get(figure->lines, l));
		for (size_t a = 0; a < figure->axis_count; a++) {
			struct wh_figure_axis *axis = &figure->axes[a];
			bool has = next_pair(&at, key, value) && strcmp(key, axis->key) == 0;

			if (!place_on(axis, has ? value : "-", &places[a]))
				return false;
		}
	}
	return true;
}

/* "window", of "subgroup all.window". */
static const char *bare_key(const char *key)
{
	const char *dot = strrchr(key, '.');

	return dot != NULL ? dot + 1 : key;
}

/* The axis of that key. The key of an axis has its section where it alone does not say which is meant; so may the one that is looked for. */
static size_t find_axis(const struct wh_figure *figure, const char *key)
{
	for (size_t a = 0; key[0] != '\0' && a < figure->axis_count; a++)
		if (strcmp(figure->axes[a].key, key) == 0)
			return a;
	for (size_t a = 0; key[0] != '\0' && a < figure->axis_count; a++) {
		const char *of_axis = figure->axes[a].key;

		if (strcmp(bare_key(of_axis), key) == 0 || strcmp(of_axis, bare_key(key)) == 0)
			return a;
	}
	return figure->axis_count;
}

static const char *section_text(const struct wh_figure *figure, const char *key)
{
	json_t *section = json_object_get(json_array_get(figure->lines, 0), "figure");
	const char *text = json_string_value(json_object_get(section, key));

	return text != NULL ? text : "";
}

/* Do two lines differ only in what is along x, and in their panels? */
static bool in_one_series(const struct wh_figure *figure, size_t one, size_t other)
{
	for (size_t a = 0; a < figure->axis_count; a++)
		if (a != figure->x && a != figure->panels &&
		    figure->places[one * figure->axis_count + a] != figure->places[other * figure->axis_count + a])
			return false;
	return true;
}

static void number_series(struct wh_figure *figure)
{
	for (size_t l = 0; l < json_array_size(figure->lines); l++) {
		size_t before = 0;

		while (before < l && !in_one_series(figure, before, l))
			before++;
		figure->series[l] = before < l ? figure->series[before] : figure->series_count++;
	}
}

static size_t add_pair(const struct wh_figure *figure, size_t axis, size_t place, char *buf, size_t bytes, size_t used)
{
	int length = 0;

	if (used < bytes)
		length = snprintf(buf + used, bytes - used, "%s%s = %s", used > 0 ? ", " : "", figure->axes[axis].key,
				  figure->axes[axis].values[place]);
	return used + (size_t)length;
}

const char *wh_figure_series_text(const struct wh_figure *figure, size_t series, char *buf, size_t bytes)
{
	size_t line = 0, used = 0;

	buf[0] = '\0';
	while (line < json_array_size(figure->lines) && figure->series[line] != series)
		line++;
	for (size_t a = 0; line < json_array_size(figure->lines) && a < figure->axis_count; a++)
		if (a != figure->x && a != figure->panels)
			used = add_pair(figure, a, figure->places[line * figure->axis_count + a], buf, bytes, used);
	return buf;
}

const char *wh_figure_panel_text(const struct wh_figure *figure, size_t panel, char *buf, size_t bytes)
{
	buf[0] = '\0';
	if (figure->panels < figure->axis_count)
		add_pair(figure, figure->panels, panel, buf, bytes, 0);
	return buf;
}

bool wh_figure_make(struct wh_figure *figure, json_t *lines)
{
	const char *file = json_string_value(json_object_get(json_array_get(lines, 0), "file"));

	*figure = (struct wh_figure){.lines = json_incref(lines)};
	if (!find_axes(figure))
		return false;
	figure->title = section_text(figure, "title");
	if (figure->title[0] == '\0')
		figure->title = file != NULL ? file : "";
	figure->panels = find_axis(figure, section_text(figure, "panels"));
	figure->x = find_axis(figure, section_text(figure, "x"));
	if (figure->x == figure->axis_count) /* the first that makes no panels, if there is one */
		figure->x = figure->panels == 0 && figure->axis_count > 1 ? 1 : 0;
	if (figure->x == figure->panels)
		figure->panels = figure->axis_count;
	number_series(figure);
	return true;
}

void wh_figure_free(struct wh_figure *figure)
{
	for (size_t a = 0; a < figure->axis_count; a++)
		free(figure->axes[a].values);
	free(figure->places);
	free(figure->series);
	json_decref(figure->lines);
	*figure = (struct wh_figure){0};
}
