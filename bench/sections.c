/* sections.c - see sections.h. */
#include "bench/sections.h"

#include "bench/bench.h"
#include "bench/plot/figure.h"
#include "dds/config/config.h"
#include "group/config/config.h"
#include "sim/machine.h"
#include "sim/trial.h"

const struct wh_option_table *const wh_sections[] = {
	&wh_group_table,          &wh_subgroup_table, &wh_engine_table,      &wh_address_table,  &wh_bench_table,
	&wh_bench_subgroup_table, &wh_nic_table,      &wh_cpu_table,         &wh_trial_table,    &wh_trial_fault_table,
	&wh_figure_table,         &wh_dds_table,      &wh_dds_channel_table, &wh_dds_topic_table};
const size_t wh_section_count = sizeof wh_sections / sizeof wh_sections[0];

struct wh_conf *wh_sections_conf(void)
{
	struct wh_conf *conf = wh_conf_new(wh_sections, wh_section_count);

	if (conf != NULL)
		wh_conf_ignore(conf, "kv"); /* what examples/kv/ reads: its files are for `whorl status`, too */
	return conf;
}
