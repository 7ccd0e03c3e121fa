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
[subgroup t]
message_bytes = 100
window = 20
[bench]
messages = 250
bytes = 1000
[bench t]
bytes = 64
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

# In each file: of the node once, and of both subgroups for each node.
digests=$(grep -ho '"order_digest":\[[^]]*\]' "$dir"/*.json | grep -oE '[0-9a-f]{16}' | sort | uniq -c | awk '{ print $1 }')
[ "$digests" = $'3\n3\n3' ] || { echo "the nodes have delivered different things:"; cat "$dir"/*.json; exit 1; }

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

# Each has the rates of both subgroups, of sizes of their own, and the limit has their mix.
for id in 0 1 2; do
	grep -qE '"name":"s",.*"bytes":1000,.*"name":"t",.*"bytes":64,' "$dir/$id.json" || { cat "$dir/$id.json"; exit 1; }
	grep -q 'the limit is of the same mix' "$dir/$id.txt" || { cat "$dir/$id.txt"; exit 1; }
done

# A node with a file that says another size is found out by those that hear it.
pids=()
for id in 0 1 2; do
	run "other-$id" --node $id --set bench.give_up_s=2 --set bench.limit=off --set "bench t.bytes=$((id == 2 ? 65 : 64))" &
	pids+=($!)
done
good=0
for pid in "${pids[@]}"; do wait "$pid" && good=$((good + 1)); done
if [ "$good" -gt 0 ] || ! grep -q 'subgroup t: a message of node 2 has 65 bytes, and 64 were expected' "$dir"/other-[01].txt; then
	cat "$dir"/other-*.txt
	exit 1
fi

# A rank among another number of commands is none of the group's nodes: then all are run here.
SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 run all --set bench.runs=1 --set bench.limit=off
[ "$(grep -o '"order_digest":\[[^]]*\]' "$dir/all.json" | grep -oE '[0-9a-f]{16}' | wc -l)" = 9 ]
if run wrong --node 3; then
	echo "there is no node 3"
	exit 1
fi
grep -q 'expected an id from 0 to 2' "$dir/wrong.txt"
