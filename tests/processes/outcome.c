/* outcome.c - see cluster.h: what must follow, and the end. */
#include "tests/processes/cluster_int.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/processes/disks.h"
#include "tests/processes/logs.h"

#define WARM_SLOTS 4

/* ---- what is seen --------------------------------------------------------------------------------------------------- */

static int descriptors_of(pid_t pid)
{
	char path[40];
	int count = 0;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	directory = opendir(path);
	if (directory == NULL)
		return -1;
	while (readdir(directory) != NULL)
		count++;
	closedir(directory);
	return count;
}

static int lines_with(const char *path, const char *word)
{
	char line[1024];
	int count = 0;
	FILE *file = fopen(path, "r");

	if (file == NULL)
		return -1;
	while (fgets(line, sizeof(line), file) != NULL)
		count += strstr(line, word) != NULL;
	fclose(file);
	return count;
}

static int mappings_of(pid_t pid)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	return lines_with(path, "/memfd:whorl-");
}

/* The slots of the tenths of a second in which it delivered anything; returns their number. */
static uint32_t paces_of(const struct cluster *c, uint32_t life, uint32_t paces[SLOTS])
{
	uint32_t end = board_slot(c->board, now_ns()), count = 0;

	for (uint32_t slot = c->first_slot; slot < end; slot++)
		if (c->board->state[life].slot[slot] > 0)
			paces[count++] = c->board->state[life].slot[slot];
	return count;
}

bool cluster_is_warm(const struct cluster *c, uint32_t life)
{
	uint32_t paces[SLOTS];

	return paces_of(c, life, paces) >= WARM_SLOTS;
}

static int compare_pace(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	return one < other ? -1 : one > other;
}

void cluster_measure(struct cluster *c)
{
	uint32_t paces[SLOTS] = {0}, count;

	for (uint32_t life = 0; life < c->lives && !c->harmed; life++) {
		struct child *child = &c->children[life];
		int descriptors = descriptors_of(child->pid), mappings = mappings_of(child->pid);

		count = paces_of(c, life, paces);
		qsort(paces, count, sizeof(paces[0]), compare_pace);
		child->pace = paces[count / 4]; /* a busy machine has good and bad moments */
		c->descriptors = descriptors > c->descriptors ? descriptors : c->descriptors;
		c->mappings = mappings > c->mappings ? mappings : c->mappings;
		c->members += child->fate == FATE_LIVES;
	}
	c->harmed = true;
	c->harmed_ns = now_ns();
	c->view_ms = 0;
}

/* ---- what must follow ----------------------------------------------------------------------------------------------- */

bool cluster_is_in_view(const struct cluster *c, uint32_t life)
{
	return c->board->state[life].members == cluster_living(c);
}

static bool is_quick(const struct cluster *c, uint32_t life)
{
	const struct state *state = &c->board->state[life];
	uint32_t end = board_slot(c->board, now_ns());

	for (uint32_t slot = board_slot(c->board, state->view_ns) + 1; slot < end; slot++)
		if (state->slot[slot] >= c->children[life].pace / 3)
			return true;
	return false;
}

/* What the dead and the past have taken up is given back. Of what a member has some is for each other. */
static bool is_tidy(const struct cluster *c, uint32_t life)
{
	int before = (int)c->members, now = __builtin_popcountll(cluster_living(c));
	int most = now > before ? now : before;

	/* A spare row may have been made since it was counted first: one descriptor and one mapping, however many came and went. */
	return (descriptors_of(c->children[life].pid) - 1) * before <= c->descriptors * most &&
	       (mappings_of(c->children[life].pid) - 1) * before <= c->mappings * most;
}

void cluster_tidy(struct cluster *c)
{
	UNTIL(c, cluster_all(c, is_tidy));
}

void cluster_settle(struct cluster *c)
{
	UNTIL(c, cluster_all(c, cluster_is_ready));
	UNTIL(c, cluster_all(c, cluster_is_in_view));
	cluster_deliver(c, 500);
}

void cluster_recover(struct cluster *c)
{
	UNTIL(c, cluster_all(c, cluster_is_in_view));
	for (uint32_t life = 0; life < c->lives; life++) {
		uint64_t view_ns = c->board->state[life].view_ns;

		if (c->children[life].fate == FATE_LIVES && view_ns > c->harmed_ns + (uint64_t)(c->view_ms * 1e6))
			c->view_ms = (double)(view_ns - c->harmed_ns) / 1e6;
	}
	cluster_settle(c);
	UNTIL(c, cluster_all(c, is_quick));
	cluster_tidy(c);
}

void cluster_see_removed(struct cluster *c, uint32_t life)
{
	const struct state *state = &c->board->state[life];

	c->children[life].fate = FATE_REMOVED;
	UNTIL(c, state->error == WHORL_REMOVED);
	if (state->text[0] == '\0')
		cluster_fail(c, "life %u is removed, and whorl_error does not say why", life);
}

void cluster_see_refused(struct cluster *c, uint32_t life)
{
	const struct state *state = &c->board->state[life];

	c->children[life].fate = FATE_REFUSED;
	UNTIL(c, state->error != WHORL_OK);
	if (state->error != WHORL_REFUSED || state->text[0] == '\0')
		cluster_fail(c, "life %u is refused with: %s, %s", life,
			     whorl_result_text((enum whorl_result)state->error), state->text);
}

static bool lacks_quorum(const struct cluster *c, uint32_t life)
{
	const struct state *state = &c->board->state[life];
	bool claims = false;

	for (uint32_t g = 0; g < GROUPS; g++)
		claims |= cluster_sends(c, g, state->id);
	return state->error == WHORL_NO_QUORUM && (!claims || state->claim == WHORL_NO_QUORUM);
}

void cluster_see_no_quorum(struct cluster *c)
{
	UNTIL(c, cluster_all(c, lacks_quorum));
}

/* ---- the end -------------------------------------------------------------------------------------------------------- */

static bool is_quiet(const struct cluster *c, uint32_t life)
{
	return c->board->state[life].stage == STAGE_QUIET;
}

static bool has_all(const struct cluster *c, uint32_t life)
{
	const struct state *state = c->board->state;

	for (uint32_t g = 0; g < GROUPS; g++)
		for (uint32_t s = 0; s < c->lives && cluster_takes_part(c, g, state[life].id); s++)
			if (c->children[s].fate == FATE_LIVES && state[s].shard[g] == state[life].shard[g] &&
			    state[life].delivered[g][s] != state[s].committed[g])
				return false;
	return true;
}

void cluster_see_end(struct cluster *c, uint32_t life, bool whole)
{
	struct child *child = &c->children[life];
	uint32_t closed;
	siginfo_t info = {.si_pid = 0};
	int code = child->fate == FATE_KILLED ? CLD_KILLED : CLD_EXITED;
	int status = child->fate == FATE_KILLED ? SIGKILL : 0;

	UNTIL(c, waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG) == 0 && info.si_pid != 0);
	close(child->pidfd);
	child->ended = true;
	closed = c->board->state[life].close;
	if (info.si_code != code || info.si_status != status)
		cluster_fail(c, "life %u ended with %d (code %d)", life, info.si_status, info.si_code);
	if (c->board->state[life].complained)
		cluster_fail(c, "life %u complains", life);
	if ((child->fate == FATE_LIVES || child->fate == FATE_LEAVES) && whole && closed != WHORL_OK)
		cluster_fail(c, "life %u closed: %s", life, whorl_result_text((enum whorl_result)closed));
	if (child->fate == FATE_REMOVED && closed == WHORL_TIMEOUT)
		cluster_fail(c, "life %u was removed, and closing waited for others", life);
}

void cluster_end(struct cluster *c, bool whole)
{
	char text[512];

	c->board->ending = true;
	if (whole) {
		UNTIL(c, cluster_all(c, is_quiet));
		UNTIL(c, cluster_all(c, has_all));
	}
	for (uint32_t life = 0; life < c->lives; life++)
		if (!c->children[life].ended)
			c->board->state[life].close_ms = whole ? CLOSE_MS : 200;
	c->board->closing = true;
	for (uint32_t life = 0; life < c->lives; life++)
		if (!c->children[life].ended)
			cluster_see_end(c, life, whole);
	if (!logs_agree(c, text, sizeof(text)))
		cluster_fail(c, "%s", text);
	if (lines_with("/proc/net/unix", c->name) != 0)
		cluster_fail(c, "a socket's name is left behind");
	if (c->board->body_fd >= 0)
		close(c->board->body_fd);
	cluster_remove_records(c);
	disks_remove(c);
	munmap(c->board, sizeof(*c->board));
	close(c->board_fd);
}
