/* strangers.c - see strangers.h. */
#include "tests/processes/strangers.h"

#include <dirent.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define LISTENS 0x10000u /* flag of a socket in /proc/net/unix */
#define TCP_LISTENS 0x0a /* state of a socket in /proc/net/tcp */
#define LINK_MAX_BYTES 64

struct query { /* to all sockets of a group */
	struct strangers *strangers;
	struct cluster *c;
	uint32_t often;
	size_t bytes;
};

static void call_once(const struct query *v, const struct sockaddr *to, socklen_t length, int type)
{
	unsigned char bad_messages[4096];
	int s = socket(to->sa_family, type | SOCK_CLOEXEC, 0);

	for (size_t i = 0; i < sizeof(bad_messages); i++)
		bad_messages[i] = (unsigned char)cluster_draw(v->c, 256);
	if (s < 0 || connect(s, to, length) != 0) {
		if (s >= 0)
			close(s); /* its queue is full: there are strangers enough */
		return;
	}
	if (v->bytes > 0)
		(void)!send(s, bad_messages, v->bytes < sizeof(bad_messages) ? v->bytes : sizeof(bad_messages),
			    MSG_NOSIGNAL);
	v->strangers->sockets[v->strangers->count++] = s;
}

static void call(const struct query *v, const struct sockaddr *to, socklen_t length, int type)
{
	for (uint32_t n = 0; n < v->often && v->strangers->count < STRANGERS_MAX; n++)
		call_once(v, to, length, type);
}

/* Sockets of shared memory's nodes have the name of their group. */
static void query_unix(const struct query *v)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	char line[512], name[200];
	unsigned flags, type;
	FILE *list = fopen("/proc/net/unix", "r");

	while (list != NULL && fgets(line, sizeof(line), list) != NULL) {
		if (strstr(line, v->c->name) == NULL ||
		    sscanf(line, "%*x: %*x %*x %x %x %*x %*u %199s", &flags, &type, name) != 3 ||
		    (flags & LISTENS) == 0 || strlen(name) > sizeof(to.sun_path))
			continue;
		memcpy(to.sun_path + 1, name + 1, strlen(name) - 1); /* abstract: a zero, for which the list has an @ */
		call(v, (struct sockaddr *)&to, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name)),
		     (int)type | SOCK_NONBLOCK);
	}
	if (list != NULL)
		fclose(list);
}

static bool has_open(pid_t pid, unsigned long inode)
{
	char path[64], wanted[LINK_MAX_BYTES], found[LINK_MAX_BYTES];
	struct dirent *entry;
	bool has = false;
	DIR *files;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
	files = opendir(path);
	while (files != NULL && !has && (entry = readdir(files)) != NULL) {
		ssize_t length = readlinkat(dirfd(files), entry->d_name, found, sizeof(found));

		has = length == (ssize_t)strlen(wanted) && memcmp(found, wanted, (size_t)length) == 0;
	}
	if (files != NULL)
		closedir(files);
	return has;
}

static bool is_of_group(const struct cluster *c, unsigned long inode)
{
	for (uint32_t life = 0; life < c->lives; life++)
		if (!c->children[life].ended && has_open(c->children[life].pid, inode))
			return true;
	return false;
}

/* Sockets of tcp's nodes are those that the members have open. Each stranger waits until the kernel has taken its call. */
static void query_tcp(const struct query *v)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	unsigned address, port, state;
	unsigned long inode;
	char line[512];
	FILE *list = fopen("/proc/net/tcp", "r");

	while (list != NULL && fgets(line, sizeof(line), list) != NULL) {
		if (sscanf(line, " %*d: %x:%x %*x:%*x %x %*x:%*x %*x:%*x %*x %*u %*u %lu", &address, &port, &state,
			   &inode) != 4 ||
		    state != TCP_LISTENS || !is_of_group(v->c, inode))
			continue;
		to.sin_addr.s_addr = address; /* as it lies in memory */
		to.sin_port = htons((uint16_t)port);
		call(v, (struct sockaddr *)&to, sizeof(to), SOCK_STREAM);
	}
	if (list != NULL)
		fclose(list);
}

void strangers_come(struct strangers *strangers, struct cluster *c, uint32_t often, size_t bytes)
{
	const struct query v = {.strangers = strangers, .c = c, .often = often, .bytes = bytes};

	strangers->count = 0;
	query_unix(&v);
	query_tcp(&v);
	if (strangers->count == 0)
		cluster_fail(c, "nobody listens");
}

void strangers_go(struct strangers *strangers)
{
	for (uint32_t i = 0; i < strangers->count; i++)
		close(strangers->sockets[i]);
}
