/* peer_whorl.c - whorl beside the others.
 *
 *     peer-whorl BOARD ID FILE.ini [SECTION.KEY=VALUE]...
 *
 * The file has a subgroup `peers`. With [engine] thread = caller the node has one thread, which sends a burst, runs the loop, and
 * sleeps when there is nothing to do; with thread = dedicated one that sends, and the library's.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <whorl/whorl.h>

#include "bench/peers/measure.h"

#define START_MS 20000
#define SEND_MS 10000
#define BURST 256

struct peer {
	struct peers_node node;
	whorl_node *whorl;
	whorl_subgroup *subgroup;
	bool is_caller;
	bool is_armed; /* the window will say that there is room */
};

static void take_messages(const struct whorl_message *messages, size_t count, void *ctx)
{
	struct peer *p = ctx;

	for (size_t i = 0; i < count; i++)
		peers_take(&p->node, messages[i].data, messages[i].bytes);
}

static _Noreturn void exit_with_error(const struct peer *p, const char *what, enum whorl_result result)
{
	char text[256] = "";

	if (p->whorl != NULL)
		whorl_error(p->whorl, text, sizeof(text));
	peers_fail("%s: %s (%s)", what, whorl_result_text(result), text);
}

static void open_node(struct peer *p, int argc, char *argv[])
{
	whorl_config *config = whorl_config_new();
	enum whorl_result result = whorl_config_load_file(config, argv[3]);

	for (int i = 4; i < argc; i++) {
		p->is_caller |= strcmp(argv[i], "engine.thread=caller") == 0;
		if (result == WHORL_OK)
			result = whorl_config_set(config, argv[i]);
	}
	if (result == WHORL_OK)
		result = whorl_open(config, p->node.id, NULL, &p->whorl);
	if (result != WHORL_OK)
		peers_fail("%s", whorl_config_error(config));
	whorl_config_free(config);
	p->subgroup = whorl_subgroup_find(p->whorl, "peers");
	if (p->subgroup == NULL)
		peers_fail("the file has no subgroup `peers`");
	whorl_on_batch(p->subgroup, take_messages, p);
	result = whorl_start(p->whorl);
	if (result == WHORL_OK)
		result = whorl_ready(p->whorl, START_MS);
	if (result != WHORL_OK)
		exit_with_error(p, "start", result);
}

/* One message, if the window has room within timeout_ms. */
static bool send_one(struct peer *p, int timeout_ms)
{
	struct whorl_claim claim;
	enum whorl_result result = timeout_ms == 0
					   ? whorl_claim(p->subgroup, p->node.plan.bytes, &claim)
					   : whorl_claim_wait(p->subgroup, p->node.plan.bytes, timeout_ms, &claim);

	if (result == WHORL_AGAIN && timeout_ms == 0)
		return false;
	if (result != WHORL_OK)
		exit_with_error(p, "claim", result);
	peers_fill(&p->node, claim.data);
	result = whorl_commit(&claim, p->node.plan.bytes);
	if (result != WHORL_OK)
		exit_with_error(p, "commit", result);
	return true;
}

static void step_node(void *ctx)
{
	struct peer *p = ctx;

	if (p->is_caller)
		while (whorl_step(p->whorl) > 0)
			;
}

/* ---- thread = caller ---------------------------------------------------------------------------------------------------*/

/* Sleeps until the loop has work, the window has room again, or the next message is due. */
static void sleep_until_work(struct peer *p)
{
	struct pollfd wait[] = {{.fd = whorl_fd(p->whorl), .events = POLLIN},
				{.fd = whorl_window_fd(p->subgroup), .events = POLLIN}};
	uint64_t ns = peers_until_due(&p->node);
	struct timespec timeout = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
	bool is_full = ns == 0 && peers_sends(&p->node);
	uint64_t room;

	if (is_full && !p->is_armed)
		p->is_armed = whorl_window_arm(p->subgroup) == WHORL_AGAIN;
	if (is_full && !p->is_armed)
		return;
	if (ns == 0)
		timeout.tv_sec = 1;
	if (whorl_arm(p->whorl) == 0)
		ppoll(wait, is_full ? 2 : 1, &timeout, NULL);
	if (p->is_armed && read(wait[1].fd, &room, sizeof(room)) == sizeof(room))
		p->is_armed = false;
}

/* It neither spins nor yields before it sleeps: three nodes share two processors. */
static void run_loop(struct peer *p)
{
	enum whorl_result result;

	while (!peers_complete(&p->node)) {
		size_t work = 0;

		while (work < BURST && peers_sends(&p->node) && peers_is_due(&p->node) && send_one(p, 0))
			work++;
		work += whorl_step(p->whorl);
		if (work > 0)
			continue;
		sleep_until_work(p);
		result = whorl_error(p->whorl, NULL, 0);
		if (result != WHORL_OK)
			exit_with_error(p, "run", result);
	}
}

/* ---- thread = dedicated -------------------------------------------------------------------------------------------------*/

static void send_all(struct peer *p)
{
	while (peers_sends(&p->node)) {
		peers_pace(&p->node);
		send_one(p, SEND_MS);
	}
	while (atomic_load(&p->node.page->done) == 0)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

int main(int argc, char *argv[])
{
	static struct peer p;

	peers_open(&p.node, argc, argv);
	if (argc < 4)
		peers_fail("which file?");
	open_node(&p, argc, argv);
	peers_ready(&p.node, step_node, &p);
	if (p.is_caller)
		run_loop(&p);
	else
		send_all(&p);
	peers_finish(&p.node, step_node, &p);
	whorl_close(p.whorl, 1000);
	return 0;
}
