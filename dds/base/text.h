/* text.h - why a call of the program was refused, in words: for the thread that made it (whorl_dds_text).
 *
 * What is refused may be the entity that could keep the words, so they are the thread's, as errno is.
 */
#ifndef WH_DDS_TEXT_H
#define WH_DDS_TEXT_H

#include <whorl/dds.h>

#include "base/error.h"

/* Keeps "function: words" and returns `result`. */
whorl_dds_return wh_dds_say(const char *function, whorl_dds_return result, const char *format, ...) WH_PRINTF(3, 4);

#define WH_DDS_SAY(result, ...) wh_dds_say(__func__, WHORL_DDS_RETCODE_##result, __VA_ARGS__)

#endif
