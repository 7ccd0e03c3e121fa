#!/usr/bin/env bash
# disks.sh COMMAND - three nodes with a durable subgroup, of which one has a disk that fails, is full, or is slow: strace has the
# system say so. It leaves, and says which file and why; the others go on without it; it comes back when its disk is well again.

set -euo pipefail

command=$1
# shellcheck source=tests/patience.sh
. "$(dirname "$0")/../patience.sh"
if ! strace -qq -o /dev/null -e trace=fdatasync -e inject=fdatasync:error=EIO:when=1000 true 2>/dev/null; then
	echo "skipped: there is no strace, or no process may be traced here"
	exit 77
fi
dir=$(mktemp -d)
ids=()
end_all() {
	local id
	for id in "${ids[@]}"; do kill -KILL "$id" 2>/dev/null || true; done
	wait
	rm -rf "$dir"
}
trap end_all EXIT

fail() {
	echo "$case: $*"
	tail -n 12 "$dir"/*.txt
	exit 1
}

# until SECONDS_ON_A_QUIET_MACHINE COMMAND...
until_it_is() {
	local deadline=$((SECONDS + $(patience "${1}000") / 1000 + 1))
	shift
	until "$@"; do
		[ "$SECONDS" -lt "$deadline" ] || fail "too long: $*"
		sleep 0.05
	done
}

begin() { # disk_timeout_ms
	rm -rf "$dir/logs" "$dir"/*.txt
	mkdir "$dir/logs"
	cat >"$dir/group.ini" <<END
[group]
name = disks-$$-$case
transport = tcp
nodes = 3
log_dir = $dir/logs
disk_timeout_ms = $1
failure_timeout_ms = $(patience 20000)
[subgroup orders]
mode = durable
message_bytes = 8192
window = 64
log_bytes = 1m
END
	ids=()
}

start() { # ID [WORD...]: what it is started by
	local node=$1
	shift
	"$@" "$command" node --id "$node" --run load --bytes 8000 --rate "$rate" "$dir/group.ini" >>"$dir/$node.txt" 2>&1 </dev/null &
	ids+=($!)
}

# Of one that is traced: strace is its parent, and ends as it does.
start_injected() { # ID WHAT
	start "$1" strace -f -qq -o "$dir/strace.$1" -e trace=fdatasync,fallocate -e "inject=$2"
}

has_said() { # ID TEXT
	grep -q -- "$2" "$dir/$1.txt"
}

has_ended() { # a process
	! kill -0 "$1" 2>/dev/null
}

# Node 2 ends with status 1, and its last word is that its disk ...; the others go on; it comes back.
see_it_leave() { # TEXT
	local status=0

	until_it_is 30 has_ended "${ids[2]}"
	wait "${ids[2]}" || status=$?
	[ "$status" = 1 ] || fail "node 2 ended with $status"
	has_said 2 "this node leaves: .*$1" || fail "node 2 does not say: $1"
	until_it_is 20 has_said 0 'view [0-9]*: members 0 1 | left 2'
	until_it_is 20 has_said 1 'view [0-9]*: members 0 1 | left 2'
	unset 'ids[2]'
	mv "$dir/2.txt" "$dir/2-before.txt"
	start 2
	until_it_is 30 has_said 0 'view [0-9]*: members 0 1 2 | joined 2'
	until_it_is 30 has_said 2 'ready after'
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

start_three() { # WHAT
	start 0
	start 1
	start_injected 2 "$1"
}

case=fails
rate=100
begin 20000
start_three fdatasync:error=EIO:when=20
see_it_leave 'cannot sync .*/2/.*Input/output error'

# The next segment has no room, and the present one is full soon.
case=full
rate=2000
begin 500
start_three fallocate:error=ENOSPC:when=4+
see_it_leave 'its disk is full'

# All wait for it, and nobody is taken for dead.
case=slow
rate=20
begin 20000
start_three fdatasync:delay_enter=200000
for node in 0 1 2; do until_it_is 60 has_said "$node" 'ready after'; done
until_it_is 30 has_said 0 'orders: delivers'
for node in 0 1; do ! has_said "$node" ' left ' || fail "node $node has lost another"; done
