/* topics.h - `whorl dds`: topics for people and scripts.
 *
 *     topics.c          the command line, and what all do: a domain is entered, a signal ends it
 *     topics_pub.c      pub: lines of JSON become samples
 *     topics_sub.c      sub and echo: samples become lines, or samples of another topic
 *     topics_ls.c       ls: what there is in the domain
 *     topics_perf.c     perf: how fast topics are, beside the bare subgroup
 *     topics_bridge.c   bridge: another program is started in place of this one
 *     topics_none.c     in place of these, where whorl was built without topics
 */
#ifndef WH_TOOLS_TOPICS_H
#define WH_TOOLS_TOPICS_H

#include <whorl/dds.h>

#include "command/crew.h"
#include "command/output.h"

struct wh_topics {
	const char *command, *name; /* NULL: none is said */
	const char *type, *qos, *to;
	uint32_t domain;
	uint64_t count; /* of `sub` and `echo`; 0: without end */
	/* perf */
	const char *consistency, *transport, *read;
	const char *file;                                /* of --json; NULL: standard output */
	uint32_t bytes, writers, readers, seconds, rate; /* rate 0: as fast as there is room */
	bool stay, json;
	struct wh_watch watch;
	whorl_dds_entity participant;
	whorl_dds_qos *policies; /* what --qos says, and before it what the command does without */
};

#define WH_TOPICS_SLICE (INT64_C(100) * 1000000) /* a wait, between looks at signals */

enum wh_exit wh_topics_pub(struct wh_topics *topics);
enum wh_exit wh_topics_sub(struct wh_topics *topics);
enum wh_exit wh_topics_echo(struct wh_topics *topics);
enum wh_exit wh_topics_ls(struct wh_topics *topics);
enum wh_exit wh_topics_perf(struct wh_topics *topics); /* without a participant */

/* argv[0] is `bridge`. Returns if the program cannot be started, which has been said. */
enum wh_exit wh_topics_bridge(int argc, char **argv);

/* Says what the library has refused last, and what that means for the command. */
enum wh_exit wh_topics_refused(whorl_dds_return result);
/* A signal has come. */
bool wh_topics_interrupted(struct wh_topics *topics);
/* Waits for the topic, as long as it takes. False: a signal has come, or it was said what is wrong (*status). */
bool wh_topics_find(struct wh_topics *topics, whorl_dds_entity *topic, enum wh_exit *status);
/* Writes one, and waits for room as long as it takes; false as above. */
bool wh_topics_write(struct wh_topics *topics, whorl_dds_entity writer, const void *data,
		     const struct whorl_dds_write_options *options, enum wh_exit *status);
/* Waits until all have delivered what was written. */
enum wh_exit wh_topics_settle(struct wh_topics *topics, whorl_dds_entity writer);

#endif
