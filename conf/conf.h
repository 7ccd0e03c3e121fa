/* conf.h - the loader of ini files.
 *
 * Loading keeps every line as text with its file and line. Checking holds all of it against the option tables and
 * collects every mistake. Binding fills a struct. A value that is a list makes variants: the file is run once for each
 * combination (the last list varies fastest).
 * Mistakes read `FILE:LINE: section.key: what is wrong, what is expected`, one a line.
 */
#ifndef WH_CONF_CONF_H
#define WH_CONF_CONF_H

#include "base/option.h"

struct wh_conf;

/* `tables` must outlive the conf. Returns NULL only when memory is out. */
struct wh_conf *wh_conf_new(const struct wh_option_table *const *tables, size_t count);
void wh_conf_free(struct wh_conf *conf);

/* The sections of a table that another reader of the same file claims: not looked into. */
void wh_conf_ignore(struct wh_conf *conf, const char *section);

/* Each returns WHORL_OK, or WHORL_CONFIG with mistakes noted (also a file that cannot be read). Loading goes on after a
 * mistake, so that all are found; a key given twice in a section is one. */
enum whorl_result wh_conf_load_file(struct wh_conf *conf, const char *path);
enum whorl_result wh_conf_load_text(struct wh_conf *conf, const char *name, const char *text);

/* One "section.key=value" (the section of a named one is "subgroup orders", the last dot before '=' divides), which
 * wins over the file. A named section that does not exist yet is made. */
enum whorl_result wh_conf_set(struct wh_conf *conf, const char *assignment);

/* Holds everything against the tables. WHORL_OK if no mistake has been noted since wh_conf_new. */
enum whorl_result wh_conf_check(struct wh_conf *conf);

/* Notes a mistake that only the caller can see (a member list that names no node). Points at the line of the key if the
 * file has it, at the section's line if it has that, at the file otherwise. name: of a named section, or NULL. */
void wh_conf_mistake(struct wh_conf *conf, const char *section, const char *name, const char *key,
		     const char *format, ...) WH_PRINTF(5, 6);

/* All mistakes so far, one a line without a newline at the end; "" if none. Owned by the conf. */
const char *wh_conf_mistakes(const struct wh_conf *conf);

size_t wh_conf_variants(const struct wh_conf *conf); /* 1 if no value is a list */

/* The names of the sections [section NAME], in the file's order; NULL behind the last. */
const char *wh_conf_instance(const struct wh_conf *conf, const char *section, size_t index);
bool wh_conf_has(const struct wh_conf *conf, const char *section, const char *name);

/* Fills `out` (table->bytes) for one variant, defaults first. Only after a wh_conf_check that was WHORL_OK. */
void wh_conf_bind(const struct wh_conf *conf, size_t variant, const struct wh_option_table *table, const char *name,
		  void *out);

/* "bytes = 128, window = 100": what tells this variant from the others; "" if there is one. Returns buf. */
const char *wh_conf_variant_text(const struct wh_conf *conf, size_t variant, char *buf, size_t bytes);

#endif
