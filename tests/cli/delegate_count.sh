#!/bin/bash
# delegate_count.sh WHORL - `whorl delegate count`: members that add and one that serves, one of which is killed: all that was acknowledged is counted.
set -u
whorl=$1
directory=$(mktemp -d) || exit 1
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$directory"' EXIT
cd "$directory" || exit 1

fail() {
	echo "$*"
	tail -n 5 out.*
	exit 1
}

# count ID OPTION...: a member, in the background. Its output is in out.ID.
count() {
	local id=$1
	shift
	"$whorl" delegate count group.ini --id "$id" "$@" > "out.$id" 2> "err.$id" &
	pids[id]=$!
}

printf '[group]\nname = count-%s\nnodes = 4\n[subgroup first]\n[subgroup second]\n' $$ > group.ini
count 0 --seconds 4
count 1 --seconds 3
count 2 --seconds 60
count 3 --serve
sleep 2
kill -KILL "${pids[2]}"
for id in 0 1; do
	wait "${pids[$id]}" || fail "member $id ends with status $?"
done
kill -TERM "${pids[3]}"
wait "${pids[3]}" || fail "the one that serves ends with status $?"

sum=0
for id in 0 1 3; do
	line=$(tail -n 1 out.$id)
	[[ $line =~ ^acknowledged\ ([0-9]+)\ in_doubt\ ([0-9]+)\ value\ ([0-9]+)$ ]] || fail "member $id says: $line"
	sum=$((sum + BASH_REMATCH[1]))
	[[ $id == 3 && ${BASH_REMATCH[1]} != 0 ]] && fail "the one that serves has added"
	[[ $id != 3 && ${BASH_REMATCH[1]} == 0 ]] && fail "member $id has added nothing"
	values[id]=${BASH_REMATCH[3]}
done
[[ ${values[0]} == "${values[1]}" && ${values[0]} == "${values[3]}" ]] || fail "members have other values: ${values[*]}"
((values[0] >= sum)) || fail "acknowledged $sum, and the value is ${values[0]}"

"$whorl" delegate count group.ini --id 0 --serve --seconds 3 2> err.usage
[[ $? == 2 ]] || fail "--serve and --seconds are taken together"
grep -q "adds nothing" err.usage || fail "it does not say why"
"$whorl" delegate count nothing.ini --id 0 2> err.usage
[[ $? == 2 ]] || fail "a file that is not there"
echo "acknowledged $sum by those that are left, value ${values[0]}"
