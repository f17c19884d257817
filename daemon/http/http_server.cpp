#include "daemon/http/http_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <cstddef>
#include <future>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "daemon/http/deadline_sweep.h"
#include "daemon/http/http_connection.h"
#include "daemon/http/http_service.h"
#include "platform/logging.h"
#include "platform/periodic_worker.h"
#include "platform/text.h"

namespace giftsync::http {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

/// Descriptors beyond max_connections, for new connections that are just evicting an idle one.
constexpr std::size_t kDescriptorMargin = 64;
/// Between two of these all other connections are served.
constexpr int kAcceptsAtOnce = 64;
/// Without a free descriptor or memory the next accept waits.
constexpr std::chrono::milliseconds kAcceptRetry{100};

tcp::acceptor listener_of(boost::asio::io_context& io, const HttpServerOptions& options) {
  auto inherited = adopt_listener(io, options.listen, options.inherited_sockets);
  return inherited ? std::move(*inherited) : open_listener(io, options.listen);
}

std::shared_ptr<BodyBudget> budget_of(const HttpServerOptions& options) {
  return options.body_budget ? options.body_budget : std::make_shared<BodyBudget>();
}

std::shared_ptr<PoolMeters> meters_of(const HttpServerOptions& options) {
  return options.pool_meters ? options.pool_meters : std::make_shared<PoolMeters>();
}

/// Held while a server has its address. The port alone would not tell, where two processes have one socket.
class AddressLock {
 public:
  explicit AddressLock(int descriptor) : descriptor_(descriptor) {}
  ~AddressLock() { ::close(descriptor_); }
  AddressLock(const AddressLock&) = delete;
  AddressLock& operator=(const AddressLock&) = delete;

 private:
  const int descriptor_;
};

/// The name of an abstract Unix socket is taken once on a machine. Throws std::runtime_error when it is.
int lock_address(const std::string& address);

}  // namespace

// Members are destroyed from the last to the first: the pools, whose threads post to the I/O thread, before
// it.
struct HttpServer::Impl {
  Impl(const HttpServerOptions& options, HttpHandler handler)
      : service(std::make_shared<HttpService>(options, std::move(handler))),
        registry(options.max_connections, options.max_connections_per_address),
        body_budget(budget_of(options)),
        listener(listener_of(io, options)),
        address(address_text(listener.local_endpoint())),
        address_lock(lock_address(address)),
        pools(std::in_place, meters_of(options)) {
    reserve_descriptors(options.max_connections + kDescriptorMargin);
  }

  // I/O thread only.
  void await_connection();
  void accept_connections();
  void retry_accept(const error_code& error);
  void serve(tcp::socket socket);

  /// Runs `work` on the I/O thread, if it runs, and waits for it.
  template <class Work>
  void run_on_io_thread(Work work);

  CurrentService service;
  ConnectionRegistry registry;
  const std::shared_ptr<BodyBudget> body_budget;
  boost::asio::io_context io{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work = make_work_guard(io);
  tcp::acceptor listener;
  boost::asio::steady_timer accept_retry{io};
  std::optional<std::chrono::steady_clock::time_point> accept_fault_logged_at;
  const std::string address;
  const AddressLock address_lock;
  DeadlineSweep deadlines{io};
  std::optional<HandlerPools> pools;
  ConnectionContext context{io, service, registry, *pools, *body_budget, deadlines};
  std::atomic<bool> stopped{false};
  std::thread io_thread;
};

void HttpServer::Impl::await_connection() {
  listener.async_wait(tcp::acceptor::wait_read, [this](const error_code& error) {
    if (!error) accept_connections();
  });
}

void HttpServer::Impl::accept_connections() {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    tcp::socket socket(io);
    error_code error;
    listener.accept(socket, error);
    if (!error) {
      serve(std::move(socket));
    } else if (error == boost::asio::error::would_block || error == boost::asio::error::try_again) {
      break;
    } else if (error.value() == EMFILE || error.value() == ENFILE || error.value() == ENOBUFS ||
               error.value() == ENOMEM) {
      return retry_accept(error);
    }
    // Other errors are those of a connection that has ended meanwhile.
  }
  await_connection();
}

void HttpServer::Impl::retry_accept(const error_code& error) {
  const auto now = std::chrono::steady_clock::now();
  if (!accept_fault_logged_at || now - *accept_fault_logged_at >= std::chrono::minutes(1)) {
    log_event(LogEvent::connections_wait,
              fmt::format("new connections to {} wait: {}", address, error.message()));
    accept_fault_logged_at = now;
  }
  accept_retry.expires_after(kAcceptRetry);
  accept_retry.async_wait([this](const error_code& cancelled) {
    if (!cancelled && listener.is_open()) accept_connections();
  });
}

void HttpServer::Impl::serve(tcp::socket socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  std::make_shared<HttpConnection>(std::move(socket), context)->start();
}

template <class Work>
void HttpServer::Impl::run_on_io_thread(Work run) {
  if (!io_thread.joinable()) return run();
  std::promise<void> done;
  boost::asio::post(io, [&] {
    run();
    done.set_value();
  });
  done.get_future().wait();
}

HttpServer::HttpServer(const HttpServerOptions& options, HttpHandler handler)
    : impl_(std::make_unique<Impl>(options, std::move(handler))) {}

HttpServer::~HttpServer() {
  stop(0);
}

void HttpServer::start() {
  impl_->await_connection();
  impl_->io_thread = std::thread([impl = impl_.get()] {
    name_thread("listener");
    impl->io.run();
  });
}

void HttpServer::exchange(const HttpServerOptions& options, HttpHandler handler,
                          std::shared_ptr<const void> use) {
  reserve_descriptors(options.max_connections + kDescriptorMargin);
  impl_->registry.set_limits(options.max_connections, options.max_connections_per_address);
  impl_->service.set(std::make_shared<HttpService>(options, std::move(handler), std::move(use)));
}

void HttpServer::stop(std::int64_t grace_millis, std::int64_t idle_millis) {
  if (impl_->stopped.exchange(true)) return;
  const std::chrono::milliseconds idle(idle_millis);
  const auto wait_for_last_requests = [this](std::chrono::milliseconds patience) {
    impl_->registry.wait_until_empty(ConnectionRegistry::Clock::now() + patience);
  };
  if (idle_millis > 0) {
    impl_->registry.begin_last_responses();
    wait_for_last_requests(idle * 3 / 4);
  }
  // First phase: the listener stops and idle connections are closed. Who is refused a connection may rely on
  // it that each response from now on says that its connection closes. Where the next process accepts
  // connections, none is accepted here any more that would be closed without a response.
  if (idle_millis == 0) impl_->registry.begin_close();
  impl_->run_on_io_thread([impl = impl_.get()] {
    error_code ignored;
    impl->listener.close(ignored);
    impl->accept_retry.cancel();
  });
  if (idle_millis > 0) wait_for_last_requests(idle / 4);
  impl_->registry.close_idle();
  // Second phase: requests in flight are answered within the grace period.
  const auto deadline = ConnectionRegistry::Clock::now() + std::chrono::milliseconds(grace_millis);
  if (!impl_->registry.wait_until_empty(deadline)) {
    impl_->registry.close_all();
    impl_->registry.wait_until_empty();
  }
  impl_->run_on_io_thread([impl = impl_.get()] { impl->deadlines.stop(); });
  impl_->pools.reset();  // their last tasks may still post
  impl_->work.reset();
  if (impl_->io_thread.joinable()) impl_->io_thread.join();
}

std::string HttpServer::listen_address() const {
  return impl_->address;
}

std::string HttpServer::url() const {
  return (impl_->service.get()->options.tls ? "https://" : "http://") + impl_->address;
}

int HttpServer::socket() const {
  return impl_->listener.native_handle();
}

std::size_t HttpServer::open_connections() const {
  return impl_->registry.open_count();
}

namespace {

using boost::asio::ip::tcp;

constexpr int kBacklog = 1024;
constexpr rlim_t kOtherDescriptors = 512;  ///< store, mail, logs, polling

std::string advice_for(int error) {
  switch (error) {
    case EADDRINUSE:
      return "the address is already in use. Another program, perhaps a second giftsyncd, listens there: "
             "stop it, or "
             "choose another port in server.listen";
    case EADDRNOTAVAIL:
      return "no interface of this machine has this address. Choose one that it has, or 0.0.0.0 for all, in "
             "server.listen";
    case EACCES:
      return "permission denied. Ports below 1024 need CAP_NET_BIND_SERVICE: choose a higher port in "
             "server.listen, "
             "or grant it in the systemd unit";
    default:
      return std::system_category().message(error);
  }
}

[[noreturn]] void throw_error(const std::string& listen, const std::string& reason) {
  throw std::runtime_error("cannot listen on " + listen + ": " + reason + ".");
}

struct Split {
  std::string host;
  std::string port;
};

/// "[::1]:8480" without its brackets; an empty host when there is no port.
Split split_address(const std::string& listen) {
  const std::size_t colon = listen.rfind(':');
  if (colon == std::string::npos) return {};
  std::string host = listen.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return {host, listen.substr(colon + 1)};
}

tcp::endpoint parse_listen(boost::asio::io_context& io, const std::string& listen) {
  const auto [host, port] = split_address(listen);
  const auto number = parse_number<std::uint16_t>(port);
  boost::system::error_code error;
  const auto found = host.empty() || !number
                         ? tcp::resolver::results_type()
                         : tcp::resolver(io).resolve(host, port, tcp::resolver::numeric_service, error);
  if (error || found.empty())
    throw_error(listen,
                "this is not an address with a port. Write for example 127.0.0.1:8480 or [::1]:8480 in "
                "server.listen");
  return found.begin()->endpoint();
}

int lock_address(const std::string& address) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const std::string text = "giftsyncd " + address;
  std::copy(text.begin(), text.end(), name.sun_path + 1);
  const int lock = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  if (lock >= 0 && ::bind(lock, reinterpret_cast<const sockaddr*>(&name), size) == 0) return lock;
  const int error = errno;
  ::close(lock);
  throw_error(address, advice_for(error));
}

}  // namespace

tcp::acceptor open_listener(boost::asio::io_context& io, const std::string& listen) {
  const tcp::endpoint endpoint = parse_listen(io, listen);
  try {
    tcp::acceptor acceptor(io, endpoint.protocol());
    acceptor.set_option(tcp::acceptor::reuse_address(true));
    // Otherwise accept() waits for the next connection, without end, when one was reset in the backlog.
    acceptor.set_option(tcp::acceptor::enable_connection_aborted(true));
    if (endpoint.address().is_v6()) acceptor.set_option(boost::asio::ip::v6_only(false));
    acceptor.bind(endpoint);
    acceptor.listen(kBacklog);
    acceptor.non_blocking(true);
    return acceptor;
  } catch (const boost::system::system_error& error) {
    throw_error(listen, advice_for(error.code().value()));
  }
}

std::optional<tcp::acceptor> adopt_listener(boost::asio::io_context& io, const std::string& listen,
                                            std::span<const int> sockets) {
  if (sockets.empty()) return std::nullopt;
  const tcp::endpoint endpoint = parse_listen(io, listen);
  for (const int socket : sockets) {
    if (address_of_socket(socket) != address_text(endpoint)) continue;
    tcp::acceptor acceptor(io, endpoint.protocol(), ::fcntl(socket, F_DUPFD_CLOEXEC, 0));
    acceptor.set_option(tcp::acceptor::enable_connection_aborted(true));
    acceptor.non_blocking(true);
    return acceptor;
  }
  return std::nullopt;
}

std::string resolved_address(const std::string& listen) {
  boost::asio::io_context io;
  return address_text(parse_listen(io, listen));
}

std::optional<std::string> address_of_socket(int socket) {
  tcp::endpoint bound;
  auto size = static_cast<socklen_t>(bound.capacity());
  if (::getsockname(socket, bound.data(), &size) != 0) return std::nullopt;
  const auto family = bound.data()->sa_family;
  int listens = 0;
  socklen_t option_size = sizeof listens;
  if ((family != AF_INET && family != AF_INET6) ||
      ::getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &listens, &option_size) != 0 || listens == 0)
    return std::nullopt;
  bound.resize(size);
  return address_text(bound);
}

std::string address_text(const tcp::endpoint& endpoint) {
  const std::string host = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(endpoint.port());
}

void reserve_descriptors(std::size_t connections) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = std::min(static_cast<rlim_t>(connections) + kOtherDescriptors, limit.rlim_max);
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = wanted;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace giftsync::http
