#!/usr/bin/env bash
# tools.sh WHORL-KV CLIENTS - redis' tools, and hiredis, against three replicas of examples/kv: they work as they are, and the replicas agree.
# shellcheck disable=SC2016 # until_true expands it

set -euo pipefail
command=$1
clients=$2
# shellcheck source=tests/kv/replicas.sh
. "$(dirname "$0")/replicas.sh"

benchmark() { # ID OPTION...
	timeout 240 redis-benchmark -p "${ports[$1]}" -q "${@:2}" 2>&1 | tr '\r' '\n' >"$dir/benchmark" || fail "redis-benchmark ${*:2}: $(cat "$dir/benchmark")"
	! grep -qiE 'error|warning' "$dir/benchmark" || fail "redis-benchmark ${*:2}: $(cat "$dir/benchmark")"
	grep -q 'requests per second' "$dir/benchmark" || fail "redis-benchmark ${*:2} says nothing"
}

configure 3 1
for id in 0 1 2; do start $id; done
ready 0 1 2

# one replica writes, all read what was written
expect OK 0 set a 1
expect 2 1 incr a
expect 2 2 get a
expect PONG 1 ping
expect 'OK QUEUED QUEUED 3 3' 2 <<<$'multi\nincr a\nget a\nexec'
expect OK 1 set e v px 300
[ "$(cli 1 pttl e)" -gt 0 ] || fail "pttl"
until_true 5 eval '[ -z "$(cli 0 get e)" ]' || fail "a key does not expire"
[ "$(cli 0 info clients | grep -c maxclients)" -eq 1 ] || fail "info clients"

# the tools
benchmark 0 -t ping,set,get,incr,mset -n 2000 -c 50 -d 128 -r 1000
benchmark 1 -t set,get -n 20000 -c 20 -P 16 -d 128 -r 1000
cli 2 flushall >/dev/null
awk 'BEGIN { for (i = 0; i < 20000; i++) printf "*3\r\n$3\r\nSET\r\n$%d\r\nk%d\r\n$5\r\nvalue\r\n", length(i) + 1, i }' | cli 2 --pipe >"$dir/pipe" ||
	fail "redis-cli --pipe: $(cat "$dir/pipe")"
grep -q 'errors: 0, replies: 20000' "$dir/pipe" || fail "redis-cli --pipe: $(cat "$dir/pipe")"
expect 20000 0 dbsize
[ "$(cli 1 --scan --pattern 'k*' | sort -u | wc -l)" -eq 20000 ] || fail "redis-cli --scan"
cli 1 --bigkeys | grep -q 'Sampled 20000 keys' || fail "redis-cli --bigkeys"
until_true 10 same_state 0 1 2 || fail "the states differ"

# a client of its own: hiredis, garbage, half commands, idle crowds
"$clients" "${ports[0]}" "${ports[1]}" "${pids[0]}" || fail "$clients"
until_true 10 same_state 0 1 2 || fail "the states differ"
for id in 0 1 2; do kill "${pids[$id]}"; done
for id in 0 1 2; do ends $id 0; done
