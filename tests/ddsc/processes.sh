#!/usr/bin/env bash
# processes.sh PEER - programs for Cyclone DDS on topics: started in either order, killed, and again.

set -euo pipefail

# shellcheck source=tests/patience.sh
. "$(dirname "$(readlink -f "$0")")/../patience.sh"
peer=$1
seconds=$(($(patience 60000) / 1000))
export WHORL_DDS_DOMAIN=$((20000 + $$ % 40000))
out=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$out"' EXIT

die() { printf 'processes: %s\n' "$*" >&2; tail -n 5 "$out"/* >&2; exit 1; }
peer() { timeout -k 1 "$seconds" "$peer" "$@"; }
expect() { grep -q "$2" "$out/$1" || die "$1 does not say: $2"; }
begun() { # NAME TEXT: waits until it says so
	for _ in $(seq $((seconds * 20))); do
		! grep -q "$2" "$out/$1" || return 0
		sleep 0.05
	done
	die "$1 never says: $2"
}

# The one that reads first, and the one that writes first.
peer sub 3000 >"$out/sub1" & sub=$!
begun sub1 reads
peer pub 3000 >"$out/pub1" || die "the publisher fails"
wait "$sub" || die "the subscriber fails"
expect sub1 "received 3000"
peer pub 3000 >"$out/pub2" & pub=$!
peer sub 3000 >"$out/sub2" || die "the second subscriber fails"
wait "$pub" || die "the second publisher fails"
expect pub2 "published 3000"

# One that reads is killed, and another one gets all.
"$peer" sub 1000000000 >"$out/sub3" & sub=$!
begun sub3 reads
"$peer" pub 1000000000 >"$out/pub3" 2>&1 & pub=$!
sleep 0.3
kill -9 "$sub"
wait "$sub" 2>/dev/null || true
kill -9 "$pub" # and so is one that writes
wait "$pub" 2>/dev/null || true
peer sub 3000 >"$out/sub4" & sub=$!
begun sub4 reads
peer pub 3000 >"$out/pub4" || die "the publisher fails, after others were killed"
wait "$sub" || die "the subscriber fails, after others were killed"

# There and back; what has answered sees the end of an instance.
peer pong >"$out/pong" & pong=$!
peer ping 500 >"$out/ping" || die "ping fails"
expect ping "500 came back"
peer topics >"$out/topics" || die "no topic is seen"
expect topics "topic [a-z]* peer::letter"
peer quit || die "quit fails"
wait "$pong" || die "pong fails"
expect pong "answered some"

# TRANSIENT_LOCAL of a writer and a reader, and not of their topic: what was written before is there; also if others had the topic before them, which
# ask for nothing.
for first in nobody somebody; do
	holds=
	if [ "$first" = somebody ]; then
		"$peer" hold >"$out/hold" & holds=$!
		begun hold holds
	fi
	"$peer" keep 20 >"$out/keep-$first" & keeps=$!
	begun "keep-$first" kept
	peer late 20 >"$out/late-$first" || die "a late reader fails, $first before it"
	expect "late-$first" "found 20"
	kill -9 $keeps $holds
	wait $keeps $holds 2>/dev/null || true
done
