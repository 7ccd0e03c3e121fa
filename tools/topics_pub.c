/* topics_pub.c - `whorl dds pub`: each line of standard input, a JSON object, is a sample. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/topics.h"

#define LINE_MOST ((size_t)64 << 20)

struct lines { /* of a descriptor, which may give them slowly */
	char *bytes;
	size_t count, room; /* of bytes that are there, and have place */
	size_t line;        /* of those: the line that was given last, with its end */
	uint64_t number;    /* of that line, from 1 */
	bool ended;
};

/* Reads more. False: a signal has come, or *status says that it was told what is wrong. */
static bool read_more(struct wh_topics *topics, struct lines *lines, enum wh_exit *status)
{
	struct pollfd fds[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
				{.fd = topics->watch.signal_fd, .events = POLLIN}};
	ssize_t got;

	if (lines->room - lines->count < 4096) {
		size_t room = lines->room < 65536 ? 65536 : 2 * lines->room;
		char *bytes = room <= LINE_MOST ? realloc(lines->bytes, room) : NULL;

		if (bytes == NULL) {
			wh_say("standard input:%" PRIu64 ": the line is too long", lines->number + 1);
			*status = WH_EXIT_USAGE;
			return false;
		}
		lines->bytes = bytes;
		lines->room = room;
	}
	(void)poll(fds, 2, 1000);
	if (wh_topics_interrupted(topics)) {
		*status = WH_EXIT_INTERRUPTED;
		return false;
	}
	if (fds[0].revents == 0)
		return true;
	got = read(STDIN_FILENO, lines->bytes + lines->count, lines->room - lines->count - 1);
	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (got < 0) {
		wh_say("standard input: %s", strerror(errno));
		*status = WH_EXIT_FAILED;
		return false;
	}
	lines->count += (size_t)got;
	lines->ended = got == 0;
	return true;
}

/* The next line, without its end; NULL: there is none any more, or as above. */
static char *next_line(struct wh_topics *topics, struct lines *lines, enum wh_exit *status)
{
	char *end;

	if (lines->bytes != NULL)
		memmove(lines->bytes, lines->bytes + lines->line, lines->count - lines->line);
	lines->count -= lines->line;
	lines->line = 0;
	while ((end = lines->count > 0 ? memchr(lines->bytes, '\n', lines->count) : NULL) == NULL && !lines->ended)
		if (!read_more(topics, lines, status))
			return NULL;
	if (end == NULL && lines->count == 0)
		return NULL;
	lines->number++;
	lines->line = end != NULL ? (size_t)(end - lines->bytes) + 1 : lines->count;
	lines->bytes[end != NULL ? lines->line - 1 : lines->count] = '\0';
	if (strlen(lines->bytes) + (end != NULL) == lines->line)
		return lines->bytes;
	wh_say("standard input:%" PRIu64 ": a byte 0, expected a JSON object", lines->number);
	*status = WH_EXIT_USAGE;
	return NULL;
}

static enum wh_exit write_lines(struct wh_topics *topics, whorl_dds_entity writer, const struct whorl_dds_type *type)
{
	bool open = (type->flags & WHORL_DDS_TYPE_BYTES) != 0;
	size_t room = open ? type->bytes_max : type->bytes;
	struct lines lines = {.bytes = NULL};
	enum wh_exit status = WH_EXIT_GOOD;
	void *sample = aligned_alloc(64, (room + 64) / 64 * 64);
	char *line;

	while (sample != NULL && (line = next_line(topics, &lines, &status)) != NULL) {
		struct whorl_dds_write_options options = {.size = sizeof options};
		whorl_dds_return bytes;

		if (line[strspn(line, " \t\r")] == '\0')
			continue;
		bytes = whorl_dds_sample_from_json(type, line, sample, room);
		if (bytes < 0) {
			wh_say("standard input:%" PRIu64 ": %s", lines.number, whorl_dds_text());
			status = WH_EXIT_USAGE;
			break;
		}
		options.bytes = open ? (size_t)bytes : 0;
		if (!wh_topics_write(topics, writer, sample, &options, &status))
			break;
	}
	if (sample == NULL) {
		wh_say("%s", whorl_result_text(WHORL_MEMORY));
		status = WH_EXIT_FAILED;
	}
	free(sample);
	free(lines.bytes);
	return status;
}

/* The topic as it is said, or as others have it. */
static bool open_topic(struct wh_topics *topics, whorl_dds_entity *topic, enum wh_exit *status)
{
	struct whorl_dds_type *type;

	if (topics->type == NULL)
		return wh_topics_find(topics, topic, status);
	type = whorl_dds_type_parse("", topics->type);
	*topic = type != NULL ? whorl_dds_create_topic(topics->participant, type, topics->name, topics->policies, NULL)
			      : WHORL_DDS_RETCODE_BAD_PARAMETER;
	if (*topic < 0)
		*status = wh_topics_refused(*topic);
	whorl_dds_type_free(type);
	return *topic > 0;
}

enum wh_exit wh_topics_pub(struct wh_topics *topics)
{
	enum wh_exit status = WH_EXIT_GOOD, settled;
	whorl_dds_entity topic, writer;

	if (!open_topic(topics, &topic, &status))
		return status;
	writer = whorl_dds_create_writer(topics->participant, topic, topics->policies, NULL);
	if (writer < 0)
		return wh_topics_refused(writer);
	status = write_lines(topics, writer, whorl_dds_get_type(topic));
	if (status == WH_EXIT_INTERRUPTED)
		return topics->stay ? WH_EXIT_GOOD : status;
	settled = wh_topics_settle(topics, writer); /* also if a later line was none */
	if (status == WH_EXIT_GOOD)
		status = settled;
	while (status == WH_EXIT_GOOD && topics->stay && !wh_topics_interrupted(topics))
		wh_watch_wait(&topics->watch, 60000);
	return status;
}
