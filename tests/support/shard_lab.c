#include "tests/support/shard_lab.h"

#include <sched.h>
#include <stdlib.h>

WHORL_TYPE(sum_type, struct sum, NULL);

atomic_bool sums_are_held;

WHORL_FUNCTION(sum_add, struct sum, struct add, uint64_t, WHORL_DETERMINISTIC)
{
	while (atomic_load(&sums_are_held))
		sched_yield();
	property->n += args->by;
	property->adds++;
	*result = property->n;
}

WHORL_FUNCTION(sum_next, struct sum, struct add, uint64_t, WHORL_DETERMINISTIC)
{
	property->n += args->by != property->adds++;
	*result = property->n;
}

WHORL_FUNCTION(sum_read, struct sum, struct whorl_none, struct sum, WHORL_DETERMINISTIC | WHORL_READ)
{
	*result = *property;
}

WHORL_FUNCTION(sum_dice, struct sum, struct add, uint64_t, 0)
{
	*result = property->n = args->by;
}

/* ---- words ----------------------------------------------------------------------------------------------------------------------- */

atomic_int words_alive;

static void drop_words(void *property)
{
	struct words *words = property;

	if (words->text != NULL)
		atomic_fetch_sub(&words_alive, 1);
	free(words->text);
}

static bool add_words(struct words *words, const void *data, size_t bytes)
{
	char *text = realloc(words->text, words->bytes + bytes + 1);

	if (text == NULL)
		return false;
	if (words->text == NULL)
		atomic_fetch_add(&words_alive, 1);
	memcpy(text + words->bytes, data, bytes);
	words->text = text;
	words->bytes += bytes;
	return true;
}

static bool save_words(const void *property, whorl_reply *into)
{
	const struct words *words = property;

	return words->bytes == 0 || whorl_reply_add(into, words->text, words->bytes) == WHORL_OK;
}

static bool load_words(void *property, const void *saved, size_t bytes)
{
	return bytes == 0 || (memchr(saved, '!', bytes) == NULL && add_words(property, saved, bytes));
}

WHORL_TYPE_SAVED(words_type, struct words, drop_words, save_words, load_words);

WHORL_FUNCTION_OF_BYTES(words_say, struct words, WHORL_DETERMINISTIC)
{
	if (bytes > 0 && !add_words(property, data, bytes))
		abort();
	(void)!whorl_reply_add(reply, &property->bytes, sizeof(property->bytes));
}

WHORL_FUNCTION_OF_BYTES(words_all, struct words, WHORL_DETERMINISTIC | WHORL_READ)
{
	if (property->bytes > 0)
		(void)!whorl_reply_add(reply, property->text, property->bytes);
}

/* ---------------------------------------------------------------------------------------------------------------------------------- */

WHORL_TYPE_WITH(kept_type, struct kept, NULL, WHORL_TYPE_STAYS);

WHORL_FUNCTION(kept_add, struct kept, struct add, uint64_t, WHORL_DETERMINISTIC)
{
	*result = property->a += args->by;
}
