/* topics.c - real processes that enter and leave subgroups at run time (docs/decisions/0046), on shared memory.
 *
 *     processes-topics crowd COUNT TOPICS   so many processes start at once, and each wishes so many topics: a few views serve all
 *     processes-topics storm SECONDS        five enter, send and leave as it comes, and one after the other is killed, mostly the leader
 *
 * Of the library they see the public headers. What each has delivered, and which members each view had, lies in memory that all share;
 * the parent compares it: members of one topic in one view agree on the members, deliver in one order, and those that go on together to
 * the next have delivered the same.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <whorl/whorl.h>

#include "tests/patience.h"

#define COUNT_MAX 100
#define PATIENCE_MS ((int)test_patience(60000))
#define STORM 5        /* processes */
#define TOPICS 4       /* of a storm */
#define LIVES_MAX 400  /* of all processes of a storm */
#define RECORDS 200000 /* of one life, at most: it says nothing more then */

struct record { /* of one life: a view of a topic, or a message */
	uint64_t view;
	uint64_t sequence; /* 0, with `members`: the view */
	uint64_t members;  /* ids as bits; 0: a message */
	uint64_t incarnation, index;
	uint32_t topic, stay, sender;
};

struct life {
	atomic_ulong count;
	atomic_bool is_ready, done;
	atomic_int id;
	struct record records[RECORDS];
};

struct board { /* of all processes */
	atomic_bool go, ends;
	atomic_ulong in[COUNT_MAX]; /* crowd: how many topics it is in */
	atomic_ulong views;         /* crowd: that node 0 has seen */
	atomic_ulong heard[COUNT_MAX];
	char error[256];
	struct life lives[LIVES_MAX];
};

static struct board *board;
static char config_text[512];

/* ---- failing, waiting ------------------------------------------------------------------------------------------------------- */

_Noreturn __attribute__((format(printf, 1, 2))) static void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	kill(0, SIGTERM); /* a group of its own: main */
	_exit(EXIT_FAILURE);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void look_again(void)
{
	const struct timespec moment = {.tv_nsec = 1000000};

	nanosleep(&moment, NULL);
}

#define UNTIL(condition)                                                                                               \
	for (uint64_t end_ms_ = now_ms() + (uint64_t)PATIENCE_MS; !(condition); look_again())                          \
		if (now_ms() > end_ms_)                                                                                \
	fail("this never came: %s", #condition)

static void must(enum whorl_result result, const char *what, int who)
{
	if (result != WHORL_OK)
		fail("process %d: %s: %s (%s)", who, what, whorl_result_text(result), whorl_invalid_text());
}

static void on_log(enum whorl_log_level level, const char *line, void *ctx)
{
	(void)ctx;
	if (level == WHORL_LOG_ERROR)
		fprintf(stderr, "%s\n", line);
}

static const struct whorl_open_options open_options = {.size = sizeof(open_options), .log = on_log};

static whorl_node *open_node(uint32_t id, whorl_view_fn *on_view, void *ctx)
{
	whorl_config *config = whorl_config_new();
	whorl_node *node;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (config == NULL || whorl_config_load_text(config, "topics", config_text) != WHORL_OK ||
	    whorl_open(config, id, &open_options, &node) != WHORL_OK)
		fail("open: %s", whorl_config_error(config));
	whorl_config_free(config);
	must(whorl_on_view(node, on_view, ctx), "whorl_on_view", (int)id);
	return node;
}

static pid_t spawn(void (*run)(int), int which)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("no process: %s", strerror(errno));
	if (pid > 0)
		return pid;
	run(which);
	_exit(0);
}

/* ---- a crowd ------------------------------------------------------------------------------------------------------------------ */

static int crowd, topics;

static void count_views(const struct whorl_view *view, void *ctx)
{
	(void)ctx;
	if (view->members[view->rank] == 0)
		atomic_store(&board->views, 1 + (unsigned long)view->number);
}

static void hear(const struct whorl_message *message, void *ctx)
{
	(void)message;
	atomic_fetch_add(&board->heard[*(const int *)ctx], 1);
}

static whorl_subgroup *wish(whorl_node *node, int topic, const int *who)
{
	const struct whorl_subgroup_options options = {.size = sizeof(options),
						       .window = 2,
						       .message_bytes = 16,
						       .on_message = hear,
						       .upcall_ctx = (void *)who};
	whorl_subgroup *subgroup;
	char name[32];

	snprintf(name, sizeof(name), "topic-%d", topic);
	if (whorl_subgroup_enter(node, name, &options, 0, &subgroup) != WHORL_TIMEOUT)
		fail("process %d: enter %s: %s", *who, name, whorl_invalid_text());
	return subgroup;
}

static void be_one_of_a_crowd(int who)
{
	whorl_subgroup **in = calloc((size_t)topics, sizeof(whorl_subgroup *));
	whorl_node *node;
	uint32_t count = 0;

	while (!atomic_load(&board->go))
		look_again();
	node = open_node((uint32_t)who, count_views, NULL);
	for (int t = 0; t < topics; t++)
		in[t] = wish(node, t, &who);
	must(whorl_start(node), "whorl_start", who);
	for (int t = 0; t < topics; t++) {
		must(whorl_subgroup_ready(in[t], PATIENCE_MS), "whorl_subgroup_ready", who);
		atomic_fetch_add(&board->in[who], 1);
	}
	UNTIL(whorl_subgroup_members(in[who % topics], NULL, &count) == WHORL_OK && count == (uint32_t)crowd);
	must(whorl_send(in[who % topics], "here", 4, PATIENCE_MS, NULL), "whorl_send", who);
	UNTIL(atomic_load(&board->heard[who]) >= (unsigned long)crowd);
	while (!atomic_load(&board->ends))
		look_again();
	whorl_close(node, 0);
	free(in);
}

static bool all_have_heard(void)
{
	for (int i = 0; i < crowd; i++)
		if (atomic_load(&board->heard[i]) < (unsigned long)crowd)
			return false;
	return true;
}

/* All begin at once: one forms the group, the others come in, 16 with a view, and what they wish comes with them. */
static void play_crowd(void)
{
	unsigned long views, most = 8 + 3 * (unsigned long)(crowd + 15) / 16;

	for (int i = 0; i < crowd; i++)
		spawn(be_one_of_a_crowd, i);
	atomic_store(&board->go, true);
	UNTIL(all_have_heard());
	views = atomic_load(&board->views);
	printf("%d processes in %d topics each: %lu views\n", crowd, topics, views);
	if (views > most)
		fail("it took %lu views, expected %lu at most", views, most);
	atomic_store(&board->ends, true);
	while (wait(NULL) > 0)
		;
}

/* ---- a storm: one of it --------------------------------------------------------------------------------------------------------- */

struct place { /* of a process in a topic */
	struct storm *storm;
	uint32_t topic, stay;
	whorl_subgroup *subgroup; /* NULL: it is not there. [lock] */
	bool leaves;
};

struct storm {
	struct life *life;
	whorl_node *node;
	int id;
	unsigned seed;
	struct place places[TOPICS + 1]; /* the last is for the end */
};

/* On the loop alone. */
static void write_down(const struct storm *storm, const struct record *record)
{
	unsigned long at = atomic_load(&storm->life->count);

	if (at >= RECORDS)
		return;
	storm->life->records[at] = *record;
	atomic_store(&storm->life->count, at + 1);
}

static void note_message(const struct whorl_message *m, void *ctx)
{
	const struct place *place = ctx;

	write_down(place->storm, &(struct record){.view = m->view,
						  .sequence = m->sequence,
						  .incarnation = m->incarnation,
						  .index = m->index,
						  .topic = place->topic,
						  .stay = place->stay,
						  .sender = m->sender});
	atomic_fetch_add(&board->heard[place->storm->id], place->topic == TOPICS);
}

/* A handle is there for the loop as long as its place says so: it is released after the place is empty, with the lock. */
static atomic_flag lock = ATOMIC_FLAG_INIT;

static void take_lock(void)
{
	while (atomic_flag_test_and_set(&lock))
		;
}

static void note_view(const struct whorl_view *view, void *ctx)
{
	struct storm *storm = ctx;

	take_lock();
	for (uint32_t t = 0; t <= TOPICS; t++) {
		const struct place *place = &storm->places[t];
		uint32_t ids[STORM], count = STORM;
		struct record record = {.view = view->number, .topic = t, .stay = place->stay};

		if (place->subgroup == NULL || whorl_subgroup_members(place->subgroup, ids, &count) != WHORL_OK)
			continue;
		for (uint32_t i = 0; i < count; i++)
			record.members |= UINT64_C(1) << ids[i];
		write_down(storm, &record);
	}
	atomic_flag_clear(&lock);
}

static void enter(struct storm *storm, struct place *place, int timeout_ms)
{
	const struct whorl_subgroup_options options = {.size = sizeof(options),
						       .window = rand_r(&storm->seed) % 20 == 0 ? 4 : 5,
						       .message_bytes = 16,
						       .on_message = note_message,
						       .upcall_ctx = place};
	whorl_subgroup *subgroup;
	enum whorl_result result;
	char name[32];

	snprintf(name, sizeof(name), "topic-%u", place->topic);
	take_lock();
	place->stay++;
	result = whorl_subgroup_enter(storm->node, name, &options, 0, &subgroup);
	place->subgroup = subgroup;
	atomic_flag_clear(&lock);
	if (result != WHORL_TIMEOUT && result != WHORL_AGAIN)
		fail("process %d: enter %s: %s (%s)", storm->id, name, whorl_result_text(result), whorl_invalid_text());
	if (subgroup == NULL)
		return;
	result = whorl_subgroup_ready(subgroup, timeout_ms);
	if (result != WHORL_OK && result != WHORL_TIMEOUT && result != WHORL_REFUSED)
		fail("process %d: %s is not ready: %s", storm->id, name, whorl_result_text(result));
}

static void leave(struct place *place, int timeout_ms)
{
	whorl_subgroup *subgroup = place->subgroup;
	enum whorl_result result = whorl_subgroup_leave(subgroup, timeout_ms);

	if (result != WHORL_OK && (result != WHORL_TIMEOUT || timeout_ms == PATIENCE_MS))
		fail("process %d: leave: %s", place->storm->id, whorl_result_text(result));
	place->leaves = result == WHORL_TIMEOUT;
	if (place->leaves) /* it is shown views until it has left */
		return;
	take_lock();
	place->subgroup = NULL;
	atomic_flag_clear(&lock);
	(void)whorl_subgroup_release(subgroup);
}

static void do_something(struct storm *storm)
{
	struct place *place = &storm->places[rand_r(&storm->seed) % TOPICS];
	int chance = rand_r(&storm->seed) % 10, timeout_ms = rand_r(&storm->seed) % 3 == 0 ? 300 : 0;
	enum whorl_result result;

	if (place->subgroup == NULL)
		enter(storm, place, timeout_ms);
	else if (chance == 0 || place->leaves)
		leave(place, timeout_ms);
	for (int i = 0; i < chance && place->subgroup != NULL && !place->leaves; i++) {
		result = whorl_send(place->subgroup, &i, sizeof(i), 0, NULL);
		if (result != WHORL_OK && result != WHORL_AGAIN && result != WHORL_NOT_SENDER &&
		    result != WHORL_NO_QUORUM && result != WHORL_PENDING)
			fail("process %d: send: %s", storm->id, whorl_result_text(result));
		if (result == WHORL_NOT_SENDER && whorl_subgroup_error(place->subgroup, NULL, 0) == WHORL_REFUSED)
			leave(place, timeout_ms);
	}
	if (chance > 6)
		look_again();
}

/* Whatever was, they come together in the end. */
static void come_together(struct storm *storm)
{
	struct place *last = &storm->places[TOPICS];
	uint32_t count = 0;

	for (uint32_t t = 0; t < TOPICS; t++)
		if (storm->places[t].subgroup != NULL)
			leave(&storm->places[t], PATIENCE_MS);
	storm->seed = 1; /* which has the usual window */
	enter(storm, last, PATIENCE_MS);
	UNTIL(whorl_subgroup_members(last->subgroup, NULL, &count) == WHORL_OK && count == STORM);
	must(whorl_send(last->subgroup, "end", 3, PATIENCE_MS, NULL), "the last whorl_send", storm->id);
	UNTIL(atomic_load(&board->heard[storm->id]) >= STORM);
}

static int next_life; /* which the next process writes, and its id */
static int next_id;

static void be_in_a_storm(int which)
{
	static struct storm storm;

	storm.life = &board->lives[which];
	storm.id = next_id;
	storm.seed = (unsigned)which + 7;
	atomic_store(&storm.life->id, storm.id);
	for (uint32_t t = 0; t <= TOPICS; t++)
		storm.places[t] = (struct place){.storm = &storm, .topic = t};
	storm.node = open_node((uint32_t)storm.id, note_view, &storm);
	must(whorl_start(storm.node), "whorl_start", storm.id);
	must(whorl_ready(storm.node, PATIENCE_MS), "whorl_ready", storm.id);
	atomic_store(&storm.life->is_ready, true);
	while (!atomic_load(&board->ends))
		do_something(&storm);
	come_together(&storm);
	atomic_store(&storm.life->done, true);
	while (!atomic_load(&board->go))
		look_again();
	whorl_close(storm.node, 0);
}

/* ---- a storm: the judgement ------------------------------------------------------------------------------------------------------- */

struct entry { /* a record, and the life that wrote it */
	struct record r;
	int life;
};

static int compare(const void *one, const void *other)
{
	const struct record *a = &((const struct entry *)one)->r, *b = &((const struct entry *)other)->r;
	uint64_t x[] = {a->topic, a->view, a->members == 0, a->sequence};
	uint64_t y[] = {b->topic, b->view, b->members == 0, b->sequence};

	for (int i = 0; i < 4; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

/* In its stays each delivers in ascending order, in views in which it is. */
static void judge_life(int which)
{
	const struct life *life = &board->lives[which];
	struct record last[TOPICS + 1] = {{0}};
	uint64_t in[TOPICS + 1];
	uint32_t stays[TOPICS + 1] = {0};

	memset(in, 0xff, sizeof(in));
	for (unsigned long i = 0; i < atomic_load(&life->count); i++) {
		const struct record *r = &life->records[i];

		if (r->members != 0) {
			if ((r->members >> atomic_load(&life->id) & 1) == 0)
				fail("life %d is shown topic %u of view %lu, in which it is not", which, r->topic,
				     (unsigned long)r->view);
			in[r->topic] = r->view;
			stays[r->topic] = r->stay;
			last[r->topic] = (struct record){.view = r->view};
			continue;
		}
		if (in[r->topic] != r->view || stays[r->topic] != r->stay)
			fail("life %d delivers in topic %u in view %lu, and is not in it", which, r->topic,
			     (unsigned long)r->view);
		if (last[r->topic].incarnation != 0 && last[r->topic].sequence >= r->sequence)
			fail("life %d delivers %lu of topic %u behind %lu", which, (unsigned long)r->sequence, r->topic,
			     (unsigned long)last[r->topic].sequence);
		last[r->topic] = *r;
	}
}

static size_t gather(struct entry **out, int lives)
{
	size_t count = 0, at = 0;

	for (int l = 0; l < lives; l++)
		count += atomic_load(&board->lives[l].count);
	*out = calloc(count + 1, sizeof(**out));
	for (int l = 0; l < lives; l++)
		for (unsigned long i = 0; i < atomic_load(&board->lives[l].count); i++)
			(*out)[at++] = (struct entry){board->lives[l].records[i], l};
	qsort(*out, count, sizeof(**out), compare);
	return count;
}

/* Neighbours that name the same view, or the same place in the order, say the same of it. */
static void judge_order(const struct entry *all, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		const struct record *a = &all[i - 1].r, *b = &all[i].r;

		if (compare(&all[i - 1], &all[i]) != 0)
			continue;
		if (a->members != b->members)
			fail("of topic %u in view %lu lives %d and %d have other members", a->topic,
			     (unsigned long)a->view, all[i - 1].life, all[i].life);
		if (a->sender != b->sender || a->index != b->index || a->incarnation != b->incarnation)
			fail("lives %d and %d deliver other messages as %lu of view %lu of topic %u", all[i - 1].life,
			     all[i].life, (unsigned long)a->sequence, (unsigned long)a->view, a->topic);
	}
}

/* How many it has delivered in that topic and view; -1: it has not gone on to the next in the same stay. */
static long delivered(int which, uint32_t topic, uint64_t view)
{
	const struct life *life = &board->lives[which];
	long count = 0;
	bool was = false;
	uint32_t stay = 0;

	for (unsigned long i = 0; i < atomic_load(&life->count); i++) {
		const struct record *r = &life->records[i];

		if (r->topic != topic || r->view < view)
			continue;
		if (r->view == view && r->members == 0)
			count++;
		else if (r->view == view) {
			was = true;
			stay = r->stay;
		} else
			return was && r->members != 0 && r->view == view + 1 && r->stay == stay ? count : -1;
	}
	return -1;
}

/* Those that go on together have delivered as many; that these are the same was seen. */
static void judge_atomicity(const struct entry *all, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		const struct record *a = &all[i - 1].r;
		long one, other;

		if (a->members == 0 || compare(&all[i - 1], &all[i]) != 0)
			continue;
		one = delivered(all[i - 1].life, a->topic, a->view);
		other = delivered(all[i].life, a->topic, a->view);
		if (one >= 0 && other >= 0 && one != other)
			fail("lives %d and %d go on from view %lu of topic %u, and have delivered %ld and %ld",
			     all[i - 1].life, all[i].life, (unsigned long)a->view, a->topic, one, other);
	}
}

/* ---- a storm: all of it ------------------------------------------------------------------------------------------------------------ */

struct running {
	pid_t pid;
	int life, id;
};

static void start_one(struct running *of, int id)
{
	next_id = id;
	*of = (struct running){.life = next_life, .id = id};
	of->pid = spawn(be_in_a_storm, next_life++);
}

/* The oldest stands first, and leads. */
static void replace(struct running *all, int which)
{
	struct running dead = all[which];

	kill(dead.pid, SIGKILL);
	waitpid(dead.pid, NULL, 0);
	memmove(&all[which], &all[which + 1], sizeof(*all) * (size_t)(STORM - 1 - which));
	start_one(&all[STORM - 1], dead.id);
	UNTIL(atomic_load(&board->lives[all[STORM - 1].life].is_ready));
}

static bool are_done(const struct running *all)
{
	for (int i = 0; i < STORM; i++)
		if (!atomic_load(&board->lives[all[i].life].done))
			return false;
	return true;
}

static void play_storm(int seconds)
{
	uint64_t end_ms = now_ms() + (uint64_t)seconds * 1000;
	struct running all[STORM];
	struct entry *entries;
	unsigned seed = 3;
	size_t count;

	for (int i = 0; i < STORM; i++) {
		start_one(&all[i], i);
		UNTIL(atomic_load(&board->lives[all[i].life].is_ready));
	}
	while (now_ms() < end_ms && next_life < LIVES_MAX) {
		for (int i = rand_r(&seed) % 100; i >= 0; i--)
			look_again();
		replace(all, rand_r(&seed) % 3 > 0 ? 0 : rand_r(&seed) % STORM);
	}
	atomic_store(&board->ends, true);
	UNTIL(are_done(all));
	atomic_store(&board->go, true);
	while (wait(NULL) > 0)
		;
	for (int l = 0; l < next_life; l++)
		judge_life(l);
	count = gather(&entries, next_life);
	judge_order(entries, count);
	judge_atomicity(entries, count);
	printf("%d lives, %zu records\n", next_life, count);
	free(entries);
}

static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int main(int argc, char **argv)
{
	bool storms = argc == 3 && strcmp(argv[1], "storm") == 0;

	crowd = argc == 4 && strcmp(argv[1], "crowd") == 0 ? atoi(argv[2]) : 0;
	topics = argc == 4 ? atoi(argv[3]) : 0;
	if (!storms && (crowd < 2 || crowd > COUNT_MAX || topics < 1 || topics > 256)) {
		fprintf(stderr, "usage: %s crowd COUNT TOPICS | storm SECONDS\n", argv[0]);
		return 2;
	}
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (board == MAP_FAILED || setpgid(0, 0) != 0) {
		perror("mmap");
		return EXIT_FAILURE;
	}
	raise_limit();
	snprintf(config_text, sizeof(config_text),
		 "[group]\nname = topics-%d\nnodes = 0\nnodes_max = %d\nfailure_timeout_ms = %d\n", (int)getpid(),
		 storms ? STORM : crowd, PATIENCE_MS / 3);
	if (storms)
		play_storm(atoi(argv[2]));
	else
		play_crowd();
	return EXIT_SUCCESS;
}
