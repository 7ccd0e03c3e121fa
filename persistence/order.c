/* order.c - what may follow in a log, and what becomes of its views. The same for what is written and for what is read. */
#include <stdlib.h>
#include <string.h>

#include "persistence/log_int.h"

int wh_log_compare(uint64_t view_a, uint64_t place_a, uint64_t view_b, uint64_t place_b)
{
	if (view_a != view_b)
		return view_a < view_b ? -1 : 1;
	return place_a < place_b ? -1 : place_a > place_b;
}

/* Of a view before the checkpoint's: it is of no use, and not looked at. */
static bool is_old(const struct wh_log *log, const struct wh_log_batch_head *head)
{
	return log->has_mark && head->view < log->mark.position.point.number;
}

static struct wh_log_view *last_view(const struct wh_log *log)
{
	return log->view_count > 0 ? &log->views[log->view_count - 1] : NULL;
}

/* The last view came with the checkpoint, and begins here. */
static bool begins_marked(const struct wh_log_view *last, const struct wh_log_batch_head *head)
{
	return last != NULL && !last->begun && last->number == head->view && last->key == head->key;
}

const char *wh_log_why_not_next(const struct wh_log *log, const struct wh_log_batch_head *head)
{
	const struct wh_log_view *last = last_view(log);

	if (is_old(log, head))
		return NULL;
	if (head->kind == WH_LOG_KIND_BEGIN)
		return last == NULL || head->view > last->number || begins_marked(last, head)
			       ? NULL
			       : "a view of a lower number begins";
	if (last == NULL || !last->begun || last->number != head->view || last->key != head->key)
		return "there are messages of another view than has begun";
	return head->first == last->end ? NULL : "the places do not follow on those before";
}

enum whorl_result wh_log_views_reserve(struct wh_log *log, struct wh_error *err)
{
	uint32_t room = log->view_room > 0 ? 2 * log->view_room : 8;
	struct wh_log_view *views;

	if (log->view_count < log->view_room)
		return WHORL_OK;
	views = realloc(log->views, room * sizeof(*views));
	if (views == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for the views of a log");
	log->views = views;
	log->view_room = room;
	return WHORL_OK;
}

/* The view before ends at that cut: what lies beyond it is void, and if less lies here there is a gap. */
static bool end_view(const struct wh_log *log, struct wh_log_view *last, const struct wh_log_begin *begin)
{
	uint64_t has = last->end;

	if (last->number != (begin->follows > 0 ? begin->follows : begin->number - 1))
		return true;
	if (log->has_mark && last->number == log->mark.position.point.number && has < log->mark.position.point.place)
		has = log->mark.position.point.place;
	if (last->end > begin->cut)
		last->end = begin->cut;
	return begin->cut > has;
}

static void take_begin(struct wh_log *log, const struct wh_log_batch_head *head, const struct wh_log_begin *begin,
		       struct wh_log_sender *senders)
{
	struct wh_log_view *view = last_view(log);

	if (!begins_marked(view, head)) {
		bool gap = view != NULL && end_view(log, view, begin);

		view = &log->views[log->view_count++];
		*view = (struct wh_log_view){.key = begin->key, .number = begin->number, .gap = gap};
	}
	free(view->senders);
	view->begun = true;
	view->sender_count = begin->sender_count;
	view->senders = senders;
}

void wh_log_take_batch(struct wh_log *log, const struct wh_log_batch_head *head, const struct wh_log_begin *begin,
		       struct wh_log_sender *senders)
{
	struct wh_log_view *last = last_view(log);

	log->batch = head->number + 1;
	log->chain = head->sum;
	log->capped = head->kind == WH_LOG_KIND_MESSAGES && head->first == head->next;
	if (is_old(log, head)) {
		free(senders);
	} else if (head->kind == WH_LOG_KIND_BEGIN) {
		take_begin(log, head, begin, senders);
	} else {
		last->end = last->void_end = head->next;
		if (head->frontier > last->frontier)
			last->frontier = head->frontier;
	}
}

void wh_log_take_mark(struct wh_log *log, const struct wh_log_mark *mark)
{
	uint32_t gone = 0;

	while (gone < log->view_count && log->views[gone].number < mark->position.point.number)
		free(log->views[gone++].senders);
	log->view_count -= gone;
	if (log->view_count > 0) {
		memmove(log->views, log->views + gone, log->view_count * sizeof(*log->views));
		if (log->views[0].number == mark->position.point.number)
			log->views[0].gap = false;
	}
	log->mark = *mark;
	log->has_mark = true;
}

uint32_t wh_log_view_from(const struct wh_log *log, uint64_t number)
{
	uint32_t low = 0, high = log->view_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (log->views[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct wh_log_view *wh_log_view_of(const struct wh_log *log, uint64_t key, uint64_t number)
{
	uint32_t i = wh_log_view_from(log, number);

	return i < log->view_count && log->views[i].number == number && log->views[i].key == key ? &log->views[i]
												 : NULL;
}

struct wh_log_segment wh_log_segment_here(const struct wh_log *log, uint64_t number, uint64_t bytes)
{
	struct wh_log_segment segment = {
		.number = number, .bytes = bytes, .used = WH_LOG_BLOCK_BYTES, .first = log->batch, .chain = log->chain};
	const struct wh_log_view *last = last_view(log);

	if (last != NULL) {
		segment.view = last->number;
		segment.place = last->end;
		segment.begun = last->begun;
	}
	return segment;
}
