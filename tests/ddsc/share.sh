#!/usr/bin/env bash
# share.sh NATIVE COMPAT - a native program and one for Cyclone DDS hear each other on one topic of a plain type, whichever has it first.

set -euo pipefail

# shellcheck source=tests/patience.sh
. "$(dirname "$(readlink -f "$0")")/../patience.sh"
native=$1 compat=$2
seconds=$(($(patience 60000) / 1000))
export WHORL_DDS_DOMAIN=$((20000 + $$ % 40000))
out=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$out"' EXIT

die() { printf 'share: %s\n' "$*" >&2; tail -n 5 "$out"/* >&2; exit 1; }
run() { timeout -k 1 "$seconds" "$@"; }
begin() { # NAME COMMAND...: `first` is the process of timeout, which hands on what it is sent
	timeout -k 1 "$seconds" "${@:2}" >"$out/$1" &
	first=$!
}
begun() { # NAME: waits until it has its topic
	for _ in $(seq $((seconds * 20))); do
		! grep -q "is there" "$out/$1" || return 0
		sleep 0.05
	done
	die "$1 has no topic"
}

for how in described bare; do
	begin native "$native" 1 $how
	begun native
	run "$compat" 2 >"$out/compat" || die "a native type that is $how is there first: the other one fails"
	wait $first || die "a native type that is $how is there first: it fails"
	begin compat "$compat" 2
	begun compat
	run "$native" 1 $how >"$out/native" || die "a native type that is $how comes later: it fails"
	wait $first || die "a native type that is $how comes later: the other one fails"
done

# Another type is refused, with the reason.
begin native "$native" 1 other
begun native
! run "$compat" 2 >"$out/compat" || die "two types are taken for one"
grep -q "refused: .*topic points: its type is share::point" "$out/compat" || die "it is not said what differs"
kill "$first"
