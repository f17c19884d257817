// sync: the budgets of accounts, organizations and the installation (GUARD-8 to GUARD-14), and the burst that
// pauses a key (GUARD-15): which limits a request must fit in, in which periods, and what is said when it
// does not. The store counts (schema/store/gift/sending_usage.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/time.h"
#include "schema/store/gift/gift_requests.h"
#include "schema/store/gift/sending_usage.h"

namespace giftsync::sync {

/// A calendar day or month of a time zone.
struct SendingPeriod {
  std::string name;  ///< "2026-11-28" or "2026-11"
  UtcMillis begins_at;
  UtcMillis ends_at;
  friend bool operator==(const SendingPeriod&, const SendingPeriod&) = default;
};

/// The day, and the month, that the time is in. `zone`: is_time_zone(). Pure.
SendingPeriod day_of(UtcMillis time, const std::string& zone);
SendingPeriod month_of(UtcMillis time, const std::string& zone);

/// Both, of one time.
struct SendingPeriods {
  SendingPeriod day;
  SendingPeriod month;

  bool contain(UtcMillis time) const { return time >= day.begins_at && time < day.ends_at; }
};
SendingPeriods periods_of(UtcMillis time, const std::string& zone);

/// Of one scope; what is absent is not limited.
struct BudgetValues {
  store::BudgetLimits day = {};
  store::BudgetLimits month = {};
  friend bool operator==(const BudgetValues&, const BudgetValues&) = default;
};

struct SendingBudgetRules {
  std::string time_zone = "UTC";
  BudgetValues account = {};  ///< of each account
  BudgetValues organization = {};
  BudgetValues installation = {};
  std::vector<std::int64_t> warn_at = {80, 100};  ///< percent, rising
  std::int64_t burst_gifts = 0;                   ///< of a key or token; 0: no limit
  std::int64_t burst_minutes = 10;
  bool budgets_hold = false;  ///< what does not fit waits for a person (GUARD-24)
  bool burst_holds = false;
};

/// What an admin set, by scope.
class SetBudgets {
 public:
  /// Whether a kind has a limit of a day or of a month.
  struct Kinds {
    bool day = false;
    bool month = false;
  };

  SetBudgets() = default;
  SetBudgets(const std::vector<store::SendingBudget>& budgets);  // NOLINT(google-explicit-constructor)

  const std::map<std::string, store::SendingBudget>& by_scope() const { return by_scope_; }
  Kinds limited(store::BudgetKind kind) const { return limited_.at(static_cast<std::size_t>(kind)); }

 private:
  std::map<std::string, store::SendingBudget> by_scope_;
  std::array<Kinds, 3> limited_{};
};

/// The rules with what an admin set, value by value (GUARD-13).
BudgetValues values_of(const SendingBudgetRules& rules, const SetBudgets& budgets, store::BudgetKind kind,
                       std::int64_t id);

/// The same limits for test requests, which count apart from others (TEST-7).
std::vector<store::UsageLimit> test_limits(std::vector<store::UsageLimit> limits);

/// How a request counts at that time. Pure. A kind that has a limit anywhere is counted for all, so that a
/// limit that begins within a period counts what was requested before. `periods`: of the budgets, which a
/// clock in doubt does not move; `now`: of the burst.
store::SendingCharge charge_of(const SendingBudgetRules& rules, const SetBudgets& budgets,
                               const store::GiftRequest& request, const SendingPeriods& periods,
                               UtcMillis now);
inline store::SendingCharge charge_of(const SendingBudgetRules& rules, const SetBudgets& budgets,
                                      const store::GiftRequest& request, UtcMillis period_time,
                                      UtcMillis now) {
  return charge_of(rules, budgets, request, periods_of(period_time, rules.time_zone), now);
}

/// The budgets that apply to an account of that organization at that time, the account's first. Pure.
std::vector<store::UsageLimit> budgets_of(const SendingBudgetRules& rules, const SetBudgets& budgets,
                                          AccountId account, std::optional<OrganizationId> organization,
                                          UtcMillis now);

/// One limit for each kind and period that is counted at that time; of the others nothing is known.
std::vector<store::UsageLimit> counted_periods(const SendingBudgetRules& rules, const SetBudgets& budgets,
                                               UtcMillis now);

/// "The account's budget of 500.00 for November 2026 has 12.40 left; this request costs 27.25." One sentence
/// for each limit that is passed, gifts before money.
std::vector<std::string> describe(const store::AskedLimit& exceeded);

/// When a request that was refused by these may fit; nothing when it never does, or an admin must act.
std::optional<UtcMillis> available_at(const std::vector<store::ExceededLimit>& exceeded);

/// The highest of the thresholds that the use has reached, in percent of the tighter of both limits; 0: none.
std::int64_t reached_threshold(const std::vector<std::int64_t>& warn_at, const store::BudgetLimits& limits,
                               const store::Usage& used);

/// A budget whose use has reached a threshold that was not reported of its limit before (GUARD-14).
struct BudgetWarning {
  store::UsageLimit limit;
  store::Usage used;
  std::int64_t percent = 0;
};
/// "80 % of a budget is used: account:17 requested 402.50 of 500.00 in November 2026"
std::string describe(const BudgetWarning& warning);

/// The rules and budgets of a running daemon. A limit applies as soon as it is read; what was requested in
/// its period before is missing from its use until count_begun() has counted it. Any thread. Throws
/// DependencyError.
class SendingBudgets {
 public:
  /// `trusted_now`: nothing while the clock is in doubt (LIFE-17); requests count in the periods of before
  /// then, so that a wrong clock begins no new month.
  SendingBudgets(store::SendingUsage& usage, SendingBudgetRules rules, std::function<UtcMillis()> now,
                 std::function<std::optional<UtcMillis>()> trusted_now)
      : usage_(usage), rules_(std::move(rules)), now_(std::move(now)), trusted_now_(std::move(trusted_now)) {}

  /// Reads the budgets, and counts for half a minute the periods of now that are not counted yet. To be
  /// called before the first request.
  void start();
  /// Counts each kind and period that began to be counted in this daemon: at once and, after the requests of
  /// before have ended, once more. What was not finished, as `may_continue` said, or failed goes on at the
  /// next call. Without any it reads no more than whether the budgets have changed. Of one thread at a time,
  /// after start().
  void count_begun(const std::function<bool()>& may_continue);
  /// As the function above. What an admin set counts within a second (GUARD-13).
  store::SendingCharge charge_of(const store::GiftRequest& request);
  /// As the function above.
  std::vector<store::UsageLimit> budgets_of(AccountId account, std::optional<OrganizationId> organization);
  const SendingBudgetRules& rules() const { return rules_; }
  /// Now; while the clock is in doubt the last time before.
  UtcMillis period_time();

  /// Adds refunds to what is counted, and returns what is to be reported: each threshold of a limit once
  /// among all daemons, also of a day that ended within the last hour. Admins are notified with it
  /// (GUARD-31).
  std::vector<BudgetWarning> maintain();

 private:
  struct Begun {
    store::UsageLimit limit;
    UtcMillis at;
    bool was_counted = false;
    bool is_last = false;  ///< the count that is under way
    bool is_done = false;
  };
  using Budgets = std::shared_ptr<const SetBudgets>;
  /// Reads at most whether the budgets have changed, and then the budgets. Never null.
  Budgets current();
  /// Of period_time(). Never null.
  std::shared_ptr<const SendingPeriods> periods();
  void find_begun();
  void add_warnings(UtcMillis period_time, std::vector<BudgetWarning>& warnings);

  store::SendingUsage& usage_;
  const SendingBudgetRules rules_;
  const std::function<UtcMillis()> now_;
  const std::function<std::optional<UtcMillis>()> trusted_now_;
  std::mutex mutex_;
  std::optional<UtcMillis> last_trusted_;                   // guarded by mutex_
  std::shared_ptr<const SendingPeriods> periods_;           // guarded by mutex_; of the last request
  Budgets budgets_ = std::make_shared<const SetBudgets>();  // guarded by mutex_
  std::string revision_;                                    // guarded by mutex_; of budgets_
  std::optional<UtcMillis> read_at_;                        // guarded by mutex_
  // Used by start() and count_begun() only:
  std::set<std::pair<std::string, store::BudgetKind>> counted_;  ///< kinds and periods
  std::vector<Begun> begun_;                                     ///< to be counted, or once more
};

}  // namespace giftsync::sync
