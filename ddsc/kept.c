/* kept.c - see kept.h. */
#include "ddsc/kept.h"

static enum whorl_dds_consistency_kind consistency_of(const whorl_dds_qos *qos)
{
	enum whorl_dds_consistency_kind consistency;
	enum whorl_dds_durability_kind durability = WHORL_DDS_DURABILITY_VOLATILE;

	if (whorl_dds_qget_consistency(qos, &consistency))
		return consistency;
	(void)whorl_dds_qget_durability(qos, &durability);
	return durability == WHORL_DDS_DURABILITY_VOLATILE     ? WHORL_DDS_CONSISTENCY_ATOMIC
	       : durability == WHORL_DDS_DURABILITY_PERSISTENT ? WHORL_DDS_CONSISTENCY_LOGGED
							       : WHORL_DDS_CONSISTENCY_STORED;
}

/* How much is kept is theirs, too. */
static void take_over(whorl_dds_qos *qos, const whorl_dds_qos *theirs)
{
	enum whorl_dds_history_kind kind = WHORL_DDS_HISTORY_KEEP_LAST;
	int32_t depth = 1, samples = WHORL_DDS_UNLIMITED, instances = WHORL_DDS_UNLIMITED, each = WHORL_DDS_UNLIMITED;
	whorl_dds_duration cleanup = 0;

	(void)whorl_dds_qset_consistency(qos, consistency_of(theirs));
	if (whorl_dds_qget_durability_service(theirs, &cleanup, &kind, &depth, &samples, &instances, &each)) {
		(void)whorl_dds_qset_durability_service(qos, cleanup, kind, depth, samples, instances, each);
		return;
	}
	(void)whorl_dds_qget_history(theirs, &kind, &depth);
	(void)whorl_dds_qget_resource_limits(theirs, &samples, &instances, &each);
	(void)whorl_dds_qset_durability_service(qos, 0, kind, depth, samples, instances, each);
}

whorl_dds_qos *wh_ddsc_kept(whorl_dds_entity participant, const char *name, const whorl_dds_qos *given)
{
	enum whorl_dds_durability_kind durability = WHORL_DDS_DURABILITY_VOLATILE;
	whorl_dds_qos *qos = whorl_dds_create_qos(), *theirs = whorl_dds_create_qos();
	whorl_dds_entity there = whorl_dds_find_topic(participant, name, 0);

	if (qos != NULL && given != NULL)
		(void)whorl_dds_copy_qos(qos, given);
	(void)whorl_dds_qget_durability(qos, &durability);
	if (there > 0 && theirs != NULL && whorl_dds_get_qos(there, theirs) == WHORL_DDS_RETCODE_OK)
		take_over(qos, theirs);
	else if (durability != WHORL_DDS_DURABILITY_PERSISTENT)
		(void)whorl_dds_qset_consistency(qos, WHORL_DDS_CONSISTENCY_STORED);
	if (there > 0)
		(void)whorl_dds_delete(there);
	whorl_dds_delete_qos(theirs);
	return qos;
}
