// daemon/sources: all sources of a running daemon: their webhooks behind one door, and a loop for each poll,
// so that a slow or dead one holds up no other.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/http/status_change_door.h"
#include "daemon/loops/loop.h"
#include "daemon/sources/amazon_fetch.h"
#include "daemon/sources/source_intake.h"
#include "daemon/sources/source_watch.h"

namespace giftsync::daemon {

class SourceRoom {
 public:
  /// Makes the sources known to the store. `on_changes` wakes the sync loop.
  SourceRoom(const std::vector<SourceSettings>& sources, const std::string& installation,
             schema::Store& store, std::function<void()> on_changes, std::size_t max_body_bytes);

  HttpResponse answer(const HttpRequest& request, std::string_view source) {
    return door_.answer(request, source);
  }
  /// `owner` holds the leases of polls; those it held before are freed. Says in the log which sources are not
  /// in the settings any more, though there are gifts or reports of theirs.
  void start_polls(const std::string& owner);
  void request_stop();
  /// Waits for the loops' steps to end.
  void stop();
  /// True unless a poll's loop has shown no life for so long.
  bool alive(std::int64_t longest_silence_millis) const;
  /// Polls that wait for a time which a wrong clock named are due now; their names.
  std::vector<std::string> end_false_waits(schema::UtcMillis now);
  /// What is to be done now and then: the first time all reports that were kept are judged again, which takes
  /// long; `keep_going` is asked meanwhile, and false ends it.
  void keep_house(schema::UtcMillis now, const std::function<bool()>& keep_going);

 private:
  void tell_of_removed();
  void review(const SourcePlan& plan, schema::UtcMillis now, const std::function<bool()>& keep_going);
  void tell_what_is_only_held(schema::UtcMillis now);

  schema::Store& store_;
  std::vector<SourcePlan> plans_;
  SourceWatch watch_;
  SourceIntake intake_;
  AmazonFetch amazon_;
  StatusChangeDoor door_;
  // The housekeeping loop's own:
  bool reviewed_ = false;
  schema::UtcMillis only_held_asked_at_{INT64_MIN / 2};
  std::vector<std::unique_ptr<Loop>> polls_;
};

}  // namespace giftsync::daemon
