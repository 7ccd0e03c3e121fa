/* reads.c - reads: local ones at once, linearizable ones when a quorum has said that it had not wedged, and what was received by then
 * is applied.
 *
 * docs/decisions/0048 has the rule and why it holds. All reads that wait when a question is raised share it; each waits for the next
 * one that is raised after it has come, never for one that is under way. What is noted is what had been received here when the question
 * was raised.
 */
#include <stdlib.h>
#include <string.h>

#include "group/refuse.h"
#include "replica/replica_int.h"

void wh_reads_init(struct wh_reads *reads)
{
	pthread_mutex_init(&reads->lock, NULL);
}

void wh_reads_close(struct wh_reads *reads)
{
	free(reads->come.reads);
	free(reads->taken.reads);
	free(reads->queue);
}

/* ---- the queue ------------------------------------------------------------------------------------------------------------ */

static struct wh_read *at(const struct wh_reads *reads, uint64_t position)
{
	return &reads->queue[position & (reads->room - 1)];
}

#define FIRST_ROOM 64

static bool grow_queue(struct wh_reads *reads)
{
	uint64_t room = reads->room > 0 ? 2 * reads->room : FIRST_ROOM;
	struct wh_read *queue = room <= SIZE_MAX / sizeof(*queue) ? malloc(room * sizeof(*queue)) : NULL;

	if (queue == NULL)
		return false;
	for (uint64_t i = reads->made; i < reads->end; i++)
		queue[i & (room - 1)] = *at(reads, i);
	free(reads->queue);
	reads->queue = queue;
	reads->room = room;
	return true;
}

static bool enqueue(struct wh_reads *reads, const struct wh_read *read)
{
	if (reads->end - reads->made == reads->room && !grow_queue(reads))
		return false;
	*at(reads, reads->end++) = *read;
	return true;
}

static bool append(struct wh_read_list *list, const struct wh_read *read)
{
	size_t room = list->room > 0 ? 2 * list->room : FIRST_ROOM;

	if (list->count == list->room) {
		struct wh_read *reads =
			room <= SIZE_MAX / sizeof(*reads) ? realloc(list->reads, room * sizeof(*reads)) : NULL;

		if (reads == NULL)
			return false;
		list->reads = reads;
		list->room = room;
	}
	list->reads[list->count++] = *read;
	return true;
}

/* ---- the loop ------------------------------------------------------------------------------------------------------------- */

static enum whorl_result read_locally(const struct wh_replica *replica)
{
	struct wh_layer_place place;

	if (!wh_layer_received(replica->subgroup, &place))
		return WHORL_NOT_FOUND;
	return wh_layer_restores(replica->subgroup) ? WHORL_AGAIN : WHORL_OK;
}

/* A linearizable one, of the shard that this node is in now. */
static enum whorl_result take_up(struct wh_replica *replica, struct wh_read *read)
{
	struct wh_layer_place place;

	if (!wh_layer_received(replica->subgroup, &place))
		return WHORL_NOT_FOUND;
	read->shard = place.shard;
	return enqueue(&replica->reads, read) ? WHORL_OK : WHORL_MEMORY;
}

static void swap_lists(struct wh_reads *reads)
{
	struct wh_read_list come;

	pthread_mutex_lock(&reads->lock);
	come = reads->come;
	reads->come = reads->taken;
	reads->taken = come;
	pthread_mutex_unlock(&reads->lock);
}

/* What other threads have asked for since the last look. */
static size_t take_up_all(struct wh_replica *replica)
{
	struct wh_read_list *taken = &replica->reads.taken;
	size_t count;

	swap_lists(&replica->reads);
	count = taken->count;
	for (size_t i = 0; i < count; i++) {
		struct wh_read read = taken->reads[i];
		enum whorl_result result = read.local ? read_locally(replica) : take_up(replica, &read);

		if (read.local || result != WHORL_OK)
			read.read(result, read.ctx);
	}
	taken->count = 0;
	return count;
}

static struct wh_read take_first(struct wh_reads *reads)
{
	struct wh_read read = *at(reads, reads->made++);

	if (reads->confirmed < reads->made)
		reads->confirmed = reads->made;
	if (reads->asked < reads->made)
		reads->asked = reads->made;
	return read;
}

/* All that are there now; those that are asked for meanwhile are not. */
static size_t end_all(struct wh_reads *reads, enum whorl_result result)
{
	uint64_t end = reads->end;
	size_t ended = 0;

	for (; reads->made < end; ended++) {
		struct wh_read read = take_first(reads);

		read.read(result, read.ctx);
	}
	return ended;
}

/* The question that is under way: it has a quorum, or its view is over and it never will. */
static void look_at_question(struct wh_replica *replica)
{
	struct wh_reads *reads = &replica->reads;
	struct wh_layer_place now;

	if (reads->asked == reads->confirmed || !wh_layer_received(replica->subgroup, &now))
		return;
	if (now.view != reads->noted.view) {
		reads->asked = reads->confirmed;
		return;
	}
	if (!wh_layer_is_confirmed(replica->subgroup, reads->noted.view, reads->question))
		return;
	for (; reads->confirmed < reads->asked; reads->confirmed++)
		at(reads, reads->confirmed)->place = reads->noted;
}

static size_t make_reads(struct wh_replica *replica)
{
	struct wh_reads *reads = &replica->reads;
	size_t made = 0;

	for (; reads->made < reads->confirmed; made++) {
		const struct wh_read *first = at(reads, reads->made);
		bool is_in = wh_layer_is_in(replica->subgroup, first->shard);
		struct wh_read read;

		if (is_in && !wh_layer_has_applied(replica->subgroup, &first->place))
			break;
		read = take_first(reads);
		read.read(is_in ? WHORL_OK : WHORL_NOT_FOUND, read.ctx);
	}
	return made;
}

static void note_wants(struct wh_replica *replica)
{
	const struct wh_reads *reads = &replica->reads;
	struct wh_layer_wants *wants = wh_layer_wants(replica->subgroup);

	wants->a_question = reads->end > reads->asked && reads->asked == reads->confirmed;
	wants->passes = reads->end > reads->made;
}

size_t wh_reads_step(struct wh_replica *replica)
{
	struct wh_reads *reads = &replica->reads;
	struct wh_layer_place now;
	size_t work = take_up_all(replica);

	if (wh_layer_state(replica->subgroup) == WHORL_NO_QUORUM)
		work += end_all(reads, WHORL_NO_QUORUM);
	else if (!wh_layer_received(replica->subgroup, &now))
		work += end_all(reads, WHORL_NOT_FOUND);
	look_at_question(replica);
	work += make_reads(replica);
	note_wants(replica);
	return work;
}

void wh_reads_gather(struct wh_replica *replica)
{
	struct wh_read_list *come = &replica->reads.come;
	size_t left = 0;

	pthread_mutex_lock(&replica->reads.lock);
	for (size_t i = 0; i < come->count; i++)
		if (come->reads[i].local || take_up(replica, &come->reads[i]) != WHORL_OK)
			come->reads[left++] = come->reads[i]; /* the loop tells */
	come->count = left;
	pthread_mutex_unlock(&replica->reads.lock);
	note_wants(replica);
}

/* In the same pass as the step that wanted it: nothing has come since. */
void wh_reads_asked(struct wh_replica *replica, uint64_t view, uint64_t question)
{
	struct wh_reads *reads = &replica->reads;

	if (!wh_layer_received(replica->subgroup, &reads->noted) || reads->noted.view != view)
		return;
	reads->question = question;
	reads->asked = reads->end;
}

void wh_reads_end(struct wh_replica *replica, enum whorl_result why)
{
	struct wh_reads *reads = &replica->reads;

	swap_lists(reads);
	for (size_t i = 0; i < reads->taken.count; i++)
		reads->taken.reads[i].read(why, reads->taken.reads[i].ctx);
	reads->taken.count = 0;
	(void)end_all(reads, why);
}

/* ---- asking --------------------------------------------------------------------------------------------------------------- */

/* This thread runs the loop, or, with thread = caller, none does and this one has taken it. */
static enum whorl_result read_on_loop(struct wh_replica *replica, struct wh_read *read)
{
	enum whorl_result result = read->local ? read_locally(replica) : take_up(replica, read);

	if (read->local && result == WHORL_OK)
		read->read(WHORL_OK, read->ctx);
	else if (result == WHORL_OK)
		wh_layer_ask(replica->subgroup);
	return result;
}

static enum whorl_result leave_to_loop(struct wh_replica *replica, const struct wh_read *read)
{
	bool left;

	pthread_mutex_lock(&replica->reads.lock);
	left = append(&replica->reads.come, read);
	pthread_mutex_unlock(&replica->reads.lock);
	if (!left)
		return WHORL_MEMORY;
	wh_layer_ask(replica->subgroup);
	return WHORL_OK;
}

/* WHORL_OK, or why it is not even begun. */
static enum whorl_result may_read(const struct wh_replica *replica, bool local)
{
	enum whorl_result result = wh_layer_state(replica->subgroup);

	if (result != WHORL_OK && !(local && result == WHORL_NO_QUORUM))
		return result;
	return wh_layer_membership(replica->subgroup);
}

/* By a thread that does not run the loop, but may take it for this. */
static enum whorl_result read_beside_loop(struct wh_replica *replica, struct wh_read *read)
{
	enum whorl_result result = may_read(replica, read->local);

	if (result != WHORL_OK)
		return result;
	if (!wh_layer_take_loop(replica->subgroup))
		return leave_to_loop(replica, read);
	result = read_on_loop(replica, read);
	wh_layer_give_loop(replica->subgroup);
	return result;
}

enum whorl_result whorl_read(whorl_subgroup *subgroup, enum whorl_freshness freshness, whorl_read_fn *read, void *ctx)
{
	struct wh_replica *replica = subgroup != NULL ? wh_replica_of(subgroup) : NULL;
	struct wh_read new = {.read = read, .ctx = ctx, .local = freshness == WHORL_LOCAL};
	enum whorl_result result;

	if (replica == NULL || read == NULL)
		return WH_REFUSE(subgroup == NULL  ? "no subgroup"
				 : replica == NULL ? "the subgroup has no whorl_on_calls"
						   : "no function");
	if (freshness != WHORL_LOCAL && freshness != WHORL_LINEARIZABLE)
		return WH_REFUSE("no such freshness");
	if (wh_layer_state(subgroup) == WHORL_FORKED)
		return WHORL_FORKED;
	if (wh_layer_in_upcall(subgroup)) {
		result = may_read(replica, new.local);
		return result == WHORL_OK ? read_on_loop(replica, &new) : result;
	}
	/* It does not wait. But whorl_close waits for it, before it ends what has come. */
	if (!wh_layer_begin_wait(subgroup))
		return WHORL_CLOSED;
	result = read_beside_loop(replica, &new);
	wh_layer_end_wait(subgroup);
	return result;
}
