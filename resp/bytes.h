/* resp/bytes.h - bytes that grow at their end: commands as they come in, replies as they go out.
 *
 * When memory is out `failed` is set, and what is added from then on is dropped: whatever writes a reply looks once, at its end.
 */
#ifndef KV_BYTES_H
#define KV_BYTES_H

#include <stdbool.h>
#include <stddef.h>

struct kv_bytes { /* all zero: empty */
	char *data;
	size_t used, room;
	bool failed;
};

/* Makes room for `more` bytes behind `used`, and returns where they go; NULL if memory is out. */
char *kv_bytes_reserve(struct kv_bytes *bytes, size_t more);
void kv_bytes_add(struct kv_bytes *bytes, const void *data, size_t count);
void kv_bytes_text(struct kv_bytes *bytes, const char *text);
void kv_bytes_print(struct kv_bytes *bytes, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Takes away the first `count` of them. */
void kv_bytes_drop(struct kv_bytes *bytes, size_t count);

/* Empties it; memory of up to `keep` bytes stays for the next. */
void kv_bytes_clear(struct kv_bytes *bytes, size_t keep);

#endif
