/* share_compat.c - share.h on Cyclone DDS's API. */
#include <stddef.h>

#include <dds/dds.h>
#include <whorl/dds.h>

#include "share.h"

static const uint32_t words[] = {DDS_OP_ADR | DDS_OP_FLAG_KEY | DDS_OP_TYPE_4BY | DDS_OP_FLAG_SGN,
				 offsetof(struct point, id),
				 DDS_OP_ADR | DDS_OP_FLAG_KEY | DDS_OP_TYPE_BST,
				 offsetof(struct point, name),
				 sizeof(((struct point *)0)->name),
				 DDS_OP_ADR | DDS_OP_TYPE_8BY | DDS_OP_FLAG_FP,
				 offsetof(struct point, x),
				 DDS_OP_RTS,
				 DDS_OP_KOF | 1,
				 0,
				 DDS_OP_KOF | 1,
				 2};
static const dds_key_descriptor_t keys[] = {{"id", 8, 0}, {"name", 10, 1}};
static const dds_topic_descriptor_t type = {.m_size = sizeof(struct point),
					    .m_align = dds_alignof(struct point),
					    .m_nkeys = 2,
					    .m_typename = "share::point",
					    .m_keys = keys,
					    .m_nops = 4,
					    .m_ops = words,
					    .m_meta = ""};
static dds_entity_t participant, writer, reader;

const char *share_begin(const char *how)
{
	dds_qos_t *qos = dds_create_qos();
	dds_entity_t topic;

	(void)how;
	dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_SECS(10));
	dds_qset_history(qos, DDS_HISTORY_KEEP_ALL, 0);
	participant = dds_create_participant(DDS_DOMAIN_DEFAULT, NULL, NULL);
	topic = dds_create_topic(participant, &type, "points", NULL, NULL);
	writer = topic > 0 ? dds_create_writer(participant, topic, qos, NULL) : topic;
	reader = writer > 0 ? dds_create_reader(participant, topic, qos, NULL) : writer;
	dds_delete_qos(qos);
	return reader > 0 ? NULL : whorl_dds_text();
}

void share_write(const struct point *point)
{
	(void)dds_write(writer, point);
}

int share_take(struct point *point)
{
	dds_sample_info_t info;
	void *data[] = {point};

	while (dds_take(reader, data, &info, 1, 1) == 1)
		if (info.valid_data)
			return 1;
	return 0;
}

int share_matches(void)
{
	return dds_get_matched_subscriptions(writer, NULL, 0);
}

void share_end(void)
{
	(void)dds_wait_for_acks(writer, DDS_SECS(60));
	(void)dds_delete(participant);
}
