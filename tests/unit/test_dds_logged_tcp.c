/* test_dds_logged_tcp.c - logged topics on a network: nodes on tcp, each with a directory of its own, as on hosts of their own. What was written is
 * there again, at its places, when one or all of their processes have been killed and come back in any order, and when a directory is lost.
 *
 * A process does what this one tells it (struct told), and what its reader has seen is compared here.
 * Labels: threads
 */
#include <dirent.h>
#include <sys/stat.h>

#include "tests/support/dds_world.h"
#include "tests/support/saved.h"

#define LOGGED "durability=persistent history=all"
#define WRITES "durability=persistent writer_data_lifecycle=off reliability.max_blocking=5s"
#define READS "reliability=reliable history=all durability=persistent"
#define NODES 4      /* of these three are configured */
#define TOPICS 3     /* each on a channel of its own */
#define SAMPLES 4096 /* of a topic, at most */

enum order { NOTHING, COME, USE, WRITE, SEE, GO };

struct seen {
	uint64_t view, sequence, number;
	int id, count;
};

/* What one process is told, and what it answers. */
struct told {
	_Atomic enum order order;
	int topic, count; /* of which, how many samples */
	bool failed;
	char text[512];
	int seen_count;
	struct seen seen[SAMPLES];
};

static struct host {
	pid_t pid; /* 0: none */
	struct told *told;
} hosts[NODES];

/* What is known of a topic: all samples that a reader has seen, and how many were acknowledged. */
static struct {
	int acknowledged, count;
	struct seen seen[SAMPLES];
} known[TOPICS];

static char directory[TEST_PATH_BYTES];
static int lives; /* so far: the id of samples is the life that wrote them */

/* ---- the file ---------------------------------------------------------------------------------------------------------------- */

static void path_of(char out[256], int node, const char *rest)
{
	snprintf(out, 256, "%.112s/%d%s", directory, node, rest);
}

/* One for each node, as log_dir is each host's own. */
static void make_files(void)
{
	char path[256];

	ck_assert_ptr_nonnull(mkdtemp(test_temporary(directory, "dds-tcp")));
	for (int i = 0; i < NODES; i++) {
		FILE *file;

		path_of(path, i, "");
		ck_assert_int_eq(mkdir(path, 0700), 0);
		path_of(path, i, ".ini");
		file = fopen(path, "w");
		ck_assert_ptr_nonnull(file);
		fprintf(file,
			"[group]\nname = dds-logged-%d\ntransport = tcp\nnodes = 3\nnodes_max = %d\nlog_dir = %.112s/%d\n"
			"disk_timeout_ms = 60000\nfailure_timeout_ms = %d\n[topic *]\nchannel = own\n",
			(int)getpid(), NODES, directory, i, (int)test_patience(1000));
		ck_assert_int_eq(fclose(file), 0);
		hosts[i].told =
			mmap(NULL, sizeof(struct told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		ck_assert_ptr_ne(hosts[i].told, MAP_FAILED);
	}
}

/* The disk of a host is lost, and another is there. */
static void lose_disk(int node)
{
	char path[256];

	ck_assert_int_eq(hosts[node].pid, 0);
	path_of(path, node, "");
	remove_directory(path);
	ck_assert_int_eq(mkdir(path, 0700), 0);
}

/* ---- a process --------------------------------------------------------------------------------------------------------------- */

static const char *const names[TOPICS] = {"one", "two", "three"};

struct puppet {
	int node, life;
	whorl_dds_entity participant, topics[TOPICS], writers[TOPICS];
	int written[TOPICS];
};

static bool come(struct puppet *it)
{
	struct whorl_dds_participant_options options = {.size = sizeof(options), .ready = 2 * patience()};
	char file[256], node[16];

	path_of(file, it->node, ".ini");
	snprintf(node, sizeof(node), "%d", it->node);
	options.file = file;
	options.node = node;
	it->participant = whorl_dds_create_participant_with(0, &options, NULL, NULL);
	return it->participant > 0;
}

static bool use(struct puppet *it, int topic)
{
	whorl_dds_qos *of = qos(LOGGED), *writes = qos(WRITES);

	it->topics[topic] = whorl_dds_create_topic(it->participant, &pose_type, names[topic], of, NULL);
	it->writers[topic] = it->topics[topic];
	if (it->topics[topic] > 0)
		it->writers[topic] = whorl_dds_create_writer(it->participant, it->topics[topic], writes, NULL);
	whorl_dds_delete_qos(of);
	whorl_dds_delete_qos(writes);
	return it->writers[topic] > 0;
}

/* When it returns all members have them. */
static bool write_some(struct puppet *it, int topic, int count)
{
	whorl_dds_return result = OK;

	while (count > 0 && (result == OK || result == WHORL_DDS_RETCODE_TIMEOUT)) {
		result = whorl_dds_write(it->writers[topic],
					 &(struct pose){.id = it->life, .count = it->written[topic]});
		if (result == OK) {
			it->written[topic]++;
			count--;
		}
	}
	return result == OK && whorl_dds_wait_for_acks(it->writers[topic], patience()) == OK;
}

static int by_place(const void *one, const void *other)
{
	const struct seen *a = one, *b = other;

	if (a->view != b->view)
		return a->view < b->view ? -1 : 1;
	return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
}

/* A late reader, and all that it is given: instance by instance. */
static bool see(const struct puppet *it, int topic, struct told *told)
{
	whorl_dds_qos *of = qos(READS);
	whorl_dds_entity reader = whorl_dds_create_reader(it->participant, it->topics[topic], of, NULL);
	struct whorl_dds_sample_info info;
	struct pose pose;

	whorl_dds_delete_qos(of);
	told->seen_count = 0;
	if (reader < 0 || whorl_dds_wait_for_historical_data(reader, patience()) != OK)
		return false;
	while (take_now(reader, &pose, &info)) {
		if (!info.valid_data)
			continue;
		ck_assert_int_lt(told->seen_count, SAMPLES);
		told->seen[told->seen_count++] =
			(struct seen){info.view, info.sequence, info.number, pose.id, pose.count};
	}
	qsort(told->seen, (size_t)told->seen_count, sizeof(struct seen), by_place);
	return whorl_dds_delete(reader) == OK;
}

static bool obey(struct puppet *it, enum order order, struct told *told)
{
	switch (order) {
	case COME:
		return come(it);
	case USE:
		return use(it, told->topic);
	case WRITE:
		return write_some(it, told->topic, told->count);
	case SEE:
		return see(it, told->topic, told);
	case GO:
		return whorl_dds_delete(it->participant) == OK;
	default:
		return true;
	}
}

static void be_puppet(int node, int life)
{
	struct told *told = hosts[node].told;
	struct puppet it = {.node = node, .life = life};
	enum order order;

	for (;;) {
		while ((order = atomic_load(&told->order)) == NOTHING)
			moment();
		told->failed = !obey(&it, order, told);
		snprintf(told->text, sizeof(told->text), "%s", told->failed ? whorl_dds_text() : "");
		atomic_store(&told->order, NOTHING);
		if (order == GO)
			_exit(told->failed ? 1 : 0);
	}
}

/* ---- orders ------------------------------------------------------------------------------------------------------------------ */

static void begin(int node)
{
	ck_assert_int_eq(hosts[node].pid, 0);
	atomic_store(&hosts[node].told->order, NOTHING);
	lives++;
	hosts[node].pid = fork();
	if (hosts[node].pid == 0) {
		alarm((unsigned)test_patience(120));
		be_puppet(node, lives);
	}
	ck_assert_int_gt(hosts[node].pid, 0);
}

static void tell(int node, enum order order, int topic, int count)
{
	struct told *told = hosts[node].told;

	ck_assert_int_ne(hosts[node].pid, 0);
	told->topic = topic;
	told->count = count;
	atomic_store(&told->order, order);
}

static bool has_answered(int node)
{
	return atomic_load(&hosts[node].told->order) == NOTHING;
}

/* Waits for it. */
static bool is_done(int node)
{
	whorl_dds_time until = whorl_dds_now() + 4 * patience();

	while (!has_answered(node)) {
		ck_assert_msg(whorl_dds_now() < until, "node %d does not answer", node);
		ck_assert_msg(waitpid(hosts[node].pid, NULL, WNOHANG) == 0 || has_answered(node), "node %d has ended",
			      node);
		moment();
	}
	return !hosts[node].told->failed;
}

static void must(int node)
{
	if (!is_done(node))
		ck_abort_msg("node %d: %s", node, hosts[node].told->text);
}

static void do_now(int node, enum order order, int topic, int count)
{
	tell(node, order, topic, count);
	must(node);
}

/* All at once: which ones, as digits in their order. */
static void come_all(const char *nodes)
{
	for (const char *at = nodes; *at != '\0'; at++) {
		begin(*at - '0');
		tell(*at - '0', COME, 0, 0);
	}
	for (const char *at = nodes; *at != '\0'; at++)
		must(*at - '0');
}

static void use_all(const char *nodes, int topic)
{
	for (const char *at = nodes; *at != '\0'; at++)
		tell(*at - '0', USE, topic, 0);
	for (const char *at = nodes; *at != '\0'; at++)
		must(*at - '0');
}

static void write_now(int node, int topic, int count)
{
	do_now(node, WRITE, topic, count);
	known[topic].acknowledged += count;
}

/* At once: none sees another end. A busy machine may let one go on between two kills, into a view of those that are left, of which too few
 * come back. */
static void kill_all(const char *nodes)
{
	for (const char *at = nodes; *at != '\0'; at++)
		kill(hosts[*at - '0'].pid, SIGSTOP);
	for (const char *at = nodes; *at != '\0'; at++)
		kill(hosts[*at - '0'].pid, SIGKILL);
	for (const char *at = nodes; *at != '\0'; at++) {
		await_end(hosts[*at - '0'].pid, true);
		hosts[*at - '0'].pid = 0;
	}
}

static void go(int node)
{
	do_now(node, GO, 0, 0);
	await_end(hosts[node].pid, false);
	hosts[node].pid = 0;
}

/* ---- what must be so --------------------------------------------------------------------------------------------------------- */

/* Each sample that was ever seen is there again, and what is new stands behind that, in order; what a writer wrote is in its order, once. */
static void judge(int node, int topic)
{
	const struct told *told = hosts[node].told;
	int next[256] = {0};

	for (int i = 0; i < told->seen_count; i++) {
		const struct seen *it = &told->seen[i], *before = i > 0 ? it - 1 : NULL;

		if (i < known[topic].count && memcmp(it, &known[topic].seen[i], sizeof(*it)) != 0)
			ck_abort_msg("node %d: %s: %d.%d at %d.%d is not what was there before", node, names[topic],
				     it->id, it->count, (int)it->view, (int)it->sequence);
		if (before != NULL &&
		    (it->view < before->view || (it->view == before->view && it->sequence <= before->sequence)))
			ck_abort_msg("node %d: %s: two are at one place", node, names[topic]);
		if (it->count != next[it->id])
			ck_abort_msg("node %d: %s: there is %d.%d where %d is expected", node, names[topic], it->id,
				     it->count, next[it->id]);
		next[it->id]++;
	}
	if (told->seen_count < known[topic].count || told->seen_count < known[topic].acknowledged)
		ck_abort_msg("node %d: %s: of %d (%d) there are %d", node, names[topic], known[topic].acknowledged,
			     known[topic].count, told->seen_count);
	known[topic].count = told->seen_count;
	memcpy(known[topic].seen, told->seen, (size_t)told->seen_count * sizeof(struct seen));
}

static void see_now(int node, int topic)
{
	do_now(node, SEE, topic, 0);
	judge(node, topic);
}

static void see_all(const char *nodes, int topic)
{
	for (const char *at = nodes; *at != '\0'; at++)
		see_now(*at - '0', topic);
}

static void end_all(void)
{
	char path[256];

	for (int i = 0; i < NODES; i++) {
		if (hosts[i].pid != 0)
			kill(hosts[i].pid, SIGKILL);
		if (hosts[i].pid != 0)
			await_end(hosts[i].pid, true);
		hosts[i].pid = 0;
		munmap(hosts[i].told, sizeof(struct told));
		path_of(path, i, "");
		remove_directory(path);
		path_of(path, i, ".ini");
		ck_assert_int_eq(unlink(path), 0);
	}
	ck_assert_int_eq(rmdir(directory), 0);
}

/* ---- tests ------------------------------------------------------------------------------------------------------------------- */

START_TEST(killed_one_by_one_and_all)
{
	make_files();
	come_all("012");
	use_all("012", 0);
	write_now(0, 0, 20);
	write_now(1, 0, 20);
	see_all("012", 0);
	kill_all("1");
	write_now(2, 0, 20);
	see_all("02", 0);
	come_all("1"); /* has a log, which lacks what came meanwhile */
	use_all("1", 0);
	see_all("1", 0);
	write_now(1, 0, 20);
	tell(0, WRITE, 0, 1000); /* in the midst of it */
	kill_all("012");
	come_all("210");
	use_all("201", 0);
	see_all("120", 0);
	write_now(2, 0, 20);
	kill_all("012");
	come_all("20"); /* a majority */
	use_all("02", 0);
	see_all("20", 0);
	write_now(0, 0, 20);
	come_all("1");
	use_all("1", 0);
	see_all("1", 0);
	end_all();
}
END_TEST

/* The others have all that was on a disk that is lost; and its node is as good as they are then. */
START_TEST(a_directory_is_lost)
{
	make_files();
	come_all("012");
	use_all("012", 0);
	write_now(1, 0, 50);
	see_all("0", 0);
	kill_all("1");
	lose_disk(1);
	come_all("1");
	use_all("1", 0);
	see_all("1", 0);
	write_now(1, 0, 20);
	kill_all("012");
	lose_disk(0);
	for (int i = 0; i < 3; i++) { /* the blank one too, at once */
		begin(i);
		tell(i, COME, 0, 0);
	}
	for (int i = 0; i < 3; i++)
		must(i);
	use_all("012", 0);
	see_all("012", 0);
	kill_all("12");
	lose_disk(2);
	kill_all("0");
	come_all("01");
	use_all("01", 0);
	see_all("01", 0);
	end_all();
}
END_TEST

/* A node was alone in a channel, and goes; others ask for that, are told which node they wait for, and have it when it is there again, though its
 * program does not use the topic. */
START_TEST(the_last_of_a_channel_comes_back)
{
	make_files();
	come_all("012");
	use_all("0", 0);
	use_all("1", 1);
	write_now(0, 0, 20);
	write_now(1, 1, 20);
	see_all("0", 0);
	see_all("1", 1);
	go(0);
	tell(2, USE, 0, 0);
	ck_assert(!is_done(2));
	ck_assert_msg(strstr(hosts[2].told->text, "with 0") != NULL, "\"%s\"", hosts[2].told->text);
	come_all("0");
	use_all("2", 0);
	see_all("2", 0);
	go(0); /* and 2 has all of it now */
	write_now(2, 0, 20);
	see_all("2", 0);
	kill_all("12");
	come_all("120");
	use_all("0", 1);
	use_all("1", 0);
	see_all("0", 1);
	see_all("1", 0);
	end_all();
}
END_TEST

/* Others that only join, and may be all that is left. */
START_TEST(those_that_join_have_it_too)
{
	make_files();
	come_all("0123");
	use_all("3", 0);
	write_now(3, 0, 20);
	use_all("1", 0);
	see_all("13", 0);
	go(3);
	write_now(1, 0, 5);
	go(1);
	come_all("3"); /* its log is of no use any more */
	come_all("1");
	use_all("3", 0);
	see_all("3", 0);
	kill_all("0123");
	lose_disk(1);
	come_all("023");
	use_all("2", 0);
	see_all("2", 0);
	end_all();
}
END_TEST

/* ---- at random ----------------------------------------------------------------------------------------------------------------- */

#define EVENTS 60

static struct {
	unsigned dice;
	int up;                 /* nodes, as bits; and so are: */
	int uses[TOPICS];       /* those of them that use the topic */
	int candidates[TOPICS]; /* those that may have its log, of which one has all of it */
	int view;               /* those that may be in the view; the others know of the rest that they are down */
} lived;

static int draw(int below)
{
	return rand_r(&lived.dice) % below;
}

static int count_of(int nodes)
{
	return __builtin_popcount((unsigned)nodes);
}

static const char *list(int nodes)
{
	static char text[NODES + 1];
	char *at = text;
	int first = draw(NODES);

	for (int i = 0; i < NODES; i++)
		if ((nodes & 1 << (first + i) % NODES) != 0)
			*at++ = (char)('0' + (first + i) % NODES);
	*at = '\0';
	return text;
}

/* For people: WHORL_NOTES. */
static void note(const char *what, int nodes, int topic)
{
	if (getenv("WHORL_NOTES") != NULL)
		fprintf(stderr, "up %x: %s %x, topic %d\n", (unsigned)lived.up, what, (unsigned)nodes, topic);
}

/* Those that are up are in the view, with some of `maybe`. Do these nodes go on, whichever that are? On a network one of them is configured. */
static bool is_quorum(int nodes, int maybe)
{
	return 2 * count_of(nodes & lived.up) > count_of(lived.up | (maybe & ~nodes)) && (nodes & lived.up & 7) != 0;
}

/* Any of them. */
static int one_of(int nodes)
{
	return list(nodes)[0] - '0';
}

/* All members of the channel have what was written, so those that are down are none; nor are they in the view. */
static void write_by(int node, int topic)
{
	note("write", 1 << node, topic);
	write_now(node, topic, 1 + draw(10));
	lived.candidates[topic] &= lived.up;
	lived.view = lived.up;
}

static bool may_use(int topic)
{
	return lived.uses[topic] != 0 || (lived.candidates[topic] & ~lived.up) == 0;
}

static void use_one(int node, int topic)
{
	if ((lived.uses[topic] & 1 << node) != 0 || !may_use(topic))
		return;
	note("use", 1 << node, topic);
	do_now(node, USE, topic, 0);
	lived.uses[topic] |= 1 << node;
	lived.candidates[topic] |= 1 << node;
}

static void come_some(int nodes)
{
	note("come", nodes, 0);
	come_all(list(nodes));
	lived.up |= nodes;
	lived.view |= nodes;
}

static void forget(int nodes)
{
	lived.up &= ~nodes;
	for (int t = 0; t < TOPICS; t++)
		lived.uses[t] &= ~nodes;
}

/* Those that are left are more than half of the view, or all end: then all come back, or more than half. */
static void kill_some(int nodes)
{
	int back = lived.view & ~(1 << draw(NODES));
	bool are_enough = is_quorum(back, lived.view);

	note("kill", nodes, 0);
	for (int i = 0; i < NODES; i++)
		if ((lived.up & 1 << i) != 0 && lived.uses[i % TOPICS] & 1 << i && draw(2) == 0)
			tell(i, WRITE, i % TOPICS, 100);
	if (!is_quorum(lived.up & ~nodes, lived.view))
		nodes = lived.up;
	kill_all(list(nodes));
	forget(nodes);
	for (int i = 0; i < NODES; i++)
		if ((lived.up & 1 << i) != 0)
			(void)is_done(i);
	if (lived.up == 0)
		come_some(are_enough ? back : lived.view);
}

/* The last one in a view has nobody to leave it to. */
static void go_one(int node)
{
	if (!is_quorum(lived.up & ~(1 << node), lived.view & ~(1 << node)))
		return;
	note("go", 1 << node, 0);
	go(node);
	forget(1 << node);
}

static void lose_one(int node)
{
	for (int t = 0; t < TOPICS; t++)
		if ((lived.candidates[t] & 1 << node) != 0)
			return;
	if (((lived.view | lived.up) & 1 << node) == 0)
		lose_disk(node);
}

static void happen(void)
{
	int node = draw(NODES), topic = draw(TOPICS), bit = 1 << node;

	switch (draw(8)) {
	case 0:
		if (draw(2) == 0)
			kill_some(lived.up & (1 << draw(NODES) | 1 << draw(NODES)));
		break;
	case 1:
		if ((lived.up & bit) != 0 && draw(2) == 0)
			go_one(node);
		break;
	case 2:
		if (draw(2) == 0)
			lose_one(node);
		break;
	case 3:
	case 4:
		if ((lived.up & bit) == 0)
			come_some(bit);
		break;
	case 5:
		if ((lived.up & bit) != 0)
			use_one(node, topic);
		break;
	case 6:
		if (lived.uses[topic] != 0)
			see_now(one_of(lived.uses[topic]), topic);
		break;
	default:
		if (lived.uses[topic] != 0)
			write_by(one_of(lived.uses[topic]), topic);
	}
}

START_TEST(lives_that_follow_each_other)
{
	lived.dice = (unsigned)test_seed(1);
	make_files();
	come_some(7);
	for (int i = 0; i < EVENTS; i++)
		happen();
	come_some(((1 << NODES) - 1) & ~lived.up);
	for (int t = 0; t < TOPICS; t++)
		for (int i = 0; i < NODES; i++) {
			use_one(i, t);
			see_now(i, t);
		}
	end_all();
}
END_TEST

int main(void)
{
	const struct named_test tests[] = {
		{"killed", killed_one_by_one_and_all},      {"lost", a_directory_is_lost},
		{"last", the_last_of_a_channel_comes_back}, {"join", those_that_join_have_it_too},
		{"lives", lives_that_follow_each_other},
	};

	return run_processes("dds_logged_tcp", tests, sizeof(tests) / sizeof(tests[0]));
}
