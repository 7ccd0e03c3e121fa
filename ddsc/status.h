/* status.h - statuses: whorl's as the program knows them, and the bits of both. */
#ifndef WH_DDSC_STATUS_H
#define WH_DDSC_STATUS_H

#include <dds/dds.h>

#include <whorl/dds.h>

/* whorl's struct of each. */
#define wh_ddsc_whorl_inconsistent_topic whorl_dds_inconsistent_topic_status
#define wh_ddsc_whorl_liveliness_lost whorl_dds_liveliness_lost_status
#define wh_ddsc_whorl_offered_deadline_missed whorl_dds_deadline_missed_status
#define wh_ddsc_whorl_offered_incompatible_qos whorl_dds_incompatible_qos_status
#define wh_ddsc_whorl_publication_matched whorl_dds_matched_status
#define wh_ddsc_whorl_sample_lost whorl_dds_sample_lost_status
#define wh_ddsc_whorl_sample_rejected whorl_dds_sample_rejected_status
#define wh_ddsc_whorl_liveliness_changed whorl_dds_liveliness_changed_status
#define wh_ddsc_whorl_requested_deadline_missed whorl_dds_deadline_missed_status
#define wh_ddsc_whorl_requested_incompatible_qos whorl_dds_incompatible_qos_status
#define wh_ddsc_whorl_subscription_matched whorl_dds_matched_status

void wh_ddsc_status_inconsistent_topic(dds_inconsistent_topic_status_t *to,
				       const struct wh_ddsc_whorl_inconsistent_topic *from);
void wh_ddsc_status_liveliness_lost(dds_liveliness_lost_status_t *to, const struct wh_ddsc_whorl_liveliness_lost *from);
void wh_ddsc_status_offered_deadline_missed(dds_offered_deadline_missed_status_t *to,
					    const struct wh_ddsc_whorl_offered_deadline_missed *from);
void wh_ddsc_status_offered_incompatible_qos(dds_offered_incompatible_qos_status_t *to,
					     const struct wh_ddsc_whorl_offered_incompatible_qos *from);
void wh_ddsc_status_publication_matched(dds_publication_matched_status_t *to,
					const struct wh_ddsc_whorl_publication_matched *from);
void wh_ddsc_status_sample_lost(dds_sample_lost_status_t *to, const struct wh_ddsc_whorl_sample_lost *from);
void wh_ddsc_status_sample_rejected(dds_sample_rejected_status_t *to, const struct wh_ddsc_whorl_sample_rejected *from);
void wh_ddsc_status_liveliness_changed(dds_liveliness_changed_status_t *to,
				       const struct wh_ddsc_whorl_liveliness_changed *from);
void wh_ddsc_status_requested_deadline_missed(dds_requested_deadline_missed_status_t *to,
					      const struct wh_ddsc_whorl_requested_deadline_missed *from);
void wh_ddsc_status_requested_incompatible_qos(dds_requested_incompatible_qos_status_t *to,
					       const struct wh_ddsc_whorl_requested_incompatible_qos *from);
void wh_ddsc_status_subscription_matched(dds_subscription_matched_status_t *to,
					 const struct wh_ddsc_whorl_subscription_matched *from);

/* Bits that there are not are passed over. */
uint32_t wh_ddsc_bits(uint32_t whorl);
/* False: a bit is unknown. */
bool wh_ddsc_bits_whorl(uint32_t bits, uint32_t *whorl);

#endif
