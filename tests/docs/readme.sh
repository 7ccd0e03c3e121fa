#!/usr/bin/env bash
# readme.sh ROOT COMMAND - "Three nodes and a kill" of README.md: its commands are typed as they stand there, into two shells, and the first
# node says what README shows, line by line; figures, digests and process numbers may be others. COMMAND is the `whorl` that was built.

set -euo pipefail

cd "$1"
command=$(readlink -f "$2")
# shellcheck source=tests/patience.sh
. tests/patience.sh
until_s=$((SECONDS + $(patience 60000) / 1000))
work=$(mktemp -d)
first=
second_pid=
finish() {
	[ -z "$first" ] || kill -9 "$first" 2>/dev/null || true
	[ -z "$second_pid" ] || pkill -9 -P "$second_pid" 2>/dev/null || true
	rm -rf "$work"
}
trap finish EXIT

complain() {
	printf '%s\n' "$*" "---- the first shell:"
	cat "$work/said"
	exit 1
}

# The group has another name: somebody may be trying the README at this moment.
sed "s/^name = play.*/name = readme-$$/" conf/node.ini >"$work/node.ini"
awk '/^## / { inside = $0 == "## Three nodes and a kill" } inside' README.md >"$work/section"
as_here() { sed "s|build/whorl|$command|; s|conf/node.ini|$work/node.ini|; s|  *#.*||"; }
grep '^    ' "$work/section" | sed 's/^    //' | as_here >"$work/commands"
awk '$0 == "```" { inside = !inside; next } inside' "$work/section" |
	sed -E 's/[].[*^$|()+?{}\\]/\\&/g; s/[0-9]+ ms/[0-9]+ ms/; s/pid [0-9]+/pid [0-9]+/; s/value [0-9]+, digest [0-9a-f]+/value [0-9]+, digest [0-9a-f]{16}/; s/(state given: .*)$/\1.*/' \
		>"$work/expected"
if [ "$(wc -l <"$work/commands")" -lt 6 ] || [ "$(wc -l <"$work/expected")" -lt 6 ]; then
	echo "README.md has no \"Three nodes and a kill\" with commands and what is said"
	exit 1
fi

# until_said PATTERN: the first node has said that line. Each line is looked for behind the one before.
behind=0
until_said() {
	local found
	while true; do
		found=$(tail -n +$((behind + 1)) "$work/said" | grep -nE -m 1 "^$1\$" | cut -d: -f1 || true)
		[ -z "$found" ] || break
		[ $SECONDS -lt $until_s ] || complain "the first node has not said: $1"
		sleep 0.05
	done
	behind=$((behind + found))
}

mapfile -t lines <"$work/commands"
mapfile -t expected <"$work/expected"
read -ra words <<<"${lines[0]}"
"${words[@]}" >"$work/said" 2>&1 &
first=$!
coproc SECOND { exec bash -m >"$work/second" 2>&1; }
# shellcheck disable=SC2153 # the coprocess's
second_pid=$SECOND_PID
at=0
for line in "${lines[@]:1}"; do
	case $line in
	kill\ -9* | *status*) # all that is said of what was typed before
		while [ $at -lt ${#expected[@]} ]; do
			[[ $line != kill\ -9* || ${expected[at]} != *"has died"* ]] || break
			until_said "${expected[at]}"
			at=$((at + 1))
		done
		;;
	*"--id 1"*) # again: when the others go on without it
		if [ $at -gt 0 ]; then
			while [[ ${expected[at]} != *"joined 1" ]]; do
				until_said "${expected[at]}"
				at=$((at + 1))
			done
		fi
		;;
	esac
	printf '%s\n' "$line" >&"${SECOND[1]}"
done
eval "exec ${SECOND[1]}>&-"
wait "$second_pid" || true
until_said 'view [0-9]+: members 0 \| left .*'
kill "$first"
wait "$first" || complain "the first node has not left in order"
first=
tail -n 1 "$work/said" | grep -qx left || complain "the first node does not say that it has left"
grep -q 'members 0 2 1, leader 0, a quorum is 2' "$work/second" || { cat "$work/second"; exit 1; }
