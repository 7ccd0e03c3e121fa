/* error.h - errors in three classes.
 *
 * 1. Expected (WHORL_AGAIN, WHORL_CLOSED, ...): returned; no text.
 * 2. Operating (a connection lost, memory refused, a bad file): returned, with text in the wh_error of the object that
 *    was called, prefixed on the way up. Nothing half-made survives.
 * 3. A broken invariant of whorl itself: WH_CHECK in check.h.
 * What a peer or a disk sends is validated (class 2), never asserted (class 3).
 */
#ifndef WH_BASE_ERROR_H
#define WH_BASE_ERROR_H

#include <stddef.h>

#include <whorl/result.h>

#define WH_PRINTF(text, first) __attribute__((format(printf, text, first)))
#define WH_MUST_CHECK __attribute__((warn_unused_result))

struct wh_error {
	enum whorl_result code;
	char text[1024];
};

/* Sets code and text, and returns the code: `return wh_error_set(err, WHORL_SYSTEM, "open %s", path);`.
 * `err` may be NULL: only the code counts then. A text that does not fit ends in "...". */
enum whorl_result wh_error_set(struct wh_error *err, enum whorl_result code, const char *format, ...) WH_PRINTF(3, 4);

/* The same, with ": " and the text of the errno value `number` behind it. */
enum whorl_result wh_error_system(struct wh_error *err, int number, const char *format, ...) WH_PRINTF(3, 4);

/* Puts "prefix: " before the text and returns the code. `err` must not be NULL, or the code would be lost. */
enum whorl_result wh_error_prefix(struct wh_error *err, const char *format, ...) WH_PRINTF(2, 3);

void wh_error_clear(struct wh_error *err);

/* How much of a text from outside a message repeats: all, or 60 bytes at most and "..." behind them, cut before a
 * character of UTF-8. For "%.*s%s". */
int wh_error_quote(const char *text, size_t bytes, const char **ellipsis);

/* The text of a result, one of WHORL_RESULTS; "unknown result" for any other number. */
const char *wh_result_text(enum whorl_result result);

#endif
