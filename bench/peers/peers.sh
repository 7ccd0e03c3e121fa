#!/usr/bin/env bash
# peers.sh - runs whorl and the systems that it is compared to on the same work, in turn, and makes the table of docs/peers.md.
# `./run peers` installs and builds what it needs, and calls it.
#
# Three nodes, each in a network namespace of its own. In each round every system is run with each size of message: `stream`, all
# nodes send as fast as they can, and `low`, one node sends a message a millisecond. Medians are over the rounds.

set -euo pipefail
# shellcheck source=bench/peers/common.sh
source "$(dirname "$(readlink -f "$0")")/common.sh"

usage() {
	cat <<-'END'
	usage: ./run peers [OPTION]...
	       ./run peers --kv [OPTION]...       key-value servers: its --help has its options
	       ./run peers --dds [OPTION]...      topics: the same
	       ./run peers --delegate [OPTION]... delegation: the same

	  --rounds N          of all (5)
	  --seconds S         of each run (1.5)
	  --systems "A B"     of: whorl whorl-fifo corosync cyclone zeromq mpi mpi-each whorl-shm
	  --sizes "N N"       of messages, in bytes: of 128 1024 10240
	  --out DIR           for results.json and table.md (build/peers)
	  --calm S            waits before each run until nothing else is busy, at most so many seconds (0)
	  --add               to the rounds that results.json has
	  --publish           puts the table into docs/peers.md
	END
}

nodes=3
rounds=5
seconds=1.5
calm=0
systems='whorl whorl-fifo corosync cyclone zeromq mpi mpi-each'
sizes='128 1024 10240'
gap_us=1000
build=$1
out=$build/peers
shift
read_options 'rounds seconds calm systems sizes out' "$@"

programs=$build/bench/peers
work=$(mktemp -d /dev/shm/whorl-peers.XXXXXX) # the board is shared memory
children=()
daemons=()

address() { printf '10.77.23.%d' $(($1 + 1)); }

tidy() {
	local child

	for child in "${children[@]}" "${daemons[@]}"; do
		kill "$child" 2>/dev/null || true
	done
	wait
	"$here/net.sh" down
	rm -rf "$work"
}
trap tidy EXIT
trap 'exit 130' INT TERM

# at NODE COMMAND...: starts it there
at() {
	timeout 100 "$here/net.sh" in "$@" >>"$work/log" 2>&1 &
	children+=($!)
}

everywhere() {
	local n

	for ((n = 0; n < nodes; n++)); do
		at $n "$1" "$work/board" $n "${@:2}"
	done
}

# ---- the systems: how each is configured -----------------------------------------------------------------------------------
# start_SYSTEM BYTES GAP_US starts its nodes; order_of says what it promises.

order_of() {
	case $1 in
	whorl | whorl-shm | corosync | mpi*) echo total ;;
	*) echo fifo ;;
	esac
}

whorl_ini() {
	local n

	cat <<-END
	[group]
	name = peers
	nodes = $nodes
	transport = tcp
	${3:+key_file = $3}
	[subgroup peers]
	message_bytes = $1
	window = $((524288 / $1))
	END
	[ "$2" = shm ] || for ((n = 0; n < nodes; n++)); do
		printf '[node %d]\naddress = %s:23100\n' $n "$(address $n)"
	done
}

start_whorl() {
	whorl_ini "$1" tcp "$work/key" >"$work/whorl.ini"
	everywhere "$programs/peer-whorl" "$work/whorl.ini" engine.thread=caller
}

start_whorl-fifo() {
	whorl_ini "$1" tcp "$work/key" >"$work/whorl.ini"
	everywhere "$programs/peer-whorl" "$work/whorl.ini" engine.thread=caller "subgroup peers.mode=unordered"
}

# Beside the comparison: the same nodes on one host without a network, where the rings are shared memory.
start_whorl-shm() {
	local n

	whorl_ini "$1" shm >"$work/whorl.ini"
	for ((n = 0; n < nodes; n++)); do
		timeout 100 "$programs/peer-whorl" "$work/board" $n "$work/whorl.ini" engine.thread=caller \
			group.transport=shm >>"$work/log" 2>&1 &
		children+=($!)
	done
}

corosync_conf() {
	local n

	cat <<-END
	totem {
		version: 2
		cluster_name: peers
		transport: knet
		crypto_cipher: none
		crypto_hash: none
	}
	system {
		state_dir: $1
		sched_rr: no
		move_to_root_cgroup: no
	}
	logging {
		to_stderr: no
		to_syslog: no
		to_logfile: yes
		logfile: $1/log
	}
	nodelist {
	END
	for ((n = 0; n < nodes; n++)); do
		printf 'node {\nring0_addr: %s\nname: node-%d\nnodeid: %d\n}\n' "$(address $n)" $n $((n + 1))
	done
	printf '}\n'
}

# A daemon for each namespace. They share nothing: their sockets are the namespace's, and /run is a mount of their own.
start_corosync() {
	local n directory

	for ((n = 0; n < nodes; n++)); do
		directory=$work/corosync-$n
		rm -rf "$directory"
		mkdir -p "$directory"
		corosync_conf "$directory" >"$directory/conf"
		timeout 100 "$here/net.sh" in $n sh -c \
			"mount -t tmpfs tmpfs /run && echo \$\$ >'$directory/pid' && exec corosync -f -c '$directory/conf'" >>"$work/log" 2>&1 &
		daemons+=($!)
	done
	for ((n = 0; n < nodes; n++)); do
		at $n "$programs/peer-corosync" "$work/board" $n "$work/corosync-$n/pid"
	done
}

start_cyclone() {
	export CYCLONEDDS_URI="<General>
		<Interfaces><NetworkInterface name='eth0' multicast='true'/></Interfaces>
		<AllowMulticast>true</AllowMulticast>
		<MaxMessageSize>65500B</MaxMessageSize><FragmentSize>65000B</FragmentSize>
	</General><Internal><SocketReceiveBufferSize min='4MB'/></Internal>"
	everywhere "$programs/peer-cyclone"
}

start_zeromq() {
	local n all=()

	for ((n = 0; n < nodes; n++)); do
		all+=("$(address $n):23001")
	done
	everywhere "$programs/peer-zeromq" "${all[@]}"
}

# start_mpirun BATCH_BYTES: mpirun starts the ranks, through the namespaces as if they were hosts
start_mpirun() {
	local n hosts=''

	for ((n = 0; n < nodes; n++)); do
		hosts+=${hosts:+,}$(address $n):1
	done
	timeout 100 mpirun --allow-run-as-root -n $nodes --host "$hosts" --mca plm_rsh_agent "$here/net.sh rsh" \
		--mca oob_tcp_if_include 10.77.23.0/24 --mca btl_tcp_if_include 10.77.23.0/24 --mca pml ob1 --mca btl tcp,self \
		--mca mpi_yield_when_idle 1 "$programs/peer-mpi" "$work/board" "$1" </dev/null >>"$work/log" 2>&1 &
	children+=($!)
}

start_mpi() { start_mpirun 262144; }
start_mpi-each() { start_mpirun 1; }

# ---- runs ---------------------------------------------------------------------------------------------------------------------

stop_daemons() {
	local daemon

	for daemon in "${daemons[@]}"; do
		kill "$daemon" 2>/dev/null || true
	done
	for daemon in "${daemons[@]}"; do
		wait "$daemon" || true
	done
	daemons=()
}

# Waits for the collector; a node that fails before ends the run.
finished() {
	local collector=$1 pid='' status=0

	while [ "$pid" != "$collector" ]; do
		status=0
		wait -n -p pid "${children[@]}" || status=$?
		[ $status -eq 0 ] || break
	done
	return $status
}

# run_once ROUND SYSTEM BYTES stream|low: appends a line to results.json. Fails if the run did.
run_once() {
	local round=$1 system=$2 bytes=$3 senders=$nodes gap=0 collector child line='' status=0 others
	[ "$4" = stream ] || senders=1 gap=$gap_us

	rm -f "$work/board"
	: >"$work/log"
	others=$(await_calm "$calm")
	"$programs/peers-collect" "$work/board" "$system" $nodes $senders "$bytes" $gap \
		"$(awk "BEGIN { print int($seconds * 1000) }")" "$(order_of "$system")" >"$work/line" 2>>"$work/log" &
	collector=$!
	children=("$collector")
	while [ ! -e "$work/board" ]; do
		sleep 0.01
	done
	"start_$system" "$bytes" $gap
	finished "$collector" || status=$?
	if [ $status -ne 0 ]; then
		for child in "${children[@]}"; do
			kill "$child" 2>/dev/null || true
		done
	fi
	for child in "${children[@]}"; do
		wait "$child" 2>/dev/null || true
	done
	children=()
	stop_daemons
	if [ $status -ne 0 ]; then
		tell_failure "$system, $bytes bytes, $4, round $round" "$work/log"
		return 1
	fi
	line=$(<"$work/line")
	printf '{"round":%d,"work":"%s","busy_before":%s,%s\n' "$round" "$4" "$others" "${line#\{}" >>"$out/results.json"
	jq -r --arg work "$4" '"   \(.system), \(.bytes) bytes, \($work): \(.messages_per_s | round)/s, p50 \(.latency_us.p50) us"' \
		"$work/line" >&2
}

rounds_of_all() {
	local round bytes system what before

	before=$(jq -s 'map(.round) | max // 0' "$out/results.json")
	for ((round = before + 1; round <= before + rounds; round++)); do
		say "round $round of $((before + rounds))"
		for bytes in $sizes; do
			for system in $(turned "$round" "$systems"); do
				for what in stream low; do
					twice run_once "$round" "$system" "$bytes" $what
				done
			done
		done
	done
}

begin_results results
(umask 077 && head -c 32 /dev/urandom >"$work/key")
"$here/net.sh" up $nodes
rounds_of_all
jq -r -s -f "$here/table.jq" "$out/results.json" | tee "$out/table.md"
end_of_runs table "$out/results.json"
