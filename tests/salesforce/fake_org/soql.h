// The subset of SOQL that giftsync needs, as a tree: SELECT fields or COUNT(), one object, WHERE, ORDER BY,
// LIMIT, OFFSET. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/salesforce/fake_org/api_error.h"

namespace giftsync::tests::fake_org {

struct SoqlPath {
  std::vector<std::string> parts;  ///< "Opportunity", "Name"
  std::size_t at = 0;              ///< where it stands in the text
};

struct SoqlLiteral {
  enum class Kind { null, checkbox, number, text, date, date_time };
  Kind kind = Kind::null;
  std::string text;
  std::size_t at = 0;
};

struct SoqlCondition {
  enum class Kind { all, any, negation, comparison };
  Kind kind = Kind::comparison;
  std::vector<SoqlCondition> children = {};
  SoqlPath path = {};
  std::string operation = {};  ///< "=", "!=", "<", "<=", ">", ">=", "IN", "NOT IN", "LIKE"
  std::vector<SoqlLiteral> literals = {};
};

struct SoqlOrder {
  SoqlPath path;
  bool is_descending = false;
  bool has_nulls_last = false;
};

struct SoqlQuery {
  std::string text;
  bool is_count = false;
  std::vector<SoqlPath> fields;
  std::string object;
  std::size_t object_at = 0;
  std::optional<SoqlCondition> where;
  std::vector<SoqlOrder> order;
  std::optional<std::size_t> limit;
  std::size_t offset = 0;
};

/// Throws ApiError MALFORMED_QUERY.
SoqlQuery parse_soql(std::string_view text);

/// The words with the place in the query, as Salesforce shows it: some of the text, a caret, row and column.
std::string message_at(std::string_view query, std::size_t at, const std::string& words);

}  // namespace giftsync::tests::fake_org
