// daemon/salesforce: builds SELECT statements, and splits a question for many values into statements that
// Salesforce accepts. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace giftsync::daemon::salesforce {

/// Salesforce's limit for one statement, in characters.
inline constexpr std::size_t kMaxStatementLength = 100'000;

struct Select {
  std::vector<std::string> fields;  ///< empty names and repeated ones are left out
  std::string from;
  std::vector<std::string> conditions;  ///< all of them hold
  std::string order;                    ///< "Name ASC NULLS LAST, Id ASC"
  std::size_t limit = 0;                ///< 0: none
};
std::string to_soql(const Select& select);
/// For the number of the rows: QueryPage::total_size. Fields, order and limit are not used.
std::string to_count(const Select& select);

/// A statement and the values that it asks for: `count` of the given ones from `first` on.
struct Statement {
  std::string soql;
  std::size_t first = 0;
  std::size_t count = 0;
  friend bool operator==(const Statement&, const Statement&) = default;
};

/// The literals of each value, as soql_text.h writes them; a value without literals cannot be in the org and
/// is not asked for.
using ValueLiterals = std::vector<std::vector<std::string>>;

/// `select` for the rows in which one of `fields` has one of the values, in as few statements as possible:
/// each has at most `most_values` values and kMaxStatementLength characters. No statement when there is
/// nothing to ask.
std::vector<Statement> split(const Select& select, const std::vector<std::string>& fields,
                             const ValueLiterals& values, std::size_t most_values);

/// "Field ASC NULLS LAST, Id ASC": by default Salesforce puts nulls first, and equal values in no order.
/// Without a field only the last part.
std::string order_by(std::string_view field, bool descending, std::string_view last = "Id");

ValueLiterals id_literals(std::span<const std::string> ids);

}  // namespace giftsync::daemon::salesforce
