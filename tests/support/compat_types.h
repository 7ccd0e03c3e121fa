/* compat_types.h - types as idlc describes them, for programs of Cyclone DDS's API: with a text, keyed by a text, and plain. */
#ifndef WH_TESTS_SUPPORT_COMPAT_TYPES_H
#define WH_TESTS_SUPPORT_COMPAT_TYPES_H

#include <dds/dds.h>

#define COMPAT_TYPES 3U

struct compat_note {
	int32_t id; /* the key */
	char *text;
};
struct compat_named {
	char *name; /* the key */
	dds_sequence_t bytes;
};
struct compat_point {
	int32_t id; /* the key */
	double x;
};

static const uint32_t compat_note_ops[] = {DDS_OP_ADR | DDS_OP_TYPE_4BY | DDS_OP_FLAG_SGN | DDS_OP_FLAG_KEY,
					   offsetof(struct compat_note, id),
					   DDS_OP_ADR | DDS_OP_TYPE_STR,
					   offsetof(struct compat_note, text),
					   DDS_OP_RTS,
					   DDS_OP_KOF | 1,
					   0};
static const uint32_t compat_named_ops[] = {DDS_OP_ADR | DDS_OP_TYPE_STR | DDS_OP_FLAG_KEY,
					    offsetof(struct compat_named, name),
					    DDS_OP_ADR | DDS_OP_TYPE_SEQ | DDS_OP_SUBTYPE_1BY,
					    offsetof(struct compat_named, bytes),
					    DDS_OP_RTS,
					    DDS_OP_KOF | 1,
					    0};
static const uint32_t compat_point_ops[] = {DDS_OP_ADR | DDS_OP_TYPE_4BY | DDS_OP_FLAG_SGN | DDS_OP_FLAG_KEY,
					    offsetof(struct compat_point, id),
					    DDS_OP_ADR | DDS_OP_TYPE_8BY | DDS_OP_FLAG_FP,
					    offsetof(struct compat_point, x),
					    DDS_OP_RTS,
					    DDS_OP_KOF | 1,
					    0};
static const dds_key_descriptor_t compat_id_key[] = {{"id", 5, 0}}, compat_name_key[] = {{"name", 5, 0}};

#define COMPAT_DESCRIPTOR(type, name, keys, ops)                                                                       \
	{                                                                                                              \
		.m_size = sizeof(type), .m_align = _Alignof(type), .m_nkeys = 1, .m_typename = (name),                 \
		.m_keys = (keys), .m_nops = 3, .m_ops = (ops), .m_meta = ""                                            \
	}

static const dds_topic_descriptor_t compat_note_type =
	COMPAT_DESCRIPTOR(struct compat_note, "test::note", compat_id_key, compat_note_ops);
static const dds_topic_descriptor_t compat_named_type =
	COMPAT_DESCRIPTOR(struct compat_named, "test::named", compat_name_key, compat_named_ops);
static const dds_topic_descriptor_t compat_point_type =
	COMPAT_DESCRIPTOR(struct compat_point, "test::point", compat_id_key, compat_point_ops);
static const dds_topic_descriptor_t *const compat_types[COMPAT_TYPES] = {&compat_note_type, &compat_named_type,
									 &compat_point_type};

#endif
