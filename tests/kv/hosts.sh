#!/usr/bin/env bash
# hosts.sh NODES COMMAND [ARGUMENT]... - the command where there are so many hosts besides, as tests/network/hosts.sh makes them: host N
# has the namespace /run/netns/hN, the address 10.22.N.2 for its peers, and on a cable of its own 10.23.N.2 for clients.

# shellcheck source=tests/network/hosts.sh
source "$(dirname "$(readlink -f "$0")")/../network/hosts.sh"

enter_network "$0" "$@"
make_network "$1"
for ((host = 0; host < $1; host++)); do
	ip link add "c$host" type veth peer name eth1 netns "h$host"
	ip addr add "10.23.$host.1/24" dev "c$host"
	ip link set "c$host" up
	on "$host" ip addr add "10.23.$host.2/24" dev eth1
	on "$host" ip link set eth1 up
done
"${@:2}"
