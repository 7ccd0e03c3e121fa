/* cdr_fast.cc - samples at random are the same bytes in classic CDR here and by Fast CDR, member by member, in both byte orders. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fastcdr/Cdr.h>

extern "C" {
#include "tests/support/descriptors.h"
#include "tests/support/sample_lab.h"
}

#define SAMPLES 500
#define ROOM 65536

using eprosima::fastcdr::Cdr;

static void put(Cdr &cdr, const sample_lab &lab, uint32_t self, const char *at);

template <typename number> static void put_number(Cdr &cdr, const char *at)
{
	number value;

	memcpy(&value, at, sizeof(value));
	cdr << value;
}

static void put_value(Cdr &cdr, unsigned bytes, const char *at)
{
	if (bytes == 1)
		put_number<uint8_t>(cdr, at);
	else if (bytes == 2)
		put_number<uint16_t>(cdr, at);
	else if (bytes == 4)
		put_number<uint32_t>(cdr, at);
	else
		put_number<uint64_t>(cdr, at);
}

static void put_many(Cdr &cdr, const sample_lab &lab, uint32_t element, const char *at, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		put(cdr, lab, element, at + (size_t)i * lab.tree.nodes[element].bytes);
}

static void put_sequence(Cdr &cdr, const sample_lab &lab, const wh_ddsc_node *node, const char *at)
{
	wh_ddsc_sequence sequence;

	memcpy(&sequence, at, sizeof(sequence));
	cdr << sequence.length;
	put_many(cdr, lab, node->child, (const char *)sequence.buffer, sequence.length);
}

static void put(Cdr &cdr, const sample_lab &lab, uint32_t self, const char *at)
{
	const wh_ddsc_node *node = &lab.tree.nodes[self];

	switch (node->kind) {
	case WH_DDSC_BOOL:
		cdr << (*at != 0);
		break;
	case WH_DDSC_NUMBER:
	case WH_DDSC_ENUM:
	case WH_DDSC_BITS:
		put_value(cdr, node->width, at); /* of an enum that is narrow the lowest bytes */
		break;
	case WH_DDSC_STRING:
		cdr << std::string(wh_ddsc_string_at(at));
		break;
	case WH_DDSC_TEXT:
		cdr << std::string(at);
		break;
	case WH_DDSC_SEQUENCE:
		put_sequence(cdr, lab, node, at);
		break;
	case WH_DDSC_ARRAY:
		put_many(cdr, lab, node->child, at, node->count);
		break;
	case WH_DDSC_STRUCT:
		for (uint32_t i = node->child; i != 0; i = lab.tree.nodes[i].next)
			put(cdr, lab, i, at + lab.tree.nodes[i].offset);
		break;
	}
}

/* Returns how many bytes Fast CDR makes of it. */
static size_t fast(std::vector<char> &bytes, const sample_lab &lab, Cdr::Endianness order, const void *sample)
{
	eprosima::fastcdr::FastBuffer buffer(bytes.data(), bytes.size());
	Cdr cdr(buffer, order, Cdr::DDS_CDR);

	put(cdr, lab, 0, (const char *)sample);
	return cdr.getSerializedDataLength();
}

static bool try_sample(sample_lab &lab)
{
	std::vector<char> theirs(ROOM, 0);
	std::vector<unsigned char> ours(ROOM);
	void *sample = sample_lab_new(&lab), *read = sample_lab_zero(&lab);
	size_t count = fast(theirs, lab, Cdr::LITTLE_ENDIANNESS, sample);
	bool same = wh_ddsc_encode(lab.type, WH_DDSC_XCDR1, sample, ours.data(), count) == count &&
		    memcmp(ours.data(), theirs.data(), count) == 0 &&
		    wh_ddsc_decode(lab.type, WH_DDSC_XCDR1, false, (unsigned char *)theirs.data(), count, read, NULL) &&
		    sample_lab_same(&lab, sample, read);

	count = fast(theirs, lab, Cdr::BIG_ENDIANNESS, sample);
	same = same &&
	       wh_ddsc_decode(lab.type, WH_DDSC_XCDR1, true, (unsigned char *)theirs.data(), count, read, NULL) &&
	       sample_lab_same(&lab, sample, read);
	sample_lab_drop(&lab, sample);
	sample_lab_drop(&lab, read);
	return same;
}

int main()
{
	const wh_ddsc_descriptor *const descriptors[] = {&keyed_descriptor, &all_descriptor, &mixed_descriptor};
	const char *seed = getenv("WHORL_SEED");

	for (const wh_ddsc_descriptor *descriptor : descriptors) {
		sample_lab lab;

		if (!sample_lab_init(&lab, descriptor, seed != NULL ? strtoull(seed, NULL, 0) : 1, NULL))
			return EXIT_FAILURE;
		for (int i = 0; i < SAMPLES; i++) {
			if (!try_sample(lab)) {
				fprintf(stderr, "%s: sample %d is not the same\n", descriptor->name, i);
				return EXIT_FAILURE;
			}
		}
		sample_lab_free(&lab);
	}
	return EXIT_SUCCESS;
}
