/* measure.c - see measure.h. */
#include "bench/peers/measure.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "bench/limit/payload.h"

#define GRACE_S 60
#define TIMED_EVERY 16 /* of a stream: a look at the clock takes as long as a small message may */
#define WARM_UP_US 20000

static uint64_t time_of(clockid_t clock)
{
	struct timespec now = {0};

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t peers_now(void)
{
	return time_of(CLOCK_MONOTONIC);
}

static uint64_t cpu_now(const struct peers_node *node)
{
	return time_of(CLOCK_PROCESS_CPUTIME_ID) + (node->has_helper ? time_of(node->helper) : 0);
}

void peers_count(struct peers_node *node, pid_t pid)
{
	if (clock_getcpuclockid(pid, &node->helper) != 0)
		peers_fail("process %ld has no clock", (long)pid);
	node->has_helper = true;
}

void peers_fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	exit(1);
}

void peers_open_as(struct peers_node *node, const char *path, uint32_t id)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *memory =
		fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(struct peers_board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		peers_fail("%s: %s", path, strerror(errno));
	close(fd);
	*node = (struct peers_node){.board = memory, .id = id, .scratch = aligned_alloc(64, PEERS_BYTES_MAX)};
	node->plan = node->board->plan;
	if (id >= node->plan.nodes || node->scratch == NULL)
		peers_fail("there is no node %" PRIu32, id);
	node->page = &node->board->pages[id];
	alarm(node->plan.duration_ms / 1000 + GRACE_S);
}

void peers_open(struct peers_node *node, int argc, char *argv[])
{
	if (argc < 3)
		peers_fail("usage: %s BOARD ID [ARGUMENT]...", argv[0]);
	peers_open_as(node, argv[1], (uint32_t)strtoul(argv[2], NULL, 10));
}

static void sleep_100_us(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

void peers_ready(struct peers_node *node, void (*step)(void *ctx), void *ctx)
{
	uint64_t start_ns;

	atomic_store(&node->page->ready, 1);
	while ((start_ns = atomic_load(&node->board->start_ns)) == 0) {
		if (atomic_load(&node->board->over) != 0)
			peers_fail("the run is over before it began");
		if (step != NULL)
			step(ctx);
		sleep_100_us();
	}
	node->cpu_before_ns = cpu_now(node);
	node->end_ns = start_ns + (uint64_t)node->plan.duration_ms * 1000000;
	if (node->plan.gap_us != 0)
		node->due_ns = peers_now() + (uint64_t)WARM_UP_US * 1000;
}

void peers_finish(struct peers_node *node, void (*step)(void *ctx), void *ctx)
{
	while (atomic_load(&node->board->over) == 0) {
		if (step != NULL)
			step(ctx);
		sleep_100_us();
	}
}

uint64_t peers_until_due(const struct peers_node *node)
{
	uint64_t now;

	if (node->due_ns == 0 || !peers_sends(node))
		return 0;
	now = peers_now();
	return now < node->due_ns ? node->due_ns - now : 0;
}

bool peers_is_due(const struct peers_node *node)
{
	return peers_until_due(node) == 0;
}

void peers_pace(const struct peers_node *node)
{
	struct timespec due = {.tv_sec = (time_t)(node->due_ns / 1000000000),
			       .tv_nsec = (long)(node->due_ns % 1000000000)};

	if (node->due_ns != 0)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
}

void peers_fill(struct peers_node *node, void *data)
{
	struct peers_header *header = data;
	bool timed = node->plan.gap_us != 0 || node->sent % TIMED_EVERY == 0;
	uint64_t now = timed ? peers_now() : 0;

	*header = (struct peers_header){.stamp_ns = now, .index = node->sent, .sender = (uint16_t)node->id};
	if (now >= node->end_ns) {
		header->kind = PEERS_LAST;
		node->sent_last = true;
	}
	if (node->due_ns != 0)
		node->due_ns = now + (uint64_t)node->plan.gap_us * 1000;
	wh_payload_fill(header + 1, node->plan.bytes - sizeof(*header), wh_payload_seed(0, node->id, node->sent));
	node->sent++;
}

static void complete_page(struct peers_node *node)
{
	uint64_t delivered = 0;

	for (uint32_t s = 0; s < node->plan.senders; s++)
		delivered += node->next[s];
	node->page->delivered = delivered;
	node->page->done_ns = peers_now();
	node->page->cpu_ns = cpu_now(node) - node->cpu_before_ns;
	atomic_store(&node->page->done, 1);
}

void peers_take(struct peers_node *node, const void *data, size_t bytes)
{
	struct peers_page *page = node->page;
	const struct peers_header *header;
	uint64_t value;

	if (bytes != node->plan.bytes)
		peers_fail("a message of %zu bytes, not %" PRIu32, bytes, node->plan.bytes);
	header = (uintptr_t)data % 8 == 0 ? data : memcpy(node->scratch, data, bytes);
	if (header->sender >= node->plan.senders || header->index != node->next[header->sender])
		peers_fail("message %" PRIu32 " of node %u where %" PRIu32 " should be", header->index, header->sender,
			   node->next[header->sender]);
	node->next[header->sender]++;
	value = wh_payload_digest(header + 1, bytes - sizeof(*header)) + header->sender;
	page->streams[header->sender] = wh_payload_mix(page->streams[header->sender], value);
	page->order = wh_payload_mix(page->order, value);
	if (header->stamp_ns != 0)
		wh_histogram_add(header->sender == node->id ? &page->own : &page->remote,
				 peers_now() - header->stamp_ns);
	if (header->kind == PEERS_LAST && ++node->lasts == node->plan.senders)
		complete_page(node);
}
