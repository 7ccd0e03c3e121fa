# batches.cmake - what makes a benchmark with [bench] batch one of claims and commits of so many at a time, taken out one at a time. See
# mutants.cmake.

mutant(NAME batches-one-by-one KIND test_cli_batches FILE bench/send.c WORDS CK_RUN_CASE=simulated
	REMOVES "a sender claims a batch at a time"
	TEXT [[
	uint32_t batch = stream->subgroup->batch;

]]
	REPLACEMENT [[
	uint32_t batch = 1;

]])

mutant(NAME batches-none-left KIND test_cli_batches FILE bench/send.c WORDS CK_RUN_CASE=simulated
	REMOVES "the last batch is of those that are left"
	TEXT [[
	return stream->subgroup->by_total || stream->left >= batch ? batch : (uint32_t)stream->left;
]]
	REPLACEMENT [[
	return batch;
]])

mutant(NAME batches-part-committed KIND test_cli_batches FILE bench/send.c WORDS CK_RUN_CASE=simulated
	REMOVES "all of a batch is committed: the last one of it is given back"
	TEXT [[
		whorl_commit_many(claims, count, NULL);
]]
	REPLACEMENT [[
		{
			whorl_commit_many(claims, count - 1, NULL);
			whorl_abort(&claims[count - 1]);
		}
]])

mutant(NAME batches-apart KIND test_cli_batches FILE bench/send.c WORDS CK_RUN_CASE=simulated
	REMOVES "a batch is committed together: each message of it is committed by itself"
	TEXT [[
		whorl_commit_many(claims, count, NULL);
]]
	REPLACEMENT [[
		for (uint32_t i = 0; i < count; i++) {
			whorl_commit(&claims[i], claims[i].bytes);
			if (node->world != NULL)
				node->world->filled(node->world->ctx, 0);
		}
]])

mutant(NAME batches-part-filled KIND test_cli_batches FILE bench/send.c WORDS CK_RUN_CASE=simulated
	REMOVES "all of a batch is filled: the last one of it is not"
	TEXT [[
	for (uint32_t i = 0; i < count; i++)
		fill_claim(sender, stream, &claims[i]);
]]
	REPLACEMENT [[
	for (uint32_t i = 0; i + 1 < count || i == 0; i++)
		fill_claim(sender, stream, &claims[i]);
]])

mutant(NAME batches-limit-without KIND test_cli_batches FILE bench/limit/rings.c WORDS CK_RUN_CASE=batches
	REMOVES "the limit of a run with batches publishes batches: it publishes as it likes"
	TEXT [[
	bool batches = has_only_batches(run->plan);
]]
	REPLACEMENT [[
	bool batches = has_only_batches(run->plan) && run->plan->nodes == 0;
]])
