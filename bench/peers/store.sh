#!/usr/bin/env bash
# store.sh - runs `whorl delegate kv`, on trusts and under locks, beside redis on the same work, in turn, and makes the table of
# docs/delegation.md. `./run peers --delegate --kv` installs and builds what it needs, and calls it.
#
# In each round each server is started, gets all works, and is ended. All of it is on this host: the clients take a processor, too.

set -euo pipefail
# shellcheck source=bench/peers/common.sh
source "$(dirname "$(readlink -f "$0")")/common.sh"

usage() {
	cat <<-'END'
	usage: ./run peers --delegate --kv [OPTION]...

	  --rounds N          of all (5)
	  --seconds S         of the work zipf (2)
	  --requests N        of the works set and get (1000000)
	  --systems "A B"     of: redis trust mutex rwlock (all)
	  --port N            the first of two that are free (7950)
	  --server "OPTIONS"  of whorl delegate kv (none)
	  --out DIR           for results.json and table.md (build/peers/store)
	  --calm S            waits before each run until nothing else is busy, at most so many seconds (0)
	  --add               to what is in DIR
	  --table             makes the table of what is in DIR, and runs nothing
	  --publish           puts the table into docs/delegation.md
	END
}

rounds=5
seconds=2
requests=1000000
systems='redis trust mutex rwlock'
port=7950
server=
calm=0
table=rounds
build=$1
out=$build/peers/store
shift
read_options 'rounds seconds requests systems port server out calm' "$@"

work=$(mktemp -d "${TMPDIR:-/tmp}/whorl-store.XXXXXX")
pid=
stop() {
	if [ -n "$pid" ]; then
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	fi
	pid=
}
trap 'stop; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# start SYSTEM: it answers when this returns
start() {
	local words=()

	read -ra words <<<"$server"
	case $1 in
	redis) redis-server --port "$port" --bind 127.0.0.1 --save '' --appendonly no --dir "$work" >"$work/log" 2>&1 & ;;
	*) "$build/whorl" delegate kv --listen "$port" --backend "$1" ${words[@]+"${words[@]}"} >"$work/log" 2>&1 & ;;
	esac
	pid=$!
	for ((i = 0; i < 100; i++)); do
		[ "$(redis-cli -p "$port" ping 2>/dev/null)" != PONG ] || return 0
		sleep 0.1
	done
	return 1
}

# rate_of WORK: requests a second, by redis-benchmark with 50 connections, 64 requests each on their way
rate_of() {
	timeout 120 redis-benchmark -p "$port" -P 64 -c 50 -n "$requests" -r 100000 -d 16 -t "$1" --csv 2>/dev/null |
		awk -F'"' -v work="$1" 'tolower($2) == work { print $4; found = 1 } END { exit !found }'
}

# run_once ROUND SYSTEM: appends a line to results.json. Fails if a run did.
run_once() {
	local others set get status=0

	others=$(await_calm "$calm")
	: >"$work/log"
	if start "$2" && set=$(rate_of set) && get=$(rate_of get) &&
		timeout 120 "$build/whorl" delegate kv --load "127.0.0.1:$port" --zipf 1 --writes 5 --seconds "$seconds" --json "$work/zipf" >/dev/null 2>>"$work/log"; then
		jq -c --argjson round "$1" --arg system "$2" --argjson set "$set" --argjson get "$get" --argjson busy "$others" \
			'{round: $round, system: $system, busy_before: $busy, set: $set, get: $get, zipf: .ops_per_s, zipf_p50_us: .pipeline_us.p50, zipf_p99_us: .pipeline_us.p99}' \
			"$work/zipf" | tee -a "$out/results.json" >&2
	else
		status=1
		tell_failure "$2, round $1" "$work/log"
	fi
	stop
	return $status
}

begin_results results
before=$(jq -s 'map(.round) | max // 0' "$out/results.json")
for system in $systems; do
	case $system in
	redis | trust | mutex | rwlock) ;;
	*) say "there is no system $system"; exit 2 ;;
	esac
done
for ((round = before + 1; round <= before + rounds; round++)); do
	say "round $round of $((before + rounds))"
	for system in $(turned "$round" "$systems"); do
		twice run_once "$round" "$system"
	done
done
jq -r -s -f "$here/store.jq" "$out/results.json" | tee "$out/table.md"
end_of_runs store "$out/results.json" delegation
