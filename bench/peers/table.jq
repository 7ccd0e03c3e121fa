# table.jq - the table of docs/peers.md from the lines of results.json (jq -s -r).

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

# whorl's figure over this system's, in each round that has both; the median of these
def ratio($all; $of; figure):
	[$of[] as $one | $all[] | select(.system == "whorl" and .bytes == $one.bytes and .work == $one.work and .round == $one.round)
	 | (figure / ($one | figure))] | median | if . == null then "-" else short end;

. as $all
| (map(.system) | unique) as $names
| (["whorl", "whorl-fifo", "corosync", "mpi", "mpi-each", "zeromq", "cyclone", "whorl-shm"] | map(select(. as $n | $names | index($n)))) as $systems
| "| bytes | system | messages/s (least-most) | MB/s | p50 | p99 | whorl's rate over it | low load: p50 (least-most) | p99 | cores | its p50 over whorl's |",
  "|---|---|---|---|---|---|---|---|---|---|---|",
  ((map(.bytes) | unique)[] as $bytes | $systems[] as $system
  | ($all | map(select(.system == $system and .bytes == $bytes))) as $runs
  | ($runs | map(select(.work == "stream"))) as $stream | ($runs | map(select(.work == "low"))) as $low
  | "| \($bytes) | \($system) "
  + "| \($stream | map(.messages_per_s) | median | rate)\($stream | map(.messages_per_s) | spread(rate)) "
  + "| \($stream | map(.bytes_per_s / 1000000) | median | short) "
  + "| \($stream | map(.latency_us.p50) | median | time) | \($stream | map(.latency_us.p99) | median | time) "
  + "| \(ratio($all; $stream; .messages_per_s)) "
  + "| \($low | map(.latency_us.p50) | median | time)\($low | map(.latency_us.p50) | spread(time)) "
  + "| \($low | map(.latency_us.p99) | median | time) | \($low | map(.cores) | median | short) "
  + "| \(ratio($all; $low; 1 / .latency_us.p50)) |"),
  "",
  "\(map(.round) | unique | length) rounds. Before a run other programs kept the processors busy to \($all | map(.busy_before // empty) | if length == 0 then "an unknown part" else "\(median * 100 | round) % (median; \(min * 100 | round)-\(max * 100 | round))" end)."
