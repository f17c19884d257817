// schema/store: how many gifts, and for how much, were requested in a period and are not refunded, by
// account, organization and installation (GUARD-8); the budgets that an admin set; and how many gifts a key
// requested in a short window. A gift request is counted in the transaction that creates it, so that a limit
// holds for all callers and daemons.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/time.h"
#include "schema/ids.h"
#include "schema/money.h"
#include "schema/record_fields.h"
#include "schema/store/statements/audit_log.h"

namespace soci {
class session;
}

namespace giftsync::store {

enum class BudgetKind { account, organization, installation };

/// A limit that is absent does not apply.
struct BudgetLimits {
  std::optional<std::int64_t> gifts;
  std::optional<Money> amount;

  bool empty() const { return !gifts && !amount; }
  friend bool operator==(const BudgetLimits&, const BudgetLimits&) = default;
};

/// A budget that an admin set. A value that is absent is that of the settings; 0 sets no limit.
struct SendingBudget {
  std::string scope;  ///< usage_scope()
  std::optional<std::int64_t> day_gifts = {};
  std::optional<Money> day_amount = {};
  std::optional<std::int64_t> month_gifts = {};
  std::optional<Money> month_amount = {};
  UtcMillis changed_at = {};
  std::string changed_by = {};
};

// One field a line.
// clang-format off
inline constexpr auto kSendingBudgetFields = record_fields(
    "sending_budget",
    field<&SendingBudget::scope>("scope"),
    field<&SendingBudget::day_gifts>("day_gifts"),
    field<&SendingBudget::day_amount>("day_amount"),
    field<&SendingBudget::month_gifts>("month_gifts"),
    field<&SendingBudget::month_amount>("month_amount"),
    field<&SendingBudget::changed_at>("changed_at"),
    field<&SendingBudget::changed_by>("changed_by"));
// clang-format on

/// The scopes of test requests begin with this: they count apart from others (TEST-7).
inline constexpr std::string_view kTestScopes = "test ";

/// "all", "organization:3", "account:17"; of a kind without an id "organization" or "account".
std::string usage_scope(BudgetKind kind, std::int64_t id = 0);

/// One limit that a request must fit in.
struct UsageLimit {
  std::string period;                   ///< "2026-11-28", "2026-11" or "burst:1795860000000:10"
  std::string scope;                    ///< usage_scope(), or the prefix of a key or token
  std::optional<BudgetKind> kind = {};  ///< nothing: a burst
  BudgetLimits limits = {};
  UtcMillis begins_at = {};  ///< the period
  UtcMillis ends_at = {};
  bool holds = false;  ///< what does not fit waits for a person, instead of being refused

  bool is_burst() const { return !kind; }
  std::int64_t minutes() const { return (ends_at.value - begins_at.value) / 60'000; }
};

/// What was requested, as sending_usage has it.
struct Usage {
  std::int64_t gifts = 0;
  Money amount = {};
  /// The part of the budget that was last reported, in percent, and what was used then; find_period() alone
  /// reads them.
  std::int64_t warned = 0;
  std::int64_t warned_gifts = 0;
  Money warned_amount = {};
};

/// A request beside one of the limits that it must fit in.
struct AskedLimit {
  UsageLimit limit;
  Usage used;
  std::int64_t gifts = 0;           ///< of the request
  std::optional<Money> price = {};  ///< of all of them

  bool is_cost_unknown() const { return limit.limits.amount && !price; }
  bool passes_gifts() const { return limit.limits.gifts && used.gifts + gifts > *limit.limits.gifts; }
  /// A free gift passes no limit of money.
  bool passes_amount() const {
    return limit.limits.amount && price && price->minor_units > 0 &&
           used.amount + *price > *limit.limits.amount;
  }
  bool is_exceeded() const { return passes_gifts() || passes_amount() || is_cost_unknown(); }
};

/// Why a request was not made: it does not fit in this limit behind what was requested before it.
struct ExceededLimit : AskedLimit {
  bool is_new_pause = false;  ///< of a burst: this request paused the key or token
};

/// How a new request counts.
struct SendingCharge {
  std::string day = {};  ///< of the budgets; empty: it counts in none
  std::vector<UsageLimit> limits = {};
};

/// What the drafts of one transaction request, in their order; decides which fit (GUARD-12). One transaction.
class UsageCount {
 public:
  enum class Use {
    to_read,
    to_count,         ///< without locks: save() says whether what was decided still holds
    to_count_locked,  ///< locks what the limits count, in one order for all daemons
  };
  UsageCount(soci::session& session, std::span<const SendingCharge* const> charges, Use purpose);

  /// The request beside each of its limits; counts nothing.
  std::vector<AskedLimit> ask(const SendingCharge& charge, std::int64_t gifts, std::optional<Money> price,
                              bool is_cost_known) const;

  /// Counts a request that fits in all limits; else returns those that it exceeds, and counts nothing. A
  /// burst that is exceeded and pauses is full from then on.
  /// `is_cost_known`: of the item; `price` may be its fees alone.
  std::vector<ExceededLimit> add(const SendingCharge& charge, std::int64_t gifts, std::optional<Money> price,
                                 bool is_cost_known);

  /// Adds what was counted to the store: the transaction's last statement, because other daemons wait for
  /// these rows until it ends. False: a limit is passed, because another daemon has counted since the rows
  /// were read. Then the transaction is to be rolled back and made with locks.
  bool save(soci::session& session) const;

  bool is_locked() const { return is_locked_; }

 private:
  /// What is to be added to a row, and the smallest limits that it must fit in.
  struct Added {
    Usage usage;
    BudgetLimits most;
  };

  bool is_locked_ = false;
  std::map<std::string, Usage> used_;  // by sending_usage.id, as added_
  std::map<std::string, Added> added_;
};

/// Pauses the key or token whose burst it is as the system (GUARD-15), with an event of the audit log and
/// notices to admins (GUARD-31); false when it is paused already. Inside the caller's transaction.
bool pause_for_burst(soci::session& session, const UsageLimit& burst, UtcMillis now);

/// The refunds of these gifts count no more, or again: `gifts` is -1 or 1. Inside the caller's transaction.
void insert_adjustments(soci::session& session, std::span<const TransactionId> transactions,
                        std::int64_t gifts);

/// A difference between what is counted and the gifts themselves.
struct UsageDifference {
  std::string id;  ///< period and scope
  Usage counted;
  Usage gifts;
  bool is_missing = false;  ///< nothing was counted
};

/// Any thread. Throws DependencyError.
class SendingUsage {
 public:
  explicit SendingUsage(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

  std::vector<SendingBudget> budgets();
  /// Changes whenever a budget changed.
  std::string revision();
  void set(const SendingBudget& budget, const AuditEvent& audit);
  /// False, without a change, when no budget was set for the scope.
  bool unset(const std::string& scope, const AuditEvent& audit);

  /// Counts the gifts of the periods and kinds of these limits: while there was no limit none was counted.
  /// Takes as long as the periods' gifts are read, one day after the other; others count meanwhile. False
  /// when it did not finish, as `may_continue` said, which is asked before each day: call it again.
  bool count(
      std::span<const UsageLimit> limits, const std::function<bool()>& may_continue = [] { return true; });
  /// The periods and kinds of these limits, each once, that are not counted yet.
  std::vector<UsageLimit> find_uncounted(std::span<const UsageLimit> limits);
  /// What is used of each limit. Refunds of the last seconds may be missing.
  std::vector<Usage> find(std::span<const UsageLimit> limits);
  /// All rows of a period that have a number or are the installation's: by scope.
  std::map<std::string, Usage> find_period(const std::string& period);
  /// Adds the adjustments, up to 5,000; returns how many.
  std::size_t apply_adjustments();
  /// Counts the period's gifts and compares.
  std::vector<UsageDifference> check(std::span<const UsageLimit> limits);
  /// Remembers that the budget's threshold was reported with that use, with notices to admins (GUARD-31);
  /// false when another daemon reported one since `used` was read.
  bool mark_warned(const UsageLimit& budget, const Usage& used, std::int64_t percent, UtcMillis now);
  /// Forgets the window of a key or token that is released.
  void forget_bursts(const std::string& prefix);
  /// Deletes days before the first one and windows of bursts that began more than two days ago by the
  /// store's clock: a window has a day at most. Months stay.
  void prune(const std::string& first_day);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::store
