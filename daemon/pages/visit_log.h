// daemon/pages: logs what happens on a gift's page without letting the holder of one link fill the log: each
// kind of event of a gift is one line a minute, and the count of further ones follows after the minute
// (OPS-32). Any thread.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "platform/clock.h"
#include "schema/ids.h"

namespace giftsync::pages {

class VisitLog {
 public:
  static constexpr std::size_t kMaxGifts = 10'000;  ///< remembered at once

  enum class Event {
    visit,         ///< info
    foreign_post,  ///< warning: a decision posted from another site's page
  };

  explicit VisitLog(Clock clock) : clock_(std::move(clock)) {}
  /// Logs what is pending.
  ~VisitLog();
  VisitLog(const VisitLog&) = delete;
  VisitLog& operator=(const VisitLog&) = delete;

  /// `client`: the visitor's address.
  void record(Event event, TransactionId gift, const std::string& client);
  /// Logs the counts whose minute is over; called every few seconds.
  void flush();

 private:
  struct Window {
    UtcMillis since;
    std::size_t suppressed = 0;
    std::string last_client;
  };
  using Windows = std::map<std::pair<TransactionId, Event>, Window>;

  static void log_suppressed(const Windows::value_type& one);

  const Clock clock_;
  std::mutex mutex_;
  Windows windows_;  // guarded by mutex_
};

}  // namespace giftsync::pages
