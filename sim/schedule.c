/* schedule.c - faults as lines of text. See schedule.h. */
#include "sim/schedule.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const fault_words[] = {
#define FAULT_WORD(name, word) word,
	WH_FAULT_KINDS(FAULT_WORD)
#undef FAULT_WORD
		NULL};

static const char *const moment_words[] = {
#define MOMENT_WORD(name, word) word,
	WH_MOMENTS(MOMENT_WORD)
#undef MOMENT_WORD
		NULL};

const char *wh_fault_word(enum wh_fault_kind kind)
{
	return fault_words[kind];
}

const char *wh_moment_word(enum wh_moment moment)
{
	return moment_words[moment];
}

uint64_t wh_fault_touches(const struct wh_fault *fault)
{
	if (wh_fault_is_between(fault))
		return fault->from | fault->to;
	if (fault->kind == WH_FAULT_POWER) /* all that there are */
		return 0;
	return UINT64_C(1) << fault->node;
}

uint32_t wh_schedule_kinds(const struct wh_schedule *schedule)
{
	uint32_t kinds = 0;

	for (uint32_t i = 0; schedule != NULL && i < schedule->count; i++)
		kinds |= 1u << schedule->faults[i].kind;
	return kinds;
}

uint64_t wh_schedule_absent(const struct wh_schedule *schedule)
{
	uint64_t absent = 0;

	for (uint32_t i = 0; schedule != NULL && i < schedule->count; i++)
		if (schedule->faults[i].kind == WH_FAULT_JOIN)
			absent |= wh_fault_touches(&schedule->faults[i]);
	return absent;
}

bool wh_fault_fits(const struct wh_fault *fault, uint32_t nodes)
{
	return nodes >= WH_FAULT_NODES_MAX || wh_fault_touches(fault) >> nodes == 0;
}

/* ---- writing ----------------------------------------------------------------------------------------------------------- */

struct text {
	char *at, *end;
};

static void add_text(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add_text(struct text *text, const char *format, ...)
{
	va_list arguments;
	int bytes;

	va_start(arguments, format);
	bytes = vsnprintf(text->at, (size_t)(text->end - text->at), format, arguments);
	va_end(arguments);
	text->at += bytes < text->end - text->at ? bytes : text->end - text->at - 1;
}

static void add_set(struct text *text, uint64_t set)
{
	const char *comma = "";

	for (unsigned i = 0; i < WH_FAULT_NODES_MAX; i++)
		if (set >> i & 1) {
			add_text(text, "%s%u", comma, i);
			comma = ",";
		}
}

/* Milliseconds, with as many decimals as it takes. */
static void add_time(struct text *text, uint64_t us)
{
	unsigned rest = (unsigned)(us % 1000);

	add_text(text, "%" PRIu64, us / 1000);
	if (rest % 10 != 0)
		add_text(text, ".%03u", rest);
	else if (rest % 100 != 0)
		add_text(text, ".%02u", rest / 10);
	else if (rest != 0)
		add_text(text, ".%u", rest / 100);
	add_text(text, " ms");
}

/* The word between the two sets. */
static const char *preposition_of(const struct wh_fault *fault)
{
	if (fault->kind == WH_FAULT_SLOW)
		return "to";
	if (fault->kind == WH_FAULT_BREAK)
		return "with";
	return fault->both ? "and" : "from";
}

/* The word before the subgroup that a node wishes for. */
static const char *wish_preposition(const struct wh_fault *fault)
{
	if (fault->kind == WH_FAULT_ENTER)
		return "in";
	return fault->kind == WH_FAULT_EXIT ? "from" : "of";
}

static void add_links(struct text *text, const struct wh_fault *fault)
{
	add_set(text, fault->from);
	add_text(text, " %s ", preposition_of(fault));
	add_set(text, fault->to);
	if (fault->kind == WH_FAULT_SLOW)
		add_text(text, " by %u", fault->factor);
}

const char *wh_fault_print(const struct wh_fault *fault, char *buf)
{
	struct text text = {buf, buf + WH_FAULT_TEXT};

	add_text(&text, "%s", fault_words[fault->kind]);
	if (fault->kind != WH_FAULT_POWER)
		add_text(&text, " ");
	if (wh_fault_is_between(fault))
		add_links(&text, fault);
	else if (fault->kind != WH_FAULT_POWER)
		add_text(&text, "%u", fault->node);
	if (fault->kind == WH_FAULT_CRASH && (fault->silently || fault->powerless))
		add_text(&text, fault->powerless ? " without power" : " silently");
	if (fault->kind == WH_FAULT_RETURN && fault->blank)
		add_text(&text, " without its disk");
	if (fault->kind == WH_FAULT_RETURN && fault->anew)
		add_text(&text, " begun anew");
	if (fault->kind == WH_FAULT_SLOW_DISK)
		add_text(&text, " by %u", fault->factor);
	if (wh_fault_is_wish(fault))
		add_text(&text, " %s d%u%s", wish_preposition(fault), fault->name,
			 fault->otherwise ? " otherwise" : "");
	if (wh_fault_lasts(fault)) {
		add_text(&text, " for ");
		add_time(&text, fault->for_us);
	}
	add_text(&text, fault->after ? " after " : " at ");
	if (fault->moment == WH_MOMENT_TIME)
		add_time(&text, fault->at);
	else
		add_text(&text, "%s %" PRIu64, moment_words[fault->moment], fault->at);
	return buf;
}

/* ---- reading ----------------------------------------------------------------------------------------------------------- */

struct reader {
	const char *at;
	const char *expected; /* what did not stand at `at`; NULL: nothing wrong so far */
};

static void skip_blanks(struct reader *reader)
{
	while (*reader->at == ' ' || *reader->at == '\t')
		reader->at++;
}

/* A caller that knows more of what is expected says it later. */
static bool miss_expected(struct reader *reader, const char *expected)
{
	reader->expected = expected;
	return false;
}

/* Takes a word if it is the next. */
static bool take_word(struct reader *reader, const char *word)
{
	size_t bytes = strlen(word);

	skip_blanks(reader);
	if (strncmp(reader->at, word, bytes) != 0 || isalnum((unsigned char)reader->at[bytes]))
		return false;
	reader->at += bytes;
	return true;
}

static bool expect_word(struct reader *reader, const char *which)
{
	return take_word(reader, which) || miss_expected(reader, which);
}

/* Takes one of the words; -1: none of them is the next. Of two that begin alike the later one is longer. */
static int one_of(struct reader *reader, const char *const *words)
{
	int count = 0;

	while (words[count] != NULL)
		count++;
	while (count-- > 0)
		if (words[count][0] != '\0' && take_word(reader, words[count]))
			return count;
	return -1;
}

static bool take_number(struct reader *reader, uint64_t least, uint64_t most, uint64_t *out)
{
	uint64_t value = 0;

	skip_blanks(reader);
	if (!isdigit((unsigned char)*reader->at))
		return miss_expected(reader, "a number");
	for (; isdigit((unsigned char)*reader->at); reader->at++) {
		value = 10 * value + (uint64_t)(*reader->at - '0');
		if (value > most)
			return miss_expected(reader, "a smaller number");
	}
	if (value < least)
		return miss_expected(reader, "a larger number");
	*out = value;
	return true;
}

static bool take_set(struct reader *reader, uint64_t *out)
{
	uint64_t node;

	*out = 0;
	do {
		if (!take_number(reader, 0, WH_FAULT_NODES_MAX - 1, &node))
			return miss_expected(reader, "nodes, as in 0,2");
		*out |= UINT64_C(1) << node;
	} while (*reader->at == ',' && reader->at++ != NULL);
	return true;
}

#define TIME_MAX_MS 1000000

/* "20 ms", "0.125 ms". */
static bool take_duration(struct reader *reader, uint64_t *us)
{
	uint64_t unit = 100;

	if (!take_number(reader, 0, TIME_MAX_MS, us))
		return miss_expected(reader, "a time, as in 20 ms");
	*us *= 1000;
	if (*reader->at == '.')
		for (reader->at++; isdigit((unsigned char)*reader->at); reader->at++, unit /= 10)
			*us += unit * (uint64_t)(*reader->at - '0');
	return expect_word(reader, "ms");
}

static bool take_moment(struct reader *reader, struct wh_fault *fault)
{
	int which;

	fault->after = take_word(reader, "after");
	if (!fault->after && !expect_word(reader, "at"))
		return false;
	which = one_of(reader, moment_words);
	if (which < 0 && fault->after)
		return miss_expected(reader, "a step: a time comes at, not after");
	if (which < 0) {
		fault->moment = WH_MOMENT_TIME;
		return take_duration(reader, &fault->at);
	}
	fault->moment = (enum wh_moment)which;
	if (wh_fault_is_wish(fault) && !fault->after && fault->moment != WH_MOMENT_UPCALL)
		return miss_expected(reader, "after: a wish is not said in the middle of a step");
	if (!wh_fault_is_wish(fault) && fault->kind != WH_FAULT_CRASH && fault->kind != WH_FAULT_STALL)
		return miss_expected(reader, "a time: only crashes and stalls come at a step");
	return take_number(reader, 1, UINT32_MAX, &fault->at);
}

static bool take_links(struct reader *reader, struct wh_fault *fault)
{
	uint64_t factor = 1;

	if (!take_set(reader, &fault->from))
		return false;
	fault->both = fault->kind == WH_FAULT_CUT && take_word(reader, "and");
	if ((!fault->both && !expect_word(reader, preposition_of(fault))) || !take_set(reader, &fault->to))
		return false;
	if ((fault->from & fault->to) != 0)
		return miss_expected(reader, "two sets without a node in common");
	if (fault->kind == WH_FAULT_SLOW && (!expect_word(reader, "by") || !take_number(reader, 1, 100000, &factor)))
		return false;
	fault->factor = (uint32_t)factor;
	return true;
}

/* "in d1 otherwise" */
static bool take_wish(struct reader *reader, struct wh_fault *fault)
{
	uint64_t name;

	if (!expect_word(reader, wish_preposition(fault)))
		return false;
	skip_blanks(reader);
	if (*reader->at != 'd')
		return miss_expected(reader, "a dynamic subgroup, as d1");
	reader->at++;
	if (!take_number(reader, 0, WH_NAMES_DRAWN_MAX - 1, &name))
		return false;
	fault->name = (uint32_t)name;
	fault->otherwise = fault->kind == WH_FAULT_ENTER && take_word(reader, "otherwise");
	return true;
}

/* What is said of a crash, a return or a slow disk. */
static bool take_manner(struct reader *reader, struct wh_fault *fault)
{
	uint64_t factor;

	fault->silently = fault->kind == WH_FAULT_CRASH && take_word(reader, "silently");
	if (fault->kind == WH_FAULT_CRASH && !fault->silently)
		fault->powerless = take_word(reader, "without power");
	if (fault->kind == WH_FAULT_RETURN)
		fault->blank = take_word(reader, "without its disk");
	if (fault->kind == WH_FAULT_RETURN && !fault->blank)
		fault->anew = take_word(reader, "begun anew");
	if (fault->kind != WH_FAULT_SLOW_DISK)
		return true;
	if (!expect_word(reader, "by") || !take_number(reader, 1, 100000, &factor))
		return false;
	fault->factor = (uint32_t)factor;
	return true;
}

static bool take_subject(struct reader *reader, struct wh_fault *fault)
{
	uint64_t node;

	if (wh_fault_is_between(fault))
		return take_links(reader, fault);
	if (fault->kind == WH_FAULT_POWER)
		return true;
	if (!take_number(reader, 0, WH_FAULT_NODES_MAX - 1, &node))
		return miss_expected(reader, "a node");
	fault->node = (uint32_t)node;
	if (!take_manner(reader, fault))
		return false;
	return !wh_fault_is_wish(fault) || take_wish(reader, fault);
}

static bool take_sentence(struct reader *reader, struct wh_fault *fault)
{
	int kind = one_of(reader, fault_words);

	if (kind < 0)
		return miss_expected(
			reader,
			"crash, stall, cut, slow, break, leave, join, return, rest, enter, exit, release, power off, slow disk, "
			"hang disk, fail sync, fill disk or rot disk");
	fault->kind = (enum wh_fault_kind)kind;
	if (!take_subject(reader, fault))
		return false;
	if (fault->kind == WH_FAULT_HANG) {
		if (take_word(reader, "for") && !take_duration(reader, &fault->for_us))
			return false;
	} else if (wh_fault_lasts(fault) && (!expect_word(reader, "for") || !take_duration(reader, &fault->for_us))) {
		return false;
	}
	if (!take_moment(reader, fault))
		return false;
	skip_blanks(reader);
	return *reader->at == '\0' || miss_expected(reader, "the end");
}

bool wh_fault_parse(struct wh_fault *fault, const char *line, char *wrong, size_t wrong_bytes)
{
	struct reader reader = {.at = line};

	*fault = (struct wh_fault){.kind = WH_FAULT_CRASH};
	if (take_sentence(&reader, fault))
		return true;
	if (*reader.at == '\0')
		snprintf(wrong, wrong_bytes, "is \"%s\", expected %s at its end", line, reader.expected);
	else
		snprintf(wrong, wrong_bytes, "is \"%s\", expected %s before \"%s\"", line, reader.expected, reader.at);
	return false;
}
