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
#include "command/output.h"

static const char style[] =
	"body{font:16px/1.5 system-ui,sans-serif;color:#111;background:#fff;max-width:52rem;margin:0 auto;padding:0 1rem 3rem}\n"
	"h1{font-size:1.6rem}h2{font-size:1.25rem;margin-top:3rem;border-top:1px solid #bbb;padding-top:1rem}\n"
	"svg{display:block;width:100%;height:auto;max-width:640px}\n"
	".wide{overflow-x:auto}\n"
	"table{border-collapse:collapse;font-size:.8rem;font-variant-numeric:tabular-nums}\n"
	"th,td{text-align:right;padding:.15rem .6rem;border-bottom:1px solid #ddd;white-space:nowrap}\n"
	"th:first-child,td:first-child{text-align:left;white-space:normal;min-width:9rem}\n"
	"pre{background:#f3f3f3;padding:.5rem;overflow-x:auto;white-space:pre-wrap;overflow-wrap:anywhere}\n"
	"dt{font-weight:600}dd{margin:0 0 .4rem}\n"
	"@media print{body{max-width:none;font-size:11px}h2{break-before:page;border:0}table{font-size:8px}"
	"svg{max-height:22cm}tr{break-inside:avoid}.wide{overflow:visible}nav{display:none}}\n";

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

void wh_report_begin(FILE *out, const struct wh_report_part *parts, size_t count)
{
	fprintf(out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>whorl: figures</title>\n"
		"<style>\n%s</style>\n</head>\n<body>\n<h1>whorl: figures</h1>\n"
		"<p>Points are medians over the runs of a variant, bars reach from the least to the greatest. The limit is the plainest "
		"program that moves the same bytes on the same machine, measured before and after each run.</p>\n<nav>\n<ol>\n",
		style);
	for (size_t p = 0; p < count; p++) {
		fprintf(out, "<li><a href=\"#figure-%zu\">", p + 1);
		print_text(out, title_of(&parts[p]));
		fputs("</a></li>\n", out);
	}
	fputs("</ol>\n</nav>\n", out);
}

void wh_report_end(FILE *out)
{
	fputs("</body>\n</html>\n", out);
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

static const struct column {
	const char *head, *path;
	double scale;
} columns[] = {
	{"messages/s", "messages_per_s", 1},       {"GB/s", "bytes_per_s", 1e-9},
	{"latency, p50, us", "latency_us.p50", 1}, {"limit, GB/s", "limit.bytes_per_s", 1e-9},
	{"of the limit", "fraction_of_limit", 1},
};

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

static bool print_table(FILE *out, const json_t *lines)
{
	double *values = calloc(json_array_size(lines), sizeof *values);

	if (values == NULL)
		return false;
	fputs("<div class=\"wide\">\n<table>\n<thead><tr><th>variant</th>", out);
	for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++)
		fprintf(out, "<th>%s</th>", columns[c].head);
	fputs("<th>runs</th></tr></thead>\n<tbody>\n", out);
	for (size_t l = 0; l < json_array_size(lines); l++) {
		const char *variant = string_at(json_array_get(lines, l), "variant");
		size_t before = 0;

		while (before < l && strcmp(string_at(json_array_get(lines, before), "variant"), variant) != 0)
			before++;
		if (before == l)
			print_row(out, lines, l, values);
	}
	fputs("</tbody>\n</table>\n</div>\n", out);
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

bool wh_report_part(FILE *out, const struct wh_report_part *part, size_t number)
{
	fprintf(out, "<section>\n<h2 id=\"figure-%zu\">%zu. ", number, number);
	print_text(out, title_of(part));
	fputs("</h2>\n", out);
	print_picture(out, part, number);
	fputs("<dl>\n", out);
	for (size_t l = 0; l < json_array_size(part->lines); l++)
		if (is_new(part->lines, l, "machine"))
			print_machine(out, json_array_get(part->lines, l));
	fputs("<dt>Results</dt><dd>", out);
	print_text(out, part->name);
	fputs("</dd>\n</dl>\n", out);
	for (size_t l = 0; l < json_array_size(part->lines); l++)
		if (is_new(part->lines, l, "command")) {
			fputs("<pre>", out);
			print_text(out, string_at(json_array_get(part->lines, l), "command"));
			fputs("</pre>\n", out);
		}
	if (!print_table(out, part->lines))
		return false;
	fputs("</section>\n", out);
	return true;
}
