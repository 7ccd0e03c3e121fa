/* commands.h - the commands that are made here: `whorl NAME ...`; argv[0] is "whorl NAME". */
#ifndef WH_TOOLS_COMMANDS_H
#define WH_TOOLS_COMMANDS_H

#include "command/output.h"
#include "conf/conf.h"

int wh_config_main(int argc, char **argv);
int wh_delegate_main(int argc, char **argv);
int wh_launch_main(int argc, char **argv);
int wh_log_main(int argc, char **argv);
int wh_node_main(int argc, char **argv);
int wh_sim_main(int argc, char **argv);
int wh_status_main(int argc, char **argv);
int wh_topics_main(int argc, char **argv); /* dds */

/* What `whorl sim` would say of this conf before it runs: all mistakes, on stderr. */
enum wh_exit wh_sim_check(struct wh_conf *conf);

#endif
