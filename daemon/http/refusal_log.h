// daemon/http: logs requests so that the Request-Id quoted by a caller is found in the log. At debug one line
// per response; at info the first refusal of a caller for a cause in a minute and the count of further ones.
// The cause is the status with its code and reason: a caller that is refused for one still gets a line about
// another. A flood of refused requests cannot fill the log: a caller has kMaxCausesPerCaller causes a minute,
// further ones count together, each costs two lines, and all callers together kMaxLinesPerMinute (OPS-11). A
// line has the route, never the called path, since a gift's link is a secret; it has no bodies, personal
// addresses or keys (OPS-12). A refused webhook's line names its source and the reason, after the message or
// as members of the JSON line (SRC-59). Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/http/http_message.h"
#include "platform/clock.h"
#include "platform/logging.h"

namespace giftsync::http {

class HttpRefusalLog {
 public:
  static constexpr std::size_t kMaxEntries = 1'000;  ///< of callers and causes
  static constexpr std::size_t kMaxCausesPerCaller = 4;
  static constexpr std::int64_t kMaxLinesPerMinute = 60;  ///< about refusals, per minute
  static constexpr std::size_t kWarningThreshold =
      20;  ///< this many further refusals of a caller in a minute are a warning

  explicit HttpRefusalLog(giftsync::Clock clock) : clock_(std::move(clock)) {}
  /// Logs what is pending.
  ~HttpRefusalLog();
  HttpRefusalLog(const HttpRefusalLog&) = delete;
  HttpRefusalLog& operator=(const HttpRefusalLog&) = delete;

  /// `route`: the path with names in braces in place of the caller's own text.
  void record(const HttpRequest& request, std::string_view route, const HttpResponse& response,
              std::int64_t millis);
  /// Logs the counts whose minute is over; called every few seconds.
  void flush();

 private:
  /// By network and cause; the cause of those beyond kMaxCausesPerCaller is empty.
  using Callers = std::map<std::pair<std::string, std::string>, SuppressionWindow>;

  void record_refusal(const std::string& network, std::string cause, LogLine line);
  /// Under mutex_.
  std::size_t causes_of(const std::string& network) const;
  /// Under mutex_.
  bool may_log(UtcMillis now);
  void log_suppressed(const Callers::value_type& caller, UtcMillis now);
  void expire_callers(UtcMillis now);

  const giftsync::Clock clock_;
  std::mutex mutex_;
  Callers callers_;         // guarded by mutex_, like all that follow
  UtcMillis minute_start_;  ///< of the minute to which lines_logged_ belongs
  std::int64_t lines_logged_ = 0;
  std::size_t omitted_ = 0;  ///< refusals beyond kMaxLinesPerMinute
};

}  // namespace giftsync::http
