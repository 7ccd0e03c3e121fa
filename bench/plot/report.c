/* report.c - `whorl report`: all results of a folder as one page. */
#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <whorl/whorl.h>

#include "bench/plot/figure.h"
#include "bench/plot/gnuplot.h"
#include "bench/plot/report.h"
#include "command/output.h"

#define PATH_BYTES 4096

struct arguments {
	const char *directory, *output;
};

static const struct argp_option options[] = {
	{"output", 'o', "FILE", 0, "Write the page there instead of DIR/index.html; - is standard output", 0},
	{NULL, 0, NULL, 0, NULL, 0},
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case 'o':
		arguments->output = argument;
		return 0;
	case ARGP_KEY_ARG:
		if (arguments->directory != NULL)
			argp_error(state, "one directory at a time, not also \"%s\"", argument);
		arguments->directory = argument;
		return 0;
	case ARGP_KEY_END:
		if (arguments->directory == NULL)
			argp_error(state, "which DIR?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options,
	parse_option,
	"DIR",
	"Make one page of all results of `whorl bench --json` in a folder: of each file *.json the picture, the machine, the limits, "
	"medians and spread, and the command that makes it.\v"
	"The page is one file and needs no network. It needs gnuplot.\n\n"
	"Exit status: 0 good, 1 it could not be drawn or written, 2 the command line or a file, 3 the machine lacks something.",
	NULL,
	NULL,
	NULL};

/* ---- reading ----------------------------------------------------------------------------------------------------------------*/

/* An array of the objects in a file, one a line. NULL: said what is wrong. */
static json_t *read_lines(const char *path)
{
	FILE *file = fopen(path, "re");
	json_t *lines = json_array();
	char *text = NULL;
	size_t room = 0, number = 0;
	ssize_t length;

	if (file == NULL || lines == NULL) {
		wh_say("%s: %s", path, strerror(errno));
		goto out_bad;
	}
	while ((length = getline(&text, &room, file)) >= 0) {
		json_error_t error;
		json_t *line = json_loadb(text, (size_t)length, 0, &error);

		number++;
		if (!json_is_object(line) || !json_is_string(json_object_get(line, "variant"))) {
			json_decref(line);
			wh_say("%s:%zu: expected a result, one JSON object, as `whorl bench --json` writes it", path,
			       number);
			goto out_bad;
		}
		json_array_append_new(lines, line);
	}
	if (number == 0) {
		wh_say("%s: there are no results in it", path);
		goto out_bad;
	}
	free(text);
	fclose(file);
	return lines;
out_bad:
	free(text);
	json_decref(lines);
	if (file != NULL)
		fclose(file);
	return NULL;
}

/* The picture's text, to be freed. NULL: said why there is none. */
static char *draw_picture(json_t *lines, const char *name)
{
	struct wh_figure figure;
	char *text = NULL;

	if (wh_figure_make(&figure, lines))
		text = wh_figure_draw(&figure, name);
	else
		wh_say("%s", whorl_result_text(WHORL_MEMORY));
	wh_figure_free(&figure);
	return text;
}

/* ---- the page ------------------------------------------------------------------------------------------------------------------*/

static int is_result(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return entry->d_name[0] != '.' && length > 5 && strcmp(entry->d_name + length - 5, ".json") == 0;
}

/* Fills as many of `parts` as are good. */
static enum wh_exit make_parts(struct wh_report_part *parts, const char *directory, struct dirent **entries,
			       size_t count)
{
	for (size_t p = 0; p < count; p++) {
		char path[PATH_BYTES];

		parts[p].name = entries[p]->d_name;
		snprintf(path, sizeof path, "%s/%s", directory, parts[p].name);
		parts[p].lines = read_lines(path);
		if (parts[p].lines == NULL)
			return WH_EXIT_USAGE;
		parts[p].picture = draw_picture(parts[p].lines, path);
		if (parts[p].picture == NULL)
			return WH_EXIT_FAILED;
	}
	return WH_EXIT_GOOD;
}

/* The page as text, to be freed; NULL: memory is out. */
static char *make_page(const struct wh_report_part *parts, size_t count)
{
	char *text = NULL;
	size_t bytes;
	FILE *page = open_memstream(&text, &bytes);
	bool good;

	if (page == NULL)
		return NULL;
	good = wh_report_write(page, parts, count);
	if (fclose(page) == 0 && good)
		return text;
	free(text);
	return NULL;
}

static enum wh_exit write_page(const char *path, const struct wh_report_part *parts, size_t count)
{
	FILE *out = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
	char *text = make_page(parts, count);
	enum wh_exit status = WH_EXIT_GOOD;

	if (out == NULL) {
		wh_say("%s: %s", path, strerror(errno));
		status = WH_EXIT_USAGE;
	} else if (text == NULL) {
		wh_say("%s", whorl_result_text(WHORL_MEMORY));
		status = WH_EXIT_FAILED;
	} else if (!wh_put(out, text, path)) {
		status = WH_EXIT_FAILED;
	}
	if (out != NULL && !wh_close_file(out, path) && status == WH_EXIT_GOOD)
		status = WH_EXIT_FAILED;
	free(text);
	return status;
}

static enum wh_exit make_report(const struct arguments *arguments, struct dirent **entries, size_t count)
{
	struct wh_report_part *parts = calloc(count, sizeof *parts);
	char index[PATH_BYTES];
	enum wh_exit status = WH_EXIT_MACHINE;

	if (parts == NULL) {
		wh_say("%s", whorl_result_text(WHORL_MEMORY));
		return status;
	}
	snprintf(index, sizeof index, "%s/index.html", arguments->directory);
	status = make_parts(parts, arguments->directory, entries, count);
	if (status == WH_EXIT_GOOD)
		status = write_page(arguments->output != NULL ? arguments->output : index, parts, count);
	for (size_t p = 0; p < count; p++) {
		json_decref(parts[p].lines);
		free((char *)parts[p].picture);
	}
	free(parts);
	return status;
}

int wh_report_main(int argc, char **argv)
{
	struct arguments arguments = {0};
	struct dirent **entries;
	enum wh_exit status;
	int count;

	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	if (!wh_gnuplot_is_there()) {
		wh_say("report needs the program gnuplot (Debian: gnuplot-nox), which is not there");
		return WH_EXIT_MACHINE;
	}
	count = scandir(arguments.directory, &entries, is_result, alphasort);
	if (count <= 0) {
		wh_say("%s: %s", arguments.directory,
		       count < 0 ? strerror(errno) : "there are no results (*.json) in it");
		if (count == 0)
			free(entries);
		return WH_EXIT_USAGE;
	}
	status = make_report(&arguments, entries, (size_t)count);
	for (int e = 0; e < count; e++)
		free(entries[e]);
	free(entries);
	return status;
}
