// crm/salesforce: asks several queries with as few calls as possible and reads their answers to the end:
// further pages, smaller statements where one was too heavy, a statement from its beginning where its place
// was lost. Any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crm/salesforce/calls/answers.h"
#include "crm/salesforce/calls/call_governor.h"
#include "crm/salesforce/calls/org_calls.h"
#include "crm/salesforce/calls/soql.h"
#include "platform/strict_json.h"

namespace giftsync::salesforce {

/// A query for `count` values. `statements` asks for `some` of them from `first` on; the positions in its
/// statements count from `first`.
struct Query {
  std::size_t count = 0;
  std::function<std::vector<Statement>(std::size_t first, std::size_t some)> statements;
  bool is_all = false;  ///< with deleted and archived rows
};

/// The queries of a list of values, by a function of statements.h.
template <class Value, class Ask>
Query query_of(std::span<const Value> values, Ask ask, bool is_all = false) {
  return {values.size(),
          [values, ask](std::size_t first, std::size_t some) { return ask(values.subspan(first, some)); },
          is_all};
}
/// The query of one statement, which cannot be made smaller.
Query query_of(std::string soql, bool is_all = false);

/// The rows of one query: those of a statement are together and in its order.
struct Rows {
  std::vector<const JsonValue*> rows;
};

/// The answers hold what the rows point to.
struct Answers {
  std::vector<Rows> of_query;  ///< in the order of the queries
  std::vector<AnswerBody> bodies;
  /// By the org's clock: everything was read at this time or later. Absent when nothing was asked.
  std::optional<UtcMillis> as_of = std::nullopt;
};

Answers ask(OrgCalls& calls, std::span<const Query> queries, CallPurpose purpose);

/// The rows of one query through `read(row)`.
template <class Read>
void each_row(OrgCalls& calls, const Query& query, CallPurpose purpose, Read read) {
  const Answers answers = ask(calls, std::span(&query, 1), purpose);
  for (const JsonValue* row : answers.of_query.front().rows) read(*row);
}

}  // namespace giftsync::salesforce
