/* test_log_full.c - a disk that has no room for a batch when most of it, or all, is written already: what was refused is not there, whatever is
 * written next, and where.
 *
 * Labels: random
 */
#include "tests/unit/log_lab.h"

/* A directory and its files, in front of the simulated ones: a write may be done and refused. */
struct front_file {
	struct wh_file base;
	struct wh_file *behind;
	const bool *refuses;
};

struct front {
	struct wh_directory base;
	struct wh_directory *behind;
	bool refuses;
};

static struct wh_file *behind(struct wh_file *file)
{
	return ((struct front_file *)file)->behind;
}

static enum whorl_result front_size(struct wh_file *file, uint64_t *bytes, struct wh_error *err)
{
	return behind(file)->ops->size(behind(file), bytes, err);
}

static enum whorl_result front_read(struct wh_file *file, uint64_t at, void *out, size_t bytes, size_t *got,
				    struct wh_error *err)
{
	return behind(file)->ops->read(behind(file), at, out, bytes, got, err);
}

static enum whorl_result front_write(struct wh_file *file, uint64_t at, struct iovec *parts, int count,
				     struct wh_error *err)
{
	enum whorl_result result = behind(file)->ops->write(behind(file), at, parts, count, err);

	return result == WHORL_OK && *((struct front_file *)file)->refuses
		       ? wh_error_set(err, WHORL_AGAIN, "there is no room")
		       : result;
}

static enum whorl_result front_allocate(struct wh_file *file, uint64_t bytes, struct wh_error *err)
{
	return behind(file)->ops->allocate(behind(file), bytes, err);
}

static enum whorl_result front_truncate(struct wh_file *file, uint64_t bytes, struct wh_error *err)
{
	return behind(file)->ops->truncate(behind(file), bytes, err);
}

static enum whorl_result front_sync(struct wh_file *file, struct wh_error *err)
{
	return behind(file)->ops->sync(behind(file), err);
}

static void front_close(struct wh_file *file)
{
	behind(file)->ops->close(behind(file));
	free(file);
}

static const struct wh_file_ops front_file_ops = {.size = front_size,
						  .read = front_read,
						  .write = front_write,
						  .allocate = front_allocate,
						  .truncate = front_truncate,
						  .sync = front_sync,
						  .close = front_close};

static enum whorl_result front_open(struct wh_directory *base, const char *name, bool make, struct wh_file **out,
				    struct wh_error *err)
{
	struct front *front = (struct front *)base;
	struct front_file *file = calloc(1, sizeof(*file));
	enum whorl_result result = front->behind->ops->open(front->behind, name, make, &file->behind, err);

	*out = &file->base;
	file->base.ops = &front_file_ops;
	file->refuses = &front->refuses;
	if (result != WHORL_OK)
		free(file);
	return result;
}

static enum whorl_result front_rename(struct wh_directory *base, const char *from, const char *to, struct wh_error *err)
{
	struct wh_directory *directory = ((struct front *)base)->behind;

	return directory->ops->rename(directory, from, to, err);
}

static enum whorl_result front_remove(struct wh_directory *base, const char *name, struct wh_error *err)
{
	struct wh_directory *directory = ((struct front *)base)->behind;

	return directory->ops->remove(directory, name, err);
}

static enum whorl_result front_sync_names(struct wh_directory *base, struct wh_error *err)
{
	struct wh_directory *directory = ((struct front *)base)->behind;

	return directory->ops->sync(directory, err);
}

static enum whorl_result front_list(struct wh_directory *base, void (*each)(void *ctx, const char *name), void *ctx,
				    struct wh_error *err)
{
	struct wh_directory *directory = ((struct front *)base)->behind;

	return directory->ops->list(directory, each, ctx, err);
}

static const struct wh_directory_ops front_ops = {.open = front_open,
						  .rename = front_rename,
						  .remove = front_remove,
						  .sync = front_sync_names,
						  .list = front_list};

static void open_behind_front(struct lab *lab, struct front *front)
{
	ck_assert_int_eq(lab_begin(lab), WHORL_OK);
	*front = (struct front){.base.ops = &front_ops, .behind = lab->directory};
	ck_assert_int_eq(wh_log_open(&lab->log, &front->base, &lab->config, &lab->found, &lab->err), WHORL_OK);
}

static void refuse_and_go_on(uint64_t seed)
{
	struct lab *lab = lab_new(seed);
	struct front front;
	uint32_t refused = 0;

	open_behind_front(lab, &front);
	for (int i = 0; i < 60; i++) {
		enum whorl_result result;

		front.refuses = wh_dice_one_in(&lab->dice, 4);
		result = lab_write(lab); /* another one, if the one before was refused */
		ck_assert(result == (front.refuses ? WHORL_AGAIN : WHORL_OK) || result == WHORL_AGAIN);
		refused += result == WHORL_AGAIN;
		front.refuses = false;
		if (result == WHORL_OK)
			ck_assert_int_eq(wh_log_prepare(lab->log, &lab->err), WHORL_OK);
	}
	ck_assert_uint_gt(refused, 1);
	ck_assert_int_eq(lab_write(lab), WHORL_OK);
	lab_again(lab);
	lab_again_whole(lab);
	lab_free(lab);
}

START_TEST(refused_when_it_was_written)
{
	uint64_t seed = test_seed(1);

	for (uint64_t i = 0; i < 60; i++)
		refuse_and_go_on(seed + i);
}
END_TEST

/* The process ends behind such a batch: then it may be there, whole or not at all. */
START_TEST(refused_and_ended)
{
	uint64_t seed = test_seed(1000);

	for (uint64_t i = 0; i < 40; i++) {
		struct lab *lab = lab_new(seed + i);
		struct front front;

		open_behind_front(lab, &front);
		ck_assert_int_eq(lab_work(lab, 1 + (uint32_t)(i % 20)), WHORL_OK);
		front.refuses = true;
		ck_assert_int_eq(lab_write(lab), WHORL_AGAIN);
		lab_again(lab);
		ck_assert_int_eq(lab_work(lab, 10), WHORL_OK);
		lab_again(lab);
		lab_free(lab);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("log_full");
	TCase *tcase = tcase_create("full");

	tcase_add_test(tcase, refused_when_it_was_written);
	tcase_add_test(tcase, refused_and_ended);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	return test_main(suite());
}
