/* fuzz_conf.c - any bytes as a configuration: nothing may break, and what is accepted must be right.
 *
 * The input is a file up to its first NUL byte; behind it stand assignments, each with a NUL behind it, and those before
 * a lone NUL come before the file.
 *
 *     cmake -S . -B build/fuzz -DCMAKE_C_COMPILER=clang -DWHORL_FUZZ=ON && cmake --build build/fuzz --target fuzz_conf
 *     build/fuzz/tests/fuzz/fuzz_conf -max_total_time=300 -max_len=2048 -dict=tests/fuzz/conf.dict CORPUS_DIRECTORY
 */
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

struct values {
	char text[WH_OPTION_TEXT_BYTES];
	int64_t number, bytes;
	bool on;
	int choice;
};

static const char *const choices[] = {"shm", "tcp", "verbs", "sim", NULL};

static const struct wh_option options[] = {
	{"name", WH_OPTION_TEXT, "", "demo", 0, 0, NULL, "T.", offsetof(struct values, text), false},
	{"window", WH_OPTION_INTEGER, "", "100", -5, 32768, NULL, "N.", offsetof(struct values, number), true},
	{"bytes", WH_OPTION_INTEGER, "bytes", "10k", 0, INT64_MAX, NULL, "B.", offsetof(struct values, bytes), false},
	{"nulls", WH_OPTION_SWITCH, "", "on", 0, 0, NULL, "S.", offsetof(struct values, on), true},
	{"transport", WH_OPTION_CHOICE, "", "sim", 0, 0, choices, "C.", offsetof(struct values, choice), true},
};

static const struct wh_option_table group = {
	"group", WH_OPTION_UNNAMED, "One.", options, COUNT(options), sizeof(struct values),
};

static const struct wh_option_table subgroup = {
	"subgroup", WH_OPTION_NAMED, "Many.", options, COUNT(options), sizeof(struct values),
};

static const struct wh_option_table *const tables[] = {&group, &subgroup};

static void check_values(const struct values *values)
{
	REQUIRE(memchr(values->text, '\0', sizeof(values->text)) != NULL);
	REQUIRE(values->number >= -5 && values->number <= 32768);
	REQUIRE(values->bytes >= 0);
	REQUIRE(values->choice >= 0 && values->choice < 4);
}

static void check_variant(const struct wh_conf *conf, size_t variant)
{
	struct values values;
	const char *name;
	char text[256];

	wh_conf_bind(conf, variant, &group, NULL, &values);
	check_values(&values);
	for (size_t i = 0; i < 16 && (name = wh_conf_instance(conf, "subgroup", i)) != NULL; i++) {
		REQUIRE(name[0] != '\0' && strlen(name) < 64);
		REQUIRE(wh_conf_has(conf, "subgroup", name));
		wh_conf_bind(conf, variant, &subgroup, name, &values);
		check_values(&values);
	}
	wh_conf_variant_text(conf, variant, text, sizeof(text));
	REQUIRE((wh_conf_variants(conf) > 1) == (text[0] != '\0'));
}

/* Each line says where it comes from. */
static void check_mistakes(const char *mistakes)
{
	REQUIRE(mistakes[0] != '\0');
	for (const char *line = mistakes; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		REQUIRE(strncmp(line, "a.ini:", 6) == 0 || strncmp(line, "--set: ", 7) == 0);
	}
}

static void run(struct wh_conf *conf, const char *text, const char *assignments, const char *end)
{
	bool loaded = false;

	wh_conf_ignore(conf, "bench");
	for (; assignments < end; assignments += strlen(assignments) + 1) {
		if (assignments[0] == '\0' && !loaded) {
			wh_conf_load_text(conf, "a.ini", text);
			loaded = true;
		} else {
			wh_conf_set(conf, assignments);
		}
	}
	if (!loaded)
		wh_conf_load_text(conf, "a.ini", text);
	if (wh_conf_check(conf) != WHORL_OK) {
		check_mistakes(wh_conf_mistakes(conf));
		return;
	}
	REQUIRE(wh_conf_mistakes(conf)[0] == '\0');
	REQUIRE(wh_conf_variants(conf) >= 1 && wh_conf_variants(conf) <= 10000);
	for (size_t i = 0; i < 16 && i < wh_conf_variants(conf); i++) {
		check_variant(conf, i);
		check_variant(conf, wh_conf_variants(conf) - 1 - i);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wh_conf *conf = wh_conf_new(tables, COUNT(tables));
	char *text = malloc(size + 1), *behind;

	if (conf != NULL && text != NULL) {
		memcpy(text, data, size);
		text[size] = '\0';
		behind = text + strlen(text) + 1;
		run(conf, text, behind < text + size ? behind : text + size, text + size);
	}
	free(text);
	wh_conf_free(conf);
	return 0;
}
