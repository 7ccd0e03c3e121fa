/* waitset.c - waitsets: see condition.h. */
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/env.h"
#include "base/thread.h"
#include "dds/base/host.h"
#include "dds/entity/condition.h"

#define LOOK_NS (30 * WH_NS_PER_US) /* before a thread sleeps */

/* A condition at a waitset: in one of the waitset's two lists, and in the condition's. */
struct wh_dds_attachment {
	struct wh_dds_waitset *waitset;
	struct wh_dds_condition *condition;
	intptr_t cookie;
	bool ready;
	struct wh_dds_attachment *before, *behind;
	struct wh_dds_attachment *next_of_condition;
};

static struct wh_dds_attachments *list_of(struct wh_dds_attachment *attachment)
{
	return attachment->ready ? &attachment->waitset->ready : &attachment->waitset->quiet;
}

static void join(struct wh_dds_attachment *attachment)
{
	struct wh_dds_attachments *list = list_of(attachment);

	attachment->before = list->last;
	attachment->behind = NULL;
	if (list->last != NULL)
		list->last->behind = attachment;
	else
		list->first = attachment;
	list->last = attachment;
}

static void leave(struct wh_dds_attachment *attachment)
{
	struct wh_dds_attachments *list = list_of(attachment);

	if (attachment->before != NULL)
		attachment->before->behind = attachment->behind;
	else
		list->first = attachment->behind;
	if (attachment->behind != NULL)
		attachment->behind->before = attachment->before;
	else
		list->last = attachment->before;
}

static bool is_up(const struct wh_dds_waitset *waitset)
{
	return waitset->ready_count > 0 || waitset->triggered;
}

/* It was up or not, and may be otherwise now. */
static void follow(struct wh_dds_waitset *waitset, bool was_up)
{
	eventfd_t value;

	if (is_up(waitset) == was_up)
		return;
	if (!was_up && waitset->waiters > 0)
		pthread_cond_broadcast(&waitset->changed);
	if (waitset->descriptor < 0)
		return;
	if (was_up)
		(void)eventfd_read(waitset->descriptor, &value);
	else
		(void)eventfd_write(waitset->descriptor, 1);
}

void wh_dds_attachment_say(struct wh_dds_attachment *attachment, bool holds)
{
	struct wh_dds_waitset *waitset = attachment->waitset;
	bool was_up = is_up(waitset);

	if (attachment->ready == holds)
		return;
	leave(attachment);
	attachment->ready = holds;
	join(attachment);
	waitset->ready_count += holds ? 1 : (size_t)-1;
	follow(waitset, was_up);
}

struct wh_dds_attachment *wh_dds_attachment_next(const struct wh_dds_attachment *attachment)
{
	return attachment->next_of_condition;
}

void wh_dds_attachment_free(struct wh_dds_attachment *attachment)
{
	struct wh_dds_attachment **at = &attachment->condition->attachments;

	while (*at != attachment)
		at = &(*at)->next_of_condition;
	*at = attachment->next_of_condition;
	wh_dds_attachment_say(attachment, false);
	leave(attachment);
	free(attachment);
}

static struct wh_dds_attachment *find(const struct wh_dds_waitset *waitset, const struct wh_dds_condition *condition)
{
	struct wh_dds_attachment *at = condition->attachments;

	while (at != NULL && at->waitset != waitset)
		at = at->next_of_condition;
	return at;
}

/* ---- the waitset ---------------------------------------------------------------------------------------------------------- */

void wh_dds_waitset_init(struct wh_dds_waitset *waitset, struct wh_dds_signals *signals)
{
	*waitset = (struct wh_dds_waitset){.signals = signals, .backoff = {.dear = true}, .descriptor = -1};
	wh_thread_condition_init(&waitset->changed);
}

/* With the lock. True: something may have changed. */
static bool wait_until(struct wh_dds_waitset *waitset, uint64_t until_ns)
{
	return wh_dds_wait(&waitset->changed, &waitset->signals->lock, until_ns);
}

void wh_dds_waitset_close(struct wh_dds_waitset *waitset)
{
	pthread_mutex_lock(&waitset->signals->lock);
	waitset->closed = true;
	pthread_cond_broadcast(&waitset->changed);
	while (waitset->waiters > 0) /* they need the lock, and nothing else, to leave */
		(void)wait_until(waitset, WH_DDS_NEVER);
	while (waitset->ready.first != NULL)
		wh_dds_attachment_free(waitset->ready.first);
	while (waitset->quiet.first != NULL)
		wh_dds_attachment_free(waitset->quiet.first);
	if (waitset->descriptor >= 0)
		close(waitset->descriptor);
	waitset->descriptor = -1;
	pthread_mutex_unlock(&waitset->signals->lock);
}

void wh_dds_waitset_free(struct wh_dds_waitset *waitset)
{
	pthread_cond_destroy(&waitset->changed);
}

static void attach(struct wh_dds_attachment *attachment)
{
	attachment->next_of_condition = attachment->condition->attachments;
	attachment->condition->attachments = attachment;
	join(attachment);
	wh_dds_attachment_say(attachment, wh_dds_condition_holds(attachment->condition));
}

whorl_dds_return wh_dds_waitset_attach(struct wh_dds_waitset *waitset, struct wh_dds_condition *condition,
				       intptr_t cookie)
{
	struct wh_dds_attachment *attachment;
	whorl_dds_return result = WHORL_DDS_RETCODE_OK;

	if (waitset->signals != condition->signals)
		return WHORL_DDS_RETCODE_BAD_PARAMETER;
	attachment = malloc(sizeof(*attachment));
	if (attachment == NULL)
		return WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
	*attachment = (struct wh_dds_attachment){.waitset = waitset, .condition = condition, .cookie = cookie};
	pthread_mutex_lock(&waitset->signals->lock);
	if (waitset->closed || condition->closed)
		result = WHORL_DDS_RETCODE_ALREADY_DELETED;
	else if (find(waitset, condition) == NULL)
		attach(attachment);
	else
		result = WHORL_DDS_RETCODE_PRECONDITION_NOT_MET;
	pthread_mutex_unlock(&waitset->signals->lock);
	if (result != WHORL_DDS_RETCODE_OK)
		free(attachment);
	return result;
}

whorl_dds_return wh_dds_waitset_detach(struct wh_dds_waitset *waitset, struct wh_dds_condition *condition)
{
	struct wh_dds_attachment *attachment;

	pthread_mutex_lock(&waitset->signals->lock);
	attachment = find(waitset, condition);
	if (attachment != NULL)
		wh_dds_attachment_free(attachment);
	pthread_mutex_unlock(&waitset->signals->lock);
	return attachment != NULL ? WHORL_DDS_RETCODE_OK : WHORL_DDS_RETCODE_PRECONDITION_NOT_MET;
}

/* With the lock. */
static whorl_dds_return collect(const struct wh_dds_waitset *waitset, intptr_t *cookies, size_t room)
{
	const struct wh_dds_attachment *at = waitset->ready.first;

	for (size_t i = 0; i < room && at != NULL; i++, at = at->behind)
		cookies[i] = at->cookie;
	return (whorl_dds_return)waitset->ready_count;
}

/* For a moment, in which others have the processor: what comes fast is there again, and nobody has to wake this thread. With the lock. */
static void look_again(struct wh_dds_waitset *waitset)
{
	struct wh_backoff backoff = waitset->backoff;
	bool goes_on = !wh_dds_host()->simulated;

	while (goes_on && !is_up(waitset) && !waitset->closed) {
		pthread_mutex_unlock(&waitset->signals->lock);
		goes_on = wh_backoff_wait(&backoff, wh_env_system(), LOOK_NS);
		pthread_mutex_lock(&waitset->signals->lock);
	}
	wh_backoff_renew(&backoff);
	waitset->backoff = backoff;
}

whorl_dds_return wh_dds_waitset_wait(struct wh_dds_waitset *waitset, intptr_t *cookies, size_t room, uint64_t until_ns)
{
	whorl_dds_return result;
	bool goes_on = until_ns > 0;

	pthread_mutex_lock(&waitset->signals->lock);
	waitset->waiters++;
	if (goes_on)
		look_again(waitset);
	while (!is_up(waitset) && !waitset->closed && goes_on)
		goes_on = wait_until(waitset, until_ns);
	result = waitset->closed ? WHORL_DDS_RETCODE_ALREADY_DELETED : collect(waitset, cookies, room);
	if (--waitset->waiters == 0 && waitset->closed)
		pthread_cond_broadcast(&waitset->changed);
	pthread_mutex_unlock(&waitset->signals->lock);
	return result;
}

void wh_dds_waitset_trigger(struct wh_dds_waitset *waitset, bool triggered)
{
	bool was_up;

	pthread_mutex_lock(&waitset->signals->lock);
	was_up = is_up(waitset);
	waitset->triggered = triggered;
	follow(waitset, was_up);
	pthread_mutex_unlock(&waitset->signals->lock);
}

bool wh_dds_waitset_is_triggered(struct wh_dds_waitset *waitset)
{
	bool triggered;

	pthread_mutex_lock(&waitset->signals->lock);
	triggered = waitset->triggered;
	pthread_mutex_unlock(&waitset->signals->lock);
	return triggered;
}

size_t wh_dds_waitset_list(struct wh_dds_waitset *waitset, whorl_dds_entity *entities, size_t room)
{
	const struct wh_dds_attachments *const lists[] = {&waitset->ready, &waitset->quiet};
	size_t there = 0;

	pthread_mutex_lock(&waitset->signals->lock);
	for (int i = 0; i < 2; i++)
		for (const struct wh_dds_attachment *at = lists[i]->first; at != NULL; at = at->behind, there++)
			if (there < room)
				entities[there] = at->condition->entity;
	pthread_mutex_unlock(&waitset->signals->lock);
	return there;
}

int wh_dds_waitset_descriptor(struct wh_dds_waitset *waitset)
{
	int descriptor;

	pthread_mutex_lock(&waitset->signals->lock);
	if (waitset->descriptor < 0 && !waitset->closed)
		waitset->descriptor = eventfd(is_up(waitset), EFD_CLOEXEC | EFD_NONBLOCK);
	descriptor = waitset->descriptor;
	if (descriptor < 0)
		descriptor = waitset->closed ? WHORL_DDS_RETCODE_ALREADY_DELETED : WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
	pthread_mutex_unlock(&waitset->signals->lock);
	return descriptor;
}
