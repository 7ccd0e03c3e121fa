/* sample_lab.c - see sample_lab.h. */
#include <stdlib.h>

#include "tests/support/sample_lab.h"

bool sample_lab_init(struct sample_lab *lab, const struct wh_ddsc_descriptor *descriptor, uint64_t seed,
		     struct wh_error *err)
{
	struct wh_ddsc_words words = {descriptor->ops, 0, 1U << 16};

	*lab = (struct sample_lab){.dice = seed};
	if (wh_ddsc_type_create(&lab->type, descriptor, err) != WHORL_DDS_RETCODE_OK)
		return false;
	lab->shape = wh_ddsc_type_shape(lab->type);
	return wh_ddsc_words_measure(&words, descriptor->op_count) &&
	       wh_ddsc_tree_make(&lab->tree, &words, descriptor, err) == WHORL_DDS_RETCODE_OK;
}

void sample_lab_free(struct sample_lab *lab)
{
	wh_ddsc_tree_free(&lab->tree);
	wh_ddsc_type_free(lab->type);
}

uint32_t sample_lab_draw(struct sample_lab *lab, uint32_t below)
{
	uint64_t value = lab->dice += UINT64_C(0x9e3779b97f4a7c15);

	value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)((value >> 32) % below);
}

static void fill(struct sample_lab *lab, uint32_t self, char *at);

static void scribble(struct sample_lab *lab, void *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		((unsigned char *)at)[i] = (unsigned char)sample_lab_draw(lab, 256);
}

static void fill_text(struct sample_lab *lab, char *text, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		text[i] = (char)('a' + sample_lab_draw(lab, 26));
	text[length] = '\0';
}

static void fill_string(struct sample_lab *lab, char *at)
{
	uint32_t length = sample_lab_draw(lab, 20);
	char *string = malloc(length + 1);

	if (string == NULL)
		abort();
	fill_text(lab, string, length);
	memcpy(at, &string, sizeof(string));
}

static void fill_many(struct sample_lab *lab, uint32_t element, char *at, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		fill(lab, element, at + (size_t)i * lab->tree.nodes[element].bytes);
}

static void fill_sequence(struct sample_lab *lab, const struct wh_ddsc_node *node, char *at)
{
	uint32_t length = sample_lab_draw(lab, node->count < 6 ? node->count + 1 : 7),
		 bytes = lab->tree.nodes[node->child].bytes;
	struct wh_ddsc_sequence sequence = {length, length, NULL, true};

	if (length > 0)
		sequence.buffer = malloc((size_t)length * bytes);
	if (length > 0 && sequence.buffer == NULL)
		abort();
	scribble(lab, sequence.buffer, (size_t)length * bytes);
	fill_many(lab, node->child, sequence.buffer, length);
	memcpy(at, &sequence, sizeof(sequence));
}

static void fill(struct sample_lab *lab, uint32_t self, char *at)
{
	const struct wh_ddsc_node *node = &lab->tree.nodes[self];
	uint64_t value;

	scribble(lab, &value, sizeof(value));
	switch (node->kind) {
	case WH_DDSC_NUMBER:
		scribble(lab, at, node->bytes);
		break;
	case WH_DDSC_BOOL:
		*at = (char)sample_lab_draw(lab, 2);
		break;
	case WH_DDSC_ENUM:
		value %= node->most + 1;
		memcpy(at, &value, 4);
		break;
	case WH_DDSC_BITS:
		value &= node->most;
		memcpy(at, &value, node->bytes);
		break;
	case WH_DDSC_STRING:
		fill_string(lab, at);
		break;
	case WH_DDSC_TEXT:
		fill_text(lab, at, sample_lab_draw(lab, node->bytes));
		break;
	case WH_DDSC_SEQUENCE:
		fill_sequence(lab, node, at);
		break;
	case WH_DDSC_ARRAY:
		fill_many(lab, node->child, at, node->count);
		break;
	case WH_DDSC_STRUCT:
		for (uint32_t i = node->child; i != 0; i = lab->tree.nodes[i].next)
			fill(lab, i, at + lab->tree.nodes[i].offset);
		break;
	}
}

void *sample_lab_zero(struct sample_lab *lab)
{
	void *sample = calloc(1, lab->shape->bytes);

	if (sample == NULL)
		abort();
	return sample;
}

void *sample_lab_new(struct sample_lab *lab)
{
	char *sample = sample_lab_zero(lab);

	scribble(lab, sample, lab->shape->bytes);
	fill(lab, 0, sample);
	return sample;
}

void sample_lab_drop(struct sample_lab *lab, void *sample)
{
	wh_ddsc_sample_clear(lab->type, sample);
	free(sample);
}

static bool same(const struct sample_lab *lab, uint32_t self, const char *a, const char *b);

static bool same_many(const struct sample_lab *lab, uint32_t element, const char *a, const char *b, uint32_t count)
{
	size_t bytes = lab->tree.nodes[element].bytes;

	for (uint32_t i = 0; i < count; i++)
		if (!same(lab, element, a + i * bytes, b + i * bytes))
			return false;
	return true;
}

static bool same(const struct sample_lab *lab, uint32_t self, const char *a, const char *b)
{
	const struct wh_ddsc_node *node = &lab->tree.nodes[self];
	struct wh_ddsc_sequence one, other;

	switch (node->kind) {
	case WH_DDSC_STRING:
		return strcmp(wh_ddsc_string_at(a), wh_ddsc_string_at(b)) == 0;
	case WH_DDSC_TEXT:
		return strncmp(a, b, node->bytes) == 0;
	case WH_DDSC_SEQUENCE:
		memcpy(&one, a, sizeof(one));
		memcpy(&other, b, sizeof(other));
		return one.length == other.length && same_many(lab, node->child, one.buffer, other.buffer, one.length);
	case WH_DDSC_ARRAY:
		return same_many(lab, node->child, a, b, node->count);
	case WH_DDSC_STRUCT:
		for (uint32_t i = node->child; i != 0; i = lab->tree.nodes[i].next)
			if (!same(lab, i, a + lab->tree.nodes[i].offset, b + lab->tree.nodes[i].offset))
				return false;
		return true;
	default:
		return memcmp(a, b, node->bytes) == 0;
	}
}

bool sample_lab_same(const struct sample_lab *lab, const void *a, const void *b)
{
	return same(lab, 0, a, b);
}
