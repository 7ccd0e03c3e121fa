/* output.h - what all commands of `whorl` share: exit statuses, and output that is checked. */
#ifndef WH_COMMAND_OUTPUT_H
#define WH_COMMAND_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/* The exit statuses of the command. */
enum wh_exit {
	WH_EXIT_GOOD = 0,
	WH_EXIT_FAILED = 1,  /* the run failed */
	WH_EXIT_USAGE = 2,   /* the command line, or a file */
	WH_EXIT_MACHINE = 3, /* the machine lacks something */
	WH_EXIT_INTERRUPTED = 130
};

/* One line on stderr with "whorl: " before it. A progress line that stands there makes room. */
void wh_say(const char *format, ...) WH_PRINTF(1, 2);

/* The progress line, on stderr if that is a terminal; wh_say writes over it. A text of "" takes it away. */
void wh_progress(const char *text);

/* Sends on what is in the buffer. False: something could not be written, now or before; if now, it has been said why. `name` is what the
 * user calls the file. */
WH_MUST_CHECK bool wh_flush_file(FILE *file, const char *name);

/* The same behind a text. */
WH_MUST_CHECK bool wh_put(FILE *file, const char *text, const char *name);

#define WH_STDOUT "standard output"

/* For on_exit: what is still on its way to standard output is written. Could something not be written, that is said, and a process
 * that would have ended well ends with WH_EXIT_FAILED: a reader of the output must not take a part for the whole. One that ends
 * badly has said what it has noticed before. */
void wh_end_output(int status, void *unused);

/* Ends a file (not standard output, which is left to wh_end_output). False: something could not be written, which has been said. */
WH_MUST_CHECK bool wh_close_file(FILE *file, const char *name);

/* The number that srun (SLURM_PROCID) or mpirun (OMPI_COMM_WORLD_RANK, PMI_RANK, PMIX_RANK) has given this process among those that it has
 * started; -1: none, or none below `below`. */
int wh_command_rank(uint32_t below);

/* The status that a result leads to. */
enum wh_exit wh_exit_of(enum whorl_result result);

#endif
