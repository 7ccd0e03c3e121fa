# shellcheck shell=bash
# patience.sh - tests/patience.h for scripts: `patience MS` prints how long to wait where MS is right for a machine that does nothing
# else. Read by scripts of tests.

patience() {
	local load=${WHORL_PATIENCE:-} cpus=1 least=0.1

	if [ -z "$load" ]; then
		least=1
		cpus=$(nproc)
		read -r load _ </proc/loadavg || load=$((5 * cpus))
	fi
	awk -v ms="$1" -v load="$load" -v cpus="$cpus" -v least="$least" 'BEGIN {
		factor = load / cpus
		printf "%d\n", ms * (factor < least ? least : factor > 5 ? 5 : factor)
	}'
}
