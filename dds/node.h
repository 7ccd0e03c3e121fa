/* node.h - what joins the parts of topics: a node of the group for each process and domain, the control channel and the channels as its
 * subgroups, and the entities that programs have. docs/decisions/0052, "Threads, and how the parts will be joined".
 *
 *     root.c        what a process has once: the table of handles, the nodes
 *     host.c        time and threads, of the system or of a simulation
 *     fetch.c       channels of which the logs lie in directories of processes that have gone
 *     node.c        a node: opened by the first participant of a domain, closed with the last; calls that are under way
 *     shape.c       which channels there are, and which a topic lies on
 *     line.c        a subgroup with a machine: how it is entered, when it rests, what is asked and answered there; line_views.c and
 *                   line_messages.c: what comes, in its order; line_state.c: its state, for newcomers
 *     stream.c      a subgroup that carries samples of unordered topics
 *     deliver.c     what a channel's machine tells: to caches, statuses, calls that wait
 *     work.c        the thread for listeners and timers
 *     entities.c    what all entities have: policies, statuses, listeners, the tree
 *     participant.c, topic.c, writer.c, reader.c, waiting.c   each kind
 *     known.c       the instances that a writer has, or that a reader has seen
 *     loan.c        memory that writers lend
 *     builtin.c     readers of what there is in the domain
 *
 * Locks, each before those behind it: root, node, a channel's line, that of the control channel (a thread may take one again), watching, listening,
 * an entity's, then those of queues and signals.
 * None is held while the program is called, but a line's by an in-place listener, or while a call of the node waits.
 */
#ifndef WH_DDS_NODE_H
#define WH_DDS_NODE_H

#include <pthread.h>

#include <whorl/whorl.h>

#include "base/atomics.h"
#include "base/backoff.h"
#include "dds/base/host.h"
#include "dds/base/text.h"
#include "dds/cache/cache.h"
#include "dds/cache/filter.h"
#include "dds/channel/channel.h"
#include "dds/channel/registry.h"
#include "dds/config/config.h"
#include "dds/entity/condition.h"
#include "dds/entity/entity.h"
#include "dds/policy/qos.h"
#include "dds/status/listener.h"
#include "dds/type/type.h"

#define WH_DDS_WAIT_NS (INT64_C(10) * 1000000000) /* for the group's answer */
#define WH_DDS_MEMBERS_MAX 256

struct wh_dds_node;
struct wh_dds_base;
struct wh_dds_reader_entity;
struct wh_dds_writer_entity;

/* ---- root.c ------------------------------------------------------------------------------------------------------------------ */

struct wh_dds_root {
	struct wh_dds_table *table;    /* [const] NULL: memory was out */
	struct wh_dds_signals signals; /* of all conditions: any may meet any waitset */
	pthread_mutex_t lock;
	pthread_cond_t changed;    /* a node is open, or gone */
	struct wh_dds_node *nodes; /* [lock] */
};

struct wh_dds_root *wh_dds_root(void);

/* Holds the entity of the handle, or keeps the words for why not. */
whorl_dds_return wh_dds_hold(const char *function, whorl_dds_entity handle, uint32_t kinds, struct wh_dds_base **out);
#define WH_DDS_HOLD(handle, kinds, out) wh_dds_hold(__func__, handle, kinds, out)
#define WH_DDS_ENDPOINTS (WH_DDS_KIND(WH_DDS_WRITER) | WH_DDS_KIND(WH_DDS_READER))
#define WH_DDS_READ_CONDITIONS (WH_DDS_KIND(WH_DDS_READ_CONDITION) | WH_DDS_KIND(WH_DDS_QUERY_CONDITION))
#define WH_DDS_WITH_POLICIES                                                                                           \
	(WH_DDS_ENDPOINTS | WH_DDS_KIND(WH_DDS_PARTICIPANT) | WH_DDS_KIND(WH_DDS_TOPIC) |                              \
	 WH_DDS_KIND(WH_DDS_PUBLISHER) | WH_DDS_KIND(WH_DDS_SUBSCRIBER))
void wh_dds_let_go(struct wh_dds_base *base);

/* When a duration from now is over; WH_DDS_NEVER. */
uint64_t wh_dds_until(whorl_dds_duration duration);
/* Of what is left until then, for a call of the node that waits at most so long at once. */
int wh_dds_left_ms(uint64_t until_ns, int most);

/* ---- line.c ------------------------------------------------------------------------------------------------------------------ */

struct wh_dds_pending_view { /* of the members of a line, which is not there yet in the order */
	struct wh_dds_pending_view *next;
	uint64_t number;
	uint32_t count;
	struct wh_dds_member members[];
};

struct wh_dds_asked { /* a call that waits for what a machine tells of it */
	struct wh_dds_asked *next;
	uint32_t number; /* a ticket, or an endpoint's number */
	enum wh_dds_kind kind;
	struct wh_dds_base *user; /* of an endpoint: to hang at the machine's */
	bool done;
	whorl_dds_return result;
	enum whorl_dds_policy_id policy;
	uint64_t topic; /* of a registration */
	char channel[WH_DDS_CHANNEL_NAME_BYTES + 1];
	struct wh_dds_policies policies; /* of the topic, as it is registered; to be freed */
	char text[512];                  /* in what it differs */
	const struct wh_dds_registration *registration;
};

enum wh_dds_stage { WH_DDS_OPENING, WH_DDS_OPEN, WH_DDS_FAILED, WH_DDS_CLOSING };

/* A line is a subgroup with a machine. Of unordered topics these are two: endpoints are in the control channel, where a line that has no subgroup
 * of its own, `loose`, has the machine of all of them; samples are on *streams*, lines of subgroups without order, and without a machine. The lock of
 * `loose` comes before that of the control channel and those of streams, and is had by all that comes there. */
struct wh_dds_line {
	struct wh_dds_node *node; /* [const] */
	struct wh_dds_line *next; /* [const once it hangs] */
	char name[64];
	struct wh_dds_shape shape; /* [const] */
	bool control;              /* [const] */
	bool stream;               /* [const] */
	enum wh_dds_stage stage;   /* [node's lock] */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* something was answered, or a topic is new */
	wh_word subgroup;       /* the handle, or 0: wh_dds_subgroup_of, wh_dds_subgroup_is */
	/* [lock] */
	struct wh_dds_registry *registry; /* of the control channel */
	struct wh_dds_channel *channel;   /* of another, but a stream */
	struct wh_dds_pending_view *views;
	struct wh_dds_asked *asked;
	bool ready;                           /* it was seen to have its state: views that come may hold at once */
	bool refused;                         /* the last offer was not taken whole */
	bool broken;                          /* memory was out, or it was left: its machine is no use */
	bool rests;                           /* it is no sender there, for now */
	unsigned char word[WH_DDS_DUE_BYTES]; /* [the participant's thread] of time, not said yet */
	size_t word_bytes;
	uint64_t said_ns; /* when something was said last that is no sample */
	unsigned char *restored;
	size_t restored_count, restored_room;
	uint64_t came_count;    /* bytes of a state, in all, and messages that came before all of it was there */
	unsigned char *scratch; /* of a message in parts */
	size_t scratch_room;
	struct wh_dds_pool *pool;
	const struct wh_dds_sample *copied; /* what `copy` is of */
	struct wh_dds_copy *copy;
	bool exposed;     /* readers that have it are not locked any more */
	uint32_t patient; /* local readers that may have no room, and are waited for */
	uint32_t room;    /* for so many plain samples all of these have some; 0: they are to be asked */
	struct wh_dds_reader_entity *open; /* readers that are locked while samples come, by next_open */
	uint64_t now_ns;                   /* when what is being delivered came */
	whorl_dds_time real_ns;
	bool in_set;
	bool unnamed; /* what was told of its endpoints lacked a topic: the control channel is behind */
	uint64_t sets;
	struct wh_dds_reader_entity *readers; /* local ones that are there, by next_reader */
	wh_word left;                         /* a reader was too slow (slow_reader = leave) */
	struct wh_dds_writer_entity *writers; /* the same, by next_writer */
	/* of a stream, with the lock of `loose`, too */
	struct wh_dds_member *members; /* of the last view */
	uint32_t member_count;
	uint32_t *ends; /* writers of which the end is to be said there */
	uint32_t end_count, end_room;
};

/* NULL: it has not been entered. The loop may come to know the handle before the thread that enters has it. */
static inline whorl_subgroup *wh_dds_subgroup_of(const struct wh_dds_line *line)
{
	return (whorl_subgroup *)(uintptr_t)wh_load_acquire(&line->subgroup); /* partner: wh_dds_subgroup_is */
}

static inline void wh_dds_subgroup_is(struct wh_dds_line *line, whorl_subgroup *subgroup)
{
	if (wh_dds_subgroup_of(line) != subgroup)
		wh_store_release(&line->subgroup, (uint64_t)(uintptr_t)subgroup); /* partner: wh_dds_subgroup_of */
}

/* This process has left it, for good: it may enter the channel again, in another line. */
static inline bool wh_dds_line_is_left(const struct wh_dds_line *line)
{
	return wh_load_acquire(&line->left) != 0; /* partner: end_all */
}

/* With what comes before it: of the control channel, and of streams, the lock of `loose`. */
void wh_dds_line_lock(struct wh_dds_line *line);
void wh_dds_line_unlock(struct wh_dds_line *line);
/* The writer has said all that it will say on its stream. Waits a while for room; if there is none it is said later. */
void wh_dds_stream_end(const char *function, struct wh_dds_line *stream, uint32_t writer);
/* What could not be said before, and what has to be said since the stream was left. */
void wh_dds_stream_work(struct wh_dds_line *stream);
/* wh_dds_channel_hush, in a batch of its own. With the lock of `loose`. Returns when to look again. */
uint64_t wh_dds_stream_hush(struct wh_dds_line *loose, uint64_t now_ns);
/* Results of both are whorl's. NULL: memory is out. */
struct wh_dds_line *wh_dds_line_new(struct wh_dds_node *node, const char *name, const struct wh_dds_shape *shape);
void wh_dds_line_free(struct wh_dds_line *line);
/* Enters it, and waits until it has its state; before the node is started too, then with 0, without waiting. */
enum whorl_result wh_dds_line_enter(struct wh_dds_line *line, int timeout_ms);
/* Waits until it has its state. If all that had it have gone it enters anew. */
enum whorl_result wh_dds_line_await(struct wh_dds_line *line, int timeout_ms);
/* It is in no subgroup any more, and knows nothing of what was there. Returns the handle of that; NULL: there was none. */
whorl_subgroup *wh_dds_line_forget(struct wh_dds_line *line);
/* The node's view has begun. On the loop. */
void wh_dds_line_view(struct wh_dds_line *line, const struct whorl_view *view);
/* Views that wait for nothing any more hold now. With the lock. */
void wh_dds_line_settle(struct wh_dds_line *line);
/* A process that says nothing in a channel, since it has only readers there, is no sender, until it has something to say: others wait for a sender's
 * rounds. Looks whether that is so by now, and when to look again. With the lock. */
uint64_t wh_dds_line_rest(struct wh_dds_line *line, uint64_t now_ns);
/* It has something to say: claims get AGAIN until it may. With the lock. */
void wh_dds_line_wake(struct wh_dds_line *line);
/* Sends one message; the bytes are freed. Waits at most until then. */
whorl_dds_return wh_dds_line_send(const char *function, struct wh_dds_line *line, struct wh_dds_out *out,
				  uint64_t until_ns, uint64_t *index);
/* The same, and waits for the answer to it. */
whorl_dds_return wh_dds_line_ask(const char *function, struct wh_dds_line *line, struct wh_dds_out *out,
				 struct wh_dds_asked *asked);
/* Says that a writer is alive. False: there was no room until then, or worse. */
bool wh_dds_line_assert(const char *function, struct wh_dds_line *line, uint32_t number, uint64_t until_ns);
/* What it says of a result that is no success: that it was left, or what the node says. */
whorl_dds_return wh_dds_line_says(const char *function, struct wh_dds_line *line, enum whorl_result result);

/* ---- fetch.c ----------------------------------------------------------------------------------------------------------------- */

/* Waits for the state of a durable line; where its log is in the directory of another node, which no process has now, it is fetched. WHORL_OK;
 * WHORL_TIMEOUT; a result of wh_dds_line_await. */
enum whorl_result wh_dds_line_fetch(const char *function, struct wh_dds_node *node, struct wh_dds_line *line,
				    uint64_t until_ns);

/* Enters the dormant channels of which this node's directory has the log: nobody else can bring them back while it has that. */
void wh_dds_node_adopt(struct wh_dds_node *node);

/* ---- shape.c ----------------------------------------------------------------------------------------------------------------- */

extern const struct wh_dds_names wh_dds_channel_names;
/* False: the name is no channel's. */
bool wh_dds_shape_of(const struct wh_dds_settings *settings, const char *channel, struct wh_dds_shape *out);
/* The channel that a topic lies on. BAD_PARAMETER: it takes no samples of this type. */
whorl_dds_return wh_dds_channel_of(const char *function, const struct wh_dds_settings *settings, const char *topic,
				   const struct whorl_dds_type *type, enum whorl_dds_consistency_kind consistency,
				   char out[WH_DDS_CHANNEL_NAME_BYTES + 1]);

/* ---- deliver.c --------------------------------------------------------------------------------------------------------------- */

void wh_dds_deliver(void *ctx, const struct wh_dds_event *event); /* wh_dds_tell */
/* Of its readers those that had no room for what comes there are waited for no longer. With the lock of the line. */
void wh_dds_hurry(struct wh_dds_line *line, const struct wh_dds_line *stream);
/* Has a reader that must have this message no room? With the lock of the line. */
bool wh_dds_must_wait(struct wh_dds_line *line, const struct wh_dds_from *from, const void *bytes, size_t count);
/* The message was applied. */
void wh_dds_delivered(struct wh_dds_line *line);
/* The key_of of a reader's cache; `ctx` is the reader. */
struct wh_dds_copy *wh_dds_key_of(void *ctx, const struct wh_dds_copy *sample);
/* Around all that a machine tells at once, with the lock of the line: what time it is, and what is not to be done for each sample. */
void wh_dds_batch_begin(struct wh_dds_line *line);
void wh_dds_batch_end(struct wh_dds_line *line);
whorl_dds_instance_handle wh_dds_endpoint_handle(enum wh_dds_kind kind, const struct wh_dds_endpoint_id *id);
whorl_dds_instance_handle wh_dds_topic_handle(uint64_t topic);
whorl_dds_instance_handle wh_dds_instance_handle_of(uint64_t topic, const unsigned char key[WH_DDS_KEY_BYTES]);

/* ---- node.c ------------------------------------------------------------------------------------------------------------------ */

struct wh_dds_node {
	struct wh_dds_node *next;        /* [root's lock] */
	uint32_t domain;                 /* [const] */
	uint64_t process;                /* [const] wh_dds_host */
	char *file;                      /* [const] NULL: the domain on this host */
	bool any_id;                     /* [const once it is open] its id is one that was free */
	bool logs;                       /* [const once it is open] its group has a directory: topics may be logged */
	struct wh_dds_settings settings; /* [const] */
	uint32_t participants;           /* [root's lock] */
	enum wh_dds_stage stage;         /* [root's lock] */
	wh_word holders;                 /* of this struct */
	whorl_node *whorl;               /* [const while calls may be under way] */
	uint32_t id;
	wh_word incarnation; /* 0: there was no view yet */
	wh_word calls;       /* under way; WH_DDS_NO_CALLS: and no more begin */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* a line's stage */
	struct wh_dds_line *control;
	struct wh_dds_line *loose;          /* [const] the last of `lines` */
	struct wh_dds_topic_entity *topics; /* [control line's lock] */
	struct wh_dds_line *lines;          /* [lock adds] */
	wh_word numbers;                    /* the last one given */
	pthread_mutex_t watching;
	struct wh_dds_builtin_reader *builtins; /* [watching] */
	wh_word watchers; /* [watching] how many of them are of endpoints; to be looked at without it */
	wh_word enters;   /* topics are new, and the channels of all are to be entered */
	/* work.c */
	bool threaded, spins;
	struct wh_dds_thread thread;
	bool begun;                /* [work_lock] it has, and is this one: */
	uint64_t worker;           /* [work_lock] */
	pthread_mutex_t work_lock; /* of the queue */
	pthread_cond_t work;
	bool stops;
	wh_word sleeps_ns;         /* [work_lock writes] until when the thread sleeps; WH_DDS_NEVER: it looks */
	uint64_t soon_ns;          /* [work_lock] what came due since it looked */
	uint64_t looked_ns;        /* [work_lock] */
	uint64_t next_ns;          /* [work_lock] what it found then: when to look again */
	wh_word called;            /* [work_lock writes] there is something in the queue */
	struct wh_backoff backoff; /* [the thread] before it sleeps */
	struct wh_dds_base *queue, **queue_end; /* [work_lock] */
	pthread_mutex_t listening;              /* listeners, and which one runs */
	pthread_cond_t listened;
	struct wh_dds_base *calling; /* [listening] */
	uint64_t caller;             /* [listening] the thread, while `calling` is there */
};

#define WH_DDS_NO_CALLS (UINT64_C(1) << 63)

/* The node of a new participant: one that is there, or is opened now. */
whorl_dds_return wh_dds_node_join(const char *function, uint32_t domain,
				  const struct whorl_dds_participant_options *options, struct wh_dds_node **out);
void wh_dds_node_leave(struct wh_dds_node *node); /* a participant's */
void wh_dds_node_hold(struct wh_dds_node *node);
void wh_dds_node_drop(struct wh_dds_node *node);
/* A call of the node begins, if it is not being closed. */
bool wh_dds_node_call(struct wh_dds_node *node);
void wh_dds_node_called(struct wh_dds_node *node);
bool wh_dds_node_closes(const struct wh_dds_node *node);
/* UNSUPPORTED: `what`, a topic or a channel, is logged, and the group has no directory. */
whorl_dds_return wh_dds_node_has_logs(const char *function, const struct wh_dds_node *node, const char *what,
				      const char *name);
/* The line of that channel, entered, with its state. */
/* The first; those that come later are before it. A line stays until the node goes. */
struct wh_dds_line *wh_dds_node_lines(struct wh_dds_node *node);
/* That was not left; NULL: there is none. With the node's lock. */
struct wh_dds_line *wh_dds_node_find_line(struct wh_dds_node *node, const char *channel);
whorl_dds_return wh_dds_node_line(const char *function, struct wh_dds_node *node, const char *channel,
				  struct wh_dds_line **out);
/* What the node says of a result that is no success. */
whorl_dds_return wh_dds_node_says(const char *function, struct wh_dds_node *node, enum whorl_result result);
/* A second node of this process in the same domain, with that id. NULL: it is not to be had. */
struct wh_dds_node *wh_dds_node_open_as(const char *function, const struct wh_dds_node *node, uint32_t id);
/* Leaves its channels, when others have what it has there. */
void wh_dds_node_close_other(struct wh_dds_node *other);
uint32_t wh_dds_node_number(struct wh_dds_node *node);
/* Tells the others what this process is. Those of several participants in it are one: what is said last holds. */
whorl_dds_return wh_dds_participant_say(const char *function, struct wh_dds_node *node,
					const struct wh_dds_policies *policies);
/* Is this thread in an upcall of the node, as a listener in place is? */
bool wh_dds_on_loop(void);
void wh_dds_enter_loop(int change); /* 1 and -1 around an in-place listener */

/* ---- builtin.c ------------------------------------------------------------------------------------------------------------------ */

bool wh_dds_is_builtin(whorl_dds_entity topic);
whorl_dds_entity wh_dds_builtin_create(const char *function, whorl_dds_entity parent, whorl_dds_entity topic,
				       const whorl_dds_qos *qos, const whorl_dds_listener *listener);
/* The registry, or a channel, has something new, with the lock of its line. */
void wh_dds_builtin_registry(struct wh_dds_node *node, const struct wh_dds_registry_event *event);
void wh_dds_builtin_endpoint(struct wh_dds_line *line, const struct wh_dds_endpoint *endpoint, bool is_there);
/* A view has begun: channels may have members that had none. On the loop. */
void wh_dds_builtin_view(struct wh_dds_node *node);
/* The channel of topic `at` of the registry. False: there are no more. */
bool wh_dds_channel_at(struct wh_dds_node *node, uint32_t at, char channel[WH_DDS_CHANNEL_NAME_BYTES + 1]);
/* It is of logged topics, and has no members. */
bool wh_dds_is_dormant(struct wh_dds_node *node, const char *channel, const struct wh_dds_shape *shape);
/* All endpoints of a channel, of which nothing was told. With its lock. */
void wh_dds_builtin_list(struct wh_dds_line *line);
/* Enters channels of which topics are new. On the node's thread. */
void wh_dds_builtin_work(struct wh_dds_node *node);
/* Of a sample of a reader of a built-in topic, what names it. */
whorl_dds_instance_handle wh_dds_builtin_handle(const struct whorl_dds_type *type, const void *sample);
/* `out` has room for the names of its topic and type behind it. False: memory is out. With the line's lock. */
bool wh_dds_describe_endpoint(const struct wh_dds_line *line, const struct wh_dds_endpoint *of, const char *type_name,
			      struct whorl_dds_builtin_endpoint *out);

/* ---- work.c ------------------------------------------------------------------------------------------------------------------- */

/* Something is due at that time, which may be before all that the thread knows of: it is woken if so. Any thread. */
void wh_dds_work_due(struct wh_dds_node *node, uint64_t due_ns);
bool wh_dds_work_start(struct wh_dds_node *node);
void wh_dds_work_stop(struct wh_dds_node *node);
/* What there is to do, at most until then; whether something was. For participants that spin. */
bool wh_dds_work_pass(struct wh_dds_node *node, uint64_t until_ns);
/* Is this thread in a listener of the node? */
bool wh_dds_is_listening(struct wh_dds_node *node);
/* Waits until no listener of the entity runs on another thread. */
void wh_dds_listener_await(struct wh_dds_base *base);

/* ---- entities.c ---------------------------------------------------------------------------------------------------------------- */

struct wh_dds_base {
	struct wh_dds_entity entity;
	struct wh_dds_node *node; /* [const] held */
	pthread_mutex_t lock;
	struct wh_dds_policies policies;          /* [lock] */
	struct wh_dds_statuses statuses;          /* [lock] */
	struct wh_dds_status_condition condition; /* [lock] */
	struct whorl_dds_listener listener;       /* [listening] */
	wh_word asks;                             /* what it asks for, to be looked at without the lock */
	uint32_t number;                /* [const] of an endpoint, a publisher or subscriber, among its node's */
	bool alone;                     /* [const] a publisher or subscriber that was made for another entity */
	uint16_t sets;                  /* [lock] of a publisher: coherent sets that it is in */
	uint32_t grouped;               /* [lock] of one with GROUP presentation: how many endpoints it has */
	const struct wh_dds_line *line; /* [lock] if it has some: where they are */
	wh_word queued;                 /* it is in the queue */
	struct wh_dds_base *queue_next; /* [work_lock] */
};

/* Fills in what all have, and names it. The caller holds it then: other threads may delete it, by its parent, from here on, but it is not
 * closed before wh_dds_base_made. If it fails the caller frees it. */
whorl_dds_return wh_dds_base_begin(const char *function, struct wh_dds_base *base, enum wh_dds_kind kind,
				   struct wh_dds_node *node, struct wh_dds_base *parent,
				   const struct wh_dds_entity_ops *ops, const struct whorl_dds_listener *listener);
/* Lets go of one that was begun. Its handle; or it is deleted, and why. */
whorl_dds_return wh_dds_base_made(struct wh_dds_base *base, whorl_dds_return result);
void wh_dds_base_free(struct wh_dds_base *base);         /* what it has, not itself */
void wh_dds_base_free_all(struct wh_dds_entity *entity); /* of an entity that begins with it */
/* Its statuses may have changed. With its lock. */
void wh_dds_base_changed(struct wh_dds_base *base);
struct wh_dds_base *wh_dds_parent(const struct wh_dds_base *base);
struct wh_dds_base *wh_dds_participant_of(struct wh_dds_base *base);
/* The defaults of a kind, and what `qos` (may be NULL) sets of it, checked. */
whorl_dds_return wh_dds_policies_begin(const char *function, struct wh_dds_policies *out, enum wh_dds_kind kind,
				       const whorl_dds_qos *qos);

/* ---- the kinds ----------------------------------------------------------------------------------------------------------------- */

/* A publisher or subscriber, held. What it lacks is wh_dds_base_made, or wh_dds_entity_made, which goes on holding it. */
whorl_dds_return wh_dds_group_make(const char *function, enum wh_dds_kind kind, struct wh_dds_base *participant,
				   const whorl_dds_qos *qos, const whorl_dds_listener *listener, bool alone,
				   struct wh_dds_base **out);

struct wh_dds_topic_entity {
	struct wh_dds_base base;
	struct wh_dds_topic_entity *next_topic; /* [control line's lock] of those that the node has */
	struct whorl_dds_type *type;
	char *name;
	bool builtin; /* [const] of the library's: it lies in its reader, and is in no tree */
	bool registered;
	uint64_t id; /* in the registry */
	char channel[WH_DDS_CHANNEL_NAME_BYTES + 1];
	struct wh_dds_terms terms;
	struct wh_dds_filter *filter; /* [lock] held; NULL: none was set */
};

struct wh_dds_endpoint_entity {
	struct wh_dds_base base;
	struct wh_dds_topic_entity *topic; /* held */
	struct wh_dds_line *line;          /* of its machine */
	struct wh_dds_line *stream;        /* that its samples travel on: the same, but of unordered topics */
	bool announced;                    /* an end is to be said */
	bool grouped;                      /* its publisher or subscriber counts it */
	bool parted;                       /* [line's lock] its end was said, since the stream was left */
};

struct wh_dds_known { /* an instance that a writer has, or that a reader has seen */
	struct wh_dds_link link;
	unsigned char hash[WH_DDS_HASH_BYTES];
	whorl_dds_instance_handle handle;
	struct wh_dds_known *next;
	uint64_t heard_ns; /* of a writer with a deadline: when it wrote it last; 0: none is due */
	uint32_t state;    /* of a reader in place: the instance state that it was told last; 0: none */
	unsigned char key[];
};

struct wh_dds_known_list { /* all zero: none */
	struct wh_dds_index index;
	struct wh_dds_known *all; /* the last one first */
};

struct wh_dds_write_loan {              /* a claim that the program fills in */
	struct wh_dds_write_loan *next; /* [lock] */
	struct whorl_claim claim;
	bool open;
	void *data;   /* where the sample lies: in the claim, or else `beside` */
	void *beside; /* NULL: it is in the claim */
	size_t bytes;
};

struct wh_dds_writer_entity {
	struct wh_dds_endpoint_entity end;
	struct wh_dds_writer_entity *next_writer; /* [line's lock] */
	bool drops;                               /* [const] it is best effort: what has no room is dropped */
	int64_t blocking_ns;                      /* [const] or else it waits at most so long */
	wh_word loan_count;                       /* [lock], and to be looked at without it */
	wh_word deadline_ns;                      /* the same */
	wh_word thread;                           /* the same: the first that wrote; 0: none has */
	wh_word last_of_thread;                   /* `last` of that, which alone writes it */
	wh_word noted[WH_DDS_HASH_BYTES / 8];     /* the instance that this thread has found to be there last, and */
	wh_word noted_turn;                       /* 1 + `removals` then; 0: none yet */
	wh_word removals;                         /* [lock] of instances, and to be looked at without it */
	/* [lock] */
	struct wh_dds_write_loan *loans;
	bool lends_no_more; /* it was deleted */
	struct wh_dds_known_list instances;
	uint64_t last;        /* 1 + index of the last message that other threads than `thread` have written; 0: none */
	uint64_t heard_ns;    /* without keys, as that of an instance */
	uint64_t due_ns;      /* no deadline runs out before that */
	uint64_t asserted_ns; /* of an unordered topic: when it was last said that it lives */
};

struct wh_dds_reader_entity {
	struct wh_dds_endpoint_entity end;
	struct wh_dds_reader_entity *next_reader; /* [line's lock] of those that the line has */
	struct wh_dds_reader_entity *next_open;   /* [line's lock] */
	bool open;                                /* [line's lock] the loop has the lock */
	bool patient;                             /* [const] it may have no room, and is waited for */
	struct wh_dds_filter *filter;             /* [const] held; NULL: none was set */
	/* [lock] */
	struct wh_dds_cache *cache; /* NULL: it is in place, or it is closed */
	struct wh_dds_read_condition *conditions;
	bool refused; /* it had no room, and what has none is offered again when it has */
	bool leaves;  /* it was deleted, and what it has no room for is of no interest */
	bool hurried; /* it was waited for long enough, and nothing was taken since: what has no room is lost */
	struct wh_dds_known_list seen; /* [line's lock] */
	/* in place */
	whorl_dds_in_place_fn *in_place;
	void *in_place_arg;
	uint32_t state; /* [line's lock] without keys, as that of an instance */
};

struct wh_dds_condition_entity { /* a read or query condition */
	struct wh_dds_base base;
	struct wh_dds_read_condition read;
	struct wh_dds_filter *filter; /* [const] of a query: held */
};

struct wh_dds_known *wh_dds_known_find(const struct wh_dds_known_list *instances, const unsigned char *hash);
struct wh_dds_known *wh_dds_known_by_handle(const struct wh_dds_known_list *instances,
					    whorl_dds_instance_handle handle);
/* With the key of that sample. NULL: memory is out. */
struct wh_dds_known *wh_dds_known_add(struct wh_dds_known_list *instances, const struct wh_dds_topic_entity *topic,
				      const void *data, const unsigned char *hash);
void wh_dds_known_remove(struct wh_dds_known_list *instances, const unsigned char *hash);
void wh_dds_known_free(struct wh_dds_known_list *instances);
/* UNSUPPORTED: the policies need a cache, which readers in place do not have. */
whorl_dds_return wh_dds_suit_in_place(const char *function, const struct wh_dds_policies *policies);
/* What becomes of any reader when it is closed, and freed. */
void wh_dds_reader_close(struct wh_dds_entity *entity);
void wh_dds_reader_free(struct wh_dds_entity *entity);
/* The parent of a new endpoint, held: what is named, or one that is made for it alone. topic: NULL, or of the same participant. */
whorl_dds_return wh_dds_endpoint_parent(const char *function, whorl_dds_entity handle, enum wh_dds_kind kind,
					struct wh_dds_topic_entity *topic, const whorl_dds_qos *qos,
					struct wh_dds_base **out);
/* What the machine has of it; NULL: nothing (yet, or any more). With the line's lock. */
struct wh_dds_endpoint *wh_dds_machine_of(const struct wh_dds_endpoint_entity *end);
/* Says its end, waits for it a while; the machine has nothing of it any more. */
void wh_dds_endpoint_close(struct wh_dds_endpoint_entity *end);
void wh_dds_endpoint_put(struct wh_dds_endpoint_entity *end); /* frees what it has */
struct wh_dds_endpoint_class {                                /* what readers and writers have of their own */
	enum wh_dds_kind kind;
	size_t bytes; /* of the entity */
	const struct wh_dds_entity_ops *ops;
	/* Behind its policies and its line, before it is an entity. NULL: there is nothing. */
	whorl_dds_return (*prepare)(const char *function, struct wh_dds_endpoint_entity *end,
				    struct wh_dds_topic_entity *topic, const whorl_dds_listener *listener);
};

whorl_dds_entity wh_dds_endpoint_create(const char *function, const struct wh_dds_endpoint_class *of,
					whorl_dds_entity parent, whorl_dds_entity topic, const whorl_dds_qos *qos,
					const whorl_dds_listener *listener);
bool wh_dds_writer_has(struct wh_dds_writer_entity *writer, const unsigned char *hash);
/* The key of an instance, as a sample. False: the writer does not have it. */
bool wh_dds_writer_key(struct wh_dds_writer_entity *writer, whorl_dds_instance_handle instance, void *sample);
/* Its policies are others now. With its lock. */
void wh_dds_writer_changed(struct wh_dds_writer_entity *writer);
/* A place in the window for so many bytes; a reliable writer waits for it. */
enum whorl_result wh_dds_writer_claim(const struct wh_dds_writer_entity *writer, size_t bytes, struct whorl_claim *out);
/* The loan that has this memory, which is the caller's then; NULL: it is none. */
struct wh_dds_write_loan *wh_dds_loan_take(struct wh_dds_writer_entity *writer, const void *data);
/* Frees it; if its claim is open nothing is sent. NULL is nothing. */
void wh_dds_loan_drop(struct wh_dds_write_loan *loan);
/* OK; PRECONDITION_NOT_MET: one is not lent. */
whorl_dds_return wh_dds_loans_return(struct wh_dds_writer_entity *writer, void *const *data, size_t count);
/* All are given back, and none is lent any more. */
void wh_dds_loans_end(struct wh_dds_writer_entity *writer);
/* Others say something else of a topic that has entities here. With the control line's lock. */
void wh_dds_topic_differs(struct wh_dds_node *node, uint64_t topic);
/* Others have registered a topic of this name. What this process does not say is as they have it: the fields of the same struct, if the program has given
 * no hash; and that it is stored, if the program asks for neither a consistency nor a durability. Has anything changed? `channel`: room for a name. */
bool wh_dds_topic_agree(struct wh_dds_node *node, struct wh_dds_topic_entity *topic, bool has_hash, char *channel);
/* The caches have something new, or something was taken. With its lock. */
void wh_dds_reader_look(struct wh_dds_reader_entity *reader);
/* What it has refused is offered again. */
void wh_dds_reader_has_room(struct wh_dds_reader_entity *reader);
/* Deadlines that a writer has missed are counted. When to look again. With the line's lock. */
uint64_t wh_dds_writer_pass_time(struct wh_dds_writer_entity *writer, uint64_t now_ns);
/* Samples of it expire, or are withheld no more; *offer_again: that has made room where something was refused. The same. */
uint64_t wh_dds_reader_pass_time(struct wh_dds_reader_entity *reader, uint64_t now_ns, bool *offer_again);

#endif
