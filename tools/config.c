/* config.c - `whorl config`: what an ini file can say, from the tables that the parser uses. */
#include <argp.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <whorl/whorl.h>

#include "base/option.h"
#include "bench/bench.h"
#include "bench/sections.h"
#include "tools/commands.h"

enum form { FORM_NONE, FORM_TEXT, FORM_MARKDOWN, FORM_SAMPLE, FORM_CHECK };

struct arguments {
	enum form form;
	const char *file;
};

enum { KEY_DESCRIBE = 'd', KEY_CHECK = 'c', KEY_MARKDOWN = 256, KEY_SAMPLE };

static const struct argp_option options[] = {
	{"describe", KEY_DESCRIBE, NULL, 0, "Describe every section and key: default, range, unit, meaning", 0},
	{"markdown", KEY_MARKDOWN, NULL, 0, "The same as Markdown", 0},
	{"sample", KEY_SAMPLE, NULL, 0, "Print an ini file in which every key has its default", 0},
	{"check", KEY_CHECK, "FILE", 0, "Tell all mistakes of a file, as `whorl bench` or `whorl sim` would", 0},
	{NULL, 0, NULL, 0, NULL, 0},
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case KEY_DESCRIBE:
		if (arguments->form == FORM_NONE)
			arguments->form = FORM_TEXT;
		return 0;
	case KEY_MARKDOWN:
		arguments->form = FORM_MARKDOWN;
		return 0;
	case KEY_SAMPLE:
		arguments->form = FORM_SAMPLE;
		return 0;
	case KEY_CHECK:
		arguments->form = FORM_CHECK;
		arguments->file = argument;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "\"%s\" is not understood", argument);
		return 0;
	case ARGP_KEY_END:
		if (arguments->form == FORM_NONE)
			argp_error(state, "what: --describe, --markdown, --sample, or --check FILE?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {options, parse_option, NULL, "Describe the keys of an ini file, or check one.",
				 NULL,    NULL,         NULL};

/* "1 to 32768 messages", "on | off"; "" for a text: its meaning says it. */
static const char *range_of(const struct wh_option *option, char *buf, size_t bytes)
{
	size_t used;

	wh_option_expected(option, buf, bytes);
	if (option->kind == WH_OPTION_TEXT)
		buf[0] = '\0';
	used = strlen(buf);
	if (option->unit[0] != '\0')
		snprintf(buf + used, bytes - used, " %s", option->unit);
	return buf;
}

/* Text in lines of at most 100 columns, each behind `indent` blanks. */
static void print_wrapped(const char *text, int indent)
{
	int column = 0;

	while (*text != '\0') {
		int length = (int)strcspn(text, " ");

		if (column == 0 || column + 1 + length > 100) {
			printf("%s%*s", column == 0 ? "" : "\n", indent, "");
			column = indent;
		} else {
			putchar(' ');
			column++;
		}
		printf("%.*s", length, text);
		column += length;
		text += length;
		text += strspn(text, " ");
	}
	putchar('\n');
}

static void print_text(const struct wh_option_table *table)
{
	char buf[512];

	printf("[%s]\n", wh_option_header(table, buf, sizeof buf));
	print_wrapped(table->meaning, 4);
	for (size_t i = 0; i < table->count; i++) {
		const struct wh_option *option = &table->options[i];

		printf("\n  %s = %s\n", option->key, option->fallback);
		print_wrapped(option->meaning, 6);
		range_of(option, buf, sizeof buf);
		if (buf[0] != '\0' || option->sweep)
			printf("      %s%s%s\n", buf, buf[0] != '\0' && option->sweep ? "; " : "",
			       option->sweep ? "may be a list" : "");
	}
	putchar('\n');
}

/* A bar would end the cell. */
static void print_cell(const char *text)
{
	for (; *text != '\0'; text++)
		printf("%s%c", *text == '|' ? "\\" : "", *text);
}

static void print_markdown(const struct wh_option_table *table)
{
	char buf[512];

	printf("## [%s]\n\n%s\n\n", wh_option_header(table, buf, sizeof buf), table->meaning);
	printf("| key | default | range | list | meaning |\n|---|---|---|---|---|\n");
	for (size_t i = 0; i < table->count; i++) {
		const struct wh_option *option = &table->options[i];

		printf("| `%s` | `%s` | ", option->key, option->fallback);
		print_cell(range_of(option, buf, sizeof buf));
		printf(" | %s | ", option->sweep ? "yes" : "");
		print_cell(option->meaning);
		printf(" |\n");
	}
	putchar('\n');
}

/* Loads as it is. */
static void print_sample(const struct wh_option_table *table)
{
	printf("[%s%s]\n", table->section,
	       table->naming == WH_OPTION_PATTERN   ? " *"
	       : table->naming != WH_OPTION_UNNAMED ? " all"
						    : "");
	for (size_t i = 0; i < table->count; i++)
		printf("%s = %s\n", table->options[i].key, table->options[i].fallback);
	putchar('\n');
}

static void print_all(enum form form)
{
	if (form == FORM_MARKDOWN)
		printf("# Configuration\n\nMade by `whorl config --markdown` from the tables that the parser uses. "
		       "Numbers may end in k, m or g: times 1024 for bytes, times 1000 otherwise. `#` and `;` begin "
		       "a comment. Where a list is allowed, as in `bytes = 128, 10240`, `whorl bench` runs each "
		       "combination.\n\n");
	for (size_t t = 0; t < wh_section_count; t++) {
		if (form == FORM_TEXT)
			print_text(wh_sections[t]);
		else if (form == FORM_MARKDOWN)
			print_markdown(wh_sections[t]);
		else
			print_sample(wh_sections[t]);
	}
}

/* As `whorl sim` does before it runs, if there is a section [sim], or `whorl bench`. */
static enum wh_exit check_file(const char *file)
{
	struct wh_conf *conf = wh_sections_conf();
	enum wh_exit status;

	if (conf == NULL) {
		wh_say("%s", whorl_result_text(WHORL_MEMORY));
		return WH_EXIT_MACHINE;
	}
	wh_conf_load_file(conf, file);
	status = wh_conf_has(conf, "sim", NULL) ? wh_sim_check(conf) : wh_bench_check(conf, file);
	if (status == WH_EXIT_GOOD)
		printf("%s: no mistakes, %zu variant%s\n", file, wh_conf_variants(conf),
		       wh_conf_variants(conf) > 1 ? "s" : "");
	wh_conf_free(conf);
	return status;
}

int wh_config_main(int argc, char **argv)
{
	struct arguments arguments = {.form = FORM_NONE};

	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	if (arguments.form == FORM_CHECK)
		return check_file(arguments.file);
	print_all(arguments.form);
	return WH_EXIT_GOOD;
}
