/* sessions_play.c - one play; see sessions_play.h. */
#include "tests/sim/sessions_play.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES HOSTS
#define ROW_BYTES (2 * WH_ROW_ALIGN)
#define TURNS_MAX 120
#define SETTLE_NS (20 * WH_NS_PER_S)

/* ---- nodes ---------------------------------------------------------------------------------------------------------------- */

static void take_events(struct sessions *s, struct life *life, bool all)
{
	static struct wh_transport_event event;

	while (life->transport != NULL && (all || wh_dice_one_in(&s->dice, 2)) &&
	       life->transport->ops->next_event(life->transport, &event))
		sessions_check_event(s, life, &event);
}

static void look(struct sessions *s)
{
	for (uint32_t host = 0; host < HOSTS; host++) {
		struct life *life = s->at[host];

		if (life == NULL || (life->paused_ns > wh_sim_now(s->sim) && !s->calm))
			continue;
		(void)life->transport->ops->service(life->transport);
		take_events(s, life, s->calm || wh_dice_one_in(&s->dice, 2));
	}
}

static void run(struct sessions *s, uint64_t for_ns)
{
	uint64_t until = wh_sim_now(s->sim) + for_ns;

	do {
		look(s);
		sessions_check_step(s);
	} while (s->verdict[0] == '\0' && wh_sim_step(s->sim, until));
	look(s);
}

static void begin(struct sessions *s, uint32_t host)
{
	struct life *life = &s->lives[s->life_count];
	struct wh_transport_config config = {.env = wh_sim_env(s->sim, host),
					     .group = "sessions",
					     .node = host,
					     .nodes = NODES,
					     .incarnation = ++s->next_incarnation,
					     .patience_ns = WH_NS_PER_S};
	struct wh_error err;

	if (s->at[host] != NULL || s->life_count == LIVES)
		return;
	*life = (struct life){
		.host = host, .incarnation = config.incarnation, .odd = wh_dice_one_in(&s->dice, 12) && !s->calm};
	config.nodes += life->odd;
	if (wh_sim_create(&config, s->sim, &life->transport, &err) != WHORL_OK) {
		sessions_fail(s, "%s", err.text);
		return;
	}
	s->at[host] = life;
	s->life_count++;
}

static void end(struct sessions *s, uint32_t host, bool leaves, bool silently)
{
	struct life *life = s->at[host];

	if (life == NULL)
		return;
	if (leaves)
		life->transport->ops->leave(life->transport);
	else if (silently && !s->sim->options.one_host) /* there the kernel tells */
		wh_sim_vanish(s->sim, host);
	else
		wh_sim_crash(s->sim, host);
	life->left = leaves;
	life->transport->ops->destroy(life->transport, false);
	life->transport = NULL;
	life->image = NULL;
	s->at[host] = NULL;
}

/* ---- what they do --------------------------------------------------------------------------------------------------------- */

/* To the life of that host that it knows of, which may have ended. */
static void send(struct sessions *s, struct life *from, uint32_t host, uint32_t times)
{
	uint64_t known = wh_session_peer(((struct sim_node *)from->transport)->base.session, host)->known;
	unsigned char message[WH_CONTROL_MAX] = {0};
	enum whorl_result result = WHORL_OK;
	struct life *to = s->at[host];

	for (uint32_t i = 0; i < s->life_count; i++)
		if (s->lives[i].host == host && s->lives[i].incarnation == known)
			to = &s->lives[i];
	if (to == NULL)
		return;

	for (; times > 0 && result == WHORL_OK; times--) {
		struct view *view = &from->of[to - s->lives];
		uint64_t number = view->sent + 1;

		memcpy(message, &number, sizeof(number));
		result = from->transport->ops->control_send(from->transport, host, message,
							    wh_dice_between(&s->dice, sizeof(number), sizeof(message)));
		view->sent += result == WHORL_OK;
		sessions_check_sent(s, from, to, result);
	}
}

/* Of all lives that are there now, with a greater key than any before. */
static void open_images(struct sessions *s, uint64_t members)
{
	const struct wh_row_part part = {0, ROW_BYTES};
	struct wh_row_spec rows[HOSTS];
	struct wh_image_spec spec = {.key = ++s->next_key, .control_bytes = WH_ROW_ALIGN, .rows = rows};
	struct wh_error err;

	for (uint32_t host = 0; host < HOSTS; host++)
		if ((members >> host & 1) != 0)
			rows[spec.members++] =
				(struct wh_row_spec){host, s->at[host]->incarnation, ROW_BYTES, &part, 1};
	for (uint32_t rank = 0; rank < spec.members; rank++) {
		struct life *life = s->at[rows[rank].node];

		spec.my_rank = rank;
		if (life->image != NULL && wh_dice_one_in(&s->dice, 2))
			life->transport->ops->image_close(life->image);
		else if (life->image != NULL)
			continue; /* it stays with the one before, and keeps what it is offered */
		life->key = spec.key;
		if (life->transport->ops->image_open(life->transport, &spec, &life->image, &err) != WHORL_OK)
			sessions_fail(s, "%s", err.text);
	}
}

static uint64_t hosts_there(const struct sessions *s)
{
	uint64_t there = 0;

	for (uint32_t host = 0; host < HOSTS; host++)
		there |= s->at[host] != NULL && !s->at[host]->odd ? UINT64_C(1) << host : 0;
	return there;
}

static void break_pair(struct sessions *s, uint32_t one, uint32_t other)
{
	uint32_t a = (uint32_t)(s->at[one] - s->lives), b = (uint32_t)(s->at[other] - s->lives);

	s->parted[a][b] = s->parted[b][a] = true;
	wh_sim_break(s->sim, one, other);
}

static void knock(struct sessions *s, uint32_t host)
{
	unsigned char nonsense[64];

	for (size_t i = 0; i < sizeof(nonsense); i++)
		nonsense[i] = (unsigned char)wh_dice_roll(&s->dice);
	for (uint64_t n = wh_dice_below(&s->dice, 300); n > 0; n--)
		wh_sim_call_as_stranger(s->sim, host, nonsense, wh_dice_one_in(&s->dice, 2) ? 0 : sizeof(nonsense));
}

static void turn_pair(struct sessions *s, uint32_t one, uint32_t other)
{
	struct life *a = s->at[one], *b = s->at[other];

	switch (wh_dice_below(&s->dice, 5)) {
	case 0:
		wh_sim_cut_off(s->sim, one, other);
		break;
	case 1:
		wh_sim_heal(s->sim, one, other);
		break;
	case 2:
		if (a != NULL && b != NULL && wh_dice_one_in(&s->dice, 2))
			break_pair(s, one, other);
		break;
	default:
		if (a != NULL)
			send(s, a, other, (uint32_t)wh_dice_between(&s->dice, 1, 40));
	}
}

static void turn(struct sessions *s)
{
	uint32_t host = (uint32_t)wh_dice_below(&s->dice, HOSTS);
	uint32_t other = (host + 1 + (uint32_t)wh_dice_below(&s->dice, HOSTS - 1)) % HOSTS;

	switch (wh_dice_below(&s->dice, 12)) {
	case 0:
	case 1:
	case 2:
		begin(s, host);
		break;
	case 3:
		end(s, host, wh_dice_one_in(&s->dice, 2), wh_dice_one_in(&s->dice, 2));
		break;
	case 4:
		if (s->at[host] != NULL)
			s->at[host]->paused_ns = wh_sim_now(s->sim) + wh_dice_below(&s->dice, 3 * WH_NS_PER_S) /
									      (1 + wh_dice_below(&s->dice, 1000));
		break;
	case 5:
		open_images(s, hosts_there(s));
		break;
	case 6:
		knock(s, host);
		break;
	default:
		turn_pair(s, host, other);
	}
}

/* ---- one play ------------------------------------------------------------------------------------------------------------- */

/* Short, or long enough for each of the clocks of a session to run out. */
static uint64_t pause_of(struct sessions *s)
{
	switch (wh_dice_below(&s->dice, 4)) {
	case 0:
		return wh_dice_below(&s->dice, 2 * WH_NS_PER_S);
	case 1:
		return wh_dice_below(&s->dice, 10 * WH_NS_PER_MS);
	default:
		return wh_dice_below(&s->dice, 200 * WH_NS_PER_US);
	}
}

static void settle(struct sessions *s)
{
	uint64_t members;

	s->calm = true;
	for (uint32_t from = 0; from < HOSTS; from++)
		for (uint32_t to = 0; to < HOSTS; to++)
			if (from != to)
				wh_sim_heal(s->sim, from, to);
	run(s, SETTLE_NS);
	for (int n = 0; n < 100; n++) /* what is left, some events at a time */
		run(s, 1);
	for (uint32_t host = 0; host < HOSTS; host++)
		if (s->at[host] != NULL && s->at[host]->image != NULL) {
			s->at[host]->transport->ops->image_close(s->at[host]->image);
			s->at[host]->image = NULL;
		}
	sessions_check_end(s);
	members = hosts_there(s);
	for (uint32_t a = 0; a < HOSTS; a++)
		for (uint32_t b = 0; b < HOSTS; b++)
			if (a != b && (members >> a & members >> b & 1) != 0 &&
			    s->parted[s->at[a] - s->lives][s->at[b] - s->lives])
				members &= ~(UINT64_C(1) << a);
	if (members == 0 || s->verdict[0] != '\0')
		return;
	open_images(s, members);
	run(s, WH_NS_PER_S);
	for (uint32_t host = 0; host < HOSTS; host++)
		if ((members >> host & 1) != 0 && !s->at[host]->image->ready)
			sessions_fail(s, "S7: the image of host %" PRIu32 " is not ready", host);
}

static struct wh_sim_options draw_options(struct sessions *s, uint64_t seed)
{
	struct wh_sim_options options = {.nodes = HOSTS + 1, .seed = seed, .pieces = 1, .latency_min_ns = 100};
	static const uint64_t latencies[] = {100, 20 * WH_NS_PER_US, 2 * WH_NS_PER_MS, 300 * WH_NS_PER_MS};

	options.latency_max_ns = latencies[wh_dice_below(&s->dice, 4)];
	options.uneven = wh_dice_one_in(&s->dice, 2) && options.latency_max_ns < WH_NS_PER_MS;
	options.one_host = wh_dice_one_in(&s->dice, 6);
	options.notice_max_ns = wh_dice_one_in(&s->dice, 2) ? wh_dice_below(&s->dice, WH_NS_PER_S) : 0;
	options.ring_max_ns = wh_dice_one_in(&s->dice, 2) ? 1000 : 0;
	return options;
}

static void destroy(struct sessions *s)
{
	for (uint32_t host = 0; host < HOSTS; host++)
		if (s->at[host] != NULL)
			s->at[host]->transport->ops->destroy(s->at[host]->transport, false);
	wh_sim_free(s->sim);
	free(s);
}

bool sessions_play(uint64_t seed, bool verbose, char *verdict, size_t bytes)
{
	struct sessions *s = calloc(1, sizeof(*s));
	struct wh_sim_options options;
	uint64_t turns;
	bool good;

	if (s == NULL)
		return false;
	s->dice = wh_dice_split(seed, 17);
	s->verbose = verbose;
	options = draw_options(s, seed);
	if (wh_sim_new(&s->sim, &options, NULL) != WHORL_OK) {
		free(s);
		return false;
	}
	for (turns = wh_dice_between(&s->dice, 1, TURNS_MAX); turns > 0 && s->verdict[0] == '\0'; turns--) {
		turn(s);
		run(s, pause_of(s));
	}
	if (s->verdict[0] == '\0')
		settle(s);
	if (s->verdict[0] == '\0' && wh_sim_verdict(s->sim) != NULL)
		sessions_fail(s, "%s", wh_sim_verdict(s->sim));
	good = s->verdict[0] == '\0';
	snprintf(verdict, bytes, "%s", s->verdict);
	destroy(s);
	return good;
}
