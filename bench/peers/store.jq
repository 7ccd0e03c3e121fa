# store.jq - the table of stores in docs/delegation.md from the lines of results.json (jq -s -r).

def median: sort | if length == 0 then null elif length % 2 == 1 then .[length / 2 | floor] else (.[length / 2 - 1] + .[length / 2]) / 2 end;
def short:
	if . == null then "-"
	elif . >= 99.95 then round | tostring
	elif . >= 9.995 then . * 10 | round / 10 | tostring
	else . * 100 | round / 100 | tostring end;
def rate: if . == null then "-" elif . >= 999500 then "\(. / 1000000 | short) M" elif . >= 1000 then "\(. / 1000 | short) k" else short end;
def time: if . == null then "-" elif . >= 1000 then "\(. / 1000 | short) ms" else "\(short) us" end;
def spread(f): if length < 2 then "" else " (\(min | f)-\(max | f))" end;
def told(f): if length == 0 then "-" else "\(median | f)\(spread(f))" end;

# A system's rate over another's, in each round that has both
def ratios($all; $of; $other; $work): [$of[] as $one | $all[] | select(.system == $other and .round == $one.round) | $one[$work] / .[$work]];

# What is asked of trust
def bound($work; $other): if $other == "redis" and $work != "zipf" then "0.8" elif $other != "redis" and $work == "zipf" then "1" else "" end;

. as $all
| ($all | map(.system) | unique) as $names
| "| work | system | commands/s (least-most) | p50 of a pipeline | p99 | trust's rate over it (least-most) | is to be |",
  "|---|---|---|---|---|---|---|",
  (("set", "get", "zipf") as $work | ("redis", "trust", "mutex", "rwlock") as $system
  | select($names | index($system))
  | ($all | map(select(.system == $system))) as $of
  | ($all | map(select(.system == "trust"))) as $trust
  | "| \($work) | \($system) | \($of | map(.[$work]) | told(rate)) "
  + (if $work == "zipf" then "| \($of | map(.zipf_p50_us) | median | time) | \($of | map(.zipf_p99_us) | median | time) " else "| | " end)
  + "| \(if $system == "trust" then "" else ratios($all; $trust; $system; $work) | told(short) end) | \(if $system == "trust" then "" else bound($work; $system) end) |"),
  "",
  "\($all | map(.round) | unique | length) rounds. Before a run other programs kept the processors busy to \($all | map(.busy_before // empty) | if length == 0 then "an unknown part" else "\(median * 100 | round) % (median; \(min * 100 | round)-\(max * 100 | round))" end)."
