/* gnuplot.c - see gnuplot.h. */
#include "bench/plot/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

bool wh_gnuplot_is_there(void)
{
	FILE *answer = popen("gnuplot --version 2>/dev/null", "re");
	char line[80];
	bool is_there = answer != NULL && fgets(line, sizeof line, answer) != NULL;

	if (answer != NULL)
		pclose(answer);
	return is_there;
}

static void write_text(FILE *script, const char *text, bool label)
{
	fputc('\'', script);
	for (; *text != '\0'; text++) {
		if (*text == '\'' || (*text == '%' && label))
			fputc(*text, script);
		fputc((unsigned char)*text < ' ' || *text == 127 ? ' ' : *text, script);
	}
	fputc('\'', script);
}

void wh_gnuplot_text(FILE *script, const char *text)
{
	write_text(script, text, false);
}

void wh_gnuplot_label(FILE *script, const char *text)
{
	write_text(script, text, true);
}

/* Its standard input is a pipe from here, its standard output memory: whether that was all written is seen, which is not so of a file
 * that gnuplot itself writes. -d: the user's own settings would make other pictures. */
static bool start_gnuplot(struct wh_gnuplot *gnuplot, const int ends[2])
{
	char *const argv[] = {"gnuplot", "-d", NULL};
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;
	int error = posix_spawn_file_actions_init(&actions);

	if (error == 0)
		error = posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
	if (error == 0)
		error = posix_spawn_file_actions_adddup2(&actions, gnuplot->image, STDOUT_FILENO);
	if (error == 0)
		error = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	gnuplot->pid = error == 0 ? (int)pid : -1;
	errno = error;
	return error == 0;
}

bool wh_gnuplot_open(struct wh_gnuplot *gnuplot)
{
	int ends[2] = {-1, -1};

	*gnuplot = (struct wh_gnuplot){.image = memfd_create("picture", MFD_CLOEXEC)};
	if (gnuplot->image < 0 || pipe2(ends, O_CLOEXEC) != 0 || !start_gnuplot(gnuplot, ends) ||
	    (gnuplot->script = fdopen(ends[1], "w")) == NULL) {
		int error = errno;

		for (int i = 0; i < 2; i++)
			if (ends[i] >= 0)
				close(ends[i]);
		if (gnuplot->image >= 0)
			close(gnuplot->image);
		if (gnuplot->pid > 0)
			waitpid(gnuplot->pid, NULL, 0); /* its input has ended */
		errno = error;
		return false;
	}
	close(ends[0]);
	return true;
}

/* All that is in the memory, with a zero behind it. */
static char *read_image(int image)
{
	off_t bytes = lseek(image, 0, SEEK_END), done = 0;
	char *text = bytes > 0 ? malloc((size_t)bytes + 1) : NULL;

	while (text != NULL && done < bytes) {
		ssize_t got = pread(image, text + done, (size_t)(bytes - done), done);

		if (got <= 0) {
			free(text);
			return NULL;
		}
		done += got;
	}
	if (text != NULL)
		text[bytes] = '\0';
	return text;
}

char *wh_gnuplot_close(struct wh_gnuplot *gnuplot)
{
	static const char end[] = "</svg>";
	bool good = ferror(gnuplot->script) == 0;
	char *text = NULL;
	int status;

	good = fclose(gnuplot->script) == 0 && good;
	good = waitpid(gnuplot->pid, &status, 0) == gnuplot->pid && status == 0 && good;
	if (good)
		text = read_image(gnuplot->image);
	close(gnuplot->image);
	if (text != NULL && strstr(text, end) == NULL) { /* it has no more to say of memory that was out */
		free(text);
		text = NULL;
	}
	return text;
}
