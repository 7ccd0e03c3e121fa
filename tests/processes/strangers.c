/* strangers.c - see strangers.h. */
#include "tests/processes/strangers.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define LISTENS 0x10000u /* flag of a socket in /proc/net/unix */

static void call(struct strangers *strangers, struct cluster *c, const char *name, int type, size_t bytes)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t length = strlen(name);
	unsigned char nonsense[4096];
	int s = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	for (size_t i = 0; i < sizeof(nonsense); i++)
		nonsense[i] = (unsigned char)cluster_draw(c, 256);
	memcpy(to.sun_path + 1, name + 1, length - 1); /* abstract: a zero, for which the list has an @ */
	if (s < 0 ||
	    connect(s, (struct sockaddr *)&to, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) != 0) {
		if (s >= 0)
			close(s); /* its queue is full: there are strangers enough */
		return;
	}
	if (bytes > 0)
		(void)!send(s, nonsense, bytes < sizeof(nonsense) ? bytes : sizeof(nonsense), MSG_NOSIGNAL);
	strangers->sockets[strangers->count++] = s;
}

void strangers_come(struct strangers *strangers, struct cluster *c, uint32_t often, size_t bytes)
{
	char line[512], name[200];
	unsigned flags;
	int type;
	FILE *list = fopen("/proc/net/unix", "r");

	strangers->count = 0;
	while (list != NULL && fgets(line, sizeof(line), list) != NULL) {
		if (strstr(line, c->name) == NULL ||
		    sscanf(line, "%*x: %*x %*x %x %x %*x %*u %199s", &flags, (unsigned *)&type, name) != 3 ||
		    (flags & LISTENS) == 0 || strlen(name) > sizeof(((struct sockaddr_un *)0)->sun_path))
			continue;
		for (uint32_t n = 0; n < often && strangers->count < STRANGERS_MAX; n++)
			call(strangers, c, name, type, bytes);
	}
	if (list != NULL)
		fclose(list);
	if (strangers->count == 0)
		cluster_fail(c, "nobody listens");
}

void strangers_go(struct strangers *strangers)
{
	for (uint32_t i = 0; i < strangers->count; i++)
		close(strangers->sockets[i]);
}
