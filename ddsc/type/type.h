/* type.h - types as idlc describes them, and their samples as CDR.
 *
 * A descriptor is what Cyclone DDS 0.10's IDL compiler writes for a type of IDL: a struct with, in it, a list of words that say where which member
 * lies. It is checked, and made into programs of our own, one for each form: those encode a sample (a struct as idlc lays it out, with what it points
 * to) and decode it, byte for byte as Cyclone DDS does.
 *
 * Supported: structs in structs and bases; @final and @appendable; booleans, characters, octets, integers, floats, enums, bitmasks; strings and
 * bounded strings; arrays and sequences, bounded or not, of all these and of each other. Not: unions, @mutable, @optional and @external members,
 * types that contain themselves. Nesting is bounded (WH_DDSC_DEPTH_MAX).
 *
 * A *plain* type has no pointers, so a sample is its struct and nothing else.
 *
 * What a sample points to is memory of malloc(). The *key* of a sample, as bytes, is its key members one after the other, in the order of their ids
 * (a descriptor lists them so), without any length of a struct.
 *
 * Threads: any; a type is never changed. A sample is its caller's.
 */
#ifndef WH_DDSC_TYPE_H
#define WH_DDSC_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <whorl/dds.h>

#include "base/error.h"

#define WH_DDSC_DEPTH_MAX 32 /* of members in members, sequences in sequences, ... */

/* ---- descriptors ---------------------------------------------------------------------------------------------------------- */

struct wh_ddsc_key_name { /* a key member. The layout is Debian's dds_key_descriptor_t */
	const char *name; /* "position.x" */
	uint32_t at;      /* where in the words its path is */
	uint32_t index;
};

struct wh_ddsc_blob {
	unsigned char *bytes;
	uint32_t count;
};

struct wh_ddsc_descriptor { /* the layout is Debian's dds_topic_descriptor_t, and idlc fills it */
	uint32_t bytes;     /* of the struct */
	uint32_t align;
	uint32_t flags;
	uint32_t key_count;
	const char *name;
	const struct wh_ddsc_key_name *keys;
	uint32_t op_count; /* operations, not words: it says little of where `ops` ends */
	const uint32_t *ops;
	const char *xml;
	struct wh_ddsc_blob information, mapping; /* of XTypes */
	uint32_t representations;
};

struct wh_ddsc_type;

/* The descriptor is not needed afterwards. Of `ops` as many words are read as its operations have, and the paths of its keys: that so many are there
 * cannot be checked. OK; BAD_PARAMETER: the descriptor is broken: err (may be NULL) says how; UNSUPPORTED: err names the key, or
 * the member, and what it is; if `mapping` does not say what the member is called, then at which byte of its struct it lies; OUT_OF_RESOURCES. */
WH_MUST_CHECK whorl_dds_return wh_ddsc_type_create(struct wh_ddsc_type **out,
						   const struct wh_ddsc_descriptor *descriptor, struct wh_error *err);
void wh_ddsc_type_free(struct wh_ddsc_type *type); /* NULL is nothing */

/* ---- what is known of a type ------------------------------------------------------------------------------------------------- */

struct wh_ddsc_key {      /* a key member of a plain type, or a primitive in one that is a struct */
	const char *name; /* the descriptor's: of the member that it is in */
	uint32_t offset, bytes;
	bool is_text; /* char[bytes], which ends at its first zero: bytes behind that say nothing */
};

struct wh_ddsc_shape {
	const char *name;
	uint32_t bytes, align; /* of the struct */
	bool is_plain;
	bool is_final;     /* not @appendable: classic CDR can say it */
	bool key_is_plain; /* no string is part of it: keys are bytes of the struct */
	const struct wh_ddsc_key *keys;
	uint32_t key_count;
	size_t key_bytes_max; /* of the key in XCDR2; SIZE_MAX: no bound */
	size_t bytes_max;     /* of a sample in XCDR2; SIZE_MAX: no bound */
};

const struct wh_ddsc_shape *wh_ddsc_type_shape(const struct wh_ddsc_type *type); /* lives as long as the type does */

/* ---- samples as bytes ---------------------------------------------------------------------------------------------------------- */

enum wh_ddsc_form { /* little-endian when written; without the four bytes that name the form before it */
		    WH_DDSC_XCDR1 = 1, /* classic CDR: for final types alone */
		    WH_DDSC_XCDR2 = 2,
};

/* How many bytes a sample takes. SIZE_MAX: it has no such form: an enum is out of its range, a bitmask has other bits, a string or sequence is longer
 * than its bound, a sequence has a length and no buffer, more than 4 GB, or XCDR1 of a type that is not final; err (may be NULL) says why.
 * A string that is NULL is an empty one, as Cyclone DDS has it. */
size_t wh_ddsc_encoded_bytes(const struct wh_ddsc_type *type, enum wh_ddsc_form form, const void *sample,
			     struct wh_error *err);
/* Writes it, and returns how many bytes it has; SIZE_MAX: it has no such form, or does not fit: what was written means nothing then, and of the
 * sample no more was looked at than would fit. */
size_t wh_ddsc_encode(const struct wh_ddsc_type *type, enum wh_ddsc_form form, const void *sample, unsigned char *to,
		      size_t room);

/* `sample` is all zero, or was decoded before: then its memory is used again. Any bytes may come, and what lies behind a sample is passed over.
 * False: they are no sample, or there is no memory: err (may be NULL) says why; `sample` can be decoded into again, or cleared. */
bool wh_ddsc_decode(const struct wh_ddsc_type *type, enum wh_ddsc_form form, bool big_endian, const unsigned char *from,
		    size_t bytes, void *sample, struct wh_error *err);

/* Frees what it points to: strings are NULL then, and sequences have no buffer, but for one that is not to be freed, which stays with all that is in
 * it. Numbers stay as they are. */
void wh_ddsc_sample_release(const struct wh_ddsc_type *type, void *sample);
/* The same of its key members alone. */
void wh_ddsc_key_release(const struct wh_ddsc_type *type, void *sample);
/* All of it is freed, and it is all zero then. */
void wh_ddsc_sample_clear(const struct wh_ddsc_type *type, void *sample);

/* ---- keys ------------------------------------------------------------------------------------------------------------------- */

/* The same of the key of a sample; no bytes at all, if the type has none. XCDR1 of it is there for any type. */
size_t wh_ddsc_key_bytes(const struct wh_ddsc_type *type, enum wh_ddsc_form form, const void *sample,
			 struct wh_error *err);
size_t wh_ddsc_key_encode(const struct wh_ddsc_type *type, enum wh_ddsc_form form, const void *sample,
			  unsigned char *to, size_t room);
/* Into the key members alone: all else of the sample stays as it is. */
bool wh_ddsc_key_decode(const struct wh_ddsc_type *type, enum wh_ddsc_form form, bool big_endian,
			const unsigned char *from, size_t bytes, void *sample, struct wh_error *err);

#endif
