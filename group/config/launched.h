/* launched.h - the environment that a launcher gives to the programs of a job (whorl_launched). */
#ifndef WH_GROUP_LAUNCHED_H
#define WH_GROUP_LAUNCHED_H

#define WH_LAUNCHED_CONFIG "WHORL_CONFIG" /* the path of the ini file */
#define WH_LAUNCHED_ID "WHORL_ID"         /* the id of this node in it */

#endif
