/* log.h - what `whorl log` has found in the directory of one node. */
#ifndef WH_TOOLS_LOG_H
#define WH_TOOLS_LOG_H

#include <stdio.h>

#include "persistence/identity.h"
#include "persistence/log.h"
#include "persistence/standing.h"

struct wh_log_report {
	char files[WH_LOG_FILES_BYTES]; /* what the names of its files begin with */
	enum whorl_result result;       /* of opening it; not WHORL_OK: nothing else is known but `err` */
	struct wh_error err;
	struct wh_log_found found;
	struct wh_log *log; /* open, read only */
};

struct wh_logs_report {
	const char *path; /* of the directory */
	enum whorl_result identity_result;
	struct wh_error identity_err;
	struct wh_identity identity; /* WHORL_OK */
	enum whorl_result standing_result;
	struct wh_error standing_err;
	struct wh_standing standing; /* WHORL_OK; it may be blank */
	bool passed_over;            /* a slot of it does not check */
	struct wh_log_report *logs;
	uint32_t count;
};

/* WHOLE, TORN and BLANK are good; a log that cannot be opened is not. */
bool wh_log_report_is_good(const struct wh_log_report *report);
/* All of it. */
bool wh_logs_report_is_good(const struct wh_logs_report *report);
/* "whole", "torn", "rot", "blank", "unreadable". */
const char *wh_log_report_verdict(const struct wh_log_report *report);

/* Reads all of it. To be freed by wh_logs_report_free, before the directory is closed. */
void wh_logs_report_read(struct wh_logs_report *report, struct wh_directory *directory);
void wh_logs_report_free(struct wh_logs_report *report);

/* log_anew.c. A line for all that may be lost if it becomes a group of its own; its standing is not blank. */
typedef void wh_log_say_fn(void *ctx, const char *line);
void wh_logs_report_losses(const struct wh_logs_report *report, wh_log_say_fn *say, void *ctx);
/* It does. Returns the exit status. */
int wh_log_begin_anew(const char *path, struct wh_directory *directory, bool json);

void wh_logs_report_print(FILE *out, const struct wh_logs_report *report);
void wh_logs_report_print_json(FILE *out, const struct wh_logs_report *report);

#endif
