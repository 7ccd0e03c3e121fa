/* waiting.c - see waiting.h. */
#include "group/parts/waiting.h"

#include <unistd.h>

#include "base/thread.h"

void wh_waiting_init(struct wh_node_waiting *waiting)
{
	waiting->fd = waiting->timer_fd = -1;
	pthread_mutex_init(&waiting->lock, NULL);
	wh_thread_condition_init(&waiting->changed);
}

void wh_waiting_close(struct wh_node_waiting *waiting, bool forked)
{
	if (waiting->fd >= 0)
		close(waiting->fd);
	if (waiting->timer_fd >= 0)
		close(waiting->timer_fd);
	if (forked) /* threads that only the parent has may be inside, and this would wait for them */
		return;
	pthread_cond_destroy(&waiting->changed);
	pthread_mutex_destroy(&waiting->lock);
}
