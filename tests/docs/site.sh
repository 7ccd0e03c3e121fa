#!/usr/bin/env bash
# site.sh [DIRECTORY] - the pages that docs/site/site.sh has made in DIRECTORY, or makes of themselves for this, are good HTML, run nothing
# and fetch nothing, and each link of theirs leads to a page that is there, and to the place in it. Skipped without cmark-gfm.

set -euo pipefail

if [ $# -gt 0 ]; then
	cd "$1"
else
	command -v cmark-gfm >/dev/null || { echo "cmark-gfm is not installed"; exit 77; }
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	"$(dirname "$(readlink -f "$0")")/../../docs/site/site.sh" "$work"
	cd "$work"
fi
failed=0

complain() {
	printf '%s\n' "$*"
	failed=1
}

mapfile -t pages < <(find . -name '*.html' | sort)
[ ${#pages[@]} -gt 40 ] || complain "there are only ${#pages[@]} pages"
tidy -quiet -errors "${pages[@]}" || complain "tidy does not like them"
! grep -nE '<(script|iframe|object)|@import|url\(|(src|rel="stylesheet" href)="[a-z]+:' "${pages[@]}" style.css ||
	complain "a page fetches something"

# What can be led to: PAGE, and PAGE#NAME of each name; and what is led to.
there=$(find . -type f | sed 's|^\./||' && grep -o ' id="[^"]*"' "${pages[@]}" | sed 's|^\./||; s|: id="|#|; s|"$||')
wanted=$(
	grep -oE ' (href|src)="[^"]*"' "${pages[@]}" | grep -vE '="[a-z]+:' | sed -E 's/^([^:]*): (href|src)="([^"]*)"$/\1 \3/' |
		while read -r page link; do
			case $link in
			'#'*) printf '%s%s\n' "${page#./}" "$link" ;;
			*) printf '%s/%s\n' "${page%/*}" "$link" ;;
			esac
		done | sort -u | awk '{ # a/../b is b, and . nothing
			while (sub(/[^\/]+\/\.\.\//, ""));
			gsub(/(^|\/)\.\//, "/")
			sub(/^\//, "")
			print
		}' | sort -u
)
[ "$(wc -l <<<"$wanted")" -gt 80 ] || complain "there are hardly any links"
while read -r link; do
	complain "nothing is at $link"
done < <(comm -13 <(sort -u <<<"$there") <(sort -u <<<"$wanted"))

[ $failed -ne 0 ] || printf '%d pages, %d links: all of them lead somewhere\n' ${#pages[@]} "$(wc -l <<<"$wanted")"
exit $failed
