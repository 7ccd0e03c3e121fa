/* history_file.c - see history_file.h. */
#include "sim/history_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "sim/history_int.h"

#define VIEW_MAX (UINT64_MAX / 2)

/* ---- writing --------------------------------------------------------------------------------------------------------- */

/* Whole lines leave the process, whatever becomes of it. */
static bool flush_line(FILE *log, int printed)
{
	return printed >= 0 && fflush(log) == 0;
}

static int print_place(FILE *log, const struct wh_history_place *place)
{
	if (place->role == WH_HISTORY_OUT)
		return fprintf(log, " -");
	return fprintf(log, " %c%" PRIu32 "%s", place->role == WH_HISTORY_SENDER ? 's' : 'm', place->shard,
		       place->inactive ? "?" : "");
}

bool wh_history_log_view(FILE *log, const struct wh_history_view *view, uint32_t subgroups)
{
	bool good;

	flockfile(log);
	good = fprintf(log, "V %" PRIu64 " %" PRIu32 " ", view->number, view->rank) >= 0;
	for (uint32_t rank = 0; rank < view->count; rank++)
		good &= fprintf(log, "%s%" PRIu32, rank ? "," : "", view->members[rank]) >= 0;
	for (uint32_t g = 0; g < subgroups; g++)
		good &= print_place(log, &view->places[g]) >= 0;
	good &= flush_line(log, putc('\n', log));
	funlockfile(log);
	return good;
}

bool wh_history_log_commit(FILE *log, uint32_t subgroup, uint64_t index, uint64_t digest)
{
	return flush_line(log, fprintf(log, "C %" PRIu32 " %" PRIu64 " %" PRIx64 "\n", subgroup, index, digest));
}

bool wh_history_log_abort(FILE *log, uint32_t subgroup, uint64_t index)
{
	return flush_line(log, fprintf(log, "A %" PRIu32 " %" PRIu64 "\n", subgroup, index));
}

bool wh_history_log_deliver(FILE *log, const struct wh_history_delivery *d)
{
	return flush_line(log,
			  fprintf(log, "D %" PRIu32 " %" PRIu64 " %" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIx64 "\n",
				  d->subgroup, d->view, d->sender, d->index, d->sequence, d->digest));
}

bool wh_history_log_gave(FILE *log, uint32_t subgroup, uint64_t digest)
{
	return flush_line(log, fprintf(log, "G %" PRIu32 " %" PRIx64 "\n", subgroup, digest));
}

bool wh_history_log_restored(FILE *log, uint32_t subgroup, uint64_t digest)
{
	return flush_line(log, fprintf(log, "T %" PRIu32 " %" PRIx64 "\n", subgroup, digest));
}

bool wh_history_log_removed(FILE *log)
{
	return flush_line(log, fprintf(log, "R\n"));
}

bool wh_history_log_leaving(FILE *log)
{
	return flush_line(log, fprintf(log, "L\n"));
}

bool wh_history_log_left(FILE *log)
{
	return flush_line(log, fprintf(log, "E\n"));
}

/* ---- reading --------------------------------------------------------------------------------------------------------- */

struct reader { /* of one log: it has read one event ahead */
	FILE *log;
	uint32_t node;
	uint64_t line_number;
	char *line;
	size_t capacity;
	char kind; /* of the event: a letter, 0: not read yet */
	bool over;
	uint64_t numbers[6]; /* of C, A, D: as they stand in the line */
	struct wh_history_view view;
	uint32_t *members;
	struct wh_history_place *places;
};

/* A number at *at, which moves behind it; it begins with a digit. */
static bool take_number(const char **at, int base, uint64_t max, uint64_t *out)
{
	char *end;

	if (strchr(base == 16 ? "0123456789abcdef" : "0123456789", **at) == NULL || **at == '\0')
		return false;
	*out = strtoull(*at, &end, base);
	*at = end;
	return *out <= max;
}

static bool take_char(const char **at, char what)
{
	if (**at != what)
		return false;
	(*at)++;
	return true;
}

/* " 3 17 0 4 9 ab12": `count` numbers, the last one hexadecimal if `digest`. */
static bool take_numbers(struct reader *r, const char **at, unsigned count, bool digest)
{
	for (unsigned i = 0; i < count; i++)
		if (!take_char(at, ' ') ||
		    !take_number(at, digest && i + 1 == count ? 16 : 10, UINT64_MAX, &r->numbers[i]))
			return false;
	return true;
}

static bool take_members(struct reader *r, const char **at, uint32_t nodes)
{
	uint64_t id;

	r->view.count = 0;
	do {
		if (r->view.count == nodes || !take_number(at, 10, nodes - 1, &id))
			return false;
		r->members[r->view.count++] = (uint32_t)id;
	} while (take_char(at, ','));
	return true;
}

static bool take_place(const char **at, struct wh_history_place *place)
{
	uint64_t shard = 0;

	*place = (struct wh_history_place){.role = WH_HISTORY_OUT};
	if (!take_char(at, ' '))
		return false;
	if (take_char(at, '-'))
		return true;
	if (take_char(at, 's'))
		place->role = WH_HISTORY_SENDER;
	else if (take_char(at, 'm'))
		place->role = WH_HISTORY_MEMBER;
	else
		return false;
	if (!take_number(at, 10, UINT32_MAX, &shard))
		return false;
	place->shard = (uint32_t)shard;
	place->inactive = take_char(at, '?');
	return true;
}

static bool take_view(const struct wh_history *h, struct reader *r, const char **at)
{
	if (!take_numbers(r, at, 2, false) || r->numbers[0] > VIEW_MAX || r->numbers[1] >= h->nodes ||
	    !take_char(at, ' ') || !take_members(r, at, h->nodes))
		return false;
	for (uint32_t g = 0; g < h->subgroup_count; g++)
		if (!take_place(at, &r->places[g]))
			return false;
	r->view.number = r->numbers[0];
	r->view.rank = (uint32_t)r->numbers[1];
	return true;
}

static bool parse_line(const struct wh_history *h, struct reader *r)
{
	const char *at = r->line + 1;
	bool good;

	switch (r->line[0]) {
	case 'V':
		good = take_view(h, r, &at);
		break;
	case 'C':
		good = take_numbers(r, &at, 3, true) && r->numbers[0] < h->subgroup_count;
		break;
	case 'A':
		good = take_numbers(r, &at, 2, false) && r->numbers[0] < h->subgroup_count;
		break;
	case 'D':
		good = take_numbers(r, &at, 6, true) && r->numbers[0] < h->subgroup_count && r->numbers[2] < h->nodes;
		break;
	case 'G':
	case 'T':
		good = take_numbers(r, &at, 2, true) && r->numbers[0] < h->subgroup_count;
		break;
	case 'R':
	case 'L':
	case 'E':
		good = true;
		break;
	default:
		return false;
	}
	r->kind = r->line[0];
	return good && strcmp(at, "\n") == 0;
}

/* Is there another event? False too if the log is broken. */
static bool peek_event(struct wh_history *h, struct reader *r)
{
	ssize_t length;

	if (r->kind != 0 || r->over)
		return !r->over;
	length = getline(&r->line, &r->capacity, r->log);
	if (length < 0 && ferror(r->log))
		return wh_history_break(h, "log: node %" PRIu32 ", line %" PRIu64 " cannot be read", r->node,
					r->line_number + 1);
	if (length <= 0 || r->line[length - 1] != '\n') {
		r->over = true;
		return false;
	}
	r->line_number++;
	if (!parse_line(h, r))
		return wh_history_break(h, "log: node %" PRIu32 ", line %" PRIu64 " says \"%.*s\"", r->node,
					r->line_number, (int)(length - 1 < 60 ? length - 1 : 60), r->line);
	return true;
}

static struct wh_history_delivery delivery_of(const struct reader *r)
{
	return (struct wh_history_delivery){.subgroup = (uint32_t)r->numbers[0],
					    .view = r->numbers[1],
					    .sender = (uint32_t)r->numbers[2],
					    .index = r->numbers[3],
					    .sequence = r->numbers[4],
					    .digest = r->numbers[5]};
}

static bool tell_event(struct wh_history *h, struct reader *r)
{
	const struct wh_history_delivery delivery = delivery_of(r);
	char kind = r->kind;

	r->kind = 0;
	switch (kind) {
	case 'V':
		return wh_history_view(h, r->node, &r->view);
	case 'C':
		return wh_history_commit(h, r->node, (uint32_t)r->numbers[0], r->numbers[1], r->numbers[2]);
	case 'A':
		return wh_history_abort(h, r->node, (uint32_t)r->numbers[0], r->numbers[1]);
	case 'D':
		return wh_history_deliver(h, r->node, &delivery);
	case 'G':
		return wh_history_gave(h, r->node, (uint32_t)r->numbers[0], r->numbers[1]);
	case 'T':
		return wh_history_restored(h, r->node, (uint32_t)r->numbers[0], r->numbers[1]);
	case 'R':
		return wh_history_removed(h, r->node);
	case 'L':
		return wh_history_leaving(h, r->node);
	default:
		return wh_history_left(h, r->node);
	}
}

static bool must_wait(const struct wh_history *h, const struct reader *r)
{
	if (r->kind == 'T')
		return !wh_history_knows_state(h, (uint32_t)r->numbers[0], r->numbers[1]);
	return r->kind == 'D' &&
	       !wh_history_knows(h, (uint32_t)r->numbers[0], r->numbers[1], (uint32_t)r->numbers[2], r->numbers[3]);
}

/* Tells all that can be told of this log up to view `number`. Returns how many events that were. */
static uint64_t advance_log(struct wh_history *h, struct reader *r, uint64_t number)
{
	uint64_t told = 0;

	for (; peek_event(h, r) && !must_wait(h, r) && !(r->kind == 'V' && r->view.number > number); told++)
		if (!tell_event(h, r))
			break;
	return told;
}

/* Is there a log that goes on with another view? What is restored may be given there. */
static bool goes_on(const struct wh_history *h, const struct reader *readers)
{
	for (uint32_t n = 0; n < h->life_count; n++)
		if (readers[n].kind == 'V')
			return true;
	return false;
}

/* All logs, view by view: what is done in a view before the next is installed. A delivery waits until its sender's log has
 * come to the claim; if all wait, that is never, and the history says so. A newcomer that has its state only in a later view waits
 * as long as the others go on. */
static bool merge_logs(struct wh_history *h, struct reader *readers)
{
	uint64_t number = 0, told, next;

	do {
		do {
			told = 0;
			for (uint32_t n = 0; n < h->life_count && !h->is_broken; n++)
				told += advance_log(h, &readers[n], number);
		} while (told > 0 && !h->is_broken);
		next = UINT64_MAX;
		for (uint32_t n = 0; n < h->life_count && !h->is_broken; n++) {
			if (readers[n].kind == 'D' || (readers[n].kind == 'T' && !goes_on(h, readers)))
				return tell_event(h, &readers[n]);
			if (readers[n].kind == 'V' && readers[n].view.number < next)
				next = readers[n].view.number;
		}
		number = next;
	} while (next != UINT64_MAX && !h->is_broken);
	return !h->is_broken;
}

bool wh_history_replay(struct wh_history *h, FILE *const logs[])
{
	struct reader *readers = calloc(h->life_count, sizeof(*readers));
	bool made = readers != NULL, good;

	for (uint32_t n = 0; made && n < h->life_count; n++) {
		struct reader *r = &readers[n];

		r->node = n;
		r->log = logs[n];
		r->over = logs[n] == NULL;
		r->view.members = r->members = calloc(h->nodes, sizeof(*r->members));
		r->view.places = r->places = calloc(h->subgroup_count, sizeof(*r->places));
		made = r->members != NULL && r->places != NULL;
	}
	good = made ? merge_logs(h, readers) : wh_history_memory_out(h);
	for (uint32_t n = 0; readers != NULL && n < h->life_count; n++) {
		free(readers[n].line);
		free(readers[n].members);
		free(readers[n].places);
	}
	free(readers);
	return good;
}
