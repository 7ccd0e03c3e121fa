#!/usr/bin/env bash
# site.sh [DIRECTORY] - the pages that docs/site/site.sh has made in DIRECTORY, or makes of themselves for this, are good
# HTML, run nothing and fetch nothing, and each link of theirs leads to a page that is there, and to the place in it. The
# reference of the interface has all that the headers have. Skipped without cmark-gfm.

set -euo pipefail

here=$(dirname "$(readlink -f "$0")")
include=$(readlink -f "$here/../../include/whorl")
if [ $# -gt 0 ]; then
	cd "$1"
else
	command -v cmark-gfm >/dev/null || { echo "cmark-gfm is not installed"; exit 77; }
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	"$here/../../docs/site/site.sh" "$work"
	cd "$work"
fi
mapfile -t headers < <(find "$include" -name '*.h' | sort)
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

# ---- the reference --------------------------------------------------------------------------------------------------

# An entry for each function, with its prototype and text.
functions=$(cat "${headers[@]}" | grep -v '^#' | tr '\n' ' ' | grep -oE '\bWHORL_API [^(;]*\(' |
	sed 's/($//; s/.*[ *]//' | sort)
[ "$(wc -l <<<"$functions")" -gt 40 ] || complain "there are hardly any functions in the headers"
while read -r function what; do
	complain "the reference: $function $what"
done < <(awk -v functions="$functions" '
	/^<section class="entry">/ { heading = prototypes = text = "" }
	/^<h[23]>/ { heading = $0; next }
	/^<\/section>/ {
		while (match(heading, / id="[^"]*"/)) {
			name = substr(heading, RSTART + 5, RLENGTH - 6)
			heading = substr(heading, RSTART + RLENGTH)
			entries[name]++
			if (index(prototypes, name "(")) has_prototype[name] = 1
			if (text ~ /[a-z]/) has_text[name] = 1
		}
	}
	{ code = /^<pre class="declaration">/; gsub(/<[^>]*>/, "") }
	code { prototypes = prototypes " " $0; next }
	{ text = text $0 }
	END {
		count = split(functions, list, "\n")
		for (i = 1; i <= count; i++) {
			if (entries[list[i]] != 1) print list[i], "has", entries[list[i]] + 0, "entries"
			else if (!(list[i] in has_prototype)) print list[i], "has no prototype"
			else if (!(list[i] in has_text)) print list[i], "has no text"
		}
	}' include/whorl/*.html)

# A place for each name, and a link to it from the list of all names.
list=$(sed -n '/ id="all-names"/,$p' include/whorl.html)
while read -r name; do
	grep -qE " id=\"(struct-)?$name\"" include/whorl/*.html || complain "the reference: there is no $name"
	grep -q "#$name\"" <<<"$list" || complain "the reference: the list of all names has no $name"
done < <({
	grep -ohE '\b(whorl|WHORL)_[A-Za-z0-9_]*[A-Za-z0-9]\b' "${headers[@]}" |
		grep -vxE 'WHORL_([A-Z]*_H|RESULT_CONSTANT|DDS_RETCODE|DDS_STATUS_BIT|DDS|DDS_ID|0)|whorl_(functions|types)' # the latter are sections
	for header in "${headers[@]}"; do # those that lists make
		"${CC:-cc}" -E -P -I"$include/.." "$header" | grep -oE '\bWHORL_[A-Z0-9_]*[A-Z0-9]\b'
	done
} | sort -u)

# Each paragraph of each comment: letters and digits of it, one behind the other.
while read -r text; do
	complain "the reference: of a comment it does not have \"$text\""
done < <(LC_ALL=C awk '
	function bare(text) { gsub(/[^A-Za-z0-9]/, "", text); return tolower(text) }
	/^#if/ { next }
	FILENAME ~ /\.html$/ { gsub(/<[^>]*>|&[a-z]+;/, ""); read_text = read_text bare($0); next }
	{ source = source $0 "\n" }
	END {
		while (match(source, /\/\*/)) {
			source = substr(source, RSTART)
			end = index(source, "*/")
			count = split(substr(source, 3, end - 3), paragraphs, /\n \*\n/)
			for (i = 1; i <= count; i++)
				if (!index(read_text, bare(paragraphs[i]))) {
					gsub(/[\n\t ]+/, " ", paragraphs[i])
					print substr(paragraphs[i], 1, 100)
				}
			source = substr(source, end + 2)
		}
	}' include/whorl/*.html "${headers[@]}")

[ $failed -ne 0 ] || printf '%d pages, %d links: all of them lead somewhere\n' ${#pages[@]} "$(wc -l <<<"$wanted")"
exit $failed
