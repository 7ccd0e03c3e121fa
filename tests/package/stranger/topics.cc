// topics.cc - the header in C++, where fields are named with their kinds.
#include <cstdio>
#include <cstring>

#include <whorl/dds.h>

struct pose {
	int32_t id;
	double x;
};

WHORL_DDS_TYPE(pose_type, struct pose,
	       WHORL_DDS_FIELD_OF(struct pose, id, WHORL_DDS_FIELD_INT32, 1, WHORL_DDS_FIELD_IS_KEY),
	       WHORL_DDS_FIELD_OF(struct pose, x, WHORL_DDS_FIELD_DOUBLE, 1, 0));

int main()
{
	const pose it = {7, 1.5};
	char text[64];

	if (whorl_dds_sample_to_json(&pose_type, &it, sizeof(it), text, sizeof(text)) < 0 || std::strstr(text, "1.5") == nullptr) {
		std::fprintf(stderr, "%s\n", whorl_dds_text());
		return 1;
	}
	std::puts(whorl_version());
	return 0;
}
