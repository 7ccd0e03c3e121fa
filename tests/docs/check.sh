#!/usr/bin/env bash
# check.sh ROOT COMMAND - what the documentation says is there is there: the README's program, links and the headings that
# they lead to, files, names of the code, and every key of the configuration. COMMAND is the `whorl` that was built.
# shellcheck disable=SC2016 # backquotes are Markdown here

set -euo pipefail

cd "$1"
command=$2
pages=(README.md docs/*.md docs/decisions/*.md)
failed=0

complain() {
	printf '%s\n' "$*"
	failed=1
}

# ---- the README ---------------------------------------------------------------------------------------------------------

[ "$(wc -l <README.md)" -le 180 ] || complain "README.md has more than 180 lines"
expected='Two commands
Three nodes and a kill
A program
When to take something else
What it guarantees
How fast
What it needs
Status'
diff -u <(printf '%s\n' "$expected") <(sed -n 's/^## //p' README.md) || complain "README.md has other sections, or another order"
version=$("$command" --version | grep -oE '[0-9]+\.[0-9]+' | head -1)
sed '1,/^## Status/d' README.md | grep -qF "$version, not released" || complain "README.md: the status does not say $version"
while read -r package; do
	sed '1,/^## What it needs/d' README.md | grep -qwF -- "$package" || complain "README.md does not name $package, which ./run installs"
done < <(grep -oE '^\s+need [a-z0-9+-]+' tools/packages.sh | awk '$2 != "libc6-dev" { print $2 }' | sort -u)
awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' README.md | diff -u examples/hello.c - ||
	complain "the program in README.md is not examples/hello.c"

# ---- links --------------------------------------------------------------------------------------------------------------

anchors() { awk -f docs/site/slug.awk -f docs/site/anchors.awk "$1"; }

for page in "${pages[@]}"; do
	while read -r link; do
		[ -e "$(dirname "$page")/$link" ] || complain "$page: there is no $link"
	done < <(grep -o '](\([^)#]*\)' "$page" | sed 's/^](//' | grep -v '^[a-z]*:' | grep .)
	while IFS='#' read -r link anchor; do
		[ -z "$link" ] || link=$(dirname "$page")/$link
		anchors "${link:-$page}" | grep -qxF -- "$anchor" || complain "$page: ${link:-the page} has no heading $anchor"
	done < <(grep -o '](\([^):]*#[^)]*\))' "$page" | sed 's/^](//; s/)$//' || true)
done
for page in docs/*.md docs/decisions/*.md; do
	grep -qE "[(/]$(basename "$page")\)" "${pages[@]}" || complain "no page leads to $page"
done

# ---- the parts, as the build holds them ---------------------------------------------------------------------------------

while read -r part; do
	compgen -G "$part/*.c" >/dev/null || continue # a place for what is to come, or a part of a folder
	grep -qF "$part/" docs/architecture.md || complain "docs/architecture.md does not name $part/"
done < <(sed -n 's/^\t"\([a-z/]*\) *:.*/\1/p' cmake/edges.cmake | grep -v '^include')

# ---- names of the code: `files`, `functions()`, whorl's own prefixes, `names_of_tests` -----------------------------------

sources=(base conf transport sst smc predicates membership persistence state group replica work delegation dds ddsc bridge sim command tools bench examples include tests cmake)
words=$(grep -IrhoE '[A-Za-z_][A-Za-z_0-9]*' "${sources[@]}" run CMakeLists.txt | sort -u)
not_in_the_code() { sort -u | comm -23 - <(printf '%s\n' "$words"); } # of the names that it reads
for page in "${pages[@]}"; do
	while read -r path; do
		compgen -G "$path" >/dev/null || complain "$page: there is no file $path"
	done < <(grep -oE '`[^`]+`' "$page" | tr -d '`' | grep -E "^($(IFS='|' && echo "${sources[*]}")|docs)/[A-Za-z0-9_./*-]+$" || true)
	while read -r name; do
		complain "$page: there is no $name in the code"
	done < <(grep -oE '\b(wh|whorl|WH|WHORL)_[A-Za-z0-9_]*[A-Za-z0-9]\b|`[a-z_0-9]+\(\)`' "$page" | tr -d '`()' | not_in_the_code)
	[[ $page == docs/decisions/* ]] && continue # they may name what was not taken
	while read -r name; do
		complain "$page: there is no $name in the code"
	done < <(grep -oE '`[a-z0-9]+(_[a-z0-9]+){2,}`|\b[A-Z]{2,}(_[A-Z]+)+\b' "$page" | tr -d '`' | not_in_the_code)
	while read -r name; do
		grep -qwF -- "${name#processes-}" tests/processes/CMakeLists.txt || complain "$page: there is no test $name"
	done < <(grep -oE '`processes-[a-z-]+`' "$page" | tr -d '`' | sort -u || true)
done

# ---- the configuration --------------------------------------------------------------------------------------------------

"$command" config --describe --markdown | diff -u docs/configuration.md - ||
	complain "docs/configuration.md is not what \`whorl config --describe --markdown\` says: make it anew"

exit $failed
