/* test_dds_manual.c - the policies in docs/dds.md are those of the table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dds/policy/policy.h"
#include "tests/harness.h"

static char *read_manual(void)
{
	FILE *file = fopen(WHORL_MANUAL, "r");
	char *text = NULL;
	size_t room = 0;

	ck_assert_msg(file != NULL, "%s cannot be read", WHORL_MANUAL);
	ck_assert_int_gt(getdelim(&text, &room, '\0', file), 0);
	fclose(file);
	return text;
}

TEST(the_manual_has_the_table)
{
	char *manual = read_manual(), *table = NULL, *line, *rest;
	size_t bytes = 0;
	FILE *out = open_memstream(&table, &bytes);

	ck_assert_ptr_nonnull(out);
	wh_dds_policies_describe(out);
	ck_assert_int_eq(fclose(out), 0);
	for (line = strtok_r(table, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
		ck_assert_msg(strstr(manual, line) != NULL, "docs/dds.md lacks: %s", line);
	free(table);
	free(manual);
}

TEST_SUITE("dds manual")
