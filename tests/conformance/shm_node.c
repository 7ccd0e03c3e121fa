/* shm_node.c - see shm_node.h. */
#include "tests/conformance/shm_node.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MEMBERS_MAX 16

uint64_t test_now(void)
{
	return wh_env_now(wh_env_system());
}

uint64_t test_cpu(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * WH_NS_PER_S + (uint64_t)used.tv_nsec;
}

int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count;
}

int lines_with(const char *path, const char *word)
{
	char line[1024];
	int count = 0;
	FILE *file = fopen(path, "r");

	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file) != NULL)
		count += strstr(line, word) != NULL;
	fclose(file);
	return count;
}

void allow_fds(int more)
{
	struct rlimit limit;
	int next = dup(STDOUT_FILENO);

	ck_assert_int_ge(next, 0);
	close(next);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = (rlim_t)(next + more);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

char *new_group(char buf[40])
{
	const struct wh_env *env = wh_env_system();

	snprintf(buf, 40, "test-%016llx", (unsigned long long)env->random_u64(env->ctx));
	return buf;
}

/* ---- a node ------------------------------------------------------------------------------------------------------- */

static enum whorl_result try_as(struct node *n, const char *group, uint32_t id, uint32_t nodes, uint64_t incarnation,
				int huge_pages, struct wh_error *err)
{
	struct wh_transport_config config = {.env = wh_env_system(),
					     .group = group,
					     .node = id,
					     .nodes = nodes,
					     .incarnation = incarnation,
					     .patience_ns = WH_NS_PER_S};

	*n = (struct node){.id = id, .nodes = nodes};
	if (huge_pages == WH_HUGE_TRY)
		config.huge_pages = WH_HUGE_TRY;
	if (huge_pages == WH_HUGE_REQUIRE)
		config.huge_pages = WH_HUGE_REQUIRE;
	return wh_shm_create(&config, NULL, &n->transport, err);
}

enum whorl_result node_try(struct node *n, const char *group, uint32_t id, uint32_t nodes, int huge_pages,
			   struct wh_error *err)
{
	return try_as(n, group, id, nodes, INCARNATION(id), huge_pages, err);
}

void node_make_again(struct node *n, const char *group, uint32_t id, uint32_t nodes, uint64_t incarnation)
{
	struct wh_error err;

	ck_assert_msg(try_as(n, group, id, nodes, incarnation, WH_HUGE_OFF, &err) == WHORL_OK, "%s", err.text);
}

void node_make(struct node *n, const char *group, uint32_t id, uint32_t nodes)
{
	struct wh_error err;

	ck_assert_msg(node_try(n, group, id, nodes, WH_HUGE_OFF, &err) == WHORL_OK, "%s", err.text);
}

struct wh_image *node_open_of(struct node *n, uint64_t key, uint32_t members, uint64_t row_bytes)
{
	const struct wh_row_part parts[] = {{0, WH_ROW_ALIGN}, {RING_READ, WH_ROW_ALIGN}};
	struct wh_row_spec rows[MEMBERS_MAX];
	struct wh_image_spec spec = {
		.key = key, .layout_digest = row_bytes, .control_bytes = WH_ROW_ALIGN, .rows = rows};
	struct wh_image *image;
	struct wh_error err;

	for (uint32_t node = 0; node < MEMBERS_MAX; node++) {
		if ((members & 1u << node) == 0)
			continue;
		if (node == n->id)
			spec.my_rank = spec.members;
		rows[spec.members++] = (struct wh_row_spec){.node = node,
							    .incarnation = INCARNATION(node),
							    .bytes = row_bytes,
							    .parts = parts,
							    .part_count = 2};
	}
	ck_assert_msg(n->transport->ops->image_open(n->transport, &spec, &image, &err) == WHORL_OK, "%s", err.text);
	return image;
}

void node_open(struct node *n, uint64_t row_bytes)
{
	n->image = node_open_of(n, 1, (1u << n->nodes) - 1, row_bytes);
}

void node_free(struct node *n)
{
	n->transport->ops->destroy(n->transport, false);
	n->transport = NULL;
}

static void take_event(struct node *n, const struct wh_transport_event *event)
{
	switch (event->kind) {
	case WH_EVENT_IMAGE_READY:
		return;
	case WH_EVENT_CONTROL:
		n->controls++;
		return;
	case WH_EVENT_PEER_MET:
		n->met++;
		n->last_met = event->incarnation;
		return;
	case WH_EVENT_PEER_DEAD:
		n->dead++;
		n->last_dead = event->incarnation;
		n->controls_at_dead = n->controls;
		ck_assert_uint_le(n->dead, n->down + n->left + n->refused); /* behind the end */
		return;
	case WH_EVENT_STREAM:
		n->stream = event->stream;
		n->tag = event->tag;
		return;
	case WH_EVENT_QUERY:
		n->query = event->query;
		snprintf(n->text, sizeof(n->text), "%.*s", (int)event->bytes, event->text);
		return;
	case WH_EVENT_PEER_LEFT:
		n->left++;
		break;
	case WH_EVENT_PEER_DOWN:
		n->down++;
		break;
	case WH_EVENT_REFUSED:
		n->refused++;
		break;
	}
	snprintf(n->text, sizeof(n->text), "%.*s", (int)sizeof(n->text) - 1, event->text);
}

void node_pass(struct node *n)
{
	struct wh_transport_event event;

	n->transport->ops->service(n->transport);
	while (n->transport->ops->next_event(n->transport, &event))
		take_event(n, &event);
	nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

void image_close(struct wh_image *image)
{
	image->ops->image_close(image);
}

void image_freeze(struct wh_image *image, uint32_t rank)
{
	image->ops->freeze(image, rank);
}

void image_post_word(struct wh_image *image, uint64_t offset, uint64_t value)
{
	uint32_t others[MEMBERS_MAX], count = 0;
	struct wh_push push = {.kind = WH_PUSH_WORD, .offset = offset, .value = value, .to = others};

	for (uint32_t r = 0; r < image->members; r++)
		if (r != image->my_rank)
			others[count++] = r;
	push.to_count = count;
	image->ops->post(image, &push, 1);
}

uint64_t image_column(const struct wh_image *image, uint32_t rank, uint64_t offset)
{
	return wh_load_acquire((const wh_word *)(const void *)(image->control[rank] + offset));
}

void node_post_word(struct node *n, uint64_t offset, uint64_t value)
{
	image_post_word(n->image, offset, value);
}

uint64_t node_column(const struct node *n, uint32_t of, uint64_t offset)
{
	return image_column(n->image, of, offset);
}

int rows_mapped(void)
{
	return lines_with("/proc/self/maps", "/memfd:whorl-row");
}

int memories_mapped(void)
{
	return lines_with("/proc/self/maps", "/memfd:whorl-");
}

int rows_present(void)
{
	char line[1024];
	bool row = false;
	int count = 0;
	FILE *file = fopen("/proc/self/smaps", "r");
	unsigned long kilobytes;

	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file) != NULL) {
		if (strstr(line, "whorl-row") != NULL)
			row = true;
		if (sscanf(line, "Rss: %lu kB", &kilobytes) != 1)
			continue;
		count += row && kilobytes > 0;
		row = false;
	}
	fclose(file);
	return count;
}

uint64_t spare_state(const struct node *n)
{
	return wh_load_acquire(&((struct wh_shm *)n->transport)->jobs->spare);
}

void nodes_make(struct node *nodes, uint32_t count)
{
	char group[40];

	new_group(group);
	for (uint32_t id = 0; id < count; id++)
		node_make(&nodes[id], group, id, count);
}

void nodes_pass(struct node *nodes, uint32_t count)
{
	for (uint32_t id = 0; id < count; id++)
		node_pass(&nodes[id]);
}

/* ---- a child ------------------------------------------------------------------------------------------------------ */

pid_t spawn(int (*body)(const char *group), const char *group)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		_exit(body(group));
	return pid;
}

int stay(void)
{
	for (;;)
		pause();
	return 0;
}

pid_t spawn_here(int (*body)(const char *group), const char *group)
{
	pid_t parent = getpid(), pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid != 0)
		return pid;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
		_exit(1);
	_exit(body(group));
}

int reap(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

/* ---- a hand-made peer --------------------------------------------------------------------------------------------- */

void raw_name(const char *group, uint32_t node, struct sockaddr_un *name, socklen_t *bytes)
{
	int length;

	memset(name, 0, sizeof(*name));
	name->sun_family = AF_UNIX;
	length = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "whorl/%u/%s/%u", (unsigned)geteuid(), group,
			  (unsigned)node);
	*bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

int raw_page(void)
{
	int fd = memfd_create("test-page", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, WH_SHM_STATUS_BYTES), 0);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL), 0);
	return fd;
}

void raw_connect(struct raw *r, const char *group, uint32_t node, uint32_t me, uint32_t nodes)
{
	struct sockaddr_un name;
	socklen_t bytes;

	raw_name(group, node, &name, &bytes);
	r->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	ck_assert_int_ge(r->socket, 0);
	ck_assert_int_eq(connect(r->socket, (const struct sockaddr *)&name, bytes), 0);
	r->doorbell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->page = raw_page();
	r->hello = (struct wh_hello){.version = WH_SHM_VERSION,
				     .node = me,
				     .nodes = nodes,
				     .incarnation = INCARNATION(me),
				     .call = test_now()}; /* none is older than one before */
	snprintf(r->hello.group, sizeof(r->hello.group), "%s", group);
	r->status = (struct wh_shm_claim){.bytes = WH_SHM_STATUS_BYTES, .page = 4096};
}

bool raw_send(int socket, const void *bytes, size_t count, const int *fds, size_t fd_count)
{
	const struct iovec part = {(void *)(uintptr_t)bytes, count};

	return wh_shm_datagram_send(socket, &part, 1, fds, fd_count) == WH_WIRE_DONE;
}

size_t raw_hello(const struct raw *r, unsigned char message[WH_MESSAGE_MAX])
{
	size_t count = wh_message_put_hello(message, &r->hello, WH_SHM_CLAIM_BYTES);

	wh_shm_claim_put(message + count, &r->status);
	return count + WH_SHM_CLAIM_BYTES;
}

void raw_say_hello_alone(const struct raw *r)
{
	const int fds[] = {r->doorbell, r->page};
	unsigned char message[WH_MESSAGE_MAX];

	ck_assert(raw_send(r->socket, message, raw_hello(r, message), fds, 2));
}

void raw_say_hello(const struct raw *r)
{
	raw_say_hello_alone(r);
	(void)raw_say(r->socket, WH_MESSAGE_TAKEN, 0); /* it may have been refused by now */
}

bool raw_say(int socket, uint8_t kind, uint64_t number)
{
	unsigned char message[WH_HEAD_BYTES];

	return raw_send(socket, message, wh_message_put_plain(message, kind, number), NULL, 0);
}

bool raw_say_claim(const struct raw *r, uint8_t kind, uint64_t number, uint64_t bytes, int fd)
{
	const struct wh_message_head head = {.kind = kind, .bytes = WH_SHM_CLAIM_BYTES, .number = number};
	const struct wh_shm_claim claim = {.bytes = bytes, .page = 4096};
	unsigned char message[WH_HEAD_BYTES + WH_SHM_CLAIM_BYTES];

	wh_message_head_put(message, &head);
	wh_shm_claim_put(message + WH_HEAD_BYTES, &claim);
	return raw_send(r->socket, message, sizeof(message), &fd, fd >= 0);
}

bool raw_say_offer(const struct raw *r, const struct wh_offer *offer, uint64_t bytes, int fd)
{
	const struct wh_shm_claim claim = {.bytes = bytes, .page = 4096};
	unsigned char message[WH_HEAD_BYTES + WH_OFFER_BYTES + WH_SHM_CLAIM_BYTES];

	wh_shm_claim_put(message + wh_message_put_offer(message, offer, WH_SHM_CLAIM_BYTES), &claim);
	return raw_send(r->socket, message, sizeof(message), &fd, 1);
}

void raw_be_met(struct raw *r, struct node *n, const char *group, uint32_t me)
{
	uint32_t met = n->met;

	raw_connect(r, group, n->id, me, n->nodes);
	raw_say_hello(r);
	ck_assert_int_eq(raw_receive(r, n), WH_WIRE_DONE);
	ck_assert_int_eq(r->head.kind, WH_MESSAGE_HELLO);
	wh_shm_datagram_close_fds(&r->got);
	NODE_UNTIL(n, n->met == met + 1);
}

enum wh_wire_result raw_receive(struct raw *r, struct node *n)
{
	uint64_t deadline = test_now() + PATIENCE_NS;
	enum wh_wire_result what = WH_WIRE_LATER;

	while (what == WH_WIRE_LATER && test_now() < deadline) {
		node_pass(n);
		what = wh_shm_datagram_receive(r->socket, &r->got);
	}
	if (what == WH_WIRE_DONE) {
		ck_assert(wh_message_head_take(&r->head, r->got.bytes));
		ck_assert_uint_eq(r->got.count, WH_HEAD_BYTES + r->head.bytes);
	}
	return what;
}

struct wh_refused raw_refusal(const struct raw *r)
{
	struct wh_refused refused;

	ck_assert_int_eq(r->head.kind, WH_MESSAGE_REFUSED);
	ck_assert(wh_message_take_refused(&refused, &r->head, r->got.bytes + WH_HEAD_BYTES));
	return refused;
}

void raw_close(struct raw *r)
{
	close(r->socket);
	close(r->doorbell);
	close(r->page);
}
