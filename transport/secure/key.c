/* key.c - the cluster key: its file, and what is proven with it. And what else a greeting needs of OpenSSL. */
#include "transport/secure/secure_int.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool wh_secure_random(unsigned char *bytes, size_t count)
{
	return RAND_bytes(bytes, (int)count) == 1;
}

bool wh_secure_same(const void *one, const void *other, size_t count)
{
	return CRYPTO_memcmp(one, other, count) == 0;
}

void wh_secure_cleanse(void *bytes, size_t count)
{
	OPENSSL_cleanse(bytes, count);
}

/* ---- files that must be private ---------------------------------------------------------------------------------------- */

/* What is wrong with it: NULL nothing. It is asked of the file that is open, so it cannot be replaced by another meanwhile. */
static const char *wrong_with(const struct stat *file)
{
	if (!S_ISREG(file->st_mode))
		return "is not a regular file";
	if (file->st_uid != geteuid() && file->st_uid != 0)
		return "belongs to another user: it must be of the user that runs this, or root";
	if ((file->st_mode & (S_IRWXG | S_IRWXO)) != 0)
		return "may be used by others than its owner: chmod 600 it";
	return NULL;
}

/* All `count` bytes, and then its end. */
static bool read_whole(int fd, unsigned char *out, size_t count)
{
	size_t have = 0;
	ssize_t got;
	char more;

	while (have < count) {
		got = read(fd, out + have, count - have);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		have += (size_t)got;
	}
	do {
		got = read(fd, &more, 1);
	} while (got < 0 && errno == EINTR);
	return got == 0;
}

/* Of their own, so that no core file has what they hold. NULL: no memory. */
static unsigned char *private_pages(size_t count)
{
	void *pages = mmap(NULL, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		return NULL;
	(void)madvise(pages, count, MADV_DONTDUMP);
	return pages;
}

static enum whorl_result read_private(int fd, const char *what, const char *path, size_t least, size_t most,
				      unsigned char **out, size_t *count, struct wh_error *err)
{
	const char *wrong;
	struct stat file;

	if (fstat(fd, &file) != 0)
		return wh_error_set(err, WHORL_CONFIG, "%s: %s: %s", what, path, strerror(errno));
	wrong = wrong_with(&file);
	if (wrong != NULL)
		return wh_error_set(err, WHORL_CONFIG, "%s: %s %s", what, path, wrong);
	if (file.st_size < (off_t)least || file.st_size > (off_t)most)
		return wh_error_set(err, WHORL_CONFIG, "%s: %s has %lld bytes, expected %zu to %zu", what, path,
				    (long long)file.st_size, least, most);
	*count = (size_t)file.st_size;
	*out = private_pages(*count);
	if (*out == NULL)
		return wh_error_set(err, WHORL_MEMORY, "%s: no memory for %s", what, path);
	if (read_whole(fd, *out, *count))
		return WHORL_OK;
	wh_secure_wipe(*out, *count);
	*out = NULL;
	return wh_error_set(err, WHORL_CONFIG, "%s: %s changes while it is read", what, path);
}

enum whorl_result wh_secure_file_read(const char *what, const char *path, size_t least, size_t most,
				      unsigned char **out, size_t *count, struct wh_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY); /* nor wait for a pipe */
	enum whorl_result result;

	*out = NULL;
	if (fd < 0 && errno == ELOOP)
		return wh_error_set(err, WHORL_CONFIG, "%s: %s is a symbolic link: name the file itself", what, path);
	if (fd < 0)
		return wh_error_set(err, WHORL_CONFIG, "%s: %s: %s", what, path, strerror(errno));
	result = read_private(fd, what, path, least, most, out, count, err);
	close(fd);
	return result;
}

void wh_secure_wipe(void *bytes, size_t count)
{
	if (bytes == NULL)
		return;
	OPENSSL_cleanse(bytes, count);
	(void)munmap(bytes, count);
}

/* ---- the key ----------------------------------------------------------------------------------------------------------- */

struct wh_secure_key {
	wh_word holders; /* as in struct wh_secure_tls */
	unsigned char *bytes;
	size_t count;
};

enum whorl_result wh_secure_key_load(const char *path, struct wh_secure_key **out, struct wh_error *err)
{
	struct wh_secure_key *key = calloc(1, sizeof(*key));
	enum whorl_result result;

	*out = NULL;
	if (key == NULL)
		return wh_error_set(err, WHORL_MEMORY, "key_file: no memory");
	result = wh_secure_file_read("key_file", path, WH_SECURE_KEY_LEAST, WH_SECURE_KEY_MOST, &key->bytes,
				     &key->count, err);
	wh_store_relaxed(&key->holders, 1);
	if (result != WHORL_OK)
		free(key);
	else
		*out = key;
	return result;
}

struct wh_secure_key *wh_secure_key_hold(struct wh_secure_key *key)
{
	if (key != NULL)
		(void)wh_fetch_add(&key->holders, 1);
	return key;
}

void wh_secure_key_free(struct wh_secure_key *key)
{
	if (key == NULL || wh_fetch_add(&key->holders, (uint64_t)-1) > 1)
		return;
	wh_secure_wipe(key->bytes, key->count);
	free(key);
}

bool wh_secure_key_derive(const struct wh_secure_key *key, unsigned char out[WH_SECURE_PSK_BYTES])
{
	static const unsigned char label[] = "whorl: protect"; /* no proof of a greeting is of such a text */
	unsigned length = 0;

	return HMAC(EVP_sha384(), key->bytes, (int)key->count, label, sizeof(label), out, &length) != NULL &&
	       length == WH_SECURE_PSK_BYTES;
}

#define LABEL_BYTES 16

bool wh_secure_prove(const struct wh_secure_key *key, bool connects, const struct wh_secure_talk *talk,
		     unsigned char out[WH_SECURE_PROOF_BYTES])
{
	static const char labels[2][LABEL_BYTES] = {"whorl: answerer", "whorl: caller"};
	unsigned char text[LABEL_BYTES + sizeof(*talk)];
	unsigned length = 0;

	_Static_assert(sizeof(*talk) == 8 + 2 * WH_SECURE_GREETING_BYTES + 32, "bytes alone, without gaps");
	memcpy(text, labels[connects], LABEL_BYTES);
	memcpy(text + LABEL_BYTES, talk, sizeof(*talk));
	if (HMAC(EVP_sha256(), key != NULL ? key->bytes : (const unsigned char *)"", key != NULL ? (int)key->count : 0,
		 text, sizeof(text), out, &length) == NULL)
		return false;
	OPENSSL_cleanse(text, sizeof(text));
	return length == WH_SECURE_PROOF_BYTES;
}
