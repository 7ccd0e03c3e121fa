# shellcheck shell=bash
# common.sh - what the scripts of bench/peers share. Read by them.

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")

say() { printf '== %s\n' "$*" >&2; }

failures=0

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

# publish_table MARK FILE: puts the file between the lines of docs/peers.md that begin with "<!-- MARK" and "<!-- end".
publish_table() {
	local page=$here/../../docs/peers.md

	awk -v mark="^<!-- $1" -v table="$2" '
		$0 ~ mark { print; print ""; while ((getline line < table) > 0) print line; print ""; skip = 1; next }
		/^<!-- end/ { skip = 0 }
		!skip
	' "$page" >"$page.new"
	mv "$page.new" "$page"
}
