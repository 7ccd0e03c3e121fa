/* member_int.h - what the parts of a member know of each other: member.c lives and sends, upcalls.c listens, states.c gives
 * and takes its states. */
#ifndef WH_PROCESSES_MEMBER_INT_H
#define WH_PROCESSES_MEMBER_INT_H

#include "tests/processes/board.h"

struct stream { /* of messages of one subgroup */
	struct member *member;
	uint32_t group;
	whorl_subgroup *subgroup; /* NULL: this node is not in it */
	bool sender, holding;
	bool armed; /* its window will say that there is room */
	struct whorl_claim held;
	struct imprint *imprint; /* the state. The loop's */
	/* Restoring, on another thread: */
	struct imprint *coming;
	size_t came;           /* bytes */
	size_t body;           /* bytes of the state behind the imprint */
	unsigned char *kept;   /* as they were restored */
	_Atomic bool restored; /* the loop has not taken it over yet */
	bool behind;           /* the log does not say yet that it has caught up */
};

struct member {
	struct board *board;
	struct state *state;
	uint32_t life, id;
	bool removed, leaving;
	uint64_t looked_ns, sends_ns; /* when it looked at its statistics; when it may send again */
	whorl_node *node;
	struct stream streams[GROUPS];
	struct sender {
		bool known;
		uint32_t life;
		uint64_t view;
	} senders[MEMBERS_MAX];    /* by node id: which life sends in that view */
	const unsigned char *body; /* of states */
};

__attribute__((format(printf, 2, 3))) void member_complain(struct state *state, const char *format, ...);

static inline bool member_take_order(const struct member *me, uint32_t order)
{
	return atomic_compare_exchange_strong(&me->state->order, &order, ORDER_NONE);
}

/* Finds the subgroups, and sets all upcalls. */
void upcalls_set(struct member *me);
void member_log(struct member *me, const struct record *record); /* [loop] */

/* Makes the state of each subgroup, and tells the library how it is given and taken. False: that cannot be. */
bool states_begin(struct member *me);
/* An upcall begins: what has become of the state since the last one is logged. [loop] */
void states_note(struct stream *stream);
void states_end(struct member *me);

int remains_descriptors(void); /* of this process */
void remains_check(struct member *me, int before);

#endif
