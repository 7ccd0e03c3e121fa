#!/usr/bin/env bash
# net.sh - the network of bench/peers: a bridge, and a network namespace for each node, tied to it by a pair of virtual interfaces.
#
#     net.sh up NODES | net.sh down
#     net.sh in NODE COMMAND...        runs the command at a node
#     net.sh rsh ADDRESS COMMAND...    the same, as mpirun wants it: the words are a shell's, and the host has a name of its own
#
# Node k has 10.77.23.(k+1). The MTU is as large as it can be, so that systems that send datagrams need as few as those that
# have TCP, of which the interfaces do not cut the segments. PEERS_MTU sets another.

set -euo pipefail

net=${PEERS_NET:-bench-peers}
prefix=10.77.23
mtu=${PEERS_MTU:-65535}

up() {
	local nodes=$1 n

	down
	ip link add "$net" type bridge
	ip link set "$net" mtu "$mtu" up
	ip address add $prefix.254/24 dev "$net" # where mpirun is
	for ((n = 0; n < nodes; n++)); do
		ip netns add "$net-$n"
		ip link add "$net-$n" mtu "$mtu" type veth peer name eth0 mtu "$mtu" netns "$net-$n"
		ip link set "$net-$n" master "$net" up
		ip -n "$net-$n" link set lo up
		ip -n "$net-$n" address add "$prefix.$((n + 1))/24" dev eth0
		ip -n "$net-$n" link set eth0 up
	done
}

# Also after one that was interrupted; what is not there is no mistake.
down() {
	local space

	for space in $(ip netns list | sed -n "s/^\($net-[0-9]*\).*/\1/p"); do
		ip link delete "$space" 2>/dev/null || true # at once, and not some time after its namespace
		ip netns delete "$space"
	done
	ip link delete "$net" 2>/dev/null || true
}

case ${1:-} in
up) up "$2" ;;
down) down ;;
in) exec ip netns exec "$net-$2" "${@:3}" ;;
rsh)
	node=$((${2##*.} - 1))
	exec ip netns exec "$net-$node" unshare --uts sh -c "hostname node-$node; ${*:3}"
	;;
*)
	echo "usage: net.sh up NODES | down | in NODE COMMAND... | rsh ADDRESS COMMAND..." >&2
	exit 2
	;;
esac
