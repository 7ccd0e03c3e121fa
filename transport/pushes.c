/* pushes.c - see pushes.h. */
#include "transport/pushes.h"

void wh_pushes_init(struct wh_pushes *pushes, const struct wh_env *env, struct wh_push_stats *stats, bool deferred)
{
	*pushes = (struct wh_pushes){.env = env, .stats = stats, .deferred = deferred};
}

void wh_pushes_post(struct wh_pushes *pushes)
{
	struct wh_push_stats *stats = pushes->stats;
	uint64_t start = 0;
	bool timed;

	if (pushes->count == 0)
		return;
	timed = wh_load_relaxed(&stats->posts) % WH_POST_SAMPLE == 0;
	if (timed)
		start = wh_env_now(pushes->env);
	pushes->image->ops->post(pushes->image, pushes->list, pushes->count);
	if (timed)
		wh_count(&stats->post_ns, (wh_env_now(pushes->env) - start) * WH_POST_SAMPLE);
	wh_count(&stats->posts, 1);
	pushes->count = 0;
}

static void add_push(struct wh_pushes *pushes, struct wh_push push, uint64_t bytes)
{
	if (push.to_count == 0 && push.kind == WH_PUSH_BYTES)
		return; /* no peer to tell, and my own row has the bytes */
	if (pushes->count == WH_PUSHES_MAX)
		wh_pushes_post(pushes);
	pushes->list[pushes->count++] = push;
	wh_count(&pushes->stats->pushes, 1);
	wh_count(&pushes->stats->writes, push.to_count);
	wh_count(&pushes->stats->bytes, bytes * push.to_count);
	if (!pushes->deferred)
		wh_pushes_post(pushes);
}

void wh_push_bytes(struct wh_pushes *pushes, uint64_t offset, uint64_t bytes, const uint32_t *to, uint32_t to_count)
{
	add_push(pushes,
		 (struct wh_push){
			 .kind = WH_PUSH_BYTES, .to = to, .to_count = to_count, .offset = offset, .bytes = bytes},
		 bytes);
}

void wh_push_relayed(struct wh_pushes *pushes, uint32_t owner, uint64_t offset, uint64_t bytes, const uint32_t *to,
		     uint32_t to_count)
{
	add_push(pushes,
		 (struct wh_push){.kind = WH_PUSH_BYTES,
				  .relayed = owner + 1,
				  .to = to,
				  .to_count = to_count,
				  .offset = offset,
				  .bytes = bytes},
		 bytes);
}

static void add_word(struct wh_pushes *pushes, struct wh_push push)
{
	push.kind = WH_PUSH_WORD;
	add_push(pushes, push, sizeof(push.value));
}

void wh_push_word(struct wh_pushes *pushes, uint64_t offset, uint64_t value, const uint32_t *to, uint32_t to_count)
{
	add_word(pushes, (struct wh_push){.to = to, .to_count = to_count, .offset = offset, .value = value});
}

void wh_push_word_no_wake(struct wh_pushes *pushes, uint64_t offset, uint64_t value, const uint32_t *to,
			  uint32_t to_count)
{
	add_word(pushes,
		 (struct wh_push){.no_wake = true, .to = to, .to_count = to_count, .offset = offset, .value = value});
}

void wh_push_word_advised(struct wh_pushes *pushes, uint64_t offset, uint64_t value, unsigned advice,
			  const uint32_t *to, uint32_t to_count)
{
	add_word(pushes, (struct wh_push){.may_delay = pushes->deferred && (advice & WH_PUSH_MAY_DELAY) != 0,
					  .may_reorder = pushes->deferred && (advice & WH_PUSH_MAY_REORDER) != 0,
					  .to = to,
					  .to_count = to_count,
					  .offset = offset,
					  .value = value});
}
