/* stranger.c - a program that knows of whorl what is installed. Prints the version of the library that is running, after
 * a node of a group of its own has been opened and closed, so that a static link needs all that the library needs. */
#include <stdio.h>

#include <whorl/whorl.h>

int main(void)
{
	whorl_config *config = whorl_config_new();
	whorl_node *node = NULL;

	if (config == NULL)
		return 1;
	if (whorl_config_load_text(config, "stranger", "[group]\nname = stranger\nnodes = 1\n[subgroup only]\n") !=
		    WHORL_OK ||
	    whorl_open(config, 0, NULL, &node) != WHORL_OK) {
		fprintf(stderr, "%s\n", whorl_config_error(config));
		return 1;
	}
	puts(whorl_version());
	whorl_close(node, 0);
	whorl_config_free(config);
	return 0;
}
