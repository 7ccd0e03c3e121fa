#!/usr/bin/env bash
# rate.sh BUILD [SIZES [READERS [ROUNDS [SECONDS]]]] - ddsperf, one binary, on Cyclone DDS and on whorl, and `whorl dds perf`, in turns.
#
# What ddsperf uses: topic KS (a key, a number, a sequence of octets), RELIABLE, KEEP_ALL, resource_limits of 10,000 samples, batching on (of
# Cyclone DDS), a listener that takes up to 1000. `whorl dds perf` has the same policies with 4096, no key, a listener that takes up to 256. Each
# round starts all processes anew. Of a round the rate is the median of the whole seconds of each reader, and the mean of the readers. OLD names a
# folder with other libraries of whorl (libwhorl.so.0, libwhorl_dds.so.0, libwhorl_ddsc.so.0), which run in the same turns. SIZES or
# READERS may be "": then that part, here throughput, is left out. PING=1 measures half a round trip, too, with listeners and with waitsets.

set -euo pipefail

build=$1 sizes=${2-128 1024 10240} readers=${3-1 3} rounds=${4:-5} seconds=${5:-3}
ddsperf=${DDSPERF:-ddsperf} whorl=${WHORL:-$build/whorl}
domain=$(($$ % 220 + 5))
export CYCLONEDDS_URI=${CYCLONEDDS_URI-'<General><Interfaces><NetworkInterface name="lo" multicast="true"/></Interfaces></General>'}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

on() { # WHICH COMMAND...
	case $1 in
	cyclone) "${@:2}" ;;
	whorl) LD_PRELOAD=$(readlink -f "$build/ddsc/libwhorl_ddsc.so.0") "${@:2}" ;;
	old) LD_LIBRARY_PATH=$OLD LD_PRELOAD=$(readlink -f "$OLD/libwhorl_ddsc.so.0") "${@:2}" ;;
	esac
}

median() { sort -g | awk '{ all[NR] = $1 } END { print NR % 2 ? all[(NR + 1) / 2] : (all[NR / 2] + all[NR / 2 + 1]) / 2 }'; }
# Of a reader, the seconds between the first and the last in which something came.
whole_seconds() { sed -n 's/.* rate \([0-9.]*\) kS.*/\1/p' "$1" | awk '$1 > 0 { all[++n] = $1 } END { for (i = 2; i < n; i++) print all[i] * 1000 }'; }

throughput() { # WHICH SIZE READERS
	local i
	if [ "$1" = perf ]; then
		"$whorl" dds --bytes "$2" --readers "$3" --read listener --seconds 1 perf | sed -n 's/^ "samples_per_s": \([0-9.e+]*\),/\1/p'
		return
	fi
	for i in $(seq "$3"); do
		on "$1" "$ddsperf" -i "$domain" -D $((seconds + 2)) -1 sub >"$dir/$i" &
	done
	sleep 0.7
	on "$1" "$ddsperf" -i "$domain" -D "$seconds" pub size "$2" >"$dir/pub"
	wait
	for i in $(seq "$3"); do whole_seconds "$dir/$i" | median; done | awk '{ sum += $1 } END { print sum / NR }'
}

ping_us() { # WHICH HOW
	on "$1" "$ddsperf" -i "$domain" -D $((seconds + 1)) pong "$2" >"$dir/pong" &
	sleep 0.3
	on "$1" "$ddsperf" -i "$domain" -D "$seconds" ping "$2" >"$dir/ping"
	wait
	sed -n 's/.* 50% \([0-9.]*\)us.*/\1/p' "$dir/ping" | median
}

which() { echo cyclone ${OLD:+old} whorl; }
note() { printf '%s\n' "$3" >>"$dir/$1.$2"; }
# NAME WHAT: the median, and the least and the most.
cell() {
	sort -g "$dir/$1.$2" |
		awk '{ all[NR] = $1 } END { printf "%.4g (%.4g to %.4g)", NR % 2 ? all[(NR + 1) / 2] : (all[NR / 2] + all[NR / 2 + 1]) / 2, all[1], all[NR] }'
}
ratio() { awk -v a="$(median <"$dir/$1.$3")" -v b="$(median <"$dir/$2.$3")" 'BEGIN { printf "%.2f", a / b }'; }

for _ in $(seq "$rounds"); do
	for size in $sizes; do
		for count in $readers; do
			for name in $(which) perf; do
				note "$name" "$size.$count" "$(throughput "$name" "$size" "$count")"
			done
		done
	done
	for how in ${PING:+listener waitset}; do
		for name in $(which); do note "$name" "$how" "$(ping_us "$name" "$how")"; done
	done
done

printf '%s rounds: median (least to most)\n' "$rounds"
[ -z "$sizes" ] || printf '| bytes | readers | Cyclone DDS |%s whorl, preloaded | whorl dds perf | of whorl dds perf | of Cyclone DDS |\n|---|---|---|%s---|---|---|---|\n' \
	"${OLD:+ whorl before |}" "${OLD:+---|}"
for size in $sizes; do
	for count in $readers; do
		what=$size.$count
		printf '| %s | %s | %s |%s %s | %s | %s | %s |\n' "$size" "$count" "$(cell cyclone "$what")" "${OLD:+ $(cell old "$what") |}" \
			"$(cell whorl "$what")" "$(cell perf "$what")" "$(ratio whorl perf "$what")" "$(ratio whorl cyclone "$what")"
	done
done
for how in ${PING:+listener waitset}; do
	printf 'ping, %s, us: Cyclone DDS %s,%s whorl %s, ratio %s\n' "$how" "$(cell cyclone "$how")" "${OLD:+ before $(cell old "$how"),}" \
		"$(cell whorl "$how")" "$(ratio whorl cyclone "$how")"
done
