/* results.h - the JSON lines that the command writes. */
#ifndef WH_TESTS_CLI_RESULTS_H
#define WH_TESTS_CLI_RESULTS_H

#include <jansson.h>

/* One object for each line of `text`; the test fails if a line is none. To be released with json_decref. */
json_t *results_parse(const char *text);

/* The value at a path as in "limit.before", "subgroups.0.order_digest"; the test fails if there is none. */
json_t *results_at(json_t *object, const char *path);

#endif
