/* coherent.c - samples that belong together: readers see a coherent set whole, or not at all. A process ends two sets and is killed within the
 * third, and of that nobody sees anything. */
#include <err.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <whorl/dds.h>

#define SECOND ((whorl_dds_duration)1000000000)
#define ACCOUNTS 3

struct balance {
	int32_t account, amount;
};

WHORL_DDS_TYPE(balance_type, struct balance, WHORL_DDS_KEY(struct balance, account),
	       WHORL_DDS_FIELD(struct balance, amount));

static whorl_dds_entity made(whorl_dds_entity entity)
{
	if (entity < 0)
		errx(1, "%s", whorl_dds_text());
	return entity;
}

static whorl_dds_qos *policies(const char *text)
{
	whorl_dds_qos *qos = whorl_dds_create_qos();

	made(whorl_dds_qos_parse(qos, text));
	return qos;
}

/* A transfer changes all balances at once: their sum is always 0. */
static void transfer(whorl_dds_entity publisher, whorl_dds_entity writer, int32_t by, bool dies)
{
	const int32_t amounts[ACCOUNTS] = {2 * by, -by, -by};

	made(whorl_dds_begin_coherent(publisher));
	for (int32_t i = 0; i < ACCOUNTS; i++) {
		made(whorl_dds_write(writer, &(struct balance){.account = i, .amount = amounts[i]}));
		if (dies && i == 1) {
			made(whorl_dds_wait_for_acks(writer, 10 * SECOND)); /* these two have come to all */
			raise(SIGKILL);
		}
	}
	made(whorl_dds_end_coherent(publisher));
}

static void write_sets(uint32_t domain)
{
	whorl_dds_entity participant = made(whorl_dds_create_participant(domain, NULL, NULL));
	whorl_dds_entity topic = made(whorl_dds_create_topic(participant, &balance_type, "balances", NULL, NULL));
	whorl_dds_qos *qos = policies("presentation=topic presentation.coherent=on");
	whorl_dds_entity publisher = made(whorl_dds_create_publisher(participant, qos, NULL));
	whorl_dds_entity writer = made(whorl_dds_create_writer(publisher, topic, NULL, NULL));
	struct whorl_dds_matched_status matched = {0};

	while (matched.current_count == 0) { /* until the reader is there */
		made(whorl_dds_read_status(writer, WHORL_DDS_PUBLICATION_MATCHED_STATUS, &matched, sizeof(matched)));
		usleep(1000);
	}
	transfer(publisher, writer, 10, false);
	transfer(publisher, writer, 25, false);
	transfer(publisher, writer, 999, true);
}

int main(void)
{
	uint32_t domain = (uint32_t)getpid() % 65536;
	pid_t child = fork(); /* before this process has a participant */
	whorl_dds_entity participant, topic, reader, waitset;
	whorl_dds_qos *qos = policies("presentation=topic presentation.coherent=on history=all reliability=reliable");
	struct whorl_dds_sample_info info = {.size = sizeof(info)};
	struct balance balance;
	void *data[1] = {&balance};
	int32_t ends = 0, count = 0, sum = 0;

	alarm(60); /* should anything stand still */
	if (child == 0) {
		alarm(60);
		write_sets(domain);
	}
	participant = made(whorl_dds_create_participant(domain, NULL, NULL));
	topic = made(whorl_dds_create_topic(participant, &balance_type, "balances", NULL, NULL));
	reader = made(whorl_dds_create_reader(participant, topic, qos, NULL));
	whorl_dds_delete_qos(qos);
	waitset = made(whorl_dds_create_waitset(participant));
	made(whorl_dds_waitset_attach(waitset, made(whorl_dds_create_readcondition(reader, WHORL_DDS_ANY_STATE)), 0));
	while (ends < ACCOUNTS) { /* until no account has a writer */
		if (made(whorl_dds_waitset_wait(waitset, NULL, 0, 30 * SECOND)) == 0)
			errx(1, "nothing came");
		while (made(whorl_dds_take(reader, data, &info, 1)) == 1) {
			if (!info.valid_data) {
				ends++;
				continue;
			}
			count++;
			sum += balance.amount;
		}
	}
	printf("%" PRId32 " balances, sum %" PRId32 "\n", count, sum);
	made(whorl_dds_delete(participant));
	waitpid(child, NULL, 0);
	return 0;
}
