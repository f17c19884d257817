#include "schema/store/rollups.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

#include "platform/digest.h"
#include "schema/sql/bulk_rows.h"
#include "schema/sql/query_watchdog.h"
#include "schema/sql/record_rows.h"
#include "schema/store/gift/gift_requests.h"
#include "schema/store/statements/claims.h"
#include "schema/store/statements/metadata.h"
#include "schema/store/statements/rollup_deltas.h"
#include "schema/store/statements/word_conversions.h"

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;
using Column = sql::BulkRows::Column;
using Type = sql::BulkRows::Type;

/// In the store's metadata: locked by what changes rows, and another value after each repair.
constexpr const char* kLock = "gift_rollup";
/// In the store's metadata: "20780" when older gifts of that day and later ones are counted; "all".
constexpr const char* kFilled = "gift_rollup_filled";
constexpr std::string_view kAllFilled = "all";
constexpr std::int64_t kGiftsPerRead = 5'000;
constexpr int kMaxRounds = 5;

/// "sent, delivered, ..."; `text(column)` for each.
template <class Text>
std::string measures(Text&& text) {
  std::string list;
  for (const std::string_view column : kMeasureColumns)
    list.append(list.empty() ? "" : ", ").append(text(std::string(column)));
  return list;
}

GiftNumbers numbers_in(const sql::PreparedQuery& row, int at) {
  GiftNumbers numbers;
  for (std::int64_t& value : numbers.values) value = row.integer(at++);
  return numbers;
}

std::string id_key(std::int64_t id) {
  return id == 0 ? std::string() : std::to_string(id);
}

}  // namespace

std::string_view to_word(RollupDimension dimension) {
  constexpr std::array<std::string_view, 5> kWords{"all", "account", "item", "campaign", "source"};
  return kWords[static_cast<std::size_t>(dimension)];
}

// The worker that adds up what transactions inserted.

namespace {

/// A row of gift_rollup.
struct RowKey {
  RollupDimension dimension = RollupDimension::all;
  std::int64_t day = 0;
  std::int64_t organization = 0;
  std::string key = {};
  friend auto operator<=>(const RowKey&, const RowKey&) = default;
};
using Rows = std::map<RowKey, GiftNumbers>;

/// Adds numbers to the row of each dimension; that of a campaign has `campaign` as its key.
void add_to_rows(Rows& rows, const CountedBy& by, std::string_view campaign, const GiftNumbers& numbers) {
  const auto add = [&](RollupDimension dimension, std::string key) {
    rows[{dimension, by.day, by.organization, std::move(key)}] += numbers;
  };
  add(RollupDimension::all, "");
  add(RollupDimension::account, id_key(by.account));
  add(RollupDimension::item, by.item);
  add(RollupDimension::campaign, std::string(campaign));
  add(RollupDimension::source, by.source);
}

/// A campaign that may have a row of its own.
bool is_campaign(const RowKey& row) {
  return row.dimension == RollupDimension::campaign && !row.key.empty() && row.key != kOtherCampaigns;
}
const std::string kCampaignRows = "gift_rollup WHERE dimension = 3 AND key <> '' AND key <> '" +
                                  std::string(kOtherCampaigns) + "' AND day = :day";

/// Another transaction that adds to rows waits until this transaction has ended. Returns the lock's value.
std::string lock_rows(soci::session& session) {
  return sql::select_value<std::string>(session, "SELECT value FROM store_metadata WHERE name = '" +
                                                     std::string(kLock) + "'" + for_update(session));
}

std::vector<Column> row_columns() {
  std::vector<Column> columns{{"dimension", Type::integer},
                              {"day", Type::integer},
                              {"organization_id", Type::integer},
                              {"key", Type::text}};
  for (const std::string_view column : kMeasureColumns) columns.push_back({column, Type::integer});
  return columns;
}

void add_cells(std::vector<sql::Cell>& cells, const RowKey& row, const GiftNumbers& numbers) {
  cells.insert(cells.end(), {static_cast<std::int64_t>(row.dimension), row.day, row.organization,
                             std::string_view(row.key)});
  cells.insert(cells.end(), numbers.values.begin(), numbers.values.end());
}

/// In the caller's lock. Rows of zeros are made too.
void upsert_rows(soci::session& session, const Rows& rows) {
  sql::BulkInsert insert(session, "gift_rollup", row_columns(),
                         "ON CONFLICT (dimension, day, organization_id, key) DO UPDATE SET " +
                             measures([](const std::string& name) {
                               return name + " = gift_rollup." + name + " + excluded." + name;
                             }));
  std::vector<sql::Cell> cells;
  for (const auto& [row, numbers] : rows) {
    cells.clear();
    add_cells(cells, row, numbers);
    insert.add(cells);
  }
  insert.run(session);
}

/// Adds to the campaigns' rows that there are; removes those from `campaigns`.
void update_campaigns(soci::session& session, Rows& campaigns) {
  std::vector<Column> columns = row_columns();
  columns.insert(columns.begin(), Column{"place", Type::integer});
  sql::BulkRows input(session, columns);
  std::vector<Rows::iterator> places;
  std::vector<sql::Cell> cells;
  for (auto at = campaigns.begin(); at != campaigns.end(); ++at) {
    cells = {static_cast<std::int64_t>(places.size())};
    add_cells(cells, at->first, at->second);
    input.add(cells);
    places.push_back(at);
  }
  const auto statement = [](const std::string& given) {
    return "UPDATE gift_rollup AS g SET " +
           measures([&](const std::string& name) { return name + " = g." + name + " + " + given + name; });
  };
  const auto condition = [](const std::string& given) {
    return " WHERE g.dimension = " + given + "dimension AND g.day = " + given +
           "day AND g.organization_id = " + given + "organization_id AND g.key = " + given + "key AND " +
           given + "place >= 0";
  };
  for (const std::int64_t place :
       input.run_returning_keys(session, statement(":") + condition(":"),
                                statement("input_row.") + " FROM " + input.as_table() +
                                    condition("input_row.") + " RETURNING input_row.place"))
    campaigns.erase(places[static_cast<std::size_t>(place)]);
}

/// Gives the campaigns that have no row yet one of their own as long as their day has fewer than the limit,
/// in the order of their names; adds the others to the row of the others.
void place_campaigns(soci::session& session, const Rows& campaigns, Rows& rows) {
  std::map<std::int64_t, std::int64_t> count_of_day;
  for (const auto& [row, numbers] : campaigns) {
    const auto [count, is_new] = count_of_day.try_emplace(row.day, 0);
    if (is_new)
      count->second =
          sql::select_value<std::int64_t>(session, "SELECT count(*) FROM " + kCampaignRows, use(row.day));
    RowKey place = row;
    if (count->second >= kMaxCampaignsPerDay)
      place.key = kOtherCampaigns;
    else
      ++count->second;
    rows[place] += numbers;
  }
}

/// Those that gifts leave: another day or campaign has them now.
std::vector<RowKey> shrunk_in(const Rows& campaigns) {
  std::vector<RowKey> shrunk;
  for (const auto& [row, numbers] : campaigns)
    if (numbers[Measure::sent] < 0) shrunk.push_back(row);
  return shrunk;
}

/// A campaign without gifts keeps its row, since which ones have a row never changes, but not its name: an
/// erased person's address may be in it.
void take_names_of_empty(soci::session& session, const std::vector<RowKey>& campaigns) {
  std::string is_empty;
  for (const std::string_view column : kMeasureColumns)
    is_empty.append(" AND ").append(column).append(" = 0");
  for (const RowKey& row : campaigns) {
    const std::string unnamed = "=-" + random_hex(8);
    session << "UPDATE gift_rollup SET key = :unnamed WHERE dimension = 3 AND day = :day AND "
               "organization_id = :organization AND key = :known" +
                   is_empty,
        use(unnamed, "unnamed"), use(row.day, "day"), use(row.organization, "organization"),
        use(row.key, "known");
  }
}

const std::string kDeltaColumns = "day, organization_id, account_id, item, campaign, source, " +
                                  measures([](const std::string& name) { return name; });
constexpr int kFirstMeasure = 6;

CountedBy counted_by_in(const sql::PreparedQuery& row, int at) {
  return {.day = row.integer(at),
          .organization = row.integer(at + 1),
          .account = row.integer(at + 2),
          .item = std::string(row.text(at + 3)),
          .campaign = std::string(row.text(at + 4)),
          .source = std::string(row.text(at + 5))};
}

}  // namespace

namespace {

bool has_deltas(soci::session& session) {
  return sql::has_row(session, "gift_rollup_delta WHERE 1 = 1");
}

}  // namespace

bool Rollups::has_work() {
  return database_->read([](soci::session& session) {
    return has_deltas(session) || read_metadata(session, kFilled) != kAllFilled;
  });
}

std::size_t Rollups::add_deltas() {
  return write_if_any(*database_, has_deltas, [&](soci::session& session) {
    lock_rows(session);
    // Those that another daemon added meanwhile are gone: the lock was its own.
    std::vector<std::int64_t> ids;
    Rows rows;
    sql::PreparedQuery delta(session,
                             "SELECT " + kDeltaColumns + ", id FROM gift_rollup_delta ORDER BY id LIMIT " +
                                 std::to_string(kMaxDeltas),
                             {});
    delta.each_row({}, [&] {
      const CountedBy by = counted_by_in(delta, 0);
      add_to_rows(rows, by, by.campaign, numbers_in(delta, kFirstMeasure));
      ids.push_back(delta.integer(kFirstMeasure + static_cast<int>(kMeasureColumns.size())));
    });
    const std::string list = sql::list_of(session, ids);
    session << "DELETE FROM gift_rollup_delta WHERE " + sql::in_list(session, "id", "ids", false), use(list);
    std::erase_if(rows, [](const auto& row) { return row.second.empty(); });
    Rows campaigns;
    for (auto at = rows.begin(); at != rows.end();) {
      const auto row = at++;
      if (is_campaign(row->first)) campaigns.insert(rows.extract(row));
    }
    const std::vector<RowKey> shrunk = shrunk_in(campaigns);
    update_campaigns(session, campaigns);
    place_campaigns(session, campaigns, rows);
    upsert_rows(session, rows);
    take_names_of_empty(session, shrunk);
    return ids.size();
  });
}

// Rows beside gifts.

namespace {

/// A day's campaigns with a row of their own: those that have one, and then the first ones that are asked
/// for.
class CampaignRows {
 public:
  void add_stored(const RowKey& row) { names_.emplace(row.organization, row.key); }
  void end_stored() { stored_ = names_.size(); }
  /// The key of the row in which the campaign counts.
  std::string_view place_of(std::int64_t organization, const std::string& campaign) {
    if (campaign.empty() || names_.contains({organization, campaign})) return campaign;
    if (names_.size() >= static_cast<std::size_t>(kMaxCampaignsPerDay)) return kOtherCampaigns;
    new_.emplace_back(organization, campaign);
    names_.emplace(organization, campaign);
    return campaign;
  }
  std::size_t stored() const { return stored_; }
  const std::vector<std::pair<std::int64_t, std::string>>& added() const { return new_; }

 private:
  std::set<std::pair<std::int64_t, std::string>> names_;
  std::size_t stored_ = 0;
  std::vector<std::pair<std::int64_t, std::string>> new_;
};

/// A day's rows beside its gifts, in one snapshot.
struct DayComparison {
  std::string lock;  ///< its value then
  CampaignRows campaigns;
  Rows counted;
  Rows gifts;
};

void read_rows(soci::session& session, std::int64_t day, DayComparison& comparison) {
  sql::PreparedQuery row(session,
                         "SELECT dimension, organization_id, key, " + measures([](const std::string& name) {
                           return name;
                         }) + " FROM gift_rollup WHERE dimension IN (0, 1, 2, 3, 4) AND day = :day",
                         {"day"});
  row.each_row({std::to_string(day)}, [&] {
    const RowKey key{static_cast<RollupDimension>(row.integer(0)), day, row.integer(1),
                     std::string(row.text(2))};
    comparison.counted[key] = numbers_in(row, 3);
    if (is_campaign(key)) comparison.campaigns.add_stored(key);
  });
  comparison.campaigns.end_stored();
}

void read_waiting(soci::session& session, std::int64_t day, DayComparison& comparison) {
  sql::PreparedQuery delta(session, "SELECT " + kDeltaColumns + " FROM gift_rollup_delta WHERE day = :day",
                           {"day"});
  delta.each_row({std::to_string(day)}, [&] {
    const CountedBy by = counted_by_in(delta, 0);
    add_to_rows(comparison.counted, by, comparison.campaigns.place_of(by.organization, by.campaign),
                numbers_in(delta, kFirstMeasure));
  });
}

/// False: it was not to continue.
bool read_gifts(soci::session& session, std::int64_t day, const std::function<bool()>& may_continue,
                DayComparison& comparison) {
  sql::PreparedQuery row(
      session,
      "SELECT t.sent_at, t.id, t.delivered_at, t.undelivered_at, t.opened_at, t.redeemed_at, t.donated_at, "
      "t.expired_at, t.refunded_at, t.status, t.gift_source, r.organization_id, r.account_id, r.gift_id, "
      "r.item_name, r.utm_campaign_id, r.item_cost, r.shipping_cost, r.carbon_neutral_cost, "
      "r.transaction_fee, t.is_test FROM recipient_transaction t JOIN gift_request r ON r.id = t.request_id "
      "WHERE (t.sent_at, t.id) > (cast(:sent_after AS bigint), cast(:id_after AS bigint)) AND t.sent_at < "
      "cast(:day_end AS bigint) ORDER BY t.sent_at, t.id LIMIT " +
          std::to_string(kGiftsPerRead),
      {"sent_after", "id_after", "day_end"});
  const std::string end = std::to_string(begin_of_day(day + 1).value);
  // No gift has an id below.
  std::int64_t sent_after = begin_of_day(day).value;
  std::int64_t id_after = 0;
  for (std::int64_t read = kGiftsPerRead; read == kGiftsPerRead;) {
    if (!may_continue()) return false;
    sql::renew_active_query();
    read = 0;
    row.each_row({std::to_string(sent_after), std::to_string(id_after), end}, [&] {
      ++read;
      RecipientTransaction transaction;
      GiftRequest request;
      const auto time = [&](int column) {
        return row.is_null(column) ? std::nullopt : std::optional(UtcMillis{row.integer(column)});
      };
      transaction.times[Status::sent] = {row.integer(0)};
      for (std::size_t i = 1; i < kAllStatuses.size(); ++i)
        transaction.times[kAllStatuses[i]] = time(static_cast<int>(i) + 1);
      transaction.status = status_from_word(row.text(9)).value_or(Status::sent);
      transaction.gift_source = row.text(10);
      sql::read_value(row, 11, request.organization);
      sql::read_value(row, 12, request.account);
      sql::read_value(row, 13, request.gift);
      request.item_name = row.text(14);
      sql::read_value(row, 15, request.utm_campaign_id);
      sql::read_value(row, 16, request.costs.item);
      sql::read_value(row, 17, request.costs.shipping);
      sql::read_value(row, 18, request.costs.carbon_neutral);
      sql::read_value(row, 19, request.costs.transaction_fee);
      transaction.is_test = row.integer(20) != 0;
      sent_after = row.integer(0);
      id_after = row.integer(1);
      const auto gift = counted_gift(request, transaction);
      if (!gift) return;
      add_to_rows(comparison.gifts, gift->by,
                  comparison.campaigns.place_of(gift->by.organization, gift->by.campaign), numbers_of(*gift));
    });
  }
  return true;
}

std::optional<DayComparison> compare(sql::Database& database, std::int64_t day,
                                     const std::function<bool()>& may_continue) {
  return database.snapshot([&](soci::session& session) -> std::optional<DayComparison> {
    DayComparison comparison;
    comparison.lock = read_metadata(session, kLock).value_or("");
    read_rows(session, day, comparison);
    read_waiting(session, day, comparison);
    if (!read_gifts(session, day, may_continue, comparison)) return std::nullopt;
    return comparison;
  });
}

std::vector<RollupDifference> differences_of(const DayComparison& comparison) {
  std::map<RowKey, RollupDifference> rows;
  const auto add = [&](const Rows& part, GiftNumbers RollupDifference::*member) {
    for (const auto& [row, numbers] : part)
      rows.try_emplace(row, RollupDifference{row.day, row.dimension, row.organization, row.key, {}, {}})
              .first->second.*
          member = numbers;
  };
  add(comparison.counted, &RollupDifference::counted);
  add(comparison.gifts, &RollupDifference::gifts);
  std::vector<RollupDifference> differing;
  for (auto& [row, difference] : rows)
    if (difference.counted != difference.gifts) differing.push_back(std::move(difference));
  return differing;
}

/// The position of the fill.
struct FillMove {
  std::string from;
  std::string to;
};

/// Makes the rows what the gifts are. False, without a change, when other rows exist than were compared:
/// differences that wait might be added to another row than was assumed, or were repaired meanwhile. What was
/// added meanwhile changes neither. False too when another daemon has moved the fill: it would go back.
bool save(sql::Database& database, std::int64_t day, const DayComparison& comparison,
          const std::vector<RollupDifference>& differing, const std::optional<FillMove>& fill) {
  Rows rows;
  std::vector<RowKey> emptied;
  for (const auto& [organization, key] : comparison.campaigns.added())
    rows[{RollupDimension::campaign, day, organization, key}];
  for (const RollupDifference& difference : differing) {
    const RowKey row{difference.dimension, day, difference.organization, difference.key};
    GiftNumbers& lacking = rows[row];
    lacking = difference.gifts;
    lacking -= difference.counted;
    if (is_campaign(row) && difference.gifts.empty()) emptied.push_back(row);
  }
  return database.write([&](soci::session& session) {
    if (lock_rows(session) != comparison.lock) return false;
    if (fill && read_metadata(session, kFilled).value_or("") != fill->from) return false;
    const auto campaigns =
        sql::select_value<std::int64_t>(session, "SELECT count(*) FROM " + kCampaignRows, use(day));
    if (campaigns != static_cast<std::int64_t>(comparison.campaigns.stored())) return false;
    if (!rows.empty()) {
      write_metadata(session, kLock, random_hex(8));
      upsert_rows(session, rows);
      take_names_of_empty(session, emptied);
    }
    if (fill) write_metadata(session, kFilled, fill->to);
    return true;
  });
}

std::optional<std::int64_t> latest_gift_day(soci::session& session, std::optional<std::int64_t> before) {
  const auto latest = sql::select_value<std::optional<UtcMillis>>(
      session, "SELECT max(sent_at) FROM recipient_transaction" +
                   (before ? " WHERE sent_at < " + std::to_string(begin_of_day(*before).value) : ""));
  return latest ? std::optional(utc_day(*latest)) : std::nullopt;
}

/// The latest day before `before` that has gifts, rows or differences that wait. A day that its last gift has
/// left since has no gift: what left it is in the rows, or waits.
std::optional<std::int64_t> latest_day(soci::session& session, std::optional<std::int64_t> before) {
  const std::string earlier = before ? " AND day < " + std::to_string(*before) : "";
  const auto latest_in = [&](const std::string& rows) {
    return sql::select_value<std::optional<std::int64_t>>(session, "SELECT max(day) FROM " + rows + earlier);
  };
  return std::max({latest_gift_day(session, before), latest_in("gift_rollup WHERE dimension = 0"),
                   latest_in("gift_rollup_delta WHERE 1 = 1")});
}

std::optional<std::int64_t> day_in(const std::string& filled) {
  return filled.empty() ? std::nullopt : std::optional<std::int64_t>(std::stoll(filled));
}

}  // namespace

Rollups::FillStep Rollups::fill_step(const std::function<bool()>& may_continue) {
  struct Next {
    FillStep step = FillStep::more;
    std::optional<std::int64_t> day = std::nullopt;  ///< nothing: no gifts are left
    std::string filled = {};                         ///< the position before
  };
  const Next next = database_->read([](soci::session& session) -> Next {
    std::string filled = read_metadata(session, kFilled).value_or("");
    if (filled == kAllFilled) return {FillStep::done};
    if (has_former_daemon(session)) return {FillStep::waits};
    const auto day = latest_day(session, day_in(filled));
    return {FillStep::more, day, std::move(filled)};
  });
  if (next.step != FillStep::more) return next.step;
  if (!next.day) {
    database_->write(
        [](soci::session& session) { write_metadata(session, kFilled, std::string(kAllFilled)); });
    return FillStep::done;
  }
  const auto comparison = compare(*database_, *next.day, may_continue);
  if (!comparison) return FillStep::again;
  const bool is_saved = save(*database_, *next.day, *comparison, differences_of(*comparison),
                             FillMove{next.filled, std::to_string(*next.day)});
  return is_saved ? FillStep::more : FillStep::again;
}

RollupProgress Rollups::progress() {
  return database_->read([](soci::session& session) -> RollupProgress {
    const std::string filled = read_metadata(session, kFilled).value_or("");
    if (filled == kAllFilled) return {true};
    return {false, day_in(filled)};
  });
}

std::optional<std::int64_t> Rollups::previous_day(std::optional<std::int64_t> before) {
  return database_->read([&](soci::session& session) { return latest_day(session, before); });
}

std::vector<RollupDifference> Rollups::check(std::int64_t day) {
  return differences_of(*compare(*database_, day, [] { return true; }));
}

std::vector<RollupDifference> Rollups::repair(std::int64_t day) {
  for (int round = 0; round < kMaxRounds; ++round) {
    const auto comparison = compare(*database_, day, [] { return true; });
    std::vector<RollupDifference> differing = differences_of(*comparison);
    if (differing.empty() || save(*database_, day, *comparison, differing, std::nullopt)) return differing;
  }
  throw DependencyError(true, "the counts of " + utc_day_text(day) + " changed while they were repaired");
}

namespace {

sql::Conditions conditions_of(const RollupQuestion& question) {
  sql::Conditions conditions;
  conditions.add("dimension = " + std::to_string(static_cast<std::int64_t>(question.dimension)));
  conditions.add("day >= cast(:first_day AS bigint)", "first_day", std::to_string(question.first_day));
  conditions.add("day <= cast(:last_day AS bigint)", "last_day", std::to_string(question.last_day));
  if (question.organization)
    conditions.add("organization_id = cast(:organization AS bigint)", "organization",
                   std::to_string(question.organization->value));
  if (question.key) conditions.add("key = :wanted", "wanted", *question.key);
  return conditions;
}

template <class Key, class KeyIn>
std::map<Key, GiftNumbers> sums(sql::Database& database, const RollupQuestion& question,
                                const std::string& column, KeyIn&& key_in) {
  const sql::Conditions conditions = conditions_of(question);
  return database.read([&](soci::session& session) {
    std::map<Key, GiftNumbers> found;
    sql::PreparedQuery row(session,
                           "SELECT " + column + ", " + measures([](const std::string& name) {
                             return "cast(sum(" + name + ") AS bigint)";
                           }) + " FROM gift_rollup WHERE " +
                               conditions.text + " GROUP BY " + column,
                           conditions.names);
    row.each_row(conditions.values, [&] { found[key_in(row)] = numbers_in(row, 1); });
    // A row of zeros says that there were some once.
    std::erase_if(found, [](const auto& one) { return one.second.empty(); });
    return found;
  });
}

}  // namespace

std::map<std::string, GiftNumbers> Rollups::sum_by_key(const RollupQuestion& question) {
  return sums<std::string>(*database_, question, "key",
                           [](const sql::PreparedQuery& row) { return std::string(row.text(0)); });
}

std::map<std::int64_t, GiftNumbers> Rollups::sum_by_day(const RollupQuestion& question) {
  return sums<std::int64_t>(*database_, question, "day",
                            [](const sql::PreparedQuery& row) { return row.integer(0); });
}

std::map<std::string, std::string> Rollups::names_of(RollupDimension dimension,
                                                     std::span<const std::string> keys) {
  std::map<std::string, std::string> names;
  std::vector<std::int64_t> ids;
  for (const std::string& key : keys) {
    if (key.empty()) continue;
    if (dimension == RollupDimension::source)
      names[key] = key;
    else if (key.front() == '=')
      names[key] = key.substr(1);
    else if (key != kOtherCampaigns)
      ids.push_back(std::stoll(key));
  }
  if (ids.empty()) return names;
  const std::string select = dimension == RollupDimension::account
                                 ? "SELECT id, email FROM account WHERE "
                                 : "SELECT gift_id, name FROM gift_item WHERE ";
  const std::string id = dimension == RollupDimension::account ? "id" : "gift_id";
  database_->read([&](soci::session& session) {
    sql::PreparedQuery row(session, select + sql::in_list(session, id, "list", false));
    row.each_row({sql::list_of(session, ids)},
                 [&] { names[std::to_string(row.integer(0))] = std::string(row.text(1)); });
  });
  return names;
}

}  // namespace giftsync::store
