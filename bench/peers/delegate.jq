# delegate.jq - the table of calls in docs/peers.md from the lines of results.json (jq -s -r).

def median: sort | if length == 0 then null elif length % 2 == 1 then .[length / 2 | floor] else (.[length / 2 - 1] + .[length / 2]) / 2 end;
def short:
	if . == null then "-"
	elif . >= 99.95 then round | tostring
	elif . >= 9.995 then . * 10 | round / 10 | tostring
	else . * 100 | round / 100 | tostring end;
def rate: if . == null then "-" elif . >= 999500 then "\(. / 1000000 | short) M" elif . >= 1000 then "\(. / 1000 | short) k" else short end;
def time: if . == null then "-" elif . >= 1000 then "\(. / 1000 | short) ms" else "\(short) us" end;
def spread(f): if length < 2 then "" else " (\(min | f)-\(max | f))" end;
def told(f): "\(median | f)\(spread(f))";

# whorl's latency over this system's, in each round that has both
def ratios($all; $of): [$of[] as $one | $all[] | select(.system == "whorl-tcp" and .outstanding == $one.outstanding and .round == $one.round)
	| .latency_us.p50 / $one.latency_us.p50];

# What is asked of whorl-tcp
def bound($system; $outstanding): if $outstanding != 1 then "" else {"tirpc": "0.33", "tirpc-polling": "0.33", "grpc": "0.13", "grpc-polling": "0.13"}[$system] // "" end;

. as $all
| (map(.system) | unique) as $names
| (["whorl-tcp", "whorl-shm", "bare", "bare-sleeping", "tirpc", "tirpc-polling", "grpc", "grpc-polling"] | map(select(. as $n | $names | index($n)))) as $systems
| "| outstanding | system | p50 (least-most) | p99 | calls/s (least-most) | p50 of whorl-tcp over its | is to be |",
  "|---|---|---|---|---|---|---|",
  ((map(.outstanding) | unique)[] as $outstanding | $systems[] as $system
  | ($all | map(select(.system == $system and .outstanding == $outstanding))) as $of
  | if ($of | length) == 0 then empty else
  "| \($outstanding) | \($system) "
  + "| \($of | map(.latency_us.p50) | told(time)) | \($of | map(.latency_us.p99 // empty) | median | time) "
  + "| \($of | map(.calls_per_s // empty) | told(rate)) "
  + "| \(if $system == "whorl-tcp" then "" else ratios($all; $of) | told(short) end) | \(bound($system; $outstanding)) |" end),
  "",
  "\($all | map(.round) | unique | length) rounds, calls of \($all | map(.bytes) | unique | map(tostring) | join(", ")) bytes. Before a run other programs kept the processors busy to \($all | map(.busy_before // empty) | if length == 0 then "an unknown part" else "\(median * 100 | round) % (median; \(min * 100 | round)-\(max * 100 | round))" end)."
