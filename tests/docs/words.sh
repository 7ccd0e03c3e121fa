#!/usr/bin/env bash
# words.sh [--list] - comments and pages that call a node or a thread *who*, *whoever*, *whom*, *whose*, *lest*, *he*, *him* or *his* are
# read twice. Their numbers stand in words.txt, and may only fall. --list shows where they are.

set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
numbers=tests/docs/words.txt
words='who|whom|whose|whoever|whomever|lest|he|him|his|himself'

# FILE:LINE of each comment with one of the words, then the number of all comments.
comments() {
	# shellcheck disable=SC2016 # it is awk's
	find base bench bridge cmake command conf delegation examples group include membership persistence predicates dds ddsc sim smc sst state tests tools transport work \
		-name '*.[ch]' -print0 | sort -z | xargs -0 awk -v words="(^|[^a-z])($words)([^a-z]|\$)" '
		function look() {
			count++
			if (match(tolower(comment), words)) print file ":" begin
		}
		FNR == 1 { inside = 0; file = FILENAME }
		{
			line = $0
			gsub(/\\["\\]/, "", line)
			while (line != "") {
				if (inside) {
					end = index(line, "*/")
					comment = comment " " (end > 0 ? substr(line, 1, end - 1) : line)
					if (end == 0) break
					line = substr(line, end + 2)
					inside = 0
					look()
				} else {
					if (!match(line, /"[^"]*"|\/\*/)) break
					inside = substr(line, RSTART, 2) == "/*"
					line = substr(line, RSTART + RLENGTH)
					begin = FNR
					comment = ""
				}
			}
		}
		END { print count }'
}

# FILE:LINE of each line of a page with one of the words.
lines() {
	find README.md docs -name '*.md' ! -name configuration.md -print0 | sort -z |
		xargs -0 grep -IinEH "(^|[^a-z\`])($words)([^a-z\`]|\$)" | cut -d: -f1,2 || true
}

all=$(comments)
total=${all##*$'\n'}
if [ "${1:-}" = --list ]; then
	printf '%s\n' "$all" | sed '$d'
	lines
	exit
fi
read -r comments_most lines_most <"$numbers"
comments_now=$(($(wc -l <<<"$all") - 1))
lines_now=$(lines | wc -l)
printf '%d of %d comments, %d lines of pages (%d and %d in %s)\n' "$comments_now" "$total" "$lines_now" "$comments_most" "$lines_most" "$numbers"
if [ "$comments_now" -gt "$comments_most" ] || [ "$lines_now" -gt "$lines_most" ]; then
	echo "write them with the subject first: which node, thread or program does what (tests/docs/words.sh --list shows them)"
	exit 1
elif [ "$comments_now" -lt "$comments_most" ] || [ "$lines_now" -lt "$lines_most" ]; then
	echo "there are fewer: write \"$comments_now $lines_now\" into $numbers"
	exit 1
fi
