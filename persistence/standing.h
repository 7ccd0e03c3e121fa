/* standing.h - what a node's disk says of views: its standing, and the views in it (docs/decisions/0058).
 *
 * A standing names the newest view that is known to have been decided (base), what its node has agreed to that follows it, and the
 * highest ballot that was promised. Whatever another node is told of these is on the disk before. It lies in the file `standing` of the
 * node's directory, in two slots that are written in turn, each with a number and a checksum:
 *
 *     a page: what the file is, and how much room a copy has,    written once with the first slot, beside; then it takes its name
 *     twice, half a page apart
 *     slot 0, slot 1, two copies in each, of whole pages         number, length, checksum, the standing as bytes
 *
 * Both copies are written, then synced: neither counts before. So where one does not check the other has what was on the disk, and it is mended
 * from that; where neither does the write did not come to its end, and the other slot counts. A file of which no copy checks has been damaged.
 * It is refused, and counts as one that is lost, never as none.
 *
 * A view lies in `view-KEY`, KEY being that of its image in hexadecimal: a checksum and the view's bytes (membership/wire.h), which are
 * any to this module.
 *
 * Threads: any, one at a time for a directory. Each function that takes a directory may block for as long as the disk takes.
 * Results: WHORL_OK; WHORL_DISK: the disk could not, or what lies there is damaged, and the text says what; WHORL_MEMORY.
 */
#ifndef WH_PERSISTENCE_STANDING_H
#define WH_PERSISTENCE_STANDING_H

#include "base/disk.h"

#define WH_STANDING_NAME_BYTES 64

struct wh_shard_standing {                 /* of one durable shard that this node is in, in `base` */
	uint64_t subgroup;                 /* as configured, or the birth of a dynamic one */
	char name[WH_STANDING_NAME_BYTES]; /* of a dynamic one, so that its log can be read without the view; "" of others */
	uint64_t largest;                  /* and the bytes that a message of it has at most; 0 of others */
	uint32_t shard;
	/* Where base begins in its log: behind what the view of key `before` has below `begins`. What lies beyond is void. `before` 0: the log
	 * has nothing of a view before base. */
	uint64_t before, begins;
	bool whole; /* the log has all of its shard: nothing is missing of what came before this node, or it was given the state */
	bool left; /* this node has left that subgroup in order in `base`, behind what it has there below `left_at` */
	uint64_t left_at;
};

/* The log of a dynamic subgroup in which no member is left: what the standing said of it when it was in it last, and where it ends. */
struct wh_dormant_log {
	struct wh_shard_standing shard; /* where the view of key `key` begins in it */
	uint64_t key, number;           /* of the view that it ends in */
	uint64_t cut;                   /* of that view; UINT64_MAX: not known here */
};

struct wh_shard_begin { /* the same of a durable shard of `base` that this node is not in: others may have lost it */
	uint64_t subgroup;
	uint32_t shard;
	uint64_t before, begins;
};

struct wh_standing {       /* all zero: blank */
	uint64_t group;    /* identity of the group; 0: blank */
	uint64_t base;     /* key of the newest view that is known to have been decided */
	uint64_t number;   /* of that view */
	bool first;        /* it is a first view, and nothing is known to have been done in it */
	bool left;         /* this node has left the group in order, in that view */
	bool alone;        /* it was begun anew (anew.h): of the members of that view this disk alone counts */
	uint64_t promised; /* a ballot: nothing of a lower one is agreed to. 0: none was asked for */
	uint32_t shard_count;
	struct wh_shard_standing *shards; /* mine in `base`, ascending by subgroup and shard; NULL if there are none */
	uint32_t other_count;
	struct wh_shard_begin *others; /* the others of `base`, ascending likewise, as far as they are known */
	uint32_t dormant_count;
	struct wh_dormant_log *dormant; /* ascending by subgroup; none of them is among `shards` */
	/* What was agreed to after base. ballot 0: nothing. */
	uint64_t ballot;
	uint64_t next; /* key of the view after base */
	uint32_t cut_count;
	uint64_t *cuts; /* by subgroup (each shard of each) of the view `base`; of those that are not durable 0 */
};

static inline bool wh_standing_is_blank(const struct wh_standing *standing)
{
	return standing->group == 0;
}

/* Else it is a dynamic one, made at run time. */
static inline bool wh_shard_is_of_file(const struct wh_shard_standing *shard)
{
	return shard->name[0] == '\0';
}

/* NULL: it has none of that. */
struct wh_shard_standing *wh_standing_shard(const struct wh_standing *standing, uint64_t subgroup, uint32_t shard);
struct wh_dormant_log *wh_standing_dormant(const struct wh_standing *standing, uint64_t birth);
/* Brings what was put into the lists in any order into theirs. */
void wh_standing_sort(struct wh_standing *standing);
void wh_begins_sort(struct wh_shard_begin *begins, uint32_t count);
/* The dormant ones of *out, which has none, become those of `was` for which `keeps` says so: its dormant ones, and its dynamic shards, which end in
 * its base, where is not known. With room for so many more. WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_standing_keep_dormant(struct wh_standing *out, const struct wh_standing *was,
							 bool (*keeps)(void *ctx, uint64_t birth), void *ctx,
							 uint32_t more);

/* *out is freed by wh_standing_free. WHORL_OK, WHORL_MEMORY: then it is blank. */
WH_MUST_CHECK enum whorl_result wh_standing_copy(struct wh_standing *out, const struct wh_standing *standing);
/* It is blank then. */
void wh_standing_free(struct wh_standing *standing);
bool wh_standing_equals(const struct wh_standing *one, const struct wh_standing *other);

/* As bytes; allocates *out. WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_standing_encode(unsigned char **out, size_t *bytes,
						   const struct wh_standing *standing);
/* Checks all of it that does not need the views; there is one way to write a standing. WHORL_OK, WHORL_MEMORY, WHORL_INVALID (text says
 * what is wrong). *out is blank if it is not WHORL_OK. */
WH_MUST_CHECK enum whorl_result wh_standing_decode(struct wh_standing *out, const void *bytes, size_t count,
						   struct wh_error *err);

/* ---- on disk ---------------------------------------------------------------------------------------------------------- */

struct wh_standing_file { /* all zero: closed */
	struct wh_directory *directory;
	struct wh_file *file; /* NULL: there is none yet: blank */
	uint64_t room;        /* of a copy, in bytes */
	uint64_t number;      /* of the newest slot */
	uint32_t slot;        /* which that is */
	bool failed;          /* a write has failed: what lies there is not known */
};

/* Reads what lies there; no file: blank. The directory must stay open. *passed_over (NULL: it is not asked for): a copy does not check, or is
 * not what the other in its slot is, as after a write that did not end, or a damage. */
WH_MUST_CHECK enum whorl_result wh_standing_open(struct wh_standing_file *file, struct wh_directory *directory,
						 struct wh_standing *out, bool *passed_over, struct wh_error *err);
/* `standing` is what was read: it is written again where it lies, in both copies, and is on disk when this returns WHORL_OK. To be called before
 * anything is said of it: a process that was killed may have left it in memory alone. Does nothing if there is no file. */
WH_MUST_CHECK enum whorl_result wh_standing_mend(struct wh_standing_file *file, const struct wh_standing *standing,
						 struct wh_error *err);
/* It is on disk when this returns WHORL_OK. WHORL_AGAIN: there is no room; what was there before is, and it can be tried again. After any
 * other result either that or what was there before is on disk, and each later write fails. A blank standing is not written. */
WH_MUST_CHECK enum whorl_result wh_standing_write(struct wh_standing_file *file, const struct wh_standing *standing,
						  struct wh_error *err);
void wh_standing_close(struct wh_standing_file *file);

/* It is on disk when this returns WHORL_OK; if it does not, that or what was called so before is. WHORL_AGAIN: there is no room; it can be
 * tried again. */
WH_MUST_CHECK enum whorl_result wh_standing_write_view(struct wh_directory *directory, uint64_t key, const void *bytes,
						       size_t count, struct wh_error *err);
/* Allocates *out. WHORL_NOT_FOUND: there is none of that key. WHORL_DISK, if it is damaged. */
WH_MUST_CHECK enum whorl_result wh_standing_read_view(struct wh_directory *directory, uint64_t key, unsigned char **out,
						      size_t *count, struct wh_error *err);
/* Removes the views that the standing does not name, but for those of the keys in `keep` (views that are being prepared), and what writes
 * have left that did not end. */
WH_MUST_CHECK enum whorl_result wh_standing_sweep(struct wh_directory *directory, const struct wh_standing *standing,
						  const uint64_t *keep, uint32_t keep_count, struct wh_error *err);

#endif
