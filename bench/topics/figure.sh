#!/usr/bin/env bash
# figure.sh - runs `whorl dds perf` for each combination of the lists of a file, and writes what `whorl report` draws.
#
#     figure.sh WHORL FILE.ini RUNS OUT.json
#
# Each line of OUT is a run, with the keys of `whorl bench --json` that a picture needs (docs/benchmark.md); the limit is the bare subgroup.

set -euo pipefail

whorl=$1 file=$2 runs=$3 out=$4

# value SECTION KEY
value() {
	awk -v section="[$1]" -v key="$2" '
		/^\[/ { here = $0 == section }
		here && $1 == key { sub(/^[^=]*= */, ""); print; exit }' "$file"
}

# The keys of [perf], in the order of the file.
keys() { awk '/^\[/ { here = $0 == "[perf]" } here && /=/ { print $1 }' "$file"; }

work=$(mktemp "${TMPDIR:-/tmp}/whorl-figure.XXXXXX")
trap 'rm -f "$work"' EXIT

machine=$(jq -n -c --argjson cpus "$(nproc)" --arg model "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" \
	--arg kernel "$(uname -r)" '{cpus: $cpus, model: $model, kernel: $kernel}')
figure=$(jq -n -c --arg title "$(value figure title)" --arg x "$(value figure x)" --arg panels "$(value figure panels)" \
	--arg y "$(value figure y)" '{title: $title, x: $x, panels: $panels, y: $y}')
version=$("$whorl" --version | head -n 1)

# run VARIANT RUN OPTION...
run() {
	"$whorl" dds perf "${@:3}" --json "$work"
	jq -c --arg file "$file" --arg variant "$1" --argjson run "$2" --argjson figure "$figure" --argjson machine "$machine" \
		--arg version "$version" --arg command "build/whorl dds perf ${*:3}" '
		{version: $version, file: $file, variant: $variant, run: $run, timed: true, transport, nodes: (.writers + (.readers | length)),
		bytes, messages_per_s: .samples_per_s, bytes_per_s, latency_us,
		limit: {name: "raw", messages_per_s: .raw.messages_per_s, bytes_per_s: (.raw.messages_per_s * .bytes)},
		fraction_of_limit: .fraction_of_raw, command: $command, figure: $figure, machine: $machine}' "$work" >>"$out"
	printf '   %s: %.0f samples/s, %.2f of the bare subgroup\n' "$1" "$(jq .samples_per_s "$work")" "$(jq .fraction_of_raw "$work")" >&2
}

# combine RUN VARIANT KEYS [OPTION]...: all combinations of what is left of the keys
combine() {
	local key one values name rest=

	if [ -z "$3" ]; then
		run "$2" "$1" "${@:4}"
		return
	fi
	key=${3%% *}
	IFS=', ' read -ra values <<<"$(value perf "$key")"
	[[ $3 != *' '* ]] || rest=${3#* }
	for one in "${values[@]}"; do
		name=$2
		[ ${#values[@]} -eq 1 ] || name+="${2:+, }$key = $one"
		combine "$1" "$name" "$rest" "${@:4}" "--$key" "$one"
	done
}

: >"$out"
for ((n = 1; n <= runs; n++)); do
	combine "$n" '' "$(keys | paste -sd ' ')"
done
