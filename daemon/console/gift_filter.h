// daemon/console: the filter of the gifts page as the query of its URL, and its form (CON-17). Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/console/page_frame.h"
#include "schema/store/console_gifts.h"

namespace giftsync::daemon::console {

struct GiftQuery {
  schema::store::ConsoleGiftFilter filter = {};
  std::optional<schema::TransactionId> before = {};
  bool csv = false;
  std::vector<std::string> ignored = {};  ///< parameters that are not known, or whose values are not
  /// The parameters that count, without `before` and `format`: the address of the filtered list.
  std::map<std::string, std::string> kept = {};
};

/// `is_masked`: the viewer may not search by what is masked (CON-16), so these parameters are ignored.
GiftQuery gift_query(const std::map<std::string, std::string>& parameters, bool is_masked);

/// The form's fields with their values: {statuses: [{value, text, selected}], recipient, ...}.
Data filter_form(const GiftQuery& query, bool is_masked);

/// "Recipient: ada@example.com, Status: Sent", as the form names the fields; empty without a filter.
std::string describe_filter(const GiftQuery& query);

/// "2026-11-21" as its first moment in UTC.
std::optional<platform::UtcMillis> day_from(const std::string& text);

}  // namespace giftsync::daemon::console
