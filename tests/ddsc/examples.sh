#!/usr/bin/env bash
# examples.sh CC IDLC EXAMPLES INCLUDE LIBRARIES WORK - Cyclone DDS's own examples, as Debian's cyclonedds-doc has them: compiled with the headers
# here, and run. LIBRARIES: the folders of libwhorl_ddsc, libwhorl_dds and libwhorl, with : between them.

set -euo pipefail

# shellcheck source=tests/patience.sh
. "$(dirname "$(readlink -f "$0")")/../patience.sh"
cc=$1 idlc=$2 examples=$3 include=$4 libraries=$5 work=$6
seconds=$(($(patience 60000) / 1000))
export WHORL_DDS_DOMAIN=$((20000 + $$ % 40000))
rm -rf "$work"
mkdir -p "$work"
cd "$work"
trap 'kill -9 $(jobs -p) 2>/dev/null || true; wait 2>/dev/null || true' EXIT

die() { printf 'examples: %s\n' "$*" >&2; tail -n 3 "$work"/*.out >&2 || true; exit 1; }
run() { timeout -k 1 "$seconds" "./$1" "${@:2}" >"$work/$1.out" 2>&1; }

# build NAME FOLDER SOURCE IDL...
build() {
	local source=$2-$3.c types=()

	zcat -f "$examples/$2/$3.c" >"$source" || die "there is no $2/$3.c" # or .c.gz
	for idl in "${@:4}"; do
		"$idlc" -l c -o . "$examples/$2/$idl.idl" 2>>idlc.log
		types+=("$idl.c")
	done
	"$cc" -std=gnu11 -w -I"$include" -I. "$source" "${types[@]}" -o "$1" -L"${libraries%%:*}" -lwhorl_ddsc \
		-Wl,-rpath,"$libraries" -Wl,-rpath-link,"$libraries" || die "$1 is not built"
}

build HelloworldPublisher helloworld publisher HelloWorldData
build HelloworldSubscriber helloworld subscriber HelloWorldData
build RoundtripPing roundtrip ping RoundTrip
build RoundtripPong roundtrip pong RoundTrip
build ThroughputPublisher throughput publisher Throughput
build ThroughputSubscriber throughput subscriber Throughput
build ShmThroughputPublisher shm_throughput shmpublisher ShmThroughput
build ShmThroughputSubscriber shm_throughput shmsubscriber ShmThroughput
build listtopics listtopics listtopics

for order in "Subscriber Publisher" "Publisher Subscriber"; do
	run "Helloworld${order% *}" & first=$!
	sleep 0.5
	run "Helloworld${order#* }" || die "HelloWorld fails"
	wait "$first" || die "HelloWorld fails, first ${order% *}"
	grep -q 'Received : Message (1, Hello World)' HelloworldSubscriber.out || die "HelloWorld is not received"
done

run RoundtripPong & pong=$!
run RoundtripPing 1000 500 0 || die "ping fails"
grep -q 'Overall *500 ' RoundtripPing.out || die "ping does not come back"
run RoundtripPing quit || die "quit fails"
wait "$pong" || die "pong fails"

for kind in Throughput ShmThroughput; do
	timeout -k 1 "$seconds" "./${kind}Subscriber" 0 0 "Throughput example" 1024 >"$kind.sub.out" 2>&1 & first=$!
	"./${kind}Subscriber" 0 -1 "Throughput example" 1024 >"$kind.killed.out" 2>&1 & killed=$!
	sleep 0.5
	run "${kind}Publisher" 1024 0 1 3 & publisher=$!
	sleep 1
	kill -9 "$killed"
	wait "$publisher" || die "$kind: the publisher fails"
	kill -INT "$first"
	wait "$first" || true
	grep -q 'Out of order: 0 samples' "$kind.sub.out" || die "$kind: nothing is received, or out of order"
done

run HelloworldSubscriber & first=$!
run listtopics || die "listtopics fails"
grep -q 'alive: .* HelloWorldData_Msg HelloWorldData::Msg' listtopics.out || die "a topic is not listed"
