/* crowd.c - `crowd HOW CALLERS SECONDS HOST:PORT...`: so many connections to each address, each made again as soon as it is hung up.
 *
 * HOW is what each does:
 *
 *     silent    nothing
 *     greets    it says that it has a key, and no more
 *     begins    it says that it has a key and TLS, begins a handshake, and says no more: it sends the same bytes each time, which costs
 *               it nothing
 *     finishes  it goes on to the end of the handshake, without a certificate
 *
 * Each second it prints how many were hung up in that second, how many of those had no answer (nothing listened there), and how many
 * stand. It ends by itself when its time is over.
 *
 * An end that hangs up first keeps a port for a minute (TIME_WAIT): a crowd that comes again 10,000 times a second would soon have no
 * port left. So each is closed with a reset (SO_LINGER of no time), which lets go of the port at both ends.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/env.h"
#include "transport/tcp/frame.h"

#define ADDRESSES_MAX 16
#define AT_ONCE 256
#define PAUSE_NS (10 * WH_NS_PER_MS) /* where nothing listens: to try without end would be all that the crowd did */
#define PREAMBLE_BYTES 8

#define MODE_KEY 1
#define MODE_BOTH 3

enum how { SILENT, GREETS, BEGINS, FINISHES };

struct caller {
	int fd; /* -1: it waits a moment */
	uint32_t to;
	bool spoke;
	size_t heard; /* bytes, before the handshake */
	SSL *ssl;     /* NULL: none, or not yet */
};

struct crowd {
	enum how how;
	int epoll;
	uint32_t count;
	struct caller *callers;
	struct sockaddr_in addresses[ADDRESSES_MAX];
	uint32_t hung_up, unanswered, waiting;
	SSL_CTX *ctx;
	unsigned char words[2048]; /* that each says at once */
	size_t word_bytes;
};

static void die(const char *what)
{
	fprintf(stderr, "crowd: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- coming and going ----------------------------------------------------------------------------------------------------- */

/* False: not now. */
static bool come(struct crowd *crowd, struct caller *c)
{
	const struct linger none = {.l_onoff = 1};
	struct epoll_event event = {.events = EPOLLIN | (crowd->how == SILENT ? 0U : EPOLLOUT),
				    .data.u32 = (uint32_t)(c - crowd->callers)};
	const struct sockaddr_in *to = &crowd->addresses[c->to];

	*c = (struct caller){.to = c->to};
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd >= 0 && setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none)) == 0 &&
	    (connect(c->fd, (const struct sockaddr *)to, sizeof(*to)) == 0 || errno == EINPROGRESS) &&
	    epoll_ctl(crowd->epoll, EPOLL_CTL_ADD, c->fd, &event) == 0)
		return true;
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	crowd->waiting++;
	return false;
}

static void go(struct crowd *crowd, struct caller *c, bool answered)
{
	SSL_free(c->ssl);
	c->ssl = NULL;
	close(c->fd);
	c->fd = -1;
	crowd->hung_up++;
	if (answered) {
		(void)come(crowd, c);
	} else {
		crowd->unanswered++;
		crowd->waiting++;
	}
}

static void come_again(struct crowd *crowd)
{
	crowd->waiting = 0;
	for (uint32_t i = 0; i < crowd->count; i++)
		if (crowd->callers[i].fd < 0)
			(void)come(crowd, &crowd->callers[i]);
}

/* ---- what it says --------------------------------------------------------------------------------------------------------- */

/* The first word of a handshake, behind what comes before it. */
static void prepare_handshake(struct crowd *crowd)
{
	BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
	SSL *ssl;
	int got;

	crowd->ctx = SSL_CTX_new(TLS_client_method());
	ssl = crowd->ctx != NULL ? SSL_new(crowd->ctx) : NULL;
	if (ssl == NULL || in == NULL || out == NULL)
		die("OpenSSL");
	SSL_set_bio(ssl, in, out);
	(void)SSL_connect(ssl);
	got = BIO_read(out, crowd->words + PREAMBLE_BYTES, sizeof(crowd->words) - PREAMBLE_BYTES);
	if (got <= 0)
		die("OpenSSL");
	if (crowd->how == BEGINS)
		crowd->word_bytes += (size_t)got;
	SSL_free(ssl);
}

static void prepare_words(struct crowd *crowd)
{
	const unsigned char preamble[PREAMBLE_BYTES] = {
		'w', 'h', 'o', 'r', 'l', crowd->how == GREETS ? MODE_KEY : MODE_BOTH, WH_TCP_VERSION};

	if (crowd->how == SILENT)
		return;
	memcpy(crowd->words, preamble, sizeof(preamble));
	crowd->word_bytes = sizeof(preamble);
	if (crowd->how != GREETS)
		prepare_handshake(crowd);
}

static void speak(struct crowd *crowd, struct caller *c)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)(c - crowd->callers)};

	(void)!send(c->fd, crowd->words, crowd->word_bytes, MSG_NOSIGNAL);
	c->spoke = true;
	(void)epoll_ctl(crowd->epoll, EPOLL_CTL_MOD, c->fd, &event);
}

/* The other end's preamble has come: the handshake. False: it is over. */
static bool shake_hands(struct crowd *crowd, struct caller *c)
{
	char waste[256];
	int done;

	if (c->ssl == NULL) {
		c->ssl = SSL_new(crowd->ctx);
		if (c->ssl == NULL || SSL_set_fd(c->ssl, c->fd) != 1)
			return false;
	}
	if (!SSL_is_init_finished(c->ssl)) {
		done = SSL_connect(c->ssl);
		if (done != 1)
			return SSL_get_error(c->ssl, done) == SSL_ERROR_WANT_READ;
	}
	done = SSL_read(c->ssl, waste, sizeof(waste));
	return done > 0 || SSL_get_error(c->ssl, done) == SSL_ERROR_WANT_READ;
}

static void listen_to(struct crowd *crowd, struct caller *c)
{
	char bytes[4096];
	size_t most = crowd->how == FINISHES ? PREAMBLE_BYTES - c->heard : sizeof(bytes);
	ssize_t n = most > 0 ? recv(c->fd, bytes, most, MSG_DONTWAIT) : 0;

	if (most > 0 && n <= 0) {
		if (n == 0 || errno != EAGAIN)
			go(crowd, c, n == 0 || errno == ECONNRESET);
		return;
	}
	if (crowd->how != FINISHES)
		return;
	c->heard += (size_t)n;
	if (c->heard == PREAMBLE_BYTES && !shake_hands(crowd, c))
		go(crowd, c, true);
}

/* ---- all of it ------------------------------------------------------------------------------------------------------------ */

static void tell(struct crowd *crowd)
{
	printf("hung up %u, of these unanswered %u; %u stand\n", crowd->hung_up, crowd->unanswered,
	       crowd->count - crowd->waiting);
	fflush(stdout);
	crowd->hung_up = crowd->unanswered = 0;
}

static void hear(struct crowd *crowd, const struct epoll_event *event)
{
	struct caller *c = &crowd->callers[event->data.u32];

	if ((event->events & (EPOLLOUT | EPOLLERR)) == EPOLLOUT && !c->spoke)
		speak(crowd, c);
	if ((event->events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
		listen_to(crowd, c);
}

static void run(struct crowd *crowd, uint64_t seconds)
{
	const struct wh_env *env = wh_env_system();
	uint64_t now = wh_env_now(env), end = now + seconds * WH_NS_PER_S, told = now, tried = now;
	struct epoll_event events[AT_ONCE];

	for (; now < end; now = wh_env_now(env)) {
		int n = epoll_wait(crowd->epoll, events, AT_ONCE, (int)(PAUSE_NS / WH_NS_PER_MS));

		for (int i = 0; i < n; i++)
			hear(crowd, &events[i]);
		if (now - tried >= PAUSE_NS) {
			come_again(crowd);
			tried = now;
		}
		if (now - told >= WH_NS_PER_S) {
			tell(crowd);
			told = now;
		}
	}
}

static void find_address(struct sockaddr_in *out, const char *text)
{
	char host[INET_ADDRSTRLEN];
	unsigned port;

	*out = (struct sockaddr_in){.sin_family = AF_INET};
	if (sscanf(text, "%15[0-9.]:%5u", host, &port) != 2 || inet_pton(AF_INET, host, &out->sin_addr) != 1) {
		fprintf(stderr, "crowd: \"%s\", expected HOST:PORT, in numbers\n", text);
		exit(2);
	}
	out->sin_port = htons((uint16_t)port);
}

static void raise_limit(uint32_t files)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		die("getrlimit");
	limit.rlim_cur = limit.rlim_max > files ? files : limit.rlim_max;
	if (limit.rlim_max < files) /* as root alone may */
		limit.rlim_cur = limit.rlim_max = files;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
		die("setrlimit");
}

static void make_crowd(struct crowd *crowd, uint32_t each, char *const *addresses, uint32_t address_count)
{
	for (uint32_t i = 0; i < address_count; i++)
		find_address(&crowd->addresses[i], addresses[i]);
	crowd->count = each * address_count;
	raise_limit(crowd->count + 64);
	crowd->callers = calloc(crowd->count, sizeof(*crowd->callers));
	crowd->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (crowd->callers == NULL || crowd->epoll < 0)
		die("epoll");
	prepare_words(crowd);
	for (uint32_t i = 0; i < crowd->count; i++)
		crowd->callers[i] = (struct caller){.fd = -1, .to = i % address_count};
}

int main(int argc, char **argv)
{
	static const char *const hows[] = {"silent", "greets", "begins", "finishes"};
	uint32_t addresses = argc > 4 ? (uint32_t)argc - 4 : 0;
	int each = argc > 4 ? atoi(argv[2]) : 0;
	struct crowd crowd = {.how = SILENT};

	while (argc > 1 && crowd.how <= FINISHES && strcmp(argv[1], hows[crowd.how]) != 0)
		crowd.how++;
	if (addresses == 0 || addresses > ADDRESSES_MAX || each <= 0 || crowd.how > FINISHES) {
		fprintf(stderr, "usage: crowd silent|greets|begins|finishes CALLERS SECONDS HOST:PORT...\n");
		return 2;
	}
	(void)signal(SIGPIPE, SIG_IGN); /* OpenSSL writes to what has been hung up */
	make_crowd(&crowd, (uint32_t)each, argv + 4, addresses);
	come_again(&crowd);
	run(&crowd, (uint64_t)atoi(argv[3]));
	return 0;
}
