/* gnuplot.h - drawing with the program gnuplot (Debian's gnuplot-nox), which reads its commands from a pipe.
 *
 * Text from elsewhere goes into a script only through wh_gnuplot_text.
 */
#ifndef WH_BENCH_PLOT_GNUPLOT_H
#define WH_BENCH_PLOT_GNUPLOT_H

#include <stdbool.h>
#include <stdio.h>

/* Is there the program? It is started for a moment. */
bool wh_gnuplot_is_there(void);

/* A picture that is being drawn: what is written to `script` are gnuplot's commands. */
struct wh_gnuplot {
	FILE *script;
	int image; /* memory, to which it writes */
	int pid;
};

/* Starts it; the script says what it is to draw. False: errno says why not. */
bool wh_gnuplot_open(struct wh_gnuplot *gnuplot);

/* A quoted string of gnuplot's, in which nothing has a meaning to it; control characters become blanks. */
void wh_gnuplot_text(FILE *script, const char *text);
/* The same where it is a label of an axis: there gnuplot takes it for a format. */
void wh_gnuplot_label(FILE *script, const char *text);

/* Waits until it has drawn. The whole image as text, to be freed; NULL: it could not, and has said why on stderr. */
char *wh_gnuplot_close(struct wh_gnuplot *gnuplot);

#endif
