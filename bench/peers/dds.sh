#!/usr/bin/env bash
# dds.sh - runs `whorl dds perf` beside Cyclone DDS' ddsperf and iceoryx on the same work, in turn, and makes the tables of docs/peers.md.
# `./run peers --dds` installs and builds what it needs, and calls it.
#
# In each round each kind of work is given to each system, which runs while it is measured and no longer. All of it is on this host.

set -euo pipefail
# shellcheck source=bench/peers/common.sh
source "$(dirname "$(readlink -f "$0")")/common.sh"

usage() {
	cat <<-'END'
	usage: ./run peers --dds [OPTION]...

	  --rounds N          of all (5)
	  --seconds N         of each run; topics of whorl run twice as long, and in turns with them the bare subgroup as long again (5)
	  --works "W W"       TRANSPORT:READERS (shm:1 shm:3 shm:15 tcp:1 tcp:3)
	  --raw "W W"         BYTES:HOW of topics beside the bare subgroup alone, with three readers
	                      (128:waitset 10000:waitset 128:in-place 10000:in-place)
	  --bytes N           of a sample (128)
	  --latency yes|no    also of one sample a millisecond (yes)
	  --out DIR           for results.json and table.md (build/peers/dds)
	  --calm S            waits before each run until nothing else is busy, at most so many seconds (0)
	  --add               to what is in DIR
	  --table             makes the table of what is in DIR, and runs nothing
	  --publish           puts the table into docs/peers.md
	END
}

rounds=5
seconds=5
works='shm:1 shm:3 shm:15 tcp:1 tcp:3'
raw='128:waitset 10000:waitset 128:in-place 10000:in-place'
bytes=128
latency=yes
calm=0
table=rounds
build=$1
out=$build/peers/dds
shift
read_options 'rounds seconds works raw bytes latency out calm' "$@"

rate=1000 # samples a second, for latency
work=$(mktemp -d "${TMPDIR:-/tmp}/whorl-dds.XXXXXX")
pids=() # of what runs

# What hangs is killed: iceoryx' daemon, for one, may not end by itself.
stop_all() {
	local pid

	for pid in "${pids[@]}"; do
		kill "$pid" 2>/dev/null || true
	done
	sleep 0.3
	for pid in "${pids[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	pids=()
}

# Waits until all have ended by themselves.
await_all() {
	local pid

	for pid in "${pids[@]}"; do
		wait "$pid" || true
	done
	pids=()
}

tidy() {
	stop_all
	rm -rf "$work"
}
trap tidy EXIT
trap 'exit 130' INT TERM

# serve LOG COMMAND...: starts it; it ends with this script at the latest
serve() {
	setpriv --pdeathsig KILL timeout -k 1 $((seconds + 30)) "${@:2}" </dev/null >"$1" 2>&1 &
	pids+=($!)
}

# ---- the systems --------------------------------------------------------------------------------------------------------
# rate_SYSTEM TRANSPORT READERS, latency_SYSTEM TRANSPORT HOW and fraction_whorl BYTES HOW print one JSON object. They fail if the run did.

# perf FILTER OPTION...
perf() {
	"$build/whorl" dds perf "${@:2}" --seconds $((2 * seconds)) --json "$work/whorl" && jq -c "$1" "$work/whorl"
}

rates='{samples_per_s, fraction_of_raw, latency_of_raw, processor_us, latency_us, raw}'

rate_whorl() { perf "$rates" --transport "$1" --readers "$2" --bytes "$bytes"; }
fraction_whorl() { perf "$rates" --readers 3 --bytes "$1" --read "$2"; }
latency_whorl() { perf '{latency_us, latency_of_raw, raw}' --transport "$1" --read "$2" --readers 1 --bytes "$bytes" --rate $rate; }

# cyclone_config TRANSPORT PROCESS: packets as large as there are, and buffers that lose none. On tcp the first process listens for the others.
cyclone_config() {
	local all='<MaxMessageSize>65500B</MaxMessageSize><FragmentSize>65000B</FragmentSize>'
	local buffers='<Internal><SocketReceiveBufferSize min="4MB"/></Internal>'

	if [ "$1" = shm ]; then
		echo "<General><Interfaces><NetworkInterface name=\"lo\" multicast=\"true\"/></Interfaces><AllowMulticast>true</AllowMulticast>$all</General>$buffers"
	else
		echo "<General><Transport>tcp</Transport><Interfaces><NetworkInterface name=\"lo\"/></Interfaces><AllowMulticast>false</AllowMulticast>$all</General>
			<Discovery><Peers><Peer address=\"127.0.0.1:$port\"/></Peers></Discovery><TCP><Port>$((port + $2))</Port></TCP>$buffers"
	fi
}

# cyclone TRANSPORT PROCESS LOG MODE...: starts a ddsperf, in a domain of its own
cyclone() {
	CYCLONEDDS_URI=$(cyclone_config "$1" "$2") serve "$3" ddsperf -i $((port % 100 + 100)) -n 1 -k all -D $((seconds + 2)) "${@:4}"
}

free_ports() {
	local n

	while :; do
		port=$((20000 + RANDOM % 10000))
		for ((n = 0; n < 20; n++)); do
			! (exec 3<>"/dev/tcp/127.0.0.1/$((port + n))") 2>/dev/null || continue 2
		done
		return
	done
}

# The rates that a reader says each second, without the first and the last, in thousands.
rates_in() {
	sed -n 's/.* rate \([0-9.]*\) kS\/s.*/\1/p' "$1" | sed '1d;$d'
}

rate_cyclone() {
	local n

	free_ports
	for ((n = 1; n <= $2; n++)); do
		cyclone "$1" "$n" "$work/sub.$n" sub waitset
	done
	cyclone "$1" 0 "$work/pub" -Qminmatch:"$2" -Qinitwait:10 pub size "$bytes"
	await_all
	for ((n = 1; n <= $2; n++)); do
		rates_in "$work/sub.$n" | jq -s 'if length == 0 then error("no rate") else sort | .[length / 2 | floor] * 1000 end' || {
			tail -n 3 "$work/sub.$n" "$work/pub" >&2
			return 1
		}
	done | jq -c -s '{samples_per_s: (add / length)}'
}

# ddsperf says half of a round trip.
latency_cyclone() {
	free_ports
	cyclone "$1" 1 "$work/pong" pong "$2"
	cyclone "$1" 0 "$work/ping" ping ${rate}Hz size "$bytes" "$2"
	await_all
	sed -n 's/.* 50% \([0-9.]*\)us .* 99% \([0-9.]*\)us .*/{"p50": \1, "p99": \2}/p' "$work/ping" |
		jq -c -s 'if length == 0 then error("no latency") else {latency_us: {p50: (map(.p50) | sort | .[length / 2 | floor]),
			p99: (map(.p99) | sort | .[length / 2 | floor])}} end'
}

latency_iceoryx() {
	local n status=0

	serve "$work/roudi" iox-roudi
	for ((n = 0; n < 100; n++)); do ! grep -q 'ready for clients' "$work/roudi" || break; sleep 0.1; done
	timeout 60 "$build/bench/peers/peer-iceoryx" "$bytes" $rate "$seconds" 2>"$work/log" | grep '^{' || status=$?
	stop_all
	return $status
}

# ---- runs ---------------------------------------------------------------------------------------------------------------

# run_once ROUND WHAT SYSTEM HOW... : appends a line to results.json. Fails if the run did.
run_once() {
	local others line

	others=$(await_calm "$calm")
	if ! line=$("$2_$3" "${@:4}" 2>"$work/errors"); then
		tell_failure "$2 of $3, ${*:4}, round $1" "$work/errors"
		stop_all
		return 1
	fi
	jq -c --argjson round "$1" --arg what "$2" --arg system "$3" --arg work "${*:4}" --argjson busy "$others" --argjson bytes "$bytes" \
		'{round: $round, what: $what, system: $system, work: $work, bytes: $bytes, busy_before: $busy} + .' <<<"$line" >>"$out/results.json"
	jq -r --arg name "$2 of $3, ${*:4}" '"   \($name): \(if .samples_per_s then "\(.samples_per_s | round)/s" else "p50 \(.latency_us.p50) us" end)"' \
		<<<"$line" >&2
}

rounds_of_all() {
	local round before one system what count

	before=$(jq -s 'map(.round) | max // 0' "$out/results.json")
	for ((round = before + 1; round <= before + rounds; round++)); do
		say "round $round of $((before + rounds))"
		for one in $works; do
			IFS=: read -r what count <<<"$one"
			for system in $(turned "$round" 'whorl cyclone'); do
				twice run_once "$round" rate "$system" "$what" "$count"
			done
		done
		for one in $raw; do
			IFS=: read -r what count <<<"$one"
			twice run_once "$round" fraction whorl "$what" "$count"
		done
		[ "$latency" = yes ] || continue
		for system in $(turned "$round" 'whorl:waitset whorl:in-place cyclone:waitset iceoryx:waitset'); do
			[ "$system" != iceoryx:waitset ] || [ $with_iceoryx = yes ] || continue
			twice run_once "$round" latency "${system%:*}" shm "${system#*:}"
		done
	done
}

with_iceoryx=yes
if [ ! -x "$build/bench/peers/peer-iceoryx" ] || [ -z "$(type -P iox-roudi)" ]; then
	with_iceoryx=no
	say "iceoryx is not there: it is left out"
fi
begin_results results
rounds_of_all
jq -r -s -f "$here/dds.jq" "$out/results.json" | tee "$out/table.md"
end_of_runs dds "$out/results.json"
