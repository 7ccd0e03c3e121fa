/* remote_lab.h - what the tests of delegation between nodes share: a group of nodes in this process, each with its workers. */
#ifndef WH_TESTS_SUPPORT_REMOTE_LAB_H
#define WH_TESTS_SUPPORT_REMOTE_LAB_H

#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/delegate_lab.h"

#define LAB_NODES 3

struct lab {
	whorl_config *config;
	unsigned count;
	whorl_node *nodes[LAB_NODES]; /* NULL: not open */
	whorl_work *works[LAB_NODES];
};

void lab_open_work(struct lab *lab, unsigned id, const struct whorl_work_options *options);

/* A group of so many nodes on one transport, without subgroups that matter. */
void lab_configure(struct lab *lab, unsigned count, const char *transport);
void lab_open_node(struct lab *lab, unsigned id);

/* Its nodes, without workers yet. */
void remote_lab_make(struct lab *lab, unsigned count, const char *transport);
void remote_lab_open(struct lab *lab, unsigned count, uint32_t workers, const char *transport);
void lab_close_node(struct lab *lab, unsigned id);
void remote_lab_close(struct lab *lab);

/* A counter of `node` at a worker of another. */
struct whorl_trust lab_counter(struct lab *lab, unsigned node, unsigned there, uint32_t worker, uint64_t n);

#endif
