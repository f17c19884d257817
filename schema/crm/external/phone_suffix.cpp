#include "schema/crm/external/phone_suffix.h"

#include <algorithm>
#include <new>

#include "schema/contact_normalization.h"
#include "schema/sql/session.h"

namespace giftsync::schema::crm::external {
namespace {

constexpr std::size_t kSuffixDigits = 7;
constexpr const char* kPhoneSuffixFunction = "giftsync_phone_suffix";

/// Whether a number contains more than digits and the usual separators: an extension, letters, digits of
/// other scripts. Only such a number needs the full parser.
std::string has_other_characters(sql::Dialect dialect, const std::string& column) {
  return dialect == sql::Dialect::postgresql ? column + " ~ '[^-0-9 ()./+]'"
                                             : column + " GLOB '*[^-0-9 ()./+' || char(160) || ']*'";
}

/// The digits at the end of a number, without an extension. docs/operations/external-crm.md has an index over
/// the very expression of PostgreSQL's.
std::string postgresql_suffix(const MappedTables& tables, const std::string& column) {
  // Full-width, Arabic and Persian digits, which a database of another encoding does not have.
  const std::string digits =
      tables.is_unicode()
          ? "translate(" + column +
                R"(, E'\uFF10\uFF11\uFF12\uFF13\uFF14\uFF15\uFF16\uFF17\uFF18\uFF19\u0660\u0661\u0662\u0663)"
                R"(\u0664\u0665\u0666\u0667\u0668\u0669\u06F0\u06F1\u06F2\u06F3\u06F4\u06F5\u06F6\u06F7)"
                R"(\u06F8\u06F9', '012345678901234567890123456789'))"
          : column;
  // Seven digits at least, and what follows up to a letter or one of ;,# which begin an extension.
  return "right(regexp_replace(CASE WHEN " + has_other_characters(sql::Dialect::postgresql, column) +
         " THEN substring(" + digits + " FROM '^(?:[^0-9]*[0-9]){7}[^[:alpha:];,#]*') ELSE " + column +
         " END, '[^0-9]+', '', 'g'), " + std::to_string(kSuffixDigits) + ")";
}

/// SQLite has no regular expressions. The usual separators are removed one by one; everything else calls
/// kPhoneSuffixFunction.
std::string sqlite_suffix(const std::string& column, const std::string& region) {
  std::string digits = column;
  for (const char* other : {"' '", "'-'", "'('", "')'", "'.'", "'/'", "'+'", "char(160)"})
    digits = "replace(" + digits + ", " + other + ", '')";
  return "CASE WHEN " + has_other_characters(sql::Dialect::sqlite, column) + " THEN " + kPhoneSuffixFunction +
         "(" + column + ", '" + region + "') ELSE substr(" + digits + ", -" + std::to_string(kSuffixDigits) +
         ") END";
}

/// The SQL function kPhoneSuffixFunction(number, region): what the number's key ends with.
void phone_suffix_udf(sqlite_api::sqlite3_context* context, int, sqlite_api::sqlite3_value** values) {
  using namespace sqlite_api;
  const auto text = [&](int at) {
    const unsigned char* value = sqlite3_value_text(values[at]);
    return value ? std::string(reinterpret_cast<const char*>(value)) : std::string();
  };
  try {
    const std::string end = phone_suffix(phone_key(text(0), text(1)));
    sqlite3_result_text(context, end.c_str(), static_cast<int>(end.size()), SQLITE_TRANSIENT);
  } catch (const std::bad_alloc&) {
    sqlite3_result_error_nomem(context);
  }
}

}  // namespace

std::string phone_suffix(const std::string& key) {
  return key.substr(key.size() - std::min(key.size(), kSuffixDigits));
}

std::string phone_suffix_expression(const MappedTables& tables, const std::string& column,
                                    const std::string& region) {
  return tables.dialect() == sql::Dialect::sqlite ? sqlite_suffix(column, region)
                                                  : postgresql_suffix(tables, column);
}

void register_phone_suffix_udf(soci::session& session) {
  sqlite_api::sqlite3* connection = static_cast<soci::sqlite3_session_backend*>(session.get_backend())->conn_;
  const int result = sqlite_api::sqlite3_create_function(connection, kPhoneSuffixFunction, 2,
                                                         SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr,
                                                         phone_suffix_udf, nullptr, nullptr);
  if (result != SQLITE_OK) sql::throw_sqlite_error(connection, result);
}

}  // namespace giftsync::schema::crm::external
