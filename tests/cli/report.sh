#!/usr/bin/env bash
# report.sh COMMAND SOURCE - the page of `whorl report` is good HTML, also where texts try to be more than text, and needs no network.
# tests/cli/test_cli_plot.c looks at what it says, `./run screenshot` at what a browser makes of it.

set -euo pipefail

command=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# shellcheck disable=SC2016 # they are not to be expanded, that is the point
hostile='</title></svg><script>alert(1)</script> `id` $(id) "q" '\''q'\'' & \n {/Bold x} @a'
short=(--quiet --set bench.messages_total=500 --set bench.runs=2 --set bench.limit=off --set group.nodes=2)

"$command" bench "$2/conf/figures/16-final.ini" "${short[@]}" --json "$folder/16.json" >/dev/null
"$command" bench "$2/conf/figures/07-batches.ini" "${short[@]}" --set "figure.title=$hostile" --json "$folder/a<b>&.json" >/dev/null
"$command" report "$folder"
page=$folder/index.html

tidy -quiet -errors "$page"
[ "$(grep -c '<svg' "$page")" -eq 2 ]
# Nothing is run, and nothing fetched: the only addresses are names of XML's.
if grep -iE '<(script|img|link|iframe|object)|@import|url\([^#]' "$page"; then
	exit 1
fi
if grep -oE 'https?://[^"'\'' <]*' "$page" | grep -vE '^http://www\.w3\.org/(2000/svg|1999/xlink)$'; then
	exit 1
fi
# Names differ within the page.
[ -z "$(grep -oE ' id=["'\''][^"'\'']*' "$page" | sort | uniq -d)" ]
