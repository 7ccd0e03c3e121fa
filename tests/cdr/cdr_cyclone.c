/* cdr_cyclone.c - samples at random are the same bytes here and in Cyclone DDS, and each reads what the other has written; of keys, too. That our
 * descriptor has Debian's layout.
 * Labels: random
 */
#include <dds/dds.h>

#include <dds/ddsi/ddsi_cdrstream.h>
#include <dds/ddsi/q_protocol.h>

#include "cdr.h"
#include "tests/cdr/types.h"
#include "tests/harness.h"
#include "tests/support/sample_lab.h"

#define SAMPLES 150
#define ROOM 65536

#define SAME_PLACE(ours, theirs)                                                                                       \
	_Static_assert(offsetof(struct wh_ddsc_descriptor, ours) == offsetof(dds_topic_descriptor_t, theirs) &&        \
			       sizeof(((struct wh_ddsc_descriptor *)0)->ours) ==                                       \
				       sizeof(((dds_topic_descriptor_t *)0)->theirs),                                  \
		       "a descriptor has Debian's layout")
SAME_PLACE(bytes, m_size);
SAME_PLACE(align, m_align);
SAME_PLACE(flags, m_flagset);
SAME_PLACE(key_count, m_nkeys);
SAME_PLACE(name, m_typename);
SAME_PLACE(keys, m_keys);
SAME_PLACE(op_count, m_nops);
SAME_PLACE(ops, m_ops);
SAME_PLACE(xml, m_meta);
SAME_PLACE(information, type_information);
SAME_PLACE(mapping, type_mapping);
SAME_PLACE(representations, restrict_data_representation);
_Static_assert(sizeof(struct wh_ddsc_descriptor) == sizeof(dds_topic_descriptor_t), "of a descriptor");
_Static_assert(sizeof(struct wh_ddsc_key_name) == sizeof(dds_key_descriptor_t) &&
		       offsetof(struct wh_ddsc_key_name, at) == offsetof(dds_key_descriptor_t, m_offset) &&
		       offsetof(struct wh_ddsc_key_name, index) == offsetof(dds_key_descriptor_t, m_idx),
	       "of a key");
_Static_assert(sizeof(struct wh_ddsc_sequence) == sizeof(dds_sequence_t) &&
		       offsetof(struct wh_ddsc_sequence, buffer) == offsetof(dds_sequence_t, _buffer) &&
		       offsetof(struct wh_ddsc_sequence, release) == offsetof(dds_sequence_t, _release),
	       "of a sequence");

#define DESCRIPTOR(name) &cdr_##name##_desc,
static const dds_topic_descriptor_t *const descriptors[] = {CDR_TYPES(DESCRIPTOR)};
#define TYPES ((int)(sizeof(descriptors) / sizeof(descriptors[0])))

struct peer { /* a type as the one that Cyclone DDS makes, of what its codec reads */
	struct ddsi_sertype_default type;
	ddsi_sertype_default_desc_key_t keys[32];
};

static void peer_init(struct peer *peer, const dds_topic_descriptor_t *descriptor)
{
	struct ddsi_sertype_default_desc *type = &peer->type.type;

	memset(peer, 0, sizeof(*peer));
	type->size = descriptor->m_size;
	type->align = descriptor->m_align;
	type->flagset = descriptor->m_flagset;
	type->ops.ops = (uint32_t *)descriptor->m_ops;
	type->ops.nops = dds_stream_countops(descriptor->m_ops, descriptor->m_nkeys, descriptor->m_keys);
	type->keys.nkeys = descriptor->m_nkeys;
	type->keys.keys = peer->keys;
	ck_assert_uint_le(descriptor->m_nkeys, 32);
	for (uint32_t i = 0; i < descriptor->m_nkeys; i++)
		peer->keys[i] =
			(ddsi_sertype_default_desc_key_t){descriptor->m_keys[i].m_offset, descriptor->m_keys[i].m_idx};
}

struct bytes {
	unsigned char at[ROOM] __attribute__((aligned(8)));
	uint32_t count;
};

/* What Cyclone DDS writes; false: it refuses. */
static bool peer_write(struct peer *peer, enum wh_ddsc_form form, bool big, bool key, const void *sample,
		       struct bytes *out)
{
	dds_ostream_t stream;
	bool ok = true;

	dds_ostream_init(&stream, 0, (uint32_t)form);
	if (key && big)
		dds_stream_write_keyBE((dds_ostreamBE_t *)&stream, sample, &peer->type);
	else if (key)
		dds_stream_write_key(&stream, sample, &peer->type);
	else if (big)
		ok = dds_stream_write_sampleBE((dds_ostreamBE_t *)&stream, sample, &peer->type);
	else
		ok = dds_stream_write_sample(&stream, sample, &peer->type);
	ck_assert_uint_le(stream.m_index, ROOM);
	if (ok && stream.m_index > 0)
		memcpy(out->at, stream.m_buffer, stream.m_index);
	out->count = ok ? stream.m_index : 0;
	dds_ostream_fini(&stream);
	return ok;
}

/* Cyclone DDS reads into a sample that is zero; false: it refuses. The bytes are changed. */
static bool peer_read(struct peer *peer, enum wh_ddsc_form form, bool key, struct bytes *in, void *sample)
{
	dds_istream_t stream;
	uint32_t count;

	if (!dds_stream_normalize(in->at, in->count, false, (uint32_t)form, &peer->type, key, &count))
		return false;
	dds_istream_init(&stream, count, in->at, (uint32_t)form);
	if (key)
		dds_stream_read_key(&stream, sample, &peer->type);
	else
		dds_stream_read_sample(&stream, sample, &peer->type);
	return true;
}

static struct sample_lab lab;
static struct peer peer;

static void begin(int i, uint64_t seed)
{
	struct wh_error err = {.text = ""};

	peer_init(&peer, descriptors[i]);
	ck_assert_msg(sample_lab_init(&lab, (const struct wh_ddsc_descriptor *)descriptors[i], test_seed(seed), &err),
		      "%s", err.text);
}

static size_t encode(enum wh_ddsc_form form, bool key, const void *sample, struct bytes *out)
{
	size_t bytes = key ? wh_ddsc_key_bytes(lab.type, form, sample, NULL)
			   : wh_ddsc_encoded_bytes(lab.type, form, sample, NULL);

	if (bytes == SIZE_MAX)
		return bytes;
	ck_assert_uint_le(bytes, ROOM);
	ck_assert_uint_eq(key ? wh_ddsc_key_encode(lab.type, form, sample, out->at, bytes)
			      : wh_ddsc_encode(lab.type, form, sample, out->at, bytes),
			  bytes);
	return out->count = (uint32_t)bytes;
}

static bool decode(enum wh_ddsc_form form, bool big, bool key, const struct bytes *in, void *sample)
{
	struct wh_error err = {.text = ""};

	return key ? wh_ddsc_key_decode(lab.type, form, big, in->at, in->count, sample, &err)
		   : wh_ddsc_decode(lab.type, form, big, in->at, in->count, sample, &err);
}

static void must_be_same(const struct bytes *ours, const struct bytes *theirs, const char *what)
{
	ck_assert_msg(ours->count == theirs->count, "%s of %s: %u bytes, not %u", what, lab.shape->name, ours->count,
		      theirs->count);
	for (uint32_t i = 0; i < ours->count; i++)
		ck_assert_msg(ours->at[i] == theirs->at[i], "%s of %s: byte %u of %u is %02x, not %02x", what,
			      lab.shape->name, i, ours->count, ours->at[i], theirs->at[i]);
}

static void try_sample(enum wh_ddsc_form form, void *old)
{
	static struct bytes ours, theirs, big;
	void *sample = sample_lab_new(&lab), *theirs_read = sample_lab_zero(&lab);

	ck_assert(peer_write(&peer, form, false, false, sample, &theirs));
	ck_assert_uint_ne(encode(form, false, sample, &ours), SIZE_MAX);
	must_be_same(&ours, &theirs, "sample");
	if (form == WH_DDSC_XCDR2)
		ck_assert_uint_le(ours.count, lab.shape->bytes_max);
	ck_assert(decode(form, false, false, &theirs, old));
	ck_assert(sample_lab_same(&lab, sample, old));
	ck_assert(peer_write(&peer, form, true, false, sample, &big));
	ck_assert(decode(form, true, false, &big, old));
	ck_assert(sample_lab_same(&lab, sample, old));
	ck_assert(peer_read(&peer, form, false, &ours, theirs_read));
	ck_assert(sample_lab_same(&lab, sample, theirs_read));
	sample_lab_drop(&lab, sample);
	sample_lab_drop(&lab, theirs_read);
}

static void try_key(enum wh_ddsc_form form)
{
	static struct bytes ours, theirs, big, again;
	void *sample = sample_lab_new(&lab), *read = sample_lab_zero(&lab), *swapped = sample_lab_zero(&lab);

	(void)peer_write(&peer, form, false, true, sample, &theirs);
	ck_assert_uint_ne(encode(form, true, sample, &ours), SIZE_MAX);
	must_be_same(&ours, &theirs, "key");
	if (form == WH_DDSC_XCDR2)
		ck_assert_uint_le(ours.count, lab.shape->key_bytes_max);
	ck_assert(decode(form, false, true, &theirs, read));
	ck_assert_uint_ne(encode(form, true, read, &again), SIZE_MAX);
	must_be_same(&again, &theirs, "key that was read");
	(void)peer_write(&peer, form, true, true, sample, &big);
	ck_assert(decode(form, true, true, &big, swapped));
	ck_assert(sample_lab_same(&lab, read, swapped));
	sample_lab_drop(&lab, sample);
	sample_lab_drop(&lab, read);
	sample_lab_drop(&lab, swapped);
}

TEST_CASE("bytes", .timeout_s = 60);

TEST_LOOP(samples_are_the_same_bytes, 0, TYPES)
{
	void *old;

	begin(_i, 1);
	ck_assert_int_eq(lab.shape->is_final, dds_stream_minimum_xcdr_version(descriptors[_i]->m_ops) == 1);
	old = sample_lab_zero(&lab);
	for (int i = 0; i < SAMPLES; i++) {
		if (lab.shape->is_final)
			try_sample(WH_DDSC_XCDR1, old);
		try_sample(WH_DDSC_XCDR2, old);
	}
	sample_lab_drop(&lab, old);
	sample_lab_free(&lab);
}

TEST_LOOP(keys_are_the_same_bytes, 0, TYPES)
{
	begin(_i, 2);
	for (int i = 0; i < SAMPLES; i++) {
		if (lab.shape->is_final)
			try_key(WH_DDSC_XCDR1);
		try_key(WH_DDSC_XCDR2);
	}
	sample_lab_free(&lab);
}

/* Cyclone DDS 0.10 calls abort() for some bytes of @appendable types that have a base, or structs in them: as older samples, these end early. */
static bool would_abort(const dds_topic_descriptor_t *descriptor)
{
	return descriptor == &cdr_ap_derived_desc || descriptor == &cdr_appendables_desc ||
	       descriptor == &cdr_keys_ap_desc;
}

/* Bytes that are changed somewhere: what is taken here means the same there. (Not the other way round: Cyclone DDS 0.10 looks for only four of
 * the last eight bytes.) */
TEST_LOOP(what_is_taken_means_the_same, 0, TYPES)
{
	static struct bytes bytes, theirs;
	int refused = 0, taken = 0;

	begin(_i, 3);
	if (would_abort(descriptors[_i])) {
		sample_lab_free(&lab);
		return;
	}
	for (int i = 0; i < 20 * SAMPLES; i++) {
		enum wh_ddsc_form form = lab.shape->is_final && i % 2 == 0 ? WH_DDSC_XCDR1 : WH_DDSC_XCDR2;
		void *sample = sample_lab_new(&lab), *ours_read = sample_lab_zero(&lab),
		     *theirs_read = sample_lab_zero(&lab);
		bool ours_ok, theirs_ok;

		(void)encode(form, false, sample, &bytes);
		for (uint32_t k = sample_lab_draw(&lab, 3); k > 0 && bytes.count > 0; k--)
			bytes.at[sample_lab_draw(&lab, bytes.count)] = (unsigned char)sample_lab_draw(&lab, 8);
		if (sample_lab_draw(&lab, 2) == 0)
			bytes.count -= sample_lab_draw(&lab, bytes.count);
		theirs = bytes;
		ours_ok = decode(form, false, false, &bytes, ours_read);
		theirs_ok = ours_ok && peer_read(&peer, form, false, &theirs, theirs_read);
		ck_assert_msg(ours_ok == theirs_ok, "%s, sample %d: they refuse it", lab.shape->name, i);
		if (ours_ok)
			ck_assert(sample_lab_same(&lab, ours_read, theirs_read));
		*(ours_ok ? &taken : &refused) += 1;
		sample_lab_drop(&lab, sample);
		sample_lab_drop(&lab, ours_read);
		sample_lab_drop(&lab, theirs_read);
	}
	ck_assert_int_gt(taken, 0);
	ck_assert_int_gt(refused, 0);
	sample_lab_free(&lab);
}

/* What is wrong with a sample is refused on both sides, and a string that is NULL is an empty one on both. */
static void both_refuse(const void *sample)
{
	static struct bytes theirs;

	ck_assert_uint_eq(wh_ddsc_encoded_bytes(lab.type, WH_DDSC_XCDR2, sample, NULL), SIZE_MAX);
	ck_assert(!peer_write(&peer, WH_DDSC_XCDR2, false, false, sample, &theirs));
}

static int index_of(const dds_topic_descriptor_t *descriptor)
{
	int i = 0;

	while (descriptors[i] != descriptor)
		i++;
	return i;
}

TEST(values_out_of_their_range_are_refused)
{
	cdr_enums sample;

	begin(index_of(&cdr_enums_desc), 4);
	memset(&sample, 0, sizeof(sample));
	sample.c = 3;
	both_refuse(&sample);
	sample.c = 0;
	sample.t = 4;
	both_refuse(&sample);
	sample.t = 0;
	sample.b12 = 4;
	both_refuse(&sample);
	sample_lab_free(&lab);
}

/* Cyclone DDS refuses it too, but frees its buffer then, which its caller does again. */
TEST(sequences_over_their_bound_are_refused)
{
	cdr_sequences sample;
	double numbers[10] = {0};

	begin(index_of(&cdr_sequences_desc), 5);
	memset(&sample, 0, sizeof(sample));
	sample.sd = (dds_sequence_double){10, 10, numbers, false};
	ck_assert_uint_eq(wh_ddsc_encoded_bytes(lab.type, WH_DDSC_XCDR2, &sample, NULL), SIZE_MAX);
	sample.sd._length = 9;
	ck_assert_uint_ne(wh_ddsc_encoded_bytes(lab.type, WH_DDSC_XCDR2, &sample, NULL), SIZE_MAX);
	sample_lab_free(&lab);
}

TEST(a_string_that_is_null_is_empty)
{
	static struct bytes ours, theirs;
	cdr_named sample = {.name = NULL}, empty = {.name = (char[]){""}};

	begin(index_of(&cdr_named_desc), 6);
	ck_assert(peer_write(&peer, WH_DDSC_XCDR2, false, false, &sample, &theirs));
	ck_assert_uint_ne(encode(WH_DDSC_XCDR2, false, &sample, &ours), SIZE_MAX);
	must_be_same(&ours, &theirs, "NULL");
	ck_assert_uint_ne(encode(WH_DDSC_XCDR2, false, &empty, &ours), SIZE_MAX);
	must_be_same(&ours, &theirs, "an empty string");
	sample_lab_free(&lab);
}

#define REFUSED(name, what) {&cdr_##name##_desc, what},
static const struct {
	const dds_topic_descriptor_t *descriptor;
	const char *what;
} refused[] = {CDR_REFUSED(REFUSED)};

TEST_LOOP(what_is_not_supported_is_said, 0, sizeof(refused) / sizeof(refused[0]))
{
	struct wh_error err = {.text = ""};
	struct wh_ddsc_type *type;

	ck_assert_int_eq(wh_ddsc_type_create(&type, (const struct wh_ddsc_descriptor *)refused[_i].descriptor, &err),
			 WHORL_DDS_RETCODE_UNSUPPORTED);
	ck_assert_ptr_null(type);
	ck_assert_msg(strstr(err.text, refused[_i].what) != NULL, "%s", err.text);
}

TEST_SUITE("cdr_cyclone")
