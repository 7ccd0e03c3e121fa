/* kv_value.c - the keys and values of kv-load. */
#include <string.h>

#include "bench/peers/kv_load.h"

#define KEY_DIGITS 12u
#define STAMP_DIGITS (KV_VALUE_LEAST - KEY_DIGITS)

static void write_digits(char *to, uint32_t digits, uint64_t number)
{
	while (digits > 0) {
		to[--digits] = (char)('0' + number % 10);
		number /= 10;
	}
}

void kv_write_key(char to[KV_KEY_BYTES], uint32_t key)
{
	memcpy(to, "key:", 4);
	write_digits(to + 4, KEY_DIGITS, key);
}

static char letter(uint32_t at)
{
	return (char)('a' + at % 26);
}

void kv_write_value(const struct kv_plan *plan, char *to, uint32_t key, uint64_t stamp)
{
	write_digits(to, KEY_DIGITS, key);
	write_digits(to + KEY_DIGITS, STAMP_DIGITS, stamp);
	for (uint32_t i = KV_VALUE_LEAST; i < plan->bytes; i++)
		to[i] = letter(i);
}

bool kv_is_value(const struct kv_plan *plan, const char *value, size_t bytes, uint32_t key)
{
	char digits[KEY_DIGITS];
	bool good;

	if (bytes != plan->bytes)
		return false;
	write_digits(digits, KEY_DIGITS, key);
	good = memcmp(value, digits, KEY_DIGITS) == 0;
	for (uint32_t i = KEY_DIGITS; i < KV_VALUE_LEAST; i++)
		good &= value[i] >= '0' && value[i] <= '9';
	for (uint32_t i = KV_VALUE_LEAST; i < bytes; i++)
		good &= value[i] == letter(i);
	return good;
}
