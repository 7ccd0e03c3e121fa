/* record.h - what a node keeps on disk about the group that it was counted in last: its identity (docs/decisions/0032).
 *
 * A record is a promise: this node forms no group by majority any more. So it is synced before the node says in a view that it is
 * there; and a node that cannot write its record does not go on. It is written once for each identity, by a job off the loop.
 *
 * Threads: the loop's; what a job touches is marked.
 */
#ifndef WH_GROUP_RECORD_H
#define WH_GROUP_RECORD_H

#include <stdint.h>

#include "base/atomics.h"
#include "base/env.h"
#include "base/error.h"

/* Where records are: files of a directory, or the disks of the simulator. `ctx` is theirs. */
struct wh_record_ops {
	/* *group 0: there is no record. WHORL_OK; WHORL_SYSTEM: it cannot be read; WHORL_CONFIG: it is none, or another's. */
	enum whorl_result (*load)(void *ctx, uint64_t *group, struct wh_error *err);
	/* It is on disk when this returns. May block: any thread. WHORL_OK, WHORL_SYSTEM: the one before may be there or not. */
	enum whorl_result (*save)(void *ctx, uint64_t group, struct wh_error *err);
};

#define WH_RECORD_PATH_BYTES 4096

struct wh_record_file { /* of one node of one group */
	char directory[WH_RECORD_PATH_BYTES], name[128];
	char group[64];
	uint32_t node;
};
extern const struct wh_record_ops wh_record_files; /* ctx: a struct wh_record_file */

struct wh_record {
	const struct wh_record_ops *ops; /* NULL: no record is kept */
	void *ctx;
	const struct wh_env *env;
	wh_word *jobs;            /* counts the job. [any] */
	uint64_t group;           /* on disk; 0: there is none */
	uint64_t writing;         /* what the job writes; 0: there is no job */
	wh_word done;             /* 1: the job has ended. [job sets, loop clears] */
	bool failed;              /* for good */
	struct wh_error error;    /* [job, until done] */
	enum whorl_result result; /* [job, until done] */
	struct wh_record_file file;
};

/* What is there is read. The fields up to `jobs` are set by the caller. The results of load. */
WH_MUST_CHECK enum whorl_result wh_record_open(struct wh_record *record, struct wh_error *err);

/* Is that group on disk? */
bool wh_record_has(struct wh_record *record, uint64_t group);
/* Begins to write it, unless that is under way. False: it could not be written; `error` says why. */
bool wh_record_write(struct wh_record *record, uint64_t group);

#endif
