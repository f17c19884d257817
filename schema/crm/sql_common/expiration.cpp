#include "schema/crm/sql_common/expiration.h"

namespace giftsync::schema::crm::sql_common {

std::string expiration_expression(const std::string& column, const std::string& as_text) {
  return "CASE WHEN " + column + " IS NULL THEN '' ELSE coalesce(" + as_text + ", '?') END";
}

std::optional<platform::UtcMillis> parse_expiration(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return platform::from_rfc3339(text).value_or(platform::UtcMillis{0});
}

}  // namespace giftsync::schema::crm::sql_common
