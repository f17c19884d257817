// daemon/mail: hands a mail's bytes to libcurl, and stops for good when the sender's lease has run out, so
// that a process that was stopped and woken cannot finish a mail which somebody else may be sending by now
// (design 3.5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace giftsync::daemon {

/// Milliseconds of a clock that runs on while the process, or the machine, sleeps.
using LeaseClock = std::function<std::int64_t()>;

/// CLOCK_BOOTTIME.
std::int64_t boot_millis();

class SmtpBody {
 public:
  /// `bytes` must outlive the body. `deadline_millis` is a reading of `clock`.
  SmtpBody(std::string_view bytes, std::int64_t deadline_millis, LeaseClock clock);

  /// Copies at most `size` bytes and tells how many. 0: all have been given, the final dot may follow.
  /// Nullopt: the lease is over, the mail must be broken off; it stays so.
  std::optional<std::size_t> read(char* buffer, std::size_t size);

  bool lease_over() const { return lease_over_; }

 private:
  std::string_view rest_;
  std::int64_t deadline_millis_;
  LeaseClock clock_;
  bool lease_over_ = false;
};

}  // namespace giftsync::daemon
