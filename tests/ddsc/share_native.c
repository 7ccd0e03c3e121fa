/* share_native.c - share.h on whorl_dds. `described`: with the fields of its type; `bare`: without; `other`: with another type. */
#include <stdlib.h>
#include <string.h>

#include <whorl/dds.h>

#include "share.h"

WHORL_DDS_TYPE(described, struct point, WHORL_DDS_KEY(struct point, id), WHORL_DDS_KEY(struct point, name),
	       WHORL_DDS_FIELD(struct point, x));

static whorl_dds_entity participant, writer, reader;

static struct whorl_dds_type type_of(const char *how)
{
	struct whorl_dds_type type = described;

	type.name = "share::point";
	if (strcmp(how, "bare") == 0)
		type.field_count = 2; /* those of the key, as one of them is a text */
	else if (strcmp(how, "other") == 0)
		type.bytes += type.align;
	return type;
}

const char *share_begin(const char *how)
{
	struct whorl_dds_type type = type_of(how);
	whorl_dds_qos *qos = whorl_dds_create_qos();
	const char *domain = getenv("WHORL_DDS_DOMAIN");
	whorl_dds_entity topic;

	(void)whorl_dds_qos_parse(qos, "reliability=reliable history=all");
	participant = whorl_dds_create_participant(domain != NULL ? (uint32_t)atoi(domain) : 0, NULL, NULL);
	topic = whorl_dds_create_topic(participant, &type, "points", NULL, NULL);
	writer = topic > 0 ? whorl_dds_create_writer(participant, topic, qos, NULL) : topic;
	reader = writer > 0 ? whorl_dds_create_reader(participant, topic, qos, NULL) : writer;
	whorl_dds_delete_qos(qos);
	return reader > 0 ? NULL : whorl_dds_text();
}

void share_write(const struct point *point)
{
	(void)whorl_dds_write(writer, point);
}

int share_take(struct point *point)
{
	struct whorl_dds_sample_info info = {.size = sizeof(info)};
	void *data[] = {NULL};
	int valid = 0;

	while (!valid && whorl_dds_take(reader, data, &info, 1) == 1) {
		valid = info.valid_data;
		*point = *(struct point *)data[0];
		(void)whorl_dds_return_loan(reader, data, 1);
	}
	return valid;
}

int share_matches(void)
{
	return whorl_dds_get_matched_subscriptions(writer, NULL, 0);
}

void share_end(void)
{
	(void)whorl_dds_wait_for_acks(writer, INT64_C(60000000000));
	(void)whorl_dds_delete(participant);
}
