/* garbage.h - samples of RTPS that do not decode. Cyclone DDS drops them, and says so in its log alone: so that is read. */
#ifndef WH_BRIDGE_GARBAGE_H
#define WH_BRIDGE_GARBAGE_H

#include "bridge/bridge.h"

/* From now on; NULL: no more. */
void wh_bridge_watch_garbage(struct wh_bridge *bridge);

/* The name of the topic in a line of the log on a sample that did not decode, into `name`. False: it is another line. */
bool wh_bridge_garbage_topic(const char *line, char *name, size_t bytes);

#endif
