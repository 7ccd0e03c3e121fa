/* template.h - scripts and pages that are files (templates/), and what is filled in. The build puts their texts into the program
 * (cmake/embed.cmake), so that there is no folder to find.
 *
 * A mark stands between two @ in capitals: set title @TITLE@.
 */
#ifndef WH_BENCH_PLOT_TEMPLATE_H
#define WH_BENCH_PLOT_TEMPLATE_H

#include <stddef.h>
#include <stdio.h>

extern const char wh_template_picture[], wh_template_lines[], wh_template_batches[],
	wh_template_quantiles[]; /* gnuplot's */
extern const char wh_template_page[], wh_template_figure[], wh_template_style[];

struct wh_template_mark {
	const char *name; /* with its @ */
	void (*print)(FILE *out, void *ctx);
};

/* The text, each of the `count` marks as it prints itself. What is no mark stays as it is. */
void wh_template_print(FILE *out, const char *text, const struct wh_template_mark *marks, size_t count, void *ctx);

#endif
