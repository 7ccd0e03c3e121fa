#!/usr/bin/env bash
# crowds.sh COMMAND [RUNS] - the figures of docs/security.md: with each crowd at the doors of three nodes, how long a node that was
# killed takes to be in the view again and to deliver, and `whorl status` to answer; the median, and the least and the greatest, of
# five runs. Root only. Nothing else should be at work.

set -euo pipefail

command=$(readlink -f "$1")
runs=${2:-5}
scenarios=$(dirname "$(readlink -f "$0")")/scenarios.sh

# One figure a line: the median, the least and the greatest.
spread() {
	sort -n | awk '{ n[NR] = $1 } END { printf "%d (%d to %d)", n[int((NR + 1) / 2)], n[1], n[NR] }'
}

# measure SCENARIO [tls]
measure() {
	local said='' out run column

	for ((run = 0; run < runs; run++)); do
		if ! out=$("$scenarios" "$command" "$@"); then
			printf '%s\n' "$out" >&2
			return 1
		fi
		said+=$(sed -nE 's/.*back after ([0-9]+) ms, delivers after ([0-9]+) ms, status after ([0-9]+) ms.*/\1 \2 \3/p' <<<"$out")$'\n'
	done
	printf '| %s |' "$*"
	for column in 1 2 3; do
		printf ' %s |' "$(cut -d' ' -f$column <<<"${said%$'\n'}" | spread)"
	done
	printf '\n'
}

echo '| scenario | in the view, ms | delivers, ms | status, ms |'
echo '|---|---|---|---|'
for scenario in crowd-of-none crowd-of-host crowd-of-stranger crowd-that-begins crowd-that-begins-few crowd-that-begins-few-of-host; do
	measure "$scenario"
done
for scenario in crowd-of-none crowd-of-host crowd-of-stranger crowd-that-begins crowd-that-begins-few crowd-that-begins-few-of-host \
	crowd-that-finishes crowd-that-finishes-few; do
	measure "$scenario" tls
done
