#!/usr/bin/env bash
# rate.sh BUILD [BYTES [SECONDS [ROUNDS]]] - samples a second between two processes of Cyclone DDS, and through the bridge both ways, in turns.

set -euo pipefail

build=$1 bytes=${2:-128} seconds=${3:-4} rounds=${4:-3}
rtps=$build/bench/bridge/bridge-rate-rtps whorl=$build/bench/bridge/bridge-rate-whorl
export DOMAIN=$(($$ % 220 + 5))
export CYCLONEDDS_URI=${CYCLONEDDS_URI-'<General><Interfaces><NetworkInterface name="lo" multicast="true"/></Interfaces></General>'}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

measure() { # NAME FROM TO
	"$3" sub "$seconds" >"$dir/out" &
	local reader=$!
	sleep 1
	"$2" pub "$bytes" "$seconds"
	wait $reader
	printf '%-24s %s\n' "$1" "$(cat "$dir/out")"
}

printf '%s bytes, %s s each\n' "$bytes" "$seconds"
for _ in $(seq "$rounds"); do
	measure "Cyclone to Cyclone" "$rtps" "$rtps"
	"$build/whorl-dds-bridge" --domain "$DOMAIN" >"$dir/bridge" &
	bridge=$!
	measure "Cyclone to whorl" "$rtps" "$whorl"
	measure "whorl to Cyclone" "$whorl" "$rtps"
	kill -TERM $bridge
	wait $bridge
done
