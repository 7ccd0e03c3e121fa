#!/usr/bin/env bash
# disk.sh WHORL-KV - durable replicas of examples/kv, one of which has a disk that fails, as strace has the system say: it says so and ends
# with status 1, the others answer all that is written, and it comes back.
# shellcheck disable=SC2016 # until_true expands it

set -euo pipefail
command=$1
# shellcheck source=tests/kv/replicas.sh
. "$(dirname "$0")/replicas.sh"
if ! strace -D -f -q -o /dev/null -e trace=fdatasync -e inject=fdatasync:error=EIO:when=1000 true 2>/dev/null; then
	echo "skipped: there is no strace, or no process may be traced here"
	exit 77
fi

configure 3 1
mkdir "$dir/logs"
sed -i -e "/^\[group\]/a log_dir = $dir/logs\ndisk_timeout_ms = 600000" -e '/^\[subgroup kv\]/a mode = durable\nlog_bytes = 12m' "$dir/kv.ini"

start 0
start 1
strace -D -f -q -o "$dir/trace" -e trace=fdatasync -e inject=fdatasync:error=EIO:when=60 \
	"$command" "$dir/kv.ini" --id 2 --listen 0 >"$dir/node2" 2>&1 </dev/null &
pids[2]=$!
ready 0 1 2

(for ((i = 1; i <= 2000; i++)); do echo "incr counter"; done | cli 0 >"$dir/answers" 2>"$dir/said") &
writer=$!
until_true 60 eval "! kill -0 ${pids[2]} 2>/dev/null" || fail "node 2 goes on, though its disk has failed"
ends 2 1
grep -q "^whorl-kv: node 2: this node leaves: cannot sync $dir/logs/2/.*: Input/output error" "$dir/node2" ||
	fail "node 2 does not say why it ends"
wait $writer
[ "$(grep -c . "$dir/answers")" -eq 2000 ] || fail "some writes were not answered: $(tail -n 1 "$dir/answers")"
until_true 20 eval '[ "$(info 0 members)" = 2 ]' || fail "node 2 is a member still"
expect 2000 1 get counter
start 2
ready 2
expect 2000 2 get counter
until_true 20 same_state 0 1 2 || fail "the states differ after a disk has failed"
