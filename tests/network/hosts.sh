# hosts.sh - hosts of a network of the test's own, for scenarios.sh.
#
# The network lives in namespaces that nobody else sees, and that the kernel takes away with the test's last process: a
# namespace for each host, and one in the middle that is the switch. Host N has the address 10.22.N.2; its cable ends in
# the switch as hN.
# shellcheck shell=bash

set -euo pipefail

# shellcheck source=tests/patience.sh
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../patience.sh"

failure_timeout_ms=$(patience 500)
command=     # the caller sets it: the `whorl` that was built,
crowd=       # and network-crowd, of crowd.c
slack_ms=1500 # to notice, to agree, and for this script to see it

# ---- the network --------------------------------------------------------------------------------------------------------

# Begins anew inside namespaces of its own, or skips the test: "$@" is the script and its arguments.
enter_network() {
	[ "${WHORL_NETWORK_TEST:-}" != inside ] || return 0
	# In a chroot / is no mount of its own, and nothing can be said of how mounts spread from it.
	unshare --net --mount --propagation unchanged --pid --fork true 2>/dev/null || {
		echo "only root can make networks"
		exit 77
	}
	WHORL_NETWORK_TEST=inside exec unshare --net --mount --propagation unchanged --pid --fork --mount-proc --kill-child -- "$@"
}

# on HOST COMMAND...: there. `ip netns exec` and `ip -n` would change how mounts spread from /, which cannot be done in a chroot.
on() { nsenter --net="/run/netns/h$1" "${@:2}"; }

# make_network HOSTS: directory, configuration, hosts 0 to HOSTS-1
make_network() {
	local host

	directory=$(mktemp -d)
	trap 'rm -rf "$directory"' EXIT
	mount --make-rprivate / 2>/dev/null || true # not in a chroot: there /run may spread, and is taken away again
	mount -t tmpfs none /run
	trap 'rm -rf "$directory"; umount --recursive --lazy /run' EXIT
	mkdir /run/netns
	ip link set lo up
	echo 1 >/proc/sys/net/ipv4/ip_forward
	for ((host = 0; host < $1; host++)); do
		ip netns add "h$host"
		on "$host" ip link set lo up
		plug_in "$host"
	done
}

plug_in() {
	ip link add "h$1" type veth peer name eth0 netns "h$1"
	ip addr add "10.22.$1.1/24" dev "h$1"
	ip link set "h$1" up
	on "$1" ip addr add "10.22.$1.2/24" dev eth0
	on "$1" ip link set eth0 up
	on "$1" ip route add default via "10.22.$1.1"
}

# The cable is pulled: both ends see that there is no link.
pull_cable() { ip link set "h$1" down; }
push_cable() { ip link set "h$1" up; }

# The switch drops what comes from the host, or what goes to it; nobody is told.
drop_from() { ip rule add iif "h$1" priority 10 blackhole; }
drop_to() { ip route add blackhole "10.22.$1.2/32"; }

remove_address() { on "$1" ip addr del "10.22.$1.2/24" dev eth0; }

# sever HOST... from HOST...: nothing comes through between them, either way; nobody is told. heal: it does again.
sever() {
	local from=() to=() side=from a b

	for a in "$@"; do
		if [ "$a" = from ]; then
			side=to
		elif [ $side = from ]; then
			from+=("$a")
		else
			to+=("$a")
		fi
	done
	for a in "${from[@]}"; do
		for b in "${to[@]}"; do
			ip rule add from "10.22.$a.0/24" to "10.22.$b.0/24" priority 11 blackhole
			ip rule add from "10.22.$b.0/24" to "10.22.$a.0/24" priority 11 blackhole
		done
	done
}
heal() { while ip rule del priority 11 2>/dev/null; do :; done; }

# The host is gone with all that ran there, and cannot say so.
vanish() {
	ip link del "h$1"
	kill -KILL "${pid[$1]}"
	wait "${pid[$1]}" 2>/dev/null || true
}

# slow_down HOST RATE: what goes to it
slow_down() { tc qdisc add dev "h$1" root tbf rate "$2" burst 16kb latency 200ms; }

# What goes to it waits at the senders, not in the network, which then loses nothing.
receive_little() { on "$1" sh -c 'echo 4096 32768 65536 >/proc/sys/net/ipv4/tcp_rmem'; }

# ---- the nodes ----------------------------------------------------------------------------------------------------------

pid=()
starts=0

# start HOST [ARGUMENT]...: a node with the number of the host; what it says goes to a new file, out[HOST]
start() {
	local host=$1

	starts=$((starts + 1))
	out[host]=$directory/out-$host-$starts
	nsenter --net="/run/netns/h$host" "$command" node "$directory/group.ini" --id "$host" --run counter --every 50 --rate 500 \
		--json "${@:2}" </dev/null >"${out[host]}" 2>"${out[host]}.err" &
	pid[host]=$!
}

now_ms() { date +%s%3N; }

fail() {
	local file

	echo "failed: $*"
	for file in "$directory"/out-*; do
		echo "--- ${file##*/}"
		tail -n 15 "$file"
	done
	exit 1
}

# within MS WHAT COMMAND...: waits until the command is true, longer on a busy machine; sets waited_ms
within() {
	local most what=$2 begin

	most=$(patience "$1")
	begin=$(now_ms)
	shift 2
	until "$@"; do
		waited_ms=$(($(now_ms) - begin))
		[ $waited_ms -lt "$most" ] || fail "$what: not in $most ms"
		sleep 0.01 # between two looks at a file
	done
	waited_ms=$(($(now_ms) - begin))
}

# says HOST PATTERN: a line of what its node has said so far
says() { grep -qE -- "$2" "${out[$1]}"; }

# says_behind HOST LINE PATTERN: in a line after that number
says_behind() { tail -n +"$(($2 + 1))" "${out[$1]}" | grep -qE -- "$3"; }
lines() { wc -l <"${out[$1]}"; }

# The members of each of its views, by their ids: a node that came late has the last rank.
views_of() {
	sed -n 's/.*"event":"view".*"members":\[\([0-9,]*\)\].*/\1/p' "${out[$1]}" | while read -r members; do
		tr , '\n' <<<"$members" | sort -n | paste -sd,
	done
}
in_view() { views_of "$1" | grep -E -- "^($2)\$" >/dev/null; }

# await_view MEMBERS HOST...: they are in a view of just these members, within the failure time-out
await_view() {
	local members=$1 host

	for host in "${@:2}"; do
		within $((failure_timeout_ms + slack_ms)) "host $host in a view of $members" in_view "$host" "$members"
	done
}

# form HOST...: starts nodes there, and waits until they are one group and deliver
form() {
	local host

	for host in "$@"; do
		start "$host"
	done
	for host in "$@"; do
		within 10000 "host $host counts" says "$host" '"event":"counter"'
	done
}

# gather HOST HOW CALLERS ADDRESS...: on that host so many connections to each address, each made again as soon as it is hung up
# (crowd.c); returns when they have been at it for a second
gather() {
	[ -x "$crowd" ] || fail "there is no $crowd: \`make network-crowd\`"
	nsenter --net="/run/netns/h$1" "$crowd" "$2" "$3" 600 "${@:4}" </dev/null >"$directory/out-crowd" 2>&1 &
	crowd_pid=$!
	within 10000 "the crowd is there" grep -qE '^hung up [1-9].* [1-9][0-9]* stand' "$directory/out-crowd"
}

# It has been there to the end.
disperse() {
	kill -TERM "$crowd_pid" 2>/dev/null || fail "the crowd has ended"
	wait "$crowd_pid" || true
}

# await_progress HOST...: each delivers more than it had
await_progress() {
	local host line

	for host in "$@"; do
		line=$(lines "$host")
		within 3000 "host $host goes on" says_behind "$host" "$line" '"event":"counter"'
	done
}

# await_no_quorum HOST: it says that it hears too few to go on, and from then on delivers nothing
await_no_quorum() {
	local line

	within $((failure_timeout_ms + slack_ms)) "host $1 has no quorum" says "$1" '"event":"quorum".*"heard":false'
	line=$(lines "$1")
	await_progress "${@:2}"
	! says_behind "$1" "$line" '"event":"counter"' || fail "host $1 delivers without a quorum"
}

# Nodes that show the same count show the same digest.
check_digests() {
	local differ

	differ=$(grep -h '"event":"counter"' "$directory"/out-*[0-9] | sed -E 's/.*"count":([0-9]+).*"digest":"([0-9a-f]+)".*/\1 \2/' |
		sort -u | cut -d' ' -f1 | uniq -d)
	[ -z "$differ" ] || fail "two digests of count $differ"
}

# end HOST...: they leave in order
end() {
	local host

	for host in "$@"; do # one that is ended before it has its state says that with its status
		within 10000 "host $host is ready" says "$host" '"event":"ready"'
	done
	for host in "$@"; do
		kill -TERM "${pid[$host]}"
	done
	for host in "$@"; do
		wait "${pid[$host]}" || fail "host $host ended with status $?"
	done
	check_digests
}
