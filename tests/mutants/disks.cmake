# disks.cmake - files of the system, lasting jobs, and simulated disks, taken out one rule at a time. See mutants.cmake.

# ---- files of the system --------------------------------------------------------------------------------------------------

mutant(NAME disk-write-interrupted KIND test_disk FILE base/disk.c
	REMOVES "a write that a signal interrupts goes on"
	TEXT [[
		if (written < 0 && errno == EINTR)
			continue;
]]
	REPLACEMENT [[
]])

mutant(NAME disk-sync-interrupted KIND test_disk FILE base/disk.c
	REMOVES "a sync that a signal interrupts is done again"
	TEXT [[
		failed = fdatasync(file->fd);
	} while (failed != 0 && errno == EINTR);
]]
	REPLACEMENT [[
		failed = fdatasync(file->fd);
	} while (0);
]])

mutant(NAME disk-write-short KIND test_disk FILE base/disk.c
	REMOVES "what was written in part goes on behind that"
	TEXT [[
		at += (uint64_t)written;
		skip_bytes(&parts, &count, (size_t)written);
]]
	REPLACEMENT [[
		at += (uint64_t)written;
		skip_bytes(&parts, &count, (size_t)-1 / 2);
]])

mutant(NAME disk-parts-too-many KIND test_disk FILE base/disk.c
	REMOVES "the system takes so many parts at a time"
	TEXT [[
		ssize_t written = pwritev(file->fd, parts, count < IOV_MAX ? count : IOV_MAX, (off_t)at);
]]
	REPLACEMENT [[
		ssize_t written = pwritev(file->fd, parts, count, (off_t)at);
]])

mutant(NAME disk-nothing-written KIND test_disk FILE base/disk.c
	REMOVES "a file that takes nothing is not written to for ever"
	TEXT [[
		if (written == 0) /* of a file that takes nothing, and says nothing of it */
			return EIO;
]]
	REPLACEMENT [[
]])

mutant(NAME disk-blocks-asked-for-ever KIND test_disk FILE base/disk.c
	REMOVES "a file system that takes no blocks past its cache gets bytes"
	TEXT [[
	if (number != EINVAL)
		return judge_write(file, number, err);
]]
	REPLACEMENT [[
	return judge_write(file, number, err);
]])

mutant(NAME disk-reads-past-the-cache KIND test_disk FILE base/disk.c
	REMOVES "what is written a few bytes at a time goes by the page cache"
	TEXT [[
	if (!set_direct(file, false))
		return fail(err, WHORL_DISK, "write", file->path);
]]
	REPLACEMENT [[
]])

mutant(NAME disk-full-is-broken KIND test_disk FILE base/disk.c
	REMOVES "no room is told from a disk that fails"
	TEXT [[
	return fail(err, code_for_room(), what, path);
]]
	REPLACEMENT [[
	return fail(err, WHORL_DISK, what, path);
]])

mutant(NAME disk-room-kept KIND test_disk FILE base/disk.c
	REMOVES "zeros for which there is no room are taken back"
	TEXT [[
	if (result == WHORL_AGAIN && ftruncate(file->fd, (off_t)before) != 0)
]]
	REPLACEMENT [[
	if (0)
]])

mutant(NAME disk-sync-tried-again KIND test_disk FILE base/disk.c
	REMOVES "a sync that has failed is not tried again"
	TEXT [[
	return failed == 0 ? WHORL_OK : fail(err, WHORL_DISK, "sync", file->path);
]]
	REPLACEMENT [[
	return failed == 0 || fdatasync(file->fd) == 0 ? WHORL_OK : fail(err, WHORL_DISK, "sync", file->path);
]])

mutant(NAME disk-names-not-synced KIND test_disk FILE base/disk.c
	REMOVES "the names of a directory are synced"
	TEXT [[
	return sync_names(directory->fd, directory->path, err);
]]
	REPLACEMENT [[
	(void)directory;
	(void)err;
	return WHORL_OK;
]])

mutant(NAME disk-own-name-not-synced KIND test_disk FILE base/disk.c
	REMOVES "a directory that is made is on the disk"
	TEXT [[
	if (result == WHORL_OK && make)
		result = sync_own_name(directory, err);
]]
	REPLACEMENT [[
]])

mutant(NAME disk-lock-shared KIND test_disk FILE base/disk.c
	REMOVES "a lock is exclusive"
	TEXT [[
	if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
]]
	REPLACEMENT [[
	if (flock(fd, LOCK_SH | LOCK_NB) == 0) {
]])

mutant(NAME disk-lock-unlocked-by-child KIND test_disk FILE base/disk.c
	REMOVES "a child does not unlock what is its parent's"
	TEXT [[
	if (directory->locker == getpid()) {
]]
	REPLACEMENT [[
	if (directory->locker != 0) {
]])

mutant(NAME disk-lock-kept-by-child KIND test_disk FILE base/disk.c
	REMOVES "a child that has the file open does not hold a lock that was given back"
	TEXT [[
		(void)flock(directory->lock_fd, LOCK_UN);
]]
	REPLACEMENT [[
]])

mutant(NAME disk-lock-again KIND test_disk FILE base/disk.c
	REMOVES "a handle that has the lock has it"
	TEXT [[
	if (directory->lock_fd >= 0)
		return WHORL_OK;
]]
	REPLACEMENT [[
]])

# ---- lasting jobs ---------------------------------------------------------------------------------------------------------

mutant(NAME background-wake-lost KIND test_background FILE base/background.c
	REMOVES "a wake while a call is under way leads to another"
	TEXT [[
	wh_fetch_or(&task->state, TASK_SLEEPS);
]]
	REPLACEMENT [[
	wh_fetch_and(&task->state, ~TASK_WANTED);
	wh_fetch_or(&task->state, TASK_SLEEPS);
]])

mutant(NAME background-late-mark KIND test_background FILE base/background.c
	REMOVES "the mark is taken before the call, not after it"
	TEXT [[
	while (begins_call(task))
		if (!task->work(task->argument))
			sleep_until_wanted(task);
]]
	REPLACEMENT [[
	while ((wh_load_acquire(&task->state) & TASK_ENDING) == 0) {
		bool more = task->work(task->argument);

		(void)begins_call(task);
		if (!more)
			sleep_until_wanted(task);
	}
]])

mutant(NAME background-restless KIND test_background FILE base/background.c
	REMOVES "with nothing to do it sleeps"
	TEXT [[
		if (!task->work(task->argument))
			sleep_until_wanted(task);
]]
	REPLACEMENT [[
		(void)task->work(task->argument), (void)sleep_until_wanted;
]])

mutant(NAME background-again-lost KIND test_background FILE base/background.c
	REMOVES "a call comes again after a while, if that was wanted"
	TEXT [[
	if (task->again)
		return pthread_cond_timedwait
]]
	REPLACEMENT [[
	if (0)
		return pthread_cond_timedwait
]])

mutant(NAME background-again-for-ever KIND test_background FILE base/background.c
	REMOVES "what a call has wanted counts once"
	TEXT [[
	task->again = false;
]]
	REPLACEMENT "")

mutant(NAME background-end-at-once KIND test_background FILE base/background.c
	REMOVES "its end waits for the call that is under way"
	TEXT [[
	while (!task->ended && pthread_cond_timedwait(&task->changed, &task->lock, &deadline) != ETIMEDOUT)
		continue;
]]
	REPLACEMENT [[
	(void)deadline;
]])

mutant(NAME background-one-more-call KIND test_background FILE base/background.c
	REMOVES "no call begins when it ends"
	TEXT [[
	return (wh_fetch_and(&task->state, ~TASK_WANTED) & TASK_ENDING) == 0;
]]
	REPLACEMENT [[
	return (wh_fetch_and(&task->state, ~TASK_WANTED) & (TASK_ENDING | TASK_WANTED)) != TASK_ENDING;
]])

mutant(NAME background-forked KIND test_background FILE base/background.c
	REMOVES "a child waits for no thread that it does not have"
	TEXT [[
	return task->process != getpid();
]]
	REPLACEMENT [[
	return task->process == 0;
]])

# ---- simulated disks: what they must be bad enough for, and no worse -----------------------------------------------------------

mutant(NAME sim-disk-keeps-all KIND test_sim_disk FILE sim/disk_store.c
	REMOVES "what was not synced may be lost"
	TEXT [[
		wh_sim_inode_draw(inode, dice);
		forget_cache(inode);
]]
	REPLACEMENT [[
		wh_sim_inode_sync(inode);
		forget_cache(inode);
]])

mutant(NAME sim-disk-untorn KIND test_sim_disk FILE sim/disk_store.c
	REMOVES "a sector may be torn"
	TEXT [[
		tear(kept, written, dice);
]]
	REPLACEMENT [[
		memcpy(kept, written, WH_SECTOR_BYTES), (void)tear;
]])

mutant(NAME sim-disk-forgets-synced KIND test_sim_disk FILE sim/disk_store.c
	REMOVES "what was synced is kept"
	TEXT [[
	inode->kept_bytes = inode->bytes;
	is_settled(inode);
]]
	REPLACEMENT [[
	is_settled(inode);
]])

mutant(NAME sim-disk-names-kept KIND test_sim_disk FILE sim/disk_store.c
	REMOVES "names that were not synced may be lost"
	TEXT [[
		if (wh_dice_one_in(dice, 2))
			set_name(&directory->kept, directory->changes[i].name, directory->changes[i].inode);
]]
	REPLACEMENT [[
		set_name(&directory->kept, directory->changes[i].name, directory->changes[i].inode);
]])

mutant(NAME sim-disk-two-names KIND test_sim_disk FILE sim/disk_store.c
	REMOVES "a file that was renamed has one name"
	TEXT [[
		if (names->all[i].inode == inode)
			drop_name(names, i);
]]
	REPLACEMENT [[
		if (names->all[i].inode == inode && names->count > NAMES_MOST)
			drop_name(names, i);
]]
	TEXT_2 [[
#define VERSIONS_MAX 3
]]
	REPLACEMENT_2 [[
#define VERSIONS_MAX 3
#define NAMES_MOST 2
]])

mutant(NAME sim-disk-honest-sync KIND test_sim_disk FILE sim/disk.c
	REMOVES "what a sync that failed was to keep is lost"
	TEXT [[
		wh_sim_inode_draw(file->inode, &disk->dice);
]]
	REPLACEMENT [[
]])

mutant(NAME sim-disk-dead-lock KIND test_sim_disk FILE sim/disk.c
	REMOVES "locks go with their process"
	TEXT [[
		if (on_disk->locked_by != NULL && on_disk->locker == user)
			on_disk->locked_by = NULL;
]]
	REPLACEMENT [[
		(void)on_disk;
]])

mutant(NAME sim-disk-dead-hand KIND test_sim_disk FILE sim/disk.c
	REMOVES "what a dead process does is not seen"
	TEXT [[
	user->ended = true;
]]
	REPLACEMENT [[
]])

# ---- jobs in the simulator -------------------------------------------------------------------------------------------------

mutant(NAME sim-process-wake-lost KIND test_sim_process FILE sim/net/process.c
	REMOVES "a wake while a call is under way leads to another"
	TEXT [[
	} else if (task->more || task->wanted) {
]]
	REPLACEMENT [[
	} else if (task->more) {
]])

mutant(NAME sim-process-goes-on KIND test_sim_process FILE sim/net/process.c
	REMOVES "a lasting job of a process that has ended stands still"
	TEXT [[
	bool stands = task->work != NULL && task->process->ended;
]]
	REPLACEMENT [[
	bool stands = false;
]])

mutant(NAME sim-process-jobs-stand KIND test_sim_process FILE sim/net/process.c
	REMOVES "other jobs of a process that has ended come to their ends"
	TEXT [[
		if (task->work == NULL && task->in_call && !task->running)
			go_on_at(task, host->sim->now_ns);
]]
	REPLACEMENT [[
		(void)task;
]])

mutant(NAME sim-process-no-time KIND test_sim_process FILE sim/net/process.c
	REMOVES "an operation takes its time"
	TEXT [[
	if (task != NULL)
		wait_in_task(task, ns);
}
]]
	REPLACEMENT [[
	if (task != NULL && ns == WH_SIM_FOR_EVER)
		wait_in_task(task, ns);
}
]])

mutant(NAME sim-process-old-turn KIND test_sim_process FILE sim/net/process.c
	REMOVES "of the events that let a job go on only the last counts"
	TEXT [[
	if (turn != task->turn || stands)
		return;
]]
	REPLACEMENT [[
	if (stands)
		return;
]])

mutant(NAME disk-sum-of-whole-words KIND test_base_crc32c FILE base/crc32c.c
	REMOVES "the processor's instruction sums the bytes behind the last eight, too"
	TEXT [[
	for (; bytes > 0; bytes--, p++)
		crc = __builtin_ia32_crc32qi(crc, *p);
]]
	REPLACEMENT [[
]])

mutant(NAME disk-parts-joined-blindly KIND test_disk FILE base/disk.c
	REMOVES "only parts that follow each other in memory become one"
	TEXT [[
		if ((uintptr_t)parts[last].iov_base + parts[last].iov_len == (uintptr_t)parts[next].iov_base)
]]
	REPLACEMENT [[
		if (1)
]])
mutant(NAME disks-agreed-is-not-newer KIND test_directories FILE group/logs/directories.c
	REMOVES "of disks that stand on one view the one that has agreed to the next is begun with"
	TEXT [[
	bool has_agreed = standing->ballot > 0;
]]
	REPLACEMENT [[
	bool has_agreed = false;
]])
mutant(NAME disks-left-come-first KIND test_directories FILE group/logs/directories.c
	REMOVES "of disks that stand on one view one that has left is begun with last"
	TEXT [[
2 * !standing->left
]]
	REPLACEMENT [[
0 * standing->left
]])

mutant(NAME disks-read-before-begun KIND test_log_replay FILE group/logs/replay.c
	REMOVES "a log is read again when the view up to which it is has begun in it"
	TEXT [[
(replay->is_over || wh_logs_has_done(logs, replay->after))
]]
	REPLACEMENT [[
(replay->is_over || wh_logs_has_done(logs, 0))
]])
