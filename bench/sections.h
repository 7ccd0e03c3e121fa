/* sections.h - the sections that an ini file of the command may have, whichever of its commands reads it. */
#ifndef WH_BENCH_SECTIONS_H
#define WH_BENCH_SECTIONS_H

#include "conf/conf.h"

extern const struct wh_option_table *const wh_sections[];
extern const size_t wh_section_count;

/* A conf with the tables of all of them; NULL when memory is out. */
struct wh_conf *wh_sections_conf(void);

#endif
