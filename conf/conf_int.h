/* conf_int.h - what the files of conf/ share.
 *
 * lines.c takes a file apart, store.c keeps what it says and holds it against the tables, variants.c makes structs of
 * it, mistakes.c collects what is wrong, conf.c is what the other modules see. */
#ifndef WH_CONF_CONF_INT_H
#define WH_CONF_CONF_INT_H

#include <stdarg.h>
#include <string.h>

#include "conf/conf.h"

#define WH_CONF_FILE_MAX (1024 * 1024) /* bytes of one file */
#define WH_CONF_NAME_BYTES 64          /* of the words in a section's header and of a key, with the NUL */

/* Where a piece of text came from; also the order of the mistakes. */
struct wh_place {
	const char *source; /* the file's name, or "--set" */
	size_t order;       /* of the source: files as they were loaded, WH_ORDER_SET behind them */
	size_t line;        /* 0: the whole file. Of a --set its number, which is not shown */
};

#define WH_ORDER_SET (SIZE_MAX - 1)
#define WH_ORDER_LAST SIZE_MAX

static inline bool wh_place_before(const struct wh_place *a, const struct wh_place *b)
{
	return a->order != b->order ? a->order < b->order : a->line < b->line;
}

/* ---- mistakes.c ---------------------------------------------------------------------------------------------------*/

#define WH_MISTAKES_MAX 1000

struct wh_mistakes {
	struct wh_mistake *list; /* sorted by place; mistakes of one place in the order of noting */
	size_t count, capacity;
	char *text; /* their lines, NULL if there are none */
	size_t bytes;
	bool memory_out; /* at least one is lost, or a piece of the configuration is */
};

void wh_mistakes_free(struct wh_mistakes *mistakes);

/* Notes `SOURCE:LINE: path: text`; an empty path is left out. */
void wh_mistakes_add(struct wh_mistakes *mistakes, struct wh_place place, const char *path, const char *format, ...)
	WH_PRINTF(4, 5);
void wh_mistakes_add_list(struct wh_mistakes *mistakes, struct wh_place place, const char *path, const char *format,
			  va_list args) WH_PRINTF(4, 0);

bool wh_mistakes_any(const struct wh_mistakes *mistakes);
const char *wh_mistakes_text(const struct wh_mistakes *mistakes);

/* ---- lines.c ------------------------------------------------------------------------------------------------------*/

struct wh_lines_sink {
	void *ctx;
	/* A header [word] or [word name]; name is "" in the former. Both are NULL where a header is malformed: the
	 * lines behind it belong to nothing. Returns whether the lines of the section are wanted. */
	bool (*section)(void *ctx, size_t line, const char *word, const char *name);
	void (*setting)(void *ctx, size_t line, const char *key, const char *value);
	void (*mistake)(void *ctx, size_t line, const char *what);
};

/* Takes the text apart, line by line. */
void wh_lines_parse(const char *text, size_t bytes, const struct wh_lines_sink *sink);

/* Reads a whole file of at most WH_CONF_FILE_MAX bytes into memory that the caller frees. */
WH_MUST_CHECK enum whorl_result wh_lines_slurp(const char *path, char **text, size_t *bytes, struct wh_error *err);

/* Without the blanks at both ends. */
void wh_lines_trim(const char **text, size_t *bytes);

/* Takes "word" or "word name" apart, each with blanks around it. False if it is neither. The name may be a pattern. */
bool wh_lines_split_section(const char *text, size_t bytes, char word[WH_CONF_NAME_BYTES],
			    char name[WH_CONF_NAME_BYTES]);

/* Is it 1..63 letters, digits, '_' and '-'? */
bool wh_lines_is_key(const char *text, size_t bytes);

/* Is it 1..63 letters, digits, '_', '-' and '.'? */
bool wh_lines_is_name(const char *text, size_t bytes);

/* The text must be UTF-8 without control characters but tabs; describes the first byte that is not. */
bool wh_lines_is_text(const char *text, size_t bytes, char what[64]);

/* ---- similar.c ----------------------------------------------------------------------------------------------------*/

/* Can `word` be a slip for `candidate`, and a smaller one than *best, which is lowered then? *best starts as SIZE_MAX. */
bool wh_conf_is_closer(const char *word, const char *candidate, size_t *best);

/* ---- conf.c and its parts store.c, variants.c ----------------------------------------------------------------------*/

#define WH_CONF_SECTIONS_MAX 4096
#define WH_CONF_VARIANTS_MAX 10000
#define WH_CONF_AXES_MAX 13 /* a list has two values at least, and 2^14 variants would be too many */
#define WH_CONF_PATH_BYTES (3 * WH_CONF_NAME_BYTES) /* "subgroup orders.window" */

_Static_assert(1 << WH_CONF_AXES_MAX <= WH_CONF_VARIANTS_MAX && 2 << WH_CONF_AXES_MAX > WH_CONF_VARIANTS_MAX,
	       "the most lists there can be");

struct wh_value {
	char *pieces; /* `count` strings, one behind the other; NULL: not given */
	size_t count; /* more than one: a list */
	struct wh_place place;
};

struct wh_setting {
	struct wh_value file, set;
};

struct wh_section {
	const struct wh_option_table *table;
	char name[WH_CONF_NAME_BYTES]; /* "" if the table has no names */
	struct wh_place place;         /* of its header; in no file: of the first wh_conf_set */
	struct wh_setting settings[];  /* of table->options, in their order */
};

/* A list: one dimension of the variants. */
struct wh_axis {
	const struct wh_section *section;
	const struct wh_option *option;
	const struct wh_value *value;
	struct wh_place place; /* of the key in the file, whichever source has the last word */
};

struct wh_passed { /* a section that was not looked into */
	char word[WH_CONF_NAME_BYTES], name[WH_CONF_NAME_BYTES];
	struct wh_place place; /* of its header */
};

struct wh_conf {
	const struct wh_option_table *const *tables;
	size_t table_count;
	char **ignored;
	size_t ignored_count;
	bool ignores_others;      /* sections that no table is for, too */
	struct wh_passed *passed; /* those that were there, in the order of the files */
	size_t passed_count;
	char **sources; /* names of what was loaded; places point to them */
	size_t source_count;
	struct wh_section **sections; /* those of files in their order, then those that only wh_conf_set has made */
	size_t section_count, file_section_count;
	size_t set_count; /* numbers the calls of wh_conf_set */
	void *scratch;    /* a struct for any table: values are parsed into it to see whether they can be */
	struct wh_mistakes mistakes;
	size_t variants;
	struct wh_axis axes[WH_CONF_AXES_MAX]; /* by place */
	size_t axis_count;
};

/* ---- store.c ------------------------------------------------------------------------------------------------------*/

/* "section", "section name", "section name.key"; name may be "" and key NULL. Returns buf. */
const char *wh_conf_path(const char *section, const char *name, const char *key, char buf[WH_CONF_PATH_BYTES]);

/* The table of a section that is named so; NULL, with the reason noted, if there is none. Of two tables for [word] and [word NAME] the
 * one that fits. */
const struct wh_option_table *wh_conf_find_table(struct wh_conf *conf, struct wh_place place, const char *path,
						 const char *word, const char *name);

/* May a section that is called so have that name? Patterns are for those alone that are known to have some. */
bool wh_conf_takes_name(const struct wh_conf *conf, const char *word, const char *name);

struct wh_section *wh_conf_find_section(const struct wh_conf *conf, const char *word, const char *name);

/* A header in a file: a section of its own there. A second header of one section is noted, and gives the first again.
 * NULL, noted, if there cannot be so many. */
struct wh_section *wh_conf_open_section(struct wh_conf *conf, struct wh_place place, const char *path,
					const struct wh_option_table *table, const char *name);

/* The section that wh_conf_set names, made if it does not exist. NULL as above. */
struct wh_section *wh_conf_need_section(struct wh_conf *conf, struct wh_place place,
					const struct wh_option_table *table, const char *name);

/* Gives a key of the section a value, of the file or of wh_conf_set by its place, and notes what is wrong with it. */
void wh_conf_give(struct wh_conf *conf, struct wh_section *section, struct wh_place place, const char *key,
		  const char *text, size_t bytes);

/* The value of option number `index` that counts: what was set, else the file's, else NULL. */
const struct wh_value *wh_conf_value(const struct wh_section *section, size_t index);

/* The string behind this one in a list. */
static inline const char *wh_conf_next_piece(const char *piece)
{
	return piece + strlen(piece) + 1;
}

/* ---- variants.c ---------------------------------------------------------------------------------------------------*/

/* Finds the lists and counts the variants; notes a mistake if there are too many. */
void wh_conf_count_variants(struct wh_conf *conf);

#endif
