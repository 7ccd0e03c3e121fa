#!/usr/bin/env bash
# scenarios.sh COMMAND SCENARIO [tls] - what can happen to a network, and what becomes of a group of nodes on three or more hosts:
# the survivors go on within the failure time-out; a node that is cut off is told so, and delivers nothing more; no two nodes
# disagree. COMMAND is the `whorl` that was built. The nodes have a cluster key, and with `tls` certificates too.

# shellcheck source=tests/network/hosts.sh
source "$(dirname "$(readlink -f "$0")")/hosts.sh"

command=$1
crowd=$(dirname "$1")/tests/network/network-crowd
scenario=$2
tls=${3:-}
first_word=greets # of a crowd that begins to prove itself
[ "$tls" != tls ] || first_word=begins
enter_network "$0" "$@"

# write_group NODES: the same file for all hosts
write_group() {
	local node

	head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$directory/key"
	chmod 600 "$directory/key"
	{
		printf '[group]\nname = network\ntransport = tcp\nnodes = %d\n' "$1"
		printf 'failure_timeout_ms = %d\nkey_file = %s\n' "$failure_timeout_ms" "$directory/key"
		for ((node = 0; node < $1; node++)); do
			printf '[node %d]\naddress = 10.22.%d.2:22000\n' "$node" "$node"
		done
		printf '[subgroup all]\nwindow = 16\nmessage_bytes = 1k\n'
	} >"$directory/group.ini"
}

# make_certificates NODES: as docs/security.md has it
make_certificates() {
	local node

	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -days 30 -subj "/CN=authority" \
		-keyout "$directory/authority.key" -out "$directory/authority.pem" 2>/dev/null
	for ((node = 0; node < $1; node++)); do
		openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -subj "/CN=$node" \
			-addext "subjectAltName=URI:whorl://network/$node" -keyout "$directory/node-$node.key" \
			-out "$directory/node-$node.csr" 2>/dev/null
		openssl x509 -req -in "$directory/node-$node.csr" -CA "$directory/authority.pem" -CAkey "$directory/authority.key" \
			-CAcreateserial -copy_extensions copy -days 30 -out "$directory/node-$node.pem" 2>/dev/null
	done
	sed -i "s|^transport|tls = on\ntls_authority_file = $directory/authority.pem\ntransport|" "$directory/group.ini"
	sed -i "s|^transport|tls_certificate_file = $directory/node-{node}.pem\ntransport|" "$directory/group.ini"
	sed -i "s|^transport|tls_key_file = $directory/node-{node}.key\ntransport|" "$directory/group.ini"
}

# Each node notes on its disk which group it was in.
keep_records() {
	mkdir "$directory/state"
	sed -i "s|^transport|state_dir = $directory/state\ntransport|" "$directory/group.ini"
}

# `whorl status` exits 1, and says that.
status_says() {
	local status=0

	on 0 "$command" status "$directory/group.ini" >"$directory/status" 2>&1 || status=$?
	[ $status -eq 1 ] && grep -q -- "$1" "$directory/status"
}

# begin HOSTS [NODES]: where there are more hosts than nodes, the last are no hosts of the configuration
begin() {
	local nodes=${2:-$1}

	make_network "$1"
	write_group "$nodes"
	[ "$tls" != tls ] || make_certificates "$nodes"
}

# One of hosts 1 and 2 is removed, and says so; the other goes on with host 0.
await_removal_of_one() {
	local removed kept

	within $((failure_timeout_ms + slack_ms)) "host 0 goes on with one" in_view 0 '0,[12]'
	removed=1 kept=2
	! in_view 0 0,1 || removed=2 kept=1
	await_view "0,$kept" "$kept"
	wait "${pid[$removed]}" && fail "host $removed was removed, and ended well"
	await_progress 0 "$kept"
	end 0 "$kept"
}

# Three hosts, host 2 is cut off by the command; the others go on without it.
cut_off_two() {
	begin 3
	form 0 1 2
	"$@"
	await_view 0,1 0 1
	await_no_quorum 2 0 1
	end 0 1
}

# Nothing comes through between any two of three hosts, from one moment on.
sever_all() {
	local a b

	for a in 0 1 2; do
		for b in 0 1 2; do
			[ "$a" = "$b" ] || echo "rule add from 10.22.$a.0/24 to 10.22.$b.0/24 priority 11 blackhole"
		done
	done | ip -batch -
}

has_ended() { ! kill -0 "${pid[$1]}" 2>/dev/null; }

# await_end HOST WORDS: its node gives up for that reason, and ends
await_end() {
	within 10000 "host $1 says that it has failed: $2" says "$1" "\"event\":\"failed\".*\"why\":\"[^\"]*$2"
	within 10000 "host $1 ends" has_ended "$1"
	if wait "${pid[$1]}"; then fail "host $1 has failed, and ended well"; fi
}

# `whorl status`, asked from that host, names a view of all three, and nothing that is wrong.
await_status() {
	local status=0 begin

	begin=$(now_ms)
	on "$1" "$command" status "$directory/group.ini" --timeout "$(patience 5000)" >"$directory/out-status" 2>&1 || status=$?
	status_ms=$(($(now_ms) - begin))
	if [ $status -ne 0 ] || ! grep -q ', members 0 1 2,' "$directory/out-status"; then
		fail "status $status after $status_ms ms: $(cat "$directory/out-status")"
	fi
}

# crowd_from HOST HOW CALLERS: from that host a crowd stands at the doors of three nodes (CALLERS at each; 0: none). Node 2 is killed,
# removed, started again, and comes in; then the group is asked from the host of the crowd. The limits are for a busy machine: what
# it takes is printed, and docs/security.md has the figures.
crowd_from() {
	local removed_ms back_ms delivers_ms begin callers=${WHORL_CROWD:-$3}

	form 0 1 2
	[ "$3" -eq 0 ] || gather "$1" "$2" "$callers" 10.22.{0,1,2}.2:22000
	kill -KILL "${pid[2]}"
	wait "${pid[2]}" 2>/dev/null || true
	within 20000 "host 0 in a view of 0,1" in_view 0 0,1
	removed_ms=$waited_ms
	begin=$(now_ms)
	start 2
	within 20000 "host 2 is back" in_view 2 0,1,2
	back_ms=$(($(now_ms) - begin))
	within 20000 "host 2 has the state, and counts" says 2 '"event":"counter"'
	delivers_ms=$(($(now_ms) - begin))
	await_status "$1"
	[ "$3" -eq 0 ] || tail -n 1 "$directory/out-crowd"
	echo "removed after $removed_ms ms, back after $back_ms ms, delivers after $delivers_ms ms, status after $status_ms ms"
	within 20000 "host 2 is ready" says 2 '"event":"ready"' # which it looks at now and then
	for host in 0 1 2; do
		! says "$host" '"event":"quorum".*"heard":false' || fail "host $host heard too few"
	done
	await_progress 0 1 2
	[ "$3" -eq 0 ] || disperse
	end 0 1 2
}

# Three nodes with a long failure time-out: nothing here waits for it, and a busy machine does not break it.
begin_crowd() {
	failure_timeout_ms=$(patience 2000)
	begin "$1" 3
}

case $scenario in
nothing)
	begin 3
	form 0 1 2
	await_progress 0 1 2
	end 0 1 2
	;;
cable) cut_off_two pull_cable 2 ;;
cable-of-leader)
	begin 3
	form 0 1 2
	pull_cable 0
	await_view 1,2 1 2
	await_no_quorum 0 1 2
	end 1 2
	;;
cable-shortly) # less than the failure time-out: nobody is removed
	begin 3
	form 0 1 2
	pull_cable 2
	sleep 0.1
	push_cable 2
	await_progress 0 1 2
	! in_view 0 0,1 || fail "host 2 was removed"
	end 0 1 2
	;;
cable-and-back) # a node that was removed meanwhile is told so, ends, and comes in again
	begin 3
	form 0 1 2
	drop_from 2
	await_view 0,1 0 1
	ip rule del iif h2 priority 10 blackhole
	wait "${pid[2]}" && fail "host 2 ended well"
	start 2
	within 10000 "host 2 is back" in_view 2 '(0,1,2|[0-9,]*)'
	await_progress 0 1 2
	end 0 1 2
	;;
cut-of-one) # for longer than a host may be silent: the connections hold, and it is told that it was removed
	begin 3
	form 0 1 2
	sever 2 from 0 1
	await_view 0,1 0 1
	await_no_quorum 2 0 1
	sleep 7
	heal
	await_end 2 "have removed this node"
	start 2
	within 10000 "host 2 is back" in_view 2 '0,1,2'
	await_progress 0 1 2
	end 0 1 2
	;;
cut-of-all) # all from each other, for as long: they go on. (The first to miss another may still hear the third, and have said so: that one is removed.)
	begin 3
	form 0 1 2
	sever_all
	for host in 0 1 2; do
		within $((failure_timeout_ms + slack_ms)) "host $host has no quorum" says "$host" '"event":"quorum".*"heard":false'
	done
	sleep 7
	heal
	kept=()
	for host in 0 1 2; do
		within 10000 "host $host hears what has become of it" says "$host" '"event":"quorum".*"heard":true'
		if says "$host" 'have removed this node'; then await_end "$host" 'have removed this node'; else kept+=("$host"); fi
	done
	[ ${#kept[@]} -ge 2 ] || fail "only ${kept[*]} are left"
	await_progress "${kept[@]}"
	end "${kept[@]}"
	;;
cut-of-one-for-good) # the connections are given up: it says so while it is still cut off, and ends
	begin 3
	sed -i 's/^transport/cut_max_ms = 2000\ntransport/' "$directory/group.ini"
	form 0 1 2
	sever 2 from 0 1
	await_view 0,1 0 1
	await_end 2 "lost so many members for good"
	start 2
	await_progress 0 1
	heal
	within 10000 "host 2 is back" in_view 2 '0,1,2'
	await_progress 0 1 2
	end 0 1 2
	;;
cut-of-all-for-good) # none can ever go on: each says so, and ends; started again they form another group
	begin 3
	sed -i 's/^transport/cut_max_ms = 2000\ntransport/' "$directory/group.ini"
	form 0 1 2
	sever_all
	for host in 0 1 2; do
		await_end "$host" "lost so many members for good"
	done
	check_digests
	heal
	rm "$directory"/out-* # another group has another order
	form 0 1 2
	await_progress 0 1 2
	end 0 1 2
	;;
deaf) cut_off_two drop_to 2 ;;
mute) cut_off_two drop_from 2 ;;
address) cut_off_two remove_address 2 ;;
pair) # two of three do not hear each other, and both hear the third
	begin 3
	form 0 1 2
	sever 1 from 2
	await_removal_of_one
	;;
pair-one-way) # one hears the other, which does not hear it
	begin 3
	form 0 1 2
	ip rule add from 10.22.1.0/24 to 10.22.2.0/24 priority 11 blackhole
	await_removal_of_one
	;;
pair-forming) # a first view has all nodes: two that cannot reach each other yet keep it waiting, until the start time-out
	begin 3
	sever 1 from 2
	for host in 0 1 2; do start "$host" --set group.start_timeout_ms=60000; done
	sleep 2
	for host in 0 1 2; do
		! in_view "$host" '[0-9,]*' || fail "host $host is in a view, and two nodes have not met"
	done
	heal
	for host in 0 1 2; do
		within 20000 "host $host counts" says "$host" '"event":"counter"'
	done
	await_progress 0 1 2
	end 0 1 2
	;;
vanish)
	begin 3
	form 0 1 2
	vanish 2
	await_view 0,1 0 1
	await_progress 0 1
	# Nothing answers for it any more: whether it runs is not known, and no member is missed.
	on 0 "$command" status "$directory/group.ini" --timeout 500 >"$directory/status" || fail "status: $(cat "$directory/status")"
	grep -q '^ *2  unreached ' "$directory/status" || fail "status: $(cat "$directory/status")"
	end 0 1
	;;
half-open) # the host is back at once and knows nothing: what the others have to it are connections that only they believe in
	begin 3
	form 0 1 2
	vanish 2
	plug_in 2
	start 2
	within 10000 "host 2 is back" in_view 2 '[0-9,]*2[0-9,]*'
	await_progress 0 1 2
	end 0 1 2
	;;
half-of-four) # two of four hosts are no more than half: neither side goes on
	begin 4
	form 0 1 2 3
	ip rule add from 10.22.0.0/23 to 10.22.2.0/23 priority 10 blackhole
	ip rule add from 10.22.2.0/23 to 10.22.0.0/23 priority 10 blackhole
	for host in 0 1 2 3; do
		within $((failure_timeout_ms + slack_ms)) "host $host has no quorum" says "$host" '"event":"quorum".*"heard":false'
	done
	check_digests
	;;
slow-link) # every message goes through, at the pace of the slowest
	begin 3
	form 0 1 2
	slow_down 2 4mbit
	await_progress 0 1 2
	sleep "$(printf '%d.%03d' $((2 * failure_timeout_ms / 1000)) $((2 * failure_timeout_ms % 1000)))" # long enough to suspect somebody
	await_progress 0 1 2
	! in_view 0 0,1 || fail "host 2 was removed"
	end 0 1 2
	;;
slow-link-full) # what waits for the link takes longer than the failure time-out: heartbeats are late, and nobody is removed
	begin 3
	receive_little 2 # to repair a loss may itself take as long as the time-out
	slow_down 2 4mbit
	for host in 0 1 2; do
		start "$host" --rate 2000 --bytes 1000 --set "subgroup all.window=1024"
	done
	for host in 0 1 2; do
		within 10000 "host $host counts" says "$host" '"event":"counter"'
	done
	sleep 5 # the window is two seconds of that link
	for host in 0 1 2; do
		! in_view "$host" '[0-9],[0-9]' || fail "somebody was removed"
		! says "$host" '"event":"quorum".*"heard":false' || fail "host $host heard nobody"
	done
	await_progress 2
	check_digests
	;;
again-behind-a-cut | again-with-records) # three of five fail in turn and are started again where the two that go on are cut off
	begin 5
	[ "$scenario" != again-with-records ] || keep_records
	form 0 1 2 3 4
	for host in 4 3 2; do
		kill -KILL "${pid[$host]}"
		wait "${pid[$host]}" 2>/dev/null || true
		await_view "$(seq -s, 0 $((host - 1)))" 0 1
	done
	sever 0 1 from 2 3 4
	for host in 2 3 4; do start "$host"; done
	sleep 4 # four start time-outs: nothing that waits for a time-out forms a group
	for host in 2 3 4; do
		! in_view "$host" '[0-9,]*' || fail "host $host has formed a second group"
	done
	heal
	for host in 2 3 4; do
		within 10000 "host $host is back" in_view "$host" '[0-9,]*'
	done
	within 10000 "all are in one group" in_view 0 '0,1(,[234]){3}'
	await_progress 0 1 2 3 4
	end 0 1 2 3 4
	;;
two-groups) # an operator says so on both sides of a cut: that makes two groups, and all say so
	begin 2
	sever 0 from 1
	start 0 --form
	start 1 --form
	await_view 0 0
	await_view 1 1
	heal
	for host in 0 1; do
		within 10000 "host $host says that there are two groups" grep -q 'there are two groups of this name' "${out[$host]}.err"
	done
	within 10000 "status says it" status_says 'there are two groups of this name'
	await_progress 0 1
	kill -TERM "${pid[1]}"
	wait "${pid[1]}" || fail "host 1 ended badly"
	start 1 --form
	wait "${pid[1]}" && fail "host 1 has formed a group beside one that it can reach"
	grep -q 'told to form a group, but node 0 is a member of group' "${out[1]}.err" || fail "host 1 does not say why it was refused"
	rm "$directory"/out-1-* # another group has another order
	end 0
	;;
crowd-of-none)
	begin_crowd 4
	crowd_from 3 silent 0
	;;
crowd-of-host) # from the host of the node that comes back, with its address
	begin_crowd 3
	crowd_from 2 silent 2000
	;;
crowd-of-stranger) # from a host that is not configured
	begin_crowd 4
	crowd_from 3 silent 2000
	;;
crowd-that-begins) # to prove itself, and stops there
	begin_crowd 4
	crowd_from 3 "$first_word" 2000
	;;
crowd-that-begins-few) # hardly more than a door has places: all of them get a word in
	begin_crowd 4
	crowd_from 3 "$first_word" 300
	;;
crowd-that-begins-few-of-host)
	begin_crowd 3
	crowd_from 2 "$first_word" 300
	;;
crowd-that-finishes) # a handshake of TLS, without a certificate
	begin_crowd 4
	crowd_from 3 finishes 2000
	;;
crowd-that-finishes-few)
	begin_crowd 4
	crowd_from 3 finishes 300
	;;
stalled-reader)
	begin 3
	form 0 1 2
	kill -STOP "${pid[2]}"
	await_view 0,1 0 1
	await_progress 0 1
	kill -CONT "${pid[2]}"
	wait "${pid[2]}" && fail "host 2 was removed, and ended well"
	end 0 1
	;;
*)
	echo "there is no scenario $scenario"
	exit 2
	;;
esac
