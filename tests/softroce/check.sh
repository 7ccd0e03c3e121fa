#!/usr/bin/env bash
# check.sh BUILD [soak] - what must work on real RDMA verbs; run by softroce.sh inside the virtual machine, as the test
# softroce (and softroce-soak: all scenarios of real processes).
#
# First the machine itself, by a program that knows nothing of whorl: if that fails, all else means nothing. Then two halves at
# once, as much of each is waiting; what they have printed comes at the end, and the benchmark has the machine for itself.

set -uo pipefail

source=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)
cd "$1" || exit 2
mode=${2:-short}
work=$(mktemp -d)

# step SECONDS NAME COMMAND...: one line and the last line of its output for what passed, all of it for what did not
step() {
	local seconds=$1 name=$2 begin=${EPOCHREALTIME/./} output status=0
	shift 2

	output=$(timeout --kill-after 5 "$seconds" "$@" 2>&1) || status=$?
	if [ $status -eq 0 ]; then
		printf 'passed: %s (%d ms)\n        %s\n' "$name" $(((${EPOCHREALTIME/./} - begin) / 1000)) "${output##*$'\n'}"
	else
		printf '%s\nfailed: %s: exit status %d\n' "$output" "$name" $status
	fi
	return $status
}

# conformance PROGRAM CASE...: the transport contract; -both with a cluster key and TLS
conformance() {
	local program=$1 case
	shift

	for case in "$@"; do
		step 90 "$program, $case" env CK_RUN_CASE="$case" "tests/conformance/$program"
	done
}

# processes PROGRAM SCENARIO...: real processes that are killed, that join
processes() {
	local program=$1 scenario
	shift

	for scenario in "$@"; do
		step 180 "$program, $scenario" "tests/processes/$program" --transport verbs "$scenario" 1
	done
}

first_half() {
	conformance conformance-verbs doorbell view remote
	processes processes-faults kill-leader
	conformance conformance-verbs-both image peer
	conformance conformance-verbs-lanes remote lane
}

second_half() {
	conformance conformance-verbs push return image stream query peer
	processes processes-joins join-idle
}

all_processes() {
	local scenarios

	conformance conformance-verbs "remote ends"
	conformance conformance-verbs-lanes "remote ends"
	conformance conformance-verbs-both push return stream query view remote "remote ends"
	mapfile -t scenarios < <(tests/processes/processes-faults --list)
	processes processes-faults "${scenarios[@]}"
	mapfile -t scenarios < <(tests/processes/processes-joins --list)
	processes processes-joins "${scenarios[@]}"
}

benchmark() {
	step 20 "the limit" tests/softroce/softroce-limit 2 1024 100
	step 60 "a benchmark" ./whorl bench "$source/conf/quickstart.ini" --quiet --set group.transport=verbs --set group.nodes=3 \
		--set bench.messages=1000 --set bench.bytes=1024 --set bench.runs=1 --json="$work/line.json"
	# shellcheck disable=SC2016 # $1 is that shell's
	step 5 "its three limits" bash -c '[ "$(grep -oE "\"(per_message|best_write|stable_write)\":\{\"bytes_per_s\":[1-9]" "$1" | wc -l)" -eq 3 ]' - "$work/line.json"
}

step 30 probe tests/softroce/softroce-probe 10.9.0.1 10.9.0.2 || {
	printf 'Soft-RoCE does not work in this machine: nothing was tested\n'
	exit 1
}
{
	first_half >"$work/first" &
	second_half >"$work/second"
	wait
	cat "$work/first" "$work/second"
	benchmark
	[ "$mode" != soak ] || all_processes
} | tee "$work/all"
passed=$(($(grep -c '^passed: ' "$work/all") + 1)) failed=$(grep -c '^failed: ' "$work/all")
printf '%d passed, %d failed, in %d s\n' "$passed" "$failed" $SECONDS
[ "$failed" -eq 0 ]
