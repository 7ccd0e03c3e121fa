/* barrier.c - see barrier.h. glibc has no function for the system call. */
#include "base/barrier.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool membarrier(int command)
{
	int saved_errno = errno;
	bool done = syscall(SYS_membarrier, command, 0, 0) == 0;

	errno = saved_errno;
	return done;
}

bool wh_barrier_register(void)
{
	return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

bool wh_barrier_all_threads(void)
{
	return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}
