/* refuse.h - why an argument was refused, in words: for the thread that was (whorl_invalid_text).
 *
 * There may be no object that could keep the words: what is refused may be the object. So they are the thread's, as errno is.
 */
#ifndef WH_GROUP_REFUSE_H
#define WH_GROUP_REFUSE_H

#include <whorl/result.h>

/* Returns WHORL_INVALID. */
enum whorl_result wh_refuse(const char *function, const char *why);

#define WH_REFUSE(why) wh_refuse(__func__, why)

#endif
