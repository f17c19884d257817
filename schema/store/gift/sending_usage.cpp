#include "schema/store/gift/sending_usage.h"

#include <algorithm>
#include <set>
#include <utility>

#include "platform/digest.h"
#include "schema/sql/bulk_rows.h"
#include "schema/sql/query_watchdog.h"
#include "schema/sql/record_rows.h"
#include "schema/store/account/admin_notices.h"
#include "schema/store/statements/claims.h"
#include "schema/store/statements/metadata.h"
#include "schema/store/statements/word_conversions.h"

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;

/// In the store's metadata. The second changes with each count, so that none is added twice.
constexpr const char* kRevision = "sending_budget_revision";
constexpr const char* kCount = "sending_usage_count";
constexpr std::size_t kMaxAdjustments = 5'000;
constexpr int kMaxRounds = 3;
constexpr int kDaysOfLongestMonth = 31;

std::string row_id(const std::string& period, const std::string& scope) {
  return period + " " + scope;
}
std::string row_id(const UsageLimit& limit) {
  return row_id(limit.period, limit.scope);
}

std::string_view word_of(BudgetKind kind) {
  switch (kind) {
    case BudgetKind::account:
      return "account";
    case BudgetKind::organization:
      return "organization";
    case BudgetKind::installation:
      break;
  }
  return "all";
}

/// What the rows of a kind and period begin with.
std::string prefix_of(const UsageLimit& limit) {
  return row_id(limit.period, std::string(word_of(*limit.kind)));
}

/// The row that says that all of the kind were counted in the period.
std::string marker_id(const UsageLimit& limit) {
  return row_id(limit.period, "counted " + std::string(word_of(*limit.kind)));
}

std::vector<std::string> days_of(const std::string& period) {
  const bool is_month = period.size() == std::string_view("2026-11").size();
  if (!is_month) return {period};
  std::vector<std::string> days;
  for (int day = 1; day <= kDaysOfLongestMonth; ++day)
    days.push_back(period + (day < 10 ? "-0" : "-") + std::to_string(day));
  return days;
}

/// Total Price of the request `r`, of which nothing may be known (GUARD-9).
constexpr const char* kPrice =
    "coalesce(r.item_cost, 0) + coalesce(r.shipping_cost, 0) + coalesce(r.carbon_neutral_cost, 0) + "
    "coalesce(r.transaction_fee, 0)";

/// What a day adds to the rows of a kind and period by the gifts themselves: id, gifts, amount. Pending
/// adjustments are left out of it, since a worker adds them later.
std::string usage_by_gifts(const UsageLimit& limit, const std::string& day) {
  const auto scope_of = [&](const std::string& table) -> std::string {
    if (*limit.kind == BudgetKind::installation) return "'" + prefix_of(limit) + "'";
    const std::string column = *limit.kind == BudgetKind::account ? ".account_id" : ".organization_id";
    return "'" + prefix_of(limit) + ":' || " + table + column;
  };
  const auto in_day = [&](const std::string& table) {
    std::string text = table + ".sending_day = '" + day + "'";
    if (*limit.kind == BudgetKind::organization) text += " AND " + table + ".organization_id IS NOT NULL";
    return text;
  };
  // A request that counts in no budget has no day, and is not in the index.
  return "SELECT " + scope_of("r") + " AS id, 1 AS gifts, " + kPrice +
         " AS amount FROM gift_request r "
         "JOIN recipient_transaction t ON t.request_id = r.id WHERE r.sending_day <> '' AND " +
         in_day("r") + " AND t.gift_source = '' AND t.status <> 'refunded' UNION ALL SELECT " +
         scope_of("a") + ", -a.gifts, -a.amount FROM sending_adjustment a WHERE " + in_day("a");
}

/// A condition on the rows of that kind and period.
std::string rows_of(const UsageLimit& limit) {
  const std::string id = prefix_of(limit);
  if (*limit.kind == BudgetKind::installation) return "id = '" + id + "'";
  return "id > '" + id + ":' AND id < '" + id + ";'";
}

std::map<std::string, Usage> select_usage(soci::session& session, const std::set<std::string>& ids) {
  std::map<std::string, Usage> found;
  const std::string list = sql::list_of(session, ids);
  std::string id;
  Usage row;
  soci::statement statement = sql::bound(
      session,
      "SELECT id, gifts, amount FROM sending_usage WHERE " + sql::in_list(session, "id", "ids", true),
      use(list), into(id), into(row.gifts), into(row.amount));
  sql::each_row(statement, [&] { found[id] = row; });
  return found;
}

/// Each once.
std::vector<UsageLimit> kinds_of(std::span<const UsageLimit> limits) {
  std::map<std::string, UsageLimit> kinds;
  for (const UsageLimit& limit : limits) {
    if (!limit.is_burst()) kinds.emplace(marker_id(limit), limit);
  }
  std::vector<UsageLimit> each;
  for (auto& [id, limit] : kinds) each.push_back(std::move(limit));
  return each;
}

using Differences = std::map<std::string, UsageDifference>;

/// Adds rows of id, gifts and amount to that part of each difference.
void add_rows(soci::session& session, const std::string& select, Usage UsageDifference::*part,
              bool is_missing, Differences& differences) {
  std::string id;
  Usage row;
  soci::statement statement = sql::bound(session, select, into(id), into(row.gifts), into(row.amount));
  sql::each_row(statement, [&] {
    UsageDifference& difference =
        differences.try_emplace(id, UsageDifference{id, {}, {}, is_missing}).first->second;
    (difference.*part).gifts += row.gifts;
    (difference.*part).amount = (difference.*part).amount + row.amount;
  });
}

/// The rows of the kind that are not what the gifts are; nothing when it was not to continue.
std::optional<Differences> compare(sql::Database& database, const UsageLimit& kind,
                                   const std::function<bool()>& may_continue) {
  // One snapshot, so that all are of one moment; day by day, so that no statement takes long.
  return database.snapshot([&](soci::session& session) -> std::optional<Differences> {
    Differences differences;
    add_rows(session, "SELECT id, gifts, amount FROM sending_usage WHERE " + rows_of(kind),
             &UsageDifference::counted, false, differences);
    for (const std::string& day : days_of(kind.period)) {
      if (!may_continue()) return std::nullopt;
      sql::renew_active_query();
      add_rows(session,
               "SELECT id, cast(sum(gifts) AS bigint), cast(sum(amount) AS bigint) FROM (" +
                   usage_by_gifts(kind, day) + ") by_gifts GROUP BY id",
               &UsageDifference::gifts, true, differences);
    }
    std::erase_if(differences, [](const auto& row) {
      return row.second.counted.gifts == row.second.gifts.gifts &&
             row.second.counted.amount == row.second.gifts.amount;
    });
    return differences;
  });
}

bool is_counted(soci::session& session, const UsageLimit& kind) {
  return sql::has_row(session, "sending_usage WHERE id = :id", use(marker_id(kind)));
}

constexpr std::string_view kAddToRow =
    "ON CONFLICT (id) DO UPDATE SET gifts = sending_usage.gifts + excluded.gifts, amount = "
    "sending_usage.amount + excluded.amount";

void insert_usage(soci::session& session, const std::map<std::string, Usage>& rows, std::string_view suffix) {
  sql::BulkInsert insert(session, "sending_usage",
                         {{"id", sql::BulkInsert::Type::text},
                          {"gifts", sql::BulkInsert::Type::integer},
                          {"amount", sql::BulkInsert::Type::integer}},
                         suffix);
  for (const auto& [id, row] : rows) insert.add({id, row.gifts, row.amount.minor_units});
  insert.run(session);
}

/// Which count was the last. Waits for adjustments that are being applied, and they for this transaction:
/// they would not see a row that is made meanwhile.
std::string lock_count(soci::session& session) {
  const std::string name = kCount;
  session << "INSERT INTO store_metadata (name, value) VALUES (:name, '') ON CONFLICT (name) DO NOTHING",
      use(name);
  return sql::select_value<std::string>(
      session, "SELECT value FROM store_metadata WHERE name = :name" + for_update(session), use(name));
}

/// Adds to the rows of a kind what they lack, or takes from them what they have too much. Requests and
/// refunds change the gifts and the rows together, so that the difference stays the same while it is found:
/// no row is locked meanwhile. False: try again. `makes_rows`: rows that are missing are made first; else
/// they are left out.
bool try_count(sql::Database& database, const UsageLimit& kind, bool makes_rows,
               const std::function<bool()>& may_continue) {
  bool was_counted = false;
  const std::string token = database.write([&](soci::session& session) {
    std::string last = lock_count(session);
    was_counted = is_counted(session, kind);
    return last;
  });
  const std::optional<Differences> differences = compare(database, kind, may_continue);
  if (!differences) return false;
  if (differences->empty() && was_counted) return true;
  std::map<std::string, Usage> missing;
  std::map<std::string, Usage> lacking{{marker_id(kind), {}}};
  for (const auto& [id, row] : *differences) {
    if (row.is_missing)
      missing[id] = {};
    else
      lacking[id] = {row.gifts.gifts - row.counted.gifts,
                     Money{row.gifts.amount.minor_units - row.counted.amount.minor_units}};
  }
  if (!missing.empty() && makes_rows) {
    // A refund that is applied between would find no row to change.
    database.write([&](soci::session& session) { insert_usage(session, missing, "ON CONFLICT DO NOTHING"); });
    return false;
  }
  return database.write([&](soci::session& session) {
    if (lock_count(session) != token) return false;  // another daemon may have added the same
    write_metadata(session, kCount, random_hex(8));
    insert_usage(session, lacking, kAddToRow);
    return true;
  });
}

struct Adjustment {
  std::int64_t id = 0;
  std::int64_t account = 0;
  std::optional<std::int64_t> organization;
  std::string day;
  std::int64_t gifts = 0;
  Money amount;
};

std::vector<Adjustment> select_adjustments(soci::session& session, const std::string& rest) {
  Adjustment row;
  return sql::select_rows(
      row, session,
      "SELECT id, account_id, organization_id, sending_day, gifts, amount FROM sending_adjustment " + rest,
      into(row.id), into(row.account), into(row.organization), into(row.day), into(row.gifts),
      into(row.amount));
}

void add_to(Usage& sum, const Usage& more) {
  sum.gifts += more.gifts;
  sum.amount = sum.amount + more.amount;
}

/// What the adjustments change, by sending_usage.id.
std::map<std::string, Usage> sums_of(const std::vector<Adjustment>& adjustments) {
  std::map<std::string, Usage> sums;
  for (const Adjustment& adjustment : adjustments) {
    std::vector<std::string> scopes{usage_scope(BudgetKind::installation),
                                    usage_scope(BudgetKind::account, adjustment.account)};
    if (adjustment.organization)
      scopes.push_back(usage_scope(BudgetKind::organization, *adjustment.organization));
    for (const std::string& scope : scopes) {
      for (const std::string& period : {adjustment.day, adjustment.day.substr(0, 7)})
        add_to(sums[row_id(period, scope)], {adjustment.gifts, adjustment.amount});
    }
  }
  return sums;
}

template <class Limit>
void lower(std::optional<Limit>& least, const std::optional<Limit>& limit) {
  if (limit && (!least || *limit < *least)) least = limit;
}

}  // namespace

std::string usage_scope(BudgetKind kind, std::int64_t id) {
  std::string scope(word_of(kind));
  return kind == BudgetKind::installation || id == 0 ? scope : scope + ":" + std::to_string(id);
}

UsageCount::UsageCount(soci::session& session, std::span<const SendingCharge* const> charges, Use purpose)
    // SQLite's one writer has read these rows in its transaction.
    : is_locked_(purpose == Use::to_count_locked ||
                 (purpose == Use::to_count && sql::Dialect(session) == sql::Dialect::sqlite)) {
  std::set<std::string> ids;
  for (const SendingCharge* charge : charges) {
    for (const UsageLimit& limit : charge->limits) ids.insert(row_id(limit));
  }
  if (ids.empty()) return;
  if (purpose == Use::to_count_locked) {
    // Adding nothing makes a row, or locks it.
    std::map<std::string, Usage> rows;
    for (const std::string& id : ids) rows.emplace(id, Usage{});
    insert_usage(session, rows, kAddToRow);
  }
  used_ = select_usage(session, ids);
}

std::vector<AskedLimit> UsageCount::ask(const SendingCharge& charge, std::int64_t gifts,
                                        std::optional<Money> price, bool is_cost_known) const {
  std::vector<AskedLimit> asked;
  for (const UsageLimit& limit : charge.limits) {
    const auto used = used_.find(row_id(limit));
    asked.push_back(
        {limit, used == used_.end() ? Usage{} : used->second, gifts, is_cost_known ? price : std::nullopt});
  }
  return asked;
}

std::vector<ExceededLimit> UsageCount::add(const SendingCharge& charge, std::int64_t gifts,
                                           std::optional<Money> price, bool is_cost_known) {
  struct Row {
    const UsageLimit& limit;
    std::string id;
    Usage& used;
  };
  std::vector<Row> rows;
  rows.reserve(charge.limits.size());
  std::vector<ExceededLimit> exceeded;
  for (const UsageLimit& limit : charge.limits) {
    std::string id = row_id(limit);
    Usage& used = used_[id];
    AskedLimit asked{limit, used, gifts, is_cost_known ? price : std::nullopt};
    if (asked.is_exceeded()) exceeded.push_back({std::move(asked)});
    rows.push_back({limit, std::move(id), used});
  }
  for (Row& row : rows) {
    Usage more;
    if (exceeded.empty()) {
      more = {gifts, price.value_or(Money{})};
    } else if (row.limit.is_burst() && !row.limit.holds && row.used.gifts + gifts > *row.limit.limits.gifts) {
      // Nothing smaller fits behind it: calls that are under way must not pass before they see the pause.
      more.gifts = *row.limit.limits.gifts - row.used.gifts;
    } else {
      continue;
    }
    add_to(row.used, more);
    Added& added = added_[std::move(row.id)];
    add_to(added.usage, more);
    lower(added.most.gifts, row.limit.limits.gifts);
    if (more.amount.minor_units > 0) lower(added.most.amount, row.limit.limits.amount);
  }
  return exceeded;
}

bool UsageCount::save(soci::session& session) const {
  if (added_.empty()) return true;
  if (is_locked_) {
    std::map<std::string, Usage> rows;
    for (const auto& [id, added] : added_) rows.emplace(id, added.usage);
    insert_usage(session, rows, kAddToRow);
    return true;
  }
  using Type = sql::BulkRows::Type;
  sql::BulkRows rows(session, {{"id", Type::text},
                               {"gifts", Type::integer},
                               {"amount", Type::integer},
                               {"most_gifts", Type::integer},
                               {"most_amount", Type::integer}});
  for (const auto& [id, added] : added_) {
    const auto& [gifts, amount] = added.most;
    rows.add({id, added.usage.gifts, added.usage.amount.minor_units, gifts ? sql::Cell(*gifts) : sql::Cell(),
              amount ? sql::Cell(amount->minor_units) : sql::Cell()});
  }
  // Rows are locked in the order of their ids, by all daemons.
  const std::string statement =
      "WITH counted AS (SELECT * FROM " + rows.as_table() +
      "), saved AS (INSERT INTO sending_usage (id, gifts, amount) SELECT id, gifts, amount FROM counted " +
      std::string(kAddToRow) +
      " RETURNING id, gifts, amount) SELECT cast(1 AS bigint) FROM saved JOIN counted ON counted.id = "
      "saved.id WHERE saved.gifts > most_gifts OR saved.amount > most_amount";
  return rows.run_returning_keys(session, "", statement).empty();
}

namespace {

/// Whose a budget or a key is: their name, their organization and the key's name, by :key.
constexpr const char* kAccount =
    "SELECT email, organization_id, '' FROM account WHERE id = cast(:key AS bigint)";
constexpr const char* kOrganization = "SELECT name, id, '' FROM organization WHERE id = cast(:key AS bigint)";
constexpr const char* kAccountOfKey =
    "SELECT a.email, a.organization_id, k.name FROM api_key k JOIN account a ON a.id = k.account_id WHERE "
    "k.prefix = :key";
constexpr const char* kOrganizationOfToken =
    "SELECT o.name, o.id, '' FROM organization_token t JOIN organization o ON o.id = t.organization_id WHERE "
    "t.prefix = :key";

/// Sets owner and key name of the notice; returns the organization whose admins see the owner.
std::optional<OrganizationId> read_owner(soci::session& session, const std::string& owner_query,
                                         const std::string& key, AdminNotice& notice) {
  std::optional<OrganizationId> organization;
  soci::statement owner = sql::bound(session, owner_query, use(key, "key"), into(notice.owner),
                                     into(organization), into(notice.key_name));
  sql::each_row(owner, [] {});
  return organization;
}

AdminNotice notice_of(AdminNoticeKind kind, const UsageLimit& limit, UtcMillis now) {
  AdminNotice notice;
  notice.kind = kind;
  notice.scope = limit.scope;
  notice.gifts_limit = limit.limits.gifts;
  notice.amount_limit = limit.limits.amount;
  notice.begins_at = limit.begins_at;
  notice.ends_at = limit.ends_at;
  notice.created_at = now;
  return notice;
}

}  // namespace

bool pause_for_burst(soci::session& session, const UsageLimit& burst, UtcMillis now) {
  const std::string& prefix = burst.scope;
  const std::string reason = "more than " + std::to_string(*burst.limits.gifts) + " gifts in " +
                             std::to_string(burst.minutes()) + " minutes";
  for (const std::string table : {"api_key", "organization_token"}) {
    if (sql::change_rows(session,
                         "UPDATE " + table +
                             " SET paused_at = :now, pause_reason = :reason WHERE prefix = :prefix AND "
                             "paused_at IS NULL",
                         use(now, "now"), use(reason, "reason"), use(prefix, "prefix")) == 0)
      continue;
    const bool is_token = table == "organization_token";
    // As the commands "key pause" and "organization pause-token" have it.
    AuditEvent event;
    event.occurred_at = now;
    event.actor_kind = ActorKind::system;
    event.actor = "giftsync";
    event.action = "key.pause";
    event.object_kind = "key";
    event.object_id = prefix;
    event.rule = "GUARD-15";
    event.detail = reason;
    AdminNotice notice = notice_of(is_token ? AdminNoticeKind::token : AdminNoticeKind::key, burst, now);
    notice.period = std::to_string(now.value);
    event.organization = read_owner(session, is_token ? kOrganizationOfToken : kAccountOfKey, prefix, notice);
    if (is_token) {
      event.action = "organization.pause-token";
      event.object_kind = "organization";
      event.object_id = notice.owner;
      event.detail = "token " + prefix + ": " + reason;
    }
    insert_audit_event(session, event);
    if (is_test_key(prefix)) return true;  // no mail leaves because of a test (TEST-2)
    insert_admin_notices(session, std::move(notice), event.organization);
    return true;
  }
  return false;
}

void insert_adjustments(soci::session& session, std::span<const TransactionId> transactions,
                        std::int64_t gifts) {
  if (transactions.empty()) return;
  const std::string list = sql::list_of(session, transactions);
  const std::string sign = std::to_string(gifts);
  session
      << "INSERT INTO sending_adjustment (account_id, organization_id, sending_day, gifts, amount) SELECT "
         "r.account_id, r.organization_id, r.sending_day, " +
             sign + ", " + sign + " * (" + kPrice +
             ") FROM "
             "recipient_transaction t JOIN gift_request r ON r.id = t.request_id WHERE t.gift_source = '' "
             "AND r.sending_day <> '' AND " +
             sql::in_list(session, "t.id", "ids", false),
      use(list);
}

std::vector<SendingBudget> SendingUsage::budgets() {
  return database_->read([](soci::session& session) {
    return sql::find_records(kSendingBudgetFields, session, "ORDER BY scope");
  });
}

std::string SendingUsage::revision() {
  return database_->read(
      [](soci::session& session) { return read_metadata(session, kRevision).value_or(""); });
}

void SendingUsage::set(const SendingBudget& budget, const AuditEvent& audit) {
  database_->write([&](soci::session& session) {
    sql::insert_record(session, kSendingBudgetFields, budget,
                       "ON CONFLICT (scope) DO UPDATE SET day_gifts = excluded.day_gifts, day_amount = "
                       "excluded.day_amount, month_gifts = excluded.month_gifts, month_amount = "
                       "excluded.month_amount, changed_at = excluded.changed_at, changed_by = "
                       "excluded.changed_by");
    write_metadata(session, kRevision, random_hex(8));
    insert_audit_event(session, audit);
  });
}

bool SendingUsage::unset(const std::string& scope, const AuditEvent& audit) {
  return database_->write([&](soci::session& session) {
    if (sql::change_rows(session, "DELETE FROM sending_budget WHERE scope = :scope", use(scope)) == 0)
      return false;
    write_metadata(session, kRevision, random_hex(8));
    insert_audit_event(session, audit);
    return true;
  });
}

bool SendingUsage::count(std::span<const UsageLimit> limits, const std::function<bool()>& may_continue) {
  bool is_ended = false;  // it is not asked again then
  const auto goes_on = [&] { return !(is_ended = is_ended || !may_continue()); };
  for (const UsageLimit& kind : kinds_of(limits)) {
    bool is_done = false;
    for (int round = 0; round < kMaxRounds && !is_done; ++round) {
      if (!goes_on()) return false;
      is_done = try_count(*database_, kind, round == 0, goes_on);
    }
    if (!is_done) return false;
  }
  return true;
}

std::vector<UsageLimit> SendingUsage::find_uncounted(std::span<const UsageLimit> limits) {
  std::vector<UsageLimit> uncounted = kinds_of(limits);
  database_->read([&](soci::session& session) {
    std::erase_if(uncounted, [&](const UsageLimit& kind) { return is_counted(session, kind); });
  });
  return uncounted;
}

std::vector<Usage> SendingUsage::find(std::span<const UsageLimit> limits) {
  std::set<std::string> ids;
  for (const UsageLimit& limit : limits) ids.insert(row_id(limit));
  if (ids.empty()) return {};
  return database_->read([&](soci::session& session) {
    const auto rows = select_usage(session, ids);
    std::vector<Usage> found;
    for (const UsageLimit& limit : limits) {
      const auto row = rows.find(row_id(limit));
      found.push_back(row == rows.end() ? Usage{} : row->second);
    }
    return found;
  });
}

std::map<std::string, Usage> SendingUsage::find_period(const std::string& period) {
  return database_->read([&](soci::session& session) {
    const std::string from = period + " ";
    const std::string until = period + "!";
    std::map<std::string, Usage> found;
    std::string id;
    Usage row;
    soci::statement statement =
        sql::bound(session,
                   "SELECT id, gifts, amount, warned, warned_gifts, warned_amount FROM sending_usage WHERE "
                   "id > :from_id AND id < :until_id",
                   use(from, "from_id"), use(until, "until_id"), into(id), into(row.gifts), into(row.amount),
                   into(row.warned), into(row.warned_gifts), into(row.warned_amount));
    sql::each_row(statement, [&] {
      const std::string scope = id.substr(from.size());
      const bool is_counted = scope == "all" || scope.find(':') != std::string::npos;
      if (is_counted && !scope.starts_with(kTestScopes)) found.emplace(scope, row);
    });
    return found;
  });
}

std::size_t SendingUsage::apply_adjustments() {
  const std::string rest = "ORDER BY id LIMIT " + std::to_string(kMaxAdjustments);
  if (!database_->read(
          [](soci::session& session) { return sql::has_row(session, "sending_adjustment WHERE 1 = 1"); }))
    return 0;
  return database_->write([&](soci::session& session) {
    lock_count(session);
    // Another daemon's that are being applied are gone then.
    const std::vector<Adjustment> adjustments = select_adjustments(session, rest + for_update(session));
    std::vector<std::int64_t> ids;
    for (const Adjustment& adjustment : adjustments) ids.push_back(adjustment.id);
    const std::string list = sql::list_of(session, ids);
    session << "DELETE FROM sending_adjustment WHERE " + sql::in_list(session, "id", "ids", false), use(list);
    // In the order of their ids, as requests lock them.
    for (const auto& [id, sum] : sums_of(adjustments))
      session << "UPDATE sending_usage SET gifts = gifts + :gifts, amount = amount + :amount WHERE id = :id",
          use(sum.gifts, "gifts"), use(sum.amount, "amount"), use(id, "id");
    return adjustments.size();
  });
}

std::vector<UsageDifference> SendingUsage::check(std::span<const UsageLimit> limits) {
  std::vector<UsageDifference> differences;
  for (const UsageLimit& kind : kinds_of(limits)) {
    const auto found = compare(*database_, kind, [] { return true; });
    for (const auto& [id, row] : *found) differences.push_back(row);
  }
  return differences;
}

bool SendingUsage::mark_warned(const UsageLimit& budget, const Usage& used, std::int64_t percent,
                               UtcMillis now) {
  const std::string id = row_id(budget);
  AdminNotice notice = notice_of(AdminNoticeKind::budget, budget, now);
  notice.period = budget.period;
  notice.threshold = percent;
  notice.gifts = used.gifts;
  notice.amount = used.amount;
  return database_->write([&](soci::session& session) {
    if (sql::change_rows(
            session,
            "UPDATE sending_usage SET warned = :percent, warned_gifts = :gifts, warned_amount = :amount "
            "WHERE id = :id AND warned = :warned AND warned_gifts = :warned_gifts AND warned_amount = "
            ":warned_amount",
            use(percent, "percent"), use(used.gifts, "gifts"), use(used.amount, "amount"), use(id, "id"),
            use(used.warned, "warned"), use(used.warned_gifts, "warned_gifts"),
            use(used.warned_amount, "warned_amount")) == 0)
      return false;
    std::optional<OrganizationId> organization;  // nothing: the admins of the installation alone
    if (*budget.kind != BudgetKind::installation)
      organization = read_owner(session, *budget.kind == BudgetKind::account ? kAccount : kOrganization,
                                budget.scope.substr(budget.scope.find(':') + 1), notice);
    insert_admin_notices(session, notice, organization);
    return true;
  });
}

void SendingUsage::forget_bursts(const std::string& prefix) {
  database_->write([&](soci::session& session) {
    session << "UPDATE sending_usage SET gifts = 0 WHERE id > 'burst:' AND id < 'burst;' AND id LIKE '% ' || "
               ":prefix",
        use(prefix);
  });
}

void SendingUsage::prune(const std::string& first_day) {
  // With the condition of the index sending_usage_day. Days are longer than months.
  const std::string days = "sending_usage WHERE substr(id, 8, 1) = '-' AND id < :day";
  const std::string bursts = "sending_usage WHERE id > 'burst:' AND id < 'burst:' || (" +
                             std::string(sql::database_now(database_->dialect())) + " - " +
                             std::to_string(2 * kDayMillis) + ")";
  const auto has_old = [&](soci::session& session) {
    return sql::has_row(session, days, use(first_day, "day")) || sql::has_row(session, bursts);
  };
  write_if_any(*database_, has_old, [&](soci::session& session) {
    session << "DELETE FROM " + days, use(first_day, "day");
    session << "DELETE FROM " + bursts;
  });
}

}  // namespace giftsync::store
