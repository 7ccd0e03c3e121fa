/* whorl/delegate.h - delegation: an object has one owner, and all others send their functions there.
 *
 * An object, a *property*, is *entrusted* to a *trustee*: a worker, which is a thread of this library. What it returns is a *trust*, and
 * with that the property can be used from anywhere: whorl_apply sends a function and its arguments, the trustee runs one function after
 * the other, and the result comes back. No locks, and no two functions in a property at once. docs/delegation.md is the guide; the idea
 * is that of Trust<T> (Ahmad, Baenen, Chen, Eriksson 2024).
 *
 * A program in one glance (examples/delegate_counter.c is whole):
 *
 *     struct counter { uint64_t n; };
 *     struct add { uint64_t by; };
 *     static WHORL_TYPE(counter_type, struct counter, NULL);
 *
 *     WHORL_FUNCTION(counter_add, struct counter, struct add, uint64_t, WHORL_DETERMINISTIC)
 *     {
 *             property->n += args->by;
 *             *result = property->n;
 *     }
 *     ...
 *     struct whorl_work_options options = {.size = sizeof(options), .workers = 2, WHORL_FUNCTIONS_LINKED};
 *     whorl_work_open(NULL, &options, &work);
 *     whorl_entrust(work, whorl_at_any(), &counter_type, &(struct counter){0}, sizeof(struct counter), &trust, 1000);
 *     whorl_apply(&trust, counter_add, &(struct add){5}, &n, 1000);
 *     whorl_trust_drop(&trust);
 *     whorl_work_close(work, 1000);
 *
 * THREADS. Workers run *fibers* (whorl_spawn): threads within a thread, which wait without holding up the others, and never leave their
 * worker. Any other thread of the program is a *plain* thread: it may make all calls here, several at once, without registration.
 *
 * DELEGATED CONTEXT. A function that was sent by whorl_apply or whorl_apply_then holds up its trustee while it runs, so it may not wait:
 * in it, and in a `then`, calls that wait give WHORL_WOULD_DEADLOCK at once. The forms with `_then` work there. One that has to wait is
 * sent by whorl_launch: it gets a fiber of its own, in which all calls work, and until it ends the property is *latched*: functions that
 * are sent meanwhile run behind it.
 *
 * ORDER. The calls that one thread (a worker with all its fibers, or a plain thread) makes to one property run in the order in which they
 * were made; if it has moved, those by one trust.
 *
 * ONCE, OR NEVER. A call ends exactly once. WHORL_TIMEOUT, WHORL_GONE, WHORL_WOULD_DEADLOCK and the others say that its function did not
 * run and will not; WHORL_IN_DOUBT that it was sent, and nobody here knows whether it ran, or will.
 *
 * A LENT TRUSTEE. A worker that has nothing to do sleeps, and lends what it owns: the first thread that calls runs its function itself,
 * which costs less than a lock that nobody holds twice, and runs what others have sent meanwhile. So a function may run on any thread of
 * the program, though never two at once on the properties of one worker; and a time-out does not end what this thread runs itself. A
 * function that may take long is marked WHORL_BLOCKS: it runs on its worker alone.
 *
 * ARGUMENTS AND RESULTS are structs, copied: what they point to is not. In Debug builds of the library arguments are searched for
 * addresses of memory of this process, and refused (WHORL_INVALID).
 *
 * OTHER NODES. A work that is opened with a node of a group reaches those of its other members: entrust at whorl_at_worker(node, k), and all
 * calls are the same. Worker k here speaks with worker k there, over a connection of their own, and what all
 * threads here want of it goes by this worker, many calls in one write. So k is below the number of workers of both. A call from another
 * thread than that worker's counts as sent when the worker has it. Calls keep their order as within a process. Both programs must know the
 * same functions (whorl_work_digest); if not, calls between the two give WHORL_REFUSED. When a node ends, or the group goes on without it,
 * its handles are dropped; calls that were sent to it end as WHORL_IN_DOUBT, the others as WHORL_GONE, and so do all that come later,
 * also if another life of that node comes: it has none of these properties. A node that writes what no worker says is not spoken
 * with any more by the worker that it has written to. A handle goes to another node by whorl_trust_send and then in arguments: there
 * `work` in it is NULL, and the workers' threads use it as it is; a plain thread puts its own work in. Handles that come before the
 * node of their property has been met give WHORL_AGAIN.
 *
 * REPLICATED TRUSTS. A property may be entrusted to a *shard* (whorl_at_shard, whorl_entrust_named): all members of it have the property, and
 * run the functions that are sent to it, in one order. What was answered outlives any minority of the members, and a member that comes is given
 * it. Each member names a worker for it before whorl_start (whorl_work_serve), and calls it by a handle of its own; only members can.
 *     - Its functions are WHORL_DETERMINISTIC: what they do follows from property and arguments alone: no time, no dice, no addresses, no result
 *       of whorl_reply_add, and they make no calls: each member would. Others are WHORL_INVALID, and so is whorl_launch. They run on the worker, not on
 *       the node's loop; while the worker lags the loop takes no more of the subgroup, and the senders wait (whorl_on_offer).
 *     - A call is an ordered call (replica.h), of at most the subgroup's message_bytes, or large_bytes: longer is WHORL_INVALID. It runs exactly once, through
 *       all changes of view, or never. WHORL_TIMEOUT: it was not sent: the window was full, or there was no view (WHORL_IN_DOUBT where the worker was too slow to say so; it is not sent any more all the same). Besides the results of whorl_apply: WHORL_IN_DOUBT also if this node was removed, fails or is closed before it
 *       knows, or was given a state that has the call; WHORL_NOT_SENDER: never run: this node only listens, or was taken out of the shard;
 *       WHORL_NOT_FOUND: likewise: it is no member of the subgroup; WHORL_NO_QUORUM: likewise: too few members are heard; WHORL_AGAIN: likewise: more than 32 MiB wait here to be sent;
 *       WHORL_REFUSED: likewise: this program knows other functions or types than the shard's (see below); WHORL_GONE: likewise: there is no such property in the shard that this node is in;
 *       and what whorl_error says of the node.
 *     - A function with WHORL_READ runs as whorl_trust_reads says. LOCAL reads of one node never go back, and have what was answered to it
 *       before; but one that follows a call of this thread that is not answered yet may come before it. If this member has not come to the making of the property it becomes an
 *       ordered read. LINEARIZABLE reads have every call that was answered, at any member, before they began.
 *     - Members agree on the functions and types: all deterministic functions and all types in `types` that may be replicated, by their names, sizes and flags. The first
 *       call of all decides; a member with a program that knows others fails, with WHORL_REFUSED (it cannot restore the state, if it comes later: WHORL_SYSTEM, and the
 *       log says why), and no call of it runs.
 *     - Types: those of bytes alone (no `drop`, or WHORL_TYPE_TRAVELS; not WHORL_TYPE_STAYS), and those with `save` and `load`. `drop` runs at each member.
 *     - Handles are not counted. The property lives until whorl_trust_end or the end of the shard. whorl_trust_drop frees the handle alone, clone and
 *       send give the same name, also to other members, and move is WHORL_UNSUPPORTED.
 *
 * STRUCTS, NULL, ERRORS, FORK: as in whorl.h. Those without `size` never grow; whorl_trust has room inside. A child of fork() may not use work that its parent has opened.
 */
#ifndef WHORL_DELEGATE_H
#define WHORL_DELEGATE_H

#include <whorl/whorl.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WHORL_CALL_BYTES_MAX ((size_t)16 << 20) /* of the arguments of a call, and of its result */

/* ---- types and functions ------------------------------------------------------------------------------------------------*/

/* Whether properties of a type may move to another node, as their bytes. With neither: those without `drop`. */
enum whorl_type_flag {
	WHORL_TYPE_STAYS = 1,   /* no: it holds addresses, descriptors or the like, which mean nothing elsewhere */
	WHORL_TYPE_TRAVELS = 2, /* yes, though it has a `drop`: its bytes are all that there is of it */
};

typedef struct whorl_reply
	whorl_reply; /* the result of a function of bytes, while it runs; or what a property is saved into */

struct whorl_type { /* of properties; see WHORL_TYPE */
	size_t size;
	const char *name; /* functions name the type that they are for by it: "struct counter" */
	size_t bytes;
	/* Before its memory is freed, in delegated context; NULL: nothing. Not where it has moved away from. */
	void (*drop)(void *property);
	uint32_t flags; /* of enum whorl_type_flag */
	/* Of properties of a shard that hold more than their bytes (whorl_at_shard), else both NULL. `save` adds all that there is of the property to
	 * `into`, by whorl_reply_add: at its worker, in delegated context. `load` fills one that is all zero from what was saved, on any thread; it
	 * believes none of it, as it comes from another node or from a disk. False: it cannot; what it has made of it is dropped, by `drop`. */
	bool (*save)(const void *property, struct whorl_reply *into);
	bool (*load)(void *property, const void *saved, size_t bytes);
};

/* Defines a type of properties: `static WHORL_TYPE(counter_type, struct counter, counter_drop);`, or without static. */
#define WHORL_TYPE(name, property_type, drop) WHORL_TYPE_NAMED(name, #property_type, property_type, drop, 0)

/* The same with flags of enum whorl_type_flag. */
#define WHORL_TYPE_WITH(name, property_type, drop, flags)                                                              \
	WHORL_TYPE_NAMED(name, #property_type, property_type, drop, flags)

#define WHORL_TYPE_NAMED(name, text, property_type, drop, flags)                                                       \
	WHORL_TYPE_SAVED_NAMED(name, text, property_type, drop, flags, NULL, NULL)

/* The same with functions that save and load it, for properties of shards. */
#define WHORL_TYPE_SAVED(name, property_type, drop, save, load)                                                        \
	WHORL_TYPE_SAVED_NAMED(name, #property_type, property_type, drop, 0, save, load)

#define WHORL_TYPE_SAVED_NAMED(name, text, property_type, drop, flags, save, load)                                     \
	const struct whorl_type name = {                                                                               \
		sizeof(struct whorl_type), (text), sizeof(property_type), (drop), (flags), (save), (load)};            \
	static const struct whorl_type *const name##_whorl_listed __attribute__((used, section("whorl_types"))) =      \
		&(name)

enum whorl_function_flag {
	WHORL_READ = 1,          /* it leaves the property as it is */
	WHORL_DETERMINISTIC = 2, /* what it does follows from property and arguments alone: it may run on replicas */
	WHORL_BLOCKS = 4,        /* it may take long: only its worker's own thread runs it */
	WHORL_TAKES_BYTES = 8,   /* private: WHORL_FUNCTION_OF_BYTES */
};

struct whorl_function { /* see WHORL_FUNCTION */
	size_t size;
	const char *name, *property; /* and the type of its properties */
	uint64_t property_bytes, argument_bytes, result_bytes;
	uint32_t flags; /* of enum whorl_function_flag */
	void (*run)(void *property, const void *args, void *result);
	void (*run_bytes)(void *property, const void *data, size_t bytes, whorl_reply *reply);
};

/* In place of a type: no arguments, no result, or, of what is spawned, no property. A pointer to it may be NULL. */
struct whorl_none {
	char none;
};

#define WHORL_BYTES_OF(type) (_Generic((type *)0, struct whorl_none * : (size_t)0, default : sizeof(type)))

/* Functions stand in a list of the program that WHORL_FUNCTIONS_LINKED takes them from. */
#define WHORL_FUNCTION_LISTED(name)                                                                                    \
	static const struct whorl_function *const name##_whorl_listed                                                  \
		__attribute__((used, section("whorl_functions"))) = &(name)

/* Defines a function that can be delegated; its body follows. `property`, `args` (const) and `result` are pointers to these types; flags of
 * enum whorl_function_flag, or 0. `name` is then an object, of type const struct whorl_function; another file declares it by
 * WHORL_FUNCTION_DECLARED. The types must not need an alignment of more than 8. */
#define WHORL_FUNCTION(name, property_type, arguments_type, result_type, flags)                                        \
	WHORL_FUNCTION_DECLARED(name, property_type, arguments_type, result_type);                                     \
	_Static_assert(_Alignof(arguments_type) <= 8 && _Alignof(result_type) <= 8, "aligned to more than 8");         \
	static void name##_whorl_body(property_type *property, const arguments_type *args, result_type *result);       \
	static void name##_whorl_run(void *property, const void *args, void *result)                                   \
	{                                                                                                              \
		name##_whorl_body((property_type *)property, (const arguments_type *)args, (result_type *)result);     \
	}                                                                                                              \
	const struct whorl_function name = {sizeof(struct whorl_function),                                             \
					    #name,                                                                     \
					    #property_type,                                                            \
					    WHORL_BYTES_OF(property_type),                                             \
					    WHORL_BYTES_OF(arguments_type),                                            \
					    WHORL_BYTES_OF(result_type),                                               \
					    (flags),                                                                   \
					    name##_whorl_run,                                                          \
					    NULL};                                                                     \
	WHORL_FUNCTION_LISTED(name);                                                                                   \
	static void name##_whorl_body(property_type *property __attribute__((unused)),                                 \
				      const arguments_type *args __attribute__((unused)),                              \
				      result_type *result __attribute__((unused)))

#define WHORL_FUNCTION_DECLARED(name, property_type, arguments_type, result_type)                                      \
	typedef arguments_type name##_whorl_arguments;                                                                 \
	typedef result_type name##_whorl_result;                                                                       \
	extern const struct whorl_function name

/* The same for arguments and results of any length: `property`, `data`, `bytes`, and `reply`, to which whorl_reply_add adds. `data` is
 * aligned to 8. */
#define WHORL_FUNCTION_OF_BYTES(name, property_type, flags)                                                            \
	extern const struct whorl_function name;                                                                       \
	static void name##_whorl_body(property_type *property, const void *data, size_t bytes, whorl_reply *reply);    \
	static void name##_whorl_run(void *property, const void *data, size_t bytes, whorl_reply *reply)               \
	{                                                                                                              \
		name##_whorl_body((property_type *)property, data, bytes, reply);                                      \
	}                                                                                                              \
	const struct whorl_function name = {sizeof(struct whorl_function), #name, #property_type,                      \
					    WHORL_BYTES_OF(property_type), 0,     0,                                   \
					    (flags) | WHORL_TAKES_BYTES,   NULL,  name##_whorl_run};                   \
	WHORL_FUNCTION_LISTED(name);                                                                                   \
	static void name##_whorl_body(property_type *property __attribute__((unused)),                                 \
				      const void *data __attribute__((unused)), size_t bytes __attribute__((unused)),  \
				      whorl_reply *reply __attribute__((unused)))

/* Adds to the result. WHORL_OK; WHORL_TOO_SMALL: it would be longer than WHORL_CALL_BYTES_MAX (what is saved has no limit); WHORL_MEMORY: in
 * both cases nothing is added. */
WHORL_API enum whorl_result whorl_reply_add(whorl_reply *reply, const void *data, size_t bytes);

/* The types of what a call is given must be those of its function: a compiler that says "not compatible with any association" says that
 * they are not. */
#ifdef __cppcheck__ /* which cannot read it */
#define WHORL_ARGUMENTS(function, args) (args)
#define WHORL_RESULT_OF(function, result) (result)
#else
#define WHORL_ARGUMENTS(function, args)                                                                                \
	_Generic((args), function##_whorl_arguments * : (args), const function##_whorl_arguments * : (args), void * : (args))
#define WHORL_RESULT_OF(function, result) _Generic((result), function##_whorl_result * : (result), void * : (result))
#endif

/* All functions that this program (or this shared object) has been linked with, for struct whorl_work_options. */
extern const struct whorl_function *const __start_whorl_functions[] __attribute__((weak, visibility("hidden")));
extern const struct whorl_function *const __stop_whorl_functions[] __attribute__((weak, visibility("hidden")));
extern const struct whorl_type *const __start_whorl_types[] __attribute__((weak, visibility("hidden")));
extern const struct whorl_type *const __stop_whorl_types[] __attribute__((weak, visibility("hidden")));
/* And all types: other nodes may entrust properties of these here. */
#define WHORL_FUNCTIONS_LINKED                                                                                         \
	.functions = __start_whorl_functions,                                                                          \
	.function_count = ((uintptr_t)__stop_whorl_functions - (uintptr_t)__start_whorl_functions) /                   \
			  sizeof(const struct whorl_function *),                                                       \
	.types = __start_whorl_types,                                                                                  \
	.type_count =                                                                                                  \
		((uintptr_t)__stop_whorl_types - (uintptr_t)__start_whorl_types) / sizeof(const struct whorl_type *)

/* ---- opening and closing ------------------------------------------------------------------------------------------------*/

typedef struct whorl_work whorl_work; /* workers, and what is entrusted to them */

#define WHORL_WORKERS_MAX 256

struct whorl_work_options {
	size_t size;
	uint32_t workers; /* threads of this process, 1 .. WHORL_WORKERS_MAX; 0: one */
	/* So many of them, the first, are trustees alone: no fiber is spawned there, and nothing is entrusted to the others, unless the
	 * place names them. 0: all are both. */
	uint32_t dedicated;
	const struct whorl_function *const *functions; /* in any order */
	size_t function_count;
	size_t stack_bytes; /* of a fiber; 0: 256 KiB. Memory is taken as it is used; below it is a page that faults (SIGSEGV) */
	const struct whorl_type *const
		*types; /* that other nodes may entrust properties of to workers here, in any order */
	size_t type_count;
};

/* Starts the workers. `node` is the member of a group that this process is, or NULL: this process alone; it must be open until
 * whorl_work_close. Its loop runs nothing of this. Once in the life of a node, and with at most 64 workers.
 * WHORL_OK; WHORL_INVALID: an option, or a function: two of one name that differ...; WHORL_MEMORY, WHORL_SYSTEM. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_work_open(whorl_node *node, const struct whorl_work_options *options,
							     whorl_work **work);

/* Takes no more calls, lets those that were made end, and the fibers, at most so long; then drops what is left: calls that have not ended
 * end as WHORL_CLOSED, or WHORL_IN_DOUBT if they were sent, and their `then` runs here. Fibers that wait never go on. All properties are
 * dropped. No other thread may be in a call here, or make one. Not from a worker.
 * WHORL_OK, also if something was left; WHORL_TIMEOUT: a function has not ended, and holds its worker; nothing is freed, and this may be
 * called again; WHORL_WOULD_DEADLOCK: from a fiber, a function or a `then`. */
WHORL_API enum whorl_result whorl_work_close(whorl_work *work, int timeout_ms);

/* Waits until the workers here can call those of all other members of the current view: all links between them are up. Before, a place of a
 * node may be WHORL_AGAIN, and WHORL_NODE_ANY leaves it out. Without a node, or where its transport has no links, it is so at once. Any thread; a fiber lets others run meanwhile.
 * WHORL_OK; WHORL_TIMEOUT: a member is not there yet, or has opened no work; WHORL_REFUSED: one knows other functions;
 * WHORL_WOULD_DEADLOCK: in delegated context, with a time-out other than 0; WHORL_INVALID. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_work_ready(whorl_work *work, int timeout_ms);

/* The worker that has what is entrusted to the shard of `subgroup` in which this node is (see REPLICATED TRUSTS). It sets whorl_on_calls and
 * whorl_on_state of the subgroup, of which the program sets nothing. On all members, or none: before whorl_start, on a work that was opened
 * with the node. Several subgroups may have one worker. When the work is closed this node is a member without a state: it takes what comes and
 * gives nothing, so close the node next. The work must be closed before the node, as ever.
 * WHORL_OK; WHORL_INVALID: after whorl_start, the subgroup is of another node, unordered, entered (whorl_subgroup_enter), or has an upcall or
 * functions for its state already; the work has no node, no such worker, or too many subgroups (64); WHORL_MEMORY, WHORL_FORKED. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_work_serve(whorl_work *work, whorl_subgroup *subgroup,
							      uint32_t worker);

/* A digest of the functions: their names, types, sizes and flags. Two programs with the same digest name all functions alike. */
WHORL_API uint64_t whorl_work_digest(const whorl_work *work);

/* ---- places -------------------------------------------------------------------------------------------------------------*/

#define WHORL_WORKER_ANY UINT32_MAX
#define WHORL_NODE_HERE UINT32_MAX
#define WHORL_NODE_ANY (UINT32_MAX - 1)

struct whorl_place {
	/* id; WHORL_NODE_HERE: this process, whatever its id; WHORL_NODE_ANY, with WHORL_WORKER_ANY alone: this one or any that can be called now,
	 * in turn, by workers: for whorl_entrust, whorl_trust_move, whorl_spawn and whorl_place_choose */
	uint32_t node;
	uint32_t worker; /* WHORL_WORKER_ANY: the library chooses, in turn */
	whorl_subgroup *shard;
};

static inline struct whorl_place whorl_at_worker(uint32_t node, uint32_t worker)
{
	struct whorl_place place = {node, worker, NULL};
	return place;
}

static inline struct whorl_place whorl_at_any(void)
{
	return whorl_at_worker(WHORL_NODE_HERE, WHORL_WORKER_ANY);
}

/* At any worker of any node. */
static inline struct whorl_place whorl_at_any_node(void)
{
	return whorl_at_worker(WHORL_NODE_ANY, WHORL_WORKER_ANY);
}

/* At all members of a shard: whorl_entrust_named. */
static inline struct whorl_place whorl_at_shard(whorl_subgroup *subgroup)
{
	struct whorl_place place = {WHORL_NODE_HERE, WHORL_WORKER_ANY, subgroup};
	return place;
}

/* The work that this thread is a worker of, and where: in a fiber, a function or a `then` of a worker. NULL: a plain thread, and then
 * `place` is as it was. `place` may be NULL. */
WHORL_API whorl_work *whorl_work_here(struct whorl_place *place);

/* ---- trusts -------------------------------------------------------------------------------------------------------------*/

/* A trust: a value, which may be copied in memory, but counts once. It belongs to the thread that got it (a worker with all its fibers, or
 * a plain thread). Others may apply with it as long as it is not dropped; they may not clone, send or drop it. */
struct whorl_trust {
	whorl_work *work;
	uint64_t id; /* of this handle */
	uint32_t node, worker, property;
	uint32_t owner; /* the thread that it belongs to; 0: the first that uses it */
	uint64_t room[2];
};

/* Makes a property at `place`, of `type`, which some function is for, with `bytes` (the type's) of `init`; NULL: all zero. Waits; in
 * delegated context only for places on the worker itself.
 * WHORL_OK; WHORL_TIMEOUT: it was not made; WHORL_IN_DOUBT: if it was made it is dropped; WHORL_WOULD_DEADLOCK; WHORL_UNSUPPORTED: a place
 * of another node where this work has none; WHORL_NOT_FOUND: there is no such worker, or the other node knows no such type; WHORL_REFUSED:
 * it knows other functions; WHORL_GONE; WHORL_INVALID: no function is for this type, another size...;
 * WHORL_MEMORY, WHORL_CLOSED. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_entrust(whorl_work *work, struct whorl_place place,
							   const struct whorl_type *type, const void *init,
							   size_t bytes, struct whorl_trust *trust, int timeout_ms);

/* Another handle for the same property, for this thread. Never waits: in delegated context, too. WHORL_OK; WHORL_INVALID: the handle
 * belongs to another thread...; WHORL_MEMORY, WHORL_CLOSED. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_trust_clone(struct whorl_trust *trust, struct whorl_trust *other);

/* Makes this handle one that belongs to the worker at `place`, or with WHORL_WORKER_ANY to the thread that uses it next. Then it may be
 * copied there, in arguments or any other way; here it must not be used any more. It gets another id: a handle that went from thread
 * to thread as it is could be counted in the wrong order, and its property be dropped too early. Never waits. As whorl_trust_clone. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_trust_send(struct whorl_trust *trust, struct whorl_place place);

/* Gives the handle back; with the last the property is dropped, when what was sent to it has run. Never waits. `trust` is all zero then.
 * WHORL_OK; WHORL_INVALID: it belongs to another thread...; WHORL_MEMORY: nothing is done; WHORL_CLOSED. */
WHORL_API enum whorl_result whorl_trust_drop(struct whorl_trust *trust);

/* Moves the property to another worker, also of another node, also while it is in use. Its handles stay valid; calls that come to the old
 * place are sent on, and what comes while it moves runs behind. This handle knows the new place. Waits until it is there; a launched function
 * is waited for.
 * To another node its bytes go: see enum whorl_type_flag. That node has the type in the `types` of its options. If the node of the old place
 * ends afterwards, so do the calls that go through it: those that were sent as WHORL_IN_DOUBT, the others as WHORL_GONE; the property lives on
 * with the handles that were made where it is: this one, and its clones. If the node of the new place ends, the property does.
 * WHORL_OK, also if it is there already; it stays: WHORL_TIMEOUT; WHORL_MEMBER_GONE: the new place has ended before it was there;
 * WHORL_UNSUPPORTED: it may not leave its process (whorl_invalid_text), or as of whorl_entrust; WHORL_NOT_FOUND, WHORL_REFUSED as of
 * whorl_entrust; WHORL_WOULD_DEADLOCK, WHORL_INVALID, WHORL_MEMORY, WHORL_CLOSED. WHORL_IN_DOUBT: it stays or moves, and this handle is as it
 * was; WHORL_GONE: there is no such property, or its node has ended. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_trust_move(struct whorl_trust *trust, struct whorl_place place,
							      int timeout_ms);

/* ---- replicated trusts ----------------------------------------------------------------------------------------------------*/

#define WHORL_TRUST_NAME_MAX 255 /* bytes of a name, without its end */

/* A property of the shard of `place` (whorl_at_shard) by its name: finds it, or makes it with `init` (NULL: all zero; with a type
 * that has `load` it is NULL), by an ordered call: the first makes it, and of the others `init` is not looked at. `type` is in the `types` of the work.
 * WHORL_OK; WHORL_IN_DOUBT: it may be there: call again, which is harmless; WHORL_INVALID (whorl_invalid_text): there is one of that name and another
 * type, its type may not be replicated...; WHORL_UNSUPPORTED: `place` is no shard that this work serves (whorl_work_serve); and the results
 * of whorl_apply at a shard. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_entrust_named(whorl_work *work, struct whorl_place place,
								 const char *name, const struct whorl_type *type,
								 const void *init, size_t bytes,
								 struct whorl_trust *trust, int timeout_ms);

/* Ends a property of a shard, by an ordered call, at all members: calls that come behind it give WHORL_GONE, and its name can be used for
 * another. The handle stays, to be dropped. WHORL_OK; WHORL_GONE: it has ended already; WHORL_INVALID: the property is of no shard; and the results of whorl_apply
 * at a shard. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_trust_end(const struct whorl_trust *trust, int timeout_ms);

enum whorl_trust_reads { /* how functions with WHORL_READ run that are sent by a handle; see REPLICATED TRUSTS */
			 WHORL_READS_ORDERED, /* as all others: in the order, at the caller's member */
			 WHORL_READS_LOCAL,   /* at the caller's member as it is: no message, and it may be late */
			 WHORL_READS_LINEARIZABLE /* at the caller's member when it has all that was answered anywhere before: no message in the order */
};

/* Of this handle and its clones from now on; at first WHORL_READS_ORDERED. WHORL_OK; WHORL_INVALID: the property is of no shard. */
WHORL_API enum whorl_result whorl_trust_reads(struct whorl_trust *trust, enum whorl_trust_reads reads);

/* ---- calls --------------------------------------------------------------------------------------------------------------*/

/* Runs `function` on the property, and waits for its result, at most timeout_ms; 0: only if this thread can run it at once. `args` and
 * `result` may be NULL: no arguments, if there are none; the result is dropped.
 *     whorl_apply(&trust, counter_add, &(struct add){5}, &n, 1000);
 * WHORL_OK; WHORL_TIMEOUT: it was not sent, and never runs; WHORL_IN_DOUBT: it was sent, and time ran out; WHORL_GONE: there is no such
 * property; it did not run; WHORL_WOULD_DEADLOCK: in delegated context; WHORL_NOT_FOUND: the function is not registered;
 * WHORL_INVALID: a function of another type; WHORL_REFUSED: what reached the trustee was damaged; it did not run; WHORL_MEMORY,
 * WHORL_CLOSED: it did not run. */
#define whorl_apply(trust, function, args, result, timeout_ms)                                                         \
	whorl_apply_function((trust), &(function), WHORL_ARGUMENTS(function, args), WHORL_RESULT_OF(function, result), \
			     (timeout_ms))
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_apply_function(const struct whorl_trust *trust,
								  const struct whorl_function *function,
								  const void *args, void *result, int timeout_ms);

/* What has become of a call that was not waited for: exactly once for each that was accepted. On the caller's worker, or, of a plain
 * thread, in whorl_poll, or in another call that it makes here. As delegated context: it may not wait. `answer` is NULL unless `result` is
 * WHORL_OK, and aligned to 8. */
typedef void whorl_then_fn(enum whorl_result result, const void *answer, size_t bytes, void *ctx);

/* Sends `function` and does not wait. `then` may be NULL. It may run before this returns. In a fiber that has made many calls others get
 * a turn meanwhile. A plain
 * thread that has made several sends some of them when it calls here again: whorl_poll does.
 * WHORL_OK: `then` is called, with one of the results of whorl_apply; the others say that it is not, and that the function does not run:
 * WHORL_AGAIN: much has been sent that was not served yet; WHORL_NOT_FOUND, WHORL_INVALID, WHORL_MEMORY, WHORL_CLOSED. */
#define whorl_apply_then(trust, function, args, then, ctx)                                                             \
	whorl_apply_then_function((trust), &(function), WHORL_ARGUMENTS(function, args), (then), (ctx))
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_apply_then_function(const struct whorl_trust *trust,
								       const struct whorl_function *function,
								       const void *args, whorl_then_fn *then,
								       void *ctx);

/* The same in a fiber of its own on the trustee, where the function may wait, also for calls to other properties. The property is latched
 * until it ends: what comes to it meanwhile runs behind. (A function that waits for a call to its own property waits for ever.) */
#define whorl_launch(trust, function, args, result, timeout_ms)                                                        \
	whorl_launch_function((trust), &(function), WHORL_ARGUMENTS(function, args),                                   \
			      WHORL_RESULT_OF(function, result), (timeout_ms))
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_launch_function(const struct whorl_trust *trust,
								   const struct whorl_function *function,
								   const void *args, void *result, int timeout_ms);
#define whorl_launch_then(trust, function, args, then, ctx)                                                            \
	whorl_launch_then_function((trust), &(function), WHORL_ARGUMENTS(function, args), (then), (ctx))
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_launch_then_function(const struct whorl_trust *trust,
									const struct whorl_function *function,
									const void *args, whorl_then_fn *then,
									void *ctx);

/* Calls of functions of bytes (WHORL_FUNCTION_OF_BYTES): `answer` has room for *answer_bytes, which becomes the size of the result; both
 * may be NULL. As whorl_apply, and WHORL_TOO_SMALL: it has run, its result does not fit: *answer_bytes is its size, and as much as
 * fits was written. */
#define whorl_apply_bytes(trust, function, data, bytes, answer, answer_bytes, timeout_ms)                              \
	whorl_apply_bytes_function((trust), &(function), (data), (bytes), (answer), (answer_bytes), (timeout_ms))
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_apply_bytes_function(const struct whorl_trust *trust,
									const struct whorl_function *function,
									const void *data, size_t bytes, void *answer,
									size_t *answer_bytes, int timeout_ms);
#define whorl_apply_bytes_then(trust, function, data, bytes, then, ctx)                                                \
	whorl_apply_bytes_then_function((trust), &(function), (data), (bytes), (then), (ctx))
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_apply_bytes_then_function(const struct whorl_trust *trust,
									     const struct whorl_function *function,
									     const void *data, size_t bytes,
									     whorl_then_fn *then, void *ctx);

/* Sends what waits to be sent, and runs the `then` of calls that have ended; waits until there is one, at most timeout_ms. In a fiber it
 * gives the others turns until then.
 * WHORL_OK: at least one has run; WHORL_TIMEOUT: none; WHORL_NOT_FOUND: this thread waits for none; WHORL_WOULD_DEADLOCK: in delegated
 * context. */
WHORL_API enum whorl_result whorl_poll(whorl_work *work, int timeout_ms);

/* ---- fibers -------------------------------------------------------------------------------------------------------------*/

struct whorl_join { /* of a fiber: what it gives back */
	whorl_work *work;
	void *call; /* private */
};

/* Starts `function`, one without a property (struct whorl_none), in a fiber at `place`; at WHORL_WORKER_ANY in turn. Any thread, delegated context
 * too. Never waits. `join` NULL: its result is dropped; else it must be joined, by the thread that has spawned.
 * WHORL_OK; nothing is started: WHORL_AGAIN: the node has not been met, or has ended (whorl_work_ready), or much waits to be sent there;
 * WHORL_NOT_FOUND: it has no such worker, or the function is not registered; WHORL_REFUSED: it knows other functions; WHORL_INVALID,
 * WHORL_UNSUPPORTED, WHORL_MEMORY, WHORL_CLOSED. */
#define whorl_spawn(work, place, function, args, join)                                                                 \
	whorl_spawn_function((work), (place), &(function), WHORL_ARGUMENTS(function, args), (join))
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_spawn_function(whorl_work *work, struct whorl_place place,
								  const struct whorl_function *function,
								  const void *args, struct whorl_join *join);

/* Chooses as whorl_spawn would: `place` names a node and a worker then. So handles that the fiber is to have can be sent there before it
 * (whorl_trust_send), wherever it goes. Any thread, never waits. WHORL_OK; as of whorl_spawn, and `place` is as it was: WHORL_AGAIN,
 * WHORL_NOT_FOUND, WHORL_REFUSED, WHORL_UNSUPPORTED, WHORL_INVALID. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_place_choose(whorl_work *work, struct whorl_place *place);

/* Waits until the fiber has ended. `result` has room for `bytes`, those of its result, or is NULL.
 * WHORL_OK: it has; WHORL_TIMEOUT: not yet: join again; WHORL_MEMORY: it was never started, for want of a stack; WHORL_IN_DOUBT: its node has
 * ended, or the work was closed, and nobody here knows how far it came; WHORL_GONE: its node has ended before it was sent there; WHORL_REFUSED,
 * WHORL_CLOSED: it was not started. But for WHORL_TIMEOUT `join` is all zero then. It is as it was: WHORL_WOULD_DEADLOCK; WHORL_INVALID: another
 * thread has spawned it, or another size. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_join(struct whorl_join *join, void *result, size_t bytes,
							int timeout_ms);

/* In a fiber: the others that are ready have a turn first. Elsewhere, and in delegated context, nothing. */
WHORL_API void whorl_fiber_yield(void);

/* ---- read-only data that is shared --------------------------------------------------------------------------------------*/

/* Bytes that never change, counted, for large values that many read. Handles may stand in arguments within this process. */
typedef struct whorl_shared whorl_shared;

/* A copy of the data, counted once. WHORL_OK, WHORL_MEMORY, WHORL_INVALID. */
WHORL_API WHORL_MUST_CHECK enum whorl_result whorl_share(whorl_work *work, const void *data, size_t bytes,
							 whorl_shared **shared);
/* 16-byte aligned, until the last drop. `bytes` may be NULL. */
WHORL_API const void *whorl_shared_data(const whorl_shared *shared, size_t *bytes);
/* Counts once more, for one that gets it. Any thread. */
WHORL_API enum whorl_result whorl_shared_hold(whorl_shared *shared);
/* With the last it is freed. Any thread. NULL is fine. Before whorl_work_close. */
WHORL_API void whorl_shared_drop(whorl_shared *shared);

/* ---- statistics ---------------------------------------------------------------------------------------------------------*/

struct whorl_worker_stats {
	size_t size;
	uint64_t calls;       /* functions that have run on its properties, and fibers that were spawned here */
	uint64_t lent_calls;  /* of these: run by a thread that had borrowed it */
	uint64_t batches;     /* in which those that were sent have come */
	uint64_t batch_calls; /* and how many these were: batch_calls / batches is the mean */
	uint64_t largest_batch;
	uint64_t deferred;     /* that were answered later: launched, latched or sent on */
	uint64_t refused;      /* batches that were damaged */
	uint64_t functions_ns; /* time in functions that were sent; sampled */
	uint64_t looking_ns;   /* time in looks that found nothing; sampled */
	uint64_t properties;   /* now */
	uint64_t fibers;       /* now */
	uint64_t fibers_started;
	uint64_t passes, sleeps; /* of its loop */
};

/* WHORL_OK; WHORL_NOT_FOUND: there is no such worker; WHORL_INVALID. Any thread. */
WHORL_API enum whorl_result whorl_worker_statistics(const whorl_work *work, uint32_t worker,
						    struct whorl_worker_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
