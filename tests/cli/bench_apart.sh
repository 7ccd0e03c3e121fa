#!/usr/bin/env bash
# bench_apart.sh COMMAND - one group, each node by a command of its own, as on several hosts: told by --node, or by
# the launcher that has started them. All deliver the same, and each has the latency of its own messages, and the limit of the same
# nodes.

set -euo pipefail
# shellcheck source=tests/patience.sh
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../patience.sh"

command=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# A node that a busy machine has left standing is none that has failed.
cat >"$dir/apart.ini" <<END
[group]
name = apart-$$
transport = tcp
nodes = 3
failure_timeout_ms = 20000
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
	timeout "$(($(patience 60000) / 1000))" "$command" bench "$dir/apart.ini" --quiet --json "$dir/$1.json" "${@:2}" >"$dir/$1.txt" 2>&1
}

# fail WHY FILE...: with what the commands have said
fail() {
	printf '%s\n' "$1"
	tail -n +1 "${@:2}" 2>&1
	exit 1
}

run 0 --node 0 &
pids=($!)
SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=3 run 1 &
pids+=($!)
PMI_RANK=2 run 2 &
pids+=($!)
for id in 0 1 2; do
	wait "${pids[id]}" || fail "node $id has ended with status $?" "$dir"/*.txt
done

# In each file: of the node once, and of both subgroups for each node.
digests=$(grep -ho '"order_digest":\[[^]]*\]' "$dir"/*.json | grep -oE '[0-9a-f]{16}' | sort | uniq -c | awk '{ print $1 }')
[ "$digests" = $'3\n3\n3' ] || fail "the nodes have delivered different things" "$dir"/*.json

# Timed are a node's own messages only, and each has a round trip to both of the others.
for id in 0 1 2; do
	for key in '"latency_us":{"p50":[0-9]' '"latency_samples":500,' '"per_message":{"bytes_per_s":[1-9]' \
		   '"best_write":{"bytes_per_s":[1-9]' '"before":null,"after":[1-9]' '"fraction_of_limit":[0-9]' \
		   '"round_trip_us":{"polling":[0-9]'; do
		grep -qE "$key" "$dir/$id.json" || fail "node $id has no $key" "$dir/$id.json" "$dir"/*.txt
	done
	peers=$(grep -o '"peers_round_trip_us":\[[^]]*\]' "$dir/$id.json" | grep -oE 'null|"polling":[0-9.]+' | sed 's/"polling".*/trip/')
	expected=(trip trip trip)
	expected[id]=null
	[ "${peers//$'\n'/ }" = "${expected[*]}" ] || fail "node $id has trips: $peers" "$dir/$id.json" "$dir"/*.txt
done

# Each has the rates of both subgroups, of sizes of their own, and the limit has their mix.
for id in 0 1 2; do
	grep -qE '"name":"s",.*"bytes":1000,.*"name":"t",.*"bytes":64,' "$dir/$id.json" || fail "node $id has other sizes" "$dir/$id.json"
	grep -q 'the limit is of the same mix' "$dir/$id.txt" || fail "node $id has another limit" "$dir/$id.txt"
done

# A node with a file that says another size is found out by those that hear it. Only it sends there: one that hears the others would find
# them out, and leave, perhaps before it has been heard; then they wait in vain. What becomes of it depends on how soon they leave.
pids=()
for id in 0 1 2; do
	run "other-$id" --node $id --set bench.limit=off --set 'subgroup t.senders=one' --set "bench t.bytes=$((id == 0 ? 65 : 64))" &
	pids+=($!)
done
for id in 1 2; do
	if wait "${pids[id]}" || ! grep -q 'subgroup t: a message of node 0 has 65 bytes, and 64 were expected' "$dir/other-$id.txt"; then
		fail "node $id has not found out node 0" "$dir"/other-*.txt
	fi
done
kill "${pids[0]}" 2>/dev/null || true
wait "${pids[0]}" || true

# A rank among another number of commands is none of the group's nodes: then all are run here.
SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 run all --set bench.runs=1 --set bench.limit=off || fail "all here: status $?" "$dir/all.txt"
[ "$(grep -o '"order_digest":\[[^]]*\]' "$dir/all.json" | grep -oE '[0-9a-f]{16}' | wc -l)" = 9 ] ||
	fail "not all nodes are here" "$dir/all.json" "$dir/all.txt"
if run wrong --node 3 || ! grep -q 'expected an id from 0 to 2' "$dir/wrong.txt"; then
	fail "there is no node 3" "$dir/wrong.txt"
fi
