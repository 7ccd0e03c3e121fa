/* cyclone.c - a program for Cyclone DDS: the least of one. As C++, too. */
#include <stdio.h>

#include "dds/dds.h"

int main(void)
{
	dds_entity_t participant = dds_create_participant(60000, NULL, NULL);

	if (participant < 0)
		DDS_FATAL("dds_create_participant: %s\n", dds_strretcode(-participant));
	puts(dds_strretcode(dds_delete(participant) == DDS_RETCODE_OK ? DDS_RETCODE_NO_DATA : DDS_RETCODE_ERROR));
	return 0;
}
