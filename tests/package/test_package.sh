#!/usr/bin/env bash
# test_package.sh BUILD WORK - installs the build to a prefix, moves the prefix away, and uses what is there as a stranger
# would: by find_package and by pkg-config, shared and static, from C and from C++.

set -euo pipefail

here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
build=$1 work=$2
cc=${CC:-cc}
strict=(-Wall -Wextra -Wpedantic -Werror)

die() { printf 'test_package: %s\n' "$*" >&2; exit 1; }
expect() { [ "$2" = "$3" ] || die "$1: expected \"$3\", found \"$2\""; }

# A C++ compiler, of whatever name.
cxx=$(command -v c++ || command -v clang++) || die "there is no C++ compiler"

rm -rf "$work"
mkdir -p "$work"
cmake --install "$build" --prefix "$work/installed" >"$work/install.log"
prefix=$work/moved
mv "$work/installed" "$prefix"

version=$(sed -n 's/^#define WHORL_VERSION_[A-Z]* \([0-9]*\)$/\1/p' "$prefix/include/whorl/whorl.h" | paste -sd.)
library=$(find "$prefix" -name libwhorl.so)
archive=$(find "$prefix" -name libwhorl.a)
libdir=$(dirname "$library")
export PKG_CONFIG_PATH=$libdir/pkgconfig

# ---- what is in the libraries -------------------------------------------------------------------------------------------

expect "soname" "$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')" "libwhorl.so.${version%%.*}"

# check_names LIBRARY ARCHIVE SYMBOLS HEADER...: what is exported is what the headers declare, and stays.
check_names() {
	local foreign

	cat "${@:4}" | tr '\n' ' ' | grep -oE 'WHORL_API [^;()]*[ *]whorl_[a-z_]+\(' | sed 's/($//; s/.*[ *]//' | sort >"$work/declared"
	# Versioned names alone: that of the version itself (type A) has none.
	nm -D --defined-only --with-symbol-versions "$1" | awk '$2 != "A" { print $3 }' | sort >"$work/exported"
	sed 's/@.*//' "$work/exported" | diff -u "$work/declared" - >&2 || die "$1 exports other names than the headers declare"
	diff -u "$here/$3" "$work/exported" >&2 ||
		die "names or versions are others than $3 holds: what is there stays for programs that are linked with it, what is new is added"
	foreign=$(nm -g --defined-only "$2" | awk 'NF == 3 && $3 !~ /^(whorl|wh)_/ { print $3 }')
	expect "names in $2 that are not whorl's" "$foreign" ""
}

check_names "$library" "$archive" symbols.txt "$prefix"/include/whorl/{delegate,message,replica,result,status,whorl}.h
check_names "$libdir/libwhorl_dds.so" "$libdir/libwhorl_dds.a" symbols_dds.txt "$prefix/include/whorl/dds.h"
# Names of Cyclone DDS: those that the headers for its programs declare.
find "$prefix/include/whorl/compat" -name '*.h' -exec cat {} + | tr '\n' ' ' | grep -oE 'DDS_(DEPRECATED_)?EXPORT [^;()]*[ *][a-z0-9_]+\(' | sed 's/($//; s/.*[ *]//' | grep -v '^__' | sort -u >"$work/declared"
nm -D --defined-only --with-symbol-versions "$libdir/libwhorl_ddsc.so" | awk '$2 != "A" { print $3 }' | sort >"$work/exported"
sed 's/@.*//' "$work/exported" | sort | diff -u "$work/declared" - >&2 || die "libwhorl_ddsc exports other names than the headers declare"
diff -u "$here/symbols_ddsc.txt" "$work/exported" >&2 || die "names or versions are others than symbols_ddsc.txt holds"
expect "headers" "$(cd "$prefix/include/whorl" && echo *)" "compat dds.h delegate.h message.h replica.h result.h status.h whorl.h"
expect "what libwhorl_dds needs" "$(readelf -d "$libdir/libwhorl_dds.so" | sed -n 's/.*NEEDED.*\[\(libwhorl.*\)\]/\1/p')" "libwhorl.so.${version%%.*}"

# ---- the command --------------------------------------------------------------------------------------------------------

expect "whorl --version" "$("$prefix/bin/whorl" --version)" "whorl $version"
[ -f "$prefix/share/whorl/quickstart.ini" ] || die "share/whorl/quickstart.ini is not installed"

# ---- find_package -------------------------------------------------------------------------------------------------------

cmake -S "$here/stranger" -B "$work/stranger" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
	-DCMAKE_CXX_COMPILER="$cxx" -DWANTED="$version" >"$work/cmake.log" 2>&1 || { cat "$work/cmake.log"; die "find_package"; }
cmake --build "$work/stranger" >"$work/build.log" 2>&1 || { cat "$work/build.log"; die "a build with find_package"; }
for program in c_shared c_static cxx_shared dds_shared dds_static dds_cxx; do
	expect "$program" "$("$work/stranger/$program")" "$version"
done
for program in ddsc ddsc_cxx; do
	expect "$program" "$("$work/stranger/$program")" "there is nothing"
done
for program in c_static dds_static; do
	! ldd "$work/stranger/$program" | grep -q libwhorl || die "$program is shared"
done

# ---- pkg-config ---------------------------------------------------------------------------------------------------------

read -ra flags < <(pkg-config --cflags --libs whorl)
"$cc" -std=c11 "${strict[@]}" "$here/stranger/stranger.c" -o "$work/shared" "${flags[@]}"
expect "pkg-config, shared" "$(LD_LIBRARY_PATH=$libdir "$work/shared")" "$version"
! readelf -d "$work/shared" | grep -Eq 'NEEDED.*(inih|urcu)' || die "a shared link names whorl's private libraries"

read -ra flags < <(pkg-config --static --cflags --libs whorl)
"$cc" -std=c11 "${strict[@]}" -static "$here/stranger/stranger.c" -o "$work/static" "${flags[@]}"
expect "pkg-config, static" "$("$work/static")" "$version"

read -ra flags < <(pkg-config --cflags --libs whorl_dds)
"$cc" -std=c11 "${strict[@]}" "$here/stranger/topics.c" -o "$work/dds_shared" "${flags[@]}"
expect "pkg-config, topics" "$(LD_LIBRARY_PATH=$libdir "$work/dds_shared")" "$version"
read -ra flags < <(pkg-config --static --cflags --libs whorl_dds)
"$cc" -std=c11 "${strict[@]}" -static "$here/stranger/topics.c" -o "$work/dds_static" "${flags[@]}" 2>"$work/static.log" ||
	{ cat "$work/static.log"; die "a static link of topics"; }
expect "pkg-config, topics, static" "$("$work/dds_static")" "$version"

read -ra flags < <(pkg-config --cflags --libs whorl_ddsc)
"$cc" -std=c11 "${strict[@]}" "$here/stranger/cyclone.c" -o "$work/ddsc" "${flags[@]}" -Wl,-rpath-link,"$libdir"
expect "pkg-config, Cyclone DDS's" "$(LD_LIBRARY_PATH=$libdir "$work/ddsc")" "there is nothing"

# ---- examples, manual pages, completion ----------------------------------------------------------------------------------

read -ra flags < <(pkg-config --cflags --libs whorl)
mkdir "$work/examples"
examples=$prefix/share/doc/whorl/examples
expect "the examples that are installed" "$(cd "$examples" && echo *.c dds/*.c)" "$(cd "$here/../../examples" && echo *.c dds/*.c)"
for example in "$examples"/*.c; do
	"$cc" -std=c11 -D_GNU_SOURCE "${strict[@]}" "$example" -o "$work/examples/$(basename "$example" .c)" "${flags[@]}" -pthread
done
read -ra flags < <(pkg-config --cflags --libs whorl_dds)
for example in "$examples"/dds/*.c; do
	"$cc" -std=c11 -D_GNU_SOURCE "${strict[@]}" "$example" -o "$work/examples/dds-$(basename "$example" .c)" "${flags[@]}"
done
expect "an example of topics" "$(LD_LIBRARY_PATH=$libdir "$work/examples/dds-hello" | wc -l)" 2
expect "an example" "$(LD_LIBRARY_PATH=$libdir "$work/examples/hello" | sort | uniq | wc -l)" 4

for command in "" bench calibrate config dds log node report sim status; do
	page=$prefix/share/man/man1/whorl${command:+-$command}.1
	# shellcheck disable=SC2086 # no word for the first
	for option in $("$prefix/bin/whorl" $command --help | grep -oE -- '^ .*--[a-z]+' | grep -oE -- '--[a-z]+'); do
		grep -qF -- "\\-\\-${option#--}" "$page" || die "$page: $option is missing"
	done
done
while IFS='@' read -r name _; do
	page=$prefix/share/man/man3/$name.3
	[ -f "$page" ] || die "there is no manual page $name(3)"
	other=$(sed -n 's/^\.so //p' "$page")
	[ -z "$other" ] || page=$prefix/share/man/$other
	grep -q "^enum.*$name(\|[ *]$name(" "$page" || die "$name(3) has no prototype"
done < <(cat "$here"/symbols{,_dds}.txt)
grep -q 'KEEP_LAST holds up nobody' "$prefix/share/man/man3/whorl_dds.3" || die "whorl_dds(3) is not what stands at the top of dds.h"
grep -q 'WHORL_INVALID' "$prefix/share/man/man3/whorl.3" || die "whorl(3) is not what stands at the top of whorl.h"
"$prefix/bin/whorl" config --describe | sed -n 's/^  \([a-z_]*\) = .*/\1/p' | while read -r key; do
	grep -q "^\.B $key = " "$prefix/share/man/man5/whorl.ini.5" || die "whorl.ini(5) has no $key"
done
for page in "$prefix"/share/man/man*/*; do
	grep -q '^\.so ' "$page" || # it is another page
		expect "what groff says of $page" "$(groff -man -Kutf8 -Tutf8 -ww -z "$page" 2>&1)" ""
done
"$here/completion.sh" "$prefix/bin/whorl" "$prefix/share/bash-completion/completions/whorl"

# ---- Debian packages ------------------------------------------------------------------------------------------------------
# Each file is in one of them, where it is looked for. That of the bridge has nothing where Cyclone DDS is not.

for component in library development command bridge; do
	mkdir -p "$work/$component"
	cmake --install "$build" --prefix "$work/$component" --component $component >>"$work/install.log"
	(cd "$work/$component" && find . ! -type d) >"$work/$component.files"
done
expect "the library's files" "$(sed 's/.*libwhorl/libwhorl/' "$work/library.files" | sort | paste -sd' ')" \
	"libwhorl.so.${version%%.*} libwhorl.so.$version libwhorl_dds.so.${version%%.*} libwhorl_dds.so.$version libwhorl_ddsc.so.${version%%.*} libwhorl_ddsc.so.$version"
grep -q 'libwhorl\.so$' "$work/development.files" || die "the link that compilers look for is not among the development files"
grep -q 'bin/whorl$' "$work/command.files" || die "the command is not among its files"
! grep -v 'whorl-dds-bridge' "$work/bridge.files" || die "the bridge's package has what is not its own"
cat "$work"/{library,development,command,bridge}.files | sort >"$work/packaged"
(cd "$prefix" && find . ! -type d) | sort | diff -u - "$work/packaged" >&2 || die "a file is in no package, or in two"
