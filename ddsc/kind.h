/* kind.h - the type of a topic, as idlc describes it and as whorl has it.
 *
 * A *plain* type has no pointers: its samples travel as their structs, and lie in a reader's loan as the program reads them. A sample of any other
 * type travels as bytes: a *head* with the key, encoded and with zeros behind it, so that whorl finds the instance, and behind that the sample,
 * both as XCDR2.
 *
 * Threads: any; a kind is never changed. It is counted: each entity that is made of it holds it.
 */
#ifndef WH_DDSC_KIND_H
#define WH_DDSC_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <whorl/dds.h>

#include "base/atomics.h"
#include "base/error.h"
#include "ddsc/type/type.h"

#define WH_DDSC_HEAD_BYTES_MAX 256 /* more of a key is refused when it is written */

struct wh_ddsc_kind {
	wh_word refs;
	uint32_t builtin;          /* WHORL_DDS_BUILTIN_TOPIC_*: then all else says nothing */
	struct wh_ddsc_type *type; /* NULL: the struct of a topic that was found, and not described here: plain */
	bool is_plain;
	size_t sample_bytes;           /* of the program's struct */
	size_t head_bytes;             /* 0: plain, or without a key */
	struct whorl_dds_type whorl;   /* what the topic is registered with */
	struct whorl_dds_key *keys;    /* of `whorl` */
	struct whorl_dds_field *texts; /* key members that are texts: whorl looks at their ends */
};

/* The results are wh_ddsc_type_create's. */
WH_MUST_CHECK whorl_dds_return wh_ddsc_kind_new(struct wh_ddsc_kind **out, const struct wh_ddsc_descriptor *descriptor,
						struct wh_error *err);
/* Of a topic that was found: its samples are structs, as they lie. NULL when memory is out. */
struct wh_ddsc_kind *wh_ddsc_kind_found(const struct whorl_dds_type *type);
struct wh_ddsc_kind *wh_ddsc_kind_builtin(uint32_t topic);
struct wh_ddsc_kind *wh_ddsc_kind_hold(struct wh_ddsc_kind *kind); /* NULL is nothing */
void wh_ddsc_kind_let_go(struct wh_ddsc_kind *kind);

/* The head of a sample, with its key, into `head` of head_bytes. False: it has no such form: its key is too long, or its values are out of their range. */
bool wh_ddsc_kind_head(const struct wh_ddsc_kind *kind, const void *sample, unsigned char *head);

/* How many bytes travel; SIZE_MAX: the sample has no such form. */
size_t wh_ddsc_kind_bytes(const struct wh_ddsc_kind *kind, const void *sample, struct wh_error *err);
/* Writes them, of a type that is not plain, into room for a head at least, and returns how many they are; SIZE_MAX: it has no such form, or does not
 * fit: of the sample no more was looked at than would. */
size_t wh_ddsc_kind_pack(const struct wh_ddsc_kind *kind, const void *sample, unsigned char *to, size_t room);

/* What came, into a sample that is all zero or was read before. `valid`: else it is the key alone. False: it is no sample. */
bool wh_ddsc_kind_unpack(const struct wh_ddsc_kind *kind, const void *data, size_t bytes, bool valid, void *sample);

/* Frees what a sample points to. */
void wh_ddsc_kind_clear(const struct wh_ddsc_kind *kind, void *sample);

#endif
