/* option.h - the mechanism of options. What options there are, each module says in its own table.
 *
 * One table (key, kind, unit, default, range, meaning) makes the parser, `whorl config --describe`, the samples and
 * the documentation. A table describes one section of an ini file and the C struct that its values go to.
 */
#ifndef WH_BASE_OPTION_H
#define WH_BASE_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum wh_option_kind {
	WH_OPTION_INTEGER, /* int64_t; decimal, with an optional k, m or g (x 1024 where unit is "bytes", else x 1000) */
	WH_OPTION_SWITCH,  /* bool; on | off */
	WH_OPTION_CHOICE,  /* int, the index into `choices` */
	WH_OPTION_TEXT,    /* char[WH_OPTION_TEXT_BYTES]; checked by the code that reads it */
};

#define WH_OPTION_TEXT_BYTES 192

struct wh_option {
	const char *key;
	enum wh_option_kind kind;
	const char *unit;           /* "bytes", "ms", "" */
	const char *fallback;       /* the default, as it would stand in a file */
	int64_t least, most;        /* of an integer */
	const char *const *choices; /* of a choice; NULL at the end */
	const char *meaning;        /* one sentence */
	size_t offset;              /* of the value in the struct */
	bool sweep;                 /* may be a list `a, b, c`: one variant each */
};

/* [section]; [section NAME], any number of them; the same, and NAME may have what names of topics have, and * and ?. */
enum wh_option_naming { WH_OPTION_UNNAMED, WH_OPTION_NAMED, WH_OPTION_PATTERN };

struct wh_option_table {
	const char *section; /* "group" */
	enum wh_option_naming naming;
	const char *meaning;
	const struct wh_option *options;
	size_t count;
	size_t bytes; /* of the struct */
};

/* Parses one value (not a list) into the struct `out`. On a mistake nothing is stored, and err says what is wrong and
 * what is expected ("is \"x\", expected on or off"). Returns WHORL_OK or WHORL_CONFIG. */
WH_MUST_CHECK enum whorl_result wh_option_parse(const struct wh_option *option, const char *value, void *out,
						struct wh_error *err);

/* Writes what `option` expects: "on | off", "1 to 32768", "one of shm, sim". What does not fit is cut (base/text.h). Returns buf. */
const char *wh_option_expected(const struct wh_option *option, char *buf, size_t bytes);

/* All fields of `out` get their defaults, the bytes between them are 0. */
void wh_option_defaults(const struct wh_option_table *table, void *out);

/* NULL if the table has no such key. */
const struct wh_option *wh_option_find(const struct wh_option_table *table, const char *key);

/* What stands in the brackets of such a section: "group", "subgroup NAME", "topic PATTERN". What does not fit is cut. Returns buf. */
const char *wh_option_header(const struct wh_option_table *table, char *buf, size_t bytes);

/* For tests: is the table itself right? Defaults parse, fields lie in the struct, keys are unique, no text is a list. */
WH_MUST_CHECK enum whorl_result wh_option_table_check(const struct wh_option_table *table, struct wh_error *err);

#endif
