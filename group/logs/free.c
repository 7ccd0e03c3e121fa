/* free.c - the end of a node's logs: the loop's, or that of a job that came back too late. */
#include "group/logs/logs_int.h"

#include <stdlib.h>

void wh_logs_free(struct wh_logs *logs)
{
	wh_replays_free(logs); /* they read what lies in the logs */
	for (struct wh_log_order *order = logs->first, *next; order != NULL; order = next) {
		next = order->next;
		wh_log_order_free(order);
	}
	for (struct wh_shard_log *log = wh_log_first_shard(logs), *next; log != NULL; log = next) {
		next = log->next;
		wh_checkpoint_drop(log->checkpoint);
		wh_log_close(log->log);
		free(log);
	}
	for (struct wh_kept_view *view = logs->views, *next; view != NULL; view = next) {
		next = view->next;
		free(view);
	}
	free(logs->has_disk);
	wh_standing_close(&logs->file);
	wh_standing_free(&logs->standing);
	if (logs->directory != NULL)
		logs->directory->ops->close(logs->directory);
	free(logs->batch.records);
	free(logs->batch.parts);
	wh_log_image_free(&logs->batch.image);
	pthread_cond_destroy(&logs->fewer);
	pthread_mutex_destroy(&logs->bell);
	pthread_mutex_destroy(&logs->lock);
	free(logs);
}
