/* test_view_memory.c - memory is out: at every allocation of making a view, following it, writing and reading it, in turn.
 * Labels: nosan
 *
 * Each time the call must say so, leave nothing behind, and work the next time.
 */
#include "membership/wire.h"
#include "tests/harness.h"
#include "tests/support/newcomers.h"
#include "tests/unit/refuse.h"

static const struct wh_subgroup_text texts[] = {{"g", "all", "half", 2, 1}, {"h", "0,2", "all", 1, 1}};
static const struct wh_layout_config layout = {texts, 2, NULL, NULL};

static struct wh_view *before, *made; /* what each call begins with, and what it makes */
static unsigned char *bytes;
static size_t count;
static struct wh_view_parts parts;

static enum whorl_result create(struct wh_error *err)
{
	return view_of_all(&made, 4, &layout, err);
}

static enum whorl_result follow(struct wh_error *err)
{
	const struct wh_newcomer newcomer = {7, 7};

	return wh_view_next(&made, before, &(struct wh_next){.newcomers = &newcomer, .newcomer_count = 1}, &layout,
			    err);
}

static enum whorl_result encode(struct wh_error *err)
{
	unsigned char *again = NULL;
	enum whorl_result result = wh_view_encode(&again, &count, before);

	ck_assert((again != NULL) == (result == WHORL_OK));
	free(again);
	return wh_error_set(err, result, "no memory for a view");
}

static enum whorl_result decode(struct wh_error *err)
{
	return wh_view_decode(&made, bytes, count, &layout, 8, err);
}

static enum whorl_result take(struct wh_error *err)
{
	const struct wh_wire message = {
		.kind = WH_WIRE_VIEW, .key = 1, .total = (uint32_t)count, .bytes = (uint32_t)count, .piece = bytes};
	enum whorl_result result = wh_view_parts_take(&parts, &message);

	ck_assert((parts.bytes != NULL) == (result == WHORL_OK));
	wh_view_parts_free(&parts);
	return wh_error_set(err, result, "no memory for a view");
}

static const struct {
	enum whorl_result (*call)(struct wh_error *err);
	long least; /* so many allocations at least */
} calls[] = {{create, 9}, {follow, 9}, {encode, 1}, {decode, 9}, {take, 1}};

TEST_LOOP(memory_is_out, 0, sizeof(calls) / sizeof(calls[0]))
{
	enum whorl_result result = WHORL_MEMORY;
	struct wh_error err;
	long at, lives;

	ck_assert_int_eq(view_of_all(&before, 4, &layout, NULL), WHORL_OK);
	ck_assert_int_eq(wh_view_encode(&bytes, &count, before), WHORL_OK);
	for (at = 0; result == WHORL_MEMORY; at++) {
		lives = live;
		refuse_at = at;
		result = calls[_i].call(&err);
		refuse_at = -1;
		if (result == WHORL_MEMORY) {
			ck_assert_ptr_null(made);
			ck_assert_int_eq(live, lives);
			ck_assert_str_eq(err.text, "no memory for a view");
		}
	}
	ck_assert_int_eq(result, WHORL_OK);
	ck_assert_int_gt(at, calls[_i].least);
	wh_view_free(made);
	ck_assert_int_eq(live, lives);
	wh_view_free(before);
	free(bytes);
}

TEST_SUITE("view_memory")
