/* share.h - one program of two sorts: on whorl_dds, and on Cyclone DDS's API. Each has a writer and a reader of points on one topic. */
#ifndef WH_TESTS_DDSC_SHARE_H
#define WH_TESTS_DDSC_SHARE_H

#include <stdint.h>

struct point {      /* struct point { @key long id; string<15> name; double x; }, without a pointer in it */
	int32_t id; /* the key, with the name */
	char name[16];
	double x;
};

/* `how` is the program's own affair. NULL, or why not. */
const char *share_begin(const char *how);
void share_write(const struct point *point);
/* Takes one, if there is one with data. */
int share_take(struct point *point);
int share_matches(void); /* readers that the writer has */
/* What was written has been received. */
void share_end(void);

#endif
