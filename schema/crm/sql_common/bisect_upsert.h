// schema/crm/sql_common: isolates the bad rows of a batch. Rows that violate a constraint are bisected
// until the bad row is isolated.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schema/crm/row_result.h"
#include "schema/sql/database.h"

namespace giftsync::schema::crm::sql_common {

/// The results of `write(rows)`, one per row, in as few calls as possible; each call must be a
/// transaction of its own. A row that is refused alone is `rejected` with the reason `refusal(row,
/// fault)`.
template <class Row, class Write, class Refusal>
std::vector<RowResult> bisect_upsert(std::span<const Row> rows, const Write& write, const Refusal& refusal) {
  if (rows.empty()) return {};
  try {
    return write(rows);
  } catch (const sql::ConstraintViolation& fault) {
    if (rows.size() == 1) return {{RowResult::Kind::rejected, refusal(rows.front(), fault.what()), {}}};
  }
  const std::size_t half = rows.size() / 2;
  std::vector<RowResult> results = bisect_upsert(rows.first(half), write, refusal);
  for (RowResult& result : bisect_upsert(rows.subspan(half), write, refusal))
    results.push_back(std::move(result));
  return results;
}

template <class Row, class Write>
std::vector<RowResult> bisect_upsert(std::span<const Row> rows, const Write& write) {
  return bisect_upsert(rows, write, [](const Row&, const std::string& fault) { return fault; });
}

}  // namespace giftsync::schema::crm::sql_common
