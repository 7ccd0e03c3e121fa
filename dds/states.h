/* states.h - the states of samples, views and instances, and the statuses of entities: they stand in whorl/dds.h. */
#ifndef WH_DDS_STATES_H
#define WH_DDS_STATES_H

#include <whorl/dds.h>

#endif
