/* qos.h - an object of policies, as programs have it (whorl_dds_create_qos). One that is all zero but for its defaults has nothing set. */
#ifndef WH_DDS_QOS_H
#define WH_DDS_QOS_H

#include "dds/policy/policy.h"

struct whorl_dds_qos {
	struct wh_dds_policies policies;
};

#endif
