/* test_serve_memory.c - memory is out, once, at every allocation of a leader that serves wishes, and of a member that looks at what it has sent:
 * no member is broken for that, and it comes to pass later.
 * Labels: nosan
 */
#include "tests/unit/refuse.h"
#define live live_on /* a function of member.h, which is not that of refuse.h */
#include "tests/support/serving_lab.h"

/* What the test itself is called for has memory: the library for tests allocates as well. */
#define CALMLY(call)                                                                                                   \
	long at = refuse_at;                                                                                           \
	refuse_at = -1;                                                                                                \
	call;                                                                                                          \
	refuse_at = at

static void post_calmly(struct wh_image *image, const struct wh_push *pushes, size_t count)
{
	CALMLY(member_post(image, pushes, count));
}

static const struct wh_view *open_calmly(void *ctx, const struct wh_next *next, struct wh_view *view, uint64_t key)
{
	const struct wh_view *opened;

	CALMLY(opened = on_open(ctx, next, view, key));
	return opened;
}

static bool is_open_calmly(void *ctx)
{
	bool open;

	CALMLY(open = on_is_open(ctx));
	return open;
}

static void discard_calmly(void *ctx, uint64_t key)
{
	CALMLY(on_discard(ctx, key));
}

static enum whorl_result send_calmly(struct wh_transport *transport, uint32_t node, const void *bytes, size_t count)
{
	enum whorl_result result;

	CALMLY(result = lab_send(transport, node, bytes, count));
	return result;
}

static struct serving_lab *make_calm(uint32_t me)
{
	static const struct wh_transport_ops image_ops = {
		.name = "by hand", .post = post_calmly, .freeze = member_freeze, .prepares = member_prepares};
	static const struct wh_transport_ops ops = {.name = "by hand", .control_send = send_calmly};
	struct serving_lab *lab = serving_make(me, 3);

	lab->transport.ops = &ops;
	lab->m->image.ops = &image_ops;
	lab->m->change.on.open = open_calmly;
	lab->m->change.on.is_open = is_open_calmly;
	lab->m->change.on.discard = discard_calmly;
	return lab;
}

/* Passes before and after a set has waited for others, of which the allocation `at` is refused. True: it was. */
static bool settle_without(struct member *m, long at)
{
	bool out;

	refuse_at = at;
	while (wh_change_step(&m->change) > 0)
		;
	member_pass_ns(m, WH_COLLECT_MOST_NS);
	while (wh_change_step(&m->change) > 0)
		;
	out = refuse_at < 0;
	refuse_at = -1;
	return out;
}

/* What is said, by me and another member, is served sooner or later. */
TEST(a_leader_without_memory)
{
	bool out = true;

	for (long at = 0; out; at++) {
		struct serving_lab *lab = make_calm(0);
		struct member *m = lab->m;

		wish(lab, "b");
		hear_wishes(lab, 1, 1, "a+ file");
		out = settle_without(m, at);
		for (int i = 0; i < 100; i++) {
			beat(m, 1);
			beat(m, 2);
			pass_time(lab);
		}
		ck_assert_ptr_null(strstr(m->told, "broken"));
		expect_opened(lab, m->opened->dynamic_count == 1 ? "a#0@7[1s!]" : "b#0@7[0!] a#1@7[1s!]");
		ck_assert_ptr_nonnull(strstr(lab->sent, "1:refused-1.1 "));
		ck_assert(out || at > 20);
		serving_free(lab);
	}
}

/* It does not acknowledge what it could not look at, and goes along with the next. */
TEST(a_member_without_memory)
{
	bool out = true;

	for (long at = 0; out; at++) {
		struct serving_lab *lab = make_calm(2);
		struct member *m = lab->m;

		wish(lab, "a+");
		settle(m);
		make_next(lab, 2, 1, "a+");
		propose_made(lab, 0, 1);
		send_made(lab, 0, 1);
		out = settle_without(m, at);
		ck_assert(out || at > 10);
		expect_told(m, out ? "" : "open-without-settles-serves-as-7000001 ");
		ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), out ? 0 : TICKET(0, 1));
		propose_made(lab, 0, 2);
		send_made(lab, 0, 2);
		settle(m);
		ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), TICKET(0, 2));
		serving_free(lab);
	}
}

TEST_SUITE("serve_memory")
