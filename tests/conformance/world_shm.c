/* world_shm.c - the shared memory transport for the conformance cases: all endpoints in this process. What takes several
 * processes is in shm_processes.c. */
#include "base/atomics.h"
#include "tests/conformance/real.h"
#include "transport/shm/shm.h"

static enum whorl_result ask(const struct wh_world *world, uint32_t id, const void *question, size_t bytes,
			     uint64_t timeout_ns, void *answer, size_t *answer_bytes, struct wh_error *err)
{
	return wh_shm_query(world->group, id, question, bytes, timeout_ns, answer, answer_bytes, err);
}

const struct wh_real wh_real = {.create = wh_shm_create, .kill = real_let_go, .end = real_destroy, .ask = ask};

static uint64_t rings(struct wh_world *world, uint32_t id)
{
	return wh_shm_rings(world->endpoints[id].transport);
}

const struct wh_world_ops wh_world = {REAL_WORLD,     .name = "shm",         .regions = true,
				      .proofs = true, .whole_rows = WH_TSAN, .rings = rings};
