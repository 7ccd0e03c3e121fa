# shellcheck shell=bash disable=SC2154 # command is the one of the script that reads this
# replicas.sh - replicas of examples/kv for a test: read by scripts, which have set `command` to whorl-kv. They are on shared memory,
# at ports that the system chose, in a temporary directory, and gone when the script ends.

# shellcheck source=tests/patience.sh
. "$(dirname "${BASH_SOURCE[0]}")/../patience.sh"

has_tools() { command -v redis-cli >/dev/null && command -v redis-benchmark >/dev/null; }
has_tools || { echo "skipped: there is no redis-cli, or no redis-benchmark"; exit 77; }

dir=$(mktemp -d)
declare -A pids ports

end_all() {
	local id

	for id in "${!pids[@]}"; do kill -9 "${pids[$id]}" 2>/dev/null || true; done
	wait
	rm -rf "$dir"
}
trap end_all EXIT

fail() {
	printf 'failed: %s\n' "$*"
	tail -n 20 "$dir"/node* 2>/dev/null || true
	exit 1
}

# until SECONDS COMMAND...: the command must succeed within that time
until_true() {
	local end

	end=$(($(date +%s%N) / 1000000 + $(patience $(($1 * 1000)))))
	shift
	while ! "$@"; do
		[ $(($(date +%s%N) / 1000000)) -lt $end ] || return 1
		read -rt 0.05 <> <(:) || true # a moment, without a process
	done
}

# configure NODES SHARDS
configure() {
	cat >"$dir/kv.ini" <<-END
		[group]
		name = kv-test-$$
		nodes = $1
		failure_timeout_ms = $(patience 1500)
		start_timeout_ms = 20000
		[subgroup kv]
		shards = $2
		window = 1024
		message_bytes = 1k
		large_bytes = 1m
		[subgroup directory]
		window = 8
		message_bytes = 512
		[kv]
		value_max = 256k
	END
}

start() { # ID [OPTION]...
	"$command" "$dir/kv.ini" --id "$1" --listen 0 "${@:2}" >"$dir/node$1" 2>&1 </dev/null &
	pids[$1]=$!
}

is_ready() { grep -q '^ready' "$dir/node$1"; }

ready() { # ID...
	local id

	for id in "$@"; do
		until_true 20 is_ready "$id" || fail "node $id is not ready"
		ports[$id]=$(sed -n 's/^node .* port //p' "$dir/node$id")
	done
}

cli() { timeout 60 redis-cli -p "${ports[$1]}" "${@:2}"; } # ID WORD...

# expect TEXT ID WORD...: what redis-cli prints
expect() {
	local text

	text=$(cli "${@:2}" 2>&1 | grep . | tr '\n' ' ') || true
	[ "${text% }" = "$1" ] || fail "node $2: ${*:3}: \"${text% }\" instead of \"$1\""
}

info() { cli "$1" info | tr -d '\r' | sed -n "s/^$2://p"; } # ID FIELD

same_state() { # ID...: as many calls, and the same digest
	local id
	for id in "${@:2}"; do
		[ "$(info "$id" calls) $(info "$id" digest)" = "$(info "$1" calls) $(info "$1" digest)" ] || return 1
	done
}

ends() { # ID STATUS: it ends, with this exit status
	local status=0

	until_true 20 eval "! kill -0 ${pids[$1]} 2>/dev/null" || fail "node $1 does not end"
	wait "${pids[$1]}" || status=$?
	unset "pids[$1]"
	[ $status -eq "$2" ] || fail "node $1 ended with $status instead of $2"
}
