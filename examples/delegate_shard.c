/* delegate_shard.c - a counter that three processes have, and one of them is killed: what was answered to it is there all the same. */
#include <err.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <whorl/delegate.h>

#define MEMBERS 3
#define VISITS 300 /* by each; but one is killed after a third of them */

struct visits {
	uint64_t n;
};

static WHORL_TYPE(visits_type, struct visits, NULL);

/* All members run it, in one order. */
WHORL_FUNCTION(visits_count, struct visits, struct whorl_none, uint64_t, WHORL_DETERMINISTIC)
{
	*result = ++property->n;
}

WHORL_FUNCTION(visits_read, struct visits, struct whorl_none, uint64_t, WHORL_DETERMINISTIC | WHORL_READ)
{
	*result = property->n;
}

static void count(const struct whorl_trust *trust, int visits)
{
	uint64_t n;

	for (int i = 0; i < visits; i++)
		if (whorl_apply(trust, visits_count, NULL, &n, 20000) != WHORL_OK)
			errx(1, "a call has no answer");
}

/* Until all are there: each read has what any member was answered before. No message is sent for it. */
static uint64_t read_all(struct whorl_trust *trust, uint64_t visits)
{
	uint64_t n = 0;

	if (whorl_trust_reads(trust, WHORL_READS_LINEARIZABLE) != WHORL_OK)
		errx(1, "reads: %s", whorl_invalid_text());
	while (n < visits)
		if (whorl_apply(trust, visits_read, NULL, &n, 20000) != WHORL_OK)
			errx(1, "a read has no answer");
	return n;
}

static void run_member(whorl_config *config, unsigned id)
{
	const struct whorl_work_options options = {.size = sizeof(options), .workers = 1, WHORL_FUNCTIONS_LINKED};
	whorl_subgroup *shard;
	struct whorl_trust trust;
	whorl_work *work;
	whorl_node *node;

	alarm(60); /* should anything stand still */
	if (whorl_open(config, id, NULL, &node) != WHORL_OK)
		errx(1, "%s", whorl_config_error(config));
	shard = whorl_subgroup_find(node, "pages");
	/* Worker 0 has what is entrusted to the shard: said before the node is started. */
	if (whorl_work_open(node, &options, &work) != WHORL_OK || whorl_work_serve(work, shard, 0) != WHORL_OK ||
	    whorl_start(node) != WHORL_OK || whorl_ready(node, 20000) != WHORL_OK)
		errx(1, "member %u does not start: %s", id, whorl_invalid_text());
	/* The first makes it, the others find it. */
	if (whorl_entrust_named(work, whorl_at_shard(shard), "index.html", &visits_type, NULL, 0, &trust, 20000) !=
	    WHORL_OK)
		errx(1, "entrust: %s", whorl_invalid_text());
	count(&trust, id == 2 ? VISITS / 3 : VISITS);
	if (id == 2)
		raise(SIGKILL);
	dprintf(1, "member %u: %" PRIu64 " visits\n", id, read_all(&trust, 2 * VISITS + VISITS / 3));
	whorl_trust_drop(&trust); /* the handle: the property is the shard's */
	whorl_work_close(work, 5000);
	whorl_close(node, 5000);
}

int main(void)
{
	whorl_config *config = whorl_config_new();
	int status, ended = 0;
	char text[256];

	snprintf(text, sizeof(text),
		 "[group]\nname = visits-%d\nnodes = %d\nstart_timeout_ms = 20000\n[subgroup pages]\n", (int)getpid(),
		 MEMBERS);
	if (config == NULL || whorl_config_load_text(config, "delegate_shard", text) != WHORL_OK)
		errx(1, "%s", config == NULL ? "no memory" : whorl_config_error(config));
	for (unsigned id = 0; id < MEMBERS; id++) {
		pid_t child = fork();

		if (child < 0)
			err(1, "fork");
		if (child == 0) {
			run_member(config, id);
			return 0;
		}
	}
	for (int i = 0; i < MEMBERS; i++)
		ended += wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	printf("%d of %d members are left\n", ended, MEMBERS);
	whorl_config_free(config);
	return ended == MEMBERS - 1 ? 0 : 1;
}
