/* alone.c - a program with a whorl that was built without RDMA, keys and TLS: what is left out says so, and tcp goes on this host. */
#include <err.h>
#include <stdio.h>
#include <string.h>

#include <whorl/whorl.h>

/* What opening node 0 answers, with that line more in [group]; `words` must be in the text. */
static void try(const char *line, enum whorl_result expected, const char *words)
{
	whorl_config *config = whorl_config_new();
	whorl_node *node = NULL;
	enum whorl_result result;
	char text[256];

	snprintf(text, sizeof(text), "[group]\nname = alone\nnodes = 1\n%s\n[subgroup s]\n", line);
	if (whorl_config_load_text(config, "alone", text) != WHORL_OK)
		errx(1, "%s", whorl_config_error(config));
	result = whorl_open(config, 0, NULL, &node);
	if (result != expected || strstr(whorl_config_error(config), words) == NULL)
		errx(1, "%s: %s: %s", line, whorl_result_text(result), whorl_config_error(config));
	if (result == WHORL_OK) {
		if (whorl_start(node) != WHORL_OK || whorl_ready(node, 10000) != WHORL_OK)
			errx(1, "%s: it is not ready", line);
		whorl_close(node, 1000);
	}
	whorl_config_free(config);
}

int main(void)
{
	try("transport = shm", WHORL_OK, "");
	try("transport = tcp", WHORL_OK, "");
	try("transport = tcp\nkey_file = /etc/hostname", WHORL_UNSUPPORTED, "built without keys and TLS (WHORL_TLS)");
	try("transport = tcp\ntls = on\ntls_certificate_file = a\ntls_key_file = b\ntls_authority_file = c",
	    WHORL_UNSUPPORTED, "built without keys and TLS (WHORL_TLS)");
	try("transport = tcp\n[node 0]\naddress = 192.0.2.1:7000", WHORL_CONFIG, "loopback");
	try("transport = verbs", WHORL_UNSUPPORTED, "built without RDMA (WHORL_VERBS)");
	return 0;
}
