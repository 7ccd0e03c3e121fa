/* test_dds_policy_random.c - policies drawn at random: through bytes and texts and back; whether they match, said once more in other words;
 * bytes that anybody may send; patterns beside those of the system.
 * Labels: random
 */
#include <fnmatch.h>
#include <string.h>

#include "dds/policy/policy_int.h"
#include "tests/harness.h"
#include "transport/dice.h"

#define ROUNDS 3000

/* Check notes each of its own assertions, also those that hold. */
#define must(condition)                                                                                                \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			ck_abort_msg("%s", #condition);                                                                \
	} while (0)

static struct wh_dice dice;

static uint64_t below(uint64_t n)
{
	return wh_dice_below(&dice, n);
}

/* Often a small one, or at the end of the range. */
static int64_t draw_number(const struct wh_dds_field *field)
{
	static const int64_t some[] = {-1,       0, 1, 2, 3, 1000, 1000000, 1500000000, INT32_MAX, WHORL_DDS_INFINITY,
				       INT32_MIN};
	int64_t number;

	do {
		number = below(4) > 0 ? some[below(sizeof(some) / sizeof(*some))] : (int64_t)wh_dice_roll(&dice);
		if (field->kind == WH_DDS_WORD || field->kind == WH_DDS_FLAG)
			number = (int64_t)below(4);
	} while (!wh_dds_field_allows(field, number));
	return number;
}

static void draw_bytes(struct wh_dds_policies *policies, const struct wh_dds_field *field)
{
	unsigned char bytes[64];
	size_t count = below(sizeof(bytes));

	for (size_t i = 0; i < count; i++)
		bytes[i] =
			below(2) > 0 ? (unsigned char)wh_dice_roll(&dice) : (unsigned char)("ab*?[],% \0"[below(10)]);
	if (field->kind == WH_DDS_NAMES) {
		if (count == 1)
			count = 0;
		else if (count > 0)
			bytes[count - 1] = 0;
	}
	must(wh_dds_field_replace(policies, field, bytes, count));
}

static void draw(struct wh_dds_policies *policies, enum wh_dds_kind kind)
{
	wh_dds_policies_init(policies, kind);
	for (size_t i = 0; i < WH_DDS_FIELD_COUNT; i++) {
		const struct wh_dds_field *field = &wh_dds_fields[i];

		if (!wh_dds_policies_has(policies, field->policy) && below(3) > 0)
			continue;
		policies->set |= UINT64_C(1) << field->policy;
		if (wh_dds_field_has_bytes(field))
			draw_bytes(policies, field);
		else
			wh_dds_field_store(policies, field, draw_number(field));
	}
}

static void begin(void)
{
	dice.state = test_seed(5);
}

TEST_CASE("all", .setup = begin);

TEST(through_bytes_and_texts)
{
	for (int round = 0; round < ROUNDS; round++) {
		enum wh_dds_kind kind = below(2) > 0 ? WH_DDS_WRITER : WH_DDS_READER;
		struct wh_dds_policies one, other;
		struct wh_dds_out bytes = {.bytes = NULL};
		struct wh_dds_in in = {.ok = true};
		struct wh_error err;
		size_t length;
		char *text;
		FILE *out;

		draw(&one, kind);
		wh_dds_put_policies(&bytes, &one);
		must(!bytes.failed);
		in.at = bytes.bytes;
		in.left = bytes.count;
		must(wh_dds_take_policies(&in, &other, kind) && in.left == 0);
		must(wh_dds_policies_equal(&one, &other, NULL) && one.set == other.set);
		wh_dds_policies_free(&other);
		wh_dds_out_free(&bytes);

		out = open_memstream(&text, &length);
		wh_dds_policies_print(out, &one, one.set);
		fclose(out);
		wh_dds_policies_init(&other, kind);
		err.text[0] = '\0';
		if (wh_dds_policies_parse(&other, text, &err) != WHORL_DDS_RETCODE_OK)
			ck_abort_msg("%s: %s", text, err.text);
		if (!wh_dds_policies_equal(&one, &other, NULL) || one.set != other.set)
			ck_abort_msg("%s", text);
		free(text);
		wh_dds_policies_free(&one);
		wh_dds_policies_free(&other);
	}
}

/* Of what was encoded some bytes are others: refused, or policies that are encoded to the same bytes. */
TEST(any_bytes)
{
	size_t taken = 0;

	for (int round = 0; round < ROUNDS; round++) {
		struct wh_dds_out bytes = {.bytes = NULL}, again = {.bytes = NULL};
		struct wh_dds_policies policies;
		struct wh_dds_in in = {.ok = true};

		draw(&policies, WH_DDS_WRITER);
		wh_dds_put_policies(&bytes, &policies);
		wh_dds_policies_free(&policies);
		for (uint64_t changes = 1 + below(3); changes > 0; changes--)
			bytes.bytes[below(bytes.count)] = (unsigned char)wh_dice_roll(&dice);
		in.at = bytes.bytes;
		in.left = bytes.count;
		if (wh_dds_take_policies(&in, &policies, WH_DDS_WRITER)) {
			taken++;
			must(in.left <= bytes.count);
			wh_dds_put_policies(&again, &policies);
			must(!again.failed && again.count == bytes.count - in.left);
			must(memcmp(bytes.bytes, again.bytes, again.count) == 0);
			wh_dds_policies_free(&policies);
			wh_dds_out_free(&again);
		} else {
			must(!in.starved);
		}
		wh_dds_out_free(&bytes);
	}
	ck_assert_uint_gt(taken, ROUNDS / 20);
	ck_assert_uint_lt(taken, ROUNDS - ROUNDS / 20);
}

/* DCPS 1.4, 2.2.3, line by line. */
static uint64_t failures(const struct wh_dds_policies *offered, const struct wh_dds_policies *requested)
{
	uint64_t mask = 0;

	if (requested->durability > offered->durability)
		mask |= UINT64_C(1) << WHORL_DDS_POLICY_DURABILITY;
	if (requested->presentation.scope > offered->presentation.scope ||
	    (requested->presentation.coherent && !offered->presentation.coherent) ||
	    (requested->presentation.ordered && !offered->presentation.ordered))
		mask |= UINT64_C(1) << WHORL_DDS_POLICY_PRESENTATION;
	if (requested->deadline_ns < offered->deadline_ns)
		mask |= UINT64_C(1) << WHORL_DDS_POLICY_DEADLINE;
	if (requested->latency_budget_ns < offered->latency_budget_ns)
		mask |= UINT64_C(1) << WHORL_DDS_POLICY_LATENCY_BUDGET;
	if (requested->ownership != offered->ownership)
		mask |= UINT64_C(1) << WHORL_DDS_POLICY_OWNERSHIP;
	if (requested->liveliness.kind > offered->liveliness.kind ||
	    requested->liveliness.lease_ns < offered->liveliness.lease_ns)
		mask |= UINT64_C(1) << WHORL_DDS_POLICY_LIVELINESS;
	if (requested->reliability.kind > offered->reliability.kind)
		mask |= UINT64_C(1) << WHORL_DDS_POLICY_RELIABILITY;
	if (requested->destination_order > offered->destination_order)
		mask |= UINT64_C(1) << WHORL_DDS_POLICY_DESTINATION_ORDER;
	return mask;
}

TEST(matches)
{
	size_t good = 0;

	for (int round = 0; round < ROUNDS; round++) {
		struct wh_dds_policies offered, requested;
		uint64_t expected;

		draw(&offered, WH_DDS_WRITER);
		draw(&requested, WH_DDS_READER);
		if (below(4) == 0) { /* nearly the same */
			wh_dds_policies_free(&requested);
			must(wh_dds_policies_copy(&requested, &offered) == WHORL_DDS_RETCODE_OK);
			requested.deadline_ns = below(2) > 0 ? WHORL_DDS_INFINITY : requested.deadline_ns;
		}
		expected = failures(&offered, &requested);
		must(wh_dds_policies_match(&offered, &requested) ==
		     (expected != 0 ? (enum whorl_dds_policy_id)__builtin_ctzll(expected) : WHORL_DDS_POLICY_INVALID));
		good += expected == 0;
		wh_dds_policies_free(&offered);
		wh_dds_policies_free(&requested);
	}
	ck_assert_uint_gt(good, ROUNDS / 10);
}

static void draw_text(char *text, size_t most, const char *letters)
{
	size_t length = below(most);

	for (size_t i = 0; i < length; i++)
		text[i] = letters[below(strlen(letters))];
	text[length] = '\0';
}

/* The system's patterns mean the same in the C locale, but for what these tests do not draw: a `[` without an end, ranges that go down. */
TEST(patterns_are_those_of_the_system)
{
	size_t fit = 0;

	for (int round = 0; round < 20 * ROUNDS; round++) {
		static const char *const pieces[] = {"a",    "b",     "*",    "?",    "[ab]",
						     "[!a]", "[a-c]", "[]a]", "[a-]", "[!b-d]"};
		char pattern[80] = "", name[12];

		for (uint64_t i = below(6); i > 0; i--)
			strcat(pattern, pieces[below(sizeof(pieces) / sizeof(*pieces))]);
		draw_text(name, sizeof(name) / 2, "abcd]-");
		if (wh_dds_pattern_fits(pattern, name) != (fnmatch(pattern, name, FNM_NOESCAPE) == 0))
			ck_abort_msg("%s %s", pattern, name);
		fit += wh_dds_pattern_fits(pattern, name);
	}
	ck_assert_uint_gt(fit, ROUNDS);
}

TEST_SUITE("dds_policy_random")
