#!/usr/bin/env bash
# completion.sh COMMAND FILE - what bash is offered behind the beginnings of a command line.

set -euo pipefail

command=$1
# shellcheck source=/dev/null # it is cmake/whorl.bash, or where that was installed
. "$2"

# offered WORD...: what is offered for the last word, sorted, on one line
offered() {
	# shellcheck disable=SC2034 # the completion reads it
	COMP_WORDS=("$command" "$@") COMP_CWORD=$#
	_whorl "$command" || true # outside of a completion there is nothing to set options of
	printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd' '
}

expect() { # WHAT IS, WORD...
	local wanted=$1 found
	shift
	found=$(cd "$folder" && offered "$@")
	[ "$found" = "$wanted" ] || { printf 'behind "whorl %s" there is "%s" and should be "%s"\n' "$*" "$found" "$wanted" >&2; exit 1; }
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
touch "$folder/a.ini" "$folder/b.txt"
mkdir "$folder/results"

expect "bench" be
expect "--help --version bench calibrate config dds delegate help launch log node report sim status" ''
expect "calibrate config" help c
expect "--plot" bench --pl
expect "--output" report --o
expect "bench.messages= bench.messages_total=" bench x.ini --set bench.mess
expect "group.nodes= group.nodes_max=" bench x.ini --set group.node
expect "a.ini results" bench ''
expect "results" report ''
expect "results" log ''
# Names of groups: those of this user's nodes that run on shared memory.
printf '[group]\nname = completed-%d\nnodes = 1\n[subgroup s]\n' $$ >"$folder/group.ini"
"$command" node "$folder/group.ini" --id 0 --run none --quiet >"$folder/node.txt" 2>&1 </dev/null &
node=$!
trap 'kill "$node" 2>/dev/null || true; wait; rm -rf "$folder"' EXIT
for _ in $(seq 600); do
	! grep -q '^ready' "$folder/node.txt" || break
	kill -0 "$node" && sleep 0.05
done
rm "$folder/group.ini"
expect "completed-$$" status completed-$$
expect "a.ini" status a
expect "b.txt" bench a.ini --json b
