#!/usr/bin/env bash
# faults.sh WHORL-KV - replicas of examples/kv that are killed, come back, are stopped, and are called wrongly.
# shellcheck disable=SC2016 # until_true expands it

set -euo pipefail
command=$1
# shellcheck source=tests/kv/replicas.sh
. "$(dirname "$0")/replicas.sh"

usage() { # OPTION...: exit status 2, and a word about it
	local status=0

	"$command" "$@" >"$dir/usage" 2>&1 </dev/null || status=$?
	[ "$status" = 2 ] || fail "whorl-kv $*: exit status $status"
	[ -s "$dir/usage" ] || fail "whorl-kv $* says nothing"
}

configure 3 1
usage
usage "$dir/kv.ini" --id 0
usage "$dir/kv.ini" --id x --listen 0
usage "$dir/missing.ini" --id 0 --listen 0
usage "$dir/kv.ini" --id 0 --listen 0 --set kv.wrong=1
usage "$dir/kv.ini" --id 0 --listen 0 --set kv.value_max=2m # calls are smaller
usage "$dir/kv.ini" --id 0 --listen 0 --set kv.bind=0.0.0.0
usage "$dir/kv.ini" --id 9 --listen 0
"$command" --help | grep -q 'usage: whorl-kv' || fail "--help"

# a password
printf 'sesame\n' >"$dir/password"
for id in 0 1 2; do start $id --password-file "$dir/password"; done
ready 0 1 2
expect 'NOAUTH Authentication required.' 0 get a
expect 'OK 1' 0 <<<$'auth sesame\nincr a'
expect 'WRONGPASS invalid username-password pair or user is disabled.' 0 auth sesamE
expect 'WRONGPASS invalid username-password pair or user is disabled.' 0 auth sesamesesame
for id in 0 1 2; do kill "${pids[$id]}"; done
for id in 0 1 2; do ends $id 0; done

# one is killed while it is written, and comes back to the same state
for id in 0 1 2; do start $id; done
ready 0 1 2
(for ((i = 0; i < 3000; i++)); do echo "incr counter"; echo "set k$i $i"; done | timeout 300 redis-cli -p "${ports[0]}" >"$dir/answers") &
writer=$!
until_true 10 eval '[ "$(wc -l <"$dir/answers")" -gt 100 ]' || fail "nothing is written"
kill -9 "${pids[2]}"
wait "${pids[2]}" || true
until_true 20 eval '[ "$(cli 1 info replication | tr -d "\r" | sed -n s/^members://p)" = 2 ]' || fail "node 2 is not left behind"
start 2
wait $writer || fail "the writer ends with $?"
ready 2
expect 3000 2 get counter
expect 2999 1 get k2999
[ "$(grep -c . "$dir/answers")" -eq 6000 ] || fail "some writes were not answered"
until_true 10 same_state 0 1 2 || fail "the states differ after a return"

# two stand still: no answer is made up, and no lie is told
kill -STOP "${pids[1]}" "${pids[2]}"
text=$(cli 0 set a 9 2>&1) || true
case $text in
*'Server closed the connection'* | CLUSTERDOWN*) ;;
*) fail "a write without a majority: $text" ;;
esac
until_true 20 eval '[ "$(info 0 state)" = no_quorum ]' || fail "no_quorum is not said"
case $(cli 0 set b 1 2>&1) in CLUSTERDOWN*) ;; *) fail "a write without a majority" ;; esac
case $(cli 0 get a 2>&1) in CLUSTERDOWN*) ;; *) fail "a read without a majority" ;; esac
expect 'OK 3000' 0 <<<$'readonly\nget counter'
kill -CONT "${pids[1]}" "${pids[2]}"
until_true 20 eval '[ "$(cli 0 set c 1)" = OK ]' || fail "they do not go on together"
# Of two that are woken one may be scheduled so late that the others go on without it.
return_removed() {
	local id
	for id in 0 1 2; do
		kill -0 "${pids[$id]}" 2>/dev/null || { start "$id"; ready "$id"; }
	done
}
until_true 10 eval 'return_removed; same_state 0 1 2' || fail "the states differ after a stop"
for id in 0 1 2; do kill -INT "${pids[$id]}"; done
for id in 0 1 2; do ends $id 0; done
