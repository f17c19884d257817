// crm/salesforce: the only writer of SOQL literals and identifiers. What a statement contains besides its
// own words comes from here, so no text from outside can change the statement. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/time.h"

namespace giftsync::salesforce {

/// Salesforce's limit for one text literal, in characters as UTF-16 counts them.
inline constexpr std::size_t kMaxLiteralLength = 4000;

/// UTF-16 code units of well-formed UTF-8: Salesforce counts lengths of statements and texts in these.
std::size_t utf16_length(std::string_view text);
/// The longest prefix of at most `units` of them, without half a character.
std::string_view cut_to_utf16(std::string_view text, std::size_t units);

/// 'O\'Brien': nullopt for what no field can hold: NUL, bytes that are not UTF-8 (lone surrogates too), and
/// more than kMaxLiteralLength characters.
std::optional<std::string> text_literal(std::string_view text);

/// Whether an org takes it for a record Id (schema/ids.h). Another text refuses the whole query or
/// row.
bool is_record_id(std::string_view text);
inline constexpr std::size_t kShortIdLength = 15;
/// 15 and 18 characters of one Id are equal in these.
std::string short_id(std::string_view id);
/// '0035g00000AbCdE': nullopt for what is no Id.
std::optional<std::string> id_literal(std::string_view id);

std::string number_literal(std::int64_t number);

/// 2026-11-22T10:00:00Z: the second in which the time lies, because Salesforce compares its own stamps by
/// whole seconds. With >= no row of that second is missed.
std::string time_literal(UtcMillis time);

/// A field or an object, or a path over lookups: Opportunity.Account.Name.
bool is_identifier(std::string_view text);

// Builds SELECT statements, and splits a query for many values into statements that
// Salesforce accepts. Pure; any thread.

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

}  // namespace giftsync::salesforce
