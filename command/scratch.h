/* scratch.h - a directory for the files of one run, which is gone when the run is over.
 *
 * A command that is killed with SIGKILL leaves it behind. Threads: one at a time.
 */
#ifndef WH_COMMAND_SCRATCH_H
#define WH_COMMAND_SCRATCH_H

#include <stdbool.h>

#include "base/error.h"

#define WH_SCRATCH_NAME "whorl-bench-XXXXXX" /* XXXXXX: anything */
#define WH_SCRATCH_BYTES 192                 /* of its path, with the NUL */

struct wh_scratch { /* all zero: there is none */
	char path[WH_SCRATCH_BYTES];
};

/* Makes it in the directory `above`, for this user alone. WHORL_OK; WHORL_SYSTEM: why it cannot be made. */
WH_MUST_CHECK enum whorl_result wh_scratch_open(struct wh_scratch *scratch, const char *above, struct wh_error *err);

/* Removes it, with all that is in it, and waits until the disk is done with that: what comes next is measured. False: some of it is left,
 * which is said. All zero may be closed as well. */
bool wh_scratch_close(struct wh_scratch *scratch);

#endif
