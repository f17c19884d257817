// daemon/http: one client connection from its first byte to its end: reads a request, has it handled, sends
// the response, repeats.
//
// Sockets are read and written on the I/O thread only, and never wait there. Handlers run on the threads of a
// HandlerPool; while a response is made later (http/reply.h), no thread waits for it.
#pragma once

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "daemon/http/connection_registry.h"
#include "daemon/http/deadline_sweep.h"
#include "daemon/http/handler_pool.h"
#include "daemon/http/http_service.h"
#include "daemon/http/request_parser.h"
#include "daemon/http/response_writer.h"
#include "daemon/http/tls.h"

namespace giftsync::http {

/// Requests of one kind wait for threads of their own (HTTP-48).
class HandlerPools {
 public:
  explicit HandlerPools(std::shared_ptr<PoolMeters> meters) : meters_(std::move(meters)) {}

  HandlerPool& of(HandlerKind kind);
  /// Makes the responses that are made later, of all kinds: what is durable already does not wait behind
  /// requests that only begin.
  HandlerPool& finishes() { return finishes_; }
  /// Computes TLS handshakes, of a crowd too with half of the processors at most.
  HandlerPool& handshakes() { return handshakes_; }

 private:
  static constexpr std::size_t kMaxQueued = 1024;

  const std::shared_ptr<PoolMeters> meters_;
  /// Outlives the others, whose handlers may post to it.
  HandlerPool finishes_{"responses", 16, 0, meters_->responses};
  HandlerPool endpoints_{"endpoints", 32, kMaxQueued, meters_->endpoints};
  HandlerPool crm_{"crm endpoints", 8, 256, meters_->crm};
  HandlerPool pages_{"pages", 16, kMaxQueued, meters_->pages};
  HandlerPool console_{"console", 4, 64, meters_->console};
  HandlerPool sign_ins_{"sign-ins", 16, 64, meters_->sign_ins};
  HandlerPool readiness_{"readiness", 4, 64, meters_->readiness};
  HandlerPool liveness_{"liveness", 1, 64, meters_->liveness};
  HandlerPool handshakes_{"handshakes", std::max(1U, std::thread::hardware_concurrency() / 2), kMaxQueued,
                          meters_->handshakes};
};

/// Shared by all connections of one server and outlives them.
struct ConnectionContext {
  static constexpr std::size_t kBufferBytes = 16 * 1024;
  /// So many TLS connections keep their memory for records until they end, 4 MB in all; those beyond take it
  /// for each request, and meet the allocator's locks with pieces of 17 KB.
  static constexpr std::size_t kMaxTlsBuffers = 128;

  boost::asio::io_context& io;
  const CurrentService& service;
  ConnectionRegistry& registry;
  HandlerPools& pools;
  BodyBudget& body_budget;
  DeadlineSweep& deadlines;
  // I/O thread only; shared so that an idle connection needs no memory for them.
  RequestIds request_ids = {};
  HttpDate date = {};
  std::unique_ptr<char[]> buffer{new char[kBufferBytes]};
  std::size_t tls_buffers = 0;  ///< connections that keep their memory for records

  /// Counts a request that is answered with 503 because of `reason`; logs the first one and once a minute.
  void record_overload(std::string_view reason);
  std::optional<DeadlineSweep::Clock::time_point> overload_logged_at = {};
  std::size_t overloads_since = 0;
};

/// I/O thread only, except where a name says otherwise.
class HttpConnection final : public std::enable_shared_from_this<HttpConnection> {
 public:
  using Clock = DeadlineSweep::Clock;

  HttpConnection(boost::asio::ip::tcp::socket socket, ConnectionContext& context)
      : HttpConnection(std::move(socket), context, *context.service.get()) {}
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  /// Serves requests until one side ends the connection; then it is destroyed.
  void start();

  Clock::time_point deadline() const { return deadline_; }
  void handle_deadline();

 private:
  enum class State {
    handshake,        ///< TLS: the client's next message has not arrived
    negotiating,      ///< a thread computes with it
    idle,             ///< no byte of the next request has arrived
    head,             ///< the header is incomplete
    body,             ///< the body is
    awaiting_memory,  ///< for the body: reading pauses
    handling,         ///< a handler has the request, or its response is made later
    writing,          ///< the client has not taken the whole response
    discarding,       ///< what a client sends after the last response, see linger()
    closed,
  };

  /// `service` counts for what concerns the connection as a whole: whether it is a proxy's.
  HttpConnection(boost::asio::ip::tcp::socket socket, ConnectionContext& context, const HttpService& service);

  void await_bytes();
  void await(boost::asio::ip::tcp::socket::wait_type what);
  void read();
  void read_decrypted();
  void keep_tls_buffers();
  bool begins_in_plain_text();
  void shake_hands();
  void take_handshake(TlsOutcome outcome, Clock::time_point until);
  void take(std::string_view bytes);
  void take_unread();
  std::size_t parse(std::string_view bytes);
  void begin_request();
  std::size_t plan_body(const HttpRequest& head);
  bool reserve_body(std::size_t incoming);
  void retry_body();
  void go_on_reading();
  void enter(State state, std::int64_t allowed_millis);
  void end_of_bytes();

  void handle_request();
  /// On a thread for handlers.
  void run_handler_on_pool(Clock::time_point queued_at) noexcept;
  void refuse_overloaded(std::string_view reason);
  void report_response(int status);
  /// On a thread for handlers.
  void post_response(HttpResponse response);
  void respond(HttpResponse response);
  void send_error(HttpResponse response);
  void send_problem(int status, std::string_view detail);
  void begin_sending(HttpResponse response, std::string_view request_id);
  bool send_continue();
  void go_on_sending();
  bool send_now();
  bool send_encrypted();
  bool has_hsts();
  bool is_outdated() const;
  void request_chunk();
  /// On a thread for handlers.
  void make_chunk_on_pool() noexcept;
  void take_chunk(std::string chunk, bool failed);
  void finish_response();
  void become_idle();
  void release_body();

  void linger();
  /// A close that tells the client that nothing is missing.
  void end();
  void close();
  int descriptor() { return socket_.native_handle(); }
  IpAddress client_of(const HttpRequest& request) const;
  std::string client_address(const HttpRequest& request) const;

  ConnectionContext& context_;
  boost::asio::ip::tcp::socket socket_;
  const IpAddress peer_;
  const std::string peer_text_;
  std::shared_ptr<const HttpService> service_;  ///< of the request in progress; null between requests
  std::unique_ptr<TlsSession> tls_;             ///< null: the connection is not encrypted
  RequestFraming framing_;
  RequestPlan plan_;
  State state_ = State::idle;
  bool is_reading_ = false;  ///< a wait for bytes is pending
  bool has_tls_buffers_ = false;
  bool closes_ = false;  ///< after the response in progress
  bool is_chunked_ = false;
  std::optional<Clock::time_point> complete_at_;  ///< when the request in progress was; empty before
  bool write_wants_read_ = false;                 ///< TLS has to read before it can write
  Clock::time_point deadline_ = DeadlineSweep::kNever;
  Clock::time_point body_deadline_ = DeadlineSweep::kNever;
  Clock::time_point memory_deadline_ = DeadlineSweep::kNever;
  std::string unread_;  ///< received and not yet parsed
  std::size_t discarded_ = 0;
  std::size_t budgeted_ = 0;  ///< of the body budget
  BodyBudget::Account budget_account_;
  Clock::duration write_left_ = {};  ///< how long the client may still let the response wait
  HttpResponse response_;
  std::string head_;                              ///< what precedes the body: the header, or a chunk's line
  std::size_t sent_ = 0;                          ///< of head_ and the body together
  std::optional<ConnectionRegistry::Slot> slot_;  ///< released while the descriptor is still open
};

}  // namespace giftsync::http
