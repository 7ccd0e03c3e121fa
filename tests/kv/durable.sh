#!/usr/bin/env bash
# durable.sh WHORL-KV - durable replicas of examples/kv: one is killed and comes back with its log, all are killed and come back, and the disk
# of one is full. Whatever was answered is there.
# shellcheck disable=SC2016 # until_true expands it

set -euo pipefail
command=$1
# shellcheck source=tests/kv/replicas.sh
. "$(dirname "$0")/replicas.sh"

configure 3 1
mkdir "$dir/logs"
# Segments of 1 MB, and checkpoints while the test writes.
sed -i -e "/^\[group\]/a log_dir = $dir/logs\ndisk_timeout_ms = $(patience 6000)" -e '/^\[subgroup kv\]/a mode = durable\nlog_bytes = 3m' "$dir/kv.ini"

trap '' XFSZ # a file that may not grow stands for a disk that is full: a result, not a signal

start_all() {
	local id

	for id in 0 1 2; do start $id; done
	ready 0 1 2
}

kill_hard() { # ID...
	local id

	for id in "$@"; do kill -9 "${pids[$id]}"; done
	for id in "$@"; do
		wait "${pids[$id]}" || true
		unset "pids[$id]"
	done
}

answered() { [ "$(wc -l <"$dir/answers")" -ge "$1" ]; }

# write ID COUNT: in the background, one after the other, with values of 1 KB; what is answered is in `answers`
value=$(printf 'v%.0s' {1..1000})
write() {
	: >"$dir/answers"
	(for ((i = 1; i <= $2; i++)); do echo "incr counter"; echo "set k$((i % 500)) $value$i"; done | timeout 300 redis-cli -p "${ports[$1]}" >"$dir/answers" 2>"$dir/said") &
	writer=$!
}

# What was answered last is not beyond what is there, and little more is: one that was under way.
none_is_lost() { # ID
	local last now

	last=$(grep -E '^[0-9]+$' "$dir/answers" | tail -n 1)
	now=$(cli "$1" get counter)
	[ "$now" -ge "$last" ] || fail "node $1: $last was answered, and the counter is $now"
}

start_all

# one is killed while it is written; the others go on; it comes back with what it has on disk
write 0 1000
until_true 30 answered 200 || fail "nothing is written"
kill_hard 2
until_true 20 eval '[ "$(info 0 members)" = 2 ]' || fail "node 2 is not left behind"
[ -n "$(find "$dir/logs/2" -name '*.log')" ] || fail "node 2 has left no log"
start 2
ready 2
wait $writer || fail "the writer ends with $?: $(tail -n 1 "$dir/said")"
[ "$(grep -c . "$dir/answers")" -eq 2000 ] || fail "some writes were not answered"
expect 1000 2 get counter
until_true 20 same_state 0 1 2 || fail "the states differ after a return"
[ -n "$(find "$dir/logs/0" -name '*.checkpoint')" ] || fail "no checkpoint was made"

# all are killed while it is written, and come back
write 1 100000
until_true 30 answered 200 || fail "nothing is written"
kill_hard 0 1 2
wait $writer || true
start_all
none_is_lost 0
until_true 20 same_state 0 1 2 || fail "the states differ after a restart of all"
[ "$(cli 2 get k7 | head -c 1000)" = "$value" ] || fail "k7 is not what was written"

# the disk of one is full: it says so and ends, the others go on without it
prlimit --pid "${pids[2]}" --fsize=262144
write 0 3000
ends 2 1
grep -q "^whorl-kv: node 2: this node leaves: its disk is full" "$dir/node2" || fail "node 2 does not say why it ends"
wait $writer || fail "the writer ends with $?: $(tail -n 1 "$dir/said")"
[ "$(grep -c . "$dir/answers")" -eq 6000 ] || fail "some writes were not answered: $(tail -n 1 "$dir/answers")"
start 2
ready 2
none_is_lost 2
until_true 20 same_state 0 1 2 || fail "the states differ after a disk was full"

# all leave in order, and come back
state=$(info 0 digest)
for id in 0 1 2; do kill "${pids[$id]}"; done
for id in 0 1 2; do ends $id 0; done
start_all
[ "$(info 1 digest)" = "$state" ] || fail "the state after an end in order"
for id in 0 1 2; do kill "${pids[$id]}"; done
for id in 0 1 2; do ends $id 0; done

# no disk at all
status=0
"$command" "$dir/kv.ini" --id 0 --listen 0 --set group.log_dir="$dir/missing" >"$dir/none" 2>&1 </dev/null || status=$?
[ $status -eq 1 ] || fail "without a log_dir: exit status $status"
grep -q "$dir/missing" "$dir/none" || fail "without a log_dir: $(cat "$dir/none")"
