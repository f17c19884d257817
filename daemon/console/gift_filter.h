// daemon/console: the filter of the gifts page as the query of its URL, and its form (CON-17). Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/console/page_frame.h"
#include "schema/store/console_gifts.h"

namespace giftsync::console {

/// A parameter of a list's address that cannot be applied. The list shows no rows then: all of them would
/// look like the answer (CON-17).
struct NotApplied {
  std::string name;
  std::string value;
  std::string_view why = "filter_value";  ///< the key of its text
};
/// The parameters of a list that has only the filters `names`.
std::vector<NotApplied> unknown_filters(const std::map<std::string, std::string>& parameters,
                                        std::initializer_list<std::string_view> names);
/// Sets `not_applied`, unless there is none: {reasons: [{text}], without}, the URL of the list without them.
void set_not_applied(Data& data, const std::vector<NotApplied>& parameters, const std::string& without);

struct GiftQuery {
  store::ConsoleGiftFilter filter = {};
  std::optional<TransactionId> before = {};
  /// Only gifts that became undelivered in so many last days; the page sets filter.undelivered_since.
  std::optional<std::int64_t> undelivered_days = {};
  bool csv = false;
  std::vector<NotApplied> not_applied = {};
  /// The parameters that count, without `before` and `format`: the address of the filtered list.
  std::map<std::string, std::string> kept = {};
};

/// The gifts that sources know by this id.
using FindExternal = std::function<std::vector<TransactionId>(const std::string& external_id)>;

/// `is_masked`: the viewer may not search by what is masked (CON-16). "find" is the id of a gift, else an
/// address if there is an "@" in it, else a name, which with a digit in one word may be an id in the CRM too
/// (CON-47).
GiftQuery gift_query(const std::map<std::string, std::string>& parameters, bool is_masked,
                     const FindExternal& find_external);

/// The form's fields with their values, also those that are not applied: {statuses: [{value, text,
/// selected}], find, ...}. `is_open`: a folded field has a value that is not applied.
Data filter_form(const GiftQuery& query, bool is_masked);

/// [{label, value, without}] of the filters that apply: `without` is the URL of the list at `list` without
/// that one.
Data filter_chips(const GiftQuery& query, const std::string& list);

/// "Recipient: ada@example.com, Status: Sent", as the form names the fields, and "find" by what it is; empty
/// without a filter.
std::string describe_filter(const GiftQuery& query);

/// "2026-11-21" as its first moment in UTC.
std::optional<UtcMillis> day_from(const std::string& text);

}  // namespace giftsync::console
