/* conf.c - the configuration as other modules see it: loading, setting, checking, asking.
 *
 * Each of them leaves its mistakes behind and goes on. When memory is out, that is the one mistake that is shown.
 */
#include "conf/conf_int.h"

#include <stdio.h>
#include <stdlib.h>

struct wh_conf *wh_conf_new(const struct wh_option_table *const *tables, size_t count)
{
	struct wh_conf *conf = calloc(1, sizeof(*conf));
	size_t most = 1;

	if (conf == NULL)
		return NULL;
	for (size_t i = 0; i < count; i++)
		most = tables[i]->bytes > most ? tables[i]->bytes : most;
	conf->scratch = calloc(1, most);
	if (conf->scratch == NULL) {
		free(conf);
		return NULL;
	}
	conf->tables = tables;
	conf->table_count = count;
	conf->variants = 1;
	return conf;
}

static void free_section(struct wh_section *section)
{
	for (size_t i = 0; i < section->table->count; i++) {
		free(section->settings[i].file.pieces);
		free(section->settings[i].set.pieces);
	}
	free(section);
}

void wh_conf_free(struct wh_conf *conf)
{
	if (conf == NULL)
		return;
	for (size_t i = 0; i < conf->section_count; i++)
		free_section(conf->sections[i]);
	for (size_t i = 0; i < conf->source_count; i++)
		free(conf->sources[i]);
	for (size_t i = 0; i < conf->ignored_count; i++)
		free(conf->ignored[i]);
	free(conf->sections);
	free(conf->sources);
	free(conf->ignored);
	free(conf->passed);
	free(conf->scratch);
	wh_mistakes_free(&conf->mistakes);
	free(conf);
}

/* A copy of `text` at the end of a list of strings; NULL, and noted, when memory is out. */
static char *append_string(struct wh_conf *conf, char ***list, size_t *count, const char *text)
{
	char **longer = realloc(*list, (*count + 1) * sizeof(*longer));
	char *copy = strdup(text);

	if (longer != NULL)
		*list = longer;
	if (longer == NULL || copy == NULL) {
		free(copy);
		conf->mistakes.memory_out = true;
		return NULL;
	}
	longer[(*count)++] = copy;
	return copy;
}

void wh_conf_ignore(struct wh_conf *conf, const char *section)
{
	append_string(conf, &conf->ignored, &conf->ignored_count, section);
}

void wh_conf_ignore_others(struct wh_conf *conf)
{
	conf->ignores_others = true;
}

static bool has_string(char *const *list, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(list[i], text) == 0)
			return true;
	}
	return false;
}

static bool has_table(const struct wh_conf *conf, const char *word)
{
	for (size_t i = 0; i < conf->table_count; i++) {
		if (strcmp(conf->tables[i]->section, word) == 0)
			return true;
	}
	return false;
}

static bool is_ignored(const struct wh_conf *conf, const char *word)
{
	return has_string(conf->ignored, conf->ignored_count, word) || (conf->ignores_others && !has_table(conf, word));
}

static void pass_over(struct wh_conf *conf, struct wh_place place, const char *word, const char *name)
{
	struct wh_passed *longer = realloc(conf->passed, (conf->passed_count + 1) * sizeof(*longer)), *passed;

	if (longer == NULL) {
		conf->mistakes.memory_out = true;
		return;
	}
	conf->passed = longer;
	passed = &longer[conf->passed_count++];
	snprintf(passed->word, sizeof(passed->word), "%s", word);
	snprintf(passed->name, sizeof(passed->name), "%s", name);
	passed->place = place;
}

/* The first from *index on of sections that are called so; NULL: there is none more. */
static const struct wh_passed *next_passed(const struct wh_conf *conf, const char *word, size_t *index)
{
	for (; *index < conf->passed_count; ++*index) {
		if (strcmp(conf->passed[*index].word, word) == 0)
			return &conf->passed[(*index)++];
	}
	return NULL;
}

bool wh_conf_passed_over(const struct wh_conf *conf, const char *section)
{
	size_t index = 0;

	return next_passed(conf, section, &index) != NULL;
}

const char *wh_conf_passed_name(const struct wh_conf *conf, const char *section, size_t *index)
{
	const struct wh_passed *passed = next_passed(conf, section, index);

	return passed != NULL ? passed->name : NULL;
}

static enum whorl_result result_of_mistakes(const struct wh_conf *conf)
{
	return wh_mistakes_any(&conf->mistakes) ? WHORL_CONFIG : WHORL_OK;
}

struct load {
	struct wh_conf *conf;
	struct wh_place place;      /* of the file; each line has its own */
	struct wh_section *current; /* NULL: none yet, or not to be looked into */
};

static struct wh_place place_of_line(const struct load *load, size_t line)
{
	struct wh_place place = load->place;

	place.line = line;
	return place;
}

static bool load_section(void *ctx, size_t line, const char *word, const char *name)
{
	struct load *load = ctx;
	struct wh_conf *conf = load->conf;
	struct wh_place place = place_of_line(load, line);
	const struct wh_option_table *table;
	char path[WH_CONF_PATH_BYTES];

	load->current = NULL;
	if (word == NULL)
		return false;
	if (is_ignored(conf, word)) {
		pass_over(conf, place, word, name);
		return false;
	}
	if (!wh_conf_takes_name(conf, word, name)) {
		wh_mistakes_add(&conf->mistakes, place, "",
				"\"[%s %s]\" is not understood, expected [SECTION] or [SECTION NAME]", word, name);
		return false;
	}
	wh_conf_path(word, name, NULL, path);
	table = wh_conf_find_table(conf, place, path, word, name);
	if (table != NULL)
		load->current = wh_conf_open_section(conf, place, path, table, name);
	return load->current != NULL;
}

static void load_setting(void *ctx, size_t line, const char *key, const char *value)
{
	struct load *load = ctx;
	struct wh_place place = place_of_line(load, line);

	if (load->current == NULL)
		wh_mistakes_add(&load->conf->mistakes, place, key,
				"stands before any section, expected [SECTION] above it");
	else
		wh_conf_give(load->conf, load->current, place, key, value, strlen(value));
}

static void load_mistake(void *ctx, size_t line, const char *what)
{
	struct load *load = ctx;
	char path[WH_CONF_PATH_BYTES] = "";

	if (load->current != NULL)
		wh_conf_path(load->current->table->section, load->current->name, NULL, path);
	wh_mistakes_add(&load->conf->mistakes, place_of_line(load, line), path, "%s", what);
}

/* The place of a new source; false when memory is out. */
static bool add_source(struct wh_conf *conf, const char *name, struct wh_place *place)
{
	const char *source = append_string(conf, &conf->sources, &conf->source_count, name);

	*place = (struct wh_place){.source = source, .order = conf->source_count};
	return source != NULL;
}

static enum whorl_result load_bytes(struct wh_conf *conf, struct wh_place place, const char *text, size_t bytes)
{
	struct load load = {.conf = conf, .place = place};
	const struct wh_lines_sink sink = {
		.ctx = &load,
		.section = load_section,
		.setting = load_setting,
		.mistake = load_mistake,
	};

	wh_lines_parse(text, bytes, &sink);
	return result_of_mistakes(conf);
}

enum whorl_result wh_conf_load_text(struct wh_conf *conf, const char *name, const char *text)
{
	struct wh_place place;

	if (!add_source(conf, name, &place))
		return WHORL_CONFIG;
	return load_bytes(conf, place, text, strlen(text));
}

enum whorl_result wh_conf_load_file(struct wh_conf *conf, const char *path)
{
	struct wh_place place;
	struct wh_error err;
	char *text;
	size_t bytes;
	enum whorl_result result;

	if (!add_source(conf, path, &place))
		return WHORL_CONFIG;
	if (wh_lines_slurp(path, &text, &bytes, &err) != WHORL_OK) {
		wh_mistakes_add(&conf->mistakes, place, "", "cannot be read: %s", err.text);
		return WHORL_CONFIG;
	}
	result = load_bytes(conf, place, text, bytes);
	free(text);
	return result;
}

/* One "word name.key=value", taken apart. */
struct assignment {
	char word[WH_CONF_NAME_BYTES], name[WH_CONF_NAME_BYTES], key[WH_CONF_NAME_BYTES];
	const char *value;
	size_t value_bytes;
};

/* False if the text is nothing of the kind. The value points into the text. */
static bool split_assignment(const char *text, struct assignment *out)
{
	const char *equals = strchr(text, '='), *dot, *key;
	size_t key_bytes;

	if (equals == NULL)
		return false;
	dot = memrchr(text, '.', (size_t)(equals - text));
	if (dot == NULL || !wh_lines_split_section(text, (size_t)(dot - text), out->word, out->name))
		return false;
	key = dot + 1;
	key_bytes = (size_t)(equals - key);
	wh_lines_trim(&key, &key_bytes);
	if (!wh_lines_is_key(key, key_bytes))
		return false;
	memcpy(out->key, key, key_bytes);
	out->key[key_bytes] = '\0';
	out->value = equals + 1;
	out->value_bytes = strlen(out->value);
	wh_lines_trim(&out->value, &out->value_bytes);
	return true;
}

enum whorl_result wh_conf_set(struct wh_conf *conf, const char *assignment)
{
	const struct wh_place place = {.source = "--set", .order = WH_ORDER_SET, .line = ++conf->set_count};
	const struct wh_option_table *table;
	struct wh_section *section;
	struct assignment set;
	char path[WH_CONF_PATH_BYTES], what[64];

	if (!wh_lines_is_text(assignment, strlen(assignment), what)) {
		wh_mistakes_add(&conf->mistakes, place, "", "it has %s, expected text in UTF-8", what);
		return WHORL_CONFIG;
	}
	if (!split_assignment(assignment, &set) || !wh_conf_takes_name(conf, set.word, set.name)) {
		const char *ellipsis;
		int quoted = wh_error_quote(assignment, strlen(assignment), &ellipsis);

		wh_mistakes_add(&conf->mistakes, place, "", "\"%.*s%s\" is not understood, expected section.key=value",
				quoted, assignment, ellipsis);
		return WHORL_CONFIG;
	}
	if (is_ignored(conf, set.word))
		return result_of_mistakes(conf);
	wh_conf_path(set.word, set.name, set.key, path);
	table = wh_conf_find_table(conf, place, path, set.word, set.name);
	if (table == NULL)
		return WHORL_CONFIG;
	section = wh_conf_need_section(conf, place, table, set.name);
	if (section != NULL)
		wh_conf_give(conf, section, place, set.key, set.value, set.value_bytes);
	return result_of_mistakes(conf);
}

enum whorl_result wh_conf_check(struct wh_conf *conf)
{
	if (result_of_mistakes(conf) == WHORL_OK)
		wh_conf_count_variants(conf);
	return result_of_mistakes(conf);
}

/* The line of the key, else of the section, else the file that was loaded last. */
static struct wh_place place_of(const struct wh_conf *conf, const char *word, const char *name, const char *key)
{
	const struct wh_section *section = word != NULL ? wh_conf_find_section(conf, word, name) : NULL;
	const struct wh_option *option = NULL;
	const struct wh_value *value = NULL;

	if (section != NULL && key != NULL)
		option = wh_option_find(section->table, key);
	if (option != NULL)
		value = wh_conf_value(section, (size_t)(option - section->table->options));
	if (value != NULL)
		return value->place;
	if (section != NULL)
		return section->place;
	for (size_t i = 0; word != NULL && i < conf->passed_count; i++) {
		if (strcmp(conf->passed[i].word, word) == 0 && strcmp(conf->passed[i].name, name) == 0)
			return conf->passed[i].place;
	}
	if (conf->source_count > 0)
		return (struct wh_place){conf->sources[conf->source_count - 1], conf->source_count, 0};
	return (struct wh_place){"configuration", 0, 0};
}

void wh_conf_mistake(struct wh_conf *conf, const char *section, const char *name, const char *key, const char *format,
		     ...)
{
	char path[WH_CONF_PATH_BYTES] = "";
	va_list args;

	if (name == NULL)
		name = "";
	if (section != NULL)
		wh_conf_path(section, name, key, path);
	va_start(args, format);
	wh_mistakes_add_list(&conf->mistakes, place_of(conf, section, name, key), path, format, args);
	va_end(args);
}

const char *wh_conf_mistakes(const struct wh_conf *conf)
{
	return wh_mistakes_text(&conf->mistakes);
}

const char *wh_conf_instance(const struct wh_conf *conf, const char *section, size_t index)
{
	for (size_t i = 0; i < conf->section_count; i++) {
		const struct wh_section *found = conf->sections[i];

		if (found->table->naming != WH_OPTION_UNNAMED && strcmp(found->table->section, section) == 0 &&
		    index-- == 0)
			return found->name;
	}
	return NULL;
}

bool wh_conf_given(const struct wh_conf *conf, const char *section, const char *name, const char *key)
{
	const struct wh_section *found = wh_conf_find_section(conf, section, name != NULL ? name : "");

	for (size_t index = 0; found != NULL && index < found->table->count; index++)
		if (strcmp(found->table->options[index].key, key) == 0)
			return wh_conf_value(found, index) != NULL;
	return false;
}

bool wh_conf_has(const struct wh_conf *conf, const char *section, const char *name)
{
	return wh_conf_find_section(conf, section, name != NULL ? name : "") != NULL;
}
