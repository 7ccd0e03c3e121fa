#!/usr/bin/env bash
# disks.sh COMMAND - three nodes with a durable subgroup, of which one has a disk that fails, is full, hangs or is slow: strace has the
# system say so. It leaves, and says which file and why; the others go on without it; it comes back when its disk is well again.
# A disk that has room again in time, or is only slow, costs no node its place.

set -euo pipefail

command=$1
# shellcheck source=tests/patience.sh
. "$(dirname "$0")/../patience.sh"
if ! strace -D -f -q -o /dev/null -e trace=fdatasync -e inject=fdatasync:error=EIO:when=1000 true 2>/dev/null; then
	echo "skipped: there is no strace, or no process may be traced here"
	exit 77
fi
dir=$(mktemp -d)
ids=()
end_all() {
	local id
	for id in "${ids[@]}"; do kill -KILL "$id" 2>/dev/null || true; done
	wait 2>/dev/null
	rm -rf "$dir"
}
trap end_all EXIT

fail() {
	echo "$case: $*"
	tail -n 12 "$dir"/*.txt
	[ ! -e "$dir/trace" ] || tail -n 12 "$dir/trace"
	exit 1
}

# until_it_is SECONDS_ON_A_QUIET_MACHINE COMMAND...: patience is asked for anew, the load may have come meanwhile
until_it_is() {
	local quiet=$1 from=$SECONDS
	shift
	until "$@"; do
		[ $((SECONDS - from)) -le $(($(patience "${quiet}000") / 1000)) ] || fail "too long: $*"
		sleep 0.1
	done
}

# The disks of nodes 0 and 1 are waited for, whatever the machine does.
configure() { # FILE DISK_TIMEOUT_MS
	cat >"$dir/$1" <<-END
		[group]
		name = disks-$$-$case
		transport = tcp
		nodes = 3
		log_dir = $dir/logs
		disk_timeout_ms = $2
		failure_timeout_ms = 120000
		[subgroup orders]
		mode = durable
		message_bytes = 8192
		window = 64
		log_bytes = 1m
	END
}

# Starts all three; node 2 gives up after that time, and is treated so by strace.
begin() { # CASE RATE DISK_TIMEOUT_MS WHAT
	case=$1
	rate=$2
	rm -rf "$dir/logs" "$dir"/*.txt "$dir/trace"
	mkdir "$dir/logs"
	configure group.ini 600000
	configure bad.ini "$3"
	ids=()
	start 0 group.ini
	start 1 group.ini
	start 2 bad.ini strace -D -f -y -q -o "$dir/trace" -e trace=fdatasync,fallocate,pwritev -e "inject=$4"
}

start() { # ID FILE [WORD...]: what it is started by
	local node=$1 file=$2
	shift 2
	"$@" "$command" node --id "$node" --run load --bytes 8000 --rate "$rate" "$dir/$file" >>"$dir/$node.txt" 2>&1 </dev/null &
	ids[node]=$!
}

has_said() { # ID TEXT
	grep -q -- "$2" "$dir/$1.txt"
}

has_ended() { # a process
	! kill -0 "$1" 2>/dev/null
}

# All calls have been written down: the process is the last that ends.
trace_is_whole() {
	tail -n 1 "$dir/trace" | grep -q '+++ exited with 1 +++'
}

# Node 2 ends with status 1, and its last word is that its disk ...; the others go on; it comes back.
see_it_leave() { # TEXT
	local status=0

	until_it_is 60 has_ended "${ids[2]}"
	wait "${ids[2]}" || status=$?
	[ "$status" = 1 ] || fail "node 2 ended with $status"
	has_said 2 "this node leaves: .*$1" || fail "node 2 does not say: $1"
	until_it_is 30 has_said 0 'view [0-9]*: members 0 1 | left 2'
	until_it_is 30 has_said 1 'view [0-9]*: members 0 1 | left 2'
	until_it_is 30 trace_is_whole
	mv "$dir/2.txt" "$dir/2-before.txt"
	rate=20
	start 2 group.ini
	until_it_is 60 has_said 0 'view [0-9]*: members 0 1 2 | joined 2'
	until_it_is 60 has_said 2 'ready after'
	end_nodes
}

end_nodes() {
	local id status
	for id in "${ids[@]}"; do kill -TERM "$id" 2>/dev/null || true; done
	for id in "${ids[@]}"; do
		status=0
		wait "$id" || status=$?
		[ "$status" = 0 ] || fail "a node ended with $status"
	done
	ids=()
}

# All have had it, and node 0 delivers since then.
see_them_go_on() {
	local node before

	for node in 0 1 2; do until_it_is 60 has_said "$node" 'ready after'; done
	before=$(grep -c 'orders: delivers [1-9]' "$dir/0.txt" || true)
	until_it_is 60 delivers_more "$before"
	for node in 0 1 2; do ! has_said "$node" ' left ' || fail "node $node has lost another"; done
	end_nodes
}

delivers_more() { # LINES
	[ "$(grep -c 'orders: delivers [1-9]' "$dir/0.txt" || true)" -gt "$1" ]
}

# The file of the first line with that, as strace names it.
file_of() { # TEXT
	grep -m 1 -- "$1" "$dir/trace" | sed 's/^[^<]*<\([^>]*\)>.*/\1/'
}

# Behind the call that failed nothing was written to that file, and it was not synced.
see_it_untouched() {
	local file after

	file=$(file_of 'EIO.*INJECTED')
	[ -n "$file" ] || fail "no call has failed"
	after=$(sed -n '/EIO.*INJECTED/,$p' "$dir/trace" | tail -n +2 | grep -F "<$file>" || true)
	[ -z "$after" ] || fail "behind the failure: $after"
}

begin sync-fails 100 600000 fdatasync:error=EIO:when=20
see_it_leave 'cannot sync .*/2/.*Input/output error'
see_it_untouched

begin write-fails 100 600000 pwritev:error=EIO:when=20
see_it_leave 'cannot write .*/2/.*Input/output error'
see_it_untouched

# The next segment has no room, and the present one is full soon.
begin full 2000 3000 fallocate:error=ENOSPC:when=4+
see_it_leave 'its disk is full for 3[0-9]* ms'
[ "$(grep -c 'ENOSPC.*INJECTED' "$dir/trace")" -ge 5 ] || fail "it has not tried again"

# What the disk says of views has no room, with which it all begins.
begin full-at-first 20 3000 fallocate:error=ENOSPC:when=1+
until_it_is 60 has_ended "${ids[2]}"
has_said 2 'this node leaves: its disk is full for 3[0-9]* ms' || fail "node 2 does not say that its disk is full"
unset 'ids[2]'
start 2 group.ini
see_them_go_on

begin full-for-a-while 20 60000 fallocate:error=ENOSPC:when=1..5
see_them_go_on
[ "$(grep -c 'ENOSPC.*INJECTED' "$dir/trace")" = 5 ] || fail "it has not been full"

begin hangs 100 2000 fdatasync:delay_enter=6000000:when=20
see_it_leave 'its disk does not answer for 2[0-9]* ms'

# All wait for it, and nobody is taken for dead.
begin slow 20 600000 fdatasync:delay_enter=200000
see_them_go_on
