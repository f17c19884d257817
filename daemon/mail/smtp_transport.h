// daemon/mail: passes a mail's bytes to libcurl and stops permanently when the sender's lease has expired. A
// process that was suspended and resumed thus cannot finish a mail that another sender may have taken over
// (MAIL-5).
#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/mail/smtp_session.h"

namespace giftsync::mail {

/// Milliseconds of a clock that keeps running while the process or the machine is suspended.
using LeaseClock = std::function<std::int64_t()>;

class BoundedBody {
 public:
  /// `bytes` must outlive the body. `deadline_millis` is a time of `clock`.
  BoundedBody(std::string_view bytes, std::int64_t deadline_millis, LeaseClock clock);

  /// Copies at most `size` bytes and returns their number. 0: all bytes were read, the final dot may follow.
  /// Nullopt: the lease has expired and the mail must be aborted; every later call returns nullopt too.
  std::optional<std::size_t> read(char* buffer, std::size_t size);

  bool lease_over() const { return lease_over_; }

 private:
  std::string_view remaining_;
  std::int64_t deadline_millis_;
  LeaseClock clock_;
  bool lease_over_ = false;
};

// one-line descriptions of relay errors for the admin, with the next step and without secrets.

/// Describes a transport fault: the relay's refusal if there is one, else libcurl's `code` and message.
std::string describe_error(const SmtpSession& session, CURLcode code, std::string_view curl_message);

/// One printable line of well-formed UTF-8, at most 500 code points, in which no `secrets` (nor their base64)
/// remain: some relays repeat the command that they refuse.
std::string as_log_line(std::string_view text, const std::vector<std::string>& secrets);

}  // namespace giftsync::mail
