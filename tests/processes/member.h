/* member.h - a process that is one node of a group: it sends as fast as it can and logs every upcall. See member.c. */
#ifndef WH_PROCESSES_MEMBER_H
#define WH_PROCESSES_MEMBER_H

#include <stdbool.h>

/* A program that starts members begins with
 *
 *     if (member_wanted(argc, argv))
 *             return member_main(argv);
 *
 * since a member is the same program, started anew with the words `member ID DESCRIPTOR` (of the board). */
bool member_wanted(int argc, char **argv);
int member_main(char **argv);

#endif
