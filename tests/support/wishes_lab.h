/* wishes_lab.h - for tests of wishes: sets and dynamic subgroups as a line of text.
 *
 * A set: names with a space between them; behind a name + (it sends; else it listens), w (another window), % (durable), and *
 * (messages of a whole window).
 * The file has c, which nodes enter and leave, and others that they do not.
 * Dynamic subgroups: NAME#SEAT@VIEW[RANK RANK ...]; behind a rank s (sends), r (rests), ! (has entered).
 */
#ifndef WH_TESTS_SUPPORT_WISHES_LAB_H
#define WH_TESTS_SUPPORT_WISHES_LAB_H

#include <string.h>

#include "membership/wire.h"
#include "membership/wishes.h"
#include "tests/harness.h"
#include "tests/support/newcomers.h"

#define LAB_WINDOW 8
#define LAB_OTHER_WINDOW 9

extern const struct wh_layout_config lab_layout;

void lab_make_large(struct wh_parameters *is);

/* The next of `text`. */
const char *lab_take_wish(struct wh_wish *out, const char *text);

/* Names in ascending order. */
struct wh_wish_set *lab_set(uint64_t number, const char *text);

/* Of views with few. */
const char *lab_show(char text[4096], const struct wh_view *view);

/* What is written is read, and is the same. */
struct wh_view *lab_copy(const struct wh_view *view);

#define LAB_NODES 8

struct lab {                                    /* a view, and what its members wish */
	struct wh_view *before, *base, *view;   /* the last step: `base` is without wishes */
	struct wh_wish_set *sets[LAB_NODES];    /* by node id; NULL: none */
	struct wh_composed composed;            /* of the last step */
	bool refused[LAB_NODES][WH_WISHES_MAX]; /* by node id: of its set */
};

void wishes_lab_begin(struct lab *lab, uint32_t count);
void lab_wish(struct lab *lab, uint32_t id, const char *text);
void wishes_lab_end(struct lab *lab);

/* All members say that it succeeds. */
void lab_all_follow(const struct lab *lab);

/* The view after, by that record, and all wishes. */
void wishes_lab_step(struct lab *lab, const struct wh_next *next);

/* The view after by that record alone: what a failure makes. */
void lab_without_wishes(struct lab *lab, const struct wh_next *next);

/* Nobody comes, goes, or rests. */
void lab_plain(struct lab *lab);

#define LAB_EXPECT(lab, text)                                                                                          \
	do {                                                                                                           \
		char shown[4096];                                                                                      \
		ck_assert_str_eq(lab_show(shown, (lab)->view), text);                                                  \
	} while (0)

#endif
