/* commands.h - the commands that are made here: `whorl NAME ...`; argv[0] is "whorl NAME". */
#ifndef WH_BENCH_COMMANDS_H
#define WH_BENCH_COMMANDS_H

int wh_bench_main(int argc, char **argv);
int wh_calibrate_main(int argc, char **argv);

#endif
