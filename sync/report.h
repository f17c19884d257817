// sync: the numbers of a period for people (NUM-7, NUM-8): a report by campaign, sender, item, source or
// month, and those of the overview beside the period before. Read from the rollups alone, never from gifts.
// The command line and the console share them. Days are UTC, and a gift counts on its day of sending.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/ids.h"
#include "schema/store/rollups.h"

namespace giftsync::sync {

/// `account`: the sender of gifts that giftsync sent.
enum class ReportBy { campaign, account, item, source, month };
inline constexpr ReportBy kAllReportsBy[] = {ReportBy::campaign, ReportBy::account, ReportBy::item,
                                             ReportBy::source, ReportBy::month};
std::string_view to_word(ReportBy by);
std::optional<ReportBy> report_by_from_word(std::string_view word);
/// What its rows are counted by; of a month, which has no dimension of its own, all.
store::RollupDimension dimension_of(ReportBy by);

/// The gifts with one value of a dimension.
struct ReportPart {
  store::RollupDimension dimension = store::RollupDimension::all;
  std::string key = {};  ///< as in the rollup: campaign_key("autumn"), "17" of account 17
};

struct ReportQuestion {
  ReportBy by = ReportBy::campaign;
  std::int64_t first_day = 0;  ///< utc_day()
  std::int64_t last_day = 0;   ///< the last one included
  /// Nothing: all gifts. A value of another dimension than the report's cannot be asked for, since each is
  /// counted alone: `by` is then that dimension or month (can_report()).
  std::optional<ReportPart> part = std::nullopt;
  std::optional<OrganizationId> organization = std::nullopt;  ///< nothing: all, and gifts of none
  std::size_t max_rows = SIZE_MAX;  ///< the rows with the most gifts; the others are one row at the end
};

/// Whether these gifts are counted by this.
bool can_report(ReportBy by, const std::optional<ReportPart>& part);

struct ReportRow {
  enum class Kind {
    value,  ///< one campaign, sender, item, source or month
    none,   ///< gifts without one
    other,  ///< more than are counted apart, or than max_rows
  };
  Kind kind = Kind::value;
  std::string key = {};   ///< to ask for it; of a month "2026-11"; may be empty
  std::string name = {};  ///< a campaign, an address, an item's name, a source, "2026-11"; may be empty
  GiftNumbers numbers = {};
};

struct Report {
  std::vector<ReportRow> rows;  ///< months ascending; else the most gifts first, then by name
  GiftNumbers total;            ///< the sum of the rows
  store::RollupProgress progress;
};

/// `can_report()` holds. Throws DependencyError.
Report report(store::Rollups& rollups, const ReportQuestion& question);

struct OverviewQuestion {
  std::int64_t first_day = 0;
  std::int64_t last_day = 0;                      ///< the last one included
  std::optional<ReportPart> part = std::nullopt;  ///< of a sender, for example; nothing: all gifts
  std::optional<OrganizationId> organization = std::nullopt;
};

struct DayNumbers {
  std::int64_t day = 0;
  GiftNumbers numbers = {};
};

struct Overview {
  GiftNumbers period;
  GiftNumbers before;            ///< of as many days before
  std::vector<DayNumbers> days;  ///< each day of the period, ascending, also those without gifts
  store::RollupProgress progress;
};

/// Throws DependencyError.
Overview overview(store::Rollups& rollups, const OverviewQuestion& question);

}  // namespace giftsync::sync
