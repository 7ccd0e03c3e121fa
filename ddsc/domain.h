/* domain.h - the number of a domain that a program names. */
#ifndef WH_DDSC_DOMAIN_H
#define WH_DDSC_DOMAIN_H

#include <dds/dds.h>

/* DDS_DOMAIN_DEFAULT is what WHORL_DDS_DOMAIN of the environment says, and else 0. False: that is no number up to 65535. */
bool wh_ddsc_domain(dds_domainid_t domain, uint32_t *number);

#endif
