// cli: the rows of `gift export`.
#pragma once

#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "cli/listing.h"
#include "platform/visible_text.h"
#include "schema/store/gift/gift_requests.h"
#include "schema/store/page_views.h"

namespace giftsync::cli {

/// A gift as an object with the columns as members, in their order: texts, whole numbers, null.
/// `currency`: its column is the last one; empty: there is none.
Json export_row(const store::Gift& gift, const std::string& currency,
                const std::optional<store::Donation>& donation = {});
/// The column names.
std::vector<std::string> export_columns(const std::string& currency);

/// The header, or one gift.
std::string csv_line(const std::vector<std::string>& texts);
std::string csv_line(const Json& row);

/// The totals of each status, exact to the cent.
class ExportTotals {
 public:
  void add(const store::Gift& gift);
  std::int64_t count() const;
  /// One row per status that occurs: the count and the sum of each cost.
  std::vector<Json> rows(const std::string& currency) const;
  void print(std::ostream& out) const;

 private:
  struct Sum {
    std::int64_t gifts = 0;
    store::GiftCosts costs;
  };
  std::map<Status, Sum> sums_;
};

}  // namespace giftsync::cli
