/* ddsc/dds_opcodes.h - the words in which idlc describes a type to the library. */
#ifndef WHORL_COMPAT_DDSC_DDS_OPCODES_H
#define WHORL_COMPAT_DDSC_DDS_OPCODES_H

#include <dds/ddsrt/align.h>
#include <dds/ddsrt/static_assert.h>

#define DDS_OP_MASK 0xff000000
#define DDS_OP_TYPE_FLAGS_MASK 0x00800000
#define DDS_OP_TYPE_MASK 0x007f0000
#define DDS_OP_SUBTYPE_MASK 0x0000ff00
#define DDS_OP_JMP_MASK 0x0000ffff
#define DDS_OP_FLAGS_MASK 0x000000ff
#define DDS_JEQ_TYPE_FLAGS_MASK 0x00800000
#define DDS_JEQ_TYPE_MASK 0x007f0000
#define DDS_PLM_FLAGS_MASK 0x00ff0000
#define DDS_KOF_OFFSET_MASK 0x0000ffff

enum dds_stream_opcode { /* the highest byte of a word */
			 DDS_OP_RTS = 0 << 24,
			 DDS_OP_ADR = 1 << 24,
			 DDS_OP_JSR = 2 << 24,
			 DDS_OP_JEQ = 3 << 24,
			 DDS_OP_DLC = 4 << 24,
			 DDS_OP_PLC = 5 << 24,
			 DDS_OP_PLM = 6 << 24,
			 DDS_OP_KOF = 7 << 24,
			 DDS_OP_JEQ4 = 8 << 24,
};

/* X(what a type is, its number): in the second byte from above of a member's word, and in the third of its elements'. */
#define WHORL_COMPAT_TYPES(X)                                                                                          \
	X(1BY, 1)                                                                                                      \
	X(2BY, 2)                                                                                                      \
	X(4BY, 3)                                                                                                      \
	X(8BY, 4)                                                                                                      \
	X(STR, 5)                                                                                                      \
	X(BST, 6)                                                                                                      \
	X(SEQ, 7)                                                                                                      \
	X(ARR, 8)                                                                                                      \
	X(UNI, 9)                                                                                                      \
	X(STU, 10)                                                                                                     \
	X(BSQ, 11)                                                                                                     \
	X(ENU, 12)                                                                                                     \
	X(EXT, 13)                                                                                                     \
	X(BLN, 14)                                                                                                     \
	X(BMK, 15)

#define WHORL_COMPAT_VALUE(name, number) DDS_OP_VAL_##name = (number),
#define WHORL_COMPAT_TYPE(name, number) DDS_OP_TYPE_##name = (number) << 16,
#define WHORL_COMPAT_SUBTYPE(name, number) DDS_OP_SUBTYPE_##name = (number) << 8,
enum dds_stream_typecode { WHORL_COMPAT_TYPES(WHORL_COMPAT_VALUE) };
enum dds_stream_typecode_primary { WHORL_COMPAT_TYPES(WHORL_COMPAT_TYPE) };
enum dds_stream_typecode_subtype { WHORL_COMPAT_TYPES(WHORL_COMPAT_SUBTYPE) };

/* Flags: of a member's type, then in the lowest byte of its word. */
#define DDS_OP_FLAG_EXT (1u << 23)
#define DDS_OP_FLAG_KEY (1u << 0)
#define DDS_OP_FLAG_DEF (1u << 1)
#define DDS_OP_FLAG_FP (1u << 1)
#define DDS_OP_FLAG_SGN (1u << 2)
#define DDS_OP_FLAG_MU (1u << 3)
#define DDS_OP_FLAG_BASE (1u << 4)
#define DDS_OP_FLAG_OPT (1u << 5)
#define DDS_OP_FLAG_SZ_SHIFT (6)
#define DDS_OP_FLAG_SZ_MASK (3u << DDS_OP_FLAG_SZ_SHIFT)

/* Flags of a topic's descriptor. */
#define DDS_TOPIC_NO_OPTIMIZE (1u << 0)
#define DDS_TOPIC_FIXED_KEY (1u << 1)
#define DDS_TOPIC_CONTAINS_UNION (1u << 2)
#define DDS_TOPIC_FIXED_SIZE (1u << 4)
#define DDS_TOPIC_FIXED_KEY_XCDR2 (1u << 5)
#define DDS_TOPIC_XTYPES_METADATA (1u << 6)
#define DDS_TOPIC_RESTRICT_DATA_REPRESENTATION (1u << 7)

#define DDS_FIXED_KEY_MAX_SIZE (16)

#endif
