/* text.c - see text.h. */
#include "base/text.h"

#include <stdio.h>
#include <string.h>

void wh_text_vadd(char *text, size_t bytes, const char *format, va_list arguments)
{
	size_t used, room;
	int length;

	if (bytes < sizeof("..."))
		return;
	used = strnlen(text, bytes - 1);
	room = bytes - used;
	length = vsnprintf(text + used, room, format, arguments);
	if (length < 0)
		text[used] = '\0';
	else if ((size_t)length >= room)
		memcpy(text + bytes - sizeof("..."), "...", sizeof("..."));
}

void wh_text_add(char *text, size_t bytes, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	wh_text_vadd(text, bytes, format, arguments);
	va_end(arguments);
}

void wh_text_add_id(char *text, size_t bytes, const char *separator, uint32_t id)
{
	wh_text_add(text, bytes, "%s%u", text[0] != '\0' ? separator : "", id);
}

void wh_text_tame(char *text, size_t bytes)
{
	text[bytes - 1] = '\0';
	for (; *text != '\0'; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

size_t wh_text_utf8(const unsigned char *s, size_t bytes, unsigned *code)
{
	static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t length = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : (s[0] & 0xf0) == 0xe0 ? 3 : 4;

	if (length == 1) {
		*code = s[0];
		return 1;
	}
	if (length > bytes || s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	*code = s[0] & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (s[i] & 0x3f);
	}
	if (*code < least[length] || *code > 0x10ffff || (*code >= 0xd800 && *code <= 0xdfff))
		return 0;
	return length;
}

int wh_text_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
