/* sim_pair.h - a stream between two nodes of the lab, and what has been written and read of it: for the tests of streams in
 * the simulator.
 */
#ifndef WH_TESTS_SUPPORT_SIM_PAIR_H
#define WH_TESTS_SUPPORT_SIM_PAIR_H

#include "tests/support/sim_lab.h"

#define TAG 77
#define MOST 4096 /* that a stream holds */

struct pair { /* a stream from node 0 to node 1 */
	struct lab *lab;
	struct wh_stream *writer, *reader;
	uint64_t written, read;
	bool closed;  /* the reader has found the end, */
	bool refused; /* the writer that no reader wants any more */
};

bool write_some(struct pair *pair, size_t most);
bool read_some(struct pair *pair, size_t most);
void fill(struct pair *pair);
void drain(struct pair *pair);
void close_writer(struct pair *pair);
void close_reader(struct pair *pair);
struct wh_stream *open_stream(struct lab *lab, uint32_t from, uint32_t to);
struct pair make_pair(struct wh_sim_options options);
void end_pair(struct pair *pair);

#endif
