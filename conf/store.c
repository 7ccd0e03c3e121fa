/* store.c - sections and the values of their keys.
 *
 * Everything is held against the tables as it arrives. A key of a section has two places for a value, one for the
 * file's and one for that of wh_conf_set, which wins; so loading and setting may come in any order.
 */
#include "conf/conf_int.h"

#include <stdio.h>
#include <stdlib.h>

const char *wh_conf_path(const char *section, const char *name, const char *key, char buf[WH_CONF_PATH_BYTES])
{
	snprintf(buf, WH_CONF_PATH_BYTES, "%s%s%s%s%s", section, name[0] != '\0' ? " " : "", name,
		 key != NULL ? "." : "", key != NULL ? key : "");
	return buf;
}

/* "is given twice, first at FILE:LINE" */
static void mistake_twice(struct wh_conf *conf, struct wh_place place, const char *path, const struct wh_place *first)
{
	wh_mistakes_add(&conf->mistakes, place, path, "is given twice, first at %s:%zu", first->source, first->line);
}

static void append_word(char *list, size_t bytes, const char *word)
{
	size_t used = strlen(list);

	snprintf(list + used, bytes - used, "%s%s", used > 0 ? ", " : "", word);
}

static void mistake_unknown_section(struct wh_conf *conf, struct wh_place place, const char *path, const char *word)
{
	const char *meant = NULL;
	char known[512] = "", header[WH_CONF_NAME_BYTES];
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < conf->table_count; i++) {
		const struct wh_option_table *table = conf->tables[i];

		append_word(known, sizeof(known), wh_option_header(table, header, sizeof(header)));
		if (wh_conf_is_closer(word, table->section, &best))
			meant = table->section;
	}
	if (meant != NULL)
		wh_mistakes_add(&conf->mistakes, place, path, "unknown section, did you mean %s?", meant);
	else
		wh_mistakes_add(&conf->mistakes, place, path, "unknown section, expected one of %s", known);
}

bool wh_conf_takes_name(const struct wh_conf *conf, const char *word, const char *name)
{
	if (name[0] == '\0' || wh_lines_is_name(name, strlen(name)))
		return true;
	for (size_t i = 0; i < conf->table_count; i++) {
		if (strcmp(conf->tables[i]->section, word) == 0 && conf->tables[i]->naming == WH_OPTION_PATTERN)
			return true;
	}
	return false;
}

static bool takes_names(const struct wh_option_table *table)
{
	return table->naming != WH_OPTION_UNNAMED;
}

const struct wh_option_table *wh_conf_find_table(struct wh_conf *conf, struct wh_place place, const char *path,
						 const char *word, const char *name)
{
	const struct wh_option_table *table = NULL;
	char header[WH_CONF_NAME_BYTES];

	for (size_t i = 0; i < conf->table_count; i++) {
		const struct wh_option_table *other = conf->tables[i];

		if (strcmp(other->section, word) == 0 && (table == NULL || takes_names(other) == (name[0] != '\0')))
			table = other;
	}
	if (table == NULL) {
		mistake_unknown_section(conf, place, path, word);
		return NULL;
	}
	if (takes_names(table) && name[0] == '\0') {
		wh_mistakes_add(&conf->mistakes, place, path, "needs a name, expected [%s]",
				wh_option_header(table, header, sizeof(header)));
		return NULL;
	}
	if (!takes_names(table) && name[0] != '\0') {
		wh_mistakes_add(&conf->mistakes, place, path, "takes no name, expected [%s]", word);
		return NULL;
	}
	return table;
}

struct wh_section *wh_conf_find_section(const struct wh_conf *conf, const char *word, const char *name)
{
	for (size_t i = 0; i < conf->section_count; i++) {
		struct wh_section *section = conf->sections[i];

		if (strcmp(section->table->section, word) == 0 && strcmp(section->name, name) == 0)
			return section;
	}
	return NULL;
}

/* A new section, behind all others. */
static struct wh_section *add_section(struct wh_conf *conf, struct wh_place place, const struct wh_option_table *table,
				      const char *name)
{
	struct wh_section **longer, *section;

	if (conf->section_count == WH_CONF_SECTIONS_MAX) {
		wh_mistakes_add(&conf->mistakes, place, table->section,
				"there are more sections than can be, expected at most %d", WH_CONF_SECTIONS_MAX);
		return NULL;
	}
	longer = realloc(conf->sections, (conf->section_count + 1) * sizeof(*longer));
	if (longer == NULL)
		goto out_of_memory;
	conf->sections = longer;
	section = calloc(1, sizeof(*section) + table->count * sizeof(section->settings[0]));
	if (section == NULL)
		goto out_of_memory;
	section->table = table;
	section->place = place;
	snprintf(section->name, sizeof(section->name), "%s", name);
	conf->sections[conf->section_count++] = section;
	return section;

out_of_memory:
	conf->mistakes.memory_out = true;
	return NULL;
}

struct wh_section *wh_conf_open_section(struct wh_conf *conf, struct wh_place place, const char *path,
					const struct wh_option_table *table, const char *name)
{
	struct wh_section *section = wh_conf_find_section(conf, table->section, name);
	size_t at = conf->file_section_count;

	if (section != NULL && section->place.order != WH_ORDER_SET) {
		mistake_twice(conf, place, path, &section->place);
		return section;
	}
	if (section == NULL)
		section = add_section(conf, place, table, name);
	if (section == NULL)
		return NULL;
	section->place = place;
	/* It moves before all that only wh_conf_set has made. */
	for (struct wh_section *moved = NULL; moved != section; at++) {
		struct wh_section *next = conf->sections[at];

		conf->sections[at] = moved != NULL ? moved : section;
		moved = next;
	}
	conf->file_section_count++;
	return section;
}

struct wh_section *wh_conf_need_section(struct wh_conf *conf, struct wh_place place,
					const struct wh_option_table *table, const char *name)
{
	struct wh_section *section = wh_conf_find_section(conf, table->section, name);

	return section != NULL ? section : add_section(conf, place, table, name);
}

static void mistake_unknown_key(struct wh_conf *conf, struct wh_place place, const char *path,
				const struct wh_option_table *table, const char *key)
{
	const char *meant = NULL;
	char known[1024] = "", header[WH_CONF_NAME_BYTES];
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < table->count; i++) {
		append_word(known, sizeof(known), table->options[i].key);
		if (wh_conf_is_closer(key, table->options[i].key, &best))
			meant = table->options[i].key;
	}
	for (size_t i = 0; i < conf->table_count; i++) {
		const struct wh_option_table *other = conf->tables[i];

		if (wh_option_find(other, key) != NULL) {
			wh_mistakes_add(&conf->mistakes, place, path, "unknown key here, expected in [%s]",
					wh_option_header(other, header, sizeof(header)));
			return;
		}
	}
	if (meant != NULL)
		wh_mistakes_add(&conf->mistakes, place, path, "unknown key, did you mean %s?", meant);
	else
		wh_mistakes_add(&conf->mistakes, place, path, "unknown key, expected one of %s", known);
}

/* Takes a list apart in place: what stands between commas, without the blanks around it, each with a NUL behind it. */
static size_t split_list(char *text)
{
	const char *in = text;
	char *out = text;
	size_t count = 1;

	for (;; count++) {
		const char *piece = in;
		size_t bytes = strcspn(in, ",");
		bool last = in[bytes] == '\0';

		in += bytes + 1;
		wh_lines_trim(&piece, &bytes);
		memmove(out, piece, bytes); /* to the left, never beyond the comma */
		out[bytes] = '\0';
		out += bytes + 1;
		if (last)
			return count;
	}
}

/* Notes what is wrong with each piece of the value. */
static void check_value(struct wh_conf *conf, const char *path, const struct wh_option *option,
			const struct wh_value *value)
{
	const char *piece = value->pieces;
	struct wh_error err;

	if (option->kind != WH_OPTION_TEXT && !option->sweep && strchr(piece, ',') != NULL) {
		const char *ellipsis;
		int quoted = wh_error_quote(piece, strlen(piece), &ellipsis);

		wh_mistakes_add(&conf->mistakes, value->place, path, "is the list \"%.*s%s\", expected a single value",
				quoted, piece, ellipsis);
		return;
	}
	for (size_t i = 0; i < value->count; i++, piece = wh_conf_next_piece(piece)) {
		if (wh_option_parse(option, piece, conf->scratch, &err) != WHORL_OK)
			wh_mistakes_add(&conf->mistakes, value->place, path, "%s", err.text);
	}
}

void wh_conf_give(struct wh_conf *conf, struct wh_section *section, struct wh_place place, const char *key,
		  const char *text, size_t bytes)
{
	const struct wh_option *option = wh_option_find(section->table, key);
	struct wh_setting *setting;
	struct wh_value *value;
	char path[WH_CONF_PATH_BYTES];

	wh_conf_path(section->table->section, section->name, key, path);
	if (option == NULL) {
		mistake_unknown_key(conf, place, path, section->table, key);
		return;
	}
	setting = &section->settings[option - section->table->options];
	value = place.order == WH_ORDER_SET ? &setting->set : &setting->file;
	if (value == &setting->file && value->pieces != NULL) {
		mistake_twice(conf, place, path, &value->place);
		return;
	}
	free(value->pieces); /* of two wh_conf_set the last has the word */
	value->pieces = strndup(text, bytes);
	if (value->pieces == NULL) {
		conf->mistakes.memory_out = true;
		return;
	}
	value->count = option->sweep && option->kind != WH_OPTION_TEXT ? split_list(value->pieces) : 1;
	value->place = place;
	check_value(conf, path, option, value);
}

const struct wh_value *wh_conf_value(const struct wh_section *section, size_t index)
{
	const struct wh_setting *setting = &section->settings[index];

	if (setting->set.pieces != NULL)
		return &setting->set;
	return setting->file.pieces != NULL ? &setting->file : NULL;
}
