// schema/crm/sql_common: the expiration of a permission-set assignment, as stored in the tables.
#pragma once

#include <optional>
#include <string>

#include "platform/time.h"

namespace giftsync::schema::crm::sql_common {

/// An SQL expression: the expiration of an assignment as text, '' when it has none.
std::string expiration_expression(const std::string& column, const std::string& as_text);
/// Its time. An unreadable expiration counts as long expired, so that a typing error grants no right to
/// send.
std::optional<platform::UtcMillis> parse_expiration(const std::string& text);

}  // namespace giftsync::schema::crm::sql_common
