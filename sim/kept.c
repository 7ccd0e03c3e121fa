/* kept.c - what lies on the disks of a run: logs as they come to be synced, and what standings say. See play_int.h.
 *
 *     kept     what a life has delivered of a durable subgroup in its view lies on the disk, synced, of every member of its shard that it
 *              does not suspect; what lies there is what was sent, in one order, and none is missing
 *     said     a view is on the disk before its memory is said to be open; a decision before it is agreed to; a node is there when its
 *              disk knows of what it enters; its log is said to be whole when it is on the disk that it is
 *
 * Disks are looked into from outside, batch by batch as they come: what lies in a log is read as persistence/format_int.h has it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "membership/change.h"
#include "persistence/format_int.h"
#include "persistence/standing.h"
#include "sim/check_int.h"
#include "sim/payload.h"

#define PATH_BYTES 32

static const struct wh_sim_disk *disk_of(const struct actor *actor)
{
	return wh_sim_disk_of(actor->play->sim, actor->id);
}

static const char *path_of(const struct actor *actor, char path[PATH_BYTES])
{
	snprintf(path, PATH_BYTES, "%s/%u", WH_PLAN_LOG_DIR, actor->id);
	return path;
}

/* ---- logs, as they grow ------------------------------------------------------------------------------------------------- */

static void add_record(struct shard_member *member, uint32_t s, const struct wh_log_message *message)
{
	struct kept *kept = &member->kept;

	if (kept->count == kept->capacity) {
		kept->capacity = kept->capacity ? 2 * kept->capacity : 64;
		kept->entries = realloc(kept->entries, kept->capacity * sizeof(*kept->entries));
		if (kept->entries == NULL)
			abort();
	}
	kept->entries[kept->count++] = (struct entry){s, message->index, message->place};
}

/* Is it what its sender has committed? */
static void check_record(struct shard_member *member, const struct wh_log_message *message)
{
	const struct stream *stream;
	struct wh_payload_id id;

	REQUIRE(member, message->sender < member->shard->part_count, "kept",
		"its log has a message of sender %u, of %u", message->sender, member->shard->part_count);
	stream = member->shard->parts[message->sender].stream;
	REQUIRE(member,
		message->index < stream->claimed && stream->messages[message->index].state == MESSAGE_COMMITTED &&
			stream->messages[message->index].slots == message->slots,
		"kept", "its log has message %" PRIu64 " of sender %u, in %u slots, which was not committed so",
		message->index, message->sender, message->slots);
	id = wh_stream_payload(stream, message->index);
	REQUIRE(member, message->bytes == id.bytes && wh_payload_check(message->data, &id) == id.bytes, "kept",
		"message %" PRIu64 " of sender %u is not in its log as it was committed", message->index,
		message->sender);
}

static void take_records(struct shard_member *member, const struct wh_log_batch_head *head, const unsigned char *body)
{
	struct wh_log_message message;
	size_t at = 0;

	REQUIRE(member, head->first == member->kept.next, "kept",
		"a batch of its log begins at place %" PRIu64 ", the one before ends at %" PRIu64, head->first,
		member->kept.next);
	for (uint32_t i = 0; i < head->count && !has_failed(member); i++) {
		wh_log_entry_decode(&message, head, body, i, &at);
		check_record(member, &message);
		if (!has_failed(member))
			add_record(member, message.sender, &message);
	}
	member->kept.next = head->next;
}

/* Of which view that is: false: one that this life has not begun yet. *member NULL: one of lives before. */
static bool find_member(const struct app *app, const struct wh_log_batch_head *head, struct shard_member **member)
{
	const struct actor *actor = app->actor;

	*member = NULL;
	if (actor->view == NULL || head->view > actor->view->number)
		return false;
	*member = wh_app_member_in(app, head->view);
	if (*member != NULL && (!(*member)->entered || (*member)->shard->view->key != head->key))
		*member = NULL;
	return true;
}

/* The batch at the place where the look is, if all of it is on the disk. False: there is none, or it is of a view to come. */
static bool take_batch(struct app *app, struct look *look, const char *path, const char *name)
{
	unsigned char first[WH_LOG_HEAD_BYTES], *bytes;
	struct wh_log_batch_head head;
	struct shard_member *member;
	uint64_t count;
	bool is_whole;

	if (wh_sim_disk_kept(disk_of(app->actor), path, name, look->at, first, sizeof(first)) < sizeof(first) ||
	    !wh_log_batch_decode(&head, first) || !find_member(app, &head, &member))
		return false;
	count = wh_log_batch_bytes(&head);
	bytes = wh_plan_alloc(count, 1);
	is_whole = wh_sim_disk_kept(disk_of(app->actor), path, name, look->at, bytes, count) == count &&
		   wh_log_body_check(&head, bytes + WH_LOG_HEAD_BYTES);
	if (is_whole && member != NULL && head.kind == WH_LOG_KIND_MESSAGES &&
	    (int)member->shard->number == (int)look->shard)
		take_records(member, &head, bytes + WH_LOG_HEAD_BYTES);
	if (is_whole)
		look->at += count;
	free(bytes);
	return is_whole;
}

struct first {
	const char *path, *files;
	uint64_t least, number;
};

/* The least segment that is not below `least`. */
static void note_segment(void *ctx, const char *path, const char *name, uint64_t bytes)
{
	struct first *first = ctx;
	char files[WH_LOG_FILES_BYTES];
	uint64_t number;

	(void)bytes;
	if (strcmp(path, first->path) == 0 && wh_log_file_read(name, files, &number) == WH_LOG_FILE_SEGMENT &&
	    strcmp(files, first->files) == 0 && number >= first->least && number < first->number)
		first->number = number;
}

/* The next file, if the one that it is in goes on no further. */
static bool go_to_next(const struct app *app, struct look *look, const char *path, const char *files)
{
	struct first first = {path, files, look->begun ? look->segment + 1 : 0, UINT64_MAX};
	unsigned char head[WH_LOG_HEAD_BYTES];
	struct wh_log_batch_head batch;
	char name[WH_FILE_NAME_BYTES];

	wh_sim_disk_each(disk_of(app->actor), note_segment, &first);
	if (first.number == UINT64_MAX)
		return false;
	wh_log_file_name(name, files, WH_LOG_FILE_SEGMENT, first.number);
	if (wh_sim_disk_kept(disk_of(app->actor), path, name, WH_LOG_BLOCK_BYTES, head, sizeof(head)) < sizeof(head) ||
	    !wh_log_batch_decode(&batch, head))
		return false;
	*look = (struct look){.shard = look->shard, .segment = first.number, .at = WH_LOG_BLOCK_BYTES, .begun = true};
	return true;
}

static void look_at_log(struct app *app, struct look *look)
{
	const char *subgroup = app->actor->play->plan->config.subgroups[app->g].name;
	char path[PATH_BYTES], files[WH_LOG_FILES_BYTES], name[WH_FILE_NAME_BYTES];
	bool goes_on = true;

	path_of(app->actor, path);
	wh_log_files(files, subgroup, look->shard);
	while (goes_on && !wh_play_failed(app->actor->play)) {
		wh_log_file_name(name, files, WH_LOG_FILE_SEGMENT, look->segment);
		goes_on = (look->begun && take_batch(app, look, path, name)) || go_to_next(app, look, path, files);
	}
}

static struct look *look_of(struct app *app, uint32_t shard)
{
	for (uint32_t i = 0; i < app->look_count; i++)
		if (app->looks[i].shard == shard)
			return &app->looks[i];
	app->looks = realloc(app->looks, (app->look_count + 1) * sizeof(*app->looks));
	if (app->looks == NULL)
		abort();
	app->looks[app->look_count] = (struct look){.shard = shard};
	return &app->looks[app->look_count++];
}

void wh_kept_look(struct actor *actor)
{
	struct play *play = actor->play;
	uint64_t syncs;

	if (!play->plan->logs || actor->view == NULL || actor->crashed || wh_play_failed(play) ||
	    wh_disk_is_harmed(play, actor->id))
		return;
	syncs = wh_sim_disk_syncs(disk_of(actor));
	if (syncs == actor->looked_at && actor->looked_in == actor->view)
		return;
	actor->looked_at = syncs;
	actor->looked_in = actor->view;
	for (uint32_t g = 0; g < play->plan->config.subgroup_count; g++) {
		struct app *app = &actor->apps[g];

		if (play->subgroups[g].plan->durable && app->shard >= 0)
			(void)look_of(app, (uint32_t)app->shard);
		for (uint32_t i = 0; i < app->look_count; i++)
			look_at_log(app, &app->looks[i]);
	}
}

/* What it delivers at this place of the order of its shard. */
void wh_kept_check(const struct shard_member *member, uint64_t place, const struct whorl_message *message)
{
	const struct actor *actor = member->actor;
	uint64_t suspects = wh_inspect_suspects(actor->node) | wh_inspect_left(actor->node);

	for (uint32_t i = 0; i < member->shard->member_count && !has_failed(member); i++) {
		const struct shard_member *other = &member->shard->members[i];
		const struct kept *kept = &other->kept;

		if ((suspects >> other->actor->id & 1) != 0 || wh_disk_is_harmed(actor->play, other->actor->id))
			continue;
		wh_kept_look(other->actor);
		REQUIRE(member,
			place < kept->count && kept->entries[place].sequence == message->sequence &&
				kept->entries[place].index == message->index,
			"kept",
			"delivers message %" PRIu64 " of node %u, number %" PRIu64
			", and %s has %s there on its disk, which has %" PRIu64 " messages, below number %" PRIu64,
			message->index, message->sender, message->sequence, other->actor->name,
			place < kept->count ? "another" : "none", kept->count, kept->next);
	}
}

/* ---- what is said ------------------------------------------------------------------------------------------------------- */

/* False: it is blank, or cannot be read. */
bool wh_kept_standing(const struct play *play, uint32_t id, struct wh_standing *out)
{
	struct wh_directory *directory = NULL;
	struct wh_standing_file file = {.number = 0};
	struct wh_error err;
	char path[PATH_BYTES];
	bool found;

	*out = (struct wh_standing){.group = 0};
	snprintf(path, sizeof(path), "%s/%u", WH_PLAN_LOG_DIR, id);
	if (wh_sim_disk_open_kept(wh_sim_disk_of(play->sim, id), path, &directory, &err) != WHORL_OK)
		return false;
	found = wh_standing_open(&file, directory, out, NULL, &err) == WHORL_OK && !wh_standing_is_blank(out);
	wh_standing_close(&file);
	directory->ops->close(directory);
	return found;
}

/* Allocates *bytes; NULL: that disk has no such view. */
static void read_view(const struct play *play, uint32_t id, uint64_t key, unsigned char **bytes, size_t *count)
{
	struct wh_directory *directory = NULL;
	struct wh_error err;
	char path[PATH_BYTES];

	*bytes = NULL;
	snprintf(path, sizeof(path), "%s/%u", WH_PLAN_LOG_DIR, id);
	if (wh_sim_disk_open_kept(wh_sim_disk_of(play->sim, id), path, &directory, &err) != WHORL_OK)
		return;
	if (wh_standing_read_view(directory, key, bytes, count, &err) != WHORL_OK)
		*bytes = NULL;
	directory->ops->close(directory);
}

static bool has_view(const struct actor *actor, uint64_t key)
{
	unsigned char *bytes;
	size_t count;

	read_view(actor->play, actor->id, key, &bytes, &count);
	free(bytes);
	return bytes != NULL;
}

struct wh_view *wh_kept_view(const struct play *play, uint64_t key)
{
	const struct actor *reader = NULL;
	struct wh_view *view = NULL;

	for (uint32_t i = 0; i < play->lives && reader == NULL; i++)
		if (wh_actor_runs(&play->actors[i]) && play->actors[i].node != NULL)
			reader = &play->actors[i];
	for (uint32_t id = 0; reader != NULL && id < play->nodes && view == NULL; id++) {
		unsigned char *bytes;
		size_t count;

		read_view(play, id, key, &bytes, &count);
		if (bytes != NULL)
			view = wh_inspect_decode(reader->node, bytes, count);
		free(bytes);
	}
	return view;
}

/* It is about to say a step of a change of view. */
void wh_kept_step(const struct actor *actor, enum wh_moment step, uint64_t key, const struct wh_push *push)
{
	struct play *play = actor->play;
	struct wh_standing standing;
	uint64_t proposed = wh_inspect_proposed_key(actor->node);

	if (!wh_node_config_is_durable(&play->plan->config) || wh_disk_is_harmed(play, actor->id))
		return;
	/* The number of no attempt: it gives up what it had acknowledged. */
	if (step == WH_MOMENT_ACKNOWLEDGE && (push->value & WH_ATTEMPTS_MAX) != 0 && !has_view(actor, proposed))
		wh_play_fail(play, "said: %s acknowledges a view that its disk does not have", actor->name);
	if (step != WH_MOMENT_DECIDE && step != WH_MOMENT_ECHO)
		return;
	if (!wh_kept_standing(play, actor->id, &standing) || standing.base != key || standing.ballot != push->value)
		wh_play_fail(play,
			     "said: %s agrees at ballot %" PRIu64 " in view of key %" PRIu64
			     ", and its disk knows of ballot %" PRIu64 " behind %" PRIu64,
			     actor->name, push->value, key, standing.ballot, standing.base);
	else if (!has_view(actor, standing.next))
		wh_play_fail(play, "said: %s agrees to a view that its disk does not have", actor->name);
	wh_standing_free(&standing);
}

/* No other may count on a node before its disk knows (0058). */
static void check_there(const struct actor *actor)
{
	struct play *play = actor->play;
	uint64_t group = wh_inspect_counted(actor->node);
	struct wh_standing standing;

	if (group == 0 || actor->known_there)
		return;
	if (!wh_kept_standing(play, actor->id, &standing) || standing.group != group)
		wh_play_fail(play, "said: %s is counted in a group that its disk does not have", actor->name);
	wh_standing_free(&standing);
}

/* Where all enter a shard their logs have all of it; that comes to their disks before anything that follows from it. And nothing has rotted. */
static void check_whole(struct app *app)
{
	struct play *play = app->actor->play;
	struct whorl_log_stats stats = {.size = sizeof(stats)};
	struct wh_standing standing;
	const struct wh_shard_standing *shard;

	if (app->subgroup == NULL || app->shard < 0 || whorl_log_statistics(app->subgroup, &stats) != WHORL_OK)
		return;
	if (stats.rot)
		wh_play_fail(play, "said: %s, g%u: its log is said to have rot, and nothing there was changed",
			     app->actor->name, app->g);
	if (!app->needs || !stats.whole || app->whole_in == app->stay)
		return;
	app->whole_in = app->stay;
	shard = wh_kept_standing(play, app->actor->id, &standing)
			? wh_standing_shard(&standing, app->g, (uint32_t)app->shard)
			: NULL;
	if (shard == NULL || !shard->whole)
		wh_play_fail(play, "said: %s, g%u: its log is said to be whole, and its disk does not say so",
			     app->actor->name, app->g);
	wh_standing_free(&standing);
}

void wh_kept_pass(struct actor *actor)
{
	struct play *play = actor->play;

	if (!play->plan->logs || actor->removed || wh_disk_is_harmed(play, actor->id) ||
	    !wh_node_config_is_durable(&play->plan->config))
		return;
	wh_kept_look(actor);
	check_there(actor);
	actor->known_there = wh_inspect_counted(actor->node) != 0;
	for (uint32_t g = 0; g < play->plan->config.subgroup_count && !wh_play_failed(play); g++)
		if (play->subgroups[g].plan->durable)
			check_whole(&actor->apps[g]);
}
