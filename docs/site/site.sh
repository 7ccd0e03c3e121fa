#!/usr/bin/env bash
# site.sh DIRECTORY - README.md, what stands beside it, and docs/ as pages in DIRECTORY, which a browser reads as they are: no server,
# no JavaScript. A page lies where its Markdown does, README.md is index.html; sources that a page leads to are pages too. The pages of
# include/whorl/ and its headers are the reference of the interface. What DIRECTORY had is lost.

set -euo pipefail

out=$(readlink -m "$1")
here=$(dirname "$(readlink -f "$0")")
cd "$here/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mapfile -t pages < <(printf '%s\n' README.md CHANGELOG.md CONTRIBUTING.md; find docs -name '*.md' | sort)

title_of() { sed -n '/^# /{s/^# *//; s/`//g; p; q}' "$1"; }
escaped() { sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g; s/"/\&quot;/g'; }
within() { realpath -m --relative-to=. "$(dirname "$1")/$2"; } # what a link of page $1 means, seen from here

# The page that is made of a path; as in page.awk and reference.awk.
page_of() {
	case $1 in
	README.md | */README.md) echo "${1%README.md}index.html" ;;
	*.md) echo "${1%.md}.html" ;;
	*) echo "$1.html" ;;
	esac
}

# ---- what there is: the lists at the top of docs/README.md ----------------------------------------------------------------

navigation=
while IFS=$'\t' read -r kind text link; do
	if [ "$kind" = list ]; then
		navigation+=${navigation:+"</ul>"$'\n'}"<h2>$text</h2>"$'\n'"<ul>"$'\n'
		continue
	fi
	path=$(within docs/README.md "${link%%#*}")
	[[ $link != '#'* ]] || path=docs/README.md
	[[ $path != *.md || $link == *'#'* ]] || text=$(title_of "$path" | escaped)
	[[ $link == *'#'* ]] && anchor="#${link#*#}" || anchor=
	navigation+="<li><a href=\"@$(page_of "$path")$anchor\">$text</a></li>"$'\n'
done < <(awk '
	/^## / { exit }
	/^[A-Z].*:$/ { sub(/:$/, ""); print "list\t" $0 }
	/^\* / {
		while (match($0, /\[[^]]*\]\([^)]*\)/)) {
			link = substr($0, RSTART + 1, RLENGTH - 2)
			$0 = substr($0, RSTART + RLENGTH)
			at = index(link, "](")
			print "page\t" substr(link, 1, at - 1) "\t" substr(link, at + 2)
		}
	}' docs/README.md)
navigation+="</ul>"

# ---- pages --------------------------------------------------------------------------------------------------------------

# with_names PAGE PROGRAM...: awk, for a page in which names of the interface lead to the reference.
with_names() { awk -v names="$work/names" -v page="$1" -f "$here/names.awk" -f "${@:2}"; }

# frame PATH TITLE: a page around what is read. In the navigation @ is the way to the top.
frame() {
	local up=$1 page

	page=$(page_of "$1")
	up=$(sed 's|[^/]*$||; s|[^/]*/|../|g' <<<"$page")
	mkdir -p "$out/$(dirname "$page")"
	{
		printf '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
		printf '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
		printf '<title>%s</title>\n<link rel="stylesheet" href="%sstyle.css">\n</head>\n<body>\n' "$(escaped <<<"$2")" "$up"
		printf '<header><a href="%sindex.html"><strong>whorl</strong></a> <a href="%sdocs/index.html">Documentation</a> ' "$up" "$up"
		printf '<a class="to-contents" href="#pages">Pages</a></header>\n<div class="page">\n<main>\n'
		cat
		printf '</main>\n<nav id="pages" aria-label="Pages">\n'
		sed "s|href=\"@$page\"|& class=\"current\"|; s|href=\"@|href=\"$up|" <<<"$navigation"
		printf '</nav>\n</div>\n</body>\n</html>\n'
	} >"$out/$page"
}

source_page() {
	{
		printf '<h1>%s</h1>\n<pre><code>' "$1"
		with_names "$(page_of "$1")" "$here/source.awk" "$1"
		printf '</code></pre>\n'
	} | frame "$1" "$1"
}

# The files of a directory, and a page of each.
directory_page() {
	local file name

	for file in "$1"/*; do
		[ ! -f "$file" ] || source_page "$file"
	done
	{
		printf '<h1>%s/</h1>\n<ul>\n' "$1"
		for file in "$1"/*; do
			name=${file##*/}
			[ ! -f "$file" ] || printf '<li><a href="%s/%s">%s</a></li>\n' "${1##*/}" "$(page_of "$name")" "$name"
		done
		printf '</ul>\n'
	} | frame "$1" "$1"
}

rm -rf "$out"
mkdir -p "$out"
cp "$here/style.css" "$out"

headers=(include/whorl/whorl.h)
for header in include/whorl/*.h; do
	case $header in
	include/whorl/whorl.h) ;;
	*) headers+=("$header") ;;
	esac
done
awk -v directory="$work" -v sources="${pages[*]} $(echo examples/*.c)" -f cmake/headers.awk \
	-f "$here/slug.awk" -f "$here/names.awk" -f "$here/reference.awk" "${headers[@]}"
frame include/whorl "Reference" <"$work/index.html"
for header in "${headers[@]}"; do
	frame "$header" "${header#include/}" <"$work/${header##*/}.html"
done

for page in "${pages[@]}"; do
	cmark-gfm -e table "$page" | with_names "$(page_of "$page")" "$here/slug.awk" -f "$here/page.awk" |
		frame "$page" "$(title_of "$page")"
done
for page in "${pages[@]}"; do
	while read -r link; do
		within "$page" "$link"
	done < <(grep -o '](\([^)#]*\)' "$page" | sed 's/^](//' | grep -vE '^[a-z]*:|^$|\.md$' || true)
done | sort -u | while read -r path; do
	case $path in
	include/whorl | include/whorl/*) ;;
	*.svg | *.png) install -D -m 644 "$path" "$out/$path" ;;
	*) if [ -d "$path" ]; then directory_page "$path"; else source_page "$path"; fi ;;
	esac
done
