/* peer_grpc.cc - what a call of gRPC costs beside one of delegation to another node: a process echoes, another calls it.
 *
 *     peer-grpc BYTES SECONDS OUTSTANDING [polling]
 *
 * Calls are bytes, by gRPC's generic interface: what its generated code does beside is left out. Over tcp on 127.0.0.1, without encryption, so
 * many calls on their way, by completion queues on both sides, each of one thread. They sleep until something is there, or, `polling`, ask
 * again and again. Prints {"calls_per_s", "latency_us": {"p50", "p99"}, "calls"}; each answer is compared with what was asked.
 */
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

extern "C" {
#include "bench/histogram.h"
}

namespace
{

constexpr uint64_t second = 1000000000;
constexpr uint64_t warm_ns = second / 5;
constexpr int patience_s = 10;
constexpr char method[] = "/peers.Echo/Echo";

[[noreturn]] void fail(int status, const std::string &what)
{
	fprintf(stderr, "peer-grpc: %s\n", what.c_str());
	_exit(status);
}

uint64_t now_ns()
{
	return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
					     std::chrono::steady_clock::now().time_since_epoch())
					     .count());
}

double number(const char *text, double least, double most)
{
	char *end;
	double value = strtod(text, &end);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || !(value >= least && value <= most))
		fail(2, std::string("\"") + text + "\": a number was expected from " + std::to_string(least) + " to " +
				std::to_string(most));
	return value;
}

/* What has ended next. False: nothing has, for long. */
bool next_of(grpc::CompletionQueue &queue, bool polling, void **tag, bool *good)
{
	const auto until = std::chrono::system_clock::now() + std::chrono::seconds(patience_s);

	if (!polling)
		return queue.AsyncNext(tag, good, until) == grpc::CompletionQueue::GOT_EVENT;
	for (uint64_t end = now_ns() + patience_s * second; now_ns() < end;) {
		if (queue.AsyncNext(tag, good, gpr_time_0(GPR_CLOCK_MONOTONIC)) == grpc::CompletionQueue::GOT_EVENT)
			return true;
		sched_yield(); /* the other process, if there is no other processor */
	}
	return false;
}

/* ---- the server --------------------------------------------------------------------------------------------------------------- */

struct Answer { /* of one call at a time: asked for, read, answered */
	std::unique_ptr<grpc::GenericServerContext> context;
	std::unique_ptr<grpc::GenericServerAsyncReaderWriter> stream;
	grpc::ByteBuffer bytes;
	enum { ASKED, READ, ANSWERED } state;
};

void ask(grpc::AsyncGenericService &service, grpc::ServerCompletionQueue &queue, Answer *answer)
{
	answer->context = std::make_unique<grpc::GenericServerContext>();
	answer->stream = std::make_unique<grpc::GenericServerAsyncReaderWriter>(answer->context.get());
	answer->state = Answer::ASKED;
	service.RequestCall(answer->context.get(), answer->stream.get(), &queue, &queue, answer);
}

void go_on(grpc::AsyncGenericService &service, grpc::ServerCompletionQueue &queue, Answer *answer, bool good)
{
	if (answer->state == Answer::ASKED && good) {
		answer->state = Answer::READ;
		answer->stream->Read(&answer->bytes, answer);
	} else if (answer->state == Answer::READ && good) {
		answer->state = Answer::ANSWERED;
		answer->stream->WriteAndFinish(answer->bytes, grpc::WriteOptions(), grpc::Status::OK, answer);
	} else {
		ask(service, queue, answer);
	}
}

/* Until its parent ends it. Writes its port to the pipe. */
[[noreturn]] void serve(int to_parent, unsigned outstanding, bool polling)
{
	grpc::AsyncGenericService service;
	grpc::ServerBuilder builder;
	int port = 0;
	void *tag;
	bool good;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
	builder.RegisterAsyncGenericService(&service);
	auto queue = builder.AddCompletionQueue();
	auto server = builder.BuildAndStart();
	if (server == nullptr || write(to_parent, &port, sizeof port) != sizeof port)
		fail(1, "no server");
	std::vector<Answer> answers(outstanding);
	for (auto &answer : answers)
		ask(service, *queue, &answer);
	while (next_of(*queue, polling, &tag, &good))
		go_on(service, *queue, static_cast<Answer *>(tag), good);
	fail(1, "the server has had nothing to do for long");
}

/* ---- the client --------------------------------------------------------------------------------------------------------------- */

struct Call {
	std::unique_ptr<grpc::ClientContext> context;
	std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
	grpc::ByteBuffer reply;
	grpc::Status status;
	std::string asked;
	uint64_t since;
};

class Client
{
      public:
	Client(int port, size_t bytes, unsigned outstanding, bool polling)
	    : stub_(grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials())),
	      polling_(polling), calls_(outstanding)
	{
		for (auto &call : calls_) {
			call.asked = std::string(bytes, 'x');
			begin(&call);
		}
	}

	/* Until then; each call that ends is followed by another. */
	void run(uint64_t until, struct wh_histogram *latency)
	{
		while (now_ns() < until) {
			Call *call = take();

			if (latency != nullptr)
				wh_histogram_add(latency, now_ns() - call->since);
			begin(call);
		}
	}

	void end()
	{
		for (size_t i = 0; i < calls_.size(); i++)
			take();
	}

      private:
	void begin(Call *call)
	{
		turn_++;
		memcpy(&call->asked[0], &turn_, std::min(sizeof turn_, call->asked.size()));
		grpc::Slice slice(call->asked);
		grpc::ByteBuffer request(&slice, 1);

		call->since = now_ns();
		call->context = std::make_unique<grpc::ClientContext>();
		call->context->set_wait_for_ready(true);
		call->reader = stub_.PrepareUnaryCall(call->context.get(), method, request, &queue_);
		call->reader->StartCall();
		call->reader->Finish(&call->reply, &call->status, call);
	}

	Call *take()
	{
		grpc::Slice reply;
		void *tag;
		bool good;

		if (!next_of(queue_, polling_, &tag, &good))
			fail(1, "no answer");
		Call *call = static_cast<Call *>(tag);
		if (!call->status.ok())
			fail(1, call->status.error_message());
		if (!call->reply.DumpToSingleSlice(&reply).ok() || reply.size() != call->asked.size() ||
		    memcmp(reply.begin(), call->asked.data(), reply.size()) != 0)
			fail(1, "an answer is not what was asked");
		return call;
	}

	grpc::GenericStub stub_;
	grpc::CompletionQueue queue_;
	bool polling_;
	uint64_t turn_ = 0;
	std::vector<Call> calls_;
};

void measure(int port, size_t bytes, double seconds, unsigned outstanding, bool polling)
{
	static struct wh_histogram latency;
	Client client(port, bytes, outstanding, polling);

	client.run(now_ns() + warm_ns, nullptr);
	const uint64_t begun = now_ns();
	client.run(begun + static_cast<uint64_t>(seconds * second), &latency);
	const double took = static_cast<double>(now_ns() - begun);
	client.end();
	printf("{\"calls_per_s\": %.0f, \"latency_us\": {\"p50\": %.3f, \"p99\": %.3f}, \"calls\": %llu}\n",
	       static_cast<double>(latency.count) * second / took, wh_histogram_quantile(&latency, 0.5) / 1e3,
	       wh_histogram_quantile(&latency, 0.99) / 1e3, static_cast<unsigned long long>(latency.count));
	fflush(stdout);
}

} // namespace

int main(int argc, char **argv)
{
	const bool polling = argc == 5 && strcmp(argv[4], "polling") == 0;
	int ends[2], port = 0;

	if (argc < 4 || argc > 5 || (argc == 5 && !polling))
		fail(2, "usage: peer-grpc BYTES SECONDS OUTSTANDING [polling]");
	const auto bytes = static_cast<size_t>(number(argv[1], 1, 65536));
	const double seconds = number(argv[2], 0.01, 3600);
	const auto outstanding = static_cast<unsigned>(number(argv[3], 1, 1024));
	if (pipe(ends) != 0)
		fail(1, strerror(errno));
	const pid_t server = fork(); /* before gRPC has threads */
	if (server < 0)
		fail(1, strerror(errno));
	if (server == 0)
		serve(ends[1], outstanding, polling);
	close(ends[1]);
	if (read(ends[0], &port, sizeof port) != sizeof port)
		fail(1, "the server does not start");
	measure(port, bytes, seconds, outstanding, polling);
	kill(server, SIGKILL);
	waitpid(server, nullptr, 0);
	_exit(0);
}
