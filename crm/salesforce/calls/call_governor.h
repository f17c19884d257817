// crm/salesforce: whether and how large the next call may be. Salesforce grants an org a number of calls
// per rolling 24 hours, which all its integrations share: giftsync keeps within its share, leaves a reserve,
// rests after a refusal and adapts the rows of a call. The state is a value without a clock: callers pass
// `now`. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "platform/time.h"

namespace giftsync::salesforce {

/// Used and granted calls.
struct CallQuota {
  std::int64_t used = 0;
  std::int64_t limit = 0;
  friend bool operator==(const CallQuota&, const CallQuota&) = default;
};

/// The header Sforce-Limit-Info: "api-usage=25/5000; per-app-api-usage=17/250(appName=x)".
struct LimitInfo {
  CallQuota org;
  std::optional<CallQuota> app;
  friend bool operator==(const LimitInfo&, const LimitInfo&) = default;
};
/// Nullopt when the header does not tell the org's usage.
std::optional<LimitInfo> parse_limit_info(std::string_view header);

struct GovernorOptions {
  int share_percent = 20;      ///< of the org's limit, for giftsync
  int keep_free_percent = 10;  ///< of the org's limit, for others: no call below it
  std::size_t most_rows = 1000;
  std::int64_t slow_call_millis = 15 * kSecondMillis;  ///< longer: the next calls have half the rows
};

/// What a call is for, the most important first. Near the end of giftsync's share the last ones stop first.
enum class CallPurpose {
  watch,     ///< Transaction Ids in the org, and whether its rules protect records
  gifts,     ///< new gift records
  matching,  ///< whose gifts they are
  status,
  requests,
  tasks,
  backfill  ///< and what a person asks for
};
inline constexpr std::size_t kCallPurposeCount = static_cast<std::size_t>(CallPurpose::backfill) + 1;

inline constexpr std::size_t kLeastRows = 25;
inline constexpr int kCleanCallsToDouble = 10;
inline constexpr std::int64_t kProbeMillis = 15 * kMinuteMillis;
/// An org in maintenance is not called after so many failed calls in a row: for 5 s, then for twice as long,
/// at most kMostOutageMillis.
inline constexpr int kOutageCalls = 4;
inline constexpr std::int64_t kLeastOutageMillis = 5 * kSecondMillis;
inline constexpr std::int64_t kMostOutageMillis = 5 * kMinuteMillis;
inline constexpr int kMostDoublings = 6;
inline constexpr std::int64_t kBucketMillis = 5 * kMinuteMillis;

struct CallPermit {
  bool is_allowed = true;
  UtcMillis not_before;        ///< of a refused call
  std::string reason;          ///< of a refused call, a sentence
  std::string next_step = {};  ///< of a refused call, a clause for an admin; empty where time alone helps
  bool is_transient = true;    ///< of a refused call; false: only an admin can help
};

/// What an admin does about a rest for this reason, as a clause; empty where time alone helps.
std::string step_after_rest(std::string_view reason);

/// The result of one call that wrote rows.
struct CallOutcome {
  std::int64_t millis = 0;
  bool halves_rows = false;  ///< a lock or a limit of transactions, see Treatment
};

class CallGovernor {
 public:
  explicit CallGovernor(GovernorOptions options);

  /// The caller makes the call at once and counts it with note_call().
  CallPermit permit(CallPurpose purpose, UtcMillis now) const;
  void note_call(UtcMillis now);
  /// True when far fewer calls are used than before: time has passed, or it is another org.
  bool note_limits(const LimitInfo& info, UtcMillis now);
  /// No call before that time. A later time that was noted before stays.
  void rest_until(UtcMillis time, std::string reason, bool needs_admin = false);
  /// The org refuses these calls until an admin has mended it: none of them before that time. The others are
  /// made.
  void refuse_until(UtcMillis time, std::string reason, CallPurpose purpose);
  /// The refusal of refuse_until(); nullopt when such calls are made.
  std::optional<CallPermit> refusal(CallPurpose purpose, UtcMillis now) const;
  /// Every rest, also of refuse_until().
  void end_rest();
  /// Ends those of refuse_until() only.
  void end_refusals() { refusals_ = {}; }
  /// An admin asks for it: the next call is made, whatever the org said last. The share stays a limit.
  void retry_now();
  /// The org answered, but with a failure of its own or with a page of its maintenance.
  void note_outage(UtcMillis now, const std::string& reason);
  /// It answered what was asked.
  void note_recovery() { outages_ = 0; }

  std::size_t rows_per_call() const { return rows_; }
  void note_outcome(const CallOutcome& outcome);

  /// giftsync's own calls within the last 24 hours.
  std::int64_t own_calls(UtcMillis now) const;
  /// giftsync's share in calls; nullopt before the first answer.
  std::optional<std::int64_t> share() const;
  const std::optional<LimitInfo>& limits() const { return limits_; }

  /// The state as text, and back; a text that cannot be read changes nothing and returns false.
  std::string to_text() const;
  bool read_text(std::string_view text);

 private:
  struct Bucket {
    std::int64_t start = 0;
    std::int64_t calls = 0;
  };
  struct Rest {
    UtcMillis until = {};
    std::string reason = {};
    bool needs_admin = false;

    void extend(UtcMillis time, std::string why, bool is_for_admin);
    std::optional<CallPermit> refusal(UtcMillis now) const;
  };
  std::optional<CallPermit> refusal_by_reserve(UtcMillis now) const;
  std::optional<CallPermit> refusal_by_share(CallPurpose purpose, UtcMillis now) const;
  void drop_old_buckets(UtcMillis now);

  GovernorOptions options_;
  std::optional<LimitInfo> limits_;
  std::deque<Bucket> buckets_;  ///< by start, ascending
  UtcMillis last_call_;
  Rest rest_;
  std::array<Rest, kCallPurposeCount> refusals_;
  std::size_t rows_;
  int clean_calls_ = 0;
  int outages_ = 0;  ///< in a row
};

// Where the state of the governor is kept, so that all processes of a store count their
// calls together and rest together.

/// A name in the store's metadata; its value is CallGovernor::to_text().
inline constexpr const char* kGovernorFact = "salesforce_calls";

/// Gets the stored state, nullopt when there is none, and returns the new one. It may run again and throws
/// nothing.
using GovernorChange = std::function<std::string(const std::optional<std::string>& state)>;

/// Makes one change; those of other processes come before or after it. May throw giftsync::DependencyError.
using GovernorStorage = std::function<void(const GovernorChange& change)>;

}  // namespace giftsync::salesforce
