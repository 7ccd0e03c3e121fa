#!/usr/bin/env bash
# test_small.sh ROOT BUILD WORK - a library for shared memory alone (WHORL_VERBS and WHORL_TLS off), without topics (WHORL_DDS): what it links, what it says of what it
# lacks. And programs that were compiled before: its structs are made larger than the headers say that these see.

set -euo pipefail

here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
root=$1 build=$2 work=$3
cc=${CC:-cc}
grows=(whorl_message whorl_view whorl_position whorl_position_of whorl_open_options whorl_state whorl_node_stats whorl_subgroup_stats whorl_log_stats
	whorl_subgroup_info whorl_subgroup_options whorl_status whorl_status_member whorl_status_place whorl_status_shard whorl_status_worker whorl_status_missing whorl_call whorl_outcome
	whorl_type whorl_function whorl_work_options whorl_worker_stats)

die() { printf 'test_small: %s\n' "$*" >&2; exit 1; }
expect() { [ "$2" = "$3" ] || die "$1: expected \"$3\", found \"$2\""; }

rm -rf "$work"
mkdir -p "$work/source"
for part in CMakeLists.txt base bench bridge cmake command conf dds ddsc delegation examples group include membership persistence predicates replica resp sim smc sst state tools transport work; do
	cp -r "$root/$part" "$work/source"
done

# ---- structs that have grown ----------------------------------------------------------------------------------------------

for struct in "${grows[@]}"; do
	sed -i "/^struct $struct {/,/^};/ s/^};/\tchar grown[72];\n};/" "$work"/source/include/whorl/*.h
done
expect "structs that have grown" "$(cat "$work"/source/include/whorl/*.h | grep -c 'char grown\[72\]')" ${#grows[@]}
# Every other one is the program's alone, or never grows. Those of dds.h are another library's.
expect "structs that do not grow" "$(find "$root/include/whorl" -name '*.h' ! -name dds.h -exec sed -n 's/^struct \(whorl_[a-z_]*\) {.*/\1/p' {} + | grep -vxF "$(printf '%s\n' "${grows[@]}")" |
	sort | paste -sd' ')" "whorl_batch_stats whorl_claim whorl_join whorl_none whorl_place whorl_trust"

# ---- the library -----------------------------------------------------------------------------------------------------------

cmake -S "$work/source" -B "$work/build" -DCMAKE_C_COMPILER="$cc" -DWHORL_VERBS=OFF -DWHORL_TLS=OFF -DWHORL_DDS=OFF -DWHORL_WERROR=ON \
	-DCMAKE_C_FLAGS_RELEASE="-O0 -DNDEBUG" >"$work/cmake.log" 2>&1 ||
	{ cat "$work/cmake.log"; die "it cannot be configured"; }
cmake --build "$work/build" --target library man_api >"$work/build.log" 2>&1 || { cat "$work/build.log"; die "it cannot be built"; }
for component in library development; do
	cmake --install "$work/build" --prefix "$work/installed" --component $component >>"$work/build.log"
done
library=$(find "$work/installed" -name libwhorl.so)
libdir=$(dirname "$library")
needed=$(readelf -d "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -v '^ld-linux' | sed 's/\.so.*//' | sort | paste -sd' ')
expect "what the library needs" "$needed" "libc libinih liburcu-bp"
export PKG_CONFIG_PATH=$libdir/pkgconfig
expect "what a static link needs" "$(pkg-config --print-requires-private whorl | sed 's/ .*//' | sort | paste -sd' ')" "inih liburcu-bp"

# ---- programs ----------------------------------------------------------------------------------------------------------------

# Compiled with the headers as they are, and linked with the library of BUILD.
for program in "$here"/stranger/old.c "$here"/stranger/alone.c "$root"/examples/{hello,senders,store,views,window}.c; do
	"$cc" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -I"$root/include" "$program" -o "$work/$(basename "$program" .c)" \
		-L"$build" -lwhorl -pthread
done
# Strangers may run a hello at the same time: a group's name is there once for a user.
for program in senders store views window; do
	LD_LIBRARY_PATH=$libdir "$work/$program" >"$work/$program.out" 2>&1 || { cat "$work/$program.out"; die "$program, with structs that have grown"; }
done
for _ in {1..50}; do
	LD_LIBRARY_PATH=$libdir "$work/hello" >"$work/hello.out" 2>&1 && break
	grep -q 'is already running' "$work/hello.out" || { cat "$work/hello.out"; die "hello"; }
	sleep 0.2
done
expect "hello's lines" "$(sort -u "$work/hello.out" | wc -l)" 4
expect "a program with the library that it was linked with" "$(LD_LIBRARY_PATH=$build "$work/old")" "the same"
expect "a program with one that has larger structs" "$(LD_LIBRARY_PATH=$libdir "$work/old")" "grown"
LD_LIBRARY_PATH=$libdir "$work/alone"

# Linked with the archive, in one piece: what pkg-config says is all that it needs.
read -ra flags < <(pkg-config --static --cflags --libs whorl)
"$cc" -std=c11 -D_GNU_SOURCE -static "$here/stranger/alone.c" -o "$work/alone-static" "${flags[@]}" 2>"$work/static.log" || { cat "$work/static.log"; die "a static link"; }
rm -rf "$work"
