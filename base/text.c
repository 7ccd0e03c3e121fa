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
