#include "schema/store/statements/rollup_deltas.h"

#include <string>
#include <utility>
#include <vector>

#include "platform/time.h"
#include "schema/sql/queries.h"

namespace giftsync::store {
namespace {

using Type = sql::BulkInsert::Type;

/// Of a daemon that was killed.
constexpr std::int64_t kSeenMillis = kMinuteMillis;

}  // namespace

sql::BulkInsert RollupDeltas::rows(sql::Dialect dialect, bool all) const {
  constexpr Measure kOfNew[] = {Measure::sent, Measure::cost};
  std::vector<sql::BulkInsert::Column> columns{
      {"day", Type::integer}, {"organization_id", Type::integer}, {"account_id", Type::integer},
      {"item", Type::text},   {"campaign", Type::text},           {"source", Type::text}};
  const auto each_measure = [&](auto&& visit) {
    if (!all) {
      for (const Measure measure : kOfNew) visit(static_cast<std::size_t>(measure));
      return;
    }
    for (std::size_t i = 0; i < kMeasureColumns.size(); ++i) visit(i);
  };
  each_measure([&](std::size_t i) { columns.push_back({kMeasureColumns[i], Type::integer}); });
  sql::BulkInsert rows(dialect, "gift_rollup_delta", std::move(columns));
  std::vector<sql::Cell> cells;
  for (const auto& [by, numbers] : sums_) {
    if (numbers.empty()) continue;
    cells = {by.day,
             by.organization,
             by.account,
             std::string_view(by.item),
             std::string_view(by.campaign),
             std::string_view(by.source)};
    each_measure([&](std::size_t i) { cells.push_back(numbers.values[i]); });
    rows.add(cells);
  }
  return rows;
}

bool has_former_daemon(soci::session& session) {
  return sql::has_row(session, "daemon_instance WHERE counts_gifts = 0 AND last_seen_at > " +
                                   std::string(sql::database_now(session)) + " - " +
                                   std::to_string(kSeenMillis));
}

}  // namespace giftsync::store
