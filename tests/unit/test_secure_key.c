/* test_secure_key.c - the file of the cluster key: which are taken, and what is said of the others. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "tests/support/secure_lab.h"

static struct lab lab;
static char bytes[WH_SECURE_KEY_MOST + 1];

static void begin(void)
{
	secure_lab_begin(&lab);
	memset(bytes, 'k', sizeof(bytes));
}

static void end(void)
{
	secure_lab_end(&lab);
}

/* Loads it; the text must say `why`, after its name. NULL: it must be taken. */
static void expect(const char *path, const char *why)
{
	struct wh_secure_key *key;
	struct wh_error err;
	enum whorl_result result = wh_secure_key_load(path, &key, &err);
	char text[512];

	if (why == NULL) {
		ck_assert_msg(result == WHORL_OK, "%s", err.text);
		wh_secure_key_free(key);
		return;
	}
	snprintf(text, sizeof(text), "key_file: %s%s", path, why);
	ck_assert_int_eq(result, WHORL_CONFIG);
	ck_assert_str_eq(err.text, text);
	ck_assert_ptr_null(key);
}

TEST_CASE("file", .setup = begin, .teardown = end);

TEST(sizes)
{
	char path[LAB_PATH_BYTES];

	secure_lab_write(&lab, "k", bytes, 15, 0600, path);
	expect(path, " has 15 bytes, expected 16 to 4096");
	secure_lab_write(&lab, "k", bytes, 16, 0600, path);
	expect(path, NULL);
	secure_lab_write(&lab, "k", bytes, 4096, 0600, path);
	expect(path, NULL);
	secure_lab_write(&lab, "k", bytes, 4097, 0600, path);
	expect(path, " has 4097 bytes, expected 16 to 4096");
	secure_lab_write(&lab, "k", bytes, 0, 0600, path);
	expect(path, " has 0 bytes, expected 16 to 4096");
}

TEST(permissions)
{
	static const mode_t bad[] = {0640, 0620, 0610, 0604, 0602, 0601, 0666, 0777};
	char path[LAB_PATH_BYTES];

	secure_lab_write(&lab, "k", bytes, 32, 0400, path);
	expect(path, NULL);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_int_eq(chmod(path, bad[i]), 0);
		expect(path, " may be used by others than its owner: chmod 600 it");
	}
}

TEST(owners)
{
	char path[LAB_PATH_BYTES];

	if (geteuid() != 0)
		return; /* only root can give files away */
	secure_lab_write(&lab, "k", bytes, 32, 0600, path);
	ck_assert_int_eq(chown(path, 12345, (gid_t)-1), 0);
	expect(path, " belongs to another user: it must be of the user that runs this, or root");
	ck_assert_int_eq(chown(path, 0, (gid_t)-1), 0);
	expect(path, NULL);
}

TEST(what_is_no_file)
{
	char path[LAB_PATH_BYTES], other[LAB_PATH_BYTES];

	secure_lab_write(&lab, "k", bytes, 32, 0600, path);
	lab_path(&lab, "link", other);
	ck_assert_int_eq(symlink(path, other), 0);
	expect(other, " is a symbolic link: name the file itself");
	lab_path(&lab, "none", other);
	expect(other, ": No such file or directory");
	lab_path(&lab, "pipe", other);
	ck_assert_int_eq(mkfifo(other, 0600), 0);
	expect(other, " is not a regular file"); /* and does not wait for a writer */
	expect(lab.directory, " is not a regular file");
	expect("/dev/zero", " is not a regular file");
	expect("", ": No such file or directory");
}

/* All of its bytes count, zeros and line ends too. */
TEST(each_byte_counts)
{
	static const char *const others[] = {"0123456789abcdef\n", "0123456789abcdeg", "1123456789abcdef"};

	lab.ground[ANSWERER].key = secure_lab_key(&lab, "0123456789abcdef");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		lab.ground[CALLER].key = secure_lab_key(&lab, others[i]);
		lab_meet(&lab);
		expect_both(&lab, WH_SECURE_REFUSED);
		wh_secure_key_free(lab.ground[CALLER].key);
	}
	lab.ground[CALLER].key = secure_lab_key(&lab, "0123456789abcdef");
	lab_meet(&lab);
	expect_both(&lab, WH_SECURE_PROVEN);
}

/* ---- core files ----------------------------------------------------------------------------------------------------------- */

#define SECRET 48
#define CHUNK (1 << 20)

static unsigned char *undumped(size_t count)
{
	void *memory = mmap(NULL, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(memory, MAP_FAILED);
	ck_assert_int_eq(madvise(memory, count, MADV_DONTDUMP), 0);
	return memory;
}

/* How often the secret stands in that memory of this process. */
static unsigned times_in(int mem, uint64_t from, uint64_t to, const unsigned char *secret, unsigned char *chunk)
{
	unsigned times = 0;

	for (uint64_t at = from; at < to; at += CHUNK - SECRET) {
		size_t count = to - at < CHUNK ? (size_t)(to - at) : CHUNK;
		ssize_t got = pread(mem, chunk, count, (off_t)at);

		times += got > 0 && memmem(chunk, (size_t)got, secret, SECRET) != NULL;
	}
	return times;
}

/* In memory that goes into a core file, and (`hidden`) in memory that does not. */
static unsigned look_for(const unsigned char *secret, unsigned char *chunk, unsigned *hidden)
{
	FILE *maps = fopen("/proc/self/smaps", "re");
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	unsigned long first, last, from = 0, to = 0;
	unsigned shown = 0;
	char line[512], rights[5] = "";

	ck_assert(maps != NULL && mem >= 0);
	*hidden = 0;
	while (fgets(line, sizeof(line), maps) != NULL) {
		if (sscanf(line, "%lx-%lx %4s", &first, &last, rights) == 3) {
			from = first;
			to = last;
		}
		if (strncmp(line, "VmFlags:", 8) != 0)
			continue;
		if (rights[0] == 'r' && to - from < (UINT64_C(1) << 30)) /* the sanitizers' own are larger */
			*(strstr(line, " dd") != NULL ? hidden : &shown) += times_in(mem, from, to, secret, chunk);
	}
	fclose(maps);
	close(mem);
	return shown;
}

/* Neither while the key is there, when something has been proven with it, nor when it has been freed. */
TEST(no_core_file_has_the_key)
{
	unsigned char *secret = undumped(2 * CHUNK), *chunk = secret + CHUNK;
	char path[LAB_PATH_BYTES];
	struct wh_secure_key *key;
	struct wh_error err;
	unsigned hidden;
	int fd;

	ck_assert_int_eq(getrandom(secret, SECRET, 0), SECRET);
	lab_path(&lab, "k", path);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_eq(write(fd, secret, SECRET), SECRET);
	close(fd);
	ck_assert_int_eq(wh_secure_key_load(path, &key, &err), WHORL_OK);
	lab.ground[ANSWERER].key = lab.ground[CALLER].key = key;
	lab_meet(&lab);
	expect_both(&lab, WH_SECURE_PROVEN);
	ck_assert_uint_eq(look_for(secret, chunk, &hidden), 0);
	ck_assert_uint_ge(hidden, 2); /* the test's, and the library's */
	lab.ground[ANSWERER].key = lab.ground[CALLER].key = NULL;
	secure_lab_end(&lab);
	secure_lab_begin(&lab);
	wh_secure_key_free(key);
	ck_assert_uint_eq(look_for(secret, chunk, &hidden), 0);
	munmap(secret, 2 * CHUNK);
}

TEST_SUITE("secure_key")
