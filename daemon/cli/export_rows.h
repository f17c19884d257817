// daemon/cli: the lines of an export.
#pragma once

#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/cli/json_list.h"
#include "schema/store/donation_book.h"
#include "schema/store/gift_ledger.h"

namespace giftsync::daemon {

/// One cell of a CSV line (RFC 4180). A text that a spreadsheet would take for a formula gets an apostrophe
/// in front of it.
std::string csv_cell(std::string_view text);

/// A gift by the names of the export's columns, in their order: texts, whole numbers, null.
Json export_row(const schema::Gift& gift, const std::optional<schema::Donation>& donation = {});
/// Their names, of an export without rows too.
std::vector<std::string> export_columns();

/// Header, or one gift.
std::string csv_line(const std::vector<std::string>& texts);
std::string csv_line(const Json& row);

/// What the books need to know, exact to the cent.
class ExportTotals {
 public:
  void add(const schema::Gift& gift);
  std::int64_t count() const;
  /// One for each status that there is: count and sums of each cost.
  std::vector<Json> rows() const;
  void tell(std::ostream& out) const;

 private:
  struct Sum {
    std::int64_t gifts = 0;
    schema::GiftCosts costs;
  };
  std::map<schema::Status, Sum> sums_;
};

}  // namespace giftsync::daemon
