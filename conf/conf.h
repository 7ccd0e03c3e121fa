/* conf.h - the loader of ini files.
 *
 * What is loaded or set is held against the option tables at once, and every mistake is collected. Checking looks at the
 * whole. Binding fills a struct. A value that is a list makes variants: the file is run once for each combination (the
 * list that stands last varies fastest).
 * Mistakes read `FILE:LINE: section.key: what is wrong, what is expected`, one a line, in the order of the files; those
 * of wh_conf_set come last and read `--set: section.key: ...`.
 *
 * A file is UTF-8, of at most 1 MiB. A line is blank, a comment (after ';' or '#'), `[section]`, `[section NAME]` or
 * `key = value`, each with blanks around it as one likes; behind a blank, ';' begins a comment too. A line `key = value`
 * is at most 198 bytes long. NAME is 1 to 63 letters, digits, '_', '-' and '.'; in sections that are
 * for patterns, any of ASCII but blanks, quotes, brackets, '=', ';' and '#'.
 */
#ifndef WH_CONF_CONF_H
#define WH_CONF_CONF_H

#include "base/option.h"

struct wh_conf;

/* `tables` must outlive the conf. Returns NULL only when memory is out. */
struct wh_conf *wh_conf_new(const struct wh_option_table *const *tables, size_t count);
void wh_conf_free(struct wh_conf *conf);

/* The sections of a table that another reader of the same file claims: not looked into. To be called before loading. */
void wh_conf_ignore(struct wh_conf *conf, const char *section);
/* The same of all sections that no table is for. */
void wh_conf_ignore_others(struct wh_conf *conf);
/* Was there one of these sections in what was loaded? */
bool wh_conf_passed_over(const struct wh_conf *conf, const char *section);
/* Their names ("": it has none), in the order of the files: that of the first from *index on, which is 0 at first and is moved behind it; NULL:
 * there is none more. */
const char *wh_conf_passed_name(const struct wh_conf *conf, const char *section, size_t *index);

/* Each returns WHORL_OK, or WHORL_CONFIG if mistakes have been noted, in this call or before (also: a file that cannot be
 * read). Loading goes on after a mistake, so that all are found; a key given twice in a section is one, and a section
 * given twice. */
enum whorl_result wh_conf_load_file(struct wh_conf *conf, const char *path);
enum whorl_result wh_conf_load_text(struct wh_conf *conf, const char *name, const char *text);

/* One "section.key=value" (the section of a named one is "subgroup orders", the last dot before '=' divides), which
 * wins over the file, loaded before or after; of two for one key the last wins. A named section that does not exist yet
 * is made, behind those of the files. */
enum whorl_result wh_conf_set(struct wh_conf *conf, const char *assignment);

/* Counts the variants, which must not be more than 10,000. WHORL_OK if no mistake has been noted since wh_conf_new. */
enum whorl_result wh_conf_check(struct wh_conf *conf);

/* Notes a mistake that only the caller can see (a member list that names no node). Points at the line of the key if the
 * file has it, at the section's line if it has that (passed over or not), at the file otherwise. name: of a named section, or NULL. */
void wh_conf_mistake(struct wh_conf *conf, const char *section, const char *name, const char *key, const char *format,
		     ...) WH_PRINTF(5, 6);

/* All mistakes so far (of more than 1000, the first), one a line without a newline at the end; "" if none; "memory is
 * out" if that is why. Owned by the conf, and valid until it is called upon again. */
const char *wh_conf_mistakes(const struct wh_conf *conf);

size_t wh_conf_variants(const struct wh_conf *conf); /* 1 if no value is a list */

/* The names of the sections [section NAME], in the file's order; NULL behind the last. */
const char *wh_conf_instance(const struct wh_conf *conf, const char *section, size_t index);

/* Is there a section of that name, in a file or set? name: NULL for a section without one. */
bool wh_conf_has(const struct wh_conf *conf, const char *section, const char *name);

/* Does the file, or a wh_conf_set, say something about this key? If not, the default counts. name: as above, or NULL. */
bool wh_conf_given(const struct wh_conf *conf, const char *section, const char *name, const char *key);

/* Does some table have a key of that name which may be a list? "window", or with its section: "subgroup all.window". */
bool wh_conf_may_vary(const struct wh_conf *conf, const char *key);

/* Fills `out` (table->bytes) for one variant, defaults first. Only after a wh_conf_check that was WHORL_OK. */
void wh_conf_bind(const struct wh_conf *conf, size_t variant, const struct wh_option_table *table, const char *name,
		  void *out);

/* "bytes = 128, window = 100": what tells this variant from the others; "" if there is one. Returns buf. */
const char *wh_conf_variant_text(const struct wh_conf *conf, size_t variant, char *buf, size_t bytes);

#endif
