/* resp.h - a connection to a server that speaks RESP2, as small as a test needs it. Each wait has an end.
 *
 * Words are queued, sent, and answered in order. Of an array resp_take gives how many elements follow, which are then taken one by
 * one. What fails is said once: then the connection is of no more use, and what was asked and not answered may have been done.
 */
#ifndef WH_TESTS_KV_RESP_H
#define WH_TESTS_KV_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum resp_kind { RESP_STATUS, RESP_ERROR, RESP_NUMBER, RESP_BULK, RESP_NIL, RESP_ARRAY };

struct resp_reply {
	enum resp_kind kind;
	int64_t number;   /* of an array: its elements */
	const char *text; /* ends with a 0; valid until the next call */
	size_t bytes;
};

struct resp {
	int fd; /* -1: closed */
	uint64_t until_ns;
	char *out, *in;
	size_t out_bytes, out_room, in_begin, in_end, in_room;
};

/* Zeroes may be opened. False: nothing answers there. */
bool resp_open(struct resp *resp, const char *address, uint16_t port, uint64_t until_ns);
void resp_close(struct resp *resp);
/* And its memory. */
void resp_free(struct resp *resp);

/* All waits until resp_open or this is called again end then. */
void resp_set_end(struct resp *resp, uint64_t until_ns);

/* Queues a command: the words of the format, at spaces. */
__attribute__((format(printf, 2, 3))) void resp_put(struct resp *resp, const char *format, ...);
/* False: it is not known how much was sent; the connection is closed. */
bool resp_send(struct resp *resp);
/* False: there is no answer, in time, or none that can be understood; the connection is closed. */
bool resp_take(struct resp *resp, struct resp_reply *reply);

/* One command, one answer. */
__attribute__((format(printf, 3, 4))) bool resp_ask(struct resp *resp, struct resp_reply *reply, const char *format,
						    ...);

uint64_t resp_now_ns(void);

#endif
