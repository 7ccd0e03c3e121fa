#!/usr/bin/env bash
# kv.sh - runs key-value servers on the same work, in turn, and makes the tables of docs/peers.md. `./run peers --kv` installs and builds
# what it needs, and calls it.
#
# In each round each kind of work is given to each system. A system runs while it is measured, and no longer: those that only wait
# have heartbeats. All of it is on 127.0.0.1, with data in memory. Then a replica is killed under load. With --durable data are on a disk,
# and a put that is answered is on those of all replicas, or of a majority.

set -euo pipefail
# shellcheck source=bench/peers/common.sh
source "$(dirname "$(readlink -f "$0")")/common.sh"
# shellcheck source=tests/patience.sh
source "$here/../../tests/patience.sh"

usage() {
	cat <<-'END'
	usage: ./run peers --kv [OPTION]...

	  --rounds N          of all (5)
	  --seconds S         of each run (1.5)
	  --durable           puts are on disk: redis syncs its log for each, whorl-kv is durable; tables of their own
	  --disk DIR          where, with --durable (/var/tmp; not a tmpfs)
	  --systems "A B"     of: redis redis-wait etcd whorl-shm whorl-tcp (--durable: without redis alone)
	  --works "W W"       WORK:CONNECTIONS or WORK:CONNECTIONSxPIPELINE; WORK is put, get, or local: a get that may be late
	  --recoveries N      how often a replica of each is killed (5; --durable: 0)
	  --bytes N           of a value (128)
	  --keys N            (10000)
	  --spread yes|no     connections to all replicas of whorl and etcd in turn, or to the leader (yes)
	  --out DIR           for results.json, recoveries.json and table.md (build/peers/kv; --durable: kv-durable)
	  --calm S            waits before each run until nothing else is busy, at most so many seconds (0)
	  --add               to what is in DIR
	  --table             makes the table of what is in DIR, and runs nothing
	  --publish           puts the table into docs/peers.md
	END
}

rounds=5
seconds=1.5
recoveries=5
bytes=128
keys=10000
spread=yes
calm=0
systems='redis redis-wait etcd whorl-shm whorl-tcp'
works='put:1 put:16 put:64 put:64x16 get:1 get:16 get:64 get:64x16 local:1 local:16 local:64 local:64x16'
table='rounds recoveries'
build=$1
disk=/var/tmp
name=kv # of the results
shift
arguments=()
for argument in "$@"; do
	if [ "$argument" = --durable ]; then
		name=kv-durable
	else
		arguments+=("$argument")
	fi
done
out=$build/peers/$name
if [ $name = kv-durable ]; then
	systems='redis-wait etcd whorl-shm whorl-tcp'
	works='put:1 put:64 put:64x16'
	recoveries=0
fi
read_options 'rounds seconds systems works recoveries bytes keys spread out calm disk' "${arguments[@]}"

is_durable() { [ $name = kv-durable ]; }

load=$build/bench/peers/kv-load
whorl_kv=$build/examples/whorl-kv
is_durable || disk=/dev/shm
work=$(mktemp -d "$disk/whorl-kv.XXXXXX")
pids=()    # of the servers that run
group=kv-$$
ports=()   # to which clients connect
options=() # of kv-load for this system
next_port=$((20000 + RANDOM % 10000))

stop_servers() {
	local pid end

	for pid in "${pids[@]}"; do
		kill "$pid" 2>/dev/null || true
	done
	end=$((SECONDS + $(patience 5000) / 1000))
	for pid in "${pids[@]}"; do
		while kill -0 "$pid" 2>/dev/null && [ $SECONDS -lt $end ]; do
			sleep 0.01
		done
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	pids=()
	rm -rf "$work/data"
}

tidy() {
	stop_servers
	rm -rf "$work"
}
trap tidy EXIT
trap 'exit 130' INT TERM

# serve COMMAND...: starts a server, which ends with this script at the latest
serve() {
	setpriv --pdeathsig KILL "$@" </dev/null >>"$work/log" 2>&1 &
	pids+=($!)
}

# free_port: sets port
free_port() {
	while :; do
		port=$next_port
		next_port=$((next_port < 30000 ? next_port + 1 : 20000))
		! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || continue
		return
	done
}

joined() {
	local IFS=,
	echo "$*"
}

# ---- the systems --------------------------------------------------------------------------------------------------------
# start_SYSTEM starts its servers: pids, ports, options.

start_redis() {
	local directory=$work/data/redis-${#pids[@]}

	mkdir -p "$directory"
	free_port
	serve redis-server --port "$port" --bind 127.0.0.1 --save '' --appendonly "$(is_durable && echo yes || echo no)" \
		--appendfsync always --dir "$directory" --repl-diskless-sync-delay 0 "$@"
	[ $# -gt 0 ] || ports=("$port")
}

start_redis-wait() {
	start_redis
	start_redis --replicaof 127.0.0.1 "${ports[0]}"
	start_redis --replicaof 127.0.0.1 "${ports[0]}"
	options=(--wait 2)
}

start_etcd() {
	local n all='' peer=()

	for n in 0 1 2; do
		free_port
		peer+=("http://127.0.0.1:$port")
		all+=${all:+,}n$n=${peer[n]}
		free_port
		ports+=("$port")
	done
	for n in 0 1 2; do
		serve etcd --name n$n --data-dir "$work/data/etcd-$n" --logger zap --log-level error \
			--listen-client-urls "http://127.0.0.1:${ports[n]}" --advertise-client-urls "http://127.0.0.1:${ports[n]}" \
			--listen-peer-urls "${peer[n]}" --initial-advertise-peer-urls "${peer[n]}" \
			--initial-cluster "$all" --initial-cluster-state new --initial-cluster-token "$work"
	done
	options=(--etcd)
}

# start_whorl TRANSPORT
start_whorl() {
	local n file=kv3.ini disk=()

	if is_durable; then
		file=kv3-durable.ini disk=(--set "group.log_dir=$work/data")
		mkdir -p "$work/data"
	fi
	for n in 0 1 2; do
		free_port
		ports+=("$port")
		serve "$whorl_kv" "$here/../../conf/$file" --set "group.name=$group" --set "group.transport=$1" "${disk[@]}" \
			--id $n --listen "$port"
	done
}

start_whorl-shm() { start_whorl shm; }
start_whorl-tcp() { start_whorl tcp; }

# Not every system does every work: without copies of the state, or without an order, some are the same.
does() { # SYSTEM WORK PIPELINE
	case $1:$2:$3 in
	redis-wait:put:* | redis:put:* | redis:get:* | whorl-*) ;;
	etcd:*:1) ;;
	*) return 1 ;;
	esac
}

all_run() {
	local pid

	for pid in "${pids[@]}"; do
		kill -0 "$pid" 2>/dev/null || return
	done
}

# In its first second or so with new replicas redis may leave a WAIT unanswered for 0.7 to 1 s, once. That is the start's, and is not measured.
settle() {
	"$load" put --ports "$(joined "${ports[@]:0:1}")" "${options[@]}" --seconds 2.5 >/dev/null 2>>"$work/log"
}

# start SYSTEM: starts it, and waits until all its replicas serve.
start() {
	local end

	: >"$work/log"
	pids=() ports=() options=()
	"start_$1"
	end=$((SECONDS + $(patience 20000) / 1000))
	until "$load" fill --ports "$(joined "${ports[@]}")" "${options[@]}" --connections ${#ports[@]} --keys ${#ports[@]} --retry \
		--seconds 5 >/dev/null 2>>"$work/log"; do
		if [ $SECONDS -ge $end ] || ! all_run; then
			echo "$1 does not serve" >>"$work/log"
			return 1
		fi
	done
	[ "$1" != redis-wait ] || settle
}

# ---- what is measured ----------------------------------------------------------------------------------------------------

# measure SYSTEM WORK CONNECTIONS PIPELINE: prints its figures. The system has been started.
measure() {
	local what="$2" at=("${ports[@]}")

	[ "$spread" = yes ] || at=("${ports[$(leader_of "$1")]}")
	if [ "$2" != put ]; then
		what="get"
		"$load" fill --ports "$(joined "${at[@]}")" "${options[@]}" --bytes "$bytes" --keys "$keys" --connections 64 \
			--pipeline "$([ "$1" = etcd ] && echo 1 || echo 16)" --seconds 30 >/dev/null || return
	fi
	[ "$2" != local ] || options+=(--local)
	"$load" "$what" --ports "$(joined "${at[@]}")" "${options[@]}" --bytes "$bytes" --keys "$keys" --connections "$3" --pipeline "$4" \
		--pids "$(joined "${pids[@]}")" --warm 0.3 --seconds "$seconds"
}

# run_once ROUND SYSTEM WORK CONNECTIONS PIPELINE: appends a line to results.json. Fails if the run did.
run_once() {
	local others line status=0

	others=$(await_calm "$calm")
	{ start "$2" && measure "${@:2}" >"$work/line" 2>>"$work/log"; } || status=$?
	stop_servers
	if [ $status -ne 0 ]; then
		tell_failure "$2, $3, $4 connections, $5 pipelined, round $1" "$work/log"
		return 1
	fi
	line=$(<"$work/line")
	printf '{"round":%d,"system":"%s","work":"%s","busy_before":%s,%s\n' "$1" "$2" "$3" "$others" "${line#\{}" >>"$out/results.json"
	jq -r --arg name "$2, $3" '"   \($name), \(.connections) connections, \(.pipeline) pipelined: \(.operations_per_s | round)/s, p50 \(.latency_us.p50) us"' \
		"$work/line" >&2
}

rounds_of_all() {
	local round one what connections pipeline system before

	before=$(jq -s 'map(.round) | max // 0' "$out/results.json")
	for ((round = before + 1; round <= before + rounds; round++)); do
		say "round $round of $((before + rounds))"
		for one in $works; do
			IFS=:x read -r what connections pipeline <<<"$one"
			for system in $(turned "$round" "$systems"); do
				does "$system" "$what" "${pipeline:-1}" || continue
				twice run_once "$round" "$system" "$what" "$connections" "${pipeline:-1}"
			done
		done
	done
}

# ---- recovery --------------------------------------------------------------------------------------------------------------

# etcd_is_leader PORT
etcd_is_leader() {
	local reply

	exec 3<>"/dev/tcp/127.0.0.1/$1" || return
	printf 'POST /v3/maintenance/status HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}' >&3
	reply=$(timeout 5 sed '1,/^\r$/d' <&3)
	exec 3>&-
	jq -e '.leader == .header.member_id' <<<"$reply" >/dev/null
}

# leader_of SYSTEM: the index of its leader: of whorl, the lowest rank
leader_of() {
	local n

	[ "$1" = etcd ] || {
		echo 0
		return
	}
	for n in 0 1 2; do
		if etcd_is_leader "${ports[n]}"; then
			echo $n
			return
		fi
	done
	echo "no member of etcd says that it leads" >>"$work/log"
	return 1
}

# When each stage of the change of view was reached at a node, as whorl tells it.
stages() { # SYSTEM NODE
	case $1 in
	whorl-*) "$build/whorl" status --json --node "$2" "$group" 2>>"$work/log" |
		jq -c 'first(.. | objects | select(has("change_ns"))) as $at | {change_ns: $at.change_ns, failure_timeout_ms: (.failure_timeout_ms // null)}' ;;
	*) echo '{}' ;;
	esac
}

# kill_one SYSTEM leader|other: prints the figures of a client of a survivor
kill_one() {
	local leader victim survivor client status=0

	leader=$(leader_of "$1") || return
	victim=$leader
	[ "$2" = leader ] || victim=$(((leader + 1) % 3))
	survivor=$(((leader + 2) % 3))
	"$load" put --ports "${ports[survivor]}" "${options[@]}" --retry --give-up 0.2 --bytes "$bytes" --keys "$keys" --warm 0.3 \
		--seconds 8 &
	client=$!
	sleep 1.5 # so long it is under load
	kill -KILL "${pids[victim]}"
	wait "${pids[victim]}" 2>/dev/null || true
	wait $client || status=$?
	stages "$1" $survivor >"$work/stages" || return
	return $status
}

# recover_once ROUND SYSTEM leader|other: appends a line to recoveries.json.
recover_once() {
	local others line status=0 more

	others=$(await_calm "$calm")
	{ start "$2" && kill_one "${@:2}" >"$work/line" 2>>"$work/log"; } || status=$?
	stop_servers
	if [ $status -ne 0 ]; then
		tell_failure "recovery of $2, $3 killed, round $1" "$work/log"
		return 1
	fi
	line=$(<"$work/line") more=$(<"$work/stages")
	jq -c --argjson more "$more" --arg system "$2" --arg killed "$3" --argjson round "$1" --argjson busy "$others" \
		'{round: $round, system: $system, killed: $killed, busy_before: $busy} + . + $more' <<<"$line" >>"$out/recoveries.json"
	jq -r --arg name "$2, $3 killed" '"   \($name): no put was acknowledged for \(.gap_ms) ms, \(.errors) errors"' <<<"$line" >&2
}

recoveries_of_all() {
	local round system killed before

	before=$(jq -s 'map(.round) | max // 0' "$out/recoveries.json")
	for ((round = before + 1; round <= before + recoveries; round++)); do
		say "recovery $round of $((before + recoveries))"
		for system in $(turned "$round" "$systems"); do
			[[ $system != redis* ]] || continue # nothing takes the place of the one that is killed
			for killed in leader other; do
				twice recover_once "$round" "$system" "$killed"
			done
		done
	done
}

begin_results results recoveries
rounds_of_all
recoveries_of_all
jq -r -n --arg name $name --slurpfile runs "$out/results.json" --slurpfile recoveries "$out/recoveries.json" -f "$here/kv.jq" | tee "$out/table.md"
end_of_runs $name "$out/results.json, $out/recoveries.json"
