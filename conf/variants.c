/* variants.c - from the text of the configuration to the structs of its variants. */
#include "conf/conf_int.h"

#include <stdio.h>

/* Where the key stands in the file, or else where it was set. */
static struct wh_place place_of_key(const struct wh_section *section, size_t index)
{
	const struct wh_setting *setting = &section->settings[index];

	return setting->file.pieces != NULL ? setting->file.place : setting->set.place;
}

/* By place: the last list in the file varies fastest. */
static void insert_axis(struct wh_conf *conf, const struct wh_axis *axis)
{
	size_t at = conf->axis_count++;

	for (; at > 0 && wh_place_before(&axis->place, &conf->axes[at - 1].place); at--)
		conf->axes[at] = conf->axes[at - 1];
	conf->axes[at] = *axis;
}

/* False, and noted, if there are too many variants now. */
static bool add_axis(struct wh_conf *conf, const struct wh_section *section, size_t index, const struct wh_value *value)
{
	const struct wh_axis axis = {
		.section = section,
		.option = &section->table->options[index],
		.value = value,
		.place = place_of_key(section, index),
	};
	char path[WH_CONF_PATH_BYTES];

	if (value->count > WH_CONF_VARIANTS_MAX / conf->variants) {
		wh_conf_path(section->table->section, section->name, axis.option->key, path);
		wh_mistakes_add(&conf->mistakes, value->place, path,
				"the lists make more variants than can be run, expected at most %d",
				WH_CONF_VARIANTS_MAX);
		return false;
	}
	conf->variants *= value->count;
	insert_axis(conf, &axis);
	return true;
}

void wh_conf_count_variants(struct wh_conf *conf)
{
	conf->variants = 1;
	conf->axis_count = 0;
	for (size_t i = 0; i < conf->section_count; i++) {
		const struct wh_section *section = conf->sections[i];

		for (size_t index = 0; index < section->table->count; index++) {
			const struct wh_value *value = wh_conf_value(section, index);

			if (value != NULL && value->count > 1 && !add_axis(conf, section, index, value))
				return;
		}
	}
}

size_t wh_conf_variants(const struct wh_conf *conf)
{
	return conf->variants;
}

static const char *nth_piece(const struct wh_value *value, size_t n)
{
	const char *piece = value->pieces;

	for (; n > 0; n--)
		piece = wh_conf_next_piece(piece);
	return piece;
}

/* Which piece of axis number `at` belongs to the variant: the digits of a number, the last one the fastest. */
static size_t digit_of(const struct wh_conf *conf, size_t variant, size_t at)
{
	for (size_t i = conf->axis_count - 1; i > at; i--)
		variant /= conf->axes[i].value->count;
	return variant % conf->axes[at].value->count;
}

static const char *piece_of(const struct wh_conf *conf, size_t variant, const struct wh_value *value)
{
	for (size_t i = 0; i < conf->axis_count; i++) {
		if (conf->axes[i].value == value)
			return nth_piece(value, digit_of(conf, variant, i));
	}
	return value->pieces;
}

void wh_conf_bind(const struct wh_conf *conf, size_t variant, const struct wh_option_table *table, const char *name,
		  void *out)
{
	const struct wh_section *section = wh_conf_find_section(conf, table->section, name != NULL ? name : "");

	wh_option_defaults(table, out);
	if (section == NULL)
		return;
	for (size_t index = 0; index < table->count; index++) {
		const struct wh_value *value = wh_conf_value(section, index);

		/* It was parsed before, when it was given: after a good wh_conf_check this cannot fail. */
		if (value != NULL)
			(void)!wh_option_parse(&table->options[index], piece_of(conf, variant, value), out, NULL);
	}
}

/* Is the key varied in two sections, so that it alone does not say which is meant? */
static bool is_ambiguous(const struct wh_conf *conf, size_t at)
{
	for (size_t i = 0; i < conf->axis_count; i++) {
		if (i != at && strcmp(conf->axes[i].option->key, conf->axes[at].option->key) == 0)
			return true;
	}
	return false;
}

const char *wh_conf_variant_text(const struct wh_conf *conf, size_t variant, char *buf, size_t bytes)
{
	char path[WH_CONF_PATH_BYTES];
	size_t used = 0;

	if (bytes > 0)
		buf[0] = '\0';
	for (size_t i = 0; i < conf->axis_count && used < bytes; i++) {
		const struct wh_axis *axis = &conf->axes[i];
		const char *key = axis->option->key;
		int length;

		if (is_ambiguous(conf, i))
			key = wh_conf_path(axis->section->table->section, axis->section->name, key, path);
		length = snprintf(buf + used, bytes - used, "%s%s = %s", i > 0 ? ", " : "", key,
				  nth_piece(axis->value, digit_of(conf, variant, i)));
		used += length > 0 ? (size_t)length : 0;
	}
	return buf;
}

bool wh_conf_may_vary(const struct wh_conf *conf, const char *key)
{
	const char *dot = strrchr(key, '.');
	char word[WH_CONF_NAME_BYTES], name[WH_CONF_NAME_BYTES];

	if (dot != NULL && !wh_lines_split_section(key, (size_t)(dot - key), word, name))
		return false;
	for (size_t t = 0; t < conf->table_count; t++) {
		const struct wh_option_table *table = conf->tables[t];
		const struct wh_option *option = wh_option_find(table, dot != NULL ? dot + 1 : key);

		if (dot != NULL &&
		    (strcmp(table->section, word) != 0 || (table->naming != WH_OPTION_UNNAMED) != (name[0] != '\0')))
			continue;
		if (option != NULL && option->sweep)
			return true;
	}
	return false;
}
