/* examples/kv/options.c - the command line, and [kv]: options.h. */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <ini.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/kv/options.h"

static void print_usage(FILE *to)
{
	fputs("usage: whorl-kv FILE.ini --id N --listen PORT [--password-file F] [--set section.key=value]...\n"
	      "\n"
	      "One replica of a key-value store that redis' tools can talk to: examples/kv/README.md.\n"
	      "\n"
	      "  --id N              which node of the group this is\n"
	      "  --listen PORT       where clients come, at [kv] bind; 0: any port that is free, which is printed\n"
	      "  --password-file F   its first line is the password that clients must give; needed if not on loopback alone\n"
	      "  --set S.K=V         as if it stood in the file\n"
	      "  --help              this\n"
	      "\n"
	      "Exit status: 0 after SIGTERM or SIGINT, if it left the group in order; 1 failed (also its disk), or removed by the others; 2 usage.\n",
	      to);
}

/* ---- [kv] -------------------------------------------------------------------------------------------------------------------*/

struct number_key {
	const char *name;
	size_t offset;
	uint64_t least, most;
	bool bytes; /* k is 1024 */
};

static const struct number_key number_keys[] = {
	{"maxmemory", offsetof(struct kv_options, maxmemory), 0, UINT64_MAX, true},
	{"value_max", offsetof(struct kv_options, value_max), 1, 1U << 30, true},
	{"command_max", offsetof(struct kv_options, command_max), 1024, 1U << 31, true},
	{"reply_max", offsetof(struct kv_options, reply_max), 1024, 1U << 31, true},
	{"clients_memory", offsetof(struct kv_options, clients_memory), 1U << 20, UINT64_MAX, true},
	{"maxclients", offsetof(struct kv_options, maxclients), 1, 1000000, false},
};

static bool read_number(const char *text, bool bytes, uint64_t *number)
{
	uint64_t unit = 1, base = bytes ? 1024 : 1000;
	char *end;

	errno = 0;
	*number = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)text[0]) || errno != 0)
		return false;
	if (*end != '\0') {
		static const char units[] = "kmg";
		const char *known = strchr(units, tolower((unsigned char)*end));

		if (known == NULL || end[1] != '\0')
			return false;
		for (const char *i = units; i <= known; i++)
			unit *= base;
	}
	if (*number > UINT64_MAX / unit)
		return false;
	*number *= unit;
	return true;
}

static bool set_text(char *into, size_t room, const char *where, const char *name, const char *value)
{
	if (strlen(value) >= room)
		return fprintf(stderr, "%s: kv.%s: longer than %zu bytes\n", where, name, room - 1), false;
	strcpy(into, value);
	return true;
}

static bool set_key(struct kv_options *options, const char *where, const char *name, const char *value)
{
	if (strcmp(name, "bind") == 0)
		return set_text(options->bind, sizeof(options->bind), where, name, value);
	if (strcmp(name, "announce") == 0)
		return set_text(options->announce, sizeof(options->announce), where, name, value);
	for (size_t i = 0; i < sizeof(number_keys) / sizeof(number_keys[0]); i++) {
		const struct number_key *key = &number_keys[i];
		uint64_t number;

		if (strcmp(name, key->name) != 0)
			continue;
		if (!read_number(value, key->bytes, &number) || number < key->least || number > key->most) {
			fprintf(stderr, "%s: kv.%s: expected a number from %llu to %llu, found \"%s\"\n", where, name,
				(unsigned long long)key->least, (unsigned long long)key->most, value);
			return false;
		}
		memcpy((char *)options + key->offset, &number, sizeof(number));
		return true;
	}
	fprintf(stderr, "%s: kv.%s: there is no such key\n", where, name);
	return false;
}

struct reading {
	struct kv_options *options;
	bool wrong;
};

/* inih: nonzero is good. Other sections are whorl's. */
static int take_line(void *ctx, const char *section, const char *name, const char *value)
{
	struct reading *reading = ctx;

	if (strcmp(section, "kv") == 0 && !set_key(reading->options, reading->options->file, name, value))
		reading->wrong = true;
	return 1;
}

/* --set kv.KEY=VALUE; what is of other sections is kept for whorl. */
static bool take_set(struct kv_options *options, const char *assignment)
{
	char name[32];
	const char *equals = strchr(assignment, '=');

	if (strncmp(assignment, "kv.", 3) != 0)
		return options->sets[options->set_count++] = assignment, true;
	if (equals == NULL || (size_t)(equals - assignment) - 3 >= sizeof(name))
		return fprintf(stderr, "whorl-kv: --set %s: expected kv.KEY=VALUE\n", assignment), false;
	snprintf(name, sizeof(name), "%.*s", (int)(equals - assignment - 3), assignment + 3);
	return set_key(options, "--set", name, equals + 1);
}

/* ---- the command line -------------------------------------------------------------------------------------------------------*/

static bool read_password(struct kv_options *options)
{
	FILE *file = fopen(options->password_file, "r");
	bool good;

	if (file == NULL)
		return fprintf(stderr, "whorl-kv: %s: %s\n", options->password_file, strerror(errno)), false;
	good = fgets(options->password, sizeof(options->password), file) != NULL;
	options->password[strcspn(options->password, "\r\n")] = '\0';
	(void)fclose(file);
	if (!good || options->password[0] == '\0')
		return fprintf(stderr, "whorl-kv: %s: its first line has no password\n", options->password_file), false;
	return true;
}

static bool read_limited(const char *option, const char *text, unsigned long most, unsigned long *number)
{
	char *end;

	errno = 0;
	*number = strtoul(text, &end, 10);
	if (isdigit((unsigned char)text[0]) && *end == '\0' && errno == 0 && *number <= most)
		return true;
	fprintf(stderr, "whorl-kv: --%s: expected a number from 0 to %lu, found \"%s\"\n", option, most, text);
	return false;
}

static bool take_option(struct kv_options *options, int option, const char *value)
{
	unsigned long number;

	switch (option) {
	case 'i':
		if (!read_limited("id", value, 255, &number))
			return false;
		options->id = (uint32_t)number;
		return options->has_id = true;
	case 'l':
		if (!read_limited("listen", value, 65535, &number))
			return false;
		options->port = (uint16_t)number;
		return options->has_port = true;
	case 'p':
		options->password_file = value;
		return true;
	default: /* --set is for later: the file comes first. A wrong option has been printed. */
		return option == 's';
	}
}

static const struct option long_options[] = {
	{"id", required_argument, NULL, 'i'},
	{"listen", required_argument, NULL, 'l'},
	{"password-file", required_argument, NULL, 'p'},
	{"set", required_argument, NULL, 's'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static enum kv_start read_line(struct kv_options *options, int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (option == 'h')
			return print_usage(stdout), KV_START_HELP;
		if (!take_option(options, option, optarg))
			return KV_START_USAGE;
	}
	if (optind + 1 != argc || !options->has_id || !options->has_port)
		return print_usage(stderr), KV_START_USAGE;
	options->file = argv[optind];
	return KV_START_GO;
}

/* The file, and then what --set says, in its order. */
static bool read_settings(struct kv_options *options, int argc, char **argv)
{
	struct reading reading = {options, false};
	int option, line = ini_parse(options->file, take_line, &reading);

	if (line < 0)
		return fprintf(stderr, "whorl-kv: %s: it cannot be read\n", options->file), false;
	options->sets = calloc((size_t)argc, sizeof(*options->sets)); /* until the process ends */
	if (options->sets == NULL)
		return fprintf(stderr, "whorl-kv: memory is out\n"), false;
	optind = 1;
	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		if (option == 's' && !take_set(options, optarg))
			reading.wrong = true;
	return !reading.wrong;
}

bool kv_options_loopback(const struct kv_options *options)
{
	struct in6_addr six;
	struct in_addr four;

	if (inet_pton(AF_INET, options->bind, &four) == 1)
		return ntohl(four.s_addr) >> 24 == 127;
	return inet_pton(AF_INET6, options->bind, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

enum kv_start kv_options_read(struct kv_options *options, int argc, char **argv)
{
	enum kv_start start;
	struct in6_addr address;

	*options = (struct kv_options){.bind = "127.0.0.1",
				       .value_max = 1 << 20,
				       .command_max = 16 << 20,
				       .reply_max = 16 << 20,
				       .clients_memory = 256 << 20,
				       .maxclients = 20000};
	start = read_line(options, argc, argv);
	if (start != KV_START_GO)
		return start;
	if (!read_settings(options, argc, argv) || (options->password_file != NULL && !read_password(options)))
		return KV_START_USAGE;
	if (inet_pton(AF_INET, options->bind, &address) != 1 && inet_pton(AF_INET6, options->bind, &address) != 1) {
		fprintf(stderr, "whorl-kv: kv.bind: expected an address, found \"%s\"\n", options->bind);
		return KV_START_USAGE;
	}
	if (!kv_options_loopback(options) && options->password[0] == '\0') {
		fprintf(stderr, "whorl-kv: kv.bind: %s can be reached from other hosts: --password-file is needed\n",
			options->bind);
		return KV_START_USAGE;
	}
	return KV_START_GO;
}
