/* examples/kv/options.h - the command line of whorl-kv, and the section [kv] of its ini file. */
#ifndef KV_OPTIONS_H
#define KV_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define KV_PASSWORD_MAX 512
#define KV_ADDRESS_MAX 256

struct kv_options {
	const char *file;
	uint32_t id;
	uint16_t port; /* 0: any that is free */
	bool has_id, has_port;
	const char *password_file;
	char password[KV_PASSWORD_MAX + 1]; /* "": there is none */
	const char **sets;                  /* of --set, for whorl: those that are not of [kv] */
	int set_count;
	/* [kv] */
	char bind[KV_ADDRESS_MAX];
	char announce[KV_ADDRESS_MAX]; /* "": as bind */
	uint64_t maxmemory;            /* 0: no limit */
	uint64_t value_max, command_max, reply_max, clients_memory, maxclients;
};

enum kv_start { KV_START_GO, KV_START_HELP, KV_START_USAGE };

/* Reads the command line, the section and the password. With KV_START_USAGE the reason has been printed. */
enum kv_start kv_options_read(struct kv_options *options, int argc, char **argv);

/* Whether it listens where only this host can reach it. */
bool kv_options_loopback(const struct kv_options *options);

#endif
