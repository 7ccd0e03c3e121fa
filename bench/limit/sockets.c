/* sockets.c - the limit of tcp, see limit.h.
 *
 * A node's messages form one sequence: its rings take turns, a turn being one message where each is written by itself,
 * and as many as 64 KB have where they are not, of the largest that the node sends. So there are as many of each ring. The writer and each reader keep the last of that sequence in a row, a
 * turn beside the next, so that what is sent and received is one piece of memory until the row ends. Positions count
 * the bytes of the sequence from the beginning; readers know it as well, and leave out the turns of rings that are not
 * theirs, so nothing but messages is sent.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "bench/limit/limit_int.h"
#include "bench/limit/meet.h"
#include "bench/limit/payload.h"
#include "bench/limit/seal.h"

#define WRITE_BYTES 65536
#define SLEEP_MS 20 /* then it looks whether it goes on */

struct measurement {
	const struct wh_limit_plan *plan;
	bool per_message; /* one write for each, or the largest writes */
	bool sealed;      /* through OpenSSL */
	struct wh_limit_run run;
	struct wh_limit_meeting meeting;
};

/* A ring's in the sequence of its node. */
struct turn {
	const struct wh_limit_ring *ring;
	uint32_t slot;
	uint64_t bytes;
};

/* What one node writes, as the writer or a reader holds it. */
struct row {
	char *slots;
	uint64_t bytes, cycle;         /* of all of it; of a turn of each ring */
	uint32_t ring_count, messages; /* messages of a turn, in each the same */
	struct turn *turns;            /* [ring_count] */
};

/* In the sequence. */
struct place {
	uint64_t position, turn_end;
	uint32_t turn; /* of this ring it is */
};

/* One direction of a connection. */
struct stream {
	int socket;
	struct wh_limit_seal *seal; /* NULL: none */
	struct place at;            /* sent, or received so far */
	struct place read;          /* reader: so much of it */
	struct row *row;
	bool *takes; /* [ring_count] does the reader take part? */
	bool takes_all;
	bool full; /* writer: the socket takes no more */
};

struct worker {
	struct measurement *m;
	uint32_t node;
	int *sockets;                 /* [nodes] */
	int *ends;                    /* [nodes] apart: others of the same pairs, for what is said at the end */
	struct wh_limit_seal **seals; /* [nodes], as the sockets; NULL: none */
	struct row *rows;             /* [nodes] empty: that node writes nothing */
	struct stream *writes;        /* [write_count] */
	struct stream *reads;
	uint32_t write_count, read_count;
	struct place filled; /* [filler] of my row */
	wh_word failure;     /* [its threads] the first errno value */
	pthread_t filler, parter;
};

static bool takes_part(const struct wh_limit_ring *ring, uint32_t node)
{
	for (uint32_t r = 0; r < ring->reader_count; r++)
		if (ring->readers[r] == node)
			return true;
	return false;
}

/* The row of one node, without memory for turns and slots. */
static struct row measure_row(const struct wh_limit_plan *plan, uint32_t node, bool per_message)
{
	struct row row = {.messages = 1};
	uint64_t window = 1, slots = 0, largest = 1, turns;

	for (size_t r = 0; r < plan->ring_count; r++) {
		uint64_t slot = wh_limit_slot(plan->rings[r].bytes);

		if (plan->rings[r].writer != node)
			continue;
		row.ring_count++;
		slots += slot;
		largest = slot > largest ? slot : largest;
		if (plan->rings[r].window > window)
			window = plan->rings[r].window;
	}
	if (!per_message && largest <= WRITE_BYTES)
		row.messages = (uint32_t)(WRITE_BYTES / largest);
	turns = (window + row.messages - 1) / row.messages;
	if (!per_message && turns < 2) /* one is filled while the other is sent */
		turns = 2;
	row.cycle = row.messages * slots;
	row.bytes = turns * row.cycle;
	return row;
}

static struct place place_of_row(const struct row *row)
{
	return (struct place){.turn_end = row->ring_count > 0 ? row->turns[0].bytes : 0};
}

static inline void advance(struct place *place, const struct row *row, uint64_t bytes)
{
	place->position += bytes;
	while (place->position >= place->turn_end) {
		place->turn = place->turn + 1 == row->ring_count ? 0 : place->turn + 1;
		place->turn_end += row->turns[place->turn].bytes;
	}
}

/* Past turns that are not for this reader. It stands at the beginning of one then. */
static void skip_turns(struct place *place, const struct stream *stream, uint64_t end)
{
	while (place->position < end && !stream->takes[place->turn])
		advance(place, stream->row, place->turn_end - place->position);
}

uint64_t wh_limit_sockets_memory(const struct wh_limit_plan *plan)
{
	uint64_t bytes = wh_limit_shared_bytes(2 * plan->nodes);

	for (uint32_t node = 0; node < plan->nodes; node++) {
		uint64_t each = measure_row(plan, node, true).bytes, best = measure_row(plan, node, false).bytes;

		bytes += wh_limit_here(plan) * (each > best ? each : best);
	}
	return bytes;
}

/* ---- writing and reading -----------------------------------------------------------------------------------------*/

/* How much from the stream's position on, and before `end`, lies in one piece and is for this reader. */
static uint64_t piece_bytes(struct stream *stream, uint64_t end)
{
	const struct row *row = stream->row;
	uint64_t border;

	skip_turns(&stream->at, stream, end);
	if (stream->at.position >= end)
		return 0;
	border = stream->takes_all ? (stream->at.position / row->bytes + 1) * row->bytes : stream->at.turn_end;
	return (border < end ? border : end) - stream->at.position;
}

static char *place_in_row(const struct stream *stream)
{
	return stream->row->slots + stream->at.position % stream->row->bytes;
}

static ssize_t send_bytes(const struct stream *stream, const void *bytes, size_t count)
{
	return stream->seal != NULL ? wh_limit_seal_send(stream->seal, bytes, count)
				    : send(stream->socket, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static ssize_t receive_bytes(const struct stream *stream, void *bytes, size_t count)
{
	return stream->seal != NULL ? wh_limit_seal_receive(stream->seal, bytes, count)
				    : recv(stream->socket, bytes, count, MSG_DONTWAIT);
}

/* Sends what the reader has not got yet. Returns how many bytes went; sets *number on failure. */
static uint64_t flush_stream(const struct worker *w, struct stream *stream, int *number)
{
	uint64_t sent = 0, bytes;

	stream->full = false;
	while ((bytes = piece_bytes(stream, w->filled.position)) > 0) {
		uint64_t most = w->m->per_message ? stream->at.turn_end - stream->at.position : WRITE_BYTES;
		ssize_t went = send_bytes(stream, place_in_row(stream), bytes < most ? bytes : most);

		if (went < 0) {
			stream->full = errno == EAGAIN;
			if (!stream->full)
				*number = errno;
			break;
		}
		advance(&stream->at, stream->row, (uint64_t)went);
		sent += (uint64_t)went;
	}
	return sent;
}

/* Fills a turn if all readers have left room for it. */
static bool fill_turn(struct worker *w)
{
	const struct row *row = &w->rows[w->node];
	const struct turn *turn = &row->turns[w->filled.turn];
	uint64_t digest = 0, from = w->filled.position;

	for (uint32_t s = 0; s < w->write_count; s++)
		if (w->writes[s].at.position + row->bytes < from + turn->bytes)
			return false;
	for (uint64_t at = from; at < from + turn->bytes; at += turn->slot) {
		char *slot = row->slots + at % row->bytes;

		wh_payload_fill(slot, turn->ring->bytes, wh_payload_seed(0, w->node, at));
		digest += wh_payload_digest(slot, turn->ring->bytes); /* the writer is a reader too */
	}
	advance(&w->filled, row, turn->bytes);
	wh_limit_add(&w->m->run.shared->counts[2 * w->node], row->messages, (uint64_t)row->messages * turn->ring->bytes,
		     digest);
	return true;
}

/* Fills one turn, or as many as one write takes: those of rings with smaller messages are small. */
static bool fill_turns(struct worker *w)
{
	const struct row *row = &w->rows[w->node];
	uint64_t from = w->filled.position;
	bool filled;

	do {
		filled = fill_turn(w);
	} while (filled && !w->m->per_message &&
		 w->filled.position - from + row->turns[w->filled.turn].bytes <= WRITE_BYTES);
	return w->filled.position > from;
}

/* Fills, at most `most` turns where each message is written by itself, and sends. Returns whether there was anything to do. */
static bool write_some(struct worker *w, uint32_t most, int *number)
{
	bool done = false;

	for (uint32_t turns = 0; turns < most && *number == 0; turns++) {
		bool filled = fill_turns(w);
		uint64_t sent = 0;

		for (uint32_t s = 0; s < w->write_count; s++)
			sent += flush_stream(w, &w->writes[s], number);
		if (!filled && sent == 0)
			break;
		done = true;
	}
	return done;
}

/* Receives once, and reads the messages that are whole. Returns whether there was anything. */
static bool read_one(struct worker *w, struct stream *stream, int *number)
{
	const struct row *row = stream->row;
	uint64_t bytes = piece_bytes(stream, UINT64_MAX), messages = 0, read = 0, digest = 0;
	ssize_t came = receive_bytes(stream, place_in_row(stream), bytes);

	if (came <= 0) {
		if (came == 0 || errno != EAGAIN)
			*number = came == 0 ? ECONNRESET : errno;
		return false;
	}
	advance(&stream->at, row, (uint64_t)came);
	for (;; messages++) {
		const struct turn *turn;

		skip_turns(&stream->read, stream, stream->at.position);
		turn = &row->turns[stream->read.turn];
		if (stream->read.position + turn->slot > stream->at.position)
			break;
		digest += wh_payload_digest(row->slots + stream->read.position % row->bytes, turn->ring->bytes);
		read += turn->ring->bytes;
		advance(&stream->read, row, turn->slot);
	}
	wh_limit_add(&w->m->run.shared->counts[2 * w->node + 1], messages, read, digest);
	return true;
}

static void sleep_until_ready(const struct worker *w, bool fills, bool reads, struct pollfd *fds)
{
	nfds_t count = 0;

	for (uint32_t s = 0; fills && s < w->write_count; s++)
		if (w->writes[s].full)
			fds[count++] = (struct pollfd){.fd = w->writes[s].socket, .events = POLLOUT};
	for (uint32_t s = 0; reads && s < w->read_count; s++)
		fds[count++] = (struct pollfd){.fd = w->reads[s].socket, .events = POLLIN};
	poll(fds, count, SLEEP_MS);
}

/* Others that have seen the end before us close their sockets, when all have measured: that is no failure. */
static void note_failure(struct worker *w, int number)
{
	uint64_t none = 0;

	if (wh_phase_get(&w->m->run.shared->phase) < WH_LIMIT_OTHERS)
		while (!wh_compare_swap(&w->failure, &none, (uint64_t)number) && none == 0)
			;
}

/* One thread's life. */
static void work_until_stop(struct worker *w, bool fills, bool reads)
{
	const struct wh_limit_plan *plan = w->m->plan;
	struct wh_limit_shared *shared = w->m->run.shared;
	struct pollfd *fds = calloc(2 * (size_t)plan->nodes, sizeof *fds);
	const struct row *row = &w->rows[w->node];
	uint32_t most = 1;
	int number = fds == NULL ? ENOMEM : 0;

	if (fills && reads && w->m->per_message)
		most = wh_limit_burst((uint32_t)(row->bytes / row->cycle * row->ring_count),
				      (uint32_t)(row->cycle / row->ring_count));
	wh_limit_ready(shared);
	while (number == 0 && wh_load_relaxed(&w->failure) == 0 && wh_phase_get(&shared->phase) < WH_LIMIT_STOP) {
		bool done = fills && write_some(w, most, &number);

		for (uint32_t s = 0; reads && s < w->read_count && number == 0; s++)
			done |= read_one(w, &w->reads[s], &number);
		if (!done && number == 0 && !plan->spin)
			sleep_until_ready(w, fills, reads, fds);
	}
	if (number != 0)
		note_failure(w, number);
	free(fds);
}

/* ---- a node ------------------------------------------------------------------------------------------------------*/

static bool row_open(struct row *row, const struct measurement *m, uint32_t node)
{
	uint32_t count = 0;

	*row = measure_row(m->plan, node, m->per_message);
	if (row->ring_count == 0)
		return true;
	row->turns = calloc(row->ring_count, sizeof *row->turns);
	row->slots = aligned_alloc(WH_CACHE_LINE, wh_limit_round_up(row->bytes, WH_CACHE_LINE));
	if (row->turns == NULL || row->slots == NULL)
		return false;
	memset(row->slots, 0, row->bytes); /* mapped now, not under the clock */
	for (size_t r = 0; r < m->plan->ring_count; r++) {
		const struct wh_limit_ring *ring = &m->plan->rings[r];
		uint32_t slot = (uint32_t)wh_limit_slot(ring->bytes);

		if (ring->writer == node)
			row->turns[count++] = (struct turn){ring, slot, (uint64_t)row->messages * slot};
	}
	return true;
}

/* Does `reader` read anything of this row? Then the stream is made; false without *made: no memory. */
static bool stream_open(const struct worker *w, uint32_t peer, struct stream *stream, struct row *row, uint32_t reader,
			bool *made)
{
	uint32_t count = 0;

	*made = false;
	for (uint32_t r = 0; r < row->ring_count; r++)
		count += takes_part(row->turns[r].ring, reader);
	if (count == 0)
		return true;
	*stream = (struct stream){.socket = w->sockets[peer],
				  .seal = w->m->sealed ? w->seals[peer] : NULL,
				  .row = row,
				  .at = place_of_row(row),
				  .read = place_of_row(row),
				  .takes = calloc(row->ring_count, sizeof *stream->takes),
				  .takes_all = count == row->ring_count};
	for (uint32_t r = 0; stream->takes != NULL && r < row->ring_count; r++)
		stream->takes[r] = takes_part(row->turns[r].ring, reader);
	*made = stream->takes != NULL;
	return *made;
}

static bool worker_open(struct worker *w)
{
	uint32_t nodes = w->m->plan->nodes;
	bool good, made;

	w->rows = calloc(nodes, sizeof *w->rows);
	w->writes = calloc(nodes, sizeof *w->writes);
	w->reads = calloc(nodes, sizeof *w->reads);
	good = w->rows != NULL && w->writes != NULL && w->reads != NULL && row_open(&w->rows[w->node], w->m, w->node);
	if (good)
		w->filled = place_of_row(&w->rows[w->node]);
	for (uint32_t peer = 0; peer < nodes && good; peer++) {
		if (peer == w->node)
			continue;
		good = row_open(&w->rows[peer], w->m, peer) &&
		       stream_open(w, peer, &w->writes[w->write_count], &w->rows[w->node], peer, &made);
		w->write_count += good && made;
		good = good && stream_open(w, peer, &w->reads[w->read_count], &w->rows[peer], w->node, &made);
		w->read_count += good && made;
	}
	return good;
}

static void worker_close(struct worker *w)
{
	for (uint32_t s = 0; s < w->write_count; s++)
		free(w->writes[s].takes);
	for (uint32_t s = 0; s < w->read_count; s++)
		free(w->reads[s].takes);
	for (uint32_t node = 0; w->rows != NULL && node < w->m->plan->nodes; node++) {
		free(w->rows[node].turns);
		free(w->rows[node].slots);
	}
	for (uint32_t node = 0; w->seals != NULL && node < w->m->plan->nodes; node++)
		wh_limit_seal_close(w->seals[node]);
	free((void *)w->seals);
	free(w->writes);
	free(w->reads);
	free(w->rows);
}

/* In the order of the peers: of all handshakes that have not been the first, in that of their lower and then their higher node, finds both
 * its nodes ready for it. */
static int seal_sockets(struct worker *w)
{
	uint32_t nodes = w->m->plan->nodes;
	int number = 0;

	w->seals = calloc(nodes, sizeof *w->seals);
	if (w->seals == NULL)
		return ENOMEM;
	for (uint32_t peer = 0; peer < nodes && number == 0; peer++)
		if (w->sockets[peer] >= 0)
			number = wh_limit_seal_open(&w->seals[peer], w->sockets[peer], peer < w->node,
						    w->m->meeting.word);
	return number;
}

static void *fill_thread(void *worker)
{
	work_until_stop(worker, true, false);
	return NULL;
}

/* When the parent has measured the others are told, and what they tell is awaited. They are sent messages meanwhile. */
static void *part_together(void *worker)
{
	struct worker *w = worker;
	struct wh_limit_shared *shared = w->m->run.shared;
	uint32_t phase;
	int number = 0;

	while (wh_load_relaxed(&w->failure) == 0 && (phase = wh_phase_get(&shared->phase)) < WH_LIMIT_OTHERS)
		wh_phase_wait(&shared->phase, phase, SLEEP_MS);
	if (wh_phase_get(&shared->phase) == WH_LIMIT_OTHERS)
		number = wh_limit_together(&w->m->meeting, w->ends);
	wh_store_release(&shared->parted, number == 0 ? 1 : 2); /* partner: await_workers */
	return NULL;
}

/* Until the parent has seen that. */
static void await_stop(struct worker *w)
{
	struct wh_phase *phase = &w->m->run.shared->phase;

	pthread_join(w->parter, NULL);
	while (wh_load_relaxed(&w->failure) == 0 && wh_phase_get(phase) == WH_LIMIT_OTHERS)
		wh_phase_wait(phase, WH_LIMIT_OTHERS, SLEEP_MS);
}

static int run_worker(struct worker *w)
{
	bool fills = w->rows[w->node].ring_count > 0, both = w->m->plan->caller, parts = false;
	int number = 0;

	if (fills && !both)
		number = pthread_create(&w->filler, NULL, fill_thread, w);
	if (number != 0)
		return number;
	if (w->m->plan->apart) {
		number = pthread_create(&w->parter, NULL, part_together, w);
		parts = number == 0;
		if (!parts)
			note_failure(w, number);
	}
	work_until_stop(w, fills && both, true);
	if (fills && !both)
		pthread_join(w->filler, NULL);
	if (parts)
		await_stop(w);
	return (int)wh_load_relaxed(&w->failure);
}

#define ENDS 1024 /* more than there are meetings */

/* Each with each: for messages, and apart once more, by another number: in the first a word has no place, as nothing but messages is sent there,
 * and its end cannot be one, as none may end before it has heard of all. Then none has gone on before all have come. */
static int meet_others(struct worker *w)
{
	struct wh_limit_meeting ends = w->m->meeting;
	int number = wh_limit_meet(&w->m->meeting, w->node, WH_LIMIT_EVERYBODY, w->sockets);

	ends.number += ENDS;
	if (number == 0 && w->m->plan->apart)
		number = wh_limit_meet(&ends, w->node, WH_LIMIT_EVERYBODY, w->ends);
	return number == 0 ? wh_limit_together(&w->m->meeting, w->sockets) : number;
}

static int *no_sockets(uint32_t nodes)
{
	int *sockets = calloc(nodes, sizeof *sockets);

	for (uint32_t node = 0; sockets != NULL && node < nodes; node++)
		sockets[node] = -1;
	return sockets;
}

static int run_node(void *ctx, uint32_t number_here)
{
	struct worker w = {.m = ctx};
	int number = ENOMEM;

	w.node = w.m->plan->apart ? w.m->plan->here : number_here;
	w.sockets = no_sockets(w.m->plan->nodes);
	w.ends = no_sockets(w.m->plan->nodes);
	if (w.sockets == NULL || w.ends == NULL)
		goto out_free;
	number = meet_others(&w);
	if (number == 0 && w.m->sealed)
		number = seal_sockets(&w);
	if (number == 0 && !worker_open(&w))
		number = ENOMEM;
	if (number == 0)
		number = run_worker(&w);
	worker_close(&w);
	wh_limit_part(&w.m->meeting, w.sockets);
	wh_limit_part(&w.m->meeting, w.ends);
out_free:
	free(w.sockets);
	free(w.ends);
	return number;
}

/* ---- the parent --------------------------------------------------------------------------------------------------*/

enum way { BEST_WRITE, PER_MESSAGE, SEALED }; /* numbers of meetings too */

static enum whorl_result measure_way(const struct wh_limit_plan *plan, struct wh_watch *watch, enum way way,
				     struct wh_limit_rate *rate, struct wh_error *err)
{
	struct measurement m = {.plan = plan, .per_message = way == PER_MESSAGE, .sealed = way == SEALED};
	enum whorl_result result;

	result = wh_limit_meeting_open(&m.meeting, plan, plan->nodes, way, err);
	if (result != WHORL_OK)
		return result;
	/* One thread counts what it fills, another what it receives. */
	result = wh_limit_open(&m.run, plan, wh_limit_shared_bytes(2 * plan->nodes), 2 * plan->nodes, err);
	if (result == WHORL_OK)
		result = wh_limit_start(&m.run, watch, wh_limit_here(plan), wh_limit_threads(plan), run_node, &m, err);
	if (result == WHORL_OK)
		result = wh_limit_rate(&m.run, rate, err);
	result = wh_limit_close(&m.run, result, err);
	wh_limit_meeting_close(&m.meeting);
	return result;
}

enum whorl_result wh_limit_sockets(const struct wh_limit_plan *plan, struct wh_watch *watch,
				   struct wh_limit_result *result, struct wh_error *err)
{
	struct wh_limit_plan one_thread = *plan; /* for each node: of a connection through OpenSSL */
	enum whorl_result outcome = measure_way(plan, watch, PER_MESSAGE, &result->rate, err);

	one_thread.caller = true;
	if (outcome == WHORL_OK)
		outcome = measure_way(plan, watch, BEST_WRITE, &result->best_write, err);
	if (outcome == WHORL_OK && plan->tls)
		outcome = measure_way(&one_thread, watch, SEALED, &result->sealed_write, err);
	return outcome;
}
