/* share.h - data that never changes, counted. */
#ifndef WH_DELEGATION_SHARE_H
#define WH_DELEGATION_SHARE_H

#include <stdbool.h>

#include <whorl/delegate.h>

/* Whether that address is of a handle that has not been dropped. */
bool wh_is_shared(whorl_work *work, const void *address);

#endif
