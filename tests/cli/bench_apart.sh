#!/usr/bin/env bash
# bench_apart.sh COMMAND - one group, each node by a command of its own, as on several hosts: told by --node, or by
# the launcher that has started them. All deliver the same, and each has the latency of its own messages, and the limit of the same
# nodes.

set -euo pipefail

command=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/apart.ini" <<END
[group]
name = apart-$$
transport = tcp
nodes = 3
[subgroup s]
window = 20
[bench]
messages = 500
bytes = 1000
END

run() {
	timeout 60 "$command" bench "$dir/apart.ini" --quiet --json "$dir/$1.json" "${@:2}" >"$dir/$1.txt" 2>&1
}
run 0 --node 0 &
pids=($!)
SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=3 run 1 &
pids+=($!)
PMI_RANK=2 run 2 &
pids+=($!)
for pid in "${pids[@]}"; do
	wait "$pid" || { cat "$dir"/*.txt; exit 1; }
done

# Twice in each file: of the node, and of the subgroup, which is the only one.
digests=$(grep -ho '"order_digest":\[[^]]*\]' "$dir"/*.json | grep -oE '[0-9a-f]{16}' | sort | uniq -c | awk '{ print $1 }')
[ "$digests" = 6 ] || { echo "the nodes have delivered different things:"; cat "$dir"/*.json; exit 1; }

# Timed are a node's own messages only, and each has a round trip to both of the others.
for id in 0 1 2; do
	for key in '"latency_us":{"p50":[0-9]' '"latency_samples":500,' '"per_message":{"bytes_per_s":[1-9]' \
		   '"best_write":{"bytes_per_s":[1-9]' '"before":null,"after":[1-9]' '"fraction_of_limit":[0-9]' \
		   '"round_trip_us":{"polling":[0-9]'; do
		grep -qE "$key" "$dir/$id.json" || { echo "node $id has no $key:"; cat "$dir/$id.json" "$dir/$id.txt"; exit 1; }
	done
	peers=$(grep -o '"peers_round_trip_us":\[[^]]*\]' "$dir/$id.json" | grep -oE 'null|"polling":[0-9.]+' | sed 's/"polling".*/trip/')
	expected=(trip trip trip)
	expected[id]=null
	[ "${peers//$'\n'/ }" = "${expected[*]}" ] || { echo "node $id: $peers"; exit 1; }
done

# A rank among another number of commands is none of the group's nodes: then all are run here.
SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 run all --set bench.runs=1 --set bench.limit=off
[ "$(grep -o '"order_digest":\[[^]]*\]' "$dir/all.json" | grep -oE '[0-9a-f]{16}' | wc -l)" = 6 ]
if run wrong --node 3; then
	echo "there is no node 3"
	exit 1
fi
grep -q 'expected an id from 0 to 2' "$dir/wrong.txt"
