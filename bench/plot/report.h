/* report.h - the page of `whorl report`: report.c finds and reads the results, report_html.c writes. */
#ifndef WH_BENCH_PLOT_REPORT_H
#define WH_BENCH_PLOT_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* The results of one file. */
struct wh_report_part {
	const char *name;    /* of the file, without its folder */
	json_t *lines;       /* its objects, at least one */
	const char *picture; /* an SVG, as text */
};

/* `whorl report ...`; argv[0] is "whorl report". */
int wh_report_main(int argc, char **argv);

/* The page. False: memory is out. */
bool wh_report_write(FILE *out, const struct wh_report_part *parts, size_t count);

#endif
