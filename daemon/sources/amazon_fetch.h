// daemon/sources: fetches what SNS messages refer to. Certificates are remembered for a day, and longer while
// they cannot be fetched again; only so many calls go out in a minute: whoever sends forged messages must not
// make us call out for each of them. Any thread.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "daemon/clock.h"
#include "daemon/sources/web_fetch.h"

namespace giftsync::daemon {

class AmazonFetch {
 public:
  AmazonFetch(WebFetch fetch, Clock clock) : fetch_(std::move(fetch)), clock_(std::move(clock)) {}

  /// The body of a 200; nullopt for everything else, for URLs that are not of SNS and beyond the
  /// limit. Of a certificate the one that is remembered, however old, rather than none.
  std::optional<std::string> operator()(const std::string& url);

 private:
  struct Remembered {
    std::string text;
    schema::UtcMillis at;
  };
  bool may_call(schema::UtcMillis now);
  std::optional<std::string> call(const std::string& url);

  const WebFetch fetch_;
  const Clock clock_;
  std::mutex mutex_;
  std::map<std::string, Remembered> certificates_;  // guarded by mutex_
  schema::UtcMillis minute_{0};                     // guarded by mutex_
  int calls_ = 0;                                   // in that minute; guarded by mutex_
};

}  // namespace giftsync::daemon
