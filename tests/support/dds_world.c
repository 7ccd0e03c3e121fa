#include "tests/support/dds_world.h"

/* ---- entities ------------------------------------------------------------------------------------------------------------------ */

whorl_dds_entity new_topic(whorl_dds_entity participant, const char *name, const char *policies)
{
	return topic_of(participant, &pose_type, name, policies);
}

struct place enter(uint32_t number, const char *name, const char *policies)
{
	return place_in(number, &pose_type, name, policies);
}

/* ---- a file -------------------------------------------------------------------------------------------------------------------- */

char domain_file[TEST_PATH_BYTES];

void write_group(const char *rest)
{
	int descriptor = mkstemp(test_temporary(domain_file, "dds"));
	FILE *stream;

	ck_assert_int_ge(descriptor, 0);
	stream = fdopen(descriptor, "w");
	ck_assert_ptr_nonnull(stream);
	fprintf(stream, "[group]\nname = " TEST_GROUP "\nnodes = 0\nnodes_max = 8\n%s", (int)getpid(), rest);
	ck_assert_int_eq(fclose(stream), 0);
	setenv("WHORL_DDS", domain_file, 1);
}

void remove_file(void)
{
	ck_assert_int_eq(unlink(domain_file), 0);
}

/* ---- reading ------------------------------------------------------------------------------------------------------------------- */

bool take_now(whorl_dds_entity reader, struct pose *pose, struct whorl_dds_sample_info *info)
{
	void *data[1] = {pose};
	whorl_dds_return count;

	info->size = sizeof(*info);
	count = whorl_dds_take(reader, data, info, 1);
	if (count < 0)
		ck_abort_msg("take: %d, %s", (int)count, whorl_dds_text());
	return count == 1;
}

struct pose take_one(whorl_dds_entity reader, struct whorl_dds_sample_info *info)
{
	whorl_dds_time until = whorl_dds_now() + patience();
	struct pose pose = {0};

	while (!take_now(reader, &pose, info)) {
		if (whorl_dds_now() > until)
			ck_abort_msg("nothing came");
		moment();
	}
	return pose;
}

int samples_of(whorl_dds_entity reader)
{
	struct whorl_dds_select peek = {.size = sizeof(peek), .peek = true};
	struct whorl_dds_sample_info infos[64] = {{.size = sizeof(infos[0])}};
	void *data[64] = {NULL};
	int count = whorl_dds_read_select(reader, &peek, data, infos, 64);

	ck_assert_int_ge(count, 0);
	well(whorl_dds_return_loan(reader, data, count));
	return count;
}

uint32_t lost_of(whorl_dds_entity reader)
{
	struct whorl_dds_sample_lost_status lost = {0};

	well(whorl_dds_read_status(reader, WHORL_DDS_SAMPLE_LOST_STATUS, &lost, sizeof(lost)));
	return (uint32_t)lost.total_count;
}

int matched_of(whorl_dds_entity entity, uint32_t status)
{
	struct whorl_dds_matched_status matched = {0};

	well(whorl_dds_read_status(entity, status, &matched, sizeof(matched)));
	return (int)matched.current_count;
}

/* ---- processes ----------------------------------------------------------------------------------------------------------------- */

struct board *board;

static void begin_board(void)
{
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(board, MAP_FAILED);
}

static void end_board(void)
{
	munmap(board, sizeof(*board));
}

void reach(int which, int step)
{
	atomic_store(&board->step[which], step);
}

void await(int which, int step)
{
	whorl_dds_time until = whorl_dds_now() + patience();

	while (atomic_load(&board->step[which]) < step) {
		ck_assert_msg(whorl_dds_now() < until, "process %d does not come to step %d", which, step);
		moment();
	}
}

pid_t begin_process(void (*work)(uint32_t), uint32_t number)
{
	pid_t pid = fork();

	if (pid == 0) {
		alarm((unsigned)test_patience(60));
		work(number);
		_exit(0);
	}
	ck_assert_int_gt(pid, 0);
	return pid;
}

void await_end(pid_t pid, bool killed)
{
	int status = 0;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(killed ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x",
		      (unsigned)status);
}

int give_up(const char *what)
{
	fprintf(stderr, "in process %d: %s: %s\n", (int)getpid(), what, whorl_dds_text());
	_exit(1);
}

/* ---- suites -------------------------------------------------------------------------------------------------------------------- */

int run_processes(const char *name, const struct named_test *tests, size_t count)
{
	Suite *s = suite_create(name);

	for (size_t i = 0; i < count; i++) {
		TCase *c = tcase_create(tests[i].name);

		tcase_add_checked_fixture(c, begin_board, end_board);
		tcase_set_timeout(c, (double)test_patience(60));
		tcase_add_test(c, tests[i].test);
		suite_add_tcase(s, c);
	}
	return test_main(s);
}
