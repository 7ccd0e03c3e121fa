/* qos.c - objects of policies: whorl's, and with each what whorl does not have (own.h). */
#include <stdlib.h>
#include <string.h>

#include "ddsc/own.h"

/* ---- objects ---------------------------------------------------------------------------------------------------------------- */

dds_qos_t *dds_create_qos(void)
{
	dds_qos_t *qos = calloc(1, sizeof(*qos));

	if (qos == NULL)
		return NULL;
	qos->whorl = whorl_dds_create_qos();
	if (qos->whorl != NULL)
		return qos;
	free(qos);
	return NULL;
}

void dds_delete_qos(dds_qos_t *qos)
{
	if (qos == NULL)
		return;
	whorl_dds_delete_qos(qos->whorl);
	wh_ddsc_own_free(&qos->own);
	free(qos);
}

void dds_reset_qos(dds_qos_t *qos)
{
	if (qos == NULL)
		return;
	(void)whorl_dds_reset_qos(qos->whorl);
	wh_ddsc_own_free(&qos->own);
	qos->is_wrong = false;
}

void dds_merge_qos(dds_qos_t *to, const dds_qos_t *from)
{
	if (to == NULL || from == NULL || to == from)
		return;
	(void)whorl_dds_merge_qos(to->whorl, from->whorl);
	(void)wh_ddsc_own_merge(&to->own, &from->own);
	to->is_wrong = to->is_wrong || from->is_wrong;
}

dds_return_t dds_copy_qos(dds_qos_t *to, const dds_qos_t *from)
{
	dds_return_t result;

	if (to == NULL || from == NULL)
		return whorl_dds_refuse(__func__, DDS_RETCODE_BAD_PARAMETER, "no policies");
	if (to == from)
		return DDS_RETCODE_OK;
	result = whorl_dds_copy_qos(to->whorl, from->whorl);
	if (result != DDS_RETCODE_OK)
		return result;
	wh_ddsc_own_free(&to->own);
	to->is_wrong = from->is_wrong;
	return wh_ddsc_own_merge(&to->own, &from->own)
		       ? DDS_RETCODE_OK
		       : whorl_dds_refuse(__func__, DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
}

bool dds_qos_equal(const dds_qos_t *one, const dds_qos_t *other)
{
	if (one == NULL || other == NULL)
		return one == other;
	return whorl_dds_qos_equal(one->whorl, other->whorl) && wh_ddsc_own_equal(&one->own, &other->own);
}

const whorl_dds_qos *wh_ddsc_qos_whorl(const char *function, const dds_qos_t *qos, dds_return_t *result)
{
	*result = DDS_RETCODE_OK;
	if (qos == NULL)
		return NULL;
	if (qos->is_wrong)
		*result = whorl_dds_refuse(function, DDS_RETCODE_BAD_PARAMETER, "a policy is out of its range");
	return qos->whorl;
}

dds_qos_t *wh_ddsc_qos_of(const whorl_dds_qos *from)
{
	dds_qos_t *qos = dds_create_qos();

	if (qos != NULL && from != NULL && whorl_dds_copy_qos(qos->whorl, from) != WHORL_DDS_RETCODE_OK) {
		dds_delete_qos(qos);
		return NULL;
	}
	return qos;
}

/* Older names. */
dds_qos_t *dds_qos_create(void)
{
	return dds_create_qos();
}

void dds_qos_delete(dds_qos_t *qos)
{
	dds_delete_qos(qos);
}

void dds_qos_reset(dds_qos_t *qos)
{
	dds_reset_qos(qos);
}

dds_return_t dds_qos_copy(dds_qos_t *to, const dds_qos_t *from)
{
	return dds_copy_qos(to, from);
}

void dds_qos_merge(dds_qos_t *to, const dds_qos_t *from)
{
	dds_merge_qos(to, from);
}
