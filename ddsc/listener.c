/* listener.c - see listener.h.
 *
 * whorl calls a function of ours with the program's listener as its argument. The program's function may set another listener, or delete the
 * entity, and the listener is freed then: so what is called is read before.
 */
#include "ddsc/listener.h"

#include <stdlib.h>

#include "ddsc/status.h"

enum {
#define NUMBER(name) AT_##name,
	WH_DDSC_STATUSES(NUMBER) WH_DDSC_EVENTS(NUMBER)
#undef NUMBER
		COUNT
};

struct slot {
	void (*function)(void); /* the program's, of its own type; NULL: none */
	void *arg;
};

struct dds_listener {
	void *arg; /* of functions that are set without one */
	struct slot slots[COUNT];
};

/* ---- calling ---------------------------------------------------------------------------------------------------------------- */

#define CALL_STATUS(name)                                                                                              \
	static void call_##name(whorl_dds_entity entity, const struct wh_ddsc_whorl_##name *status, void *arg)         \
	{                                                                                                              \
		const struct slot slot = ((dds_listener_t *)arg)->slots[AT_##name];                                    \
		dds_##name##_status_t given;                                                                           \
                                                                                                                       \
		wh_ddsc_status_##name(&given, status);                                                                 \
		((dds_on_##name##_fn)slot.function)(entity, given, slot.arg);                                          \
	}
#define CALL_EVENT(name)                                                                                               \
	static void call_##name(whorl_dds_entity entity, void *arg)                                                    \
	{                                                                                                              \
		const struct slot slot = ((dds_listener_t *)arg)->slots[AT_##name];                                    \
                                                                                                                       \
		((dds_on_##name##_fn)slot.function)(entity, slot.arg);                                                 \
	}

WH_DDSC_STATUSES(CALL_STATUS)
WH_DDSC_EVENTS(CALL_EVENT)

whorl_dds_listener *wh_ddsc_listener_whorl(const dds_listener_t *listener)
{
	whorl_dds_listener *made = whorl_dds_create_listener((void *)(uintptr_t)listener);

	if (made == NULL)
		return NULL;
#define SET(name)                                                                                                      \
	if (listener->slots[AT_##name].function != NULL)                                                               \
		(void)whorl_dds_lset_##name(made, call_##name);
	WH_DDSC_STATUSES(SET)
	WH_DDSC_EVENTS(SET)
#undef SET
	return made;
}

/* ---- objects ---------------------------------------------------------------------------------------------------------------- */

dds_listener_t *dds_create_listener(void *arg)
{
	dds_listener_t *listener = calloc(1, sizeof(*listener));

	if (listener != NULL)
		listener->arg = arg;
	return listener;
}

void dds_delete_listener(dds_listener_t *listener)
{
	free(listener);
}

void dds_reset_listener(dds_listener_t *listener)
{
	if (listener != NULL)
		*listener = (dds_listener_t){.arg = listener->arg};
}

void dds_copy_listener(dds_listener_t *to, const dds_listener_t *from)
{
	if (to != NULL && from != NULL)
		*to = *from;
}

void dds_merge_listener(dds_listener_t *to, const dds_listener_t *from)
{
	if (to == NULL || from == NULL)
		return;
	for (size_t i = 0; i < COUNT; i++)
		if (to->slots[i].function == NULL)
			to->slots[i] = from->slots[i];
}

dds_listener_t *wh_ddsc_listener_copy(const dds_listener_t *listener)
{
	dds_listener_t *copy = listener != NULL ? dds_create_listener(NULL) : NULL;

	dds_copy_listener(copy, listener);
	return copy;
}

/* Older names. */
dds_listener_t *dds_listener_create(void *arg)
{
	return dds_create_listener(arg);
}

void dds_listener_delete(dds_listener_t *listener)
{
	dds_delete_listener(listener);
}

void dds_listener_reset(dds_listener_t *listener)
{
	dds_reset_listener(listener);
}

void dds_listener_copy(dds_listener_t *to, const dds_listener_t *from)
{
	dds_copy_listener(to, from);
}

void dds_listener_merge(dds_listener_t *to, const dds_listener_t *from)
{
	dds_merge_listener(to, from);
}

/* ---- functions -------------------------------------------------------------------------------------------------------------- */

static dds_return_t set(const char *name, dds_listener_t *listener, size_t at, void (*function)(void), void *arg,
			bool reset)
{
	if (listener == NULL)
		return whorl_dds_refuse(name, DDS_RETCODE_BAD_PARAMETER, "no listener");
	if (!reset)
		return whorl_dds_refuse(name, DDS_RETCODE_UNSUPPORTED,
					"a status counts as looked at once a listener is called for it");
	listener->slots[at] = (struct slot){function, arg};
	return DDS_RETCODE_OK;
}

static dds_return_t get(const char *name, const dds_listener_t *listener, size_t at, void (**function)(void),
			void **arg, bool *reset)
{
	if (listener == NULL)
		return whorl_dds_refuse(name, DDS_RETCODE_BAD_PARAMETER, "no listener");
	*function = listener->slots[at].function;
	if (arg != NULL)
		*arg = listener->slots[at].arg;
	if (reset != NULL)
		*reset = true;
	return DDS_RETCODE_OK;
}

#define FUNCTIONS(name)                                                                                                \
	void dds_lset_##name(dds_listener_t *listener, dds_on_##name##_fn function)                                    \
	{                                                                                                              \
		if (listener != NULL)                                                                                  \
			(void)set(__func__, listener, AT_##name, (void (*)(void))function, listener->arg, true);       \
	}                                                                                                              \
	dds_return_t dds_lset_##name##_arg(dds_listener_t *listener, dds_on_##name##_fn function, void *arg,           \
					   bool reset)                                                                 \
	{                                                                                                              \
		return set(__func__, listener, AT_##name, (void (*)(void))function, arg, reset);                       \
	}                                                                                                              \
	dds_return_t dds_lget_##name##_arg(const dds_listener_t *listener, dds_on_##name##_fn *function, void **arg,   \
					   bool *reset)                                                                \
	{                                                                                                              \
		void (*found)(void) = NULL;                                                                            \
		dds_return_t result = get(__func__, listener, AT_##name, &found, arg, reset);                          \
                                                                                                                       \
		if (function != NULL)                                                                                  \
			*function = (dds_on_##name##_fn)found;                                                         \
		return result;                                                                                         \
	}                                                                                                              \
	void dds_lget_##name(const dds_listener_t *listener, dds_on_##name##_fn *function)                             \
	{                                                                                                              \
		(void)dds_lget_##name##_arg(listener, function, NULL, NULL);                                           \
	}

WH_DDSC_STATUSES(FUNCTIONS)
WH_DDSC_EVENTS(FUNCTIONS)
