#!/usr/bin/env bash
# hosts.sh NODES COMMAND [ARGUMENT]... - the command where there are so many hosts besides, as tests/network/hosts.sh makes them: host N
# has the address 10.22.N.2 and the namespace /run/netns/hN.

# shellcheck source=tests/network/hosts.sh
source "$(dirname "$(readlink -f "$0")")/../network/hosts.sh"

enter_network "$0" "$@"
make_network "$1"
"${@:2}"
