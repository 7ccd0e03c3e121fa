#!/usr/bin/env bash
# ddsperf.sh DDSPERF LIBRARY - Cyclone DDS's own measuring program, as Debian has built it, with libwhorl_ddsc in front of its library.

set -euo pipefail

# shellcheck source=tests/patience.sh
. "$(dirname "$(readlink -f "$0")")/../patience.sh"
ddsperf=$1 library=$2
seconds=$(($(patience 60000) / 1000))
domain=$((20000 + $$ % 40000))
out=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$out"' EXIT

die() { printf 'ddsperf: %s\n' "$*" >&2; tail -n 5 "$out"/* >&2; exit 1; }
run() { LD_PRELOAD=$library timeout -k 1 "$seconds" "$ddsperf" -i "$domain" "$@"; }
# both NAME NAME RUN: two of them at once, the first until the second has ended.
both() {
	local first

	LD_PRELOAD=$library "$ddsperf" -i "$domain" "${@:4:$3}" >"$out/$1" 2>&1 &
	first=$!
	run "${@:4+$3}" >"$out/$2" 2>&1 || die "$2 fails"
	kill "$first"
	wait "$first" || die "$1 fails"
}

both pong ping 1 pong -D 2 ping
grep -q ' mean .* cnt [1-9]' "$out/ping" || die "nothing comes back"
for type in KS K32 OU UK1024; do
	both "sub-$type" "pub-$type" 3 -T "$type" sub -D 2 -T "$type" pub
	grep -q 'total [1-9][0-9]* lost 0 ' "$out/sub-$type" || die "$type: samples are lost, or none came"
done
both sub-large pub-large 1 sub -D 2 pub size 10000
grep -q 'size 10000 total [1-9][0-9]* lost 0 ' "$out/sub-large" || die "samples are lost, or none came"
both sanity2 sanity 1 pong -D 3 sanity
grep -q ' mean ' "$out/sanity" || die "sanity: nothing comes back"
