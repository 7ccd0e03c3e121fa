#!/usr/bin/env bash
# layers.sh SOURCES OBJECTS - the files of a module call each other downwards only: the objects of SOURCES/*.c, which are in the directory OBJECTS,
# have no circle of functions and variables. Prints them, the lowest first; or the files of a circle.
set -euo pipefail

sources=("$1"/*.c)
objects=("${sources[@]##*/}")
cd "$2"
edges=$(mktemp)
trap 'rm -f "$edges"' EXIT
nm -A "${objects[@]/%/.o}" | awk '
	{ file = substr($1, 1, index($1, ":") - 3); kind = $(NF - 1); name = $NF }
	kind == "U" { used[file, name] = 1 }
	kind ~ /^[BDRTVW]$/ { defined[name] = file }
	END {
		for (k in used) {
			split(k, part, SUBSEP)
			if (part[2] in defined && defined[part[2]] != part[1]) print part[1], defined[part[2]]
		}
	}' | sort >"$edges"
[ -s "$edges" ] || { printf 'no calls from one file to another in %s\n' "$PWD"; exit 1; }
order=$(tsort "$edges" 2>&1) || {
	printf 'a circle:\n%s\n' "$order"
	exit 1
}
tac <<<"$order"
