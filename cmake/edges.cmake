# edges.cmake - which part of the source may include the headers of which. cmake/includes.cmake enforces it in each build.
#
# A part is a directory or the beginning of files' names: predicates/loop stands for predicates/loop.c, loop.h,
# loop_int.h. Where two parts fit a file, the longer name counts. A part may include its own headers and those of the
# parts behind the colon; it may name only parts that stand above it here, so the arrows cannot form a cycle. Headers
# called *_int.h are private to their part; only sim looks into them from outside.

set(public "include/whorl/result include/whorl/message include/whorl")
set(core "base conf transport sst smc predicates predicates/loop membership")
set(rooms "group/refuse group/record group/logs group/config group/status group/parts")
set(WHORL_EDGES
	"include/whorl/result  :"
	"include/whorl/message :"
	"include/whorl         : include/whorl/result include/whorl/message"
	"include/whorl/delegate: include/whorl/result include/whorl/message include/whorl"
	"include/whorl/dds     : include/whorl/result include/whorl/message include/whorl"
	"include/whorl/compat  :"
	"base                  : include/whorl/result"
	"conf                  : include/whorl/result base"
	"persistence           : include/whorl/result base"
	"transport             : include/whorl/result base"
	"transport/secure      : include/whorl/result base"
	"transport/session     : include/whorl/result base transport"
	"transport/shm         : include/whorl/result base transport transport/session"
	"transport/tcp         : include/whorl/result base transport transport/session transport/secure"
	"transport/verbs       : include/whorl/result base transport transport/session transport/tcp"
	"sim/disk              : include/whorl/result base transport"
	"sim/net               : include/whorl/result base transport transport/session sim/disk"
	"sst                   : include/whorl/result base transport"
	"predicates/loop       : include/whorl/result base transport sst"
	"membership            : include/whorl/result base persistence transport sst predicates/loop"
	"smc                   : include/whorl/result base transport sst"
	"predicates            : include/whorl/result include/whorl/message base transport sst smc predicates/loop"
	"state                 : include/whorl/result include/whorl/message include/whorl base transport"
	"group/refuse          : include/whorl/result include/whorl"
	"group/record          : include/whorl/result base"
	"group/logs            : ${public} base persistence membership predicates state"
	"group/config          : ${public} base conf transport transport/secure transport/tcp sst membership predicates/loop group/refuse group/logs"
	"group/status          : ${public} base membership transport transport/shm transport/tcp transport/verbs group/refuse group/config"
	"group/parts           : ${public} base sst membership smc predicates predicates/loop transport group/record group/logs group/config group/status"
	"group                 : ${public} ${core} state persistence transport/secure transport/shm transport/tcp transport/verbs ${rooms}"
	"sim                   : ${public} ${core} persistence sim/disk sim/net state group group/config"
	"work                  : ${public} base transport predicates/loop"
	"replica               : ${public} base persistence group group/refuse"
	"delegation/traffic    : ${public} include/whorl/delegate base"
	"delegation/steps      : ${public} include/whorl/delegate"
	"delegation            : ${public} include/whorl/delegate base transport predicates/loop work state group group/refuse group/status replica delegation/traffic delegation/steps"
	"dds/config            : include/whorl/result base conf"
	"dds/base              : ${public} include/whorl/dds base"
	"dds/policy            : ${public} include/whorl/dds base dds/base"
	"dds/type              : ${public} include/whorl/dds base dds/base"
	"dds/status            : ${public} include/whorl/dds base dds/base dds/policy"
	"dds/channel           : ${public} include/whorl/dds base dds/base dds/policy"
	"dds/cache             : ${public} include/whorl/dds base dds/base dds/policy dds/status"
	"dds/entity            : ${public} include/whorl/dds base dds/base dds/policy dds/cache"
	"dds                   : ${public} include/whorl/dds base dds/config dds/base dds/policy dds/type dds/status dds/channel dds/cache dds/entity"
	"ddsc/type             : ${public} include/whorl/dds base"
	"ddsc/kind             : ${public} include/whorl/dds base ddsc/type"
	"ddsc                  : ${public} include/whorl/dds include/whorl/compat base ddsc/type ddsc/kind"
	"command               : include/whorl/result base"
	"bridge                : ${public} include/whorl/dds base ddsc/type ddsc/kind command"
	"resp                  :"
	"bench/limit           : include/whorl/result base command"
	"bench/plot            : ${public} base conf command"
	"bench                 : ${public} base conf dds/config group group/config sim command bench/limit bench/plot"
	"tools                 : ${public} include/whorl/dds include/whorl/delegate base conf transport persistence group group/config group/status delegation/traffic delegation/steps sim command resp bench bench/plot"
	"bench/peers           : ${public} bench bench/limit"
	"bench/restart         : ${public}"
	"bench/views           : ${public}"
	"bench/calls           : ${public}"
	"bench/remote          : include/whorl/result base transport transport/shm transport/tcp"
	"bench/topics          : ${public} include/whorl/dds"
	"bench/bridge          :"
	"examples              : ${public} include/whorl/dds include/whorl/delegate resp"
)

# Parts that may include private headers of those behind the colon.
set(WHORL_INSPECTORS sim)

# Headers from outside that only the parts behind the colon may include.
set(WHORL_FOREIGN
	"ini.h      : conf examples"
	"dds/dds.h  : bench/peers bench/bridge include/whorl/compat ddsc bridge"
	"dds/ddsc   : include/whorl/compat ddsc"
	"dds/ddsrt  : include/whorl/compat bridge"
	"dds/version.h : bridge"
	"dds/export.h : include/whorl/compat"
	"dds/features.h : include/whorl/compat"
	"rpc/       : bench/peers"
	"grpcpp/    : bench/peers"
	"jansson.h  : tools bench bench/plot bridge"
	"ck_spinlock.h : tools"
	"urcu       : base"
	"infiniband : transport/verbs bench/limit"
	"rdma       : transport/verbs"
	"openssl    : transport/secure bench/limit"
)
