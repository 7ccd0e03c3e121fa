/* output.c - see output.h. */
#include "command/output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In one piece: nodes that are processes write to the same terminal. */
void wh_say(const char *format, ...)
{
	char line[2048];
	size_t used = (size_t)snprintf(line, sizeof line, "%swhorl: ", isatty(STDERR_FILENO) ? "\r\033[K" : "");
	va_list args;

	va_start(args, format);
	vsnprintf(line + used, sizeof line - used - 1, format, args);
	va_end(args);
	strcat(line, "\n");
	if (write(STDERR_FILENO, line, strlen(line)) < 0)
		return; /* there is nowhere to complain */
}

void wh_progress(const char *text)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K%s", text);
}

bool wh_flush_file(FILE *file, const char *name)
{
	bool good = ferror(file) == 0;

	if (fflush(file) == 0)
		return good;
	wh_say("%s: it could not be written: %s", name, strerror(errno));
	return false;
}

bool wh_put(FILE *file, const char *text, const char *name)
{
	if (fputs(text, file) >= 0)
		return wh_flush_file(file, name);
	wh_say("%s: it could not be written: %s", name, strerror(errno));
	return false;
}

void wh_end_output(int status, void *unused)
{
	bool was_good = ferror(stdout) == 0;

	(void)unused;
	if (wh_flush_file(stdout, WH_STDOUT) || status != WH_EXIT_GOOD)
		return;
	if (!was_good)
		wh_say(WH_STDOUT ": not all could be written");
	_exit(WH_EXIT_FAILED);
}

bool wh_close_file(FILE *file, const char *name)
{
	bool good;

	if (file == stdout)
		return true;
	good = wh_flush_file(file, name);
	if (fclose(file) != 0 && good) {
		wh_say("%s: it could not be written: %s", name, strerror(errno));
		good = false;
	}
	return good;
}

int wh_command_rank(uint32_t below)
{
	static const char *const names[] = {"SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		const char *text = getenv(names[i]);
		char *end;
		long number;

		if (text == NULL || text[0] < '0' || text[0] > '9')
			continue;
		number = strtol(text, &end, 10);
		return *end == '\0' && number < (long)below ? (int)number : -1;
	}
	return -1;
}

enum wh_exit wh_exit_of(enum whorl_result result)
{
	switch (result) {
	case WHORL_OK:
		return WH_EXIT_GOOD;
	case WHORL_CONFIG:
		return WH_EXIT_USAGE;
	case WHORL_MEMORY:
	case WHORL_UNSUPPORTED:
		return WH_EXIT_MACHINE;
	default:
		return WH_EXIT_FAILED;
	}
}
