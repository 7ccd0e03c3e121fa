/* node.c - a node of a domain: see node.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/env.h"
#include "base/thread.h"
#include "dds/node.h"

#define NODES_MAX 128  /* processes in a domain on one host */
#define SILENT_MS 5000 /* a process that has died is known at once, on one host: this is for those that stand still */
#define START_MS 1000  /* that others are waited for, as usual */
#define RESTART_MS 300 /* the same behind the end of all: what they had is there, and they come later */
#define DRAIN_MS 2000
#define READY_MS 3600000
#define LOOK_MS 500      /* that a node waits, and looks what for */
#define FETCH_LOOK_MS 50 /* a logged channel that is not there by then may be dormant */
#define LINE_MS 10000    /* to enter a channel, and to leave it: others may have its state from this node alone */

static _Thread_local int in_place; /* listeners that this thread is in */

bool wh_dds_on_loop(void)
{
	return in_place > 0;
}

void wh_dds_enter_loop(int change)
{
	in_place += change;
}

/* ---- calls --------------------------------------------------------------------------------------------------------------------- */

bool wh_dds_node_call(struct wh_dds_node *node)
{
	wh_dds_rest();
	if ((wh_fetch_add(&node->calls, 1) & WH_DDS_NO_CALLS) == 0) /* partner: end_calls */
		return true;
	(void)wh_fetch_add(&node->calls, UINT64_MAX);
	return false;
}

void wh_dds_node_called(struct wh_dds_node *node)
{
	(void)wh_fetch_add(&node->calls, UINT64_MAX); /* partner: end_calls */
}

bool wh_dds_node_closes(const struct wh_dds_node *node)
{
	return (wh_load_acquire(&node->calls) & WH_DDS_NO_CALLS) != 0; /* partner: end_calls */
}

static void end_calls(struct wh_dds_node *node)
{
	const struct wh_dds_host *host = wh_dds_host();

	(void)wh_fetch_or(&node->calls, WH_DDS_NO_CALLS); /* partner: wh_dds_node_call */
	wh_dds_table_await_peeks(wh_dds_root()->table);
	while (wh_load_acquire(&node->calls) != WH_DDS_NO_CALLS) /* each wait of a call has an end, or looks */
		host->pause(host->ctx);
}

void wh_dds_node_hold(struct wh_dds_node *node)
{
	(void)wh_fetch_add(&node->holders, 1);
}

void wh_dds_node_drop(struct wh_dds_node *node)
{
	if (wh_fetch_add(&node->holders, UINT64_MAX) != 1)
		return;
	wh_dds_line_free(node->control);
	for (struct wh_dds_line *line = node->lines, *next; line != NULL; line = next) {
		next = line->next;
		wh_dds_line_free(line);
	}
	pthread_cond_destroy(&node->changed);
	pthread_cond_destroy(&node->work);
	pthread_cond_destroy(&node->listened);
	pthread_mutex_destroy(&node->lock);
	pthread_mutex_destroy(&node->work_lock);
	pthread_mutex_destroy(&node->listening);
	wh_dds_settings_free(&node->settings);
	pthread_mutex_destroy(&node->watching);
	free(node->file);
	free(node);
}

uint32_t wh_dds_node_number(struct wh_dds_node *node)
{
	return (uint32_t)wh_fetch_add(&node->numbers, 1) + 1;
}

whorl_dds_return wh_dds_node_says(const char *function, struct wh_dds_node *node, enum whorl_result result)
{
	char text[512] = "";

	switch (result) {
	case WHORL_AGAIN:
	case WHORL_TIMEOUT:
	case WHORL_NO_QUORUM:
		return wh_dds_say(function, WHORL_DDS_RETCODE_TIMEOUT, "%s", whorl_result_text(result));
	case WHORL_MEMORY:
		return wh_dds_say(function, WHORL_DDS_RETCODE_OUT_OF_RESOURCES, "memory, or memory_max, is out");
	case WHORL_WOULD_DEADLOCK:
		return wh_dds_say(function, WHORL_DDS_RETCODE_ILLEGAL_OPERATION, "not in an in-place listener");
	case WHORL_REFUSED: /* the node, for good; or a call of it */
		if (node->whorl != NULL && !wh_dds_node_closes(node) &&
		    whorl_error(node->whorl, text, sizeof(text)) == WHORL_REFUSED)
			return wh_dds_say(function, WHORL_DDS_RETCODE_ERROR, "%s: %s", whorl_result_text(result), text);
		return wh_dds_say(function, WHORL_DDS_RETCODE_ERROR, "%s", whorl_invalid_text());
	case WHORL_INVALID:
		return wh_dds_say(function, WHORL_DDS_RETCODE_ERROR, "%s", whorl_invalid_text());
	default:
		if (node->whorl != NULL && !wh_dds_node_closes(node))
			(void)whorl_error(node->whorl, text, sizeof(text));
		return wh_dds_say(function, WHORL_DDS_RETCODE_ERROR, "%s%s%s", whorl_result_text(result),
				  text[0] != '\0' ? ": " : "", text);
	}
}

whorl_dds_return wh_dds_node_has_logs(const char *function, const struct wh_dds_node *node, const char *what,
				      const char *name)
{
	bool has_group = node->file != NULL && node->settings.has_group;

	if (node->logs)
		return WHORL_DDS_RETCODE_OK;
	return wh_dds_say(function, WHORL_DDS_RETCODE_UNSUPPORTED,
			  "%s %s is logged, and the domain has no directory: %s of %s says it", what, name,
			  has_group ? "group.log_dir" : "dds.directory",
			  node->file != NULL ? node->file : "a file (WHORL_DDS)");
}

/* ---- views --------------------------------------------------------------------------------------------------------------------- */

static void on_view(const struct whorl_view *view, void *ctx)
{
	struct wh_dds_node *node = ctx;

	if (wh_load_relaxed(&node->incarnation) == 0) {
		node->id = view->members[view->rank];
		wh_store_release(&node->incarnation, view->incarnations[view->rank]); /* partner: wh_dds_line_machine */
	}
	wh_dds_line_view(node->control, view);
	pthread_mutex_lock(&node->lock);
	for (struct wh_dds_line *line = node->lines; line != NULL; line = line->next)
		if (!wh_dds_line_is_left(line))
			wh_dds_line_view(line, view);
	pthread_mutex_unlock(&node->lock);
	wh_dds_builtin_view(node);
}

/* ---- channels ------------------------------------------------------------------------------------------------------------------ */

struct wh_dds_line *wh_dds_node_lines(struct wh_dds_node *node)
{
	struct wh_dds_line *line;

	pthread_mutex_lock(&node->lock);
	line = node->lines;
	pthread_mutex_unlock(&node->lock);
	return line;
}

/* One that was left stays for its endpoints, and another takes its place: there is one of a name at most that was not. */
struct wh_dds_line *wh_dds_node_find_line(struct wh_dds_node *node, const char *channel)
{
	struct wh_dds_line *line = node->lines;

	while (line != NULL && (wh_dds_line_is_left(line) || strcmp(line->name, channel) != 0))
		line = line->next;
	return line;
}

/* Lines of that name that were left have begun to leave their subgroup: before, it cannot be entered again. Without the lock. */
static void await_leaving(struct wh_dds_node *node, const char *channel)
{
	for (struct wh_dds_line *it = wh_dds_node_lines(node); it != NULL; it = it->next)
		if (wh_dds_line_is_left(it) && strcmp(it->name, channel) == 0) {
			wh_dds_line_lock(it); /* partner: wh_dds_line_refused */
			wh_dds_line_unlock(it);
		}
}

static enum whorl_result enter(const char *function, struct wh_dds_node *node, struct wh_dds_line *line)
{
	int first_ms = line->shape.durable ? FETCH_LOOK_MS : LINE_MS;
	enum whorl_result result;

	if (wh_dds_subgroup_of(line) != NULL) { /* it was entered, and had not its state in time */
		result = wh_dds_line_await(line, first_ms);
	} else {
		await_leaving(node, line->name);
		result = wh_dds_line_enter(line, first_ms);
	}
	return result == WHORL_TIMEOUT && line->shape.durable
		       ? wh_dds_line_fetch(function, node, line, wh_dds_until(LINE_MS * INT64_C(1000000)))
		       : result;
}

/* What came of entering it, which is no success: in the words of its stay, if that has some, as it may wait for nodes with disks that have what was there. */
static whorl_dds_return line_says(const char *function, struct wh_dds_node *node, const struct wh_dds_line *line,
				  enum whorl_result result)
{
	whorl_subgroup *subgroup = wh_dds_subgroup_of(line);
	enum whorl_result stays = WHORL_OK;
	char text[512] = "";

	if (subgroup != NULL && !wh_dds_node_closes(node))
		stays = whorl_subgroup_error(subgroup, text, sizeof(text));
	if (text[0] == '\0' || (result == WHORL_TIMEOUT && stays != WHORL_AGAIN))
		return wh_dds_node_says(function, node, result);
	return wh_dds_say(function, result == WHORL_TIMEOUT ? WHORL_DDS_RETCODE_TIMEOUT : WHORL_DDS_RETCODE_ERROR,
			  "channel %s: %s", line->name, text);
}

/* The first that comes enters it, and the others wait for that; after a failure the next one tries again. */
static whorl_dds_return open_line(const char *function, struct wh_dds_node *node, struct wh_dds_line *line)
{
	uint64_t until = wh_dds_until(WH_DDS_WAIT_NS);
	enum whorl_result result;

	while (line->stage == WH_DDS_OPENING && wh_dds_wait(&node->changed, &node->lock, until))
		if (wh_dds_node_closes(node))
			return wh_dds_node_says(function, node, WHORL_CLOSED);
	if (wh_dds_line_is_left(line))
		return wh_dds_line_says(function, line, WHORL_CLOSED);
	if (line->stage == WH_DDS_OPEN)
		return WHORL_DDS_RETCODE_OK;
	if (line->stage == WH_DDS_OPENING)
		return wh_dds_node_says(function, node, WHORL_TIMEOUT);
	line->stage = WH_DDS_OPENING;
	pthread_mutex_unlock(&node->lock);
	result = enter(function, node, line);
	pthread_mutex_lock(&node->lock);
	line->stage = result == WHORL_OK ? WH_DDS_OPEN : WH_DDS_FAILED;
	pthread_cond_broadcast(&node->changed);
	return result == WHORL_OK ? WHORL_DDS_RETCODE_OK : line_says(function, node, line, result);
}

whorl_dds_return wh_dds_node_line(const char *function, struct wh_dds_node *node, const char *channel,
				  struct wh_dds_line **out)
{
	struct wh_dds_shape shape;
	struct wh_dds_line *line;
	whorl_dds_return result;

	if (strcmp(channel, WH_DDS_CONTROL) == 0 || !wh_dds_shape_of(&node->settings, channel, &shape))
		return wh_dds_say(function, WHORL_DDS_RETCODE_UNSUPPORTED,
				  "channel %s is none of this version, nor of %s", channel,
				  node->file != NULL ? node->file : "a file (WHORL_DDS)");
	if (shape.durable && !node->logs)
		return wh_dds_node_has_logs(function, node, "channel", channel);
	pthread_mutex_lock(&node->lock);
	line = wh_dds_node_find_line(node, channel);
	if (line == NULL) {
		line = wh_dds_line_new(node, channel, &shape);
		if (line == NULL) {
			pthread_mutex_unlock(&node->lock);
			return wh_dds_say(function, WHORL_DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
		}
		line->stage = WH_DDS_FAILED; /* to be entered */
		line->next = node->lines;
		node->lines = line;
	}
	result = open_line(function, node, line);
	pthread_mutex_unlock(&node->lock);
	*out = line;
	return result;
}

/* ---- opening ------------------------------------------------------------------------------------------------------------------- */

/* The group of a domain on this host, where no file has one. */
static whorl_dds_return load_domain(const char *function, struct wh_dds_node *node, whorl_config *config)
{
	const char *directory = node->settings.directory;
	char text[1024], path[2 * WH_OPTION_TEXT_BYTES] = "none", why[128];
	int start_ms = directory[0] != '\0' ? RESTART_MS : START_MS;

	if (directory[0] != '\0')
		snprintf(path, sizeof(path), "%s" WH_DDS_DOMAIN_DIRECTORY "%u", directory, (unsigned)node->domain);
	if (directory[0] != '\0' &&
	    ((mkdir(directory, 0700) != 0 && errno != EEXIST) || (mkdir(path, 0700) != 0 && errno != EEXIST)))
		return wh_dds_say(function, WHORL_DDS_RETCODE_ERROR, "%s: dds.directory: %s cannot be made: %s",
				  node->file, path, strerror_r(errno, why, sizeof(why)));
	snprintf(text, sizeof(text),
		 "[group]\nname = dds-%u-%u\nnodes = 0\nnodes_max = %d\nfailure_timeout_ms = %d\n"
		 "start_timeout_ms = %d\nlog_dir = %s\n",
		 (unsigned)getuid(), (unsigned)node->domain, NODES_MAX, SILENT_MS, start_ms, path);
	if (whorl_config_load_text(config, "domain", text) == WHORL_OK)
		return WHORL_DDS_RETCODE_OK;
	return wh_dds_say(function, WHORL_DDS_RETCODE_BAD_PARAMETER, "%s", whorl_config_error(config));
}

/* Two read it: the group's sections, and those of topics. What both find is told. */
static whorl_dds_return load_file(const char *function, struct wh_dds_node *node, whorl_config *config)
{
	char *mistakes = NULL;
	enum whorl_result group, topics;
	whorl_dds_return result;

	whorl_config_ignore(config, wh_dds_table.section);
	whorl_config_ignore(config, wh_dds_channel_table.section);
	whorl_config_ignore(config, wh_dds_topic_table.section);
	group = whorl_config_set(config, "engine.thread=dedicated");
	if (group == WHORL_OK)
		group = whorl_config_load_file(config, node->file);
	topics = wh_dds_settings_load(&node->settings, node->file, &wh_dds_channel_names, &mistakes);
	if (group == WHORL_OK && topics == WHORL_OK)
		return node->settings.has_group ? WHORL_DDS_RETCODE_OK : load_domain(function, node, config);
	if (topics == WHORL_MEMORY)
		result = wh_dds_say(function, WHORL_DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
	else
		result =
			wh_dds_say(function, WHORL_DDS_RETCODE_BAD_PARAMETER, "%s%s%s",
				   group != WHORL_OK ? whorl_config_error(config) : "",
				   group != WHORL_OK && mistakes != NULL ? "\n" : "", mistakes != NULL ? mistakes : "");
	free(mistakes);
	return result;
}

static whorl_dds_return load(const char *function, struct wh_dds_node *node, whorl_config *config)
{
	if (config == NULL)
		return wh_dds_say(function, WHORL_DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
	return node->file != NULL ? load_file(function, node, config) : load_domain(function, node, config);
}

static whorl_dds_return parse_id(const char *function, const char *text, uint32_t *id)
{
	char *end = NULL;
	unsigned long number;

	*id = WHORL_ANY_ID;
	if (text == NULL)
		return WHORL_DDS_RETCODE_OK;
	errno = 0;
	number = strtoul(text, &end, 10);
	if (end == text || *end != '\0' || errno != 0 || number >= WH_DDS_MEMBERS_MAX)
		return wh_dds_say(function, WHORL_DDS_RETCODE_BAD_PARAMETER,
				  "WHORL_DDS_ID is \"%s\", expected a node's id, 0 to %d", text,
				  WH_DDS_MEMBERS_MAX - 1);
	*id = (uint32_t)number;
	return WHORL_DDS_RETCODE_OK;
}

whorl_dds_return wh_dds_participant_say(const char *function, struct wh_dds_node *node,
					const struct wh_dds_policies *policies)
{
	struct wh_dds_out out = {.bytes = NULL};

	wh_dds_put_participant(&out, program_invocation_short_name, (uint32_t)getpid(), policies);
	return wh_dds_line_send(function, node->control, &out, wh_dds_until(WH_DDS_WAIT_NS), NULL);
}

/* The process that was to form the group has gone before it had, it seems, and the next one that looks for an id gets that of it: so waiting is in
 * vain. Where there are logs, the same is so of any that this one waits for, as the next one gets a directory that nobody has now. */
static bool is_forsaken(const struct wh_dds_node *node)
{
	static const char waits[] = "waits for ", forms[] = "waits for node 0, which forms the group";
	size_t bytes = node->logs ? sizeof(waits) - 1 : sizeof(forms) - 1;
	char text[512];

	whorl_progress(node->whorl, text, sizeof(text));
	return strncmp(text, forms, bytes) == 0;
}

/* WHORL_AGAIN: it was forsaken at so many looks, one behind the other; or another is just at it, and slow. `looks` 0: it waits. */
static enum whorl_result await_node(struct wh_dds_node *node, uint32_t looks, uint64_t until_ns)
{
	enum whorl_result result;
	uint32_t seen = 0;

	do {
		result = wh_dds_node_ready(node->whorl, wh_dds_left_ms(until_ns, LOOK_MS));
		if (result != WHORL_TIMEOUT || wh_dds_left_ms(until_ns, 1) <= 0)
			return result;
		seen = is_forsaken(node) ? seen + 1 : 0;
	} while (seen == 0 || seen != (node->logs ? 2 * looks : looks)); /* what is on disks takes a while to be told */
	return WHORL_AGAIN;
}

/* In a group that has logs the control channel is in one: what a name is must outlive what was written under it. */
static enum whorl_result enter_control(struct wh_dds_node *node)
{
	enum whorl_result result;

	node->logs = true;
	result = wh_dds_line_enter(node->control, 0);
	if (result != WHORL_UNSUPPORTED)
		return result;
	node->logs = false;
	return wh_dds_line_enter(node->control, 0);
}

/* *again: it is to be opened anew. */
static whorl_dds_return start(const char *function, struct wh_dds_node *node, uint32_t looks, uint64_t until_ns,
			      bool *again)
{
	enum whorl_result result;
	struct wh_dds_policies policies;
	char text[512];

	result = whorl_on_view(node->whorl, on_view, node);
	if (result == WHORL_OK)
		result = enter_control(node);
	if (result == WHORL_OK)
		result = whorl_start(node->whorl);
	if (result == WHORL_OK)
		result = await_node(node, looks, until_ns);
	*again = result == WHORL_AGAIN;
	if (result == WHORL_OK) {
		result = node->logs ? wh_dds_line_fetch(function, node, node->control, until_ns)
				    : wh_dds_line_await(node->control, wh_dds_left_ms(until_ns, READY_MS));
		if (result != WHORL_OK)
			return line_says(function, node, node->control, result);
	}
	if (result == WHORL_TIMEOUT) {
		whorl_progress(node->whorl, text, sizeof(text));
		return wh_dds_say(function, WHORL_DDS_RETCODE_TIMEOUT, "%s", text);
	}
	if (result != WHORL_OK)
		return wh_dds_node_says(function, node, result);
	wh_dds_policies_init(&policies, WH_DDS_PARTICIPANT);
	return wh_dds_participant_say(function, node, &policies);
}

/* Opens and starts it; again, if that is to be. */
static whorl_dds_return open_whorl(const char *function, struct wh_dds_node *node, whorl_config *config, uint32_t id,
				   uint64_t until_ns)
{
	const struct wh_dds_host *host = wh_dds_host();
	uint32_t looks = id == WHORL_ANY_ID ? 2 : 0;
	whorl_dds_return result;
	enum whorl_result opened;
	bool again;

	do {
		opened = host->open(host->ctx, config, id, &node->whorl);
		if (opened != WHORL_OK)
			return wh_dds_say(function,
					  opened == WHORL_MEMORY ? WHORL_DDS_RETCODE_OUT_OF_RESOURCES
								 : WHORL_DDS_RETCODE_ERROR,
					  "%s", whorl_config_error(config));
		result = start(function, node, looks, until_ns, &again);
		if (result == WHORL_DDS_RETCODE_OK)
			return result;
		if (!again)
			end_calls(node);
		(void)host->close(host->ctx, node->whorl, 0);
		wh_dds_line_forget(node->control);
		looks *= 2;
	} while (again);
	return result;
}

static whorl_dds_return open_node(const char *function, struct wh_dds_node *node,
				  const struct whorl_dds_participant_options *options)
{
	const struct wh_dds_host *host = wh_dds_host();
	whorl_config *config = whorl_config_new();
	const char *id_text = options->node != NULL ? options->node : getenv("WHORL_DDS_ID");
	uint64_t until_ns = wh_dds_until(options->ready > 0 ? options->ready : WH_DDS_WAIT_NS);
	whorl_dds_return result = load(function, node, config);
	uint32_t id = WHORL_ANY_ID;

	if (result == WHORL_DDS_RETCODE_OK && node->file != NULL)
		result = parse_id(function, id_text, &id);
	node->any_id = id == WHORL_ANY_ID;
	if (result == WHORL_DDS_RETCODE_OK)
		result = open_whorl(function, node, config, id, until_ns);
	whorl_config_free(config);
	if (result == WHORL_DDS_RETCODE_OK)
		wh_dds_node_adopt(node);
	if (result == WHORL_DDS_RETCODE_OK && !options->spins && !wh_dds_work_start(node)) {
		result = wh_dds_say(function, WHORL_DDS_RETCODE_OUT_OF_RESOURCES, "no thread can be had");
		end_calls(node);
		(void)host->close(host->ctx, node->whorl, 0);
	}
	return result;
}

static struct wh_dds_node *new_node(uint32_t domain, const char *file, bool spins)
{
	struct wh_dds_node *node = calloc(1, sizeof(*node));
	struct wh_dds_shape control;

	if (node == NULL)
		return NULL;
	pthread_mutex_init(&node->lock, NULL);
	wh_thread_condition_init(&node->changed);
	pthread_mutex_init(&node->work_lock, NULL);
	wh_thread_condition_init(&node->work);
	pthread_mutex_init(&node->listening, NULL);
	pthread_mutex_init(&node->watching, NULL);
	wh_thread_condition_init(&node->listened);
	node->queue_end = &node->queue;
	node->soon_ns = WH_DDS_NEVER;
	wh_store_relaxed(&node->sleeps_ns, WH_DDS_NEVER);
	node->domain = domain;
	node->process = wh_dds_host()->process(wh_dds_host()->ctx);
	node->spins = spins;
	node->stage = WH_DDS_OPENING;
	node->file = file != NULL ? strdup(file) : NULL;
	wh_store_relaxed(&node->holders, 1);
	wh_dds_settings_init(&node->settings);
	(void)wh_dds_shape_of(&node->settings, WH_DDS_CONTROL, &control);
	node->control = wh_dds_line_new(node, WH_DDS_CONTROL, &control);
	node->lines = node->loose = wh_dds_line_new(node, "", &control);
	if (node->loose != NULL)
		node->loose->stage = WH_DDS_OPEN; /* with the control channel */
	if (node->control == NULL || node->loose == NULL || (file != NULL && node->file == NULL)) {
		wh_dds_node_drop(node);
		return NULL;
	}
	return node;
}

/* With the root's lock. */
static struct wh_dds_node *find_node(struct wh_dds_root *root, uint32_t domain, const char *file)
{
	const struct wh_dds_host *host = wh_dds_host();
	uint64_t process = host->process(host->ctx);
	struct wh_dds_node *node = root->nodes;

	while (node != NULL &&
	       (node->domain != domain || node->process != process || (node->file != NULL) != (file != NULL) ||
		(file != NULL && strcmp(node->file, file) != 0)))
		node = node->next;
	return node;
}

static void unlist(struct wh_dds_root *root, struct wh_dds_node *node)
{
	struct wh_dds_node **at = &root->nodes;

	while (*at != node)
		at = &(*at)->next;
	*at = node->next;
	pthread_cond_broadcast(&root->changed);
}

static whorl_dds_return join_with_lock(const char *function, struct wh_dds_root *root, uint32_t domain,
				       const struct whorl_dds_participant_options *options, struct wh_dds_node **out)
{
	const char *file = options->file != NULL ? options->file : getenv("WHORL_DDS");
	uint64_t until = wh_dds_until(WH_DDS_WAIT_NS);
	struct wh_dds_node *node;
	whorl_dds_return result;

	while ((node = find_node(root, domain, file)) != NULL && node->stage != WH_DDS_OPEN)
		if (!wh_dds_wait(&root->changed, &root->lock, until))
			return wh_dds_say(function, WHORL_DDS_RETCODE_TIMEOUT, "the domain is being opened, or closed");
	*out = node;
	if (node != NULL && node->spins != options->spins)
		return wh_dds_say(
			function, WHORL_DDS_RETCODE_BAD_PARAMETER,
			"another participant of the domain has a thread, or spins, and this one says otherwise");
	if (node != NULL) {
		node->participants++;
		return WHORL_DDS_RETCODE_OK;
	}
	*out = node = new_node(domain, file, options->spins);
	if (node == NULL)
		return wh_dds_say(function, WHORL_DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
	node->next = root->nodes;
	root->nodes = node;
	pthread_mutex_unlock(&root->lock);
	result = open_node(function, node, options);
	pthread_mutex_lock(&root->lock);
	node->stage = WH_DDS_OPEN;
	node->participants = 1;
	pthread_cond_broadcast(&root->changed);
	if (result != WHORL_DDS_RETCODE_OK) {
		unlist(root, node);
		wh_dds_node_drop(node);
	}
	return result;
}

whorl_dds_return wh_dds_node_join(const char *function, uint32_t domain,
				  const struct whorl_dds_participant_options *options, struct wh_dds_node **out)
{
	struct wh_dds_root *root = wh_dds_root();
	whorl_dds_return result;

	pthread_mutex_lock(&root->lock);
	result = join_with_lock(function, root, domain, options, out);
	pthread_mutex_unlock(&root->lock);
	return result;
}

/* All at once, which is one change of view; and waits, since those that enter meanwhile may have their state from this node alone. */
static void leave_channels(struct wh_dds_node *node)
{
	uint64_t until = wh_dds_until(LINE_MS * INT64_C(1000000));

	for (int waits = 0; waits < 2; waits++) {
		(void)wh_dds_subgroup_leave(wh_dds_subgroup_of(node->control),
					    waits ? wh_dds_left_ms(until, LINE_MS) : 0);
		for (struct wh_dds_line *line = node->lines; line != NULL; line = line->next)
			if (wh_dds_subgroup_of(line) != NULL && line != node->loose)
				(void)wh_dds_subgroup_leave(wh_dds_subgroup_of(line),
							    waits ? wh_dds_left_ms(until, LINE_MS) : 0);
	}
}

struct wh_dds_node *wh_dds_node_open_as(const char *function, const struct wh_dds_node *node, uint32_t id)
{
	struct wh_dds_node *other = new_node(node->domain, node->file, true);
	struct whorl_dds_participant_options options = {.size = sizeof(options), .spins = true};
	char text[16];

	snprintf(text, sizeof(text), "%u", (unsigned)id);
	options.node = text;
	if (other != NULL && open_node(function, other, &options) == WHORL_DDS_RETCODE_OK)
		return other;
	if (other != NULL)
		wh_dds_node_drop(other);
	return NULL;
}

/* No participant has it, and it has no thread. */
void wh_dds_node_close_other(struct wh_dds_node *other)
{
	const struct wh_dds_host *host = wh_dds_host();

	end_calls(other);
	leave_channels(other);
	(void)host->close(host->ctx, other->whorl, DRAIN_MS);
	wh_dds_node_drop(other);
}

void wh_dds_node_leave(struct wh_dds_node *node)
{
	const struct wh_dds_host *host = wh_dds_host();
	struct wh_dds_root *root = wh_dds_root();
	bool last;

	pthread_mutex_lock(&root->lock);
	last = --node->participants == 0;
	if (last)
		node->stage = WH_DDS_CLOSING;
	pthread_mutex_unlock(&root->lock);
	if (!last)
		return;
	end_calls(node);
	wh_dds_work_stop(node);
	leave_channels(node);
	(void)host->close(host->ctx, node->whorl, DRAIN_MS);
	pthread_mutex_lock(&root->lock);
	unlist(root, node);
	pthread_mutex_unlock(&root->lock);
	wh_dds_node_drop(node);
}
