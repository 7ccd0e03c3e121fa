# shellcheck shell=bash
# common.sh - what the scripts of bench/peers share. Read by them.

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")

say() { printf '== %s\n' "$*" >&2; }

failures=0
publish=no
add=no
out=   # the directory of results
systems= # what is compared
table= # names of the numbers of rounds, which --table makes 0

# read_options "NAME NAME..." ARGUMENT...: sets the variables of these options, which have a value, and those above. usage says them all.
read_options() {
	local names=" $1 " name

	shift
	while [ $# -gt 0 ]; do
		case $1 in
		--help) usage; exit ;;
		--publish) publish=yes ;;
		--add) add=yes ;;
		*)
			if [ "$1" = --table ] && [ -n "$table" ]; then
				add=yes
				for name in $table; do declare -g "$name=0"; done
			elif [[ $1 == --* && $names == *" ${1#--} "* ]] && [ $# -gt 1 ]; then
				declare -g "${1#--}=$2"
				shift
			else
				usage >&2
				exit 2
			fi
			;;
		esac
		shift
	done
}

# begin_results NAME...: files of $out, empty but with --add
begin_results() {
	local name

	mkdir -p "$out"
	for name in "$@"; do
		[ $add = yes ] || : >"$out/$name.json"
		touch "$out/$name.json"
	done
}

# tell_failure WHAT LOG
tell_failure() {
	say "$1: failed"
	sed 's/^/   /' "$2" >&2
}

# end_of_runs MARK "FILES" [PAGE]: the table is made; 1 if a run has failed
end_of_runs() {
	[ $publish = no ] || publish_table "$1" "$out/table.md" "${3:-peers}"
	say "figures: $2"
	[ $failures -eq 0 ] || { say "$failures runs failed, twice each"; return 1; }
}

# find_systems PREFIX: of $systems, each of which is a function PREFIX_SYSTEM, $there has those that are there (`has`)
find_systems() {
	local system

	there=
	for system in $systems; do
		[ "$(type -t "$1_$system")" = function ] || { say "there is no system $system"; exit 2; }
		if has "$system"; then
			there+=${there:+ }$system
		else
			say "$system is not there: it is left out"
		fi
	done
}

# twice COMMAND...: once more if it fails, which counts if it fails again.
twice() { "$@" || "$@" || failures=$((failures + 1)); }

jiffies() { awk '/^cpu / { all = 0; for (i = 2; i <= 9; i++) all += $i; print all, all - $5 - $6; exit }' /proc/stat; }

# The share of the processors that is in use, by others than us: between two runs.
busy() {
	local all used all_before used_before

	read -r all_before used_before < <(jiffies)
	sleep 0.2
	read -r all used < <(jiffies)
	awk "BEGIN { printf \"%.2f\", ($used - $used_before) / ($all - $all_before) }"
}

# await_calm SECONDS: waits for calm, at most so long, and says how busy the machine is.
await_calm() {
	local end=$((SECONDS + $1)) now

	now=$(busy)
	while [ "$SECONDS" -lt "$end" ] && awk "BEGIN { exit $now < 0.2 }"; do
		now=$(busy)
	done
	echo "$now"
}

# turned ROUND "WORD WORD...": the order of the systems turns from round to round, so that none always has the same neighbour.
turned() {
	local words by

	read -ra words <<<"$2"
	by=$(($1 % ${#words[@]}))
	echo "${words[@]:by}" "${words[@]:0:by}"
}

# publish_table MARK FILE PAGE: puts the file between the lines of docs/PAGE.md that begin with "<!-- MARK:" and "<!-- end".
publish_table() {
	local page=$here/../../docs/$3.md

	awk -v mark="^<!-- $1:" -v table="$2" '
		$0 ~ mark { print; print ""; while ((getline line < table) > 0) print line; print ""; skip = 1; next }
		/^<!-- end/ { skip = 0 }
		!skip
	' "$page" >"$page.new"
	mv "$page.new" "$page"
}
