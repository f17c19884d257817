// crm/salesforce: the change events of an org's request records (REQ-55). A poll asks for what was written
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

#include "crm/request_records.h"
#include "crm/salesforce/calls/access_token.h"
#include "crm/salesforce/calls/api_names.h"
#include "crm/salesforce/calls/org_calls.h"
#include "crm/salesforce/calls/org_queries.h"
#include "platform/clock.h"
#include "platform/time.h"

namespace giftsync::salesforce {

// When the org is polled again: soon while there are changes, rarely while there are none,
// and never more often than a number of calls a day. Pure: callers pass `now`. One thread at a time.

inline constexpr std::int64_t kMostPollsPerDay = 1440;

struct PollPaceOptions {
  std::int64_t least_wait_millis = 15 * kSecondMillis;         ///< after changes
  std::int64_t most_wait_millis = 5 * kMinuteMillis;           ///< doubled up to it without changes
  std::int64_t most_refused_wait_millis = 15 * kMinuteMillis;  ///< doubled up to it by refusals
};

class PollPace {
 public:
  explicit PollPace(PollPaceOptions options) : options_(options), wait_millis_(options.least_wait_millis) {}

  bool is_due(UtcMillis now) const;
  /// Before the call: one that fails is repeated after the least wait.
  void note_call(UtcMillis now);
  void note_answer(bool has_changes, UtcMillis now);
  /// The org refused the call: it would refuse the same call again.
  void note_refusal(UtcMillis now);
  /// The next poll is due at once, within the number of calls a day.
  void hurry();

 private:
  std::int64_t calls_left(UtcMillis now) const;

  PollPaceOptions options_;
  std::int64_t wait_millis_;
  int refusals_ = 0;  ///< in a row
  UtcMillis next_ = {};
  UtcMillis counted_at_ = {};  ///< when `calls_` was right
  std::int64_t calls_ = -1;    ///< that may be made at once; -1: none was made yet
};

/// The cursor: a time in RFC 3339. Who accepts another org deletes it.
inline constexpr const char* kRequestCursorFact = "salesforce_request_cursor";

/// Whether the org's request record has a campaign: "yes" or kNoCampaign; absent: it is not known.
inline constexpr const char* kRequestCampaignFact = "salesforce_request_campaign";
inline constexpr const char* kNoCampaign = "no";

/// Events with Ids above 0 that are durable until they are acknowledged. All functions or none.
struct PushedEvents {
  std::function<std::vector<crm::RequestRecordEvent>(std::size_t limit)> list = nullptr;
  std::function<void(std::span<const std::int64_t> event_ids)> acknowledge = nullptr;
  /// Makes events of records that were created here, so that all daemons see them without a poll, whichever
  /// process made them. The Ids are different and in ascending order. May throw DependencyError.
  std::function<void(std::span<const std::string> record_ids)> add = nullptr;
};

struct RequestPollOptions {
  FactStorage facts;
  PushedEvents pushed = {};
  PollPaceOptions pace = {};
  std::int64_t overlap_millis = 5 * kMinuteMillis;
  bool is_enabled = true;  ///< false: the org is not polled, and has only pushed events
};

class RequestPoll {
 public:
  /// `calls` and `names` outlive this object.
  RequestPoll(OrgCalls& calls, const ApiNames& names, RequestPollOptions options, Clock clock);

  /// Polls when it is time.
  std::vector<crm::RequestRecordEvent> events(std::size_t limit);
  void acknowledge(std::span<const std::int64_t> event_ids);
  /// Before a query or a write: what a poll learned of the org's fields. Where none did, it asks the org
  /// once.
  void apply_learned();
  /// Records that wait for approval or sending are reported by the next poll, which is made at once.
  void enqueue_open();
  /// Records that were just created; throws nothing when their events cannot be stored.
  void enqueue(std::span<const RequestRecord> records);

 private:
  struct Pending {
    std::string record_id;
    std::optional<UtcMillis> changed_at;  ///< of a polled change
  };
  struct Seen {
    UtcMillis changed_at;
    std::string state;  ///< equal texts: nothing was changed
  };
  class Turn;
  void poll();
  /// What it returns; after a refusal the next poll is later.
  template <class Ask>
  auto noting_refusals(const Ask& asking);
  std::vector<Query> queries(bool with_open) const;
  void take(const Answers& answers);
  bool take_change(const JsonValue& row);
  void add(const std::string& record_id, std::optional<UtcMillis> changed_at);
  void forget_old();
  void load_state();
  void learn_object();
  std::optional<UtcMillis> acknowledged() const;

  OrgCalls& calls_;
  const ApiNames& names_;
  const RequestPollOptions options_;
  const Clock clock_;

  std::mutex mutex_;  // guards the following
  PollPace pace_;
  bool is_polling_ = false;
  bool wants_open_ = false;
  bool is_state_loaded_ = false;
  bool is_campaign_known_ = false;
  bool is_object_read_ = false;      ///< since the start, in the present org; used by the one who polls
  std::string organization_;         ///< of the state; empty before the first sign-in
  std::optional<UtcMillis> cursor_;  ///< the latest change that a poll saw
  std::optional<UtcMillis> saved_;   ///< as in the facts
  std::map<std::string, Seen, std::less<>> seen_;
  std::int64_t next_id_ = -1;
  std::map<std::int64_t, Pending, std::greater<>> pending_;  ///< by event Id, the oldest first
  std::map<std::string, std::int64_t, std::less<>> event_of_record_;
};

}  // namespace giftsync::salesforce
