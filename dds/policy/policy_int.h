/* policy_int.h - the table of policies. Rows and fields stand in the order of the policies' numbers. */
#ifndef WH_DDS_POLICY_INT_H
#define WH_DDS_POLICY_INT_H

#include "dds/policy/policy.h"

enum wh_dds_field_kind {
	WH_DDS_WORD,     /* an enumeration, from 0 */
	WH_DDS_FLAG,     /* bool */
	WH_DDS_DURATION, /* int64_t, nanoseconds */
	WH_DDS_NUMBER,   /* int32_t */
	WH_DDS_LIMIT,    /* int32_t, >= 1 or WHORL_DDS_UNLIMITED */
	WH_DDS_KEEP,     /* struct wh_dds_history; as a number its depth, 0 is KEEP_ALL */
	WH_DDS_DATA,     /* struct wh_dds_octets */
	WH_DDS_NAMES,    /* the same: texts, each with a zero behind it */
};

enum wh_dds_rule {               /* when an offer meets a request */
		   WH_DDS_FREE,  /* always */
		   WH_DDS_MORE,  /* the offer is as large, or larger */
		   WH_DDS_LESS,  /* the offer is as small, or smaller */
		   WH_DDS_ALIKE, /* they are the same */
};

struct wh_dds_policy_row {
	enum whorl_dds_policy_id id;
	const char *name;
	uint32_t kinds; /* bit 1 << enum wh_dds_kind: that entity has it */
	bool reaches;   /* endpoints have it from their publisher, subscriber or topic */
	bool later;     /* may be changed when the entity is there */
	const char *meaning;
};

struct wh_dds_field {
	enum whorl_dds_policy_id policy;
	enum wh_dds_field_kind kind;
	enum wh_dds_rule rule;
	const char *key;
	bool main;                /* the policy's name alone stands for it */
	const char *const *words; /* of a WORD, NULL at the end */
	size_t offset;            /* in struct wh_dds_policies */
	int64_t least;            /* of a DURATION */
	int64_t fallback;         /* the default, of what is a number */
	int64_t writers;          /* the default of a writer, if it is another */
};

#define WH_DDS_POLICY_COUNT 24
#define WH_DDS_FIELD_COUNT 35

extern const struct wh_dds_policy_row wh_dds_policy_rows[WH_DDS_POLICY_COUNT];
extern const struct wh_dds_field wh_dds_fields[WH_DDS_FIELD_COUNT];

static inline uint64_t wh_dds_field_bit(const struct wh_dds_field *field)
{
	return UINT64_C(1) << (field - wh_dds_fields);
}

/* Its policy was set, and it was not. That can be of fields with different defaults alone: of others the default is as good. */
static inline bool wh_dds_field_is_lacking(const struct wh_dds_policies *policies, const struct wh_dds_field *field)
{
	return wh_dds_policies_has(policies, field->policy) && (policies->lacks & wh_dds_field_bit(field)) != 0;
}

/* The field is being set: of its policy it alone, if that was not set before. */
void wh_dds_field_is_set(struct wh_dds_policies *policies, const struct wh_dds_field *field);

/* NULL if there is none. */
const struct wh_dds_policy_row *wh_dds_policy_row(enum whorl_dds_policy_id id);

static inline bool wh_dds_field_has_bytes(const struct wh_dds_field *field)
{
	return field->kind == WH_DDS_DATA || field->kind == WH_DDS_NAMES;
}

/* Of fields that are numbers. A KEEP that makes no sense is -1; what is stored must be in range. */
int64_t wh_dds_field_load(const struct wh_dds_policies *policies, const struct wh_dds_field *field);
void wh_dds_field_store(struct wh_dds_policies *policies, const struct wh_dds_field *field, int64_t number);
bool wh_dds_field_allows(const struct wh_dds_field *field, int64_t number);

/* Of the others. */
struct wh_dds_octets *wh_dds_field_octets(struct wh_dds_policies *policies, const struct wh_dds_field *field);
const struct wh_dds_octets *wh_dds_field_bytes(const struct wh_dds_policies *policies,
					       const struct wh_dds_field *field);
bool wh_dds_field_allows_bytes(const struct wh_dds_field *field, const void *bytes, size_t count);
/* In place of what is there. False: memory is out, and it is there still. */
WH_MUST_CHECK bool wh_dds_field_replace(struct wh_dds_policies *policies, const struct wh_dds_field *field,
					const void *bytes, size_t count);

/* Of numbers: how many bytes a value takes in the struct. */
size_t wh_dds_field_size(const struct wh_dds_field *field);

/* "one of volatile, transient_local": what the field expects. What does not fit is cut. */
void wh_dds_field_expected(const struct wh_dds_field *field, char *text, size_t bytes);

/* "all", "on", "volatile": a number as wh_dds_policies_parse reads it. Returns text. */
const char *wh_dds_field_text(const struct wh_dds_field *field, int64_t number, char *text, size_t bytes);
#define WH_DDS_VALUE_BYTES 32 /* of a number as text */

struct wh_dds_blame { /* where a check says what is wrong; each may be NULL */
	enum whorl_dds_policy_id *which;
	struct wh_error *err;
};

/* Says it: "history: " and the text. Returns `result`. */
whorl_dds_return wh_dds_refuse(const struct wh_dds_blame *blame, whorl_dds_return result, enum whorl_dds_policy_id id,
			       const char *format, ...) WH_PRINTF(4, 5);

#endif
