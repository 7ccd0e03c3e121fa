#include "tests/support/secure_lab.h"

void lab_path(const struct lab *lab, const char *name, char out[LAB_PATH_BYTES])
{
	snprintf(out, LAB_PATH_BYTES, "%s/%s", lab->directory, name);
}

void secure_lab_write(const struct lab *lab, const char *name, const void *bytes, size_t count, mode_t mode,
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

struct wh_secure_key *secure_lab_key(const struct lab *lab, const char *text)
{
	struct wh_secure_key *key;
	struct wh_error err;
	char path[LAB_PATH_BYTES];

	secure_lab_write(lab, "key", text, strlen(text), 0600, path);
	ck_assert_msg(wh_secure_key_load(path, &key, &err) == WHORL_OK, "%s", err.text);
	return key;
}

void secure_lab_begin(struct lab *lab)
{
	*lab = (struct lab){.directory = ""};
	ck_assert_ptr_nonnull(mkdtemp(test_temporary(lab->directory, "whorl-secure")));
	lab->ground[CALLER] =
		(struct wh_secure_ground){.group = "g", .version = 7, .node = 1, .incarnation = 0x1111222233334444};
	lab->ground[ANSWERER] =
		(struct wh_secure_ground){.group = "g", .version = 7, .node = 2, .incarnation = 0x5555666677778888};
}

void lab_with_key(struct lab *lab)
{
	secure_lab_begin(lab);
	lab->ground[CALLER].key = secure_lab_key(lab, "sixteen bytes of a key");
	lab->ground[ANSWERER].key = secure_lab_key(lab, "sixteen bytes of a key");
}

static void lab_hang_up(struct lab *lab)
{
	for (int i = 0; i < 2; i++) {
		wh_secure_free(lab->end[i]);
		lab->end[i] = NULL;
		lab->said[i].count = 0;
	}
}

void secure_lab_end(struct lab *lab)
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

void lab_connect(struct lab *lab)
{
	struct wh_error err;

	lab_hang_up(lab);
	ck_assert_int_eq(wh_secure_connect(&lab->ground[CALLER], 2, &lab->end[CALLER], &err), WHORL_OK);
	ck_assert_int_eq(wh_secure_accept(&lab->ground[ANSWERER], &lab->end[ANSWERER], &err), WHORL_OK);
}

size_t lab_listen(struct lab *lab, int from, size_t *count)
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

bool lab_carry(struct lab *lab, int from)
{
	size_t count, at = lab_listen(lab, from, &count);

	for (size_t i = 0; i < count; i++)
		if (wh_secure_feed(lab->end[!from], lab->said[from].bytes + at + i, 1) != 1)
			break;
	return count > 0;
}

void lab_run(struct lab *lab)
{
	bool said[2];

	do {
		said[0] = lab_carry(lab, CALLER);
		said[1] = lab_carry(lab, ANSWERER);
	} while (said[0] || said[1]);
}

void lab_meet(struct lab *lab)
{
	lab_connect(lab);
	lab_run(lab);
}

bool lab_is(const struct lab *lab, int end, enum wh_secure_state state)
{
	return wh_secure_state(lab->end[end]) == state;
}

void expect_refusal(struct lab *lab, const char *caller, const char *answerer)
{
	lab_meet(lab);
	expect_both(lab, WH_SECURE_REFUSED);
	ck_assert_str_eq(wh_secure_reason(lab->end[CALLER]), caller);
	ck_assert_str_eq(wh_secure_reason(lab->end[ANSWERER]), answerer);
}

void expect_faults(const struct lab *lab, enum wh_secure_fault caller, enum wh_secure_fault answerer)
{
	ck_assert_int_eq(wh_secure_fault(lab->end[CALLER]), caller);
	ck_assert_int_eq(wh_secure_fault(lab->end[ANSWERER]), answerer);
}
