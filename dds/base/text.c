/* text.c - see text.h. */
#include "dds/base/text.h"

#include <stdarg.h>

#include "base/text.h"

static _Thread_local char words[1200]; /* the name of a function, and a text of wh_error */

whorl_dds_return wh_dds_say(const char *function, whorl_dds_return result, const char *format, ...)
{
	va_list arguments;

	words[0] = '\0';
	wh_text_add(words, sizeof(words), "%s: ", function);
	va_start(arguments, format);
	wh_text_vadd(words, sizeof(words), format, arguments);
	va_end(arguments);
	return result;
}

whorl_dds_return whorl_dds_refuse(const char *function, whorl_dds_return result, const char *why)
{
	return wh_dds_say(function != NULL ? function : "", result, "%s", why != NULL ? why : "");
}

const char *whorl_dds_text(void)
{
	return words;
}

const char *whorl_dds_strretcode(whorl_dds_return result)
{
	if (result > 0)
		return whorl_dds_strretcode(WHORL_DDS_RETCODE_OK);
	switch (result) {
#define TEXT(name, value, text)                                                                                        \
	case (value):                                                                                                  \
		return text;
		WHORL_DDS_RETCODES(TEXT)
#undef TEXT
	default:
		return "unknown result";
	}
}
