#include "tests/support/remote_lab.h"

#include "tests/ports.h"

void lab_open_work(struct lab *lab, unsigned id, const struct whorl_work_options *options)
{
	ck_assert_msg(whorl_work_open(lab->nodes[id], options, &lab->works[id]) == WHORL_OK, "%s",
		      whorl_invalid_text());
}

void lab_configure(struct lab *lab, unsigned count, const char *transport)
{
	static unsigned groups;
	unsigned ports[LAB_NODES];
	char text[512];

	*lab = (struct lab){.config = whorl_config_new(), .count = count};
	snprintf(text, sizeof(text),
		 "[group]\nname = remote-%d-%u-%u\nnodes = %u\ntransport = %s\nfailure_timeout_ms = 60000\n"
		 "[engine]\nidle = adaptive\n[subgroup all]\nmembers = all\n",
		 (int)getpid(), groups++, (unsigned)now_ms(), count, transport);
	ck_assert(test_find_ports(ports, count));
	for (unsigned id = 0; id < count && strcmp(transport, "tcp") == 0; id++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "[node %u]\naddress = 127.0.0.1:%u\n", id,
			 ports[id]);
	ck_assert_msg(whorl_config_load_text(lab->config, "test", text) == WHORL_OK, "%s",
		      whorl_config_error(lab->config));
}

void lab_open_node(struct lab *lab, unsigned id)
{
	ck_assert_msg(whorl_open(lab->config, id, NULL, &lab->nodes[id]) == WHORL_OK, "%s",
		      whorl_config_error(lab->config));
	ck_ok(whorl_start(lab->nodes[id]));
}

void remote_lab_make(struct lab *lab, unsigned count, const char *transport)
{
	lab_configure(lab, count, transport);
	for (unsigned id = 0; id < count; id++)
		lab_open_node(lab, id);
}

void remote_lab_open(struct lab *lab, unsigned count, uint32_t workers, const char *transport)
{
	const struct whorl_work_options options = {.size = sizeof(options), .workers = workers, WHORL_FUNCTIONS_LINKED};

	remote_lab_make(lab, count, transport);
	for (unsigned id = 0; id < count; id++)
		lab_open_work(lab, id, &options);
}

void lab_close_node(struct lab *lab, unsigned id)
{
	if (lab->works[id] != NULL)
		ck_ok(whorl_work_close(lab->works[id], PATIENCE_MS));
	if (lab->nodes[id] != NULL)
		ck_ok(whorl_close(lab->nodes[id], PATIENCE_MS));
	lab->works[id] = NULL;
	lab->nodes[id] = NULL;
}

void remote_lab_close(struct lab *lab)
{
	for (unsigned id = 0; id < lab->count; id++)
		lab_close_node(lab, id);
	whorl_config_free(lab->config);
}

struct whorl_trust lab_counter(struct lab *lab, unsigned node, unsigned there, uint32_t worker, uint64_t n)
{
	struct whorl_trust trust;

	ck_ok(whorl_entrust(lab->works[node], whorl_at_worker(there, worker), &counter_type, &(struct counter){n},
			    sizeof(struct counter), &trust, PATIENCE_MS));
	return trust;
}
