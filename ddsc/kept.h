/* kept.h - what a topic keeps for late readers. In Cyclone DDS that is an affair of its writers, and programs say TRANSIENT_LOCAL of readers and writers
 * alone. whorl's topics promise it or do not, the same for all; so those of this library do, if nothing else is there.
 */
#ifndef WH_DDSC_KEPT_H
#define WH_DDSC_KEPT_H

#include <whorl/dds.h>

/* What a topic of this name is registered with: `given` (may be NULL), and what others have registered it with, or else that it is stored. NULL when
 * memory is out. */
whorl_dds_qos *wh_ddsc_kept(whorl_dds_entity participant, const char *name, const whorl_dds_qos *given);

#endif
