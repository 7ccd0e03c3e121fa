/* topics.c - a program with topics: what it writes is what it takes, and then it prints the library's version. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <whorl/dds.h>

struct pose {
	int32_t id;
	double x;
	char name[8];
};

WHORL_DDS_TYPE(pose_type, struct pose, WHORL_DDS_KEY(struct pose, id), WHORL_DDS_FIELD(struct pose, x),
	       WHORL_DDS_FIELD(struct pose, name));

int main(void)
{
	/* A domain of its own: several may run at once. */
	whorl_dds_entity participant = whorl_dds_create_participant((uint32_t)getpid() % 65536, NULL, NULL);
	whorl_dds_entity topic = whorl_dds_create_topic(participant, &pose_type, "poses", NULL, NULL);
	whorl_dds_entity reader = whorl_dds_create_reader(participant, topic, NULL, NULL);
	whorl_dds_entity writer = whorl_dds_create_writer(participant, topic, NULL, NULL);
	struct whorl_dds_sample_info info = {.size = sizeof(info)};
	struct pose pose = {.id = 0};
	void *data[1] = {&pose};

	if (whorl_dds_write(writer, &(struct pose){.id = 7, .x = 1.5, .name = "seven"}) != WHORL_DDS_RETCODE_OK ||
	    whorl_dds_wait_for_acks(writer, 10 * (whorl_dds_duration)1000000000) != WHORL_DDS_RETCODE_OK ||
	    whorl_dds_take(reader, data, &info, 1) != 1 || pose.x != 1.5 || strcmp(pose.name, "seven") != 0) {
		fprintf(stderr, "%s\n", whorl_dds_text());
		return 1;
	}
	if (whorl_dds_delete(participant) != WHORL_DDS_RETCODE_OK)
		return 1;
	printf("%s\n", whorl_version());
	return 0;
}
