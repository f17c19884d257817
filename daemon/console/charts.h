// daemon/console: what charts are drawn of (CON-72): where the shapes of the parts "chart", "bars" and
// "stats" of web/console/parts lie, as data for these templates, which escape each text. Shapes have percent
// or the units of a stretched drawing, so one markup fits each width; no chart has a style of its own. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/console/page_frame.h"
#include "schema/gift_numbers.h"
#include "schema/store/rollups.h"

namespace giftsync::console {

/// Where the lines of a chart's grid are: from 0 in whole, round steps, three to five lines, the last one not
/// below the greatest value.
struct Grid {
  std::uint64_t step = 1;
  std::uint64_t steps = 2;
  std::uint64_t top() const { return step * steps; }
};
/// `greatest` is not negative; of 0 a grid up to 20.
Grid grid_of(std::int64_t greatest);

/// "1,618", "-1,618"
std::string grouped(std::int64_t number);
/// "61,940.00"; "61,940.00 EUR" with a currency.
std::string grouped(Money amount, std::string_view currency = {});
/// For an axis: "800", "40k", "1.2M".
std::string short_number(std::uint64_t number);
/// "98.3 %" of the whole; empty without a whole.
std::string share_text(std::int64_t part, std::int64_t whole);
/// "2.5%" as the length of a shape: 0 to 100, one decimal. `whole` may be 0.
std::string length_of(std::int64_t part, std::int64_t whole);
/// "21 Nov" of utc_day(), with its year if that is not the one of `today`.
std::string day_label(std::int64_t day, std::int64_t today);
/// That gifts of the period from `first` on are still to be counted; empty if all are.
std::string not_whole_text(const store::RollupProgress& progress, std::int64_t first, std::int64_t today);
/// "45 s", "5 h 10 min", "3 d 4 h": at most two units.
std::string span_text(std::int64_t seconds);

struct ChartSeries {
  enum class Form { columns, dashed, line };
  std::string name;       ///< in the legend and in the table
  std::string_view tint;  ///< the class of its colour: "sent", "seen", "redeemed" or "donated"
  Form form = Form::columns;
  std::vector<std::int64_t> values = {};  ///< of each point, not negative
  std::string total = {};                 ///< in the legend; may be empty
};

/// Columns and lines over points of the same distance, such as days.
struct Chart {
  std::string label;                ///< what it shows, and its most important value
  std::string head;                 ///< of the points: "Day"
  std::vector<std::string> points;  ///< at least one: "21 Nov"
  std::size_t label_each = 7;       ///< each so many points one has its text below the chart
  std::vector<ChartSeries> series;
  std::string nothing = {};  ///< in the middle while each value is 0
};
/// For the part "chart": {label, lines_of_grid, box, columns, lines, slots, dates, legend, table, nothing}.
Data chart_data(const Chart& chart);

/// What became of gifts, in four parts that together are all that were sent: redeemed, donated, opened only,
/// not opened. A gift that was redeemed counts as that, whether its opening is known or not.
std::array<std::int64_t, 4> parts_of(const GiftNumbers& numbers);

struct StackedBar {
  std::string name;
  std::string url = {};  ///< of the name; may be empty
  GiftNumbers numbers = {};
};
/// For the part "bars": {label, legend, bars, table}. `label` and `head` as of a Chart. A part that is there
/// is never thinner than 0.4 percent; the longest bar is as wide as its place.
Data stacked_bars_data(const std::string& label, const std::string& head,
                       const std::vector<StackedBar>& bars);

/// A value against that of the period before, for the part "stats".
struct Change {
  enum class Kind { more_is_better, plain };
  std::optional<double> by = {};  ///< nothing: there is nothing to compare with
  std::string_view unit = "%";    ///< or "pt", of shares
  Kind kind = Kind::more_is_better;
};
/// In percent of `before`; nothing if that is 0.
std::optional<double> relative_change(std::int64_t now, std::int64_t before);
/// In points of a percentage; nothing if one of both has no whole.
std::optional<double> change_of_share(std::int64_t part, std::int64_t whole, std::int64_t part_before,
                                      std::int64_t whole_before);
/// {icon, tint, word, text} of a change, or {text} of one that rounds to none; without `by` no data.
std::optional<Data> change_data(const Change& change);

}  // namespace giftsync::console
