# paths.cmake - mechanisms of shortest paths by parts (bench/paths.h), taken out one at a time. See mutants.cmake.

# ---- the end ----

mutant(NAME paths-one-wave KIND test_paths FILE bench/paths.c
	REMOVES "what was received is compared with what the next wave finds sent: with what the same one does"
	TEXT [[
	bool ended = waves->quiet && waves->received == sums->sent;
]]
	REPLACEMENT [[
	bool ended = sums->active == 0 && sums->received == sums->sent;
]])

mutant(NAME paths-active-unseen KIND test_paths FILE bench/paths.c
	REMOVES "no part was active in the wave"
	TEXT [[
	bool ended = waves->quiet && waves->received == sums->sent;
]]
	REPLACEMENT [[
	bool ended = waves->waves > 0 && waves->received == sums->sent;
]])

mutant(NAME paths-unsent-is-idle KIND test_paths FILE bench/paths.c
	REMOVES "a part with relaxations that are not sent is active"
	TEXT [[
	paths->counts.active = paths->queued > 0 || paths->arc < paths->last || paths->waiting > 0;
]]
	REPLACEMENT [[
	paths->counts.active = paths->queued > 0 || paths->arc < paths->last;
]])

mutant(NAME paths-half-scanned-is-idle KIND test_paths FILE bench/paths.c
	REMOVES "a part that is amid the arcs of a vertex is active"
	TEXT [[
	paths->counts.active = paths->queued > 0 || paths->arc < paths->last || paths->waiting > 0;
]]
	REPLACEMENT [[
	paths->counts.active = paths->queued > 0 || paths->waiting > 0;
]])

mutant(NAME paths-received-is-idle KIND test_paths FILE bench/paths.c
	REMOVES "a part that has received something to do is active"
	TEXT [[
	if (paths->queued > 0)
		paths->counts.active = 1;
]]
	REPLACEMENT [[
]])

mutant(NAME paths-refused-counts KIND test_paths FILE bench/paths.c
	REMOVES "a batch that could not be sent now is sent later"
	TEXT [[
	if (!paths->options.send(paths->options.ctx, part, out->list, out->count))
		return false;
	paths->counts.sent++;
]]
	REPLACEMENT [[
	if (paths->options.send(paths->options.ctx, part, out->list, out->count))
		paths->counts.sent++;
]])

# ---- order and relaxations ----

mutant(NAME paths-any-order KIND test_paths FILE bench/paths.c
	REMOVES "the nearest is looked at first: a vertex that got nearer does not rise"
	TEXT [[
	rise(paths, paths->place[i] == NOT_QUEUED ? paths->queued++ : paths->place[i], i);
]]
	REPLACEMENT [[
	if (paths->place[i] == NOT_QUEUED)
		rise(paths, paths->queued++, i);
]])

mutant(NAME paths-two-children KIND test_paths FILE bench/paths.c
	REMOVES "the least of all children of a place comes up"
	TEXT [[
	uint32_t least = first, last = first + WIDTH < paths->queued ? first + WIDTH : paths->queued;
]]
	REPLACEMENT [[
	uint32_t least = first, last = first + 2 < paths->queued ? first + 2 : paths->queued;
]])

mutant(NAME paths-corrected-unqueued KIND test_paths FILE bench/paths.c
	REMOVES "a vertex that was looked at, and gets nearer, is looked at again"
	TEXT [[
	paths->place[i] = NOT_QUEUED;
	if (paths->queued > 0)
]]
	REPLACEMENT [[
	paths->place[i] = 0;
	if (paths->queued > 0)
]])

mutant(NAME paths-said-once KIND test_paths FILE bench/paths.c
	REMOVES "of another part's vertex what is less than what was said is said"
	TEXT [[
	paths->known[vertex] = distance;
]]
	REPLACEMENT [[
	paths->known[vertex] = 0;
]])

mutant(NAME paths-said-again KIND test_paths FILE bench/paths.c
	REMOVES "what was said is not said again"
	TEXT [[
	paths->known[vertex] = distance;
]]
	REPLACEMENT [[
]])

mutant(NAME paths-sum-wraps KIND test_paths FILE bench/paths.c
	REMOVES "a sum that is too large is none"
	TEXT [[
	uint64_t sum = (uint64_t)paths->reach + arc->weight;
]]
	REPLACEMENT [[
	uint32_t sum = paths->reach + arc->weight;
]])

# ---- ranges ----

mutant(NAME paths-rounded-down KIND test_paths FILE bench/paths.h
	COMPILE bench/paths.c
	REMOVES "a part begins with the first vertex that is its own: with one before"
	TEXT [[
	return (uint32_t)((((uint64_t)part << plan->scale) + parts - 1) / parts);
]]
	REPLACEMENT [[
	return (uint32_t)(((uint64_t)part << plan->scale) / parts);
]])

mutant(NAME paths-any-vertex KIND test_paths FILE bench/paths.c
	REMOVES "relaxations of vertices of others are refused"
	TEXT [[
		if (wh_relaxation_vertex(list[n]) - paths->begin >= paths->end - paths->begin)
			return false;
]]
	REPLACEMENT [[
		if (wh_relaxation_vertex(list[n]) == UINT32_MAX)
			return false;
]])

mutant(NAME paths-same-graph KIND test_paths FILE bench/graph.c
	REMOVES "the graph follows from the seed"
	TEXT [[
	uint64_t key = mix(plan->seed + UINT64_C(0x9e3779b97f4a7c15)), state = key ^ mix(edge + 1), bits = 0;
]]
	REPLACEMENT [[
	uint64_t key = mix(UINT64_C(0x9e3779b97f4a7c15)), state = key ^ mix(edge + 1), bits = 0;
]])

mutant(NAME paths-hubs-in-front KIND test_paths FILE bench/graph.c
	REMOVES "vertices are named anew"
	TEXT [[
	drawn.from = rename_vertex(plan, key, drawn.from);
	drawn.to = rename_vertex(plan, key, drawn.to);
]]
	REPLACEMENT [[
]])

mutant(NAME paths-one-way KIND test_paths FILE bench/graph.c
	REMOVES "an edge goes in both directions"
	TEXT [[
	if (is_mine(graph, edge.from))
		graph->arcs[graph->first[edge.from - graph->begin]++] = (struct wh_graph_arc){edge.to, edge.weight};
	if (is_mine(graph, edge.to))
]]
	REPLACEMENT [[
	if (is_mine(graph, edge.from))
		graph->arcs[graph->first[edge.from - graph->begin]++] = (struct wh_graph_arc){edge.to, edge.weight};
	if (0)
]])
