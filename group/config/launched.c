/* launched.c - what a launcher tells the programs that it starts, by their environment: whorl_launched. */
#include <stdlib.h>
#include <string.h>

#include "group/config/config.h"
#include "group/config/launched.h"
#include "group/refuse.h"

/* "0" to "255", or "any". */
static bool read_id(const char *text, uint32_t *id)
{
	unsigned long number;
	char *end;

	if (text != NULL && strcmp(text, "any") == 0) {
		*id = WHORL_ANY_ID;
		return true;
	}
	if (text == NULL || text[0] < '0' || text[0] > '9')
		return false;
	number = strtoul(text, &end, 10);
	if (*end != '\0' || number >= WH_NODES_MAX)
		return false;
	*id = (uint32_t)number;
	return true;
}

enum whorl_result whorl_launched(whorl_config *config, uint32_t *id)
{
	const char *file = getenv(WH_LAUNCHED_CONFIG), *number = getenv(WH_LAUNCHED_ID);
	uint32_t found;

	if (config == NULL || id == NULL)
		return WH_REFUSE(config == NULL ? "no configuration" : "nowhere to put the id");
	if (file == NULL && number == NULL)
		return WHORL_NOT_FOUND;
	if (file == NULL || file[0] == '\0')
		return wh_error_set(wh_config_failure(config), WHORL_CONFIG,
				    WH_LAUNCHED_ID " is there, and no " WH_LAUNCHED_CONFIG);
	if (!read_id(number, &found))
		return wh_error_set(wh_config_failure(config), WHORL_CONFIG,
				    WH_LAUNCHED_ID " is \"%.40s\", expected the id of a node, or any",
				    number == NULL ? "" : number);
	if (whorl_config_load_file(config, file) != WHORL_OK)
		return WHORL_CONFIG;
	*id = found;
	return WHORL_OK;
}
