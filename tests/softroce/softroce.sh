#!/usr/bin/env bash
# softroce.sh - runs a command on real RDMA verbs, on a machine that has no RDMA device: `./run softroce` explains.
#
# A small virtual machine boots Debian's own kernel with Soft-RoCE, the driver rdma_rxe: RDMA over an ordinary network
# interface. It sees all files of this machine through 9p, read-only, under a layer in its memory; so whatever was built
# here runs there, with the libibverbs and librdmacm of this machine. The kernel's package is downloaded and unpacked,
# never installed. guest-init.sh is the first program of the machine, guest-start.sh sets up the devices and runs the
# command.

set -euo pipefail

here=$(dirname "$(readlink -f "$0")")
cache=$(cd "$here/../.." && pwd)/build/softroce # kernel, initramfs, stamp: of the last `prepare`; run.*: one per machine

# What the kernel is given, in this order, each after what it depends on. rdma_rxe asks for crc32 by name, which depmod
# does not know of.
modules=(virtio_pci virtio_console 9pnet_virtio 9p overlay crc32_generic rdma_rxe ib_uverbs rdma_ucm dummy veth bridge
	sch_netem)

say() { printf '== softroce: %s\n' "$*" >&2; }
die() { printf 'softroce: %s\n' "$2" >&2; exit "$1"; }

usage() {
	cat <<-'END'
	usage: ./run softroce [OPTION]... COMMAND [ARGUMENT]...
	       ./run softroce prepare

	Runs a command in a small virtual machine that has RDMA devices (Soft-RoCE), whatever this machine has. Output and exit
	status are the command's. It sees the files of this machine; what it writes is gone afterwards.

	  -n NODES     so many devices, rxe1.. on wires n1.. to one bridge, each with one address: 10.9.0.1 .. 10.9.0.NODES.
	               Without it one device, rxe0, has 10.9.0.1 .. 10.9.0.16, and nothing leaves it
	  -t SECONDS   gives up then, and leaves with 124 (300)
	  -w DIR       a directory where what the command writes is kept
	  -c CPUS      processors (those of this machine, at most 4)
	  -m MIB       memory (1024)
	  -e           emulates the processor even where it could run the machine itself (KVM)
	  -k FILE      keeps the log of the kernel there

	prepare fetches the kernel into build/softroce, which the first command does otherwise; no network is needed later.

	  ./run softroce ibv_devinfo
	  ./run softroce build/whorl bench conf/two-nodes-128.ini --set group.transport=verbs
	  ./run softroce -n 3 bash -c 'tc qdisc add dev n1 root netem delay 1ms && rping ...'

	Exit status besides: 2 usage, 3 something is missing, 124 time is up, 125 the machine ended without saying how.
	END
}

# ---- the kernel and its first file system -------------------------------------------------------------------------------

as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi; }

kernel_package() { apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/.*Depends: \(linux-image-[0-9][^ ]*\)$/\1/p' | head -n 1; }

# Downloads the package of the kernel into directory $1.
download() {
	local package again

	for again in no yes; do
		if [ $again = yes ]; then # the lists were empty, or told of a version that the mirror has no more
			as_root apt-get --quiet=2 update </dev/null >&2 || return 1
		fi
		package=$(kernel_package)
		[ -n "$package" ] || continue
		say "downloading $package"
		! (cd "$1" && apt-get --quiet=2 -o APT::Sandbox::User=root download "$package" >&2) || return 0
	done
	return 1
}

# The uncompressed kernel inside vmlinuz $1, to $2: unpacking itself takes an emulated processor five seconds at each boot.
uncompress() {
	local offset

	offset=$(LC_ALL=C grep -abom1 $'\xfd7zXZ' "$1" | head -n 1 | cut -d: -f1)
	if [ -n "$offset" ]; then
		tail -c +$((offset + 1)) "$1" | xz -dc --single-stream 2>/dev/null >"$2" || true # bytes follow: xz complains
	fi
	[ "$(head -c 4 "$2" 2>/dev/null | tail -c 3)" = ELF ] || cp "$1" "$2"
}

# Copies modules of version $2 in tree $1, and those that they need, into directory $3, with a list of them in order.
collect() {
	local module file name

	: >"$3/order"
	for module in "${modules[@]}"; do
		while read -r _ file _; do
			name=$(basename "$file")
			grep -qxF "$name" "$3/order" && continue
			cp "$file" "$3/"
			printf '%s\n' "$name" >>"$3/order"
		done < <(modprobe --dirname "$1" --set-version "$2" --show-depends "$module" | grep '^insmod ')
	done
}

# What `prepare` makes depends on these.
stamp() { cat "$here/softroce.sh" "$here"/guest-*.sh "$(command -v busybox)" | sha256sum; }

make_initramfs() {
	local root=$1

	cp "$(command -v busybox)" "$root/bin/busybox"
	cp "$here/guest-init.sh" "$root/init"
	cp "$here/guest-start.sh" "$root/start"
	chmod +x "$root/init"
	(cd "$root" && find . | cpio --create --format newc --quiet --owner 0:0 | gzip -9)
}

prepare() {
	local work version

	mkdir -p "$cache"
	exec 9>"$cache/lock"
	flock 9 # two may want it at once
	if [ "$(cat "$cache/stamp" 2>/dev/null)" != "$(stamp)" ]; then
		rm -rf "$cache"/prepare.*
		work=$(mktemp -d "$cache/prepare.XXXXXX")
		mkdir -p "$cache/package" "$work"/{tree,root/{bin,mod,proc,sys,dev,lower,upper,new}}
		if ! compgen -G "$cache/package/linux-image-*.deb" >/dev/null; then
			mkdir "$work/package"
			download "$work/package" || die 3 "linux-image-amd64 cannot be downloaded: apt-get update, then again"
			mv "$work/package"/*.deb "$cache/package/"
		fi
		dpkg-deb --extract "$cache"/package/linux-image-*.deb "$work/tree"
		version=$(ls "$work/tree/lib/modules")
		depmod --basedir "$work/tree" "$version"
		collect "$work/tree" "$version" "$work/root/mod"
		uncompress "$work/tree/boot/vmlinuz-$version" "$work/kernel"
		make_initramfs "$work/root" >"$work/initramfs"
		rm -f "$cache/stamp"
		mv "$work/kernel" "$work/initramfs" "$cache/"
		stamp >"$work/stamp"
		mv "$work/stamp" "$cache/stamp" # last: what stands beside it is whole
		rm -rf "$work"
		say "prepared Linux $version"
	fi
	exec 9>&-
}

# ---- one machine --------------------------------------------------------------------------------------------------------

boot_seconds=60 # the longest that it takes to come up
cpus=$(nproc) memory=1024 seconds=300 writable='' nodes=0 kernel_log='' emulate=no
[ "$cpus" -le 4 ] || cpus=4

parse() {
	local option

	while getopts :n:t:w:c:m:k:e option; do
		case $option in
		n) nodes=$OPTARG ;;
		t) seconds=$OPTARG ;;
		w) writable=$(realpath -e "$OPTARG") || die 2 "there is no directory $OPTARG" ;;
		c) cpus=$OPTARG ;;
		m) memory=$OPTARG ;;
		e) emulate=yes ;;
		k) kernel_log=$(realpath "$OPTARG") ;;
		*) usage >&2 && exit 2 ;;
		esac
	done
	[[ $nodes$seconds$cpus$memory =~ ^[0-9]+$ ]] || die 2 "-n, -t, -c and -m take numbers"
	[ "$nodes" -le 64 ] || die 2 "at most 64 nodes"
}

# What the machine is told of this run, as a second archive behind the initramfs.
describe_run() {
	local directory=$1 name
	shift

	mkdir "$directory"
	{
		printf '%s=%q\n' directory "$PWD" nodes "$nodes" writable "$writable" seconds "$seconds"
		while read -r name; do
			printf 'export %s=%q\n' "$name" "${!name}"
		done < <(compgen -e | grep -E '^(WHORL|CK|UBSAN|ASAN)_')
	} >"$directory/environment"
	printf '%q ' "$@" >"$directory/command"
	(cd "$directory" && printf '%s\n' environment command | cpio --create --format newc --quiet | gzip -1)
}

# KVM where the processor has it; there are machines that offer /dev/kvm without. Emulated, `rep movsb` moves byte by byte,
# and an aligned word that a peer polls would be torn: the guest must not use it.
accelerate() {
	if [ $emulate = no ] && [ -r /dev/kvm ] && [ -w /dev/kvm ] && grep -qwE 'vmx|svm' /proc/cpuinfo; then
		accelerator=(-accel kvm -cpu host)
	else
		accelerator=(-accel 'tcg,thread=multi' -cpu 'max,erms=off,fsrm=off')
	fi
}

remove_remains() {
	local directory

	for directory in "$cache"/run.*; do # of runs that were killed
		[ ! -d "$directory" ] || kill -0 "${directory##*.}" 2>/dev/null || rm -rf "$directory"
	done
}

# In the background, so that a signal to this script ends the machine at once; should the script be killed, the kernel ends
# first `timeout`, then the machine.
start_machine() {
	: >"$run/status"
	setpriv --pdeathsig KILL timeout --foreground --kill-after 5 $((seconds + boot_seconds + 10)) setpriv --pdeathsig KILL \
		qemu-system-x86_64 "${machine[@]}" <&8 2> >(grep -v 'terminating on signal' >&2) &
	qemu=$!
}

# Waits for the machine to say that it is up. If it does not it is ended: an emulated processor on a host that has no time for
# it may lose the interrupts by which its kernel finds its clocks; the next try finds them.
is_up() {
	local tenths

	for ((tenths = 0; tenths < 10 * boot_seconds; tenths++)); do
		[ ! -s "$run/status" ] || return 0
		kill -0 "$qemu" 2>/dev/null || break
		sleep 0.1
	done
	kill "$qemu" 2>/dev/null || true
	wait "$qemu" || true
	return 1
}

boot() {
	local run=$cache/run.$$ accelerator=() machine qemu='' try status=0

	remove_remains
	mkdir "$run"
	# shellcheck disable=SC2064 # this directory
	trap "rm -rf '$run'" EXIT
	trap '[ -z "$qemu" ] || kill $qemu; exit 130' INT TERM HUP
	[ -n "$kernel_log" ] || kernel_log=$run/kernel.log
	{ cat "$cache/initramfs" && describe_run "$run/files" "$@"; } >"$run/initramfs"
	accelerate
	say "booting ($cpus processors, $memory MiB, ${accelerator[1]%%,*})"

	# tsc=reliable: all emulated processors have one counter, which the kernel does not believe by itself. Without it each look at the
	# time is a system call, and one into QEMU; on real machines it is neither.
	machine=(-M 'pc,usb=off,vmport=off' "${accelerator[@]}" -smp "$cpus" -m "$memory" -nodefaults -no-user-config -display none
		-no-reboot -kernel "$cache/kernel" -initrd "$run/initramfs"
		-append "console=ttyS0 quiet panic=-1 mitigations=off nokaslr no5lvl random.trust_cpu=on no_timer_check tsc=reliable"
		-serial "file:$kernel_log" -device 'isa-debug-exit,iobase=0x501,iosize=1' -device virtio-serial-pci
		-chardev 'stdio,id=output,signal=on' -device 'virtserialport,chardev=output,name=output'
		-chardev "file,id=status,path=$run/status" -device 'virtserialport,chardev=status,name=status'
		-virtfs 'local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap')
	[ -z "$writable" ] || machine+=(-virtfs "local,path=$writable,mount_tag=writable,security_model=none,multidevs=remap")
	# An input that never ends: at its end QEMU closes the port, and what the guest writes would block.
	mkfifo "$run/input"
	exec 8<>"$run/input"
	for try in 1 2 3; do
		start_machine
		! is_up || break
		[ $try -lt 3 ] || die 125 "the machine does not come up; the last words of its kernel: $(tail -n 5 "$kernel_log")"
		say "the machine did not come up: once more"
	done
	wait "$qemu" || status=$?
	[ "$(wc -l <"$run/status")" -lt 2 ] || status=$(sed -n 2p "$run/status")
	[ "$status" -ne 124 ] || die 124 "the time of $seconds s is up"
	[ "$(wc -l <"$run/status")" -lt 2 ] || exit "$status"
	tail -n 20 "$kernel_log" >&2
	die 125 "the machine ended without saying how (QEMU: $status); above, the last words of its kernel"
}

lacking() {
	local tool

	[ "$(uname -m)" = x86_64 ] || die 3 "the virtual machine is one for x86_64 only"
	for tool in qemu-system-x86_64 busybox cpio depmod modprobe rdma xz; do
		PATH=$PATH:/usr/sbin:/sbin command -v $tool >/dev/null || die 3 "there is no $tool; \`./run softroce\` installs it"
	done
}

case ${1:-help} in
help | --help | -h)
	usage
	exit
	;;
esac
parse "$@"
shift $((OPTIND - 1))
[ $# -gt 0 ] || die 2 "no command"
PATH=$PATH:/usr/sbin:/sbin
lacking
prepare
[ "$*" = prepare ] || boot "$@"
