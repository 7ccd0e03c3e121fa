#!/usr/bin/env bash
# status_at.sh COMMAND - the node at an address of a network says how it is: asked by the address alone,
# and by the file that has it.

set -euo pipefail

command=$1
dir=$(mktemp -d)
trap 'kill "$node" 2>/dev/null || true; wait; rm -rf "$dir"' EXIT
port=$((21000 + $$ % 500))
cat >"$dir/at.ini" <<END
[group]
name = at-$$
transport = tcp
nodes = 1
[node 0]
address = localhost:$port
[subgroup s]
END
"$command" node "$dir/at.ini" --id 0 --quiet >"$dir/node.txt" 2>&1 </dev/null &
node=$!

ask() { # until the node is a member
	for _ in $(seq 300); do
		if "$command" status "$@" >"$dir/status.txt" 2>&1; then return 0; fi
		kill -0 "$node" || break
	done
	echo "status $*:"
	cat "$dir"/*.txt
	return 1
}
ask "localhost:$port"
grep -q "at-$$" "$dir/status.txt"
ask "$dir/at.ini"
grep -q "at-$$" "$dir/status.txt"
if "$command" status "localhost:1" >"$dir/nobody.txt" 2>&1; then exit 1; fi
grep -q 'no node is running at localhost:1' "$dir/nobody.txt"
