/* status.h - what the files of `whorl status` share.
 *
 * A *report* is what the nodes of a group said of themselves at about one moment (status_ask.c). It is shown to people
 * (status_print.c) or to programs (status_json.c).
 */
#ifndef WH_TOOLS_STATUS_H
#define WH_TOOLS_STATUS_H

#include <whorl/status.h>

#include "base/error.h"
#include "command/output.h"
#include "group/config/config.h"
#include "group/status/status.h"

struct wh_report_whom { /* a group by its name, or by a file that says more, or whichever node is at an address */
	char group[WH_NAME_BYTES];
	const char *address; /* NULL: none; not owned */
	bool verbs;          /* the node there is on verbs: found out when it was first asked */
	bool by_file;        /* the two below are there */
	struct wh_node_config config;
	struct wh_inquiry inquiry;
};

struct wh_report {
	char group[WH_NAME_BYTES];
	int only;     /* the one that was asked; -1: all */
	bool by_file; /* with the key and the certificates that a file names */
	uint64_t at_ns;
	struct wh_report_node {
		enum whorl_result result; /* WHORL_NOT_FOUND: no node is there */
		char text[256];
		struct whorl_status *status; /* with WHORL_OK, else NULL */
	} nodes[WH_NODES_MAX];
	/* The node with the view that counts: the leader of the latest that any node is in, or the first member of it that has
	 * answered. NULL: no node is a member. */
	const struct whorl_status *speaker;
};

/* Asks node `only`, or (-1) all nodes that there are, all at the same time, and waits at most timeout_ms. */
void wh_report_make(struct wh_report *report, struct wh_report_whom *whom, int only, int timeout_ms);
void wh_status_report_free(struct wh_report *report);

/* Does any node answer, or not answer? */
bool wh_report_is_empty(const struct wh_report *report);

/* Has any of them said how it is? Otherwise nothing is known of the group. */
bool wh_report_has_answer(const struct wh_report *report);

/* Tells everything that is not as it should be, a line each. Returns how many there are. */
typedef void wh_report_say_fn(void *ctx, const char *line);
uint32_t wh_report_judge(const struct wh_report *report, wh_report_say_fn *say, void *ctx);

/* What is known of one that has said nothing: "silent", "gone", "unreached", "refused", "unclear". */
const char *wh_report_answer(enum whorl_result result);
/* "seeking", "member", "removed". */
const char *wh_report_standing(const struct whorl_status *status);
const char *wh_report_change(enum whorl_change_step step);
const char *wh_report_complaint(enum whorl_complaint kind);
/* A node of an older version does not say of what it complains. */
bool wh_report_tells_complaints(const struct whorl_status *status);
/* "unordered", "ordered", "durable". */
const char *wh_report_mode(const struct whorl_status_shard *shard);
/* "none", "looks", "asks", "agrees", "begins". */
const char *wh_report_restart(enum whorl_restart_step step);
/* The node that knows most of a restart: one that coordinates before others; NULL: there is none, or some node is a member. */
const struct whorl_status *wh_report_restarter(const struct wh_report *report);
/* "1 (hostb:7001), 2", of what it misses. Returns text. */
const char *wh_report_missing(const struct whorl_status *status, char *text, size_t bytes);
/* Has its disk not answered for so long that it is worth a word? */
bool wh_report_disk_hangs(const struct whorl_status *status);
/* The member of the status's view; NULL: it is none. */
const struct whorl_status_member *wh_report_member(const struct whorl_status *status, uint32_t id);
/* The shard that the node is in, NULL: none. */
const struct whorl_status_shard *wh_report_shard(const struct whorl_status *status, const char *name, uint32_t shard);

/* For people. `before`: an earlier one, for rates; NULL: none. Of a node that was asked alone it shows more. */
void wh_report_print(FILE *out, const struct wh_report *report, const struct wh_report *before);
/* One object for each node, a line each. */
void wh_report_print_json(FILE *out, const struct wh_report *report);

#endif
