/* memory.c - memory files that have one writer, and cannot be pulled away under their readers.
 *
 * The owner maps its file writable and makes all of it present, so that want of memory is an error here and not a
 * SIGBUS later. Then it seals it: the size is final, and no process can map it writable or write to it any more, whatever
 * it does with the descriptor. Peers check the seals before they map, so no peer can make a reader fault by truncation. Memory
 * that peers may write to (regions, T7) is sealed in its size alone.
 *
 * ThreadSanitizer sees nothing across two mappings of one memory. In its builds nodes of one process read at the owner's
 * address; the memory then goes with the last of them, by a count in a heap object, the address of which travels with the
 * descriptor. (A claim that is sent and never received keeps the memory until the process ends.)
 */
#include "transport/shm/shm_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)
#define SHARED_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) /* of what peers may write to */
#define SMALL_PAGE 4096
#define HUGE_PAGE_MAX (UINT64_C(1) << 30)
#define PRESENT_AT_ONCE (UINT64_C(256) << 10)

static uint64_t round_up(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

/* ---- one address for all nodes of a process (ThreadSanitizer) ----------------------------------------------------- */

#if WH_TSAN

struct wh_shm_share {
	wh_word users;
	unsigned char *base;
	uint64_t bytes;
};

static bool share_begin(struct wh_shm_memory *m)
{
	m->share = malloc(sizeof(*m->share));
	if (m->share == NULL)
		return false;
	*m->share = (struct wh_shm_share){.users = 1, .base = m->base, .bytes = m->bytes};
	return true;
}

static uint64_t share_number(struct wh_shm_share *share)
{
	wh_fetch_add(&share->users, 1);
	return (uint64_t)(uintptr_t)share;
}

static bool share_take(struct wh_shm_view *v, uint64_t number)
{
	v->share = (struct wh_shm_share *)(uintptr_t)number;
	v->base = v->share->base;
	return true;
}

/* False: there is none, the caller unmaps. */
static bool share_end(struct wh_shm_share *share)
{
	if (share == NULL)
		return false;
	if (wh_fetch_add(&share->users, (uint64_t)-1) == 1) {
		munmap(share->base, share->bytes);
		free(share);
	}
	return true;
}

#else

static bool share_begin(struct wh_shm_memory *m)
{
	m->share = NULL;
	return true;
}

static uint64_t share_number(struct wh_shm_share *share)
{
	(void)share;
	return 0;
}

static bool share_take(struct wh_shm_view *v, uint64_t number)
{
	(void)v, (void)number;
	return false;
}

static bool share_end(struct wh_shm_share *share)
{
	(void)share;
	return false;
}

#endif

/* ---- mine --------------------------------------------------------------------------------------------------------- */

uint64_t wh_shm_memory_available(void)
{
	char text[512];
	const char *line;
	unsigned long long kilobytes = 0;
	int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return UINT64_MAX;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[got < 0 ? 0 : got] = '\0';
	line = strstr(text, "MemAvailable:");
	if (line == NULL || sscanf(line, "MemAvailable: %llu kB", &kilobytes) != 1)
		return UINT64_MAX;
	return (uint64_t)kilobytes * 1024;
}

/* A file of the size of an `ulimit -f` or more would bring a signal. */
static uint64_t file_size_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return (uint64_t)limit.rlim_cur;
}

/* Gives the file its pages, all of them. In pieces: other threads of the process cannot map anything meanwhile, and the
 * job that makes a spare can be told to stop. 0 or an errno value. */
static int make_present(const struct wh_shm_memory *m, const wh_word *stop)
{
	const uint64_t piece = m->page > PRESENT_AT_ONCE ? m->page : PRESENT_AT_ONCE;
	uint64_t at = 0;
	int error;

	while (at < m->bytes) {
		uint64_t bytes = m->bytes - at < piece ? m->bytes - at : piece;

		if (stop != NULL && wh_load_relaxed(stop) != 0)
			return ECANCELED;
		if (madvise(m->base + at, bytes, MADV_POPULATE_WRITE) == 0) {
			at += bytes;
			continue;
		}
		if (errno == EINTR || errno == EAGAIN)
			continue;
		if (errno != EINVAL)
			return errno == EFAULT ? ENOMEM : errno;
		do { /* before Linux 5.14 */
			error = posix_fallocate(m->fd, 0, (off_t)m->bytes);
		} while (error == EINTR);
		return error;
	}
	return 0;
}

/* Makes it of huge pages or of ordinary ones. 0 or an errno value, and then nothing is left. */
static int make_of(struct wh_shm_memory *m, const struct wh_shm_wish *wish, bool huge, bool advise)
{
	struct stat st;
	int error;

	*m = (struct wh_shm_memory){.bytes = wish->bytes, .page = SMALL_PAGE, .fd = -1};
	m->fd = memfd_create(wish->name, MFD_CLOEXEC | MFD_ALLOW_SEALING | (huge ? MFD_HUGETLB : 0u));
	if (m->fd < 0)
		return errno;
	if (huge && fstat(m->fd, &st) == 0)
		m->page = (uint64_t)st.st_blksize;
	m->bytes = round_up(wish->bytes, m->page);
	if (ftruncate(m->fd, (off_t)m->bytes) != 0) {
		error = errno;
		goto out_fd;
	}
	m->base = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	if (m->base == MAP_FAILED) {
		error = errno;
		goto out_fd;
	}
	if (advise)
		(void)madvise(m->base, m->bytes, MADV_HUGEPAGE); /* a wish */
	error = make_present(m, wish->stop);
	if (error == 0 && fcntl(m->fd, F_ADD_SEALS, wish->shared ? SHARED_SEALS : SEALS) != 0)
		error = errno;
	if (error == 0)
		return 0;
	munmap(m->base, m->bytes);
out_fd:
	close(m->fd);
	m->fd = -1;
	m->base = NULL;
	return error;
}

static enum whorl_result no_memory(struct wh_error *err, int error, const struct wh_shm_memory *m, const char *name)
{
	const char *hint = m->page > SMALL_PAGE ? " in huge pages (see /proc/sys/vm/nr_hugepages)" : "";

	wh_error_system(err, error, "%s: cannot have %llu bytes%s", name, (unsigned long long)m->bytes, hint);
	if (error != ENOMEM && error != ENOSPC && error != EFBIG)
		return WHORL_SYSTEM;
	if (err != NULL)
		err->code = WHORL_MEMORY;
	return WHORL_MEMORY;
}

enum whorl_result wh_shm_memory_make(struct wh_shm_memory *m, const struct wh_shm_wish *wish, struct wh_error *err)
{
	const uint64_t bytes = wish->bytes;
	uint64_t limit = file_size_limit();
	uint64_t available;
	int error;

	if (bytes >= limit)
		return wh_error_set(err, WHORL_MEMORY, "%s: %llu bytes wanted, but files may have %llu (ulimit -f)",
				    wish->name, (unsigned long long)bytes, (unsigned long long)limit);
	if (wish->huge_pages != WH_HUGE_OFF) {
		error = make_of(m, wish, true, false);
		if (error == 0)
			goto made;
		if (wish->huge_pages == WH_HUGE_REQUIRE)
			return no_memory(err, error, m, wish->name);
	}
	available = wh_shm_memory_available();
	if (bytes > available)
		return wh_error_set(err, WHORL_MEMORY, "%s: %llu bytes wanted, %llu are available", wish->name,
				    (unsigned long long)bytes, (unsigned long long)available);
	error = make_of(m, wish, false, wish->huge_pages == WH_HUGE_TRY);
	if (error != 0)
		return no_memory(err, error, m, wish->name);
made:
	if (share_begin(m))
		return WHORL_OK;
	wh_shm_memory_free(m);
	return wh_error_set(err, WHORL_MEMORY, "%s: no memory", wish->name);
}

void wh_shm_memory_let_go(struct wh_shm_memory *m)
{
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
}

void wh_shm_memory_free(struct wh_shm_memory *m)
{
	wh_shm_memory_let_go(m);
	if (m->base != NULL && !share_end(m->share))
		munmap(m->base, m->bytes);
	m->base = NULL;
}

struct wh_shm_claim wh_shm_memory_claim(struct wh_shm_memory *m, uint64_t bytes, bool same_process)
{
	return (struct wh_shm_claim){
		.bytes = bytes,
		.page = m->page,
		.share = same_process && m->share != NULL ? share_number(m->share) : 0,
	};
}

void wh_shm_claim_put(unsigned char bytes[WH_SHM_CLAIM_BYTES], const struct wh_shm_claim *claim)
{
	wh_message_put_number(bytes, claim->bytes, 8);
	wh_message_put_number(bytes + 8, claim->page, 8);
	wh_message_put_number(bytes + 16, claim->share, 8);
}

/* ---- a peer's ----------------------------------------------------------------------------------------------------- */

struct wh_shm_claim wh_shm_claim_take(const unsigned char bytes[WH_SHM_CLAIM_BYTES])
{
	return (struct wh_shm_claim){
		.bytes = wh_message_take_number(bytes, 8),
		.page = wh_message_take_number(bytes + 8, 8),
		.share = wh_message_take_number(bytes + 16, 8),
	};
}

static enum whorl_result check_file(int fd, const struct wh_shm_claim *claim, int wanted, struct wh_error *err)
{
	struct stat st;
	int seals;

	if (claim->page < SMALL_PAGE || claim->page > HUGE_PAGE_MAX || (claim->page & (claim->page - 1)) != 0)
		return wh_error_set(err, WHORL_REFUSED, "its pages have %llu bytes", (unsigned long long)claim->page);
	if (fstat(fd, &st) != 0)
		return wh_error_system(err, errno, "fstat");
	if (!S_ISREG(st.st_mode) || claim->bytes > (uint64_t)st.st_size || (uint64_t)st.st_size % claim->page != 0)
		return wh_error_set(err, WHORL_REFUSED, "its memory file has %lld bytes, not %llu",
				    (long long)st.st_size, (unsigned long long)claim->bytes);
	seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || (seals & wanted) != wanted)
		return wh_error_set(err, WHORL_REFUSED, "its memory file is not sealed");
	return WHORL_OK;
}

/* errno says why. Many maps are there only where members are in different subgroups, between which there are gaps. */
static enum whorl_result no_map(struct wh_error *err, const char *what, uint64_t bytes)
{
	const char *hint = errno == ENOMEM ? " (see /proc/sys/vm/max_map_count)" : "";

	return wh_error_system(err, errno, "%s %llu bytes%s", what, (unsigned long long)bytes, hint);
}

static bool map_range(unsigned char *base, int fd, uint64_t begin, uint64_t end, int flags)
{
	return begin == end || mmap(base + begin, end - begin, PROT_READ, MAP_SHARED | MAP_FIXED | flags, fd,
				    (off_t)begin) != MAP_FAILED;
}

bool wh_shm_room_take(struct wh_shm_room *room, uint64_t bytes)
{
	*room = (struct wh_shm_room){.base = NULL};
	if (bytes == 0)
		return true;
	room->base = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room->base == MAP_FAILED)
		room->base = NULL;
	room->bytes = room->base != NULL ? bytes : 0;
	return room->base != NULL;
}

void wh_shm_room_free(struct wh_shm_room *room)
{
	if (room->base != NULL)
		munmap(room->base, room->bytes);
	*room = (struct wh_shm_room){.base = NULL};
}

uint64_t wh_shm_room_for(uint64_t row_bytes)
{
	return round_up(row_bytes, SMALL_PAGE);
}

/* NULL: there is none. `room`: addresses that are taken already, enough for pages of the usual size. */
static unsigned char *find_place(struct wh_shm_view *v, const struct wh_shm_claim *claim, unsigned char *room)
{
	uint64_t page = claim->page;

	if (room != NULL && page == SMALL_PAGE)
		return room;
	v->map_bytes = round_up(claim->bytes, page) + (page > SMALL_PAGE ? page : 0);
	v->map = mmap(NULL, v->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (v->map == MAP_FAILED) {
		v->map = NULL;
		return NULL;
	}
	return (unsigned char *)(uintptr_t)round_up((uintptr_t)v->map, page);
}

/* The whole range of addresses is taken, so that an offset means the same in every view; then the parts are put into
 * it. A part of a file of huge pages is widened to such pages: more of the row can then be read than was asked for.
 *
 * The columns are read at once. The pages of the rings are present too, and enter this map when they are
 * touched, several at a time: that costs less than to do it for all of them here, where the loop waits. */
enum whorl_result wh_shm_view_map(struct wh_shm_view *v, int fd, const struct wh_shm_claim *claim,
				  const struct wh_shm_parts *parts, bool same_process, struct wh_error *err)
{
	uint64_t soon = round_up(parts->soon, claim->page);
	uint64_t page = claim->page;
	enum whorl_result result;
	unsigned char *base;

	*v = (struct wh_shm_view){.base = NULL};
	result = check_file(fd, claim, SEALS, err);
	if (result != WHORL_OK)
		return result;
	if (same_process && claim->share != 0 && share_take(v, claim->share))
		return WHORL_OK;
	base = find_place(v, claim, parts->room);
	if (base == NULL)
		return no_map(err, "cannot take the addresses of", v->map_bytes);
	for (size_t i = 0; i < parts->count; i++) {
		uint64_t begin = parts->of[i].offset / page * page;
		uint64_t end = round_up(parts->of[i].offset + parts->of[i].bytes, page);
		uint64_t between = end < soon ? end : begin < soon ? soon : begin;

		if (!map_range(base, fd, begin, between, MAP_POPULATE) || !map_range(base, fd, between, end, 0)) {
			no_map(err, "cannot map", end - begin);
			wh_shm_view_unmap(v);
			return WHORL_SYSTEM;
		}
	}
	v->base = base;
	return WHORL_OK;
}

enum whorl_result wh_shm_view_map_shared(struct wh_shm_view *v, int fd, const struct wh_shm_claim *claim,
					 bool same_process, struct wh_error *err)
{
	enum whorl_result result;

	*v = (struct wh_shm_view){.base = NULL};
	result = check_file(fd, claim, SHARED_SEALS, err);
	if (result != WHORL_OK)
		return result;
	if (same_process && claim->share != 0 && share_take(v, claim->share))
		return WHORL_OK;
	v->map_bytes = round_up(claim->bytes, claim->page);
	v->map = mmap(NULL, v->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (v->map == MAP_FAILED) {
		v->map = NULL;
		return wh_error_system(err, errno, "cannot map %llu bytes", (unsigned long long)v->map_bytes);
	}
	v->base = v->map;
	return WHORL_OK;
}

void wh_shm_view_unmap(struct wh_shm_view *v)
{
	if (!share_end(v->share) && v->map != NULL)
		munmap(v->map, v->map_bytes);
	*v = (struct wh_shm_view){.base = NULL};
}

void wh_shm_claim_drop(const struct wh_shm_claim *claim, bool same_process)
{
	struct wh_shm_view v = {.base = NULL};

	if (same_process && claim->share != 0 && share_take(&v, claim->share))
		wh_shm_view_unmap(&v);
}
