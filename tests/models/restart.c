#include "restart.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	struct world w = {.nodes = 3, .shards = 1, .messages = 1, .views = 4, .rounds = 1, .crashes = 1, .cuts = 1, .lost=0};
	uint32_t limit = 300000; uint32_t runs = 0;
	for (int i = 1; i < argc; i++) {
		char *eq = strchr(argv[i], '='); unsigned v = (unsigned)strtoul(eq + 1, NULL, 0);
		*eq = 0;
#define F(x) if (!strcmp(argv[i], #x)) w.x = v
		F(nodes); F(shards); F(messages); F(views); F(rounds); F(crashes); F(cuts); F(lost); F(rot); F(groups); F(joins); F(leaves); F(tie_breaker); F(one_host); F(in_turn);
		if (!strcmp(argv[i], "m")) w.mutations |= 1u << v;
		if (!strcmp(argv[i], "limit")) limit = v;
		if (!strcmp(argv[i], "runs")) runs = v;
	}
	struct finding f = runs ? wander(&w, runs, true) : explore(&w, limit, true);
	printf("%zu bytes; %u states, %u returns, %s: %s\n", sizeof(struct state), f.looked, f.returns, f.all ? "all" : "cut off", f.wrong ? f.wrong : "holds");
	return 0;
}
