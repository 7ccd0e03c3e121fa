#!/usr/bin/env bash
# sssp.sh - runs `whorl delegate sssp` beside the same parts over Open MPI (peer_sssp.c), in turn, and makes the table of docs/delegation.md.
# `./run peers --sssp` installs and builds what it needs, and calls it.
#
# All of it is on this host, a process for each part. In each round each system makes so many runs, from the same vertices of the same graph. What the systems
# say of the distances must be the same; whorl also compares them, one by one, with those of one program, which is the limit of the table.

set -euo pipefail
# shellcheck source=bench/peers/common.sh
source "$(dirname "$(readlink -f "$0")")/common.sh"

usage() {
	cat <<-'END'
	usage: ./run peers --sssp [OPTION]...

	  --rounds N          of all (5)
	  --runs N            of each system in each round (8)
	  --systems "A B"     of: whorl-shm whorl-tcp mpi-shm mpi-tcp (all)
	  --nodes "N N"       processes (2)
	  --scales "S S"      the graph has 2^S vertices (16 18)
	  --degree N          and so many times as many edges (16)
	  --seed N            of the graph (1)
	  --out DIR           for results.json and table.md (build/peers/sssp)
	  --calm S            waits before each run until nothing else is busy, at most so many seconds (0)
	  --add               to what is in DIR
	  --table             makes the table of what is in DIR, and runs nothing
	END
}

rounds=5
runs=8
systems='whorl-shm whorl-tcp mpi-shm mpi-tcp'
nodes=2
scales='16 18'
degree=16
seed=1
calm=0
table=rounds
build=$1
out=$build/peers/sssp
shift
read_options 'rounds runs systems nodes scales degree seed out calm' "$@"

program=$build/bench/peers/peer-sssp
work=$(mktemp -d "${TMPDIR:-/tmp}/whorl-sssp.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# ---- the systems --------------------------------------------------------------------------------------------------------
# sssp_SYSTEM NODES SCALE prints one JSON object with lists of teps, reached and distance_sum. It fails if the run did.

limited() { timeout -k 1 600 "$@"; }

whorl_of() { # TRANSPORT NODES SCALE
	limited "$build/whorl" delegate sssp --transport "$1" --nodes "$2" --scale "$3" --degree "$degree" --seed "$seed" --runs "$runs" \
		--check --json "$work/whorl" >/dev/null &&
		jq -c '{teps: [.runs[].teps], reached: [.runs[].reached], distance_sum: [.runs[].distance_sum],
			sequential_teps: [.runs[].sequential_teps]}' "$work/whorl"
}

# A processor for each rank, if there are enough, as whorl's nodes have them.
mpi_of() { # TRANSPORT NODES SCALE
	local where='--bind-to core'

	[ "$2" -le "$(nproc)" ] || where='--oversubscribe --bind-to none'
	# shellcheck disable=SC2086 # words
	limited mpirun --allow-run-as-root $where -n "$2" --mca pml ob1 --mca btl "$1,self" --mca mpi_yield_when_idle 1 \
		"$program" "$3" "$degree" "$seed" "$runs" </dev/null
}

sssp_whorl-shm() { whorl_of shm "$@"; }
sssp_whorl-tcp() { whorl_of tcp "$@"; }
sssp_mpi-shm() { mpi_of vader "$@"; }
sssp_mpi-tcp() { mpi_of tcp "$@"; }

# has SYSTEM: its program has been built
has() { [[ $1 == whorl-* ]] || [ -x "$program" ]; }

# ---- runs ---------------------------------------------------------------------------------------------------------------

# same_distances SCALE: all systems say the same of the distances of these runs
same_distances() {
	[ "$(jq -s --argjson scale "$1" '[.[] | select(.scale == $scale) | [.reached, .distance_sum]] | unique | length' "$out/results.json")" -le 1 ]
}

# run_once ROUND SYSTEM NODES SCALE: appends a line to results.json. Fails if the run did.
run_once() {
	local others line

	others=$(await_calm "$calm")
	if ! line=$("sssp_$2" "$3" "$4" 2>"$work/errors"); then
		tell_failure "$2, $3 nodes, scale $4, round $1" "$work/errors"
		return 1
	fi
	jq -c --argjson round "$1" --arg system "$2" --argjson nodes "$3" --argjson scale "$4" --argjson busy "$others" \
		'{round: $round, system: $system, nodes: $nodes, scale: $scale, busy_before: $busy} + .' <<<"$line" >>"$out/results.json"
	same_distances "$4" || { say "$2, $3 nodes, scale $4: the distances are others"; exit 1; }
	jq -r --arg name "$2, $3 nodes, scale $4" '"   \($name): \(.teps | sort | .[length / 2 | floor] / 1000000 * 10 | round / 10) M edges/s"' <<<"$line" >&2
}

rounds_of_all() {
	local round before count scale system

	before=$(jq -s 'map(.round) | max // 0' "$out/results.json")
	for ((round = before + 1; round <= before + rounds; round++)); do
		say "round $round of $((before + rounds))"
		for scale in $scales; do
			for count in $nodes; do
				for system in $(turned "$round" "$there"); do
					twice run_once "$round" "$system" "$count" "$scale"
				done
			done
		done
	done
}

find_systems sssp
begin_results results
rounds_of_all
jq -r -s -f "$here/sssp.jq" "$out/results.json" | tee "$out/table.md"
end_of_runs sssp "$out/results.json"
