/* picture.c - what a result says of itself besides figures: the command that makes it, and how it is drawn. And the picture that
 * --plot asks for, of all results of this command.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/plot/figure.h"
#include "bench/plot/gnuplot.h"

struct wh_bench_plot {
	json_t *command, *section;
	json_t *lines;    /* NULL: nothing is drawn */
	const char *path; /* likewise */
	FILE *picture;    /* open there rather now than after the runs */
};

/* A word as a shell takes it: between quotes, if it must be. */
static void write_word(FILE *out, const char *word)
{
	bool plain = word[0] != '\0';

	for (const char *c = word; *c != '\0'; c++)
		plain &= isalnum((unsigned char)*c) || strchr("._-=/,:", *c) != NULL;
	if (plain) {
		fputs(word, out);
		return;
	}
	fputc('\'', out);
	for (; *word != '\0'; word++)
		fputs(*word == '\'' ? "'\\''" : (const char[]){*word, '\0'}, out);
	fputc('\'', out);
}

static json_t *command_of(const char *file, const char *const *sets, size_t count)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	json_t *command = NULL;

	if (out == NULL)
		return NULL;
	fputs("whorl bench ", out);
	write_word(out, file);
	for (size_t i = 0; i < count; i++) {
		fputs(" --set ", out);
		write_word(out, sets[i]);
	}
	if (fclose(out) == 0)
		command = json_string(text); /* NULL: it is no UTF-8 */
	free(text);
	return command;
}

enum wh_exit wh_bench_plot_open(struct wh_bench_plot **out, const struct wh_conf *conf, const char *file,
				const char *const *sets, size_t set_count, const char *path)
{
	struct wh_bench_plot *plot = calloc(1, sizeof *plot);

	*out = NULL;
	if (plot == NULL) {
		wh_say("%s", whorl_result_text(WHORL_MEMORY));
		return WH_EXIT_MACHINE;
	}
	plot->command = command_of(file, sets, set_count);
	plot->section = wh_figure_section(conf);
	plot->path = path;
	*out = plot;
	if (path == NULL)
		return WH_EXIT_GOOD;
	if (!wh_gnuplot_is_there()) {
		wh_say("--plot needs the program gnuplot (Debian: gnuplot-nox), which is not there");
		return WH_EXIT_MACHINE;
	}
	plot->picture = fopen(path, "we");
	if (plot->picture == NULL) {
		wh_say("%s: %s", path, strerror(errno));
		return WH_EXIT_USAGE;
	}
	plot->lines = json_array();
	return plot->lines != NULL ? WH_EXIT_GOOD : WH_EXIT_MACHINE;
}

void wh_bench_plot_add(struct wh_bench_plot *plot, json_t *object)
{
	json_object_set(object, "figure", plot->section);
	json_object_set_new(object, "command", plot->command != NULL ? json_incref(plot->command) : json_null());
	if (plot->lines != NULL)
		json_array_append(plot->lines, object);
}

bool wh_bench_plot_is_wanted(const struct wh_bench_plot *plot)
{
	return plot->lines != NULL;
}

static bool draw_picture(const struct wh_bench_plot *plot)
{
	struct wh_figure figure;
	char *image = wh_figure_make(&figure, plot->lines) ? wh_figure_draw(&figure, plot->path) : NULL;
	bool good = image != NULL;

	wh_figure_free(&figure);
	good = good && wh_put(plot->picture, image, plot->path);
	free(image);
	return good;
}

bool wh_bench_plot_close(struct wh_bench_plot *plot)
{
	bool good = true;

	if (plot == NULL)
		return true;
	if (json_array_size(plot->lines) > 0) /* otherwise nothing has been measured: it has been said why */
		good = draw_picture(plot);
	if (plot->picture != NULL)
		good = wh_close_file(plot->picture, plot->path) && good;
	json_decref(plot->lines);
	json_decref(plot->section);
	json_decref(plot->command);
	free(plot);
	return good;
}
