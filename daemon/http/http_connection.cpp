#include "daemon/http/http_connection.h"

#include <spdlog/spdlog.h>

#include <utility>
#include <vector>

namespace giftsync::daemon::http {
namespace {

using Clock = ConnectionStream::Clock;
using Stage = RequestFraming::Stage;
using Received = ConnectionStream::Received;
using std::chrono::milliseconds;

/// How long a client may continue to send, unread, after a response that closes the connection.
constexpr milliseconds kLinger{5000};

Clock::time_point deadline_after(std::int64_t millis) {
  return Clock::now() + milliseconds(millis);
}

}  // namespace

HttpConnection::HttpConnection(const Poco::Net::StreamSocket& accepted, const ConnectionContext& context,
                               const HttpService& service)
    : TCPServerConnection(accepted),
      context_(context),
      peer_(platform::peer_address(socket().impl()->sockfd()).value_or(platform::IpAddress{})),
      peer_text_(peer_.text()),
      stream_(socket().impl()->sockfd(), milliseconds(service.options.idle_deadline_millis)),
      framing_(service.options.max_body_bytes),
      slot_(context.registry, socket().impl()->sockfd(), peer_, service.proxies.trusts(peer_)) {}

void HttpConnection::run() {
  if (!slot_.is_admitted()) return;
  while (serve_request()) {
  }
}

bool HttpConnection::serve_request() {
  framing_.reset();
  service_.reset();  // a connection that waits must not keep what was exchanged
  // A close or silence between requests needs no response.
  if (stream_.unread().empty() && stream_.receive_first() != Received::bytes) return false;
  service_ = context_.service.get();
  framing_.limit_body(service_->options.max_body_bytes);
  if (!read_stage(Stage::head, service_->options.head_deadline_millis)) return false;
  if (framing_.expects_continue() && stream_.unread().empty()) send_continue();
  if (!read_stage(Stage::body, service_->options.body_deadline_millis)) return false;
  return handle_request();
}

/// True when the framing needs more bytes in `stage`.
bool HttpConnection::feed_unread(Stage stage) {
  if (framing_.stage() == stage && !stream_.unread().empty())
    stream_.consume(framing_.feed(stream_.unread()));
  return framing_.stage() == stage;
}

bool HttpConnection::read_stage(Stage stage, std::int64_t allowed_millis) {
  std::optional<Clock::time_point> deadline;  // most requests arrive in one piece and need no clock
  while (feed_unread(stage)) {
    if (!deadline) deadline = deadline_after(allowed_millis);
    const Received received = stream_.receive(*deadline);
    if (received == Received::bytes) continue;
    if (received == Received::deadline) {
      send_error(408, stage == Stage::head ? "The request's header did not arrive in time."
                                           : "The request's body did not arrive in time.");
    } else {
      send_error(400, "The connection ended before the request was complete.");
    }
    return false;
  }
  if (framing_.stage() != Stage::invalid) return true;
  send_error(400, framing_.error_message());
  return false;
}

void HttpConnection::send_continue() {
  PendingWrite pending{"HTTP/1.1 100 Continue\r\n\r\n", {}};
  stream_.send(pending, deadline_after(service_->options.write_deadline_millis));
}

bool HttpConnection::handle_request() {
  if (!slot_.begin_request()) return false;
  HttpRequest& request = framing_.request();
  request.body_too_large = framing_.stage() == Stage::too_large;
  request.client = client_address(request);
  request.request_id = request_ids_.next();
  const HttpResponse response = call_handler();
  const bool client_closes = framing_.stage() == Stage::complete && !framing_.keep_alive();
  const bool close =
      client_closes || response.close || request.body_too_large || context_.registry.is_closing();
  if (!send(response, request.request_id, close)) return false;
  if (close && (!client_closes || !stream_.unread().empty())) linger();
  return !close && !context_.registry.is_closing();
}

// A handler that throws has broken its contract; noexcept ends the process.
HttpResponse HttpConnection::call_handler() noexcept {
  return service_->handler(framing_.request());
}

void HttpConnection::send_error(int status, std::string_view detail) {
  const std::string request_id = request_ids_.next();
  spdlog::debug("malformed request: {}, from {} [request {}]", status, peer_text_, request_id);
  if (send(problem_response(status, detail), request_id, true)) linger();
}

bool HttpConnection::send(const HttpResponse& response, std::string_view request_id, bool close) {
  write_response_head(response, {date_.now(), request_id, close}, head_);
  const bool has_body = may_have_body(framing_.request().method, response.status);
  PendingWrite pending{head_, has_body ? std::string_view(response.body) : std::string_view()};
  if (!stream_.send_now(pending)) return false;
  if (pending.empty()) return slot_.become_idle();
  return slot_.begin_slow_write() &&
         stream_.send(pending, deadline_after(service_->options.write_deadline_millis)) &&
         slot_.become_idle();
}

void HttpConnection::linger() {
  // During a stop there is no time to linger.
  if (!context_.registry.is_closing()) stream_.linger(Clock::now() + kLinger);
}

std::string HttpConnection::client_address(const HttpRequest& request) const {
  if (!service_->proxies.trusts(peer_)) return peer_text_;
  const auto [first, last] = request.headers.equal_range("X-Forwarded-For");
  std::vector<std::string_view> forwarded_for;
  for (auto line = first; line != last; ++line) forwarded_for.push_back(line->second);
  return service_->proxies.client_behind(peer_, forwarded_for).text();
}

}  // namespace giftsync::daemon::http
