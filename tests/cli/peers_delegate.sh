#!/usr/bin/env bash
# peers_delegate.sh BUILD DELEGATE.SH - `./run peers --delegate`, once and shortly: each system that is there makes its calls, in turn, and what is
# written of them is whole. How long a call takes is not looked at.

set -euo pipefail
build=$1
command=$2

[ -n "$(type -P jq)" ] || { echo "skipped: there is no jq"; exit 77; }
[ -x "$build/bench/peers/peer-tirpc" ] || { echo "skipped: it was built without libtirpc-dev"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export TMPDIR=$dir/tmp
mkdir "$TMPDIR"

fail() {
	echo "$*"
	cat "$dir/said" "$dir/out/results.json" 2>/dev/null || true
	exit 1
}

systems='whorl-tcp whorl-shm bare tirpc tirpc-polling'
lines=7
! [ -x "$build/bench/peers/peer-grpc" ] || systems+=' grpc grpc-polling' lines=11

# A turn is some milliseconds long: where others have the processors, a system may not get to make one call in it. Then all is run again.
complete() {
	jq -e -s 'all(.round == 1 and .bytes == 40 and (.calls_per_s > 0) == (.system != "bare") and .latency_us.p50 > 0 and .busy_before >= 0)' \
		"$dir/out/results.json" >/dev/null
}
for try in 1 2 3 4; do
	rm -rf "$dir/out"
	"$command" "$build" --rounds 1 --seconds 0.1 --systems "$systems" --outstanding '1 3' --bytes 40 --out "$dir/out" >"$dir/table" 2>"$dir/said" ||
		fail "it has failed"
	[ "$(wc -l <"$dir/out/results.json")" -eq $lines ] || fail "expected $lines lines"
	! complete || break
	[ $try -lt 4 ] || fail "a figure is missing"
done
jq -e -s 'all(.[] | select(.system | test("rpc")); .latency_us.p99 >= .latency_us.p50 and .calls > 0)' "$dir/out/results.json" >/dev/null ||
	fail "a figure of the others is missing"
jq -e -s 'map(select(.system == "tirpc")) | length == 1 and .[0].outstanding == 1' "$dir/out/results.json" >/dev/null || fail "ONC RPC has one call"
for system in $systems; do
	grep -q "^| 1 | $system | [0-9.]* [um]s | " "$dir/table" || fail "the table has no line of $system: $(cat "$dir/table")"
done
grep -qE '^\| 1 \| tirpc \|.*\| [0-9.]+ \| 0.33 \|$' "$dir/table" || fail "it is not compared: $(cat "$dir/table")"

# again to the same results, and the table alone
"$command" "$build" --rounds 1 --seconds 0.1 --systems tirpc --outstanding 1 --add --out "$dir/out" >"$dir/table" 2>"$dir/said" || fail "it has failed"
[ "$(wc -l <"$dir/out/results.json")" -eq $((lines + 1)) ] || fail "--add has not added"
"$command" "$build" --table --out "$dir/out" >"$dir/again" 2>"$dir/said" || fail "it has failed"
cmp "$dir/table" "$dir/again" || fail "the table alone is another"

# what is wrong is said, and no figures come of it
status=0
"$command" "$build" --systems nobody --out "$dir/none" >"$dir/table" 2>"$dir/said" || status=$?
if [ $status -ne 2 ] || ! grep -q 'there is no system nobody' "$dir/said"; then fail "status $status of a system that there is not"; fi
status=0
"$build/bench/peers/peer-tirpc" 0 1 2>"$dir/said" || status=$?
if [ $status -ne 2 ] || ! grep -q '"0": expected a number from 1 to 65536' "$dir/said"; then fail "status $status of no bytes"; fi
[ -z "$(ls -A "$TMPDIR")" ] || fail "left behind: $(ls -A "$TMPDIR")"
