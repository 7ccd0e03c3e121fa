/* report_html.c - the page: one file that needs no network, for a screen of any width and for paper.
 *
 * All text is from files that anyone may have written, and is escaped. The pictures are gnuplot's, which escapes their text itself;
 * they stand in the page as they are, but for their names, which must differ within it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/plot/figure.h"
#include "bench/plot/report.h"
#include "bench/plot/template.h"
#include "command/output.h"

/* Also in attributes: both quotes are escaped. What is no character of HTML becomes a blank. */
static void print_text(FILE *out, const char *text)
{
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '&')
			fputs("&amp;", out);
		else if (c == '<')
			fputs("&lt;", out);
		else if (c == '>')
			fputs("&gt;", out);
		else if (c == '"')
			fputs("&quot;", out);
		else if (c == '\'')
			fputs("&#39;", out);
		else
			fputc((c < ' ' && c != '\n' && c != '\t') || c == 127 ? ' ' : c, out);
	}
}

static const char *string_at(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

static const char *title_of(const struct wh_report_part *part)
{
	const char *title = string_at(json_object_get(json_array_get(part->lines, 0), "figure"), "title");

	return title[0] != '\0' ? title : part->name;
}

/* ---- the picture ------------------------------------------------------------------------------------------------------------*/

/* Names of gnuplot's get the figure's number before them, where they are given and where they are used. */
static void print_picture(FILE *out, const struct wh_report_part *part, size_t number)
{
	static const char *const places[] = {" id='", " id=\"", "href='#", "href=\"#", "url(#"};
	const char *at = strstr(part->picture, "<svg");

	if (at == NULL)
		return;
	fputs("<svg role=\"img\" aria-label=\"", out);
	print_text(out, title_of(part));
	fputs("\"", out);
	for (at += strlen("<svg"); *at != '\0';) {
		size_t length = 0;

		for (size_t p = 0; length == 0 && p < sizeof places / sizeof places[0]; p++)
			if (strncmp(at, places[p], strlen(places[p])) == 0)
				length = strlen(places[p]);
		if (length > 0)
			fprintf(out, "%.*sf%zu-", (int)length, at, number);
		else
			fputc(*at, out);
		at += length > 0 ? length : 1;
	}
}

/* ---- the table -----------------------------------------------------------------------------------------------------------------*/

/* As the head of the table in figure.html has them. */
static const struct column {
	const char *path;
	double scale;
} columns[] = {{"messages_per_s", 1},
	       {"bytes_per_s", 1e-9},
	       {"latency_us.p50", 1},
	       {"limit.bytes_per_s", 1e-9},
	       {"fraction_of_limit", 1}};

/* In four digits. */
static void print_number(FILE *out, double value)
{
	int digits = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;

	fprintf(out, "%.*f", digits, value);
}

static void print_cell(FILE *out, struct wh_figure_spread spread)
{
	fputs("<td>", out);
	if (spread.count == 0) {
		fputs("-", out);
	} else {
		print_number(out, spread.median);
		if (spread.count > 1) {
			fputs(" (", out);
			print_number(out, spread.least);
			fputs(" to ", out);
			print_number(out, spread.greatest);
			fputs(")", out);
		}
	}
	fputs("</td>", out);
}

/* The row of all lines that have the variant of line `first`. */
static void print_row(FILE *out, const json_t *lines, size_t first, double *values)
{
	const char *variant = string_at(json_array_get(lines, first), "variant");
	size_t runs = 0;

	fputs("<tr><td>", out);
	print_text(out, variant[0] != '\0' ? variant : "-");
	fputs("</td>", out);
	for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++) {
		size_t count = 0;

		for (size_t l = first; l < json_array_size(lines); l++) {
			const json_t *line = json_array_get(lines, l);

			if (strcmp(string_at(line, "variant"), variant) == 0)
				values[count++] = wh_figure_number(line, columns[c].path) * columns[c].scale;
		}
		runs = count;
		print_cell(out, wh_figure_spread_of(values, count));
	}
	fprintf(out, "<td>%zu</td></tr>\n", runs);
}

static bool print_rows(FILE *out, const json_t *lines)
{
	double *values = calloc(json_array_size(lines), sizeof *values);

	if (values == NULL)
		return false;
	for (size_t l = 0; l < json_array_size(lines); l++) {
		const char *variant = string_at(json_array_get(lines, l), "variant");
		size_t before = 0;

		while (before < l && strcmp(string_at(json_array_get(lines, before), "variant"), variant) != 0)
			before++;
		if (before == l)
			print_row(out, lines, l, values);
	}
	free(values);
	return true;
}

/* ---- what it was -----------------------------------------------------------------------------------------------------------------*/

static void print_machine(FILE *out, const json_t *line)
{
	const json_t *machine = json_object_get(line, "machine");

	fprintf(out, "<dt>Machine</dt><dd>%.0f processors: ", json_number_value(json_object_get(machine, "cpus")));
	print_text(out, string_at(machine, "model"));
	fputs("; kernel ", out);
	print_text(out, string_at(machine, "kernel"));
	fputs("; transport ", out);
	print_text(out, string_at(line, "transport"));
	fputs("; whorl ", out);
	print_text(out, string_at(line, "version"));
	fputs("</dd>\n", out);
}

/* Results of several machines or commands may have been put into one file: each is told once. */
static bool is_new(const json_t *lines, size_t l, const char *key)
{
	for (size_t before = 0; before < l; before++)
		if (json_equal(json_object_get(json_array_get(lines, before), key),
			       json_object_get(json_array_get(lines, l), key)))
			return false;
	return true;
}

/* ---- a figure, and all of them -------------------------------------------------------------------------------------------------*/

struct page {
	const struct wh_report_part *parts;
	size_t count, at; /* the figure that is printed */
	bool good;
};

static void print_figure_number(FILE *out, void *ctx)
{
	const struct page *page = ctx;

	fprintf(out, "%zu", page->at + 1);
}

static void print_figure_title(FILE *out, void *ctx)
{
	const struct page *page = ctx;

	print_text(out, title_of(&page->parts[page->at]));
}

static void print_figure_picture(FILE *out, void *ctx)
{
	const struct page *page = ctx;

	print_picture(out, &page->parts[page->at], page->at + 1);
}

static void print_figure_machines(FILE *out, void *ctx)
{
	const struct page *page = ctx;
	const json_t *lines = page->parts[page->at].lines;

	for (size_t l = 0; l < json_array_size(lines); l++)
		if (is_new(lines, l, "machine"))
			print_machine(out, json_array_get(lines, l));
}

static void print_figure_name(FILE *out, void *ctx)
{
	const struct page *page = ctx;

	print_text(out, page->parts[page->at].name);
}

static void print_figure_commands(FILE *out, void *ctx)
{
	const struct page *page = ctx;
	const json_t *lines = page->parts[page->at].lines;

	for (size_t l = 0; l < json_array_size(lines); l++)
		if (is_new(lines, l, "command")) {
			fputs("<pre>", out);
			print_text(out, string_at(json_array_get(lines, l), "command"));
			fputs("</pre>\n", out);
		}
}

static void print_figure_rows(FILE *out, void *ctx)
{
	struct page *page = ctx;

	page->good = print_rows(out, page->parts[page->at].lines) && page->good;
}

static void print_style(FILE *out, void *ctx)
{
	(void)ctx;
	fputs(wh_template_style, out);
}

static void print_list(FILE *out, void *ctx)
{
	const struct page *page = ctx;

	for (size_t p = 0; p < page->count; p++) {
		fprintf(out, "<li><a href=\"#figure-%zu\">", p + 1);
		print_text(out, title_of(&page->parts[p]));
		fputs("</a></li>\n", out);
	}
}

static void print_figures(FILE *out, void *ctx)
{
	static const struct wh_template_mark marks[] = {
		{"@NUMBER@", print_figure_number},   {"@TITLE@", print_figure_title},
		{"@PICTURE@", print_figure_picture}, {"@MACHINES@", print_figure_machines},
		{"@NAME@", print_figure_name},       {"@COMMANDS@", print_figure_commands},
		{"@ROWS@", print_figure_rows},
	};
	struct page *page = ctx;

	for (page->at = 0; page->at < page->count; page->at++)
		wh_template_print(out, wh_template_figure, marks, sizeof marks / sizeof marks[0], page);
}

bool wh_report_write(FILE *out, const struct wh_report_part *parts, size_t count)
{
	static const struct wh_template_mark marks[] = {
		{"@STYLE@", print_style}, {"@LIST@", print_list}, {"@FIGURES@", print_figures}};
	struct page page = {.parts = parts, .count = count, .good = true};

	wh_template_print(out, wh_template_page, marks, sizeof marks / sizeof marks[0], &page);
	return page.good;
}
