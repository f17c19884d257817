#include "daemon/http/http_connection.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "daemon/http/problem.h"
#include "platform/logging.h"

namespace giftsync::http {
namespace {

using Stage = RequestFraming::Stage;
using boost::asio::ip::tcp;
using boost::system::error_code;
using std::chrono::milliseconds;

/// How long, and how much, a client may continue to send, unread, after a response that closes the
/// connection.
constexpr milliseconds kLinger{5000};
constexpr std::size_t kLingerBytes = 64 * 1024 * 1024;
/// How long a body waits for memory before its request is refused, and how often it tries.
constexpr milliseconds kMemoryPatience{2000};
constexpr milliseconds kMemoryRetry{20};
constexpr std::int64_t kOverloadRetrySeconds = 1;
/// How fast a client must take a response in parts, beyond the write deadline.
constexpr std::size_t kMinWriteBytesPerSecond = 16 * 1024;
/// What one record of TLS holds.
constexpr std::size_t kRecordBytes = 16 * 1024;
/// Larger buffers are not kept between requests.
constexpr std::size_t kKeptBytes = 4096;

bool would_block(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

iovec as_iovec(std::string_view text) {
  return {const_cast<char*>(text.data()), text.size()};
}

void drop_large(std::string& text) {
  if (text.capacity() > kKeptBytes) std::string().swap(text);
}

HttpResponse overloaded() {
  HttpResponse response =
      unavailable(kOverloadRetrySeconds, "has more requests than it can take for the moment");
  response.code = "overloaded";
  return response;
}

}  // namespace

HandlerPool& HandlerPools::of(HandlerKind kind) {
  switch (kind) {
    case HandlerKind::endpoint:
      return endpoints_;
    case HandlerKind::crm:
      return crm_;
    case HandlerKind::page:
      return pages_;
    case HandlerKind::console:
      return console_;
    case HandlerKind::sign_in:
      return sign_ins_;
    case HandlerKind::readiness:
      return readiness_;
    case HandlerKind::liveness:
      return liveness_;
  }
  std::abort();  // a value outside the enumeration: a bug
}

void ConnectionContext::record_overload(std::string_view reason) {
  ++overloads_since;
  const auto now = DeadlineSweep::Clock::now();
  if (overload_logged_at && now - *overload_logged_at < std::chrono::minutes(1)) return;
  log_event(LogEvent::server_overloaded,
            fmt::format("{}: {} requests were answered with 503 and Retry-After since the last such line",
                        reason, overloads_since));
  overload_logged_at = now;
  overloads_since = 0;
}

HttpConnection::HttpConnection(tcp::socket accepted, ConnectionContext& context, const HttpService& service)
    : context_(context),
      socket_(std::move(accepted)),
      peer_(peer_address(socket_.native_handle()).value_or(IpAddress{})),
      peer_text_(peer_.text()),
      tls_(service.options.tls ? service.options.tls->accept(socket_.native_handle()) : nullptr),
      framing_(std::numeric_limits<std::size_t>::max()),
      slot_(std::in_place, context.registry, socket_.native_handle(), peer_, service.proxies.trusts(peer_),
            tls_ != nullptr) {
  framing_.set_body_limit([this](const HttpRequest& head) { return plan_body(head); });
}

void HttpConnection::start() {
  if (!slot_->is_admitted()) return close();
  context_.deadlines.add(shared_from_this());
  const std::shared_ptr<const HttpService> service = context_.service.get();
  if (tls_)
    enter(State::handshake, service->options.head_deadline_millis);
  else
    enter(State::idle, service->options.idle_deadline_millis);
  await_bytes();
}

void HttpConnection::enter(State state, std::int64_t allowed_millis) {
  state_ = state;
  deadline_ = Clock::now() + milliseconds(allowed_millis);
  context_.deadlines.moved_to(deadline_);
}

void HttpConnection::await_bytes() {
  // Not at once: a pipeline of records would call itself deeply, and others have their turn.
  if (tls_ && !is_reading_ && state_ != State::discarding && tls_->has_unread()) {
    is_reading_ = true;
    return boost::asio::post(context_.io, [self = shared_from_this()] {
      self->is_reading_ = false;
      if (self->state_ != State::closed) self->read();
    });
  }
  await(tcp::socket::wait_read);
}

void HttpConnection::await(tcp::socket::wait_type what) {
  if (is_reading_) return;
  is_reading_ = true;
  socket_.async_wait(what, [self = shared_from_this()](const error_code& error) {
    self->is_reading_ = false;
    if (self->state_ != State::closed && !error) self->read();
  });
}

/// A letter: a message of TLS begins with the byte 22.
bool HttpConnection::begins_in_plain_text() {
  char first = 0;
  return ::recv(descriptor(), &first, 1, MSG_PEEK | MSG_DONTWAIT) == 1 &&
         ((first >= 'A' && first <= 'Z') || (first >= 'a' && first <= 'z'));
}

// On a thread of its own kind: a crowd of handshakes holds up no request.
void HttpConnection::shake_hands() {
  if (slot_->is_shut_down()) return close();
  if (!tls_->has_begun() && begins_in_plain_text()) {
    tls_.reset();
    begin_request();
    return send_problem(400,
                        "This port speaks TLS only, and the request came without it. Send it to an https:// "
                        "URL.");
  }
  // Not evicted meanwhile: in a crowd beyond the limit each handshake would end another one.
  if (!slot_->begin_request()) return close();
  state_ = State::negotiating;
  const Clock::time_point until = std::exchange(deadline_, DeadlineSweep::kNever);
  const bool is_queued = context_.pools.handshakes().try_post([self = shared_from_this(), until] {
    const TlsOutcome outcome = self->tls_->shake_hands();
    boost::asio::post(self->context_.io, [self, outcome, until] { self->take_handshake(outcome, until); });
  });
  if (!is_queued) close();
}

void HttpConnection::take_handshake(TlsOutcome outcome, Clock::time_point until) {
  if (!slot_->become_idle()) return close();
  if (outcome == TlsOutcome::done) {
    enter(State::idle, context_.service.get()->options.idle_deadline_millis);
    return context_.registry.is_closing() ? end() : await_bytes();
  }
  const bool goes_on = outcome == TlsOutcome::wants_read || outcome == TlsOutcome::wants_write;
  if (!goes_on || Clock::now() >= until) {
    log_debug(fmt::format("TLS handshake with {} failed: {}", peer_text_,
                          goes_on ? "it did not end in time" : tls_->fault()));
    return close();
  }
  if (context_.registry.is_closing()) return close();
  state_ = State::handshake;
  deadline_ = until;
  context_.deadlines.moved_to(deadline_);
  await(outcome == TlsOutcome::wants_read ? tcp::socket::wait_read : tcp::socket::wait_write);
}

void HttpConnection::read_decrypted() {
  // Its reading side was shut down, so that its other side can still tell.
  if (slot_->is_shut_down()) return end();
  const auto [outcome, count] = tls_->read(context_.buffer.get(), ConnectionContext::kBufferBytes);
  switch (outcome) {
    case TlsOutcome::done:
      keep_tls_buffers();
      return take({context_.buffer.get(), count});
    case TlsOutcome::wants_read:
      return await_bytes();
    case TlsOutcome::wants_write:
      return await(tcp::socket::wait_write);
    case TlsOutcome::ended:
      return end_of_bytes();
    case TlsOutcome::broken:
      log_debug(fmt::format("TLS connection of {} ended: {}", peer_text_, tls_->fault()));
      return close();
  }
}

/// Once it has sent something: a crowd of handshakes keeps nothing.
void HttpConnection::keep_tls_buffers() {
  if (has_tls_buffers_ || context_.tls_buffers == ConnectionContext::kMaxTlsBuffers) return;
  tls_->keep_buffers();
  has_tls_buffers_ = true;
  ++context_.tls_buffers;
}

void HttpConnection::read() {
  if (state_ == State::handshake) return shake_hands();
  if (state_ != State::idle && state_ != State::head && state_ != State::body && state_ != State::discarding)
    return;
  if (tls_ && state_ != State::discarding) return read_decrypted();
  const ssize_t count =
      ::recv(descriptor(), context_.buffer.get(), ConnectionContext::kBufferBytes, MSG_DONTWAIT);
  if (count < 0 && would_block(errno)) return await_bytes();
  if (count <= 0) return end_of_bytes();
  take({context_.buffer.get(), static_cast<std::size_t>(count)});
}

void HttpConnection::end_of_bytes() {
  // A close between requests needs no response.
  if (state_ == State::idle) return end();
  if (state_ == State::discarding) return close();
  send_problem(400, "The connection ended before the request was complete.");
}

void HttpConnection::take(std::string_view bytes) {
  if (state_ == State::discarding) {
    discarded_ += bytes.size();
    return discarded_ < kLingerBytes ? await_bytes() : close();
  }
  if (unread_.empty()) {
    unread_.assign(bytes.substr(parse(bytes)));
    go_on_reading();
  } else {
    unread_.append(bytes);
    take_unread();
  }
}

void HttpConnection::take_unread() {
  unread_.erase(0, parse(unread_));
  go_on_reading();
}

std::size_t HttpConnection::parse(std::string_view bytes) {
  if (state_ == State::idle) begin_request();
  if (!reserve_body(bytes.size())) return 0;
  return framing_.feed(bytes);
}

void HttpConnection::begin_request() {
  service_ = context_.service.get();
  plan_ = {};
  complete_at_.reset();
  body_deadline_ = DeadlineSweep::kNever;
  // Most requests arrive in one piece: go_on_reading() sets the deadline for the others.
  state_ = State::head;
  deadline_ = DeadlineSweep::kNever;
}

std::size_t HttpConnection::plan_body(const HttpRequest& head) {
  plan_ = service_->handler.plan(head);
  return std::min(plan_.max_body_bytes, service_->options.max_body_bytes);
}

// Memory for the whole body is taken at once: bodies that had a part each would wait for each other.
bool HttpConnection::reserve_body(std::size_t incoming) {
  static_assert(ConnectionContext::kBufferBytes <= BodyBudget::kFreeBytes);  // what comes with the header
  if (framing_.stage() != Stage::body || budgeted_ > 0) return true;
  std::string& body = framing_.request().body;
  const std::size_t whole = framing_.largest_body();
  if (std::min(whole, body.size() + incoming) <= BodyBudget::kFreeBytes) return true;
  const IpAddress client = client_of(framing_.request());
  // A proxy that does not name its client speaks for many.
  budget_account_ = {service_->proxies.trusts(client) ? BodyBudget::Client() : client.rate_limit_prefix(),
                     plan_.has_credential};
  if (!context_.body_budget.try_take(budget_account_, whole)) {
    state_ = State::awaiting_memory;
    return false;
  }
  budgeted_ = whole;
  return true;
}

void HttpConnection::go_on_reading() {
  if (state_ == State::awaiting_memory) {
    const auto now = Clock::now();
    if (memory_deadline_ == DeadlineSweep::kNever) memory_deadline_ = now + kMemoryPatience;
    deadline_ = now + kMemoryRetry;
    return context_.deadlines.moved_to(deadline_);
  }
  switch (framing_.stage()) {
    case Stage::head:
      if (deadline_ == DeadlineSweep::kNever) enter(State::head, service_->options.head_deadline_millis);
      return await_bytes();
    case Stage::body:
      if (!plan_.reads_body) return handle_request();
      if (body_deadline_ == DeadlineSweep::kNever) {
        if (framing_.expects_continue() && unread_.empty() && !send_continue()) return close();
        enter(State::body, service_->options.body_deadline_millis);
        body_deadline_ = deadline_;
      }
      return await_bytes();
    case Stage::complete:
    case Stage::too_large:
      return handle_request();
    case Stage::invalid:
      return send_problem(400, framing_.error_message());
  }
}

void HttpConnection::retry_body() {
  const auto now = Clock::now();
  if (now >= body_deadline_) return send_problem(408, "The request's body did not arrive in time.");
  if (now >= memory_deadline_) {
    context_.record_overload("the bodies of requests take all memory that they may");
    return send_error(overloaded());
  }
  state_ = State::body;
  deadline_ = body_deadline_;
  take_unread();
  if (state_ == State::body) {
    memory_deadline_ = DeadlineSweep::kNever;
    context_.deadlines.moved_to(deadline_);
  }
}

void HttpConnection::handle_deadline() {
  switch (state_) {
    case State::head:
      return send_problem(408, "The request's header did not arrive in time.");
    case State::body:
      return send_problem(408, "The request's body did not arrive in time.");
    case State::awaiting_memory:
      return retry_body();
    case State::idle:
      return end();
    case State::handshake:
    case State::writing:
    case State::discarding:
      return close();
    case State::negotiating:
    case State::handling:
    case State::closed:
      deadline_ = DeadlineSweep::kNever;
      return;
  }
}

/// False: the connection is broken.
bool HttpConnection::send_continue() {
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  // The rest of a record would have to be sent before the response.
  if (tls_) return tls_->write(kContinue).outcome == TlsOutcome::done;
  // Nothing was sent before it that the client has not taken. If it fails, so does the response.
  static_cast<void>(::send(descriptor(), kContinue.data(), kContinue.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
  return true;
}

void HttpConnection::handle_request() {
  if (!slot_->begin_request()) return close();
  state_ = State::handling;
  deadline_ = DeadlineSweep::kNever;
  HttpRequest& request = framing_.request();
  request.body_too_large = framing_.stage() == Stage::too_large;
  if (framing_.stage() == Stage::body) request.body.clear();  // a part of it would mislead the handler
  request.client = client_address(request);
  request.request_id = context_.request_ids.next();
  complete_at_ = Clock::now();
  auto task = [self = shared_from_this(), now = *complete_at_] { self->run_handler_on_pool(now); };
  if (context_.pools.of(plan_.kind).try_post(std::move(task))) return;
  // Not at once: a pipeline of requests would call itself deeply.
  boost::asio::post(context_.io, [self = shared_from_this()] {
    self->refuse_overloaded("more requests wait than their queue may hold");
  });
}

void HttpConnection::refuse_overloaded(std::string_view reason) {
  context_.record_overload(reason);
  respond(overloaded());
}

// A handler that throws has broken its contract; noexcept ends the process.
void HttpConnection::run_handler_on_pool(Clock::time_point queued_at) noexcept {
  const std::shared_ptr<const HttpService> service = service_;  // outlives what the reply refers to
  // Its connection is closed: the caller would not see the response.
  if (slot_->is_shut_down()) return post_response(overloaded());
  // Its caller has probably left, and the requests behind it must not grow as old.
  if (Clock::now() - queued_at > milliseconds(service->options.queue_deadline_millis)) {
    context_.pools.of(plan_.kind).count_refusal();
    return boost::asio::post(context_.io, [self = shared_from_this()] {
      self->refuse_overloaded("requests waited too long for a thread");
    });
  }
  Reply reply = service->handler.handle(framing_.request());
  if (HttpResponse* response = reply.response()) return post_response(std::move(*response));
  // Each step passes the connection on: no caller keeps it, or what its request uses, after its own step.
  std::move(reply).start([self = shared_from_this()](Reply::Finish finish) mutable {
    HandlerPool& pool = self->context_.pools.finishes();
    pool.post([self = std::move(self), finish = std::move(finish)]() mutable noexcept {
      HttpResponse response = finish();
      finish = nullptr;
      self->post_response(std::move(response));
    });
  });
}

void HttpConnection::post_response(HttpResponse response) {
  boost::asio::post(context_.io, [self = shared_from_this(), response = std::move(response)]() mutable {
    self->respond(std::move(response));
  });
}

void HttpConnection::respond(HttpResponse response) {
  if (response.is_lost) return close();
  const HttpRequest& request = framing_.request();
  release_body();
  const bool client_closes = framing_.stage() == Stage::complete && !framing_.keep_alive();
  closes_ = client_closes || response.close || framing_.stage() != Stage::complete ||
            context_.registry.ends_with_response() || is_outdated();
  begin_sending(std::move(response), request.request_id);
}

void HttpConnection::send_problem(int status, std::string_view detail) {
  send_error(problem_response(status, detail));
}

void HttpConnection::send_error(HttpResponse response) {
  const std::string request_id = context_.request_ids.next();
  log_debug(
      fmt::format("request not read: {}, from {} [request {}]", response.status, peer_text_, request_id),
      {LogField("request_id", request_id).not_in_text()});
  closes_ = true;
  begin_sending(std::move(response), request_id);
}

void HttpConnection::report_response(int status) {
  const OnResponse& report = service_->options.on_response;
  if (!report) return;
  std::optional<Clock::duration> took;
  if (complete_at_) took = Clock::now() - *complete_at_;
  report({plan_.group, status, took});
}

void HttpConnection::begin_sending(HttpResponse response, std::string_view request_id) {
  response_ = std::move(response);
  report_response(response_.status);
  write_left_ = milliseconds(service_->options.write_deadline_millis);
  is_chunked_ = response_.next_chunk && framing_.is_http_1_1();
  // HTTP/1.0 knows no chunks: the body ends with the connection.
  if (response_.next_chunk && !is_chunked_) closes_ = true;
  write_response_head(response_, {context_.date.now(), request_id, closes_, is_chunked_, has_hsts()}, head_);
  const bool has_body = may_have_body(framing_.request().method, response_.status);
  if (!has_body) response_.next_chunk = nullptr;
  if (!has_body || response_.next_chunk) response_.body.clear();
  sent_ = 0;
  go_on_sending();
}

/// Sends what the socket takes without waiting. False: the connection is broken.
bool HttpConnection::send_now() {
  if (tls_) return send_encrypted();
  const std::string_view head = std::string_view(head_).substr(std::min(sent_, head_.size()));
  const std::string_view body =
      std::string_view(response_.body).substr(sent_ > head_.size() ? sent_ - head_.size() : 0);
  iovec parts[2] = {as_iovec(head), as_iovec(body)};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  const ssize_t count = ::sendmsg(descriptor(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (count < 0) return would_block(errno);
  sent_ += static_cast<std::size_t>(count);
  return true;
}

// A record holds header and body together. When one has to be sent again it is cut from the same place, so it
// has the same bytes.
bool HttpConnection::send_encrypted() {
  const std::string_view body = response_.body;
  while (sent_ < head_.size() + body.size()) {
    std::string_view record =
        body.substr(std::max(sent_, head_.size()) - head_.size()).substr(0, kRecordBytes);
    if (sent_ < head_.size()) {
      static_assert(kRecordBytes <= ConnectionContext::kBufferBytes);
      const std::size_t of_head = head_.copy(context_.buffer.get(), kRecordBytes, sent_);
      const std::size_t of_body = body.copy(context_.buffer.get() + of_head, kRecordBytes - of_head);
      record = {context_.buffer.get(), of_head + of_body};
    }
    const auto [outcome, count] = tls_->write(record);
    write_wants_read_ = outcome == TlsOutcome::wants_read;
    if (outcome != TlsOutcome::done) return outcome != TlsOutcome::broken && outcome != TlsOutcome::ended;
    sent_ += count;
  }
  return true;
}

void HttpConnection::go_on_sending() {
  if (!send_now()) return close();
  if (sent_ == head_.size() + response_.body.size())
    return response_.next_chunk ? request_chunk() : finish_response();
  if (state_ != State::writing) {
    if (!slot_->begin_slow_write()) return close();
    enter(State::writing, std::chrono::duration_cast<milliseconds>(write_left_).count());
  }
  const auto what = write_wants_read_ ? tcp::socket::wait_read : tcp::socket::wait_write;
  socket_.async_wait(what, [self = shared_from_this()](const error_code& error) {
    if (self->state_ == State::writing && !error) self->go_on_sending();
  });
}

void HttpConnection::request_chunk() {
  // The time in which the next part is made does not count.
  if (state_ == State::writing) write_left_ = std::max(deadline_ - Clock::now(), Clock::duration::zero());
  state_ = State::handling;
  deadline_ = DeadlineSweep::kNever;
  context_.pools.of(plan_.kind).post([self = shared_from_this()] { self->make_chunk_on_pool(); });
}

void HttpConnection::make_chunk_on_pool() noexcept {
  std::string chunk;
  bool failed = false;
  try {
    chunk = response_.next_chunk();
  } catch (const std::exception& error) {
    const std::string& request_id = framing_.request().request_id;
    log_event(LogEvent::response_broken,
              fmt::format("a response could not be finished: {} [request {}]", error.what(), request_id),
              {LogField("request_id", request_id).not_in_text()});
    failed = true;
  }
  boost::asio::post(context_.io, [self = shared_from_this(), chunk = std::move(chunk), failed]() mutable {
    self->take_chunk(std::move(chunk), failed);
  });
}

void HttpConnection::take_chunk(std::string chunk, bool failed) {
  // A body that ends without its last chunk tells the client that it is incomplete.
  if (failed) return close();
  if (chunk.empty()) response_.next_chunk = nullptr;
  // A client that takes a byte now and then would hold the connection for as many deadlines as there are
  // parts.
  const milliseconds for_chunk(chunk.size() * 1000 / kMinWriteBytesPerSecond);
  write_left_ = std::min<Clock::duration>(write_left_ + for_chunk,
                                          milliseconds(service_->options.write_deadline_millis));
  head_ = is_chunked_ ? chunk_line(chunk.size()) : std::string();
  if (is_chunked_) chunk.append("\r\n");
  response_.body = std::move(chunk);
  sent_ = 0;
  go_on_sending();
}

void HttpConnection::finish_response() {
  if (!slot_->become_idle()) return end();
  const bool client_closes = framing_.stage() == Stage::complete && !framing_.keep_alive();
  if (closes_) return client_closes && unread_.empty() ? end() : linger();
  if (context_.registry.is_closing()) return end();
  become_idle();
}

void HttpConnection::become_idle() {
  const std::int64_t idle_millis = service_->options.idle_deadline_millis;
  response_ = {};    // may refer to what the service uses
  service_.reset();  // a connection that waits must not keep what was exchanged
  framing_.reset();
  is_chunked_ = false;
  memory_deadline_ = DeadlineSweep::kNever;
  drop_large(head_);
  enter(State::idle, idle_millis);
  if (!unread_.empty()) return take_unread();
  drop_large(unread_);
  await_bytes();
}

void HttpConnection::release_body() {
  std::string().swap(framing_.request().body);
  if (budgeted_ == 0) return;
  const bool was_crowd = context_.body_budget.give_back(budget_account_, std::exchange(budgeted_, 0));
  // The allocator keeps a crowd's memory otherwise. It takes a while: not on the thread of /-/healthy.
  if (was_crowd) context_.pools.of(HandlerKind::readiness).post([] { ::malloc_trim(0); });
}

/// Closes the sending side, then discards incoming bytes for a while. A close with unread bytes makes the
/// kernel reset the connection, and the peer would lose the response just sent.
void HttpConnection::linger() {
  if (tls_) tls_->end();
  // During a stop there is no time to linger.
  if (context_.registry.is_closing() || ::shutdown(descriptor(), SHUT_WR) != 0) return close();
  release_body();
  response_ = {};
  service_.reset();
  discarded_ = unread_.size();
  std::string().swap(unread_);
  enter(State::discarding, kLinger.count());
  await_bytes();
}

void HttpConnection::end() {
  if (tls_) tls_->end();
  close();
}

void HttpConnection::close() {
  if (state_ == State::closed) return;
  state_ = State::closed;
  deadline_ = DeadlineSweep::kNever;
  context_.deadlines.remove(*this);
  if (std::exchange(has_tls_buffers_, false)) --context_.tls_buffers;
  release_body();
  response_ = {};  // may refer to what the service uses
  service_.reset();
  slot_.reset();
  error_code ignored;
  socket_.close(ignored);
}

/// Whether the response tells browsers to come by TLS alone: only one that came by it may.
bool HttpConnection::has_hsts() {
  if (!service_->options.sends_hsts) return false;
  return tls_ ||
         (service_->proxies.trusts(peer_) && framing_.request().header("X-Forwarded-Proto") == "https");
}

/// Whether it could not begin in this way any more (HTTP-57).
bool HttpConnection::is_outdated() const {
  const std::shared_ptr<const HttpService> service = context_.service.get();
  const TlsContext* tls = service->options.tls.get();
  return tls ? !tls_ || !tls->allows(*tls_) : tls_ != nullptr;
}

std::string HttpConnection::client_address(const HttpRequest& request) const {
  return service_->proxies.trusts(peer_) ? client_of(request).text() : peer_text_;
}

IpAddress HttpConnection::client_of(const HttpRequest& request) const {
  if (!service_->proxies.trusts(peer_)) return peer_;
  const auto [first, last] = request.headers.equal_range("X-Forwarded-For");
  std::vector<std::string_view> forwarded_for;
  for (auto line = first; line != last; ++line) forwarded_for.push_back(line->second);
  return service_->proxies.client_behind(peer_, forwarded_for);
}

}  // namespace giftsync::http
