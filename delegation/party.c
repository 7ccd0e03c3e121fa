/* party.c - which party a thread is, and how parties and channels come to be. */
#include "delegation/link.h"
#include "delegation/shard.h"

#include <stdlib.h>
#include <string.h>

/* ---- here -------------------------------------------------------------------------------------------------------------------- */

/* The thread's: a fiber has no other argument by which to find its worker, and a plain thread calls too often to search for itself. In the
 * program's part of the thread's memory that is laid out when it is loaded: no call is needed to find it. */
static _Thread_local struct wh_here here __attribute__((tls_model("initial-exec")));

struct wh_here *wh_here(void)
{
	return &here;
}

struct wh_here wh_enter(struct wh_party *party)
{
	struct wh_here before = here;

	here = (struct wh_here){party->work, party->work->serial, party};
	return before;
}

void wh_leave(struct wh_here before)
{
	here = before;
}

struct wh_party *wh_party_here(whorl_work *work)
{
	/* The serial tells a work from one that lay there before and was closed: only of the one is `party` alive. */
	if (here.work == work && here.serial == work->serial)
		return here.party;
	return wh_party_slow(work);
}

uint64_t wh_scattered_id(struct wh_party *party)
{
	uint64_t id;

	do {
		id = (((uint64_t)party->number + 1) << 40 | ++party->ids) ^ party->work->id_key;
		id = (id ^ id >> 32) * UINT64_C(0xd6e8feb86659fd93);
		id = (id ^ id >> 32) * UINT64_C(0xd6e8feb86659fd93);
		id ^= id >> 32;
	} while (id == 0);
	return id;
}

/* ---- making and freeing ------------------------------------------------------------------------------------------------------ */

static struct wh_party *new_party(whorl_work *work)
{
	struct wh_party *party = aligned_alloc(128, (sizeof(*party) + 127) / 128 * 128);

	if (party == NULL)
		return NULL;
	memset(party, 0, sizeof(*party));
	party->work = work;
	party->next_deadline_ns = UINT64_MAX;
	party->properties.first_free = party->properties.last_free = UINT32_MAX;
	party->last_number = UINT32_MAX;
	return party;
}

static size_t look(void *ctx)
{
	struct wh_party *me = ctx;
	size_t work;

	wh_enter(me);
	work = me->work->net == NULL ? 0 : wh_net_look(me);
	if (wh_load_acquire(&me->shards) != 0) /* partner: whorl_work_serve */
		work += wh_shards_look(me);
	work += wh_serve(me, false) + wh_collect(me) + wh_serve_own(me) + wh_expire(me);
	return work > 0 ? work : wh_help(me);
}

#define CROWDED_NAP_NS                                                                                                 \
	(10 * WH_NS_PER_MS) /* a thread that left its call for others to run, and went away, waits no longer */

static size_t send_all(void *ctx)
{
	struct wh_party *me = ctx;
	size_t work = wh_flush(me);

	/* A hint for whorl_work_close, which looks again. */
	wh_store_relaxed(&me->unsettled, me->active_count > 0 || me->waits != NULL);
	me->worker->loop.rests =
		work == 0 && me->active_count == 0 && wh_load_relaxed(&me->worker->tasks.count) == 0 && wh_may_rest(me);
	if (me->waits != NULL)
		wh_loop_at(&me->worker->loop, me->next_deadline_ns);
	if (wh_load_relaxed(&me->crowded) != 0)
		wh_loop_at(&me->worker->loop, me->worker->loop.now_ns + CROWDED_NAP_NS);
	wh_leave((struct wh_here){0});
	return work;
}

static void parks(void *ctx)
{
	wh_wake_trustees(ctx, false);
}

enum whorl_result wh_party_make_worker(whorl_work *work, uint32_t number, size_t stack_bytes, struct wh_error *err)
{
	struct wh_party *party = new_party(work);
	const struct wh_worker_plan plan = {.env = work->env,
					    .number = number,
					    .stack_bytes = stack_bytes,
					    .look = look,
					    .send = send_all,
					    .ctx = party,
					    .lane = wh_net_lane(work, number)};
	enum whorl_result result;

	if (party == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a worker");
	result = wh_worker_init(&party->own_worker, &plan, err);
	if (result != WHORL_OK) {
		free(party);
		return result;
	}
	party->number = number;
	party->worker = &party->own_worker;
	party->gate = party->own_worker.gate;
	party->bell = &party->own_worker.bell;
	wh_loop_on_park(&party->own_worker.loop, parks, party);
	work->parties[number] = party;
	work->party_count = number + 1;
	return WHORL_OK;
}

static void free_channel(struct wh_channel *channel)
{
	if (channel == NULL)
		return;
	wh_bytes_free(&channel->pending);
	wh_bytes_free(&channel->answered);
	wh_bytes_free(&channel->assembly);
	wh_bytes_free(&channel->out);
	wh_map_free(&channel->deferred);
	free(channel->tickets);
	free(channel);
}

void wh_party_free(struct wh_party *party)
{
	struct wh_later *later;

	for (uint32_t i = 0; i < party->out_count; i++)
		free_channel(party->out[i]);
	free(party->out);
	free(party->active);
	free(party->in);
	wh_bytes_free(&party->scratch);
	wh_bytes_free(&party->spare);
	wh_bytes_free(&party->direct);
	while ((later = party->mail) != NULL) {
		party->mail = later->next;
		wh_later_free(later);
	}
	while ((later = party->launched) != NULL) {
		party->launched = later->older;
		wh_later_free(later);
	}
	if (party->worker != NULL)
		wh_worker_close(party->worker);
	else
		wh_gate_free(party->gate);
	free(party);
}

/* ---- plain threads ----------------------------------------------------------------------------------------------------------- */

static void ring_plain(void *ctx)
{
	struct wh_party *party = ctx;

	wh_bell_ring(party->bell);
}

/* One without a worker. */
static struct wh_party *make_party(whorl_work *work)
{
	struct wh_party *party = new_party(work);

	if (party == NULL)
		return NULL;
	party->bell = &party->own_bell;
	wh_bell_init(party->bell);
	if (wh_gate_create(&party->gate, ring_plain, party, NULL) != WHORL_OK) {
		free(party);
		return NULL;
	}
	pthread_mutex_lock(&work->lock);
	if (work->party_count < WH_PARTIES_MOST) {
		party->number = work->party_count;
		work->parties[work->party_count++] = party;
		pthread_mutex_unlock(&work->lock);
		return party;
	}
	pthread_mutex_unlock(&work->lock);
	wh_party_free(party);
	return NULL;
}

struct wh_party *wh_party_make_proxy(whorl_work *work)
{
	return make_party(work);
}

/* A party without its thread goes on as that of another, with its channels: the numbers of its batches and of its ids go on, too. */
static struct wh_party *take_idle(whorl_work *work)
{
	struct wh_party *party;

	pthread_mutex_lock(&work->lock);
	party = work->idle;
	if (party != NULL)
		work->idle = party->next_idle;
	pthread_mutex_unlock(&work->lock);
	return party;
}

struct wh_party *wh_party_slow(whorl_work *work)
{
	struct wh_party *party = pthread_getspecific(work->key);

	if (party == NULL) {
		party = take_idle(work);
		if (party == NULL)
			party = make_party(work);
		if (party == NULL)
			return NULL;
		if (pthread_setspecific(work->key, party) != 0) {
			wh_parties_end(party);
			return NULL;
		}
	}
	wh_enter(party);
	return party;
}

#define END_PATIENCE_NS WH_NS_PER_S

/* What it has sent may still be answered for a moment; what is not is in doubt. */
void wh_parties_end(void *ctx)
{
	struct wh_party *party = ctx;
	whorl_work *work = party->work;
	uint64_t deadline = wh_env_now(work->env) + END_PATIENCE_NS;

	wh_enter(party);
	while ((party->thens_open > 0 || party->active_count > 0) && wh_env_now(work->env) < deadline)
		if (wh_look(party) == 0)
			wh_rest(party, deadline);
	wh_end_calls(party, WHORL_IN_DOUBT, WHORL_IN_DOUBT);
	wh_leave((struct wh_here){0});
	pthread_mutex_lock(&work->lock);
	party->next_idle = work->idle;
	work->idle = party;
	pthread_mutex_unlock(&work->lock);
}

/* ---- channels ---------------------------------------------------------------------------------------------------------------- */

static bool make_out(struct wh_party *client, uint32_t number)
{
	uint32_t count = client->out_count == 0 ? 16 : client->out_count;
	struct wh_channel **grown;

	while (count <= number)
		count *= 2;
	if (count == client->out_count)
		return true;
	grown = realloc(client->out, count * sizeof(struct wh_channel *));
	if (grown == NULL)
		return false;
	memset(grown + client->out_count, 0, (count - client->out_count) * sizeof(struct wh_channel *));
	client->out = grown;
	client->out_count = count;
	return true;
}

/* The trustee takes it from the list before it looks into its slots again. Partner of this lock and this word: wh_take_newcomers. */
static void announce(struct wh_channel *channel)
{
	struct wh_party *trustee = channel->trustee;
	whorl_work *work = trustee->work;

	pthread_mutex_lock(&work->lock);
	channel->newcomer = trustee->newcomer;
	trustee->newcomer = channel;
	wh_store_release(&trustee->newcomers, wh_load_relaxed(&trustee->newcomers) + 1);
	pthread_mutex_unlock(&work->lock);
}

struct wh_channel *wh_channel_new(struct wh_party *client, struct wh_party *trustee)
{
	struct wh_channel *channel;

	if (!make_out(client, trustee->number))
		return NULL;
	channel = aligned_alloc(128, sizeof(*channel));
	if (channel == NULL)
		return NULL;
	memset(channel, 0, sizeof(*channel));
	channel->client = client;
	channel->trustee = trustee;
	channel->first = channel->sent = channel->next = 1;
	client->out[trustee->number] = channel;
	if (trustee->link != NULL)
		wh_link_adopt(client, channel, trustee);
	if (!wh_channel_is_own(channel) && channel->carrier == NULL)
		announce(channel);
	return channel;
}

static bool make_in(struct wh_party *me)
{
	size_t capacity = me->in_capacity == 0 ? 16 : 2 * me->in_capacity;
	struct wh_channel **grown;

	if (me->in_count < me->in_capacity)
		return true;
	grown = realloc(me->in, capacity * sizeof(struct wh_channel *));
	if (grown == NULL)
		return false;
	me->in = grown;
	me->in_capacity = capacity;
	return true;
}

/* ---- mail ------------------------------------------------------------------------------------------------------------------------ */

#define MAILED (UINT64_C(1) << 63)

static void deliver(struct wh_party *trustee, struct wh_later *later)
{
	whorl_work *work = trustee->work;

	pthread_mutex_lock(&work->lock);
	if (trustee->mail == NULL)
		trustee->mail = later;
	else
		trustee->last_mail->next = later;
	trustee->last_mail = later;
	wh_store_release(&trustee->newcomers, wh_load_relaxed(&trustee->newcomers) + 1);
	pthread_mutex_unlock(&work->lock);
	wh_gate_ring(trustee->gate);
}

enum whorl_result wh_mail(struct wh_channel *channel, const struct wh_request *request, const struct wh_ticket *ticket)
{
	struct wh_party *trustee = channel->trustee;
	const struct wh_record record = {request->function, request->flags, request->property};
	struct wh_origin origin = {channel, MAILED | ++channel->mailed};
	struct wh_later *later;

	if (wh_load_relaxed(&trustee->work->state) != WH_WORK_OPEN)
		return WHORL_CLOSED;
	if ((wh_gate_state(trustee->gate) & WH_GATE_OPEN) == 0)
		return WHORL_FORKED;
	later = wh_later_new(trustee, origin, &record, request->data, request->bytes);
	if (later == NULL)
		return WHORL_MEMORY;
	wh_defer(channel, origin.number, ticket);
	deliver(trustee, later);
	return WHORL_OK;
}

static void start(struct wh_party *me, struct wh_later *later)
{
	struct wh_origin origin = later->origin;
	/* What is spawned is no function of bytes; in `out` its result is padded. */
	uint32_t bytes = me->work->table.known[later->record.function].result_bytes;
	struct wh_bytes out = {0};
	uint32_t status;

	if (origin.channel->relay != NULL) { /* it is started at another node, to which this worker speaks */
		status = wh_relay(me, origin, &later->record, later->args, later->bytes);
		wh_later_free(later);
	} else {
		status = wh_launch(me, later, &out);
		wh_count(&me->stats.calls, 1);
	}
	if (status != WH_DEFERRED)
		wh_complete(me, origin, (enum whorl_result)status, out.data, status == WHORL_OK ? bytes : 0);
	wh_bytes_free(&out);
}

/* A thread that has borrowed the worker leaves it. */
static struct wh_later *take_mail(struct wh_party *me)
{
	struct wh_later *mail = me->mail;

	if (mail != NULL && me->borrowed) {
		me->owner_only = true;
		return NULL;
	}
	me->mail = me->last_mail = NULL;
	return mail;
}

void wh_take_newcomers(struct wh_party *me)
{
	whorl_work *work = me->work;
	struct wh_later *mail, *next;

	pthread_mutex_lock(&work->lock);
	while (me->newcomer != NULL && make_in(me)) { /* without memory it is tried again in the next pass */
		me->in[me->in_count++] = me->newcomer;
		me->newcomer = me->newcomer->newcomer;
	}
	mail = take_mail(me);
	if (me->newcomer == NULL && me->mail == NULL)
		wh_store_relaxed(&me->newcomers, 0);
	pthread_mutex_unlock(&work->lock);
	for (; mail != NULL; mail = next) {
		next = mail->next;
		mail->next = NULL;
		start(me, mail);
	}
}
