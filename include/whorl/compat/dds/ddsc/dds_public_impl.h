/* ddsc/dds_public_impl.h - what code that idlc generates is made of, and numbers that all of the API uses. */
#ifndef WHORL_COMPAT_DDSC_DDS_PUBLIC_IMPL_H
#define WHORL_COMPAT_DDSC_DDS_PUBLIC_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dds/ddsc/dds_opcodes.h>
#include <dds/ddsc/dds_public_alloc.h>
#include <dds/ddsrt/align.h>
#include <dds/export.h>
#include <dds/features.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dds_sequence {
	uint32_t _maximum; /* elements that the buffer has room for */
	uint32_t _length;
	uint8_t *_buffer;
	bool _release; /* freeing a sample frees the buffer, too */
} dds_sequence_t;

typedef struct dds_key_descriptor {
	const char *m_name;
	uint32_t m_offset; /* among the words */
	uint32_t m_idx;
} dds_key_descriptor_t;

struct dds_type_meta_ser {
	unsigned char *data;
	uint32_t sz;
};

#define DDS_DATA_REPRESENTATION_XCDR1 0
#define DDS_DATA_REPRESENTATION_XML 1
#define DDS_DATA_REPRESENTATION_XCDR2 2
#define DDS_DATA_REPRESENTATION_FLAG_XCDR1 (1u << DDS_DATA_REPRESENTATION_XCDR1)
#define DDS_DATA_REPRESENTATION_FLAG_XML (1u << DDS_DATA_REPRESENTATION_XML)
#define DDS_DATA_REPRESENTATION_FLAG_XCDR2 (1u << DDS_DATA_REPRESENTATION_XCDR2)
#define DDS_DATA_REPRESENTATION_RESTRICT_DEFAULT                                                                       \
	(DDS_DATA_REPRESENTATION_FLAG_XCDR1 | DDS_DATA_REPRESENTATION_FLAG_XCDR2)

typedef struct dds_topic_descriptor {
	const uint32_t m_size; /* of a sample's struct */
	const uint32_t m_align;
	const uint32_t m_flagset;
	const uint32_t m_nkeys;
	const char *m_typename;
	const dds_key_descriptor_t *m_keys;
	const uint32_t m_nops;
	const uint32_t *m_ops;
	const char *m_meta;
	struct dds_type_meta_ser type_information;
	struct dds_type_meta_ser type_mapping;
	const uint32_t restrict_data_representation;
} dds_topic_descriptor_t;

#define DDS_READ_SAMPLE_STATE 1u
#define DDS_NOT_READ_SAMPLE_STATE 2u
#define DDS_ANY_SAMPLE_STATE (DDS_READ_SAMPLE_STATE | DDS_NOT_READ_SAMPLE_STATE)
#define DDS_NEW_VIEW_STATE 4u
#define DDS_NOT_NEW_VIEW_STATE 8u
#define DDS_ANY_VIEW_STATE (DDS_NEW_VIEW_STATE | DDS_NOT_NEW_VIEW_STATE)
#define DDS_ALIVE_INSTANCE_STATE 16u
#define DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE 32u
#define DDS_NOT_ALIVE_NO_WRITERS_INSTANCE_STATE 64u
#define DDS_ANY_INSTANCE_STATE                                                                                         \
	(DDS_ALIVE_INSTANCE_STATE | DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE | DDS_NOT_ALIVE_NO_WRITERS_INSTANCE_STATE)
#define DDS_ANY_STATE (DDS_ANY_SAMPLE_STATE | DDS_ANY_VIEW_STATE | DDS_ANY_INSTANCE_STATE)

#define DDS_DOMAIN_DEFAULT ((uint32_t)0xffffffffu)
#define DDS_HANDLE_NIL 0
#define DDS_ENTITY_NIL 0

typedef enum dds_entity_kind {
	DDS_KIND_DONTCARE,
	DDS_KIND_TOPIC,
	DDS_KIND_PARTICIPANT,
	DDS_KIND_READER,
	DDS_KIND_WRITER,
	DDS_KIND_SUBSCRIBER,
	DDS_KIND_PUBLISHER,
	DDS_KIND_COND_READ,
	DDS_KIND_COND_QUERY,
	DDS_KIND_COND_GUARD,
	DDS_KIND_WAITSET,
	DDS_KIND_DOMAIN,
	DDS_KIND_CYCLONEDDS,
} dds_entity_kind_t;
#define DDS_KIND_MAX DDS_KIND_CYCLONEDDS

typedef uint64_t dds_instance_handle_t;
typedef uint32_t dds_domainid_t;

typedef enum dds_find_scope {
	DDS_FIND_SCOPE_GLOBAL,
	DDS_FIND_SCOPE_LOCAL_DOMAIN,
	DDS_FIND_SCOPE_PARTICIPANT,
} dds_find_scope_t;

typedef enum dds_typeid_kind { DDS_TYPEID_MINIMAL, DDS_TYPEID_COMPLETE } dds_typeid_kind_t;

/* Nothing is held back here to be sent with others, so there is nothing to turn on. */
DDS_EXPORT void dds_write_set_batch(bool on);

#ifdef __cplusplus
}
#endif

#endif
