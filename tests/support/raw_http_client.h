// tests: the client end of a TCP connection, byte by byte, for requests that no HTTP library would send. With
// GIFTSYNC_TEST_TLS in the environment the bytes go by TLS, so that tests of the server run once more over
// it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/http/http_message.h"
#include "daemon/http/tls.h"

struct ssl_st;

namespace giftsync::tests {

/// What servers of tests use as HttpServerOptions::tls: null without GIFTSYNC_TEST_TLS.
std::shared_ptr<http::TlsContext> tls_of_tests();

struct RawResponse {
  int status = 0;
  std::multimap<std::string, std::string, http::HeaderLess> headers;
  std::string body;

  std::string header(std::string_view name) const;
};

/// Every wait ends after kTimeout; the test then fails by its own assertions.
class RawHttpClient {
 public:
  static constexpr std::chrono::seconds kTimeout{20};

  /// Connects to "127.0.0.1:8480"; throws std::runtime_error when it cannot.
  explicit RawHttpClient(const std::string& address, bool over_tls = tls_of_tests() != nullptr);
  ~RawHttpClient();
  RawHttpClient(RawHttpClient&& other) noexcept;
  RawHttpClient(const RawHttpClient&) = delete;
  RawHttpClient& operator=(const RawHttpClient&) = delete;

  int descriptor() const { return descriptor_; }
  /// Null without TLS.
  ssl_st* tls() { return tls_.get(); }
  /// False when the other end has closed.
  bool send(std::string_view bytes);
  /// Closes the sending side; of TLS with close_notify.
  void end();
  /// The next response, with its body unless `to_head`; nullopt when the connection ended without one.
  std::optional<RawResponse> read_response(bool to_head = false);
  /// Received bytes, at least one; empty when the connection has ended.
  std::string read_some();
  /// True when the other end closes without a further byte.
  bool is_closed();
  /// True when nothing arrives, not even the end, for `duration`.
  bool is_silent_for(std::chrono::milliseconds duration);

 private:
  enum class Received { bytes, end, nothing };
  Received try_receive(std::chrono::milliseconds timeout);
  bool receive(std::chrono::milliseconds timeout) { return try_receive(timeout) == Received::bytes; }
  bool receive_until(std::string_view delimiter);
  void begin_tls();

  int descriptor_;
  std::shared_ptr<ssl_st> tls_;  ///< null: plain
  std::string received_;
};

/// True as soon as `condition` holds, false when it does not within RawHttpClient::kTimeout.
template <typename Condition>
bool eventually(const Condition& condition);

}  // namespace giftsync::tests

#include <poll.h>

template <typename Condition>
bool giftsync::tests::eventually(const Condition& condition) {
  const auto deadline = std::chrono::steady_clock::now() + RawHttpClient::kTimeout;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    ::poll(nullptr, 0, 1);
  }
  return true;
}
