#!/usr/bin/env bash
# dds_logged.sh COMMAND - persistent topics: what programs have written survives the end of all of them, also by kill -9, and the next one prints
# the same lines, with their places. strace has the system say that a disk is full: the writer is told so.

set -euo pipefail

command=$1
# shellcheck source=tests/patience.sh
. "$(dirname "$0")/../patience.sh"
dir=$(mktemp -d)
ids=()
case=begin
end_all() {
	local id
	for id in "${ids[@]}"; do kill -KILL "$id" 2>/dev/null || true; done
	wait 2>/dev/null
	rm -rf "$dir"
}
trap end_all EXIT
domain=$(($$ % 60000))
export WHORL_DDS=$dir/topics.ini
kept='durability=persistent reliability=reliable history=all'

fail() {
	echo "$case: $*"
	tail -n 12 "$dir"/*.txt
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

configure() { # DISK_TIMEOUT_MS of a group of the file, or nothing: the domain's
	if [ $# = 0 ]; then
		printf '[dds]\ndirectory = %s/logs\n' "$dir" >"$WHORL_DDS"
	else
		mkdir -p "$dir/logs"
		cat >"$WHORL_DDS" <<-END
			[group]
			name = logged-$$
			nodes = 0
			nodes_max = 8
			log_dir = $dir/logs
			disk_timeout_ms = $1
			failure_timeout_ms = 5000
		END
	fi
}

# What it reads it is written at a descriptor of that number; its output is NAME.txt. Its process is `id`.
pub() { # NAME FD TOPIC [WORD...]
	local name=$1 fd=$2 topic=$3
	shift 3
	mkfifo "$dir/$name.in"
	"$command" dds pub "$topic" --domain "$domain" --qos "$kept" "$@" <"$dir/$name.in" >>"$dir/$name.txt" 2>&1 &
	id=$!
	ids+=("$id")
	eval "exec $fd>\"$dir/$name.in\""
}

sub() { # NAME TOPIC [WORD...]
	local name=$1 topic=$2
	shift 2
	"$command" dds sub "$topic" --domain "$domain" --qos "$kept" "$@" >"$dir/$name.txt" 2>>"$dir/$name-said.txt" &
	id=$!
	ids+=("$id")
}

say() { # FD WRITER FROM TO
	local n
	for n in $(seq "$3" "$4"); do echo "{\"w\": $2, \"n\": $n}"; done >&"$1"
}

has() { # NAME TEXT [COUNT]
	local lines

	lines=$(grep -cs -- "$2" "$dir/$1.txt" || true)
	[ "${lines:-0}" -ge "${3:-1}" ]
}

# The samples alone: that a writer has gone is told at the place where it was seen.
samples() { # NAME
	grep '"value".*}}$' "$dir/$1.txt"
}

gone() { # a process
	! kill -0 "$1" 2>/dev/null
}

end() { # SIGNAL ID STATUS
	local status=0
	[ "$1" = 0 ] || kill -"$1" "$2"
	wait "$2" || status=$?
	[ "$status" = "$3" ] || fail "process $2 ended with $status, not $3"
}

# What it says of an instance at its end depends on who is there.
lines_of() { # NAME
	samples "$1" | sed 's/"state":"[a-z_]*"/"state":""/'
}

# A program that comes when no other is there prints what `first` has printed.
prints_the_same() { # NAME TOPIC COUNT
	sub "$1" "$2" --count "$3"
	end 0 "$id" 0
	cmp <(lines_of "$1") <(lines_of first) || fail "$1 has printed other lines than the first"
}

case=survives
configure
pub writer 5 kept --type 'long w; long n' --stay
writer=$id
sub first kept
first=$id
say 5 1 1 50
until_it_is 30 has first '"w":1' 50
pub other 6 kept
other=$id
say 6 2 1 50
until_it_is 30 has first '"w":2' 50
say 5 1 51 100
until_it_is 30 has first '"w":1' 100
kill -KILL "$other"
wait "$other" || true
end TERM "$first" 130
end TERM "$writer" 0
prints_the_same second kept 150

# All at once, in the midst of it.
case=killed
pub again 7 kept --stay
again=$id
sub third kept
third=$id
say 7 3 1 1000
until_it_is 30 has third '"w":3' 100
kill -KILL "$again" "$third"
wait "$again" "$third" || true
samples third >"$dir/first.txt"
count=$(samples first | wc -l)
[ "$count" -ge 250 ] || fail "there are $count lines"
prints_the_same fourth kept "$count"
prints_the_same fifth kept "$count"

# What it is stays with what was written, and so does that it is there, when nobody uses it.
case=named
"$command" dds ls --domain "$domain" >"$dir/ls.txt" || fail "ls"
has ls 'topic kept, logged, in channel dds.s.logged' || fail "ls does not show the topic"
! has ls 'writer at' || fail "ls shows writers that have gone"
status=0
echo '{"x": 1}' | "$command" dds pub kept --domain "$domain" --qos "$kept" --type 'long x' >"$dir/differs.txt" 2>&1 || status=$?
[ "$status" != 0 ] || fail "another type was taken"
has differs 'topic kept: its type is' || fail "it is not told in what it differs"
echo '{"w": 9, "n": 1}' | "$command" dds pub volatile --domain "$domain" --type 'long w; long n' || fail "a topic that is not kept"

# Without the file the domain has another kind of group, or none.
case=apart
status=0
env -u WHORL_DDS "$command" dds pub kept --domain "$domain" --qos "$kept" --type 'long w; long n' </dev/null >"$dir/apart.txt" 2>&1 || status=$?
[ "$status" != 0 ] || fail "it is persistent without a directory"
has apart 'dds.directory' || fail "it is not told how there is one"

# While it is there no process comes in without it.
case=refused
pub here 4 kept
here=$id
say 4 5 1 1
sub sees kept
sees=$id
until_it_is 30 has sees '"w":5'
status=0
env -u WHORL_DDS "$command" dds pub other --domain "$domain" --type 'long n' </dev/null >"$dir/refused.txt" 2>&1 || status=$?
[ "$status" = 3 ] || fail "a process without the directory ended with $status"
has refused 'create_participant: .*its \[group\] section differs' || fail "it is not told why it is not let in"
end TERM "$sees" 130
end TERM "$here" 130

if ! strace -D -f -q -o /dev/null -e trace=fdatasync -e inject=fdatasync:error=EIO:when=1000 true 2>/dev/null; then
	echo "there is no strace, or no process may be traced here: no disk was full"
	exit 0
fi

# The disk of one writer is full: it is told so, and leaves; the other goes on.
case=full
rm -rf "$dir/logs"
configure 1500
pub well 8 full --type 'long w; long n' --stay
say 8 1 1 10
sub reads full
until_it_is 30 has reads '"w":1' 10
real=$command
cat >"$dir/traced" <<END
#!/bin/sh
exec strace -D -f -q -o "$dir/trace" -e trace=fallocate,pwritev,pwrite64 -e 'inject=fallocate,pwritev,pwrite64:error=ENOSPC:when=60+' "$real" "\$@"
END
chmod +x "$dir/traced"
command=$dir/traced
pub full 9 full
full=$id
command=$real
for n in $(seq 1 1000); do
	gone "$full" && break
	(say 9 2 "$n" "$n") 2>/dev/null || break
	sleep 0.02
done
until_it_is 60 gone "$full"
status=0
wait "$full" || status=$?
[ "$status" = 1 ] || fail "the writer ended with $status"
has full 'its disk is full for' || fail "it is not told that its disk is full"
say 8 1 11 20
until_it_is 30 has reads '"w":1' 20
echo "all lines were the same"
