/* test_secret.c - the files that a configuration names for a cluster key and TLS: what is read of them for which node, and what is
 * said of each that is not as it should be: it names the key of the configuration, and the file. */
#include "group/config/secret.h"
#include "tests/support/certificates.h"
#include "tests/support/secure_lab.h"

#define NODES 3

static struct lab lab; /* for its directory alone */
static struct authority authority, strangers;
static struct wh_group_options group;
static struct wh_secret secret;
static struct wh_error err;

static const struct certificate_wish node_1 = {.names = "URI:whorl://play/1", .from_s = -60, .until_s = 3600};

static void name(char out[WH_OPTION_TEXT_BYTES], const char *file)
{
	snprintf(out, WH_OPTION_TEXT_BYTES, "%s/%s", lab.directory, file);
}

static void make(const struct authority *signer, const struct certificate_wish *wish, const char *certificate,
		 const char *key)
{
	char paths[2][LAB_PATH_BYTES];

	lab_path(&lab, certificate, paths[0]);
	lab_path(&lab, key, paths[1]);
	certificate_make(signer, wish, paths[0], paths[1]);
}

static void begin(void)
{
	char path[LAB_PATH_BYTES];

	secure_lab_begin(&lab);
	lab_path(&lab, "strangers.pem", path);
	authority_make(&strangers, "strangers", path);
	lab_path(&lab, "authority.pem", path);
	authority_make(&authority, "authority", path);
	make(&authority, &node_1, "1.pem", "1.key");
	secure_lab_write(&lab, "cluster.key", "sixteen bytes of a key", 22, 0600, path);
	group = (struct wh_group_options){.name = "play", .transport = WH_TRANSPORT_TCP, .tls = true};
	name(group.key_file, "cluster.key");
	name(group.tls_certificate_file, "{node}.pem");
	name(group.tls_key_file, "{node}.key");
	name(group.tls_authority_file, "authority.pem");
}

static void end(void)
{
	secure_lab_end(&lab);
	authority_free(&authority);
	authority_free(&strangers);
}

static void expect_good(uint32_t id)
{
	ck_assert_msg(wh_secret_load(&group, id, NODES, &secret, &err) == WHORL_OK, "%s", err.text);
	ck_assert(secret.key != NULL && secret.tls != NULL);
	wh_secret_free(&secret);
	ck_assert(secret.key == NULL && secret.tls == NULL);
}

/* For node 1; the text is "KEY: DIRECTORY/FILE" and then `why`, or begins so if that ends with "...". */
static void expect(const char *key, const char *file, const char *why)
{
	char text[512];
	size_t length;

	ck_assert_int_eq(wh_secret_load(&group, 1, NODES, &secret, &err), WHORL_CONFIG);
	ck_assert(secret.key == NULL && secret.tls == NULL); /* nothing half loaded */
	snprintf(text, sizeof(text), "%s: %s/%s%s", key, lab.directory, file, why);
	length = strlen(text);
	if (strcmp(text + length - 3, "...") == 0)
		ck_assert_msg(strncmp(err.text, text, length - 3) == 0, "%s", err.text);
	else
		ck_assert_str_eq(err.text, text);
}

/* ---- what is read ------------------------------------------------------------------------------------------------------- */

TEST_CASE("files", .setup = begin, .teardown = end);

TEST(each_node_has_its_own)
{
	static const struct certificate_wish node_2 = {.names = "URI:whorl://play/2", .from_s = -60, .until_s = 3600};

	make(&authority, &node_2, "2.pem", "2.key");
	expect_good(1);
	expect_good(2);
	name(group.tls_certificate_file, "2.pem"); /* of another */
	expect("tls_certificate_file", "2.pem", " has whorl://play/2, expected whorl://play/1");
}

TEST(nothing_that_is_not_asked_for)
{
	strcpy(group.key_file, "none");
	group.tls = false;
	strcpy(group.tls_certificate_file, "/nowhere"); /* nor looked at */
	ck_assert_int_eq(wh_secret_load(&group, 1, NODES, &secret, &err), WHORL_OK);
	ck_assert(secret.key == NULL && secret.tls == NULL);
	group.tls = true;
	strcpy(group.key_file, "/nowhere");
	group.transport = WH_TRANSPORT_SHM;
	ck_assert_int_eq(wh_secret_load(&group, 1, NODES, &secret, &err), WHORL_OK);
	ck_assert(secret.key == NULL && secret.tls == NULL);
}

TEST(all_is_protected_by_the_key)
{
	group.tls = false;
	strcpy(group.tls_certificate_file, "/nowhere"); /* nor looked at */
	group.protect = WH_PROTECT_ALL;
	expect_good(1);
	group.protect = WH_PROTECT_MEETING;
	ck_assert_int_eq(wh_secret_load(&group, 1, NODES, &secret, &err), WHORL_OK);
	ck_assert(secret.key != NULL && secret.tls == NULL);
	wh_secret_free(&secret);
}

/* Its own files, else those of the first node that has both certificate and key here. */
TEST(queries_have_their_own_files_or_those_of_a_node)
{
	static const struct certificate_wish query = {
		.names = "URI:whorl://play/visitor", .from_s = -60, .until_s = 3600};
	char path[LAB_PATH_BYTES];

	expect_good(WH_SECURE_VISITOR); /* as node 1 */
	secure_lab_write(&lab, "0.pem", "no certificate", 14, 0600, path);
	expect_good(WH_SECURE_VISITOR); /* there is no key of node 0 */
	secure_lab_write(&lab, "0.key", "no key", 6, 0600, path);
	ck_assert_int_eq(wh_secret_load(&group, WH_SECURE_VISITOR, NODES, &secret, &err), WHORL_CONFIG);
	make(&strangers, &query, "visitor.pem", "visitor.key"); /* the nodes must know the authority above a visitor */
	expect_good(WH_SECURE_VISITOR);
	ck_assert_int_eq(wh_secret_load(&group, WH_SECURE_VISITOR, 0, &secret, &err), WHORL_OK);
	wh_secret_free(&secret);
}

TEST(long_paths)
{
	size_t length;

	memset(group.tls_key_file, 'k', sizeof(group.tls_key_file));
	for (length = 0; length + strlen("{node}") < sizeof(group.tls_key_file); length += strlen("{node}"))
		memcpy(group.tls_key_file + length, "{node}", strlen("{node}"));
	group.tls_key_file[length] = '\0';
	ck_assert_int_eq(wh_secret_load(&group, 1, NODES, &secret, &err), WHORL_CONFIG);
	ck_assert_int_eq(strncmp(err.text, "tls_key_file: ", 14), 0);
	ck_assert(secret.key == NULL && secret.tls == NULL);
}

/* ---- mistakes ----------------------------------------------------------------------------------------------------------- */

TEST(the_cluster_key)
{
	char path[LAB_PATH_BYTES];

	name(group.key_file, "nowhere");
	expect("key_file", "nowhere", ": No such file or directory");
	lab_path(&lab, "directory", path);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	name(group.key_file, "directory");
	expect("key_file", "directory", " is not a regular file");
	lab_path(&lab, "pipe", path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	name(group.key_file, "pipe");
	expect("key_file", "pipe", " is not a regular file"); /* and no writer is waited for */
	name(group.key_file, "key");
	secure_lab_write(&lab, "key", "", 0, 0600, path);
	expect("key_file", "key", " has 0 bytes, expected 16 to 4096");
	secure_lab_write(&lab, "key", "a word", 6, 0600, path);
	expect("key_file", "key", " has 6 bytes, expected 16 to 4096");
	secure_lab_write(&lab, "key", "sixteen bytes of a key", 22, 0640, path);
	expect("key_file", "key", " may be used by others than its owner: chmod 600 it");
}

/* The same for each of the three; what is said of a private key is what is said of a cluster key. */
TEST_LOOP(files_that_are_none, 0, 3)
{
	static const char *const keys[] = {"tls_certificate_file", "tls_key_file", "tls_authority_file"};
	char *const values[] = {group.tls_certificate_file, group.tls_key_file, group.tls_authority_file};
	char path[LAB_PATH_BYTES];

	name(values[_i], "nowhere-{node}");
	expect(keys[_i], "nowhere-1", ": No such file or directory");
	lab_path(&lab, "directory", path);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	name(values[_i], "directory");
	expect(keys[_i], "directory", " is not a regular file");
	lab_path(&lab, "pipe", path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	name(values[_i], "pipe");
	expect(keys[_i], "pipe", " is not a regular file");
	name(values[_i], "words");
	secure_lab_write(&lab, "words", "", 0, 0600, path);
	expect(keys[_i], "words", _i == 1 ? " has 0 bytes, expected 32 to 65536" : ": ...");
	secure_lab_write(&lab, "words", "words that are neither a key nor a certificate", 46, 0600, path);
	expect(keys[_i], "words", ": ...");
}

/* By another user than root, which may read all of them. */
TEST_LOOP(files_that_may_not_be_read, 0, 4)
{
	static const char *const keys[] = {"key_file", "tls_certificate_file", "tls_key_file", "tls_authority_file"};
	char *const values[] = {group.key_file, group.tls_certificate_file, group.tls_key_file,
				group.tls_authority_file};
	char path[LAB_PATH_BYTES];

	secure_lab_write(&lab, "locked", "sixteen bytes of a key", 22, 0, path);
	name(values[_i], "locked");
	if (_i != 0)
		strcpy(group.key_file, "none"); /* it is root's */
	if (geteuid() == 0)
		ck_assert(chmod(lab.directory, 0711) == 0 && seteuid(65534) == 0);
	expect(keys[_i], "locked", ": Permission denied");
	if (geteuid() == 65534)
		ck_assert_int_eq(seteuid(0), 0);
}

TEST(a_key_of_another_certificate)
{
	make(&authority, &node_1, "other.pem", "other.key");
	name(group.tls_key_file, "other.key");
	expect("tls_key_file", "other.key", " is not the key of the certificate: key values mismatch");
}

TEST(a_certificate_that_is_not_good_now)
{
	static const struct certificate_wish past = {.names = "URI:whorl://play/1", .from_s = -3600, .until_s = -60};
	static const struct certificate_wish future = {.names = "URI:whorl://play/1", .from_s = 600, .until_s = 3600};
	char why[256];

	make(&authority, &past, "1.pem", "1.key");
	snprintf(why, sizeof(why),
		 " is not accepted by nodes that have tls_authority_file %s/authority.pem: certificate has expired",
		 lab.directory);
	expect("tls_certificate_file", "1.pem", why);
	make(&authority, &future, "1.pem", "1.key");
	expect("tls_certificate_file", "1.pem", " is not accepted by ...");
	ck_assert_ptr_nonnull(strstr(err.text, "certificate is not yet valid"));
}

TEST(a_certificate_of_another_authority)
{
	char why[256];

	name(group.tls_authority_file, "strangers.pem");
	snprintf(why, sizeof(why), " is not accepted by nodes that have tls_authority_file %s/strangers.pem: ...",
		 lab.directory);
	expect("tls_certificate_file", "1.pem", why);
	name(group.tls_authority_file, "authority.pem");
	strcpy(group.name, "other");
	expect("tls_certificate_file", "1.pem", " has whorl://play/1, expected whorl://other/1");
}

TEST_SUITE("secret")
