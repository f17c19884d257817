// schema/sql: one bad row never holds up the others. Rows that a constraint refuses as a whole are halved
// until the refused one is alone.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schema/crm.h"
#include "schema/sql/database.h"

namespace giftsync::schema::sql {

/// What `write(rows)` returns, one result a row, written in as few calls as can be; each call must be a
/// transaction of its own. A row that is refused alone is `rejected`, for the reason `refusal(row, fault)`.
template <class Row, class Write, class Refusal>
std::vector<RowResult> written_apart(std::span<const Row> rows, const Write& write, const Refusal& refusal) {
  if (rows.empty()) return {};
  try {
    return write(rows);
  } catch (const ConstraintBroken& fault) {
    if (rows.size() == 1) return {{RowResult::Kind::rejected, refusal(rows.front(), fault.what()), {}}};
  }
  const std::size_t half = rows.size() / 2;
  std::vector<RowResult> results = written_apart(rows.first(half), write, refusal);
  for (RowResult& result : written_apart(rows.subspan(half), write, refusal))
    results.push_back(std::move(result));
  return results;
}

template <class Row, class Write>
std::vector<RowResult> written_apart(std::span<const Row> rows, const Write& write) {
  return written_apart(rows, write, [](const Row&, const std::string& fault) { return fault; });
}

}  // namespace giftsync::schema::sql
