/* main.c - of a unit test that has none of its own: it runs suite(). */
#include "tests/harness.h"

int main(void)
{
	return test_main(suite());
}
