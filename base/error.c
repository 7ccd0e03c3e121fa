/* error.c - codes with text, in fixed buffers: reporting an error allocates nothing and cannot fail. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define QUOTE_MAX 60

/* The text is made aside, because the arguments may point into the old one. */
enum whorl_result wh_error_set(struct wh_error *err, enum whorl_result code, const char *format, ...)
{
	char text[sizeof(err->text)] = "";
	va_list args;

	if (err == NULL)
		return code;
	va_start(args, format);
	wh_text_vadd(text, sizeof(text), format, args);
	va_end(args);
	err->code = code;
	memcpy(err->text, text, strlen(text) + 1);
	return code;
}

enum whorl_result wh_error_system(struct wh_error *err, int number, const char *format, ...)
{
	char text[sizeof(err->text)] = "";
	char reason[128];
	va_list args;

	if (err == NULL)
		return WHORL_SYSTEM;
	va_start(args, format);
	wh_text_vadd(text, sizeof(text), format, args);
	va_end(args);
	wh_text_add(text, sizeof(text), ": %s", strerror_r(number, reason, sizeof(reason)));
	err->code = WHORL_SYSTEM;
	memcpy(err->text, text, strlen(text) + 1);
	return WHORL_SYSTEM;
}

enum whorl_result wh_error_prefix(struct wh_error *err, const char *format, ...)
{
	char text[sizeof(err->text)] = "";
	va_list args;

	va_start(args, format);
	wh_text_vadd(text, sizeof(text), format, args);
	va_end(args);
	wh_text_add(text, sizeof(text), ": %s", err->text);
	memcpy(err->text, text, strlen(text) + 1);
	return err->code;
}

void wh_error_clear(struct wh_error *err)
{
	err->code = WHORL_OK;
	err->text[0] = '\0';
}

int wh_error_quote(const char *text, size_t bytes, const char **ellipsis)
{
	size_t quoted = QUOTE_MAX;

	*ellipsis = "";
	if (bytes <= QUOTE_MAX)
		return (int)bytes;
	*ellipsis = "...";
	while (quoted > 0 && ((unsigned char)text[quoted] & 0xc0) == 0x80)
		quoted--;
	return (int)quoted;
}

const char *wh_result_text(enum whorl_result result)
{
	switch (result) {
#define RESULT_TEXT(name, value, text)                                                                                 \
	case WHORL_##name:                                                                                             \
		return text;
		WHORL_RESULTS(RESULT_TEXT)
#undef RESULT_TEXT
	}
	return "unknown result";
}
