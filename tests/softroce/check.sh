#!/usr/bin/env bash
# check.sh BUILD - what must work on real RDMA verbs; run by softroce.sh inside the virtual machine, as the test softroce.
#
# First the machine itself, by a program that knows nothing of whorl: if that fails, all else means nothing.

set -uo pipefail

cd "$1" || exit 2
failed=() passed=0

# step SECONDS NAME COMMAND...: one line for what passed, all output of what did not
step() {
	local seconds=$1 name=$2 begin output status=0
	shift 2

	begin=${EPOCHREALTIME/./}
	output=$(timeout --kill-after 5 "$seconds" "$@" 2>&1) || status=$?
	if [ $status -eq 0 ]; then
		passed=$((passed + 1))
		printf 'passed: %s (%d ms)\n' "$name" $(((${EPOCHREALTIME/./} - begin) / 1000))
		[ -z "${show:-}" ] || printf '%s\n' "$output"
	else
		failed+=("$name")
		printf '%s\nfailed: %s: exit status %d\n' "$output" "$name" $status
	fi
	return $status
}

if ! step 30 probe tests/softroce/softroce-probe 10.9.0.1 10.9.0.2; then
	printf 'Soft-RoCE does not work in this machine: nothing was tested\n'
	exit 1
fi
printf '%d passed, %d failed\n' "$passed" ${#failed[@]}
[ ${#failed[@]} -eq 0 ]
