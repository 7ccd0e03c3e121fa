#!/usr/bin/env bash
# table.sh - which test kills which mutant: table.sh BUILD [-R REGEX] [-T REGEX]
#
#     BUILD     a build with all mutants (cmake -DWHORL_MUTANTS=all) by ninja, as `./run mutants --table` makes it
#     -R REGEX  of the names of mutants; all without
#     -T REGEX  of the names of tests, of those of tests/unit; all without
#
# Each mutant's object is put in front of the library in each unit test that runs the mutated function (what runs it, BUILD/cover tells, which
# has been built with --coverage), and the test is run to its end. What has been found is kept for as long as neither the mutant's objects nor the test
# are other ones, so that it can be ended, and begun again. Written is:
#
#     BUILD/mutants/table.tsv   mutant, test, the cases of it that fail: a line for each pair, `-` for a mutant that none kills
#     BUILD/mutants/tests.tsv   of each test how many it was tried on, how many it kills, how many nothing else kills, and its time in ms
#     BUILD/mutants/cases.tsv   of each case that has killed one how many, and how many of these no other case kills

set -euo pipefail
[ $# -ge 1 ] || { printf 'usage: table.sh BUILD [-R REGEX] [-T REGEX]\n' >&2; exit 2; }
build=$(readlink -f "$1")
source=$(readlink -f "$(dirname "$0")/../..")
shift
mutants=. tests=.
while getopts R:T: option; do
	case $option in
	R) mutants=$OPTARG ;;
	T) tests=$OPTARG ;;
	*) exit 2 ;;
	esac
done
out=$build/mutants cover=$build/cover
mkdir -p "$out/pairs" "$out/links" "$out/runs"

say() { printf '== %s\n' "$*" >&2; }

names() { # of unit tests
	local file

	for file in "$source"/tests/unit/test_*.c; do basename "$file" .c; done | grep -E "$tests"
}

# in_own_place COMMAND...: with a temporary directory of its own, which goes
in_own_place() {
	local place status=0

	place=$(mktemp -d)
	TMPDIR=$place WHORL_PATIENCE=0.5 CK_TIMEOUT_MULTIPLIER=5 CK_VERBOSITY=silent timeout -k 5 120 "$@" >/dev/null 2>&1 </dev/null || status=$?
	rm -rf "$place"
	return $status
}

# What each test runs, and for how long, and that it passes.
look_at() {
	local test=$1 began status=0

	began=$(date +%s%N)
	GCOV_PREFIX=$out/runs/$test in_own_place "$cover/tests/$test" || status=$?
	printf '%s\t%s\n' "$status" $((($(date +%s%N) - began) / 1000000)) >"$out/runs/$test.result"
	cp "$cover/tests/$test" "$out/runs/$test.program" # as long as it is this one, that holds
}

# The function around the text that a mutant replaces; nothing if it is in none.
function_of() { # FILE TEXT
	awk 'NR == FNR { if (text == "" && NF > 0) text = $0; next }
		/^[a-z_].*\(/ { name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name) }
		/^}/ { if (!found) name = "" }
		index($0, text) && !found { found = 1; print name; exit }' "$2" "$1"
}

# True if that test runs that function of that file (any of it: in a header, a table).
runs() { # TEST FILE FUNCTION
	local data='' notes

	[ "${2##*.}" = c ] || return 0
	while read -r data; do # of that name; but of which directory?
		[ "$(sed -E 's|/CMakeFiles/[^/]*[.]dir||' <<<"$data")" != "$out/runs/$1$cover/$2.gcda" ] || break
		data=
	done < <(find "$out/runs/$1" -name "${2##*/}.gcda" 2>/dev/null)
	[ -n "$data" ] || return 1
	[ -n "$3" ] || return 0
	[ -e "$data.functions" ] || {
		notes=${data#"$out/runs/$1"} # the notes lie beside the object
		cp "${notes%.gcda}.gcno" "${data%.gcda}.gcno"
		(cd "$(dirname "$data")" && gcov -n -f "$data" 2>/dev/null) |
			awk -F"'" '/^Function/ { name = $2 } /^Lines executed:/ { if (name != "" && $0 !~ /:0.00%/) print name; name = "" }' \
				>"$data.functions"
	}
	grep -qx "$3" "$data.functions" || ! (cd "$source" && grep -q "^[a-z].*[ *]$3(" "$2")
}

# The program of a test with a mutant in it: as ninja links it, with the mutant's objects before the libraries.
link() { # TEST PROGRAM OBJECT...
	local command

	[ -s "$out/links/$1" ] || ninja -C "$build" -t commands "$1" | tail -n 1 >"$out/links/$1"
	command=$(sed "s| -o tests/$1 | ${*:3} -o $2 |" "$out/links/$1")
	(cd "$build" && sh -c "$command")
}

try() { # MUTANT
	local mutant=$1 file name test key program=$out/program.$1 status log=$out/log.$1 failed objects

	mapfile -t objects < <(find "$build/tests/mutants/CMakeFiles/mutant-$mutant.dir" -name '*.o')
	[ ${#objects[@]} -gt 0 ] || return 0
	file=$(cd "$build/tests/mutants/$mutant" && find . -name '*.[ch]' | head -n 1)
	name=$(function_of "$source/$file" "$build/tests/mutants/$mutant/text")
	touch "$out/pairs/$mutant"
	: >"$out/pairs/$mutant.new"
	while read -r test; do
		read -r status _ <"$out/runs/$test.result"
		if [ "$status" -ne 0 ] || ! runs "$test" "${file#./}" "$name"; then
			continue
		fi
		key=$(cat "${objects[@]}" "$build/tests/$test" | sha256sum | cut -c 1-16)
		if grep -m 1 "^$key	" "$out/pairs/$mutant" >>"$out/pairs/$mutant.new"; then
			continue
		fi
		link "$test" "$program" "${objects[@]}" 2>/dev/null || continue
		rm -f "$log"
		status=0
		CK_TAP_LOG_FILE_NAME=$log in_own_place "$program" || status=$?
		failed=$(sed -n 's/^.*not ok [0-9]* - [^:]*:[^:]*:\([^:]*\).*/\1/p' "$log" 2>/dev/null | sort -u | paste -sd ,)
		[ "$status" -ne 0 ] || failed=
		[ "$status" -eq 0 ] || [ -n "$failed" ] || failed=status-$status
		printf '%s\t%s\t%s\n' "$key" "$test" "$failed" >>"$out/pairs/$mutant.new"
	done < <(names)
	mv "$out/pairs/$mutant.new" "$out/pairs/$mutant"
	rm -f "$program" "$log"
	printf '%s: %s of %s\n' "$mutant" "$(awk -F'\t' '$3 != ""' "$out/pairs/$mutant" | wc -l)" "$(wc -l <"$out/pairs/$mutant")" >&2
}

tables() {
	(cd "$out/pairs" && for mutant in *; do
		awk -F'\t' -v mutant="$mutant" '$3 != "" { print mutant "\t" $2 "\t" $3; n++ }
			END { if (!n) print mutant "\t-\t" }' "$mutant"
	done) >"$out/table.tsv"
	(for file in "$out"/runs/*.result; do printf 'time\t%s\t%s\n' "$(basename "$file" .result)" "$(cut -f 2 "$file")"; done
	cut -f 2 "$out"/pairs/* | sed 's/^/tried\t/'
	sed 's/^/kills\t/' "$out/table.tsv") | awk -F'\t' '
		$1 == "time" { time[$2] = $3 }
		$1 == "tried" { tried[$2]++ }
		$1 == "kills" && $3 != "-" { kills[$3]++; killers[$2]++; last[$2] = $3 }
		END {
			for (mutant in last) if (killers[mutant] == 1) own[last[mutant]]++
			for (test in time) printf "%s\t%d\t%d\t%d\t%d\n", test, tried[test], kills[test], own[test], time[test]
		}' | sort >"$out/tests.tsv"
	awk -F'\t' '$2 != "-" { n = split($3, cases, ","); for (i = 1; i <= n; i++) {
			name = $2 "\t" cases[i]; kills[name]++; killers[$1]++; last[$1] = name } }
		END { for (mutant in last) if (killers[mutant] == 1) own[last[mutant]]++
			for (name in kills) printf "%s\t%d\t%d\n", name, kills[name], own[name] }' "$out/table.tsv" | sort >"$out/cases.tsv"
}

export -f try runs link function_of names in_own_place look_at
export build source out cover tests
jobs=${JOBS:-$(nproc)}

say "building the tests, with and without coverage"
[ -e "$cover/build.ninja" ] || cmake -S "$source" -B "$cover" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS=--coverage -DWHORL_TESTS=ON \
	-DWHORL_TESTS_WITHOUT="mutants;models;processes;network;docs;package;softroce;fuzz;examples;cli" >/dev/null
mapfile -t chosen < <(names)
ninja -C "$cover" "${chosen[@]}" >/dev/null
ninja -C "$build" "${chosen[@]}" >/dev/null
say "what ${#chosen[@]} tests run"
for test in "${chosen[@]}"; do
	cmp -s "$cover/tests/$test" "$out/runs/$test.program" || { rm -rf "$out/runs/$test"; printf '%s\n' "$test"; }
done | xargs -r -P "$jobs" -I{} bash -c 'look_at {}'
mapfile -t played < <(cut -f 1 "$build/tests/mutants/list" | grep -E "$mutants")
say "${#played[@]} mutants"
ninja -C "$build" -k 0 "${played[@]/#/mutant-}" >/dev/null || true
printf '%s\n' "${played[@]}" | xargs -r -P "$jobs" -I{} bash -c 'try {}'
tables
say "$out/table.tsv, tests.tsv, cases.tsv"
