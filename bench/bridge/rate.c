/* rate.c - samples a second between two programs, in the API of Cyclone DDS: built against Debian's headers, and against whorl's. See rate.sh.
 *
 *     rate pub BYTES SECONDS      writes as fast as there is room, once there is a reader
 *     rate sub SECONDS            prints samples a second from the first on, and those that are missing
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dds/dds.h>

#include <rate_types.h>

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)

static int publish(dds_entity_t writer, uint32_t bytes, int64_t seconds)
{
	bridged_rate_sample sample = {.id = 1};
	dds_publication_matched_status_t matched = {.current_count = 0};
	dds_time_t end;

	sample.bytes._buffer = calloc(1, bytes);
	sample.bytes._length = sample.bytes._maximum = bytes;
	for (int i = 0; i < 1000 && matched.current_count == 0; i++) {
		(void)dds_get_publication_matched_status(writer, &matched);
		dds_sleepfor(10 * MS);
	}
	dds_sleepfor(500 * MS); /* the reader behind a bridge is a step further */
	end = dds_time() + seconds * SECOND;
	while (dds_time() < end)
		for (int i = 0; i < 100; i++, sample.number++)
			if (dds_write(writer, &sample) != DDS_RETCODE_OK)
				sample.number--;
	dds_write_flush(writer);
	dds_sleepfor(500 * MS);
	free(sample.bytes._buffer);
	return 0;
}

static int subscribe(dds_entity_t participant, dds_entity_t reader, int64_t seconds)
{
	dds_entity_t waitset = dds_create_waitset(participant);
	dds_entity_t condition = dds_create_readcondition(reader, DDS_ANY_STATE);
	dds_time_t first = 0, last = 0, end = dds_time() + (seconds + 10) * SECOND;
	uint64_t count = 0, next = 0, missing = 0;

	(void)dds_waitset_attach(waitset, condition, 0);
	while (dds_time() < end && (first == 0 || dds_time() < first + seconds * SECOND)) {
		dds_sample_info_t infos[256];
		void *data[256] = {NULL};
		dds_return_t got;

		(void)dds_waitset_wait(waitset, NULL, 0, 100 * MS);
		while ((got = dds_take(reader, data, infos, 256, 256)) > 0) {
			for (dds_return_t i = 0; i < got; i++) {
				const bridged_rate_sample *sample = data[i];

				if (!infos[i].valid_data)
					continue;
				missing += count > 0 ? sample->number - next : 0;
				next = sample->number + 1;
				count++;
			}
			last = dds_time();
			first = first == 0 ? last : first;
			(void)dds_return_loan(reader, data, got);
			data[0] = NULL;
		}
	}
	printf("%.0f samples/s, %" PRIu64 " missing\n",
	       last > first ? (double)count * 1e9 / (double)(last - first) : 0.0, missing);
	return 0;
}

int main(int argc, char **argv)
{
	const char *domain = getenv("DOMAIN");
	dds_entity_t participant, topic, endpoint;
	dds_qos_t *qos = dds_create_qos();
	int status = 2;

	if (argc < 3)
		return status;
	participant = dds_create_participant((dds_domainid_t)atoi(domain != NULL ? domain : "0"), NULL, NULL);
	topic = dds_create_topic(participant, &bridged_rate_sample_desc, "rate", NULL, NULL);
	dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, 10 * SECOND);
	dds_qset_history(qos, DDS_HISTORY_KEEP_ALL, 0);
	dds_qset_resource_limits(qos, 10000, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED);
	if (strcmp(argv[1], "pub") == 0 && argc > 3) {
		endpoint = dds_create_writer(participant, topic, qos, NULL);
		status = publish(endpoint, (uint32_t)atoi(argv[2]), atoi(argv[3]));
	} else if (strcmp(argv[1], "sub") == 0) {
		endpoint = dds_create_reader(participant, topic, qos, NULL);
		status = subscribe(participant, endpoint, atoi(argv[2]));
	}
	dds_delete_qos(qos);
	(void)dds_delete(participant);
	return status;
}
