/* machine_options.c - the sections [nic] and [cpu]: the cluster of the paper (docs/simulator.md says where each value comes from). */
#include "sim/machine.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NIC(field) offsetof(struct wh_nic_options, field)
#define CPU(field) offsetof(struct wh_cpu_options, field)

static const struct wh_option nic_options[] = {
	{"link_mb_per_s", WH_OPTION_INTEGER, "MB/s", "12500", 1, 1000000, NULL,
	 "What a link carries each way: 12500 is 12.5 GB/s, or 100 Gb/s.", NIC(link_mb_per_s), true},
	{"latency_ns", WH_OPTION_INTEGER, "ns", "1730", 0, 1000000000, NULL,
	 "From the end of the posting of a write of one byte until it is seen, with nothing else under way (fig. 1).",
	 NIC(latency_ns), true},
	{"latency_4k_ns", WH_OPTION_INTEGER, "ns", "2460", 0, 1000000000, NULL,
	 "The same for 4096 bytes; between them the latency is a straight line, above it grows as the link needs.",
	 NIC(latency_4k_ns), true},
	{"inline_bytes", WH_OPTION_INTEGER, "bytes", "64", 0, 65536, NULL,
	 "A write of so many bytes takes them along: it has the latency of one byte, and nothing is fetched from memory.",
	 NIC(inline_bytes), true},
	{"post_ns", WH_OPTION_INTEGER, "ns", "815", 0, 1000000, NULL,
	 "Processor time to post: once for what is posted together, whatever it is...", NIC(post_ns), true},
	{"write_ns", WH_OPTION_INTEGER, "ns", "185", 0, 1000000, NULL,
	 "...and for each write, which is a push to one peer. One write alone takes both: 1 us.", NIC(write_ns), true},
	{"card_ns", WH_OPTION_INTEGER, "ns", "10", 0, 1000000, NULL, "The card works so long on a write at least.",
	 NIC(card_ns), true},
	{"turn_bytes", WH_OPTION_INTEGER, "bytes", "16384", 64, 1 << 30, NULL,
	 "The card sends so much to one peer, then the next has its turn.", NIC(turn_bytes), true},
};
const struct wh_option_table wh_nic_table = {
	"nic",
	WH_OPTION_UNNAMED,
	"The network of `whorl bench` with transport = sim: a card at each node, and a switch "
	"that never blocks.",
	nic_options,
	COUNT(nic_options),
	sizeof(struct wh_nic_options)};

static const struct wh_option cpu_options[] = {
	{"pass_ns", WH_OPTION_INTEGER, "ns", "80", 1, 1000000, NULL,
	 "A pass of the loop, beside its subgroups and what it finds.", CPU(pass_ns), true},
	{"subgroup_ns", WH_OPTION_INTEGER, "ns", "10", 0, 1000000, NULL,
	 "In each pass, the predicates of a subgroup in which something moves...", CPU(subgroup_ns), true},
	{"member_ns", WH_OPTION_INTEGER, "ns", "8", 0, 1000000, NULL,
	 "...and each of its members: its row is looked at. So long takes each word as well that says where something moves.",
	 CPU(member_ns), true},
	{"message_ns", WH_OPTION_INTEGER, "ns", "5", 0, 1000000, NULL,
	 "The loop, for each message or round that it sends, takes in or covers.", CPU(message_ns), true},
	{"deliver_ns", WH_OPTION_INTEGER, "ns", "10", 0, 1000000, NULL,
	 "The loop, for each message that it delivers...", CPU(deliver_ns), true},
	{"upcall_ns", WH_OPTION_INTEGER, "ns", "50", 0, 1000000000, NULL, "...and for each upcall, before it returns.",
	 CPU(upcall_ns), true},
	{"send_ns", WH_OPTION_INTEGER, "ns", "25", 1, 1000000, NULL,
	 "The application, for the claim and the commit of a message.", CPU(send_ns), true},
	{"copy_mb_per_s", WH_OPTION_INTEGER, "MB/s", "5000", 1, 1000000, NULL,
	 "How fast messages are copied that bench.copies has copied. Else making and reading them takes no time, as in the paper's evaluation.",
	 CPU(copy_mb_per_s), true},
	{"jitter", WH_OPTION_INTEGER, "%", "10", 0, 100, NULL,
	 "Each of these times is up to so much shorter or longer, at random: nothing on a processor is exactly even.",
	 CPU(jitter), true},
};
const struct wh_option_table wh_cpu_table = {
	"cpu",
	WH_OPTION_UNNAMED,
	"The processors of `whorl bench` with transport = sim: one for each loop, and one for each "
	"thread that sends.",
	cpu_options,
	COUNT(cpu_options),
	sizeof(struct wh_cpu_options)};
