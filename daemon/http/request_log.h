// daemon/http: what the log tells of requests, so that the Request-Id which a caller quotes is found there:
// at debug a line for each answer, at info a line for a caller that is refused, the first in a minute, and
// how many more there were. No flood of refused requests can fill the log: a caller costs two lines a minute,
// all of them together kMostLines. A line has the route, never the path as it was called, since a gift's link
// is a secret; and no bodies, addresses of people or keys. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/clock.h"
#include "daemon/http/http_message.h"

namespace giftsync::daemon {

class RequestLog {
 public:
  static constexpr std::size_t kMostCallers = 1'000;
  static constexpr std::int64_t kMostLines = 60;  ///< about refusals, in a minute
  static constexpr std::int64_t kFlood = 20;      ///< so many more of a caller in a minute are a warning

  explicit RequestLog(Clock clock) : clock_(std::move(clock)) {}
  /// Tells what is left.
  ~RequestLog();
  RequestLog(const RequestLog&) = delete;
  RequestLog& operator=(const RequestLog&) = delete;

  /// `route`: the path with names in braces where the caller's own text was.
  void note(const HttpRequest& request, std::string_view route, const HttpResponse& response,
            std::int64_t millis);
  /// Tells what had to wait for its minute to end; called every few seconds.
  void catch_up();

 private:
  enum class Kind { credentials, content };
  struct Refusals {
    schema::UtcMillis since;
    std::int64_t untold = 0;
    std::string last;  ///< what the last untold one was
  };
  using Callers = std::map<std::pair<std::string, Kind>, Refusals>;

  void note_refusal(Kind kind, const std::string& network, const std::string& line);
  /// Under mutex_.
  bool may_tell(schema::UtcMillis now);
  void tell_rest(const Callers::value_type& caller, schema::UtcMillis now);
  void forget_old(schema::UtcMillis now);

  const Clock clock_;
  std::mutex mutex_;
  Callers callers_;                // guarded by mutex_, as all that follows
  schema::UtcMillis lines_since_;  ///< of the minute in which lines_ were told
  std::int64_t lines_ = 0;
  std::int64_t unlisted_ = 0;  ///< refusals that were too many to be told
};

}  // namespace giftsync::daemon
