# kv.jq - the tables of key-value servers in docs/peers.md: jq -n -r --arg name kv|kv-durable --slurpfile runs results.json --slurpfile recoveries recoveries.json

def median: sort | if length == 0 then null elif length % 2 == 1 then .[length / 2 | floor] else (.[length / 2 - 1] + .[length / 2]) / 2 end;

# three digits of a number
def short:
	if . == null then "-"
	elif . >= 99.95 then round | tostring
	elif . >= 9.995 then . * 10 | round / 10 | tostring
	else . * 100 | round / 100 | tostring end;
def rate: if . == null then "-" elif . >= 999500 then "\(. / 1000000 | short) M" elif . >= 1000 then "\(. / 1000 | short) k" else short end;
def time: if . == null then "-" elif . >= 1000 then "\(. / 1000 | short) ms" else "\(short) us" end;
def spread(f): if length < 2 then "" else " (\(min | f)-\(max | f))" end;

def is_load($work; $connections; $pipeline): .work == $work and .connections == $connections and .pipeline == $pipeline;

# The figure of `$name` over that of each of `$of`, in each round that has both; the median of these
def ratio($all; $name; $of; figure):
	[$of[] as $one | $all[] | select(.system == $name and is_load($one.as; $one.connections; $one.pipeline) and .round == $one.round)
	 | (figure / ($one | figure))] | median | if . == null then "-" else short end;

# What is asked of whorl beside a system; nothing was of durable ones
def bound($work; $connections; $pipeline; $system):
	if $name == "kv-durable" then "" else {
		"put 64 1 redis": "0.5", "put 64 1 redis-wait": "1.2", "put 64 1 etcd": "3",
		"put 64 16 redis": "0.25", "put 64 16 redis-wait": "aim 1.2",
		"put 1 1 redis-wait": "p50 1.5, aim 1",
	}["\($work) \($connections) \($pipeline) \($system)"]
	// (if $work == "get" and $system == "etcd" then "4" elif $work == "local" and $system == "redis" then "0.8" else "" end) end;

# Microseconds of processor time of all its servers for an operation
def cost: .server_cores * 1000000 / .operations_per_s;

def name_of: if .pipeline == 1 then "\(.connections)" else "\(.connections) x \(.pipeline)" end;

def stages($runs):
	["wedged", "proposed", "acknowledged", "decided", "agreed", "installed", "delivered"]
	| map(. as $stage | "\($stage) \($runs | map(.change_ns[$stage] // empty | . / 1000) | median | time)") | join(", ");

["redis", "redis-wait", "etcd", "whorl-shm", "whorl-tcp"] as $systems
| ($runs | map({work, connections, pipeline}) | unique | sort_by(["put", "get", "local"] as $order | .work as $w | [($order | index($w)), .connections, .pipeline])) as $loads
| "| work | connections | system | operations/s (least-most) | p50 | p99 | processor time | whorl-shm's, whorl-tcp's rate over it | is to be | p50 of whorl over its |",
  "|---|---|---|---|---|---|---|---|---|---|",
  ($loads[] as $load | $systems[] as $system
  # beside late gets of replicas stand the gets of redis alone
  | (if $load.work == "local" and $system == "redis" then "get" else $load.work end) as $work
  | ($runs | map(select(.system == $system and is_load($work; $load.connections; $load.pipeline)) + {as: $load.work})) as $of
  | select($of | length > 0)
  | "| \($load.work) | \($load | name_of) | \($system) "
  + "| \($of | map(.operations_per_s) | median | rate)\($of | map(.operations_per_s) | spread(rate)) "
  + "| \($of | map(.latency_us.p50) | median | time) | \($of | map(.latency_us.p99) | median | time) "
  + "| \($of | map(cost) | median | time) "
  + (if $system | startswith("whorl") then "| | | |" else
    "| \(ratio($runs; "whorl-shm"; $of; .operations_per_s)), \(ratio($runs; "whorl-tcp"; $of; .operations_per_s)) "
  + "| \(bound($load.work; $load.connections; $load.pipeline; $system)) "
  + "| \(ratio($runs; "whorl-shm"; $of; .latency_us.p50)), \(ratio($runs; "whorl-tcp"; $of; .latency_us.p50)) |" end)),
  "",
  (if $runs | map(.short) | add // 0 | . > 0 then "Of all puts with WAIT \($runs | map(.short) | add) were not with both replicas within a second, and do not count.", "" else empty end),
  (if $recoveries | length > 0 then
    "| killed | system | no put acknowledged for (least-most) | refused or broken off | stages at a survivor, from the suspicion |",
    "|---|---|---|---|---|"
  else empty end),
  (["leader", "other"][] as $killed | $systems[] as $system
  | ($recoveries | map(select(.system == $system and .killed == $killed))) as $of | select($of | length > 0)
  | "| \($killed) | \($system) | \($of | map(.gap_ms * 1000) | median | time)\($of | map(.gap_ms * 1000) | spread(time)) "
  + "| \($of | map(.errors) | median | short) | \(if $system | startswith("whorl") then stages($of) else "" end) |"),
  (if $recoveries | length > 0 then "" else empty end),
  "\($runs | map(.round) | unique | length) rounds, \($recoveries | map(.round) | unique | length) of kills\($recoveries | map(.failure_timeout_ms // empty) | unique | if length == 0 then "" else " (failure_timeout_ms of whorl: \(map(tostring) | join(", ")))" end). Before a run other programs kept the processors busy to \($runs + $recoveries | map(.busy_before // empty) | if length == 0 then "an unknown part" else "\(median * 100 | round) % (median; \(min * 100 | round)-\(max * 100 | round))" end)."
