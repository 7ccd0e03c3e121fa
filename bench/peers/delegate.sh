#!/usr/bin/env bash
# delegate.sh - runs `whorl delegate echo` beside ONC RPC and gRPC on the same work, in turn, and makes the table of docs/peers.md.
# `./run peers --delegate` installs and builds what it needs, and calls it.
#
# In each round each system is run with each number of calls on their way that it can have; it runs while it is measured and no longer. All of
# it is on this host.

set -euo pipefail
# shellcheck source=bench/peers/common.sh
source "$(dirname "$(readlink -f "$0")")/common.sh"

usage() {
	cat <<-'END'
	usage: ./run peers --delegate [OPTION]...

	  --rounds N          of all (5)
	  --seconds S         of each run, after it has become warm; whorl runs three times as long, for its limits (1)
	  --systems "A B"     of: whorl-shm whorl-tcp bare bare-sleeping tirpc tirpc-polling grpc grpc-polling (all);
	                      bare is the limit: two processes and a connection, as `whorl bench` measures it
	  --outstanding "N N" calls on their way; ONC RPC and bare have one (1 64)
	  --bytes N           of a call, and of its answer (64)
	  --out DIR           for results.json and table.md (build/peers/delegate)
	  --calm S            waits before each run until nothing else is busy, at most so many seconds (0)
	  --add               to what is in DIR
	  --table             makes the table of what is in DIR, and runs nothing
	  --publish           puts the table into docs/peers.md
	END
}

rounds=5
seconds=1
systems='whorl-shm whorl-tcp bare bare-sleeping tirpc tirpc-polling grpc grpc-polling'
outstanding='1 64'
bytes=64
calm=0
table=rounds
build=$1
out=$build/peers/delegate
shift
read_options 'rounds seconds systems outstanding bytes out calm' "$@"

programs=$build/bench/peers
work=$(mktemp -d "${TMPDIR:-/tmp}/whorl-delegate.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# limited COMMAND...: it ends, and so does what it has started, which watches it
limited() { timeout -k 1 "$(awk "BEGIN { print int(6 * $seconds) + 60 }")" "$@"; }

# ---- the systems --------------------------------------------------------------------------------------------------------
# call_SYSTEM OUTSTANDING prints one JSON object. It fails if the run did.

echo_of() { # TRANSPORT OUTSTANDING
	limited "$build/whorl" delegate echo --transport "$1" --nodes 2 --fibers 1 --outstanding "$2" --bytes "$bytes" \
		--seconds "$(awk "BEGIN { print 3 * $seconds }")" --json "$work/whorl" >/dev/null &&
		jq -c '{calls_per_s, latency_us: {p50: .latency_us}, limit}' "$work/whorl"
}

call_whorl-shm() { echo_of shm "$1"; }
call_whorl-tcp() { echo_of tcp "$1"; }
trip_of() { # polling|sleeping
	printf '[group]\nname = bare\nnodes = 2\ntransport = tcp\n[subgroup all]\nmessage_bytes = %s\n[bench]\nbytes = %s\nmessages = 2000\nruns = 1\n' \
		"$bytes" "$bytes" >"$work/bare.ini"
	limited "$build/whorl" bench "$work/bare.ini" --json "$work/bare" >/dev/null &&
		jq -c --arg how "$1" '{calls_per_s: null, latency_us: {p50: [.. | objects | .round_trip_us? // empty][0][$how]}}' "$work/bare"
}

call_bare() { trip_of polling; }
call_bare-sleeping() { trip_of sleeping; }
call_tirpc() { limited "$programs/peer-tirpc" "$bytes" "$seconds"; }
call_tirpc-polling() { limited "$programs/peer-tirpc" "$bytes" "$seconds" polling; }
call_grpc() { limited "$programs/peer-grpc" "$bytes" "$seconds" "$1"; }
call_grpc-polling() { limited "$programs/peer-grpc" "$bytes" "$seconds" "$1" polling; }

# has SYSTEM: its program has been built
has() {
	case $1 in
	whorl-* | bare*) ;;
	*) [ -x "$programs/peer-${1%-polling}" ] ;;
	esac
}

# does SYSTEM OUTSTANDING
does() { [[ $1 != tirpc* && $1 != bare* ]] || [ "$2" -eq 1 ]; }

# ---- runs ---------------------------------------------------------------------------------------------------------------

# run_once ROUND SYSTEM OUTSTANDING: appends a line to results.json. Fails if the run did.
run_once() {
	local others line

	others=$(await_calm "$calm")
	if ! line=$("call_$2" "$3" 2>"$work/errors"); then
		tell_failure "$2, $3 outstanding, round $1" "$work/errors"
		return 1
	fi
	jq -c --argjson round "$1" --arg system "$2" --argjson outstanding "$3" --argjson bytes "$bytes" --argjson busy "$others" \
		'{round: $round, system: $system, outstanding: $outstanding, bytes: $bytes, busy_before: $busy} + .' <<<"$line" >>"$out/results.json"
	jq -r --arg name "$2, $3 outstanding" '"   \($name): p50 \(.latency_us.p50) us\(if .calls_per_s then ", \(.calls_per_s | round)/s" else "" end)"' <<<"$line" >&2
}

rounds_of_all() {
	local round before count system

	before=$(jq -s 'map(.round) | max // 0' "$out/results.json")
	for ((round = before + 1; round <= before + rounds; round++)); do
		say "round $round of $((before + rounds))"
		for count in $outstanding; do
			for system in $(turned "$round" "$there"); do
				! does "$system" "$count" || twice run_once "$round" "$system" "$count"
			done
		done
	done
}

find_systems call
begin_results results
rounds_of_all
jq -r -s -f "$here/delegate.jq" "$out/results.json" | tee "$out/table.md"
end_of_runs delegate "$out/results.json"
