#!/usr/bin/env bash
# shards.sh WHORL-KV - two shards of two replicas of examples/kv: clients of redis cluster find every key, and come from one to the other.

set -euo pipefail
command=$1
# shellcheck source=tests/kv/replicas.sh
. "$(dirname "$0")/replicas.sh"

configure 4 2
for id in 0 1 2 3; do start $id; done
ready 0 1 2 3
all_known() { for id in 0 1 2 3; do [ "$(cli $id cluster nodes | grep -c connected)" -eq 4 ] || return 1; done; }
until_true 10 all_known || fail "not all know where all are: $(cli 0 cluster nodes)"
cli 0 cluster info | grep -q cluster_state:ok || fail "cluster info"

# foo is in slot 12182, hello in 866
expect 12182 0 cluster keyslot foo
expect 12182 0 cluster keyslot 'x{foo}y'
expect OK 1 set hello 1
expect 1 0 get hello
case $(cli 0 set foo 1) in "MOVED 12182 127.0.0.1:${ports[2]}" | "MOVED 12182 127.0.0.1:${ports[3]}") ;; *) fail "MOVED: $(cli 0 set foo 1)" ;; esac
expect "CROSSSLOT Keys in request don't hash to the same slot" 0 mget hello foo
expect OK 2 mset foo 1 '{foo}2' 2
for id in 0 1 2 3; do
	[ "$(cli $id -c get foo)" = 1 ] || fail "redis-cli -c at node $id"
	[ "$(cli $id -c incr "n$id")" = 1 ] || fail "redis-cli -c at node $id"
done
timeout 240 redis-benchmark --cluster -p "${ports[1]}" -q -t set,get -n 4000 -c 8 -r 1000 >"$dir/benchmark" 2>&1 || fail "redis-benchmark: $(cat "$dir/benchmark")"
grep -q 'Cluster has 4 master nodes' "$dir/benchmark" || fail "redis-benchmark: $(cat "$dir/benchmark")"
until_true 10 same_state 0 1 || fail "shard 0: the states differ"
until_true 10 same_state 2 3 || fail "shard 1: the states differ"
for id in 0 1 2 3; do kill "${pids[$id]}"; done
for id in 0 1 2 3; do ends $id 0; done
