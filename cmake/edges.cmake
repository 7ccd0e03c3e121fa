# edges.cmake - which part of the source may include the headers of which. cmake/includes.cmake enforces it in each build.
#
# A part is a directory or the beginning of files' names: predicates/loop stands for predicates/loop.c, loop.h,
# loop_int.h. Where two parts fit a file, the longer name counts. A part may include its own headers and those of the
# parts behind the colon; it may name only parts that stand above it here, so the arrows cannot form a cycle. Headers
# called *_int.h are private to their part; only sim looks into them from outside.

set(public "include/whorl/result include/whorl/message include/whorl")
set(WHORL_EDGES
	"include/whorl/result  :"
	"include/whorl/message :"
	"include/whorl         : include/whorl/result include/whorl/message"
	"base                  : include/whorl/result"
	"conf                  : include/whorl/result base"
	"transport             : include/whorl/result base"
	"sst                   : include/whorl/result base transport"
	"predicates/loop       : include/whorl/result base transport sst"
	"membership            : include/whorl/result base transport sst predicates/loop"
	"smc                   : include/whorl/result base transport sst"
	"predicates            : include/whorl/result include/whorl/message base transport sst smc predicates/loop"
	"group                 : ${public} base conf transport sst smc predicates predicates/loop membership"
	"sim                   : ${public} base conf transport sst smc predicates predicates/loop membership group"
	"tools/limit           : include/whorl/result base"
	"tools                 : ${public} base conf group sim tools/limit"
	"bench/peers           : ${public} tools tools/limit"
	"examples              : ${public}"
)

# Parts that may include private headers of those behind the colon.
set(WHORL_INSPECTORS sim)

# Headers from outside that only the parts behind the colon may include.
set(WHORL_FOREIGN
	"ini.h      : conf"
	"jansson.h  : tools"
	"urcu       : base"
	"infiniband : transport tools/limit"
	"rdma       : transport"
	"openssl    : transport"
)
