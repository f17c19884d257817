// daemon/salesforce: the change events of an org's request records (REQ-55). A poll asks for what was written
// or deleted since the cursor, the time of the last poll, less an overlap in which changes may be
// committed late. A record is reported again only when it differs from what the last poll saw. The cursor is
// kept in `facts` and passes an event only when the event is acknowledged, so that a restart reports it
// again. Events that the org pushed come from elsewhere and are listed with these: for their endpoint the
// first poll stores what the org calls the object (request_object.h). Once another org is accepted nothing is
// left of the former one, and its open records are read. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/salesforce/access_token.h"
#include "daemon/salesforce/api_names.h"
#include "daemon/salesforce/org_calls.h"
#include "daemon/salesforce/org_queries.h"
#include "daemon/salesforce/poll_pace.h"
#include "platform/clock.h"
#include "schema/crm/request_records.h"

namespace giftsync::daemon::salesforce {

/// The cursor: a time in RFC 3339. Who accepts another org deletes it.
inline constexpr const char* kRequestCursorFact = "salesforce_request_cursor";

/// Events with Ids above 0 that are durable until they are acknowledged. Both functions or none.
struct PushedEvents {
  std::function<std::vector<schema::crm::RequestRecordEvent>(std::size_t limit)> list = nullptr;
  std::function<void(std::span<const std::int64_t> event_ids)> acknowledge = nullptr;
};

struct RequestPollOptions {
  FactStorage facts;
  PushedEvents pushed = {};
  PollPaceOptions pace = {};
  std::int64_t overlap_millis = 5 * platform::kMinuteMillis;
  bool is_enabled = true;  ///< false: the org is not polled, and has only pushed events
};

class RequestPoll {
 public:
  /// `calls` and `names` outlive this object.
  RequestPoll(OrgCalls& calls, const ApiNames& names, RequestPollOptions options, platform::Clock clock);

  /// Polls when it is time.
  std::vector<schema::crm::RequestRecordEvent> events(std::size_t limit);
  void acknowledge(std::span<const std::int64_t> event_ids);
  /// Records that wait for approval or sending are reported by the next poll, which is made at once.
  void enqueue_open();
  void enqueue(std::span<const schema::RequestRecord> records);

 private:
  struct Pending {
    std::string record_id;
    std::optional<platform::UtcMillis> changed_at;  ///< of a polled change
  };
  struct Seen {
    platform::UtcMillis changed_at;
    std::string state;  ///< equal texts: nothing was changed
  };
  class Turn;
  void poll();
  Answers answers_to(std::span<const Question> asked);
  std::vector<Question> questions(bool with_open) const;
  void take(const Answers& answers);
  bool take_change(const platform::JsonValue& row);
  void add(const std::string& record_id, std::optional<platform::UtcMillis> changed_at);
  void forget_old();
  void load_state();
  void learn_object();
  std::optional<platform::UtcMillis> acknowledged() const;

  OrgCalls& calls_;
  const ApiNames& names_;
  const RequestPollOptions options_;
  const platform::Clock clock_;

  std::mutex mutex_;  // guards the following
  PollPace pace_;
  bool is_polling_ = false;
  bool wants_open_ = false;
  bool is_state_loaded_ = false;
  bool is_object_read_ = false;  ///< since the start, in the present org; used by the one who polls
  std::string organization_;     ///< of the state; empty before the first sign-in
  std::optional<platform::UtcMillis> cursor_;  ///< the latest change that a poll saw
  std::optional<platform::UtcMillis> saved_;   ///< as in the facts
  std::map<std::string, Seen, std::less<>> seen_;
  std::int64_t next_id_ = -1;
  std::map<std::int64_t, Pending, std::greater<>> pending_;  ///< by event Id, the oldest first
  std::map<std::string, std::int64_t, std::less<>> event_of_record_;
};

}  // namespace giftsync::daemon::salesforce
