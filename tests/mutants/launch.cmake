# launch.cmake - what ends a job, and what its lines are (tools/launch.h), taken out one rule at a time. See mutants.cmake.

mutant(NAME launch-pipe-unheard KIND test_cli_launch FILE tools/launch_keep.c
	REMOVES "the end of the launcher's pipe ends the program"
	TEXT [[
	if (count <= 0) {
		ask_to_end(keeper);
		return;
	}
]]
	REPLACEMENT [[
	if (count <= 0) {
		keeper->orphaned = true;
		return;
	}
]])

mutant(NAME launch-orphans-live KIND test_cli_launch FILE tools/launch_keep.c
	REMOVES "a program that does not end when the launcher is gone is killed"
	TEXT [[
			kill(-keeper->pid, SIGKILL);
			keeper->kill_at_ns = 0;
]]
	REPLACEMENT [[
			keeper->kill_at_ns = 0;
]])

mutant(NAME launch-strays-stay KIND test_cli_launch FILE tools/launch_keep.c
	REMOVES "what a program has started and left ends with it"
	TEXT [[
		kill_children();
		do
]]
	REPLACEMENT [[
		kill_children;
		if (1)
			return;
		do
]])

mutant(NAME launch-program-outlives-keeper KIND test_cli_launch FILE tools/launch_keep.c
	REMOVES "a program ends with its keeper"
	TEXT [[
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* the keeper may be killed, too */
]]
	REPLACEMENT [[
]])

mutant(NAME launch-shell-splits KIND test_cli_launch FILE tools/launch_job.c
	REMOVES "words for a shell on another host are quoted"
	TEXT [[
			fputs("'\\''", out);
]]
	REPLACEMENT [[
			fputs("'", out);
]])

mutant(NAME launch-shared-fate KIND test_cli_launch FILE tools/launch_job.c
	REMOVES "when one fails all are ended"
	TEXT [[
	if (shared)
		end_all(job, WH_KEEP_END);
]]
	REPLACEMENT [[
]])

mutant(NAME launch-last-status KIND test_cli_launch FILE tools/launch_job.c
	REMOVES "the status is that of the first that has failed"
	TEXT [[
	if (job->status == 0)
		job->status = status;
]]
	REPLACEMENT [[
	job->status = status;
]])

mutant(NAME launch-missing-host-waits KIND test_cli_launch FILE tools/launch_job.c
	REMOVES "a host that is not reached ends all"
	TEXT [[
		fail(job, WH_EXIT_FAILED);
		end_all(job, WH_KEEP_END);
	}
	if (!node->started || status == 0)
]]
	REPLACEMENT [[
		fail(job, WH_EXIT_FAILED);
	}
	if (!node->started || status == 0)
]])

mutant(NAME launch-no-grace KIND test_cli_launch FILE tools/launch_job.c
	REMOVES "a program that was asked to end has time for it"
	TEXT [[
	job->next_phase_ns = now_ns() + (uint64_t)job->launch->grace_ms * WH_NS_PER_MS;
]]
	REPLACEMENT [[
	job->next_phase_ns = now_ns();
]])

mutant(NAME launch-second-signal KIND test_cli_launch FILE tools/launch_job.c
	REMOVES "a second signal kills"
	TEXT [[
			kill_all(job);
		} else {
			job->interrupted = true;
]]
	REPLACEMENT [[
			;
		} else {
			job->interrupted = true;
]])

mutant(NAME launch-two-outlets KIND test_cli_launch FILE tools/launch_job.c
	REMOVES "lines are whole where standard output and error are one file"
	TEXT [[
	    out.st_ino != err.st_ino)
]]
	REPLACEMENT [[
	    out.st_ino != err.st_ino || 1)
]])

mutant(NAME launch-no-pieces KIND test_cli_launch FILE tools/launch_lines.c
	REMOVES "a long line is passed on in pieces that say so"
	TEXT [[
	inlet->continued = !whole;
]]
	REPLACEMENT [[
	inlet->continued = false;
]])

mutant(NAME launch-reader-gone KIND test_cli_launch FILE tools/launch_lines.c
	REMOVES "output that nobody reads ends all"
	TEXT [[
	else if (written < 0 && errno != EINTR && errno != EAGAIN)
		outlet->failed = true;
]]
	REPLACEMENT [[
	else if (written < 0 && errno != EINTR && errno != EAGAIN)
		outlet->begin = outlet->end;
]])

mutant(NAME launch-rank-for-all KIND test_cli_launch FILE tools/launch_plan.c
	REMOVES "where srun or mpirun has started several each runs one node"
	TEXT [[
	if (rank < 0 || size == 1)
]]
	REPLACEMENT [[
	if (1)
]])

mutant(NAME launch-option-for-ssh KIND test_cli_launch FILE tools/launch_plan.c
	REMOVES "a host is no option of ssh"
	TEXT [[
list[0] != '-'; /* it is no option of ssh */
]]
	REPLACEMENT [[
true;
]])

mutant(NAME launch-unknown-are-killed KIND test_cli_launch FILE tools/launch_job.c
	REMOVES "a keeper of this host that has not been heard ends its program in order"
	TEXT [[
		if (node->pid != 0 && (node->started || node->plan->host == NULL))
]]
	REPLACEMENT [[
		if (node->pid != 0 && node->started)
]])

mutant(NAME launch-missed-behind-others KIND test_cli_launch FILE tools/launch_job.c
	REMOVES "a greeting is read though what others say is not taken"
	TEXT [[
	return waits > (node->started ? WH_OUTLET_FULL : 2 * WH_OUTLET_FULL);
]]
	REPLACEMENT [[
	return waits > WH_OUTLET_FULL;
]])
