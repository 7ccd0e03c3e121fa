/* failover.c - two processes write the same instance, and OWNERSHIP lets readers hear the stronger alone. It is killed, and from one place
 * of the order on, the same at all readers, the other one is heard. */
#include <err.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <whorl/dds.h>

#define SECOND ((whorl_dds_duration)1000000000)

struct order {
	int32_t ship;
	int32_t strength; /* of the writer */
	int32_t count;
};

WHORL_DDS_TYPE(order_type, struct order, WHORL_DDS_KEY(struct order, ship), WHORL_DDS_FIELD(struct order, strength),
	       WHORL_DDS_FIELD(struct order, count));

static whorl_dds_entity made(whorl_dds_entity entity)
{
	if (entity < 0)
		errx(1, "%s", whorl_dds_text());
	return entity;
}

static whorl_dds_entity enter(uint32_t domain, whorl_dds_entity *participant)
{
	whorl_dds_qos *qos = whorl_dds_create_qos();
	whorl_dds_entity topic;

	*participant = made(whorl_dds_create_participant(domain, NULL, NULL));
	made(whorl_dds_qset_ownership(qos, WHORL_DDS_OWNERSHIP_EXCLUSIVE));
	topic = made(whorl_dds_create_topic(*participant, &order_type, "orders", qos, NULL));
	whorl_dds_delete_qos(qos);
	return topic;
}

static void command(uint32_t domain, int32_t strength)
{
	whorl_dds_entity participant, topic = enter(domain, &participant), writer;
	whorl_dds_qos *qos = whorl_dds_create_qos();

	made(whorl_dds_qset_ownership_strength(qos, strength));
	writer = made(whorl_dds_create_writer(participant, topic, qos, NULL));
	for (int32_t count = 0;; count++) {
		made(whorl_dds_write(writer, &(struct order){.ship = 1, .strength = strength, .count = count}));
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	}
}

static pid_t begin(uint32_t domain, int32_t strength)
{
	pid_t pid = fork();

	if (pid == 0) {
		alarm(60);
		command(domain, strength);
	}
	return pid;
}

/* Takes until it has heard that strength so many times in turn. */
static void hear(whorl_dds_entity reader, whorl_dds_entity waitset, int32_t strength, int times)
{
	struct whorl_dds_sample_info info = {.size = sizeof(info)};
	struct order order;
	void *data[1] = {&order};
	int heard = 0;

	while (heard < times) {
		if (made(whorl_dds_waitset_wait(waitset, NULL, 0, 30 * SECOND)) == 0)
			errx(1, "nothing was heard");
		while (made(whorl_dds_take(reader, data, &info, 1)) == 1)
			heard = !info.valid_data ? heard : order.strength == strength ? heard + 1 : 0;
	}
	printf("the writer of strength %" PRId32 " commands\n", strength);
}

int main(void)
{
	uint32_t domain = (uint32_t)getpid() % 65536;
	pid_t weak = begin(domain, 1), strong = begin(domain, 10);
	whorl_dds_entity participant, topic, reader, waitset;

	alarm(60); /* should anything stand still */
	topic = enter(domain, &participant);
	reader = made(whorl_dds_create_reader(participant, topic, NULL, NULL));
	waitset = made(whorl_dds_create_waitset(participant));
	made(whorl_dds_waitset_attach(waitset, made(whorl_dds_create_readcondition(reader, WHORL_DDS_ANY_STATE)), 0));
	hear(reader, waitset, 10, 20);
	kill(strong, SIGKILL);
	hear(reader, waitset, 1, 20);
	made(whorl_dds_delete(participant));
	kill(weak, SIGKILL);
	waitpid(strong, NULL, 0);
	waitpid(weak, NULL, 0);
	return 0;
}
