/* sessions_play.h - nodes that do nothing but meet, in a simulated network that does its worst, and a checker of the promises of a
 * session (transport/session/session.h, transport.h T5, T8, T10):
 *
 *   S1  An incarnation is met once, then ends at most once; the end of one comes before the next is met.
 *   S2  Nothing comes of an incarnation before it is met, or after its end.
 *   S3  A refusal is told at both ends; if the connection ended first, the next call tells it.
 *   S4  Messages are those that were sent, once, in order, from the first on; all of them if the sender left. None leaves without having
 *       been met, and LEFT is told of none that has not left.
 *   S5  A bounded number of bytes waits for a peer. WHORL_AGAIN is said then and only then.
 *   S6  An offer that is kept is of an image that may be opened yet; a row is mapped under its own key and incarnation.
 *   S7  When faults have stopped two live incarnations meet, unless a broken connection has parted them: then one of the two has met
 *       and lost the other. An image becomes ready when all its members have met.
 *   S8  A node comes in within a second, whatever stands at the door.
 *   S9  Each connection of a session is a peer's or a stranger's; none is left when its peer is gone.
 *
 * S1, S2, S4 to S6 and S9 hold at every step.
 */
#ifndef WH_TESTS_SIM_SESSIONS_PLAY_H
#define WH_TESTS_SIM_SESSIONS_PLAY_H

#include "sim/net/sim_int.h"
#include "transport/session/session_int.h"

#define HOSTS 4
#define LIVES 48

struct view { /* of one life by another */
	bool met, over, left, refused;
	uint64_t sent, got;
};

struct life {
	uint32_t host;
	uint64_t incarnation;
	struct wh_transport *transport; /* NULL: it has ended */
	bool left, odd;                 /* odd: it counts the nodes otherwise */
	uint64_t paused_ns;             /* it does not look until then */
	struct wh_image *image;
	uint64_t key; /* of the image that it opened last */
	struct view of[LIVES];
};

struct sessions {
	struct wh_sim *sim;
	struct wh_dice dice;
	uint32_t life_count;
	struct life lives[LIVES];
	struct life *at[HOSTS]; /* NULL: none */
	bool parted[LIVES][LIVES];
	uint64_t next_incarnation, next_key;
	bool verbose, calm; /* calm: no more faults */
	char verdict[256];  /* "": good so far */
};

void sessions_fail(struct sessions *s, const char *format, ...) WH_PRINTF(2, 3);
/* Plays one; true: all promises were kept. */
bool sessions_play(uint64_t seed, bool verbose, char *verdict, size_t bytes);

/* ---- the checker: sessions_check.c ---------------------------------------------------------------------------------- */

void sessions_check_event(struct sessions *s, struct life *at, const struct wh_transport_event *event);
void sessions_check_sent(struct sessions *s, struct life *from, struct life *to, enum whorl_result result);
void sessions_check_step(struct sessions *s);
void sessions_check_end(struct sessions *s);

#endif
