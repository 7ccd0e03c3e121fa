/* log_lab.h - a log on a simulated disk, and what must be in it: random work, in which the power may go in any operation of the disk.
 *
 * The lab knows what it has written. After a loss of power, or when its process was killed, the log must open without rot and have all batches
 * that were synced, and perhaps the one behind; and from then on what it has said that it has.
 */
#ifndef WH_TESTS_SUPPORT_LOG_LAB_H
#define WH_TESTS_SUPPORT_LOG_LAB_H

#include <string.h>
#include <sys/uio.h>

#include "persistence/log.h"
#include "sim/disk.h"
#include "tests/harness.h"
#include "transport/dice.h"

#define LAB_BATCHES 400
#define LAB_MESSAGES 6
#define LAB_MESSAGE_BYTES 3000
#define LAB_PATH "logs/3"

struct lab_batch {
	bool begin;
	uint64_t key, view, cut;
	uint32_t sender_count;
	struct wh_log_sender senders[4];
	uint64_t first, next, frontier;
	uint32_t count;
	struct wh_log_message messages[LAB_MESSAGES]; /* data: NULL; it follows from the rest and the salt */
	uint64_t salt;
};

struct lab_mark {
	bool there;
	struct wh_log_point point;
	uint64_t bytes, salt;
};

struct lab {
	struct wh_sim_disk *disk;
	struct wh_sim_disk_user *user;
	struct wh_directory *directory;
	struct wh_log *log;
	struct wh_log_found found;
	struct wh_log_config config;
	struct wh_error err;
	struct wh_dice dice, power;
	struct lab_batch batches[LAB_BATCHES];
	uint32_t written, synced;        /* batches; written may be one more */
	struct lab_mark mark, next_mark; /* that counts; that may count instead */
	uint64_t kill_at;                /* the operation in which the process is killed; 0: none */
	/* Between two times that it is told that the disk is asked for something (lab_asks), at most. */
	bool times;
	uint64_t unasked, most_unasked;       /* operations */
	uint64_t unasked_ns, most_unasked_ns; /* what they took; only if it `times` */
};

/* ---- making one ------------------------------------------------------------------------------------------------------- */

void lab_asks(void *ctx);

/* A process comes up, and opens its directory. */
enum whorl_result log_lab_begin(struct lab *lab);
void log_lab_end(struct lab *lab);
enum whorl_result log_lab_open(struct lab *lab);
struct lab *lab_new(uint64_t seed);
void log_lab_free(struct lab *lab);

/* ---- what is written -------------------------------------------------------------------------------------------------- */

/* As the program has it: in pieces. */
enum whorl_result lab_append(struct lab *lab, const struct lab_batch *batch);

/* A batch is written and synced. */
enum whorl_result log_lab_write(struct lab *lab);

/* A checkpoint, with batches meanwhile. */
enum whorl_result lab_check_point(struct lab *lab);

/* So many steps, or until something fails: then the result of that. */
enum whorl_result lab_work(struct lab *lab, uint32_t steps);

/* ---- what must be there ----------------------------------------------------------------------------------------------- */

/* The log is open: it has what it must have. From now on it must have what it has. */
void lab_check(struct lab *lab);

/* The power goes and comes back; the log is opened again. */
void lab_again(struct lab *lab);

/* Again, and nothing was written since it was opened: there is nothing to mend. */
void lab_again_whole(struct lab *lab);

#endif
