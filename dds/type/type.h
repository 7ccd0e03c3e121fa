/* type.h - types of topics: how large samples are, what their key is, what their fields are called.
 *
 * A type of the program's is checked, and copied into one block: there all its keys are listed, whether it listed them or its fields say so, and
 * its hash is made, so what is done with it needs to look nowhere else. It travels as bytes to those that have it from the domain alone.
 *
 * The *key* of a sample is the bytes of its key fields, one behind the other; of a text what lies behind its end is 0. The *key hash* is 16
 * bytes: the key itself, with zeros behind it, if it is no longer; else a hash.
 *
 * Threads: any; a type is never changed.
 */
#ifndef WH_DDS_TYPE_H
#define WH_DDS_TYPE_H

#include <stdio.h>

#include <whorl/dds.h>

#include "base/error.h"
#include "dds/base/bytes.h"

#define WH_DDS_HASH_BYTES 16
#define WH_DDS_FIELDS_MAX 256
#define WH_DDS_KEYS_MAX 64
#define WH_DDS_KEY_BYTES_MAX 1024
#define WH_DDS_SAMPLE_BYTES_MAX (1U << 30)

/* Checks it, and copies it. WHORL_DDS_RETCODE_OK; BAD_PARAMETER: err (may be NULL) says what is wrong; OUT_OF_RESOURCES. */
WH_MUST_CHECK whorl_dds_return wh_dds_type_new(struct whorl_dds_type **out, const struct whorl_dds_type *type,
					       struct wh_error *err);
void wh_dds_type_free(struct whorl_dds_type *type);

/* The functions below are for types of wh_dds_type_new. */

/* ---- samples -------------------------------------------------------------------------------------------------------------- */

/* May a sample have so many bytes? */
bool wh_dds_type_fits(const struct whorl_dds_type *type, size_t bytes);

static inline bool wh_dds_type_is_keyed(const struct whorl_dds_type *type)
{
	return type->key_count > 0;
}

/* Of the key of a sample, how many bytes; 0: it has none. */
size_t wh_dds_type_key_bytes(const struct whorl_dds_type *type);
void wh_dds_type_key(const struct whorl_dds_type *type, const void *sample, void *key);
void wh_dds_type_key_hash(const struct whorl_dds_type *type, const void *sample, unsigned char hash[WH_DDS_HASH_BYTES]);
/* A sample (its head) with this key, of which all else is 0. */
void wh_dds_type_from_key(const struct whorl_dds_type *type, const void *key, void *sample);
/* The same of another sample's key. */
void wh_dds_type_copy_key(const struct whorl_dds_type *type, const void *from, void *sample);

/* ---- bytes, texts ------------------------------------------------------------------------------------------------------------ */

void wh_dds_type_encode(const struct whorl_dds_type *type, struct wh_dds_out *out);
/* Any bytes may come, and all of them must be the type. Results as of wh_dds_type_new. */
WH_MUST_CHECK whorl_dds_return wh_dds_type_decode(struct whorl_dds_type **out, const void *bytes, size_t count,
						  struct wh_error *err);

/* Reads `long w; @key long n; string<16> name; double v[3]`: whorl_dds_type_parse. Results as of wh_dds_type_new. */
WH_MUST_CHECK whorl_dds_return wh_dds_type_parse(struct whorl_dds_type **out, const char *name, const char *text,
						 struct wh_error *err);

/* A sample as an object of JSON. UNSUPPORTED: the fields of the type are not described. */
whorl_dds_return wh_dds_type_json(FILE *out, const struct whorl_dds_type *type, const void *sample, size_t bytes);
/* And back, into memory of so many bytes. Returns how many the sample has; BAD_PARAMETER: err (may be NULL) says what is wrong, and at
 * which byte of the text; UNSUPPORTED. */
whorl_dds_return wh_dds_type_from_json(const struct whorl_dds_type *type, const char *text, void *sample, size_t room,
				       struct wh_error *err);

#endif
