/* secure_lab.h - two ends of a connection, and the wire between them in the test's hands. */
#ifndef WH_TESTS_SECURE_LAB_H
#define WH_TESTS_SECURE_LAB_H

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/harness.h"
#include "tests/temporary.h"
#include "transport/secure/secure.h"

enum { CALLER, ANSWERER };

#define LOG_MOST (128 * 1024)

#define LAB_PATH_BYTES (TEST_PATH_BYTES + 16)

struct lab {
	char directory[TEST_PATH_BYTES];
	struct wh_secure_ground ground[2];
	struct wh_secure *end[2];
	struct {
		unsigned char bytes[LOG_MOST]; /* all that it has sent so far */
		size_t count;
	} said[2];
};

static inline void lab_path(const struct lab *lab, const char *name, char out[LAB_PATH_BYTES])
{
	snprintf(out, LAB_PATH_BYTES, "%s/%s", lab->directory, name);
}

static inline void lab_write(const struct lab *lab, const char *name, const void *bytes, size_t count, mode_t mode,
			     char out[LAB_PATH_BYTES])
{
	FILE *file;

	lab_path(lab, name, out);
	unlink(out);
	file = fopen(out, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(bytes, 1, count, file), count);
	ck_assert_int_eq(fchmod(fileno(file), mode), 0);
	ck_assert_int_eq(fclose(file), 0);
}

static inline struct wh_secure_key *lab_key(const struct lab *lab, const char *text)
{
	struct wh_secure_key *key;
	struct wh_error err;
	char path[LAB_PATH_BYTES];

	lab_write(lab, "key", text, strlen(text), 0600, path);
	ck_assert_msg(wh_secure_key_load(path, &key, &err) == WHORL_OK, "%s", err.text);
	return key;
}

/* Node 1 calls node 2 of the group g; in open mode unless the test adds to it. */
static inline void lab_begin(struct lab *lab)
{
	*lab = (struct lab){.directory = ""};
	ck_assert_ptr_nonnull(mkdtemp(test_temporary(lab->directory, "whorl-secure")));
	lab->ground[CALLER] =
		(struct wh_secure_ground){.group = "g", .version = 7, .node = 1, .incarnation = 0x1111222233334444};
	lab->ground[ANSWERER] =
		(struct wh_secure_ground){.group = "g", .version = 7, .node = 2, .incarnation = 0x5555666677778888};
}

static inline void lab_with_key(struct lab *lab)
{
	lab_begin(lab);
	lab->ground[CALLER].key = lab_key(lab, "sixteen bytes of a key");
	lab->ground[ANSWERER].key = lab_key(lab, "sixteen bytes of a key");
}

static inline void lab_hang_up(struct lab *lab)
{
	for (int i = 0; i < 2; i++) {
		wh_secure_free(lab->end[i]);
		lab->end[i] = NULL;
		lab->said[i].count = 0;
	}
}

static inline void lab_end(struct lab *lab)
{
	char command[TEST_PATH_BYTES + 8];

	lab_hang_up(lab);
	for (int i = 0; i < 2; i++) {
		wh_secure_key_free(lab->ground[i].key);
		wh_secure_tls_free(lab->ground[i].tls);
	}
	snprintf(command, sizeof(command), "rm -r %s", lab->directory);
	ck_assert_int_eq(system(command), 0);
}

static inline void lab_connect(struct lab *lab)
{
	struct wh_error err;

	lab_hang_up(lab);
	ck_assert_int_eq(wh_secure_connect(&lab->ground[CALLER], 2, &lab->end[CALLER], &err), WHORL_OK);
	ck_assert_int_eq(wh_secure_accept(&lab->ground[ANSWERER], &lab->end[ANSWERER], &err), WHORL_OK);
}

/* What `from` has to say: off its hands and into the log. Returns where in the log it begins. */
static inline size_t lab_listen(struct lab *lab, int from, size_t *count)
{
	const void *bytes = wh_secure_pending(lab->end[from], count);
	size_t at = lab->said[from].count;

	ck_assert_uint_le(at + *count, LOG_MOST);
	if (*count > 0)
		memcpy(lab->said[from].bytes + at, bytes, *count);
	lab->said[from].count += *count;
	wh_secure_sent(lab->end[from], *count);
	return at;
}

/* Byte by byte, as the worst of networks. Returns whether anything was there. */
static inline bool lab_carry(struct lab *lab, int from)
{
	size_t count, at = lab_listen(lab, from, &count);

	for (size_t i = 0; i < count; i++)
		if (wh_secure_feed(lab->end[!from], lab->said[from].bytes + at + i, 1) != 1)
			break;
	return count > 0;
}

/* Until neither has anything more to say. */
static inline void lab_run(struct lab *lab)
{
	bool said[2];

	do {
		said[0] = lab_carry(lab, CALLER);
		said[1] = lab_carry(lab, ANSWERER);
	} while (said[0] || said[1]);
}

static inline void lab_meet(struct lab *lab)
{
	lab_connect(lab);
	lab_run(lab);
}

static inline bool lab_is(const struct lab *lab, int end, enum wh_secure_state state)
{
	return wh_secure_state(lab->end[end]) == state;
}

#define expect_both(lab, state)                                                                                        \
	do {                                                                                                           \
		ck_assert_msg(lab_is((lab), CALLER, (state)), "caller: %s", wh_secure_reason((lab)->end[CALLER]));     \
		ck_assert_msg(lab_is((lab), ANSWERER, (state)), "answerer: %s",                                        \
			      wh_secure_reason((lab)->end[ANSWERER]));                                                 \
	} while (0)

/* Both have refused, and each says so in these words. */
static inline void expect_refusal(struct lab *lab, const char *caller, const char *answerer)
{
	lab_meet(lab);
	expect_both(lab, WH_SECURE_REFUSED);
	ck_assert_str_eq(wh_secure_reason(lab->end[CALLER]), caller);
	ck_assert_str_eq(wh_secure_reason(lab->end[ANSWERER]), answerer);
}

static inline void expect_faults(const struct lab *lab, enum wh_secure_fault caller, enum wh_secure_fault answerer)
{
	ck_assert_int_eq(wh_secure_fault(lab->end[CALLER]), caller);
	ck_assert_int_eq(wh_secure_fault(lab->end[ANSWERER]), answerer);
}

#endif
