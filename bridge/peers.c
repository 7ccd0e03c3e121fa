/* peers.c - other bridges: one of those between two domains works. See bridge.h.
 *
 * A bridge says what it is in the user data of its participants: on whorl's side the domain of RTPS and whether it works, on the side of RTPS the handle
 * of its participant of whorl's. So one bridge knows another between the same two domains from either side.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bridge/bridge.h"

#define MARK "whorl-dds-bridge"
#define AT_ONCE 256

static void mark_of(const struct wh_bridge *bridge, bool works, char text[64])
{
	snprintf(text, 64, MARK " %" PRIu32 " %s", bridge->rtps_domain, works ? "works" : "waits");
}

static whorl_dds_qos *marked(const struct wh_bridge *bridge, bool works)
{
	whorl_dds_qos *qos = whorl_dds_create_qos();
	char text[64];

	mark_of(bridge, works, text);
	if (qos != NULL)
		(void)whorl_dds_qset_userdata(qos, text, strlen(text));
	return qos;
}

static dds_entity_t enter_rtps(struct wh_bridge *bridge)
{
	dds_qos_t *qos = dds_create_qos();
	dds_entity_t participant;
	char text[64];

	snprintf(text, sizeof(text), MARK " %016" PRIx64, bridge->whorl_handle);
	dds_qset_userdata(qos, text, strlen(text));
	participant = dds_create_participant(bridge->rtps_domain, qos, NULL);
	dds_delete_qos(qos);
	return participant;
}

const char *wh_bridge_enter(struct wh_bridge *bridge)
{
	whorl_dds_qos *qos = marked(bridge, false);

	bridge->whorl = whorl_dds_create_participant(bridge->whorl_domain, qos, NULL);
	whorl_dds_delete_qos(qos);
	if (bridge->whorl < 0 ||
	    whorl_dds_get_instance_handle(bridge->whorl, &bridge->whorl_handle) != WHORL_DDS_RETCODE_OK)
		return whorl_dds_text();
	bridge->rtps = enter_rtps(bridge);
	if (bridge->rtps < 0)
		return "Cyclone DDS cannot enter its domain: what it says stands above";
	(void)dds_get_guid(bridge->rtps, &bridge->rtps_guid);
	return NULL;
}

void wh_bridge_leave(struct wh_bridge *bridge)
{
	if (bridge->rtps > 0)
		(void)dds_delete(bridge->rtps);
	if (bridge->whorl > 0)
		(void)whorl_dds_delete(bridge->whorl);
}

/* ---- which one works ------------------------------------------------------------------------------------------------------- */

struct peers {
	uint32_t own;          /* node ids */
	uint32_t lowest_waits; /* UINT32_MAX: none */
	uint32_t lowest_works;
};

/* Another bridge to the same domain of RTPS. */
static bool is_marked(const struct wh_bridge *bridge, const whorl_dds_qos *qos, bool *works)
{
	char waits[64], does[64];
	const void *value;
	size_t bytes;

	if (qos == NULL || !whorl_dds_qget_userdata(qos, &value, &bytes))
		return false;
	mark_of(bridge, false, waits);
	mark_of(bridge, true, does);
	*works = bytes == strlen(does) && memcmp(value, does, bytes) == 0;
	return *works || (bytes == strlen(waits) && memcmp(value, waits, bytes) == 0);
}

/* One that has died is known for longer on the side of RTPS. */
static bool has_met(struct wh_bridge *bridge, whorl_dds_instance_handle participant)
{
	bool met = false;

	pthread_mutex_lock(&bridge->meets);
	for (size_t i = 0; i < bridge->peer_count && i < WH_BRIDGE_PEERS_MAX; i++)
		met = met || bridge->peers[i] == participant;
	pthread_mutex_unlock(&bridge->meets);
	return met;
}

static void meet(struct wh_bridge *bridge, whorl_dds_instance_handle participant)
{
	if (has_met(bridge, participant))
		return;
	pthread_mutex_lock(&bridge->meets);
	bridge->peers[bridge->peer_count++ % WH_BRIDGE_PEERS_MAX] = participant;
	pthread_mutex_unlock(&bridge->meets);
}

static void count_peer(struct wh_bridge *bridge, const struct whorl_dds_builtin_participant *participant,
		       struct peers *peers)
{
	bool works;

	if (participant->handle == bridge->whorl_handle) {
		peers->own = participant->node;
	} else if (is_marked(bridge, participant->qos, &works)) {
		uint32_t *lowest = works ? &peers->lowest_works : &peers->lowest_waits;

		meet(bridge, participant->handle);
		if (participant->node < *lowest)
			*lowest = participant->node;
	}
}

static bool look(struct wh_bridge *bridge, whorl_dds_entity participants, struct peers *peers)
{
	struct whorl_dds_sample_info infos[AT_ONCE];
	void *data[AT_ONCE];
	whorl_dds_return got;

	*peers = (struct peers){UINT32_MAX, UINT32_MAX, UINT32_MAX};
	infos[0].size = sizeof(infos[0]);
	data[0] = NULL;
	got = whorl_dds_read(participants, data, infos, AT_ONCE);
	for (whorl_dds_return i = 0; i < got; i++)
		if (infos[i].valid_data && infos[i].instance_state == WHORL_DDS_ALIVE_INSTANCE_STATE)
			count_peer(bridge, data[i], peers);
	if (got > 0)
		(void)whorl_dds_return_loan(participants, data, got);
	return got >= 0 && peers->own != UINT32_MAX;
}

static void say_whether_it_works(struct wh_bridge *bridge, bool works)
{
	whorl_dds_qos *qos = marked(bridge, works);

	if (qos != NULL)
		(void)whorl_dds_set_qos(bridge->whorl, qos);
	whorl_dds_delete_qos(qos);
}

/* Two may have begun at once: the one with the lower node goes on. */
bool wh_bridge_has_turn(struct wh_bridge *bridge, whorl_dds_entity participants, bool has_it)
{
	struct peers peers;
	bool may;

	if (!look(bridge, participants, &peers))
		return has_it;
	may = has_it ? peers.own < peers.lowest_works
		     : peers.lowest_works == UINT32_MAX && peers.own < peers.lowest_waits;
	if (may != has_it) {
		say_whether_it_works(bridge, may);
		if (may && look(bridge, participants, &peers) && peers.own > peers.lowest_works) {
			say_whether_it_works(bridge, false);
			return false;
		}
	}
	return may;
}

/* ---- what they write -------------------------------------------------------------------------------------------------------- */

bool wh_bridge_is_peer_of_whorl(struct wh_bridge *bridge, whorl_dds_instance_handle participant)
{
	whorl_dds_entity reader;
	struct peers peers;

	if (has_met(bridge, participant))
		return true;
	/* The main thread looks from time to time: this is what has come meanwhile. */
	reader = whorl_dds_create_reader(bridge->whorl, (whorl_dds_entity)WHORL_DDS_BUILTIN_TOPIC_DCPSPARTICIPANT, NULL,
					 NULL);
	if (reader < 0)
		return false;
	(void)look(bridge, reader, &peers);
	(void)whorl_dds_delete(reader);
	return has_met(bridge, participant);
}

bool wh_bridge_is_peer_of_rtps(struct wh_bridge *bridge, dds_entity_t participants, dds_instance_handle_t participant)
{
	void *data[1] = {NULL}, *value = NULL;
	const dds_builtintopic_participant_t *found;
	dds_sample_info_t info;
	uint64_t handle = 0;
	size_t bytes = 0;

	if (dds_read_instance(participants, data, &info, 1, 1, participant) <= 0)
		return false;
	found = data[0];
	/* A zero stands behind the value. */
	if (info.valid_data && dds_qget_userdata(found->qos, &value, &bytes) && value != NULL &&
	    sscanf(value, MARK " %" SCNx64, &handle) != 1)
		handle = 0;
	dds_free(value);
	(void)dds_return_loan(participants, data, 1);
	return handle != 0 && wh_bridge_is_peer_of_whorl(bridge, handle);
}
