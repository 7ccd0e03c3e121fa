/* names.c - names of peers are looked up again, off the loop: a name that was not known when this node opened may be known
 * later, and a peer that cannot be reached for long may have another address. One at a time.
 *
 * A look-up may take as long as the resolver likes. What it works on is counted, so no thread waits for it: the last frees it.
 */
#include <stdlib.h>
#include <string.h>

#include "transport/tcp/tcp_int.h"

#define AGAIN_NS (3 * WH_NS_PER_S) /* a name is looked up no more often */
#define LOOK_NS (50 * WH_NS_PER_MS)

enum state { RESTS, WORKS, HAS_FOUND };

struct wh_tcp_names {
	wh_word users; /* the transport, and the job */
	wh_word state; /* enum state. What follows is the job's while it WORKS, else the loop's */
	uint32_t node;
	char name[WH_TCP_ADDRESS_BYTES];
	struct wh_tcp_address found;
};

struct wh_tcp_names *wh_tcp_names_new(void)
{
	struct wh_tcp_names *names = calloc(1, sizeof(*names));

	if (names != NULL)
		wh_store_relaxed(&names->users, 1);
	return names;
}

static void let_go(struct wh_tcp_names *names)
{
	if (wh_fetch_add(&names->users, UINT64_MAX) == 1)
		free(names);
}

/* In a forked child the job has no owner: its thread is the parent's. */
void wh_tcp_names_free(struct wh_tcp_names *names)
{
	if (names != NULL)
		let_go(names);
}

static void look_up(void *argument)
{
	struct wh_tcp_names *names = argument;

	if (wh_tcp_address_find(names->name, &names->found, NULL) != WHORL_OK)
		names->found.bytes = 0;
	wh_store_release(&names->state, HAS_FOUND); /* and what. Partner: wh_tcp_names_tick */
	let_go(names);
}

void wh_tcp_names_ask(struct wh_wire *wire, uint32_t node)
{
	struct wh_tcp_wire *w = wh_tcp_wire_of(wire);
	struct wh_tcp_host *host = &w->hosts[node];
	struct wh_tcp_names *names = w->lookups;
	uint64_t now = wh_env_now(w->env);

	if (!host->address.is_name || wh_load_relaxed(&names->state) != RESTS ||
	    (host->looked_up_ns != 0 && now < host->looked_up_ns + AGAIN_NS))
		return;
	host->looked_up_ns = now;
	names->node = node;
	memcpy(names->name, host->name, strlen(host->name) + 1);
	wh_store_relaxed(&names->state, WORKS);
	(void)wh_fetch_add(&names->users, 1);
	w->env->submit(w->env->ctx, look_up, names);
	wh_poll_alarm(w->poll, LOOK_NS);
}

void wh_tcp_names_tick(struct wh_tcp_wire *w)
{
	struct wh_tcp_names *names = w->lookups;
	enum state state = (enum state)wh_load_acquire(&names->state);
	struct wh_tcp_host *host = &w->hosts[names->node];

	if (state == WORKS)
		wh_poll_alarm(w->poll, LOOK_NS);
	if (state != HAS_FOUND)
		return;
	/* Where I am on loopback alone, all are: nobody else has keys. */
	if (names->found.bytes > 0 &&
	    (wh_tcp_address_is_loopback(&names->found) || !wh_tcp_address_is_loopback(&w->hosts[w->node].address)))
		host->address = names->found;
	wh_store_relaxed(&names->state, RESTS);
}
