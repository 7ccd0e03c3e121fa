/* bell.h - a loop over a transport that does nothing but ring. */
#ifndef WH_TESTS_SUPPORT_BELL_H
#define WH_TESTS_SUPPORT_BELL_H

#include "tests/support/fake.h"

#include "predicates/loop.h"

/* A transport that notes what it is asked for, one letter each; and sleeps on a condition. */
struct bell {
	struct wh_transport base;
	char calls[128];
	size_t call_count;
	size_t service_work;
	uint64_t wait_ns;     /* of the last wait */
	bool blocks;          /* wait really does */
	struct wh_gate *lent; /* in wait the loop can be borrowed; NULL: no thread tries */
	pthread_mutex_t lock;
	pthread_cond_t rung;
	bool ringing, waiting;
	uint64_t waits;
};

void bell_wake(struct wh_transport *transport);

struct fixture {
	struct fake_env env;
	struct bell bell;
	struct wh_gate *gate;
	struct wh_loop loop;
	char order[64]; /* of predicates called */
	size_t work;    /* that the next call finds */
	uint64_t at_ns; /* that the predicates ask for; 0: nothing */
	bool armed_in_pass, parked_in_pass;
};

struct fixture *bell_make(enum wh_idle idle);
void bell_discard(struct fixture *f);
void add(struct fixture *f, wh_predicate *fn);

#endif
