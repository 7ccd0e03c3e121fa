#!/usr/bin/env bash
# links.sh BUILD NODES RATE BYTES WINDOW ROUNDS SECONDS [OPTION OF bench]... - one of NODES hosts sends messages of BYTES on tcp to all others, without
# relays and with them (docs/decisions/0074), in turns. A host is a network namespace with a link of RATE (200mbit, 1gbit) either way, by tc's tbf; all
# are tied to a bridge. Prints MB/s at each node, and the sender's median latency. Root only; it leaves nothing behind.

set -euo pipefail

[ $# -ge 7 ] || { sed -n '2,4s/^# //p' "$0"; exit 2; }
if [ "${WHORL_LINKS:-}" != inside ]; then
	WHORL_LINKS=inside exec unshare --net --mount --propagation unchanged --pid --fork --mount-proc --kill-child -- "$0" "$@"
fi
build=$1 nodes=$2 rate=$3 bytes=$4 window=$5 rounds=$6 seconds=$7
shift 7

directory=$(mktemp -d)
mount --make-rprivate / 2>/dev/null || true # not in a chroot
mount -t tmpfs none /run
trap 'rm -rf "$directory"; umount --recursive --lazy /run' EXIT
mkdir /run/netns

# at HOST COMMAND...: there
at() { nsenter --net="/run/netns/h$1" "${@:2}"; }

plug_in() {
	ip netns add "h$1"
	ip link add "h$1" type veth peer name eth0 netns "h$1"
	ip link set "h$1" master switch up
	at "$1" ip link set lo up
	at "$1" ip address add "10.22.0.$(($1 + 1))/24" dev eth0
	at "$1" ip link set eth0 up
	tc qdisc replace dev "h$1" root tbf rate "$rate" burst 256kb limit 4mb
	at "$1" tc qdisc replace dev eth0 root tbf rate "$rate" burst 256kb limit 4mb
}

write_file() {
	local host

	printf '[group]\nname = links\nnodes = %d\ntransport = tcp\nkey_file = %s\nmemory_max = 4g\nfailure_timeout_ms = 5000\n' \
		"$nodes" "$directory/key"
	for ((host = 0; host < nodes; host++)); do
		printf '[node %d]\naddress = 10.22.0.%d:7400\n' "$host" $((host + 1))
	done
	printf '[subgroup all]\nwindow = %d\nmessage_bytes = %d\n' "$window" "$bytes"
	printf '[bench]\nbytes = %d\nsenders = one\nruns = 1\nlimit = off\n' "$bytes"
}

# run RELAY_BYTES MESSAGES [OPTION]...
run() {
	local pids=() host pid

	for ((host = 0; host < nodes; host++)); do
		at "$host" "$build/whorl" bench "$directory/links.ini" --quiet --node "$host" --json "$directory/$host.json" \
			--set "subgroup all.relay_bytes=$1" --set "bench.messages=$2" "${@:3}" >"$directory/$host.txt" 2>&1 &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || { cat "$directory"/*.txt && exit 1; }
	done
	printf 'relay_bytes %d: MB/s' "$1"
	for ((host = 0; host < nodes; host++)); do
		sed -n 's/.*"bytes_per_s":\([0-9]*\).*/\1/p' "$directory/$host.json" | head -n 1 | awk '{ printf " %.1f", $1 / 1e6 }'
	done
	printf ', p50 %s us\n' "$(sed 's/.*"latency_us":{"p50":\([0-9.]*\).*/\1/' "$directory/0.json")"
}

# How much the link carries in that time, all headers left out.
case $rate in
*gbit) mb=$((${rate%gbit} * 119)) ;;
*mbit) mb=$((${rate%mbit} * 119 / 1000)) ;;
*) echo "a rate is so many mbit, or gbit" && exit 2 ;;
esac
messages=$((mb * seconds * 1000000 / bytes))

ip link set lo up
ip link add switch type bridge
ip link set switch up
for ((host = 0; host < nodes; host++)); do
	plug_in "$host"
done
(umask 077 && head -c 32 /dev/urandom | base64 >"$directory/key")
write_file >"$directory/links.ini"
for ((round = 0; round < rounds; round++)); do
	run 0 $((messages / (nodes - 1) + 4)) "$@"
	run 1 $((messages + 4)) "$@"
done
