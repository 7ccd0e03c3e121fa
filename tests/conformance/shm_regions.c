/* shm_regions.c - regions of shared memory between processes, and peers that say nonsense of theirs or scribble (T7). */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/shm_node.h"
#include "transport/remote.h"

#define NAME 7
#define BYTES 8192
#define MAILBOX_BYTES 4096
#define MAILBOX_SENT 0  /* where in it the initiator counts, */
#define MAILBOX_TAKEN 8 /* and the target: words */
#define ADDITIONS 3000

static const struct wh_remote_ops *ops_of(const struct node *n)
{
	return n->transport->ops->remote;
}

static struct wh_region *open_region(const struct node *n)
{
	struct wh_region *region;

	ck_assert_int_eq(ops_of(n)->region_open(n->transport, NAME, BYTES, &region, NULL), WHORL_OK);
	return region;
}

static enum whorl_result post(const struct node *n, uint32_t to, enum wh_remote_kind kind, uint64_t offset)
{
	const struct wh_remote_op op = {.kind = kind, .node = to, .region = NAME, .offset = offset, .add = 1};
	size_t posted;

	return ops_of(n)->post(n->transport, &op, 1, &posted);
}

/* ---- processes ---------------------------------------------------------------------------------------------------- */

/* Adds to the first word, of its own region or another's, and takes completions and immediates. */
static bool add_all(struct node *n, uint32_t owner, uint32_t *immediates)
{
	struct wh_remote_event event;
	uint64_t posted = 0, done = 0;

	while (done < ADDITIONS) {
		if (posted < ADDITIONS && post(n, owner, WH_REMOTE_FETCH_ADD, 0) == WHORL_OK)
			posted++;
		while (ops_of(n)->next(n->transport, &event)) {
			done += event.kind == WH_REMOTE_DONE;
			*immediates += event.kind == WH_REMOTE_IMMEDIATE;
			if (event.kind == WH_REMOTE_DONE && event.result != WHORL_OK)
				return false;
		}
	}
	return true;
}

static bool is_granted(const struct node *n)
{
	struct wh_remote_event event;

	return ops_of(n)->next(n->transport, &event) && event.kind == WH_REMOTE_GRANTED && event.region == NAME &&
	       event.bytes == BYTES;
}

/* Node 1: adds, tells, and stays. */
static int add_and_tell(const char *group)
{
	struct node n;
	uint32_t immediates = 0;

	node_make(&n, group, 1, 2);
	NODE_UNTIL(&n, is_granted(&n));
	if (!add_all(&n, 0, &immediates) || post(&n, 0, WH_REMOTE_WRITE_IMMEDIATE, 0) != WHORL_OK)
		return 1;
	NODE_UNTIL(&n, n.down + n.left > 0);
	return 2;
}

TEST_CASE("regions", .timeout_s = 60);

TEST(processes_share_a_region)
{
	char group[40];
	pid_t child = spawn(add_and_tell, new_group(group));
	struct wh_remote_event event;
	struct wh_region *region;
	uint32_t immediates = 0;
	struct node n;

	node_make(&n, group, 0, 2);
	region = open_region(&n);
	NODE_UNTIL(&n, n.met == 1);
	ck_assert_int_eq(region->ops->grant(region, 1), WHORL_OK);
	ck_assert(add_all(&n, 0, &immediates));
	NODE_UNTIL(&n, immediates == 1 || (ops_of(&n)->next(n.transport, &event) && ++immediates == 1));
	ck_assert_uint_eq(wh_load_acquire(&region->words[0]), 2 * ADDITIONS);
	kill(child, SIGKILL);
	NODE_UNTIL(&n, n.down == 1);
	reap(child);
	ck_assert_int_eq(post(&n, 0, WH_REMOTE_FETCH_ADD, 8), WHORL_OK); /* it goes on being there */
	ck_assert_uint_eq(region->words[1], 1);
	node_free(&n);
}

/* ---- a hand-made peer --------------------------------------------------------------------------------------------- */

#define SIZE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static int new_file(uint64_t bytes, int seals)
{
	int fd = memfd_create("test-region", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)bytes), 0);
	if (seals != 0)
		ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

/* A mailbox, as it should be. Returns its file. */
static int raw_give_mailbox(const struct raw *r)
{
	int fd = new_file(MAILBOX_BYTES, SIZE_SEALS);

	ck_assert(raw_say_claim(r, WH_SHM_MAILBOX, 0, MAILBOX_BYTES, fd));
	return fd;
}

/* What node 1 says, behind a good mailbox if that is wanted. True: it is refused, else it has broken the protocol. */
static bool say_bad_messages(const struct raw *r, int how)
{
	int good = new_file(BYTES, SIZE_SEALS), bad = -1;

	if (how > 1)
		close(raw_give_mailbox(r));
	switch (how) {
	case 0: /* no mailbox before it */
		ck_assert(raw_say_claim(r, WH_SHM_GRANT, NAME, BYTES, good));
		break;
	case 1: /* a mailbox of another size */
		ck_assert(raw_say_claim(r, WH_SHM_MAILBOX, 0, BYTES, good));
		break;
	case 2: /* another mailbox */
		close(raw_give_mailbox(r));
		break;
	case 3: /* no size of a region */
		ck_assert(raw_say_claim(r, WH_SHM_GRANT, NAME, 0, good));
		break;
	case 4:
		ck_assert(raw_say_claim(r, WH_SHM_GRANT, NAME, 4097, good));
		break;
	case 5:
		ck_assert(raw_say_claim(r, WH_SHM_GRANT, NAME, WH_REMOTE_REGION_MAX + 8, good));
		break;
	case 6: /* twice */
		ck_assert(raw_say_claim(r, WH_SHM_GRANT, NAME, BYTES, good));
		ck_assert(raw_say_claim(r, WH_SHM_GRANT, NAME, BYTES, good));
		break;
	case 7: /* more than there may be */
		for (uint64_t name = 0; name <= WH_REMOTE_REGIONS; name++)
			ck_assert(raw_say_claim(r, WH_SHM_GRANT, name, BYTES, good));
		break;
	case 8: /* what was never granted */
		ck_assert(raw_say(r->socket, WH_SHM_WITHDRAWN, NAME));
		break;
	case 9: /* larger than its file */
		ck_assert(raw_say_claim(r, WH_SHM_GRANT, NAME, BYTES + 8, good));
		close(good);
		return true;
	case 10: /* it could be cut */
		bad = new_file(BYTES, 0);
		break;
	case 11:
		bad = new_file(BYTES, F_SEAL_GROW | F_SEAL_SEAL);
		break;
	default: /* no process can write to it */
		bad = new_file(BYTES, SIZE_SEALS | F_SEAL_FUTURE_WRITE);
		break;
	}
	close(good);
	if (bad < 0)
		return false;
	ck_assert(raw_say_claim(r, WH_SHM_GRANT, NAME, BYTES, bad));
	close(bad);
	return true;
}

#define BAD_MESSAGES 13

TEST_LOOP(a_bad_message_of_regions_ends_its_sender_alone, 0, BAD_MESSAGES)
{
	char group[40];
	struct node n;
	struct raw r;
	bool refused;
	int fds, rest = 0;

	node_make(&n, new_group(group), 0, 2);
	for (int k = 0; k < 50; k++)
		node_pass(&n);
	fds = count_fds();
	raw_be_met(&r, &n, group, 1);
	refused = say_bad_messages(&r, _i);
	NODE_UNTIL(&n, n.down + n.refused == 1);
	ck_assert_uint_eq(n.refused, refused);
	ck_assert_int_eq(post(&n, 1, WH_REMOTE_FETCH_ADD, 0), WHORL_MEMBER_GONE);
	raw_close(&r);
	for (int k = 0; k < 20; k++) /* nothing of it is left */
		node_pass(&n);
	for (struct wh_remote_event event; ops_of(&n)->next(n.transport, &event);)
		rest++;
	ck_assert_int_eq(rest, 0);
	ck_assert_int_eq(count_fds(), fds);
	node_free(&n);
}

static wh_word *map_words(int fd, uint64_t bytes)
{
	void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	ck_assert_ptr_ne(map, MAP_FAILED);
	return map;
}

/* The peer is granted something, and counts more immediates than there can be, or takes some back. */
TEST_LOOP(counts_that_cannot_be_end_their_writer, 0, 3)
{
	static const uint64_t counts[] = {WH_REMOTE_IMMEDIATES + 1, UINT64_MAX, UINT64_C(1) << 63};
	struct wh_remote_event event;
	struct wh_region *region;
	char group[40];
	struct node n;
	struct raw r;
	wh_word *box;

	node_make(&n, new_group(group), 0, 2);
	region = open_region(&n);
	raw_be_met(&r, &n, group, 1);
	ck_assert_int_eq(region->ops->grant(region, 1), WHORL_OK);
	ck_assert_int_eq(raw_receive(&r, &n), WH_WIRE_DONE);
	ck_assert_int_eq(r.head.kind, WH_SHM_MAILBOX);
	box = map_words(r.got.fds[0], MAILBOX_BYTES);
	ck_assert_int_ne(ftruncate(r.got.fds[0], 0), 0); /* its size is final */
	wh_shm_datagram_close_fds(&r.got);
	wh_store_release(&box[MAILBOX_SENT], 2);
	for (int k = 0; k < 2; k++)
		ck_assert(ops_of(&n)->next(n.transport, &event) && event.kind == WH_REMOTE_IMMEDIATE);
	ck_assert(!ops_of(&n)->next(n.transport, &event));
	wh_store_release(&box[MAILBOX_SENT], 2 + counts[_i]);
	ck_assert(!ops_of(&n)->next(n.transport, &event));
	NODE_UNTIL(&n, n.down == 1);
	ck_assert_msg(strstr(n.text, "immediates") != NULL, "%s", n.text);
	munmap(box, MAILBOX_BYTES);
	raw_close(&r);
	node_free(&n);
}

/* A peer that says nonsense of what it has taken gets nothing more; all else goes on. */
TEST(a_mailbox_that_is_scribbled_on_is_full)
{
	struct wh_region *own;
	char group[40];
	struct node n;
	struct raw r;
	wh_word *box;
	int mailbox, file = new_file(BYTES, SIZE_SEALS);

	node_make(&n, new_group(group), 0, 2);
	own = open_region(&n);
	raw_be_met(&r, &n, group, 1);
	mailbox = raw_give_mailbox(&r);
	ck_assert(raw_say_claim(&r, WH_SHM_GRANT, NAME, BYTES, file));
	NODE_UNTIL(&n, is_granted(&n));
	ck_assert_int_eq(post(&n, 1, WH_REMOTE_WRITE_IMMEDIATE, 0), WHORL_OK);
	box = map_words(mailbox, MAILBOX_BYTES);
	ck_assert_uint_eq(wh_load_acquire(&box[MAILBOX_SENT]), 1);
	wh_store_release(&box[MAILBOX_TAKEN], 5);
	ck_assert_int_eq(post(&n, 1, WH_REMOTE_WRITE_IMMEDIATE, 0), WHORL_AGAIN);
	ck_assert_int_eq(post(&n, 1, WH_REMOTE_FETCH_ADD, 0), WHORL_OK);
	wh_store_release(&box[MAILBOX_TAKEN], 1);
	ck_assert_int_eq(post(&n, 1, WH_REMOTE_WRITE_IMMEDIATE, 0), WHORL_OK);
	ck_assert_int_eq(post(&n, 0, WH_REMOTE_FETCH_ADD, 0), WHORL_OK);
	ck_assert_uint_eq(own->words[0], 1);
	ck_assert_uint_eq(n.down + n.refused, 0);
	munmap(box, MAILBOX_BYTES);
	close(mailbox);
	close(file);
	raw_close(&r);
	node_free(&n);
}

/* ---- a full queue, and room ---------------------------------------------------------------------------------------- */

/* Grants, and the end of one, wait for room in the queue of messages. */
TEST(grants_wait_for_room)
{
	unsigned char message[WH_CONTROL_MAX] = {0};
	struct wh_region *regions[2];
	uint32_t granted = 0, withdrawn = 0;
	struct wh_remote_event event;
	struct node n[2];
	int fds;

	nodes_make(n, 2);
	NODE_UNTIL(&n[0], (node_pass(&n[1]), n[0].met == 1 && n[1].met == 1));
	fds = count_fds();
	while (n[0].transport->ops->control_send(n[0].transport, 1, message, sizeof(message)) == WHORL_OK)
		;
	regions[0] = open_region(&n[0]);
	ck_assert_int_eq(ops_of(&n[0])->region_open(n[0].transport, NAME + 1, BYTES, &regions[1], NULL), WHORL_OK);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(regions[i]->ops->grant(regions[i], 1), WHORL_OK);
	for (int k = 0; k < 20; k++)
		node_pass(&n[0]);
	regions[1]->ops->region_close(regions[1]); /* which the other has not heard of, and never will */
	NODE_UNTIL(&n[1], (node_pass(&n[0]), granted += ops_of(&n[1])->next(n[1].transport, &event), granted == 1));
	ck_assert_uint_eq(event.region, NAME);
	while (n[0].transport->ops->control_send(n[0].transport, 1, message, sizeof(message)) == WHORL_OK)
		;
	regions[0]->ops->region_close(regions[0]);
	NODE_UNTIL(&n[1], (node_pass(&n[0]), withdrawn += ops_of(&n[1])->next(n[1].transport, &event), withdrawn == 1));
	ck_assert_int_eq(event.kind, WH_REMOTE_WITHDRAWN);
	for (int k = 0; k < 20; k++)
		nodes_pass(n, 2);
	ck_assert(!ops_of(&n[1])->next(n[1].transport, &event));
	ck_assert_int_eq(count_fds(), fds);
	for (int i = 0; i < 2; i++)
		node_free(&n[i]);
}

TEST_SUITE("shm regions")

int main(void)
{
	return test_main(suite());
}
