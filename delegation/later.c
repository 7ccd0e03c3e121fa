/* later.c - latches: calls that wait for a property, and functions that run in a fiber.
 *
 * A property is latched by a flag: all that looks at it runs on one thread. What comes to a latched property waits in the order in which
 * it came, whatever it is, so the calls of one client never overtake each other.
 */
#include "delegation/delegation_int.h"

#include <stdlib.h>

struct wh_later *wh_later_new(struct wh_party *me, struct wh_origin origin, const struct wh_record *record,
			      const void *args, size_t bytes)
{
	struct wh_later *later = malloc(sizeof(*later) + bytes);

	if (later == NULL)
		return NULL;
	*later = (struct wh_later){.trustee = me, .origin = origin, .record = *record, .bytes = bytes};
	if (bytes > 0)
		memcpy(later->args, args, bytes);
	return later;
}

/* Of a fiber that never goes on nothing else is freed. */
static void list(struct wh_later *later)
{
	struct wh_party *me = later->trustee;

	later->newer = NULL;
	later->older = me->launched;
	if (later->older != NULL)
		later->older->newer = later;
	me->launched = later;
}

static void unlist(struct wh_later *later)
{
	if (later->newer != NULL)
		later->newer->older = later->older;
	else
		later->trustee->launched = later->older;
	if (later->older != NULL)
		later->older->newer = later->newer;
}

void wh_later_free(struct wh_later *later)
{
	wh_bytes_free(&later->result);
	free(later);
}

void wh_later_append(struct wh_property *property, struct wh_later *later)
{
	if (property->first == NULL)
		property->first = later;
	else
		property->last->next = later;
	property->last = later;
}

/* ---- the answer that comes later ----------------------------------------------------------------------------------------------- */

void wh_complete(struct wh_party *me, struct wh_origin origin, enum whorl_result status, const void *data, size_t bytes)
{
	struct wh_party *client = origin.channel->client;
	const struct wh_party *called = origin.channel->relay != NULL ? origin.channel->relay : me;
	const struct wh_complete_args head = {origin.number, called->number, {(uint32_t)status, (uint32_t)bytes}};
	struct wh_request request = {.function = WH_COMPLETE, .bytes = sizeof(head) + bytes};
	enum whorl_result result = WHORL_CLOSED;
	struct wh_channel *back;
	unsigned char *args;

	if (status != WHORL_OK && bytes > 0) {
		wh_complete(me, origin, status, NULL, 0);
		return;
	}
	if (client == me) {
		wh_completed(origin.channel, origin.number, status, data, bytes);
		return;
	}
	back = wh_channel_to(me, client);
	args = malloc(request.bytes);
	if (args != NULL) {
		memcpy(args, &head, sizeof(head));
		if (bytes > 0)
			memcpy(args + sizeof(head), data, bytes);
	}
	request.data = args;
	if (wh_load_relaxed(&me->work->state) != WH_WORK_CLOSED)
		result = back == NULL || args == NULL ? WHORL_MEMORY
						      : wh_issue(back, &request, (struct wh_ticket){0}, NULL);
	if (result == WHORL_MEMORY) /* else the client has ended, or this work has */
		wh_log(&me->worker->diag, WH_LOG_WARNING, "no memory: a call is not answered, and will be in doubt");
	free(args);
}

/* ---- in a fiber ----------------------------------------------------------------------------------------------------------------- */

static size_t result_bytes(const struct wh_party *me, const struct wh_later *later)
{
	const struct wh_known *known = &me->work->table.known[later->record.function];
	size_t has = wh_bytes_left(&later->result);

	return (known->function->flags & WHORL_TAKES_BYTES) != 0 ? has : known->result_bytes;
}

static void unlatch(struct wh_party *me, uint32_t name)
{
	struct wh_property *property = wh_property_find(&me->properties, name);

	if (property == NULL)
		return;
	property->latched = false;
	wh_later_run(me, name);
}

/* The property is latched; it stays where it is as long as it is. */
static void run_launched(void *ctx)
{
	struct wh_later *later = ctx;
	struct wh_party *me = later->trustee;
	const struct wh_known *known = &me->work->table.known[later->record.function];
	struct wh_property *property = wh_property_find(&me->properties, later->record.property);
	uint32_t name = later->record.property;

	list(later);
	later->status =
		wh_run(known, property == NULL ? NULL : property->object, later->args, later->bytes, &later->result);
	unlist(later);
	later->ended = true;
	if (!later->at_once) {
		wh_complete(me, later->origin, later->status, later->result.data, result_bytes(me, later));
		wh_later_free(later);
	}
	unlatch(me, name);
}

uint32_t wh_launch(struct wh_party *me, struct wh_later *later, struct wh_bytes *out)
{
	struct wh_property *property = wh_property_find(&me->properties, later->record.property);
	uint32_t status;

	if (property != NULL)
		property->latched = true;
	later->at_once = true;
	status = wh_tasks_start(&me->worker->tasks, run_launched, later);
	if (status == WHORL_OK && !later->ended) {
		later->at_once = false;
		wh_count(&me->stats.deferred, 1);
		return WH_DEFERRED;
	}
	if (status != WHORL_OK && property != NULL)
		unlatch(me, later->record.property);
	if (status == WHORL_OK)
		status = later->status;
	if (status == WHORL_OK && !wh_bytes_append(out, later->result.data, result_bytes(me, later)))
		status = WHORL_IN_DOUBT; /* it has run */
	wh_later_free(later);
	return status;
}

/* ---- turns ----------------------------------------------------------------------------------------------------------------------- */

static void launch_next(struct wh_party *me, struct wh_property *property, struct wh_later *later)
{
	property->latched = true;
	if (wh_tasks_add(&me->worker->tasks, run_launched, later) == WHORL_OK)
		return;
	property->latched = false;
	wh_complete(me, later->origin, WHORL_MEMORY, NULL, 0);
	wh_later_free(later);
}

static void run_next(struct wh_party *me, struct wh_later *later)
{
	uint32_t status =
		wh_perform(me, later->origin, &later->record, later->args, later->bytes, &later->result, true);
	size_t bytes = wh_bytes_left(&later->result);

	if (status == WHORL_OK && later->record.function < me->work->table.count)
		bytes = result_bytes(me, later);
	if (status != WH_DEFERRED)
		wh_complete(me, later->origin, (enum whorl_result)status, later->result.data,
			    status == WHORL_OK ? bytes : 0);
	wh_later_free(later);
}

void wh_later_run(struct wh_party *me, uint32_t name)
{
	struct wh_property *property;
	struct wh_later *later;

	if (wh_load_relaxed(&me->work->state) == WH_WORK_CLOSED) /* what waits has ended already, or will at once */
		return;
	/* Each may drop it, latch it or move it. */
	while ((property = wh_property_find(&me->properties, name)) != NULL && (later = property->first) != NULL &&
	       !property->latched && property->state != WH_PROPERTY_MOVING) {
		property->first = later->next;
		later->next = NULL;
		if ((later->record.bytes & WH_RECORD_LAUNCH) != 0 && property->state == WH_PROPERTY_LIVE)
			launch_next(me, property, later);
		else
			run_next(me, later);
	}
	wh_property_settle(me, name);
}
