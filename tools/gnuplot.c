/* gnuplot.c - see gnuplot.h. */
#include "tools/gnuplot.h"

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

/* -d: the user's own settings would make other pictures. The encoding comes before any text. */
FILE *wh_gnuplot_open(const char *path, int width, int height)
{
	FILE *script = popen("gnuplot -d", "we");

	if (script == NULL)
		return NULL;
	fprintf(script,
		"set encoding utf8\nset terminal svg noenhanced size %d,%d background rgb 'white' font 'sans,15'\nset output ",
		width, height);
	wh_gnuplot_text(script, path);
	fputs("\nset grid\n", script);
	return script;
}

bool wh_gnuplot_close(FILE *script)
{
	bool good = ferror(script) == 0;

	return pclose(script) == 0 && good;
}
