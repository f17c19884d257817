#include "daemon/http/front_connection.h"

#include <spdlog/spdlog.h>

#include <utility>
#include <vector>

namespace giftsync::daemon {
namespace {

using Clock = ConnectionStream::Clock;
using Stage = RequestFraming::Stage;
using Received = ConnectionStream::Received;
using std::chrono::milliseconds;

/// How long a client that was told the connection ends may go on sending unheard.
constexpr milliseconds kLinger{5000};

Clock::time_point in(std::int64_t millis) {
  return Clock::now() + milliseconds(millis);
}

}  // namespace

FrontConnection::FrontConnection(const Poco::Net::StreamSocket& accepted, const FrontShared& shared)
    : TCPServerConnection(accepted),
      shared_(shared),
      peer_(peer_address(socket().impl()->sockfd()).value_or(IpAddress{})),
      peer_is_proxy_(shared.proxies.trusts(peer_)),
      peer_text_(peer_.text()),
      stream_(socket().impl()->sockfd(), milliseconds(shared.options.idle_deadline_millis)),
      framing_(shared.options.max_body_bytes),
      place_(shared.census, socket().impl()->sockfd(), peer_, peer_is_proxy_) {}

void FrontConnection::run() {
  if (!place_.admitted()) return;
  while (serve_next()) {
  }
}

bool FrontConnection::serve_next() {
  framing_.restart();
  // Silence and good-byes between requests need no answer.
  if (stream_.unread().empty() && stream_.receive_first() != Received::bytes) return false;
  if (!read_while(Stage::head, shared_.options.head_deadline_millis)) return false;
  if (framing_.expects_continue() && stream_.unread().empty()) greet_waiting_body();
  if (!read_while(Stage::body, shared_.options.body_deadline_millis)) return false;
  return answer_request();
}

/// True when the framing still wants more in `stage`.
bool FrontConnection::offer_unread(Stage stage) {
  if (framing_.stage() == stage && !stream_.unread().empty())
    stream_.consume(framing_.take(stream_.unread()));
  return framing_.stage() == stage;
}

bool FrontConnection::read_while(Stage stage, std::int64_t allowed_millis) {
  std::optional<Clock::time_point> deadline;  // most requests arrive in one piece and need no clock
  while (offer_unread(stage)) {
    if (!deadline) deadline = in(allowed_millis);
    const Received received = stream_.receive(*deadline);
    if (received == Received::bytes) continue;
    if (received == Received::deadline) {
      refuse(408, stage == Stage::head ? "The request's header did not arrive in time."
                                       : "The request's body did not arrive in time.");
    } else {
      refuse(400, "The connection ended before the request was complete.");
    }
    return false;
  }
  if (framing_.stage() != Stage::faulty) return true;
  refuse(400, framing_.fault());
  return false;
}

void FrontConnection::greet_waiting_body() {
  Outgoing outgoing{"HTTP/1.1 100 Continue\r\n\r\n", {}};
  stream_.send(outgoing, in(shared_.options.write_deadline_millis));
}

bool FrontConnection::answer_request() {
  if (!place_.begin_request()) return false;
  HttpRequest& request = framing_.request();
  request.body_too_large = framing_.stage() == Stage::too_large;
  request.client = client_of(request);
  request.request_id = request_ids_.next();
  const HttpResponse response = handle();
  const bool client_closes = framing_.stage() == Stage::whole && !framing_.keep_alive();
  const bool close = client_closes || response.close || request.body_too_large || shared_.census.closing();
  if (!send(response, request.request_id, close)) return false;
  if (close && (!client_closes || !stream_.unread().empty())) linger();
  return !close && !shared_.census.closing();
}

// A handler that throws has broken its contract; the boundary ends the process instead of guessing at a
// state.
HttpResponse FrontConnection::handle() noexcept {
  return shared_.handler(framing_.request());
}

void FrontConnection::refuse(int status, std::string_view detail) {
  const std::string request_id = request_ids_.next();
  spdlog::debug("a message that is no request: {}, from {} [request {}]", status, peer_text_, request_id);
  if (send(problem_answer(status, detail), request_id, true)) linger();
}

bool FrontConnection::send(const HttpResponse& response, std::string_view request_id, bool close) {
  write_answer_head(response, {date_.now(), request_id, close}, head_);
  const bool with_body = carries_body(framing_.request().method, response.status);
  Outgoing outgoing{head_, with_body ? std::string_view(response.body) : std::string_view()};
  if (!stream_.send_now(outgoing)) return false;
  if (outgoing.empty()) return place_.rest();
  return place_.begin_slow_answer() && stream_.send(outgoing, in(shared_.options.write_deadline_millis)) &&
         place_.rest();
}

void FrontConnection::linger() {
  // At a stop there is no time for those who do not listen.
  if (!shared_.census.closing()) stream_.linger(Clock::now() + kLinger);
}

std::string FrontConnection::client_of(const HttpRequest& request) const {
  if (!peer_is_proxy_) return peer_text_;
  const auto [first, last] = request.headers.equal_range("X-Forwarded-For");
  std::vector<std::string_view> forwarded_for;
  for (auto line = first; line != last; ++line) forwarded_for.push_back(line->second);
  return shared_.proxies.client_behind(peer_, forwarded_for).text();
}

}  // namespace giftsync::daemon
