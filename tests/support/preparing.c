#include "tests/support/preparing.h"

void want(struct member *m, const char *nodes)
{
	memset(m->wants, 0, sizeof(m->wants));
	for (; *nodes != '\0'; nodes++)
		m->wants[*nodes - '0'] = true;
	play_newcomers(m, wh_ticket_image(&m->change));
	m->change.wanted = true;
}

bool is_renewal(const struct member *m, uint64_t attempt)
{
	return mine(m, record_word(m, attempt, 2 * wh_newcomers_most(&m->view))) == 1;
}

void say_record(struct member *m, uint32_t leader, uint64_t attempt, const char *nodes, const char *resting)
{
	uint64_t rests = 0;

	for (; *resting != '\0'; resting++)
		rests |= UINT64_C(1) << (*resting - '0');
	for (uint32_t i = 0; i < wh_proposal_words(&m->view); i++)
		say(m, leader, record_word(m, attempt, i), 0);
	for (uint32_t i = 0; nodes[i] != '\0'; i++) {
		say(m, leader, record_word(m, attempt, 2 * i), (uint64_t)(nodes[i] - '0') + 1);
		say(m, leader, record_word(m, attempt, 2 * i + 1), (uint64_t)(nodes[i] - '0') * 10);
	}
	say(m, leader, record_word(m, attempt, 2 * wh_newcomers_most(&m->view) + 1), rests);
	seal_record(m, leader, attempt);
}

void say_proposal(struct member *m, uint32_t leader, uint64_t attempt, const char *nodes, const char *resting)
{
	say_record(m, leader, attempt, nodes, resting);
	say(m, leader, m->columns.proposed.offset, attempt);
}

void say_acknowledged(struct member *m, const char *ranks, uint64_t ticket)
{
	for (; *ranks != '\0'; ranks++)
		say(m, (uint32_t)(*ranks - '0'), m->columns.acknowledged.offset, ticket);
}

void say_wedged(struct member *m, const char *ranks, uint64_t received)
{
	for (; *ranks != '\0'; ranks++) {
		say(m, (uint32_t)(*ranks - '0'), m->received_num.offset, received);
		say(m, (uint32_t)(*ranks - '0'), m->columns.wedged.offset, 1);
	}
}

bool has_wedged(const struct member *m)
{
	return mine(m, m->columns.wedged.offset) != 0;
}

struct member *member_that_invites(uint32_t members, const char *nodes)
{
	struct member *m = member_make(0, members, -1);

	want(m, nodes);
	settle(m);
	ck_assert_uint_eq(mine(m, m->columns.proposed.offset), 1);
	forget_told(m);
	return m;
}
