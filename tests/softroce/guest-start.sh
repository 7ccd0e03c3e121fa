#!/bin/bash
# guest-start.sh - process 1 of the virtual machine once it has its files: sets up the RDMA devices, runs the command, and
# ends the machine with its status. The tools are the host's own; busybox for what a small host lacks.
# shellcheck disable=SC1091,SC2154 # `environment` of softroce.sh gives: directory, nodes, seconds

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LC_ALL=C.UTF-8
files=/run/softroce
busybox=$files/busybox
. $files/environment

mtu=4200 # room for RDMA's largest packets: 4096 bytes and headers

# Ends the machine: QEMU's debug port ends it at once, powering off takes a second.
finish() {
	printf '%d\n' "$1" >"$status_port"
	sync
	printf '\0' | $busybox dd of=/dev/port bs=1 seek=$((0x501)) 2>/dev/null
	$busybox poweroff -f
}

fail() {
	printf 'softroce: %s\n' "$*" >&2
	leave 125
}

# Lets what was said arrive, then ends.
leave() {
	exec >/dev/null 2>&1
	for _ in {1..100}; do
		kill -0 "$copier" 2>/dev/null || break # a process that the command has left may still hold its output
		$busybox sleep 0.02
	done
	finish "$1"
}

# One device: what it sends to an address of its own it delivers itself. (One `ip` for all: starting a program is slow here.)
set_up_one() {
	local i

	ip -batch - <<-END || return
		link add wire type dummy
		link set wire mtu $mtu up
		$(for i in {1..16}; do echo "address add 10.9.0.$i/24 dev wire"; done)
	END
	rdma link add rxe0 type rxe netdev wire
}

set_knobs() {
	local name=$1 knob
	shift

	for knob in "$@"; do
		echo "${knob#*=}" >"/proc/sys/net/ipv4/conf/$name/${knob%=*}" || return
	done
}

# One device per node, each on a wire of its own to a bridge, all in one network namespace, since rxe serves no other.
make_wires() {
	local i

	echo "link add bridge type bridge"
	echo "link set bridge mtu $mtu up"
	for ((i = 1; i <= nodes; i++)); do
		echo "link add n$i type veth peer name b$i"
		echo "link set b$i mtu $mtu master bridge up"
		echo "link set n$i mtu $mtu"
	done
}

# The kernel would deliver what one of its addresses sends to another without any wire: these rules ask the table of the
# wire first, by the address or the wire that a packet leaves from, and the local table last. Neighbours are written down:
# asking for them over such wires fails now and then.
make_routes() {
	local i j

	echo "rule add pref 4000 lookup local"
	echo "rule del pref 0"
	for ((i = 1; i <= nodes; i++)); do
		echo "address add 10.9.0.$i/24 dev n$i"
		echo "link set n$i up"
		echo "route add 10.9.0.0/24 dev n$i src 10.9.0.$i table $((100 + i))"
		echo "rule add pref $((1000 + i)) oif n$i lookup $((100 + i))"
		echo "rule add pref $((2000 + i)) from 10.9.0.$i to 10.9.0.$i lookup local"
		echo "rule add pref $((3000 + i)) from 10.9.0.$i iif lo lookup $((100 + i))"
		for ((j = 1; j <= nodes; j++)); do
			[ $i -eq $j ] || echo "neighbour replace 10.9.0.$j lladdr $(<"/sys/class/net/n$j/address") dev n$i nud permanent"
		done
	done
}

# RDMA is made for networks that neither drop nor reorder; for that the command may ask. What is on a wire waits in a queue for
# each processor: at 1000 packets it would drop what a delay lets go at once, and two processors would overtake each other.
set_up_queues() {
	local i cpus

	cpus=$(grep -c ^processor /proc/cpuinfo)
	echo 100000 >/proc/sys/net/core/netdev_max_backlog || return
	for ((i = 1; i <= nodes; i++)); do
		printf '%x\n' $((1 << i % cpus)) | $busybox tee "/sys/class/net/n$i/queues/rx-0/rps_cpus" \
			"/sys/class/net/b$i/queues/rx-0/rps_cpus" >/dev/null || return
	done
}

set_up_wires() {
	local i

	ip -batch - <<<"$(make_wires)" || return
	set_up_queues || return
	set_knobs all rp_filter=0 arp_ignore=1 || return # or the bridge would answer for all addresses
	for ((i = 1; i <= nodes; i++)); do
		set_knobs "n$i" accept_local=1 rp_filter=0 arp_ignore=1 arp_announce=2 || return
	done
	ip -batch - <<<"$(make_routes)" || return
	for ((i = 1; i <= nodes; i++)); do
		rdma link add "rxe$i" type rxe netdev "n$i" || return
	done
}

await_devices() {
	for _ in {1..100}; do
		[ "$(rdma link show | grep -c 'state ACTIVE')" -lt $((nodes > 0 ? nodes : 1)) ] || [ ! -e /dev/infiniband/rdma_cm ] ||
			return 0
		$busybox sleep 0.05
	done
	rdma link show
	return 1
}

for port in /sys/class/virtio-ports/*; do
	case $(<"$port/name") in
	output) output_port=/dev/${port##*/} ;;
	status) status_port=/dev/${port##*/} ;;
	esac
done
$busybox mkfifo $files/output # a port can be opened once; a pipe by every program that writes to its /dev/stderr
$busybox cat <$files/output >"$output_port" &
copier=$!
exec <>/dev/null >$files/output 2>&1

echo softroce >/proc/sys/kernel/hostname
ip link set lo up
mkdir -p /dev/infiniband # devtmpfs puts the devices there
if [ "$nodes" -eq 0 ]; then
	set_up_one || fail "rxe0 cannot be set up"
else
	set_up_wires || fail "the wires cannot be set up"
fi
await_devices || fail "not all devices came up"
echo up >"$status_port"
cd "$directory" || fail "there is no $directory"
timeout --foreground --kill-after 5 "$seconds" /bin/bash $files/command
leave $?
