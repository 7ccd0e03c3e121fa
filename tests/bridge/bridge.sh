#!/usr/bin/env bash
# bridge.sh COMMAND BRIDGE RTPS WHORL CASE - programs of Cyclone DDS (RTPS) and on topics (WHORL), and the bridge between them. Cyclone DDS
# uses the loopback interface alone, and each case a domain of its own.

set -euo pipefail

command=$1 bridge=$2 rtps=$3 whorl=$4 case=$5
# shellcheck source=tests/patience.sh
. "$(dirname "$0")/../patience.sh"
dir=$(mktemp -d)
ids=()
# shellcheck disable=SC2317 # it is the trap's
end_all() {
	local id
	for id in "${ids[@]}"; do kill -KILL "$id" 2>/dev/null || true; done
	wait 2>/dev/null
	rm -rf "$dir"
}
trap end_all EXIT
# No other case has it meanwhile, nor programs that one has left behind: they have the lock's file open, too.
export DOMAIN=$(($$ % 220 + 5))
while exec 9>"$(dirname "$rtps")/domain-$DOMAIN.lock" && ! flock -n 9; do DOMAIN=$((DOMAIN % 220 + 5)); done
export CYCLONEDDS_URI='<General><Interfaces><NetworkInterface name="lo" multicast="true"/></Interfaces></General>'
ms=$(patience 10000)

fail() {
	echo "$case: $*"
	tail -n 40 "$dir"/*.txt
	exit 1
}

until_it_is() { # COMMAND...
	local end=$((SECONDS + ms / 1000 + 1))
	until "$@"; do
		[ "$SECONDS" -le "$end" ] || fail "too long: $*"
		sleep 0.1
	done
}

# begin NAME COMMAND...: its output is in NAME.txt, its id in $id
begin() {
	local name=$1
	shift
	"$@" >"$dir/$name.txt" 2>&1 &
	id=$!
	ids+=("$id")
}

begin_bridge() { # NAME ARGUMENT...
	local name=$1
	shift
	begin "$name" "$bridge" --domain "$DOMAIN" "$@"
	until_it_is grep -q waits "$dir/$name.txt"
}

has() { # NAME PATTERN COUNT: so many lines
	[ "$(grep -cE "$2" "$dir/$1.txt" || true)" = "$3" ]
}

# Numbers of one instance in the order in which they were read.
numbers() { awk -v instance="$2" '$1 == instance && $4 == "whole" { printf "%s ", $2 }' "$dir/$1.txt"; }

expect() { # NAME INSTANCE NUMBERS
	[ "$(numbers "$1" "$2")" = "$3" ] || fail "$1: of $2 there are \"$(numbers "$1" "$2")\", expected \"$3\""
}

expect_all() { # NAME: nine samples of three instances, each once
	expect "$1" alpha "0 3 6 "
	expect "$1" beta "1 4 7 "
	expect "$1" gamma "2 5 8 "
	has "$1" broken 0 || fail "$1: a sample is broken"
}

ends_well() { # ID NAME
	wait "$1" || fail "$2 has failed: $?"
}

case $case in
exchange) # both ways, plain and not, with the states of instances
	begin_bridge bridge
	for type in plain deep; do
		for way in "$rtps $whorl" "$whorl $rtps"; do
			read -r from to <<<"$way"
			name=${type}_$(basename "$to")
			begin "$name" "$to" sub "$name" $type "$ms"
			reader=$id
			until_it_is grep -q ready "$dir/$name.txt"
			begin "$name-writer" "$from" pub "$name" $type 9 dispose stay 1000
			ends_well "$id" "the writer of $name"
			until_it_is grep -q '^gamma 0 no-writers' "$dir/$name.txt"
			expect_all "$name"
			# alpha was disposed of, whether a sample says so or what comes behind it; beta was left
			grep -q '^alpha .* disposed' "$dir/$name.txt" || fail "$name: alpha was not disposed of"
			grep -q '^beta .* no-writers' "$dir/$name.txt" || fail "$name: beta has a writer"
			kill "$reader"
		done
	done
	# What was passed one way has not come back.
	kill -TERM "$(pgrep -P $$ -f -- "$bridge" | head -n 1)"
	until_it_is grep -q '^total' "$dir/bridge.txt"
	has bridge '^total plain_bridge_peer_whorl \(out\)$' 1 || fail "samples came back"
	has bridge '^total plain_bridge_peer_rtps \(in\)$' 1 || fail "samples came back"
	has bridge '^total deep_bridge_peer_whorl \(in\), [0-9]+ samples$' 1 || fail "no totals"
	;;
late) # what is kept for readers that come late
	begin_bridge bridge
	for way in "$rtps $whorl" "$whorl $rtps"; do
		read -r from to <<<"$way"
		name=late_$(basename "$to")
		begin "$name-first" "$to" sub "$name" deep "$ms" durable
		until_it_is has "$name-first" ready 1
		begin "$name-writer" "$from" pub "$name" deep 9 durable stay "$ms"
		until_it_is has "$name-first" '^gamma 8 ' 1
		begin "$name" "$to" sub "$name" deep "$ms" durable
		until_it_is has "$name" ' whole$' 3
		expect "$name" alpha "6 "
		expect "$name" beta "7 "
		expect "$name" gamma "8 "
	done
	;;
restart) # kill -9, and a new bridge: nothing comes twice on whorl's side, nor where nothing is kept
	# A writer that is RELIABLE waits for what a killed reader has not acknowledged until Cyclone DDS takes that for dead: 10 s.
	ms=$(patience 40000)
	begin_bridge bridge
	killed=$id
	begin kept "$whorl" sub kept deep "$((2 * ms))" durable
	begin passed "$whorl" sub passed plain "$((2 * ms))"
	begin back "$rtps" sub back plain "$((2 * ms))"
	for name in kept passed back; do until_it_is has $name ready 1; done
	begin kept-writer "$rtps" pub kept deep 9 durable stay "$((2 * ms))"
	begin passed-writer "$rtps" pub passed plain 400 pause 20 stay "$ms"
	begin back-writer "$whorl" pub back plain 400 pause 20 stay "$ms"
	until_it_is has kept ' whole$' 9
	until_it_is grep -q 'alpha 60 ' "$dir/passed.txt"
	until_it_is grep -q 'alpha 60 ' "$dir/back.txt"
	kill -KILL "$killed"
	begin_bridge again
	until_it_is grep -q '^works' "$dir/again.txt"
	until_it_is grep -q 'alpha 399 ' "$dir/passed.txt"
	until_it_is grep -q 'alpha 399 ' "$dir/back.txt"
	for name in passed back; do
		[ -z "$(awk '$4 == "whole" { print $1, $2 }' "$dir/$name.txt" | sort | uniq -d)" ] || fail "$name: a sample came twice"
		for instance in alpha beta gamma; do
			[ "$(numbers $name $instance)" = "$(numbers $name $instance | tr ' ' '\n' | sed '/^$/d' | sort -n | tr '\n' ' ')" ] || fail "$name: not in order"
		done
	done
	has kept ' whole$' 9 || fail "what is kept came twice"
	# One that comes late has it from before, or from now: once.
	begin kept-late "$whorl" sub kept deep "$ms" durable
	until_it_is has kept-late ' whole$' 3
	sleep 1
	has kept-late ' whole$' 3 || fail "what is kept is there twice"
	;;
two) # one works, the other waits; neither brings back what the other has passed
	begin_bridge one
	first=$id
	until_it_is grep -q '^works' "$dir/one.txt"
	begin_bridge two
	begin reader "$whorl" sub both plain "$((2 * ms))"
	begin near "$rtps" sub both plain "$((2 * ms))"
	until_it_is has reader ready 1
	until_it_is has near ready 1
	begin writer "$rtps" pub both plain 9 readers 2 stay "$((2 * ms))" # near, and the bridge
	until_it_is has reader ' whole$' 9
	sleep 1
	expect_all reader
	expect_all near
	! grep -q '^works' "$dir/two.txt" || fail "both work"
	kill -KILL "$first"
	until_it_is grep -q '^works' "$dir/two.txt"
	until_it_is grep -q '^begins both (in)' "$dir/two.txt"
	begin more "$rtps" pub both plain 9 readers 2 first 9 stay 1000
	ends_well "$id" "the second writer"
	until_it_is has reader ' whole$' 18
	until_it_is has near ' whole$' 18
	sleep 1
	expect reader alpha "0 3 6 9 12 15 "
	expect near alpha "0 3 6 9 12 15 "
	;;
turns) # kill -9 of the one that works, again and again: one that comes back waits, whatever its rank, and nothing comes twice
	ms=$(patience 40000)
	begin_bridge one
	one=$id
	until_it_is grep -q '^works' "$dir/one.txt"
	begin_bridge two
	two=$id
	begin passed "$whorl" sub passed plain "$((4 * ms))"
	begin back "$rtps" sub back plain "$((4 * ms))"
	for name in passed back; do until_it_is has $name ready 1; done
	begin passed-writer "$rtps" pub passed plain 100000 pause 20
	begin back-writer "$whorl" pub back plain 100000 pause 20
	for name in passed back; do until_it_is grep -q '^alpha .* whole' "$dir/$name.txt"; done
	kill -KILL "$one"
	until_it_is grep -q '^works' "$dir/two.txt"
	for name in passed back; do until_it_is grep -q "^begins $name" "$dir/two.txt"; done
	begin_bridge again
	for name in passed back; do
		seen=$(grep -c whole "$dir/$name.txt")
		until_it_is awk -v "seen=$seen" '/whole/ { n++ } END { exit n < seen + 50 }' "$dir/$name.txt"
	done
	! grep -q '^works' "$dir/again.txt" || fail "the one that came back takes the turn"
	kill -KILL "$two"
	until_it_is grep -q '^works' "$dir/again.txt"
	for name in passed back; do
		until_it_is grep -q "^begins $name" "$dir/again.txt"
		seen=$(grep -c whole "$dir/$name.txt")
		until_it_is awk -v "seen=$seen" '/whole/ { n++ } END { exit n < seen + 50 }' "$dir/$name.txt"
		awk '$4 == "whole" { if ($1 in last && $2 <= last[$1]) exit 1; last[$1] = $2 }' "$dir/$name.txt" || fail "$name: a sample came twice, or too late"
	done
	;;
offers) # writers of one topic that offer different things have a lane each: what the readers of both get is passed once
	begin_bridge bridge
	begin reader "$whorl" sub offers plain "$ms"
	until_it_is has reader ready 1
	begin one "$rtps" pub offers plain 9 stay "$ms"
	until_it_is has reader ' whole$' 9
	begin two "$rtps" pub offers plain 9 first 9 pause 200 durable stay "$ms"
	until_it_is grep -q '^gamma 17 ' "$dir/reader.txt"
	until_it_is has bridge '^begins offers .in.' 2
	sleep 1
	[ -z "$(awk '$4 == "whole" { print $1, $2 }' "$dir/reader.txt" | sort | uniq -d)" ] || fail "a sample came twice"
	;;
owners) # of the writers of an instance the strongest counts on the far side, too; when it has gone, the next
	begin_bridge bridge
	for way in "$rtps $whorl" "$whorl $rtps"; do
		read -r from to <<<"$way"
		name=owners_$(basename "$to")
		begin "$name" "$to" sub "$name" plain "$((3 * ms))" strength 1
		until_it_is has "$name" ready 1
		begin "$name-strong" "$from" pub "$name" plain 100000 strength 9 first 1000000 pause 10
		strong=$id
		until_it_is grep -qE '^alpha 10000[0-9]+ .*whole$' "$dir/$name.txt"
		begin "$name-weak" "$from" pub "$name" plain 100000 strength 3 pause 10
		until_it_is grep -qE '^begins '"$name"' .*' "$dir/bridge.txt"
		sleep 2
		[ -z "$(awk '$2 < 1000000 && $4 == "whole"' "$dir/$name.txt")" ] || fail "$name: a weak writer counts beside a strong one"
		kill -KILL "$strong"
		# its participant is dead to RTPS after 10 s
		ms=$((3 * ms)) until_it_is grep -qE '^(alpha|beta|gamma) [0-9]{1,6} alive whole$' "$dir/$name.txt"
		kill -KILL "$id"
	done
	;;
partitions) # a reader has what is written into its partition, and no other
	begin_bridge bridge
	for way in "$rtps $whorl" "$whorl $rtps"; do
		read -r from to <<<"$way"
		name=parts_$(basename "$to")
		begin "$name" "$to" sub "$name" plain "$((2 * ms))" partition here
		begin "$name-any" "$to" sub "$name" plain "$((2 * ms))" partition '*e*'
		begin "$name-none" "$to" sub "$name" plain "$((2 * ms))"
		for reader in "$name" "$name-any" "$name-none"; do until_it_is has "$reader" ready 1; done
		begin "$name-here" "$from" pub "$name" plain 9 partition here stay "$ms"
		begin "$name-there" "$from" pub "$name" plain 9 first 9 partition there stay "$ms"
		until_it_is has "$name" ' whole$' 9
		until_it_is has "$name-any" ' whole$' 18
		begin "$name-plain" "$from" pub "$name" plain 9 first 18 stay "$ms"
		until_it_is has "$name-none" ' whole$' 9
		sleep 1
		expect_all "$name"
		expect "$name-none" alpha "18 21 24 "
	done
	;;
deadlines) # one that is missed on one side is missed on the other; a reader that asks for more than is offered does not match
	begin_bridge bridge
	for way in "$rtps $whorl" "$whorl $rtps"; do
		read -r from to <<<"$way"
		name=deadlines_$(basename "$to")
		begin "$name" "$to" sub "$name" plain "$((2 * ms))" deadline 2000
		begin "$name-sharp" "$to" sub "$name" plain "$((2 * ms))" deadline 100
		for reader in "$name" "$name-sharp"; do until_it_is has "$reader" ready 1; done
		begin "$name-writer" "$from" pub "$name" plain 9 deadline 1500 stay "$((2 * ms))"
		until_it_is has "$name" ' whole$' 9
		until_it_is grep -q '^missed a deadline' "$dir/$name.txt"
		has "$name-sharp" ' whole$' 0 || fail "$name: a reader matches that asks for more"
		kill -KILL "$id"
	done
	;;
kept_back) # what does not go over the bridge is said once for each topic and way; samples do
	begin_bridge bridge
	for way in "$rtps $whorl in" "$whorl $rtps out"; do
		read -r from to direction <<<"$way"
		name=kept_$(basename "$to")
		begin "$name" "$to" sub "$name" plain "$((2 * ms))"
		until_it_is has "$name" ready 1
		begin "$name-one" "$from" pub "$name" plain 9 manual coherent stay "$ms"
		until_it_is has "$name" ' whole$' 9
		begin "$name-two" "$from" pub "$name" plain 9 first 9 manual coherent stay 1000
		until_it_is has "$name" ' whole$' 18
		has bridge "^keeps back $name \\($direction\\): coherent sets and presentation, manual liveliness$" 1 ||
			fail "$name: it is not said once what is kept back"
	done
	;;
hosts) # two domains of whorl's, each with a bridge to one of RTPS, as on two hosts: samples pass both, and come back over neither
	begin one "$bridge" --domain $((DOMAIN + 1000)) --rtps-domain "$DOMAIN"
	begin two "$bridge" --domain $((DOMAIN + 2000)) --rtps-domain "$DOMAIN"
	until_it_is grep -q '^works' "$dir/one.txt"
	until_it_is grep -q '^works' "$dir/two.txt"
	begin near env DOMAIN=$((DOMAIN + 1000)) "$whorl" sub far deep "$ms" durable
	begin reader env DOMAIN=$((DOMAIN + 2000)) "$whorl" sub far deep "$ms" durable
	begin between "$rtps" sub far deep "$ms" durable
	for name in near reader between; do until_it_is has $name ready 1; done
	begin writer env DOMAIN=$((DOMAIN + 1000)) "$whorl" pub far deep 9 durable stay "$ms"
	until_it_is has near ' whole$' 9
	# Others may have come to know of it later: the last one of each instance is kept.
	for name in between reader; do
		for line in 'alpha 6' 'beta 7' 'gamma 8'; do until_it_is has $name "^$line .*whole\$" 1; done
	done
	sleep 1
	expect_all near
	for name in between reader; do
		[ -z "$(grep whole "$dir/$name.txt" | sort | uniq -d)" ] || fail "$name: a sample came twice"
	done
	! grep -q '^begins far (in)' "$dir/one.txt" || fail "the first bridge brings back what it has passed"
	;;
unsupported) # is said once, with its member
	begin_bridge bridge
	begin one "$rtps" pub chosen chosen 1 stay "$ms"
	begin two "$rtps" pub chosen chosen 1 stay "$ms"
	until_it_is grep -q '^refused chosen: .*union' "$dir/bridge.txt"
	begin other "$whorl" sub other plain "$ms"
	until_it_is has other ready 1
	begin good "$rtps" pub other plain 9
	until_it_is has other ' whole$' 9
	has bridge '^refused' 1 || fail "it is not said once"
	;;
garbage) # by RTPS: rejected, counted, said once; what is behind it is passed
	begin_bridge bridge
	begin reader "$whorl" sub spoilt deep "$ms"
	begin near "$rtps" sub spoilt deep "$ms"
	until_it_is has reader ready 1
	until_it_is has near ready 1
	begin writer "$rtps" pub spoilt deep 9 readers 2 bad stay 1000
	ends_well "$id" "the writer"
	until_it_is has reader '^alpha 9 .*whole$' 2
	kill -TERM "$(pgrep -P $$ -f -- "$bridge" | head -n 1)"
	until_it_is grep -q '^total spoilt (rejected), 5 samples' "$dir/bridge.txt"
	has bridge '^rejects spoilt' 1 || fail "it is not said once"
	;;
patterns) # only what they name; JSON; a time to end
	begin_bridge bridge --topics 'a*' --topics '?x' --json --seconds 8
	bridge_id=$id
	for topic in apple box bx; do
		begin $topic "$whorl" sub $topic plain "$ms"
		until_it_is has $topic ready 1
		begin $topic-writer "$rtps" pub $topic plain 9 stay 500
	done
	until_it_is has apple ' whole$' 9
	until_it_is has bx ' whole$' 9
	ends_well "$bridge_id" "the bridge"
	has box ' whole$' 0 || fail "a topic has passed that no pattern names"
	jq -es 'map(select(.event == "total" and .way == "in" and .topic == "apple" and .samples >= 9)) | length == 1' "$dir/bridge.txt" >/dev/null 2>&1 ||
		grep -q '{"event":"total","way":"in","topic":"apple","samples":' "$dir/bridge.txt" || fail "no totals"
	;;
version) # another libddsc is refused
	library=$(ldd "$bridge" | sed -n 's/.*libddsc[^ ]* => \([^ ]*\) .*/\1/p')
	cp "$(readlink -f "$library")" "$dir/libddsc.so.9.9.9"
	ln -s libddsc.so.9.9.9 "$dir/$(basename "$library")"
	status=0
	LD_LIBRARY_PATH=$dir "$bridge" --domain "$DOMAIN" --seconds 1 >"$dir/bridge.txt" 2>&1 || status=$?
	[ $status = 3 ] || fail "exit status $status"
	grep -q 'libddsc [0-9.]*, and here is 9\.9\.9 ' "$dir/bridge.txt" || fail "the versions are not said"
	;;
usage)
	for words in "--domain x" "--domain 65536" "--rtps-domain 231" "--domain 300" "--seconds -1" "--nonsense" "word"; do
		status=0
		# shellcheck disable=SC2086 # they are words
		"$bridge" $words >"$dir/out.txt" 2>&1 || status=$?
		[ $status = 2 ] || fail "$words: exit status $status"
	done
	"$command" dds bridge --help >"$dir/out.txt"
	grep -q 'Usage: whorl dds bridge' "$dir/out.txt" || fail "no help"
	"$command" dds bridge --domain "$DOMAIN" --seconds 1 >"$dir/out.txt" || fail "it does not end after a second"
	cp "$command" "$dir/whorl"
	status=0
	"$dir/whorl" dds bridge >"$dir/out.txt" 2>&1 || status=$?
	[ $status = 3 ] || fail "without the program: exit status $status"
	grep -q 'install the package whorl-dds-bridge' "$dir/out.txt" || fail "it does not say what is missing"
	begin_bridge ended
	kill -TERM "$id"
	ends_well "$id" "a bridge that SIGTERM has ended"
	;;
*) fail "there is no such case" ;;
esac
