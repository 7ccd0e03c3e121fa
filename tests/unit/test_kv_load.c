/* test_kv_load.c - the dialects of kv-load (bench/peers): what it asks, and what it takes for an answer. */
#include <stdio.h>
#include <string.h>

#include "bench/peers/kv_load.h"
#include "tests/harness.h"

static const struct kv_plan plan = {.bytes = 40, .keys = 100, .wait = 2};

#define VALUE_7 "0000000000070000000000000012cdefghijklmn"
#define KEY_7 "key:000000000007"
#define KEY_7_64 "a2V5OjAwMDAwMDAwMDAwNw=="
#define VALUE_7_64 "MDAwMDAwMDAwMDA3MDAwMDAwMDAwMDAwMDAxMmNkZWZnaGlqa2xtbg=="

/* The answer is what it is only when its last byte has come, and what follows is another's. */
static struct kv_reply read_all(const struct kv_dialect *dialect, const char *answer)
{
	char come[1024];
	size_t bytes = strlen(answer);
	struct kv_reply reply;

	for (size_t i = 0; i < bytes; i++) {
		memcpy(come, answer, i);
		ck_assert_msg(dialect->read(come, i).verdict == KV_MORE, "%zu bytes of %s", i, answer);
	}
	snprintf(come, sizeof(come), "%sX", answer);
	reply = dialect->read(come, bytes + 1);
	ck_assert_uint_eq(reply.length, bytes);
	if (reply.verdict == KV_FOUND) /* it lies in what has come, which ends here */
		ck_assert(kv_is_value(&plan, reply.value, reply.bytes, 7));
	return reply;
}

static void check_text(const char *text, size_t bytes, const char *expected)
{
	ck_assert_msg(bytes == strlen(expected) && memcmp(text, expected, bytes) == 0, "%.*s and not %s", (int)bytes,
		      text, expected);
}

TEST(values_are_known_again)
{
	char value[64] = "";

	kv_write_value(&plan, value, 7, 12);
	check_text(value, plan.bytes, VALUE_7);
	ck_assert(kv_is_value(&plan, value, plan.bytes, 7));
	ck_assert(!kv_is_value(&plan, value, plan.bytes, 8));
	ck_assert(!kv_is_value(&plan, value, plan.bytes - 1, 7));
	for (size_t i = 0; i < plan.bytes; i++) {
		value[i] ^= 0x40;
		ck_assert_msg(!kv_is_value(&plan, value, plan.bytes, 7), "another byte at %zu", i);
		value[i] ^= 0x40;
	}
}

TEST(requests_of_redis)
{
	char to[1024] = "";

	check_text(to, kv_resp.put(&plan, to, 7, 12), "*3\r\n$3\r\nSET\r\n$16\r\n" KEY_7 "\r\n$40\r\n" VALUE_7 "\r\n");
	check_text(to, kv_resp.get(&plan, to, 7), "*2\r\n$3\r\nGET\r\n$16\r\n" KEY_7 "\r\n");
	check_text(to, kv_resp.wait(&plan, to), "*3\r\n$4\r\nWAIT\r\n$1\r\n2\r\n$4\r\n1000\r\n");
	check_text(to, kv_resp.greet(to), "*1\r\n$8\r\nREADONLY\r\n");
}

TEST(answers_of_redis)
{
	static const char *const wrong[] = {"-ERR no\r\n", "$-1\r\n", "+OKAY\r\n",       ":\r\n",
					    ":1x\r\n",     "*1\r\n",  "$1000000000\r\n", "nonsense\r\n"};

	ck_assert(read_all(&kv_resp, "+OK\r\n").verdict == KV_DONE);
	ck_assert_uint_eq(read_all(&kv_resp, ":2\r\n").number, 2);
	ck_assert(read_all(&kv_resp, "$40\r\n" VALUE_7 "\r\n").verdict == KV_FOUND);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_msg(read_all(&kv_resp, wrong[i]).verdict == KV_REFUSED, "%s", wrong[i]);
}

TEST(requests_of_etcd)
{
	struct kv_plan late = plan;
	char to[2048] = "";

#define HEAD(path, bytes)                                                                                              \
	"POST /v3/kv/" path " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: " bytes \
	"\r\n\r\n"
	check_text(to, kv_etcd.put(&plan, to, 7, 12),
		   HEAD("put", "101") "{\"key\":\"" KEY_7_64 "\",\"value\":\"" VALUE_7_64 "\"}");
	check_text(to, kv_etcd.get(&plan, to, 7), HEAD("range", "34") "{\"key\":\"" KEY_7_64 "\"}");
	late.local = true;
	check_text(to, kv_etcd.get(&late, to, 7),
		   HEAD("range", "54") "{\"key\":\"" KEY_7_64 "\",\"serializable\":true}");
#undef HEAD
}

TEST(answers_of_etcd)
{
#define ANSWER(status, length, body)                                                                                   \
	"HTTP/1.1 " status "\r\nContent-Type: application/json\r\nContent-Length: " length "\r\n\r\n" body
	static const char header[] = "{\"header\":{\"cluster_id\":\"1\",\"revision\":\"3\"}}";
	static const char found[] = "{\"header\":{\"revision\":\"3\"},\"kvs\":[{\"key\":\"" KEY_7_64
				    "\",\"version\":\"1\",\"value\":\"" VALUE_7_64 "\"}],\"count\":\"1\"}";
	char answer[1024];

	snprintf(answer, sizeof(answer), ANSWER("200 OK", "%zu", "%s"), strlen(header), header);
	ck_assert(read_all(&kv_etcd, answer).verdict == KV_DONE);
	snprintf(answer, sizeof(answer), ANSWER("200 OK", "%zu", "%s"), strlen(found), found);
	ck_assert(read_all(&kv_etcd, answer).verdict == KV_FOUND);
	snprintf(answer, sizeof(answer), ANSWER("503 Service Unavailable", "%zu", "%s"), strlen(header), header);
	ck_assert(read_all(&kv_etcd, answer).verdict == KV_REFUSED);
	ck_assert(read_all(&kv_etcd, ANSWER("200 OK", "12", "{\"error\":\"\"}")).verdict == KV_REFUSED);
	ck_assert(read_all(&kv_etcd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").verdict == KV_REFUSED);
#undef ANSWER
}

TEST_SUITE("kv_load")
