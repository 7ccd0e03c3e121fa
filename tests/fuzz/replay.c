/* replay.c - what a fuzzer has found worth keeping, given to its target once more, by any compiler:
 *
 *     replay-NAME DIRECTORY
 *
 * Fails if there is nothing in it, and as the target does.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define INPUT_MAX 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In memory of its own, of its length: what reads beyond it is seen by a sanitizer. */
static int try(const char *path)
{
	static uint8_t bytes[INPUT_MAX];
	FILE *file = fopen(path, "rb");
	uint8_t *input;
	size_t count;

	if (file == NULL) {
		perror(path);
		return EXIT_FAILURE;
	}
	count = fread(bytes, 1, sizeof(bytes), file);
	(void)fclose(file);
	input = malloc(count > 0 ? count : 1);
	if (input == NULL)
		return EXIT_FAILURE;
	for (size_t i = 0; i < count; i++)
		input[i] = bytes[i];
	printf("%s\n", path); /* the last one, if it breaks */
	fflush(stdout);
	(void)LLVMFuzzerTestOneInput(input, count);
	free(input);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	DIR *directory = argc == 2 ? opendir(argv[1]) : NULL;
	int status = EXIT_SUCCESS, tried = 0;
	const struct dirent *entry;
	char path[4096];

	if (directory == NULL) {
		fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
		return 2;
	}
	while (status == EXIT_SUCCESS && (entry = readdir(directory)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
		status = try(path);
		tried++;
	}
	(void)closedir(directory);
	printf("%d inputs\n", tried);
	return tried > 0 ? status : EXIT_FAILURE;
}
