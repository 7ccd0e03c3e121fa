/* machine_options.c - the sections [nic] and [cpu]: the cluster of the paper (docs/simulator.md says where each value comes from). */
#include "sim/machine.h"

#include <string.h>

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
	{"memory_mb_per_s", WH_OPTION_INTEGER, "MB/s", "0", 0, 100000000, NULL,
	 "What a node's memory moves: all that its card fetches and writes, and twice what bench.copies has copied; 0: any amount.",
	 NIC(memory_mb_per_s), true},
	{"queue_pairs", WH_OPTION_INTEGER, "", "0", 0, 65536, NULL,
	 "The card knows so many connections, those that were used last, for what it sends and takes in; 0: all...",
	 NIC(queue_pairs), true},
	{"queue_pair_ns", WH_OPTION_INTEGER, "ns", "500", 0, 1000000, NULL,
	 "...and what it has to know of another takes so long to fetch.", NIC(queue_pair_ns), true},
	{"port_bytes", WH_OPTION_INTEGER, "bytes", "0", 0, 1LL << 40, NULL,
	 "The switch keeps so much for one receiver; when it is full a card that sends to it waits, with all that it has for others; 0: any amount.",
	 NIC(port_bytes), true},
};
const struct wh_option_table wh_nic_table = {
	"nic",
	WH_OPTION_UNNAMED,
	"The network of `whorl bench` with transport = sim: a card at each node, and a switch "
	"that never blocks.",
	nic_options,
	COUNT(nic_options),
	sizeof(struct wh_nic_options)};

static const char *const presets[] = {"library", "paper", NULL};
static const struct wh_option cpu_options[] = {
	{"preset", WH_OPTION_CHOICE, "", "library", 0, 0, presets,
	 "library: what whorl calibrate measured, which are the defaults below; paper: Derecho's loop, as the text of the paper lets it be "
	 "computed (docs/simulator.md). Keys that are given are as they are given.",
	 CPU(preset), true},
	{"lock", WH_OPTION_SWITCH, "", "off", 0, 0, NULL,
	 "The loop and threads that send share a lock: the loop has it in a pass, and while it posts unless engine.deferred_push is on; a thread for each message.",
	 CPU(lock), true},
	{"pass_ns", WH_OPTION_INTEGER, "ns", "80", 1, 1000000, NULL,
	 "A pass of the loop, beside its subgroups and what it finds.", CPU(pass_ns), true},
	{"trigger_ns", WH_OPTION_INTEGER, "ns", "0", 0, 1000000, NULL,
	 "In a pass, each subgroup in which it finds something to do, beside what that is.", CPU(trigger_ns), true},
	{"subgroup_ns", WH_OPTION_INTEGER, "ns", "10", 0, 1000000, NULL,
	 "In each pass, the predicates of a subgroup in which something moves...", CPU(subgroup_ns), true},
	{"member_ns", WH_OPTION_INTEGER, "ns", "8", 0, 1000000, NULL,
	 "...and each of its members: its row is looked at. So long takes each word as well that says where something moves.",
	 CPU(member_ns), true},
	{"miss_ns", WH_OPTION_INTEGER, "ns", "0", 0, 1000000, NULL,
	 "To read a line that a card has written, beside the above: of each counter that has changed once in a pass, and of each message that is delivered.",
	 CPU(miss_ns), true},
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

struct preset_value {
	const char *key;
	size_t offset;
	int64_t value;
};

#define PAPER(field) #field, CPU(field)

/* Derecho's loop, from sentences of the paper and nothing that its figures show; of times that depend on the number of nodes, those of 16
 * (docs/simulator.md has the arithmetic, 0073 says why). Fixed: no file and no figure is fitted. */
static const struct preset_value paper[] = {
	/* III-A: more than 30 % of the loop's time is posting; IV-A1: that is 64.84 s of 16 M messages, 4.05 us each. So each takes 13.5 us,
	 * and 9.46 beside posting. Less 0.16 for the message, 1.56 for a look at its subgroup, 80 ns for the pass and 50 for the upcall: */
	{PAPER(trigger_ns), 7600},
	/* III-C: posting is 20 to 50 % of a trigger, in the middle 32 %; IV-A1, A3: with batching it is 4.29 s, and batches are of 22. So 13.6 s
	 * for 721 k batches and 16 M messages, where one of each takes 9.46 us: 0.16 for a message, half to take it in, half to deliver. */
	{PAPER(message_ns), 80},
	{PAPER(deliver_ns), 80},
	/* IV-A3: among 50 subgroups the active one has less than 15 % of the time: each of the others 1.56 us, of 16 members. */
	{PAPER(member_ns), 97},
	/* IV-A1: 2.4 % of the baseline's time senders do not wait for room: 5.2 us a message. II-D: a lock, three predicates; half of the time of
	 * one of them, 2.25 us, is the wait for it. */
	{PAPER(send_ns), 2900},
};

void wh_cpu_bind(const struct wh_conf *conf, size_t variant, struct wh_cpu_options *out)
{
	wh_conf_bind(conf, variant, &wh_cpu_table, NULL, out);
	if (out->preset != WH_CPU_PAPER)
		return;
	if (!wh_conf_given(conf, "cpu", NULL, "lock"))
		out->lock = true;
	for (size_t i = 0; i < COUNT(paper); i++)
		if (!wh_conf_given(conf, "cpu", NULL, paper[i].key))
			memcpy((char *)out + paper[i].offset, &paper[i].value, sizeof(paper[i].value));
}
