/* figures.h - how long each of several stages takes, as a table with a histogram, and as JSON. */
#ifndef WH_PROCESSES_FIGURES_H
#define WH_PROCESSES_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct figures { /* of one stage */
	const char *name;
	size_t count, room;
	uint64_t *since, *takes; /* ns: since the beginning of all, since the stage before */
};

bool figures_note(struct figures *f, uint64_t since_ns, uint64_t takes_ns);
/* Notes all of a way through `stages` stages, from when each was reached. */
bool figures_note_way(struct figures *f, size_t stages, const uint64_t *since_ns);
void figures_print_head(const char *beginning);
void figures_print(struct figures *f); /* sorts; a line */
void figures_write(struct figures *f, FILE *out);
void figures_free(struct figures *f);

int figures_compare(const void *one, const void *other); /* uint64_t, for qsort */

#endif
