/* hello.c - a topic, a writer of it and a reader. */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>
#include <whorl/dds.h>

#define SECOND ((whorl_dds_duration)1000000000)

struct pose {
	int32_t id;
	double x, y;
};

WHORL_DDS_TYPE(pose_type, struct pose, WHORL_DDS_KEY(struct pose, id), WHORL_DDS_FIELD(struct pose, x),
	       WHORL_DDS_FIELD(struct pose, y));

static whorl_dds_entity made(whorl_dds_entity entity)
{
	if (entity < 0)
		errx(1, "%s", whorl_dds_text());
	return entity;
}

int main(void)
{
	/* A domain that no other run has. Programs that are to meet say the same number. */
	whorl_dds_entity participant = made(whorl_dds_create_participant((uint32_t)getpid() % 65536, NULL, NULL));
	whorl_dds_entity topic = made(whorl_dds_create_topic(participant, &pose_type, "poses", NULL, NULL));
	whorl_dds_entity reader = made(whorl_dds_create_reader(participant, topic, NULL, NULL));
	whorl_dds_entity writer = made(whorl_dds_create_writer(participant, topic, NULL, NULL));
	struct whorl_dds_sample_info infos[8] = {{.size = sizeof(infos[0])}};
	void *poses[8] = {NULL};
	int32_t count;

	made(whorl_dds_write(writer, &(struct pose){.id = 7, .x = 1.0, .y = 2.5}));
	made(whorl_dds_write(writer, &(struct pose){.id = 8, .x = -1.0}));
	made(whorl_dds_wait_for_acks(writer, 10 * SECOND)); /* all members have both */
	count = made(whorl_dds_take(reader, poses, infos, 8));
	for (int32_t i = 0; i < count; i++) {
		const struct pose *pose = poses[i];

		printf("pose %" PRId32 ": %.1f %.1f, sample %" PRIu64 " of its writer\n", pose->id, pose->x, pose->y,
		       infos[i].number);
	}
	made(whorl_dds_return_loan(reader, poses, count));
	made(whorl_dds_delete(participant));
	return 0;
}
