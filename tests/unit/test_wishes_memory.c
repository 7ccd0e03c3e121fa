/* test_wishes_memory.c - memory is out: at every allocation of composing a view with wishes, following it, writing and reading it, in turn.
 * Labels: nosan
 *
 * Each time the call must say so, leave nothing behind, and what it was given as it was.
 */
#include "tests/support/wishes_lab.h"
#include "tests/unit/refuse.h"

static struct lab lab;
static struct wh_view *base, *made;
static const struct wh_wish_set *sets[3];
static unsigned char *bytes;
static size_t count;

static enum whorl_result compose(void)
{
	struct wh_composed composed;
	enum whorl_result result = wh_wishes_compose(&composed, base, lab.view, sets, &lab_layout);

	ck_assert_uint_eq(composed.refusal_count, result == WHORL_OK);
	ck_assert((composed.refusals != NULL) == (result == WHORL_OK));
	free(composed.refusals);
	return result;
}

static enum whorl_result follow(void)
{
	return wh_view_next(&made, lab.view, &(struct wh_next){.removed = NULL}, &lab_layout, NULL);
}

static enum whorl_result decode(void)
{
	return wh_view_decode(&made, bytes, count, &lab_layout, 8, NULL);
}

static const struct {
	enum whorl_result (*call)(void);
	long least; /* so many allocations at least */
} calls[] = {{follow, 10}, {decode, 11}, {compose, 7}};

static void begin(void)
{
	wishes_lab_begin(&lab, 3);
	lab_wish(&lab, 0, "a+ b");
	lab_wish(&lab, 1, "a b+");
	lab_plain(&lab);
	lab_wish(&lab, 0, "a+ b c e");
	lab_wish(&lab, 2, "bw");
	for (uint32_t id = 0; id < 3; id++)
		sets[id] = lab.sets[id];
	ck_assert_int_eq(wh_view_encode(&bytes, &count, lab.view), WHORL_OK);
	ck_assert_int_eq(follow(), WHORL_OK);
	base = made;
	made = NULL;
}

TEST_LOOP(memory_is_out, 0, sizeof(calls) / sizeof(calls[0]))
{
	enum whorl_result result = WHORL_MEMORY;
	struct wh_view *was;
	long at, lives;

	begin();
	was = lab_copy(base);
	for (at = 0; result == WHORL_MEMORY; at++) {
		lives = live;
		refuse_at = at;
		result = calls[_i].call();
		refuse_at = -1;
		ck_assert(result == WHORL_OK || (made == NULL && live == lives && wh_view_equals(base, was)));
	}
	ck_assert_int_eq(result, WHORL_OK);
	ck_assert_int_gt(at, calls[_i].least);
	wh_view_free(made);
	wh_view_free(was);
	wh_view_free(base);
	free(bytes);
	wishes_lab_end(&lab);
}

TEST_SUITE("wishes_memory")
