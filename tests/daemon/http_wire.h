// tests: the client's end of a TCP connection, byte by byte: what no HTTP library would send, and what came
// back.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/http/http_message.h"

namespace giftsync::tests {

struct WireAnswer {
  int status = 0;
  std::multimap<std::string, std::string, daemon::HeaderLess> headers;
  std::string body;

  std::string header(std::string_view name) const;
};

/// Every wait ends after kPatience; a test that runs into it fails by what it then finds.
class Wire {
 public:
  static constexpr std::chrono::seconds kPatience{20};

  /// Connects to "127.0.0.1:8480"; throws std::runtime_error when it cannot.
  explicit Wire(const std::string& address);
  ~Wire();
  Wire(Wire&& other) noexcept;
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  /// False when the other end has closed.
  bool send(std::string_view bytes);
  /// Nothing more will be sent.
  void end();
  /// The next answer, with its body unless `to_head`; nullopt when the connection ended without one.
  std::optional<WireAnswer> read_answer(bool to_head = false);
  /// True when the other end closes without a further byte.
  bool is_closed();
  /// True when nothing comes, not even the end, for `span`.
  bool is_silent_for(std::chrono::milliseconds span);

 private:
  bool receive(std::chrono::milliseconds patience);
  bool fill_until(std::string_view mark);

  int descriptor_;
  std::string received_;
};

/// True as soon as `condition` holds, false when it does not within Wire::kPatience.
template <typename Condition>
bool eventually(const Condition& condition);

}  // namespace giftsync::tests

#include <poll.h>

template <typename Condition>
bool giftsync::tests::eventually(const Condition& condition) {
  const auto deadline = std::chrono::steady_clock::now() + Wire::kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    ::poll(nullptr, 0, 1);
  }
  return true;
}
