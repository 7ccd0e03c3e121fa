# dds.jq - the tables of topics in docs/peers.md: jq -r -s -f dds.jq results.json

def at($share): sort | if length == 0 then null else .[((length - 1) * $share) | round] end;
def median: sort | if length == 0 then null elif length % 2 == 1 then .[length / 2 | floor] else (.[length / 2 - 1] + .[length / 2]) / 2 end;

# three digits of a number
def short:
	if . == null then "-"
	elif . >= 99.95 then round | tostring
	elif . >= 9.995 then . * 10 | round / 10 | tostring
	else . * 100 | round / 100 | tostring end;
def rate: if . == null then "-" elif . >= 999500 then "\(. / 1000000 | short) M" elif . >= 1000 then "\(. / 1000 | short) k" else short end;
def time: if . == null then "-" elif . >= 1000 then "\(. / 1000 | short) ms" else "\(short) us" end;
def quartiles(f): if length < 2 then "" else " (\(at(0.25) | f)-\(at(0.75) | f))" end;
def told(f): "\(median | f)\(quartiles(f))";

# In each round that has both, whorl's figure over the other's.
def ratios($all; $what; $work; figure):
	[$all[] | select(.what == $what and .work == $work and .system == "whorl") as $one
	 | $all[] | select(.what == $what and .work == $work and .system == "cyclone" and .round == $one.round) as $other
	 | ($one | figure) / ($other | figure)];

# What is asked of whorl
def bound($work): {"shm 1": "3, aim 6", "shm 3": "4, aim 8", "shm 15": "10, aim 20", "tcp 1": "2, aim 4", "tcp 3": "1, aim 2"}[$work] // "";
def fraction_bound($work):
	{"128 waitset": "0.3, aim 0.5", "10000 waitset": "0.3, aim 0.5", "128 in-place": "0.75", "10000 in-place": "0.95"}[$work] // "";

. as $all
| "| transport | readers | whorl: samples/s (quartiles) | Cyclone DDS | whorl's over it | is to be | of the bare subgroup |",
  "|---|---|---|---|---|---|---|",
  ($all | map(select(.what == "rate") | .work) | unique | sort_by(split(" ") | [.[0], (.[1] | tonumber)])[] as $work
  | ($all | map(select(.what == "rate" and .work == $work))) as $of
  | "| \($work | split(" ")[0]) | \($work | split(" ")[1]) "
  + "| \($of | map(select(.system == "whorl").samples_per_s) | told(rate)) "
  + "| \($of | map(select(.system == "cyclone").samples_per_s) | told(rate)) "
  + "| \(ratios($all; "rate"; $work; .samples_per_s) | told(short)) | \(bound($work)) "
  + "| \($of | map(.fraction_of_raw // empty) | told(short)) |"),
  "",
  "| bytes | read | topic: samples/s (quartiles) | bare subgroup: messages/s | topic's over it | is to be | latency over its | processor time of a sample, of a message |",
  "|---|---|---|---|---|---|---|---|",
  ($all | map(select(.what == "fraction") | .work) | unique | sort_by(split(" ") | [.[1], (.[0] | tonumber)])[] as $work
  | ($all | map(select(.what == "fraction" and .work == $work))) as $of
  | "| \($work | split(" ")[0]) | \($work | split(" ")[1]) "
  + "| \($of | map(.samples_per_s) | told(rate)) | \($of | map(.raw.messages_per_s) | told(rate)) "
  + "| \($of | map(.fraction_of_raw) | told(short)) | \(fraction_bound($work)) | \($of | map(.latency_of_raw) | told(short)) "
  + "| \($of | map(.processor_us) | median | time), \($of | map(.raw.processor_us) | median | time) |"),
  "",
  "| one sample a millisecond | p50 (quartiles) | p99 | bare subgroup: p50 | over its | is to be |",
  "|---|---|---|---|---|---|",
  ($all | map(select(.what == "latency") | {system, work}) | unique[] as $one
  | ($all | map(select(.what == "latency" and .system == $one.system and .work == $one.work))) as $of
  | "| \($one.system), \($one.work | split(" ")[1]) | \($of | map(.latency_us.p50) | told(time)) | \($of | map(.latency_us.p99) | median | time) "
  + "| \($of | map(.raw.latency_us.p50 // empty) | if length == 0 then "" else median | time end) "
  + "| \($of | map(.latency_of_raw // empty) | if length == 0 then "" else told(short) end) | \(if $one.work == "shm in-place" then "1.3" else "" end) |"),
  "",
  "\($all | map(.round) | unique | length) rounds, samples of \($all | map(.bytes) | unique | map(tostring) | join(", ")) bytes. Before a run other programs kept the processors busy to \($all | map(.busy_before // empty) | if length == 0 then "an unknown part" else "\(median * 100 | round) % (median; \(min * 100 | round)-\(max * 100 | round))" end)."
