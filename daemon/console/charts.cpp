#include "daemon/console/charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "platform/text.h"

namespace giftsync::console {
namespace {

constexpr std::uint64_t kMaxSteps = 4;
constexpr std::uint64_t kTopOfNothing = 20;
/// A point is so many units wide in the stretched drawing, of which its column has those in the middle.
constexpr std::size_t kPointWidth = 10;
constexpr double kColumnLeft = 1.5;
constexpr double kColumnWidth = 7;
constexpr double kThinnestPart = 0.4;
constexpr std::string_view kPartTints[] = {"redeemed", "donated", "seen", "sent"};
constexpr std::string_view kPartTexts[] = {"status_redeemed", "status_donated", "opened_only", "not_opened"};
constexpr std::string_view kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::size_t kThousandDigits = 3;

std::string with_commas(std::string digits) {
  for (std::size_t at = digits.size(); at > kThousandDigits;) digits.insert(at -= kThousandDigits, 1, ',');
  return digits;
}

/// With at most two decimals: "12.5", "8".
std::string coordinate(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

/// From the upper edge, in percent of the height.
double height_of(std::int64_t value, const Grid& grid) {
  return 100.0 - 100.0 * static_cast<double>(value) / static_cast<double>(grid.top());
}

std::string columns_path(const std::vector<std::int64_t>& values, const Grid& grid) {
  std::string path;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0) continue;
    path += fmt::format("M{} 100V{}h{}V100z", coordinate(static_cast<double>(i * kPointWidth) + kColumnLeft),
                        coordinate(height_of(values[i], grid)), coordinate(kColumnWidth));
  }
  return path;
}

std::string line_path(const std::vector<std::int64_t>& values, const Grid& grid) {
  std::string path;
  for (std::size_t i = 0; i < values.size(); ++i)
    path += fmt::format("{}{} {}", i == 0 ? 'M' : 'L', i * kPointWidth + kPointWidth / 2,
                        coordinate(height_of(values[i], grid)));
  return path;
}

std::string percent(double part) {
  return coordinate(part) + "%";
}

/// The middle of a point, from the left.
std::string middle_of(std::size_t point, std::size_t points) {
  return percent(100.0 * (static_cast<double>(point) + 0.5) / static_cast<double>(points));
}

std::string_view class_of(ChartSeries::Form form) {
  switch (form) {
    case ChartSeries::Form::columns:
      return "columns";
    case ChartSeries::Form::dashed:
      return "dashed";
    case ChartSeries::Form::line:
      break;
  }
  return "thick";
}

/// {heads, rows: [{name, cells}]}, where the first head is that of the names.
Data table_data(const std::vector<std::string>& heads) {
  Data table;
  table.set("first", heads.front());
  table.set("heads", list_of(std::vector(heads.begin() + 1, heads.end()),
                             [](const std::string& head) { return Data("head", head); }));
  return table;
}

Data row_data(const std::string& name, const std::vector<std::string>& heads,
              const std::vector<std::int64_t>& values) {
  Data row;
  row.set("name", name);
  Data cells(Data::type::list);
  for (std::size_t i = 0; i < values.size(); ++i) {
    Data cell;
    cell.set("head", heads[i + 1]);
    cell.set("value", grouped(values[i]));
    cells << cell;
  }
  row.set("cells", cells);
  return row;
}

Data legend_entry(const std::string& name, std::string_view tint, std::string_view form,
                  const std::string& total) {
  Data entry;
  entry.set("name", name);
  entry.set("tint", std::string(tint));
  entry.set(std::string(form), true);
  set_text(entry, "sum", total);  // a page may have a total, which would be seen through an empty one
  return entry;
}

Data grid_data(const Grid& grid) {
  Data lines(Data::type::list);
  for (std::uint64_t i = 0; i <= grid.steps; ++i) {
    Data line;
    line.set("y", percent(100.0 * static_cast<double>(grid.steps - i) / static_cast<double>(grid.steps)));
    line.set("value", short_number(grid.step * i));
    lines << line;
  }
  return lines;
}

/// "21 Nov: Sent 193, Opened 140"
std::string title_of(const Chart& chart, std::size_t point) {
  std::string title = chart.points[point];
  for (std::size_t i = 0; i < chart.series.size(); ++i)
    title += (i == 0 ? ": " : ", ") + chart.series[i].name + " " + grouped(chart.series[i].values[point]);
  return title;
}

}  // namespace

Grid grid_of(std::int64_t greatest) {
  const std::uint64_t value =
      greatest <= 0 ? kTopOfNothing : std::max<std::uint64_t>(2, static_cast<std::uint64_t>(greatest));
  const std::uint64_t least = (value + kMaxSteps - 1) / kMaxSteps;
  constexpr std::uint64_t kRound[] = {1, 2, 4, 5, 8};
  for (std::uint64_t power = 1;; power *= 10)
    for (const std::uint64_t factor : kRound)
      if (factor * power >= least) {
        const std::uint64_t step = factor * power;
        return {step, (value + step - 1) / step};
      }
}

std::string grouped(std::int64_t number) {
  return number < 0 ? "-" + with_commas(std::to_string(number).substr(1))
                    : with_commas(std::to_string(number));
}

std::string grouped(Money amount, std::string_view currency) {
  const std::string text = amount_text(amount, currency);
  const std::size_t begin = text.front() == '-' ? 1 : 0;
  const std::size_t point = text.find('.');
  return text.substr(0, begin) + with_commas(text.substr(begin, point - begin)) + text.substr(point);
}

std::string short_number(std::uint64_t number) {
  constexpr std::uint64_t kThousand = 1'000;
  constexpr std::uint64_t kMillion = 1'000'000;
  constexpr std::uint64_t kBillion = 1'000'000'000;
  if (number < 10 * kThousand) return with_commas(std::to_string(number));
  const auto [unit, word] = number < kMillion   ? std::pair(kThousand, "k")
                            : number < kBillion ? std::pair(kMillion, "M")
                                                : std::pair(kBillion, "bn");
  const std::uint64_t tenth = number % unit * 10 / unit;
  return with_commas(std::to_string(number / unit)) + (tenth > 0 ? "." + std::to_string(tenth) : "") + word;
}

std::string share_text(std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return {};
  return fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string length_of(std::int64_t part, std::int64_t whole) {
  if (whole <= 0 || part <= 0) return "0%";
  return fmt::format("{:.1f}%",
                     std::min(100.0, 100.0 * static_cast<double>(part) / static_cast<double>(whole)));
}

std::string day_label(std::int64_t day, std::int64_t today) {
  // "2026-11-21"
  const std::string text = utc_day_text(day);
  const auto month = std::clamp<std::size_t>(parse_number<std::size_t>(text.substr(5, 2)).value_or(1), 1,
                                             std::size(kMonths));
  const std::string year = text.substr(0, 4);
  return std::to_string(parse_number<int>(text.substr(8)).value_or(0)) + " " +
         std::string(kMonths[month - 1]) + (year == utc_day_text(today).substr(0, 4) ? "" : " " + year);
}

std::string not_whole_text(const store::RollupProgress& progress, std::int64_t first, std::int64_t today) {
  if (progress.is_whole || (progress.from_day && *progress.from_day <= first)) return {};
  if (!progress.from_day) return texts().text("counted_none");
  return texts().text("counted_from", {{"day", day_label(*progress.from_day, today)}});
}

std::string span_text(std::int64_t seconds) {
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 3'600;
  constexpr std::int64_t kDay = 86'400;
  const auto two = [&](std::int64_t unit, const char* word, std::int64_t smaller, const char* smaller_word) {
    const std::int64_t rest = seconds % unit / smaller;
    return fmt::format("{} {}", seconds / unit, word) +
           (rest > 0 ? fmt::format(" {} {}", rest, smaller_word) : "");
  };
  if (seconds < kMinute) return fmt::format("{} s", seconds);
  if (seconds < kHour) return fmt::format("{} min", seconds / kMinute);
  return seconds < kDay ? two(kHour, "h", kMinute, "min") : two(kDay, "d", kHour, "h");
}

Data chart_data(const Chart& chart) {
  const std::size_t count = chart.points.size();
  std::int64_t greatest = 0;
  for (const ChartSeries& series : chart.series)
    for (const std::int64_t value : series.values) greatest = std::max(greatest, value);
  const Grid grid = grid_of(greatest);
  Data data;
  data.set("label", chart.label);
  data.set("lines_of_grid", grid_data(grid));
  data.set("box", fmt::format("0 0 {} 100", count * kPointWidth));
  Data columns(Data::type::list);
  Data lines(Data::type::list);
  Data legend(Data::type::list);
  std::vector<std::string> heads{chart.head};
  for (const ChartSeries& series : chart.series) {
    const bool is_columns = series.form == ChartSeries::Form::columns;
    Data shape;
    shape.set("tint", std::string(series.tint));
    shape.set("form", std::string(class_of(series.form)));
    shape.set("path", is_columns ? columns_path(series.values, grid) : line_path(series.values, grid));
    if (greatest > 0) (is_columns ? columns : lines) << shape;
    legend << legend_entry(series.name, series.tint, is_columns ? "block" : class_of(series.form),
                           series.total);
    heads.push_back(series.name);
  }
  data.set("columns", columns);
  data.set("lines", lines);
  set_list(data, "legend", legend);
  Data slots(Data::type::list);
  Data dates(Data::type::list);
  Data rows(Data::type::list);
  for (std::size_t i = 0; i < count; ++i) {
    Data slot;
    slot.set("x", percent(100.0 * static_cast<double>(i) / static_cast<double>(count)));
    slot.set("title", title_of(chart, i));
    slots << slot;
    std::vector<std::int64_t> values;
    for (const ChartSeries& series : chart.series) values.push_back(series.values[i]);
    rows << row_data(chart.points[i], heads, values);
    if (i % chart.label_each != 0) continue;
    Data date;
    date.set("x", middle_of(i, count));
    date.set("text", chart.points[i]);
    dates << date;
  }
  data.set("width", percent(100.0 / static_cast<double>(count)));
  data.set("slots", slots);
  data.set("dates", dates);
  Data table = table_data(heads);
  table.set("rows", rows);
  data.set("table", table);
  if (greatest == 0) set_text(data, "nothing", chart.nothing);
  return data;
}

std::array<std::int64_t, 4> parts_of(const GiftNumbers& numbers) {
  const std::int64_t sent = numbers[Status::sent];
  const auto up_to = [](std::int64_t value, std::int64_t most) {
    return std::clamp<std::int64_t>(value, 0, std::max<std::int64_t>(most, 0));
  };
  const std::int64_t redeemed = up_to(numbers[Status::redeemed], sent);
  const std::int64_t donated = up_to(numbers[Status::donated], sent - redeemed);
  const std::int64_t rest = sent - redeemed - donated;
  const std::int64_t opened = up_to(numbers[Status::opened] - redeemed - donated, rest);
  return {redeemed, donated, opened, rest - opened};
}

Data stacked_bars_data(const std::string& label, const std::string& head,
                       const std::vector<StackedBar>& bars) {
  std::int64_t longest = 0;
  for (const StackedBar& bar : bars) longest = std::max(longest, bar.numbers[Status::sent]);
  std::vector<std::string> heads{head};
  Data legend(Data::type::list);
  for (std::size_t i = 0; i < std::size(kPartTexts); ++i) {
    heads.push_back(texts().text(kPartTexts[i]));
    legend << legend_entry(heads.back(), kPartTints[i], "block", {});
  }
  Data rows(Data::type::list);
  Data shapes(Data::type::list);
  for (const StackedBar& bar : bars) {
    const auto parts = parts_of(bar.numbers);
    Data row;
    row.set("name", bar.name);
    set_text(row, "url", bar.url);
    row.set("total", grouped(bar.numbers[Status::sent]));
    std::array<double, 4> widths{};
    double sum = 0;
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (parts[i] > 0)
        sum += widths[i] =
            std::max(kThinnestPart, 100.0 * static_cast<double>(parts[i]) / static_cast<double>(longest));
    const double scale = std::min(1.0, 100.0 / std::max(sum, 1.0));
    Data drawn(Data::type::list);
    std::string what;
    double at = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::string title = heads[i + 1] + " " + grouped(parts[i]);
      what += (what.empty() ? "" : ", ") + title;
      if (parts[i] == 0) continue;
      Data part;
      part.set("x", percent(at));
      part.set("width", percent(widths[i] * scale));
      part.set("tint", std::string(kPartTints[i]));
      part.set("title", title);
      drawn << part;
      at += widths[i] * scale;
    }
    row.set("what", what);
    row.set("parts", drawn);
    shapes << row;
    rows << row_data(bar.name, heads, std::vector(parts.begin(), parts.end()));
  }
  Data data;
  data.set("label", label);
  set_list(data, "legend", legend);
  data.set("bars", shapes);
  Data table = table_data(heads);
  table.set("rows", rows);
  data.set("table", table);
  return data;
}

std::optional<double> relative_change(std::int64_t now, std::int64_t before) {
  if (before == 0) return std::nullopt;
  return 100.0 * (static_cast<double>(now) - static_cast<double>(before)) / static_cast<double>(before);
}

std::optional<double> change_of_share(std::int64_t part, std::int64_t whole, std::int64_t part_before,
                                      std::int64_t whole_before) {
  if (whole == 0 || whole_before == 0) return std::nullopt;
  return 100.0 * (static_cast<double>(part) / static_cast<double>(whole) -
                  static_cast<double>(part_before) / static_cast<double>(whole_before));
}

std::optional<Data> change_data(const Change& change) {
  if (!change.by) return std::nullopt;
  constexpr double kLeastShown = 0.05;
  Data data;
  if (std::abs(*change.by) < kLeastShown) {
    data.set("text", texts().text("change_none"));
    return data;
  }
  const bool is_more = *change.by > 0;
  data.set("icon", is_more ? "rise" : "fall");
  data.set("word", texts().text(is_more ? "change_more" : "change_less"));
  if (change.kind == Change::Kind::more_is_better) data.set("tint", is_more ? "better" : "worse");
  data.set("text", fmt::format("{:.1f} {}", std::abs(*change.by), change.unit));
  return data;
}

}  // namespace giftsync::console
