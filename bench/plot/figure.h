/* figure.h - results of `whorl bench` as a picture.
 *
 * A figure is made of the JSON objects that a command has written for one file (docs/benchmark.md), and of nothing else, so that
 * a picture can be drawn again from them. The keys that were lists are its axes: one is along x, one may make panels, and
 * the combinations of the others are series. Each point is a median over the runs, with the least and the greatest. What
 * is along y, and which axis is which, the section [figure] of the file says, which every object carries.
 */
#ifndef WH_BENCH_PLOT_FIGURE_H
#define WH_BENCH_PLOT_FIGURE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "conf/conf.h"

#define WH_FIGURE_TEXT_BYTES 64
#define WH_FIGURE_AXES 8

struct wh_figure_options {
	char title[WH_OPTION_TEXT_BYTES];
	char x[WH_OPTION_TEXT_BYTES], panels[WH_OPTION_TEXT_BYTES], y[WH_OPTION_TEXT_BYTES];
};

extern const struct wh_option_table wh_figure_table;

/* Mistakes of the section are noted in the conf: a measure or a key that there is not. After wh_conf_check. */
void wh_figure_mistakes(struct wh_conf *conf);

/* The section as an object, to be released. NULL: memory is out. */
json_t *wh_figure_section(const struct wh_conf *conf);

/* ---- the model ----------------------------------------------------------------------------------------------------------*/

typedef char wh_figure_text[WH_FIGURE_TEXT_BYTES];

struct wh_figure_axis {
	wh_figure_text key;
	wh_figure_text *values; /* [count] in the order in which they first came */
	size_t count;
};

struct wh_figure {
	json_t *lines; /* an array of objects, referred to */
	const char *title;
	struct wh_figure_axis axes[WH_FIGURE_AXES];
	size_t axis_count;
	size_t x, panels;    /* axes; axis_count: none */
	size_t *places;      /* [lines x axis_count]: which value of each axis */
	size_t *series;      /* [lines] */
	size_t series_count; /* combinations that there are of the axes that are neither */
};

/* False: memory is out. To be freed either way. Objects without a variant's text count as those of the only variant. */
bool wh_figure_make(struct wh_figure *figure, json_t *lines);
void wh_figure_free(struct wh_figure *figure);

/* What tells a series, or the panel of this place on its axis, from the others: "bytes = 128"; "" if there is only one. Returns buf. */
const char *wh_figure_series_text(const struct wh_figure *figure, size_t series, char *buf, size_t bytes);
const char *wh_figure_panel_text(const struct wh_figure *figure, size_t panel, char *buf, size_t bytes);

/* The number at `path` ("limit.bytes_per_s") in an object; NAN: there is none. */
double wh_figure_number(const json_t *object, const char *path);

struct wh_figure_spread {
	double median, least, greatest;
	size_t count; /* 0: there are none, and the others are NAN */
};

/* Sorts the values; those that are NAN do not count. */
struct wh_figure_spread wh_figure_spread_of(double *values, size_t count);

/* What may be along y. */
struct wh_figure_measure {
	const char *name;                /* in [figure] y */
	const char *label;               /* with its unit */
	const char *path, *over, *limit; /* the number, what it is divided by, its limit; of the last two NULL: none */
	double scale;
	bool per_node; /* the divisor is a sum over the nodes, and the share of one is meant */
	bool logarithmic;
};

/* NULL: there is none of that name, or it is one of those with a form of their own: "batches", "quantiles". */
const struct wh_figure_measure *wh_figure_measure_find(const char *name);
double wh_figure_measure_of(const struct wh_figure_measure *measure, const json_t *line);

/* The words of [figure] y, one after the other: the next behind `*at`. False: there is none. */
bool wh_figure_next_word(const char **at, char *buf, size_t bytes);

/* ---- the picture --------------------------------------------------------------------------------------------------------*/

/* Draws it. The text of an SVG image, to be freed; NULL: it has been said why not, of what is to be called `name`. */
char *wh_figure_draw(const struct wh_figure *figure, const char *name);

#endif
