/* share.c - `share NUMBER HOW`: writes points with this number, until it has read enough of one that writes with another. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "share.h"

#define ENOUGH 20

int main(int argc, char **argv)
{
	struct point own = {.id = argc > 1 ? atoi(argv[1]) : 0, .name = "own", .x = 0.25}, point;
	const char *why = share_begin(argc > 2 ? argv[2] : "");
	int written = 0, heard = 0;

	if (why != NULL) {
		printf("refused: %s\n", why);
		return 3;
	}
	printf("is there\n");
	fflush(stdout);
	own.name[8] = (char)own.id; /* behind the end of the text: it is no part of the key */
	while (written < ENOUGH || heard < ENOUGH) {
		if (share_matches() >= 2) { /* its own, and the other's */
			share_write(&own);
			written++;
		}
		while (share_take(&point))
			if (point.id != own.id)
				heard += strcmp(point.name, "own") == 0 && point.x == 0.25;
		nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	}
	share_end();
	printf("heard enough\n");
	return 0;
}
