/* similar.c - which word was meant? */
#include "conf/conf_int.h"

#include <string.h>

static size_t least_of(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/* The least number of steps from a to b, each of which adds, drops or changes a character or swaps two neighbours.
 * Row i of the table holds the distances from the first i characters of a; three rows are kept. */
static size_t edit_distance(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
	size_t rows[3][WH_CONF_NAME_BYTES];

	for (size_t j = 0; j <= b_bytes; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_bytes; i++) {
		size_t *row = rows[i % 3];
		const size_t *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= b_bytes; j++) {
			row[j] = least_of(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    two_above[j - 2] + 1 < row[j])
				row[j] = two_above[j - 2] + 1;
		}
	}
	return rows[a_bytes % 3][b_bytes];
}

bool wh_conf_is_closer(const char *word, const char *candidate, size_t *best)
{
	size_t word_bytes = strlen(word), candidate_bytes = strlen(candidate);
	size_t most = word_bytes < 8 ? 1 : word_bytes / 4;
	size_t found;

	if (word_bytes < 2 || word_bytes >= WH_CONF_NAME_BYTES || candidate_bytes >= WH_CONF_NAME_BYTES)
		return false;
	found = edit_distance(word, word_bytes, candidate, candidate_bytes);
	if (found > most || found >= *best)
		return false;
	*best = found;
	return true;
}
