# shellcheck shell=bash
# packages.sh - the Debian packages that the commands of ./run need: what is missing, and having it installed. Read by ./run, which
# has say, die and has.

missing=()

# need PACKAGE TEST [ARGUMENT]...: the package is missing if the test fails
need() {
	local package=$1
	shift
	"$@" >/dev/null 2>&1 || missing+=("$package")
}

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
library() { pkg-config --exists "$1" || installed "$2"; }
compiles() { has "$1" && printf '#include <stdio.h>\n' | "$1" -x c -fsyntax-only -; }
to_be_installed() { [[ " ${missing[*]} " = *" $1 "* ]]; }
compiles_cxx() { has c++ || has clang++ || to_be_installed clang; }
ninja_or_make() { has ninja || has make; }

need_build() {
	if [ -z "${CC:-}" ] && ! compiles cc; then
		need gcc has gcc
		need libc6-dev installed libc6-dev
	fi
	need cmake has cmake
	need ninja-build ninja_or_make
	need pkg-config has pkg-config
	need libinih-dev library inih libinih-dev
	need liburcu-dev library liburcu-bp liburcu-dev
	need libssl-dev library openssl libssl-dev
	need libibverbs-dev library libibverbs libibverbs-dev
	need librdmacm-dev library librdmacm librdmacm-dev
	need libjansson-dev library jansson libjansson-dev
	need uthash-dev installed uthash-dev
	need libck-dev library ck libck-dev
}

need_test() {
	need_build
	need ninja-build has ninja # make takes half as long again for the thousand small programs of the tests
	need check library check check
	need openssl has openssl
	need iproute2 has ip
	need gnuplot-nox has gnuplot
	need tidy has tidy
	need groff-base has groff
	need strace has strace
	need redis-tools has redis-benchmark
	need libhiredis-dev library hiredis libhiredis-dev
	need cyclonedds-dev installed cyclonedds-dev
	need cyclonedds-tools has idlc
	need libfastcdr-dev installed libfastcdr-dev
	[ "$1" != asan ] || need lld has ld.lld # two hundred programs, each with a sanitizer: a third of the usual linker's time
	need_compiler "$1"
}

# Of a preset that has another than gcc.
need_compiler() {
	case $1 in
	clang) need clang compiles clang ;;
	asan | fuzz)
		need clang compiles clang
		need libclang-rt-14-dev installed libclang-rt-14-dev # what its sanitizers link
		;;
	esac
}

# A virtual machine with RDMA verbs: tests/softroce/softroce.sh.
need_softroce() {
	need qemu-system-x86 has qemu-system-x86_64
	need busybox-static installed busybox-static
	need cpio has cpio
	need iproute2 has rdma
	need kmod installed kmod # its programs are not on everybody's path
	need xz-utils has xz
	need ibverbs-providers installed ibverbs-providers
	need ibverbs-utils has ibv_devinfo
}

# Installs what is missing, or says how and leaves with 3.
provide() {
	local as_root=() command

	[ ${#missing[@]} -gt 0 ] || return 0
	command="apt-get install --yes --no-install-recommends ${missing[*]}"
	if [ "$(id -u)" -ne 0 ]; then
		if has sudo && { sudo -n true 2>/dev/null || { [ -t 0 ] && sudo -v; }; }; then
			as_root=(sudo)
		else
			printf 'run: packages are missing; have an administrator run:\n%s\n' "$command" >&2
			exit 3
		fi
	fi
	say "installing ${missing[*]}"
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get --quiet=2 update </dev/null >&2 ||
		say "the lists of packages could not all be brought up to date"
	# shellcheck disable=SC2086 # words, as they were printed
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive $command --quiet=2 -o Dpkg::Use-Pty=0 </dev/null >&2 ||
		die 3 "the packages could not be installed: $command"
	missing=()
}
