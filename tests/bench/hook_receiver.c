/* scripts/bench --what hooks: a receiver of webhooks that does as little as possible. It answers each POST with 204 on a kept
 * connection, and at SIGTERM prints a line for each: when its last byte came, in microseconds since 1970, and the event's timestamp.
 *
 * Usage: hook_receiver PORT [BODIES]   BODIES: a file that gets the bodies, one in a line
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { kBufferBytes = 64 * 1024, kEvents = 64, kConnections = 1024, kMaxCalls = 4000000, kTimestampBytes = 24 };

struct connection {
  size_t bytes;
  char buffer[kBufferBytes];
};
struct call {
  long long micros;
  char timestamp[kTimestampBytes + 1];
};
static struct connection *connections[kConnections];  /* by descriptor */
static struct call *calls;
static size_t call_count;
static FILE *bodies;

static void note(const char *body, size_t bytes) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (call_count == kMaxCalls) errx(70, "more than %d calls", kMaxCalls);
  struct call *call = &calls[call_count++];
  call->micros = now.tv_sec * 1000000LL + now.tv_nsec / 1000;
  static const char name[] = "\"timestamp\":\"";
  const char *found = memmem(body, bytes, name, sizeof name - 1);
  if (found && found + sizeof name - 1 + kTimestampBytes <= body + bytes)
    memcpy(call->timestamp, found + sizeof name - 1, kTimestampBytes);
  if (bodies) {
    fwrite(body, 1, bytes, bodies);
    fputc('\n', bodies);
  }
}

/* Answers the requests that are complete; 0: the connection is of no more use. */
static int answer(int socket, struct connection *connection) {
  static const char response[] = "HTTP/1.1 204 No Content\r\n\r\n";
  for (;;) {
    char *end = memmem(connection->buffer, connection->bytes, "\r\n\r\n", 4);
    if (!end) return connection->bytes < kBufferBytes;
    *end = 0;
    const char *length = strcasestr(connection->buffer, "\r\ncontent-length:");
    *end = '\r';
    if (!length) return 0;
    const size_t body = strtoul(length + 17, NULL, 10), head = (size_t)(end + 4 - connection->buffer);
    if (body > kBufferBytes - head) return 0;
    if (connection->bytes < head + body) return 1;
    note(connection->buffer + head, body);
    if (write(socket, response, sizeof response - 1) != (ssize_t)(sizeof response - 1)) return 0;
    connection->bytes -= head + body;
    memmove(connection->buffer, connection->buffer + head + body, connection->bytes);
  }
}

static int watch(int poll, int descriptor) {
  struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};
  return epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event);
}

static void take_connection(int poll, int listener) {
  const int taken = accept(listener, NULL, NULL), on = 1;
  if (taken < 0) return;
  if (taken >= kConnections || !(connections[taken] = calloc(1, sizeof(struct connection)))) {
    close(taken);
    return;
  }
  setsockopt(taken, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (watch(poll, taken) != 0) err(70, "epoll_ctl");
}

static void read_connection(int socket) {
  struct connection *connection = connections[socket];
  const ssize_t count = read(socket, connection->buffer + connection->bytes, kBufferBytes - connection->bytes);
  if (count > 0) connection->bytes += (size_t)count;
  if (count > 0 ? answer(socket, connection) : count < 0 && errno == EINTR) return;
  close(socket);
  free(connection);
  connections[socket] = NULL;
}

int main(int argc, char **argv) {
  if (argc < 2) errx(64, "usage: hook_receiver PORT [BODIES]");
  if (argc > 2 && !(bodies = fopen(argv[2], "w"))) err(73, "%s", argv[2]);
  if (!(calls = calloc(kMaxCalls, sizeof *calls))) err(71, "memory");
  signal(SIGPIPE, SIG_IGN);
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigprocmask(SIG_BLOCK, &ending, NULL);
  const int signals = signalfd(-1, &ending, 0), on = 1;
  const int listener = socket(AF_INET, SOCK_STREAM, 0), poll = epoll_create1(0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(argv[1]))};
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 128) != 0) err(71, "port %s", argv[1]);
  if (watch(poll, listener) != 0 || watch(poll, signals) != 0) err(71, "epoll_ctl");
  for (;;) {
    struct epoll_event events[kEvents];
    const int count = epoll_wait(poll, events, kEvents, -1);
    for (int i = 0; i < count; ++i) {
      if (events[i].data.fd == signals) goto ended;
      if (events[i].data.fd == listener)
        take_connection(poll, listener);
      else
        read_connection(events[i].data.fd);
    }
  }
ended:
  for (size_t i = 0; i < call_count; ++i) printf("%lld %s\n", calls[i].micros, calls[i].timestamp);
  return (bodies && fclose(bodies) != 0) || fflush(stdout) != 0 ? 74 : 0;
}
