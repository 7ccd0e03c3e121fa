# sssp.jq - the table of shortest paths in docs/delegation.md from the lines of results.json (jq -s -r).

def median: sort | if length == 0 then null elif length % 2 == 1 then .[length / 2 | floor] else (.[length / 2 - 1] + .[length / 2]) / 2 end;
def short: if . == null then "-" elif . >= 9.995 then . * 10 | round / 10 | tostring else . * 100 | round / 100 | tostring end;
def told: if length == 0 then "-" else "\(median | short) (\(min | short)-\(max | short))" end;

# Of rounds: the medians of their runs, in millions of edges a second
def rates($of): [$of[] | .teps | median / 1000000];
# In each round that has both: whorl's over MPI's on the same transport
def ratios($all; $one): [$all[] | select(.system == $one.system and .nodes == $one.nodes and .scale == $one.scale) as $mine | $all[]
	| select(.system == ($mine.system | sub("whorl"; "mpi")) and .nodes == $mine.nodes and .scale == $mine.scale and .round == $mine.round)
	| ($mine.teps | median) / (.teps | median)];

. as $all
| "| vertices | processes | system | M edges/s (least-most) | over MPI |",
  "|---|---|---|---|---|",
  ((map(.scale) | unique)[] as $scale
  | (($all | map(select(.scale == $scale and .sequential_teps != null)) | map(.sequential_teps | median / 1000000)) as $one
    | if ($one | length) == 0 then empty else "| 2^\($scale) | 1 | one program, alone | \($one | told) | |" end),
    ((map(.nodes) | unique)[] as $nodes
    | ("whorl-shm", "mpi-shm", "whorl-tcp", "mpi-tcp") as $system
    | ($all | map(select(.system == $system and .nodes == $nodes and .scale == $scale))) as $of
    | if ($of | length) == 0 then empty else
      "| 2^\($scale) | \($nodes) | \($system) | \(rates($of) | told) | \(if $system | startswith("whorl") then ratios($all; $of[0]) | told else "" end) |" end)),
  "",
  "\($all | map(.round) | unique | length) rounds of \($all | map(.teps | length) | unique | map(tostring) | join(", ")) runs. Before a run other programs kept the processors busy to \($all | map(.busy_before // empty) | if length == 0 then "an unknown part" else "\(median * 100 | round) % (median; \(min * 100 | round)-\(max * 100 | round))" end)."
