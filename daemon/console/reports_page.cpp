// Reports of the gifts of a period: a page of bars and a table, and the same rows as CSV (CON-74).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "daemon/console/access.h"
#include "daemon/console/charts.h"
#include "daemon/console/gift_filter.h"
#include "daemon/console/pages.h"
#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::console {
namespace {

using store::RollupDimension;
using sync::ReportBy;
using sync::ReportRow;

constexpr std::int64_t kDaysByDefault = 30;
constexpr std::int64_t kDaysOfMonthsByDefault = 365;
/// The periods to choose from, each up to today.
constexpr std::int64_t kPresets[] = {7, 30, 90, 365};
/// The rows with the most gifts; the others are one row. So the page stays below 60 kB.
constexpr std::size_t kRows = 30;
/// Of these the first ones, of months the last ones, are drawn.
constexpr std::size_t kBars = 12;
constexpr std::string_view kOwnSource = "giftsync";
constexpr std::string_view kBucketTexts[] = {"1 h", "6 h", "1 d", "3 d", "7 d", "14 d", "30 d"};

/// The dimension of what the report can be limited to, and its parameter.
struct PartName {
  RollupDimension dimension;
  std::string_view name;
  std::string_view text;  ///< the key of its label
};
constexpr PartName kParts[] = {{RollupDimension::campaign, "campaign", "campaign"},
                               {RollupDimension::account, "account", "sender"},
                               {RollupDimension::item, "item", "item"},
                               {RollupDimension::source, "source", "source"}};

const PartName* part_named(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kParts), std::end(kParts),
                                         [&](const PartName& part) { return part.name == name; });
  return found == std::end(kParts) ? nullptr : found;
}

/// What an address asks for.
struct ReportQuery {
  sync::ReportQuestion question = {};
  std::int64_t days = 0;  ///< of a preset; 0: the address has days of its own
  bool csv = false;
  std::vector<NotApplied> not_applied = {};
  std::map<std::string, std::string> kept = {};  ///< the parameters that count, without `format`
};

/// The key of a part as its parameter names it.
std::string key_of(RollupDimension dimension, const std::string& value) {
  if (dimension == RollupDimension::campaign) return campaign_key(value);
  if (dimension == RollupDimension::source && value == kOwnSource) return {};
  return value;
}
std::string value_of(RollupDimension dimension, const std::string& key) {
  if (dimension == RollupDimension::campaign) return key.substr(1);
  return dimension == RollupDimension::source && key.empty() ? std::string(kOwnSource) : key;
}

/// Whether keys of the dimension look like this; a sum of another key than a number would not be found.
bool may_be_key(RollupDimension dimension, const std::string& key) {
  if (dimension == RollupDimension::account) return parse_number<std::int64_t>(key).value_or(0) > 0;
  if (dimension == RollupDimension::item)
    return key.starts_with('=') || parse_number<std::int64_t>(key).value_or(0) > 0;
  return true;
}

/// Days and what the report is by; the part is that of the viewer, or of the address.
ReportQuery report_query(const PageCall& call, const CountedGifts& counted) {
  ReportQuery query;
  sync::ReportQuestion& asked = query.question;
  asked.organization = counted.organization;
  asked.part = counted.part;
  asked.max_rows = kRows;
  asked.by = counted.part ? ReportBy::month : ReportBy::campaign;
  std::optional<std::int64_t> since;
  std::optional<std::int64_t> until;
  std::string part_parameter;
  for (const auto& [name, given] : call.query) {
    const std::string value(trimmed(given));
    if (value.empty() || name == "notice") continue;
    std::string_view why;
    if (name == "format" && value == "csv") {
      query.csv = true;
      continue;
    }
    if (name == "by") {
      const auto by = sync::report_by_from_word(value);
      if (!by) why = "filter_value";
      if (by) asked.by = *by;
    } else if (name == "days") {
      const auto days = parse_number<std::int64_t>(value);
      if (days && std::find(std::begin(kPresets), std::end(kPresets), *days) != std::end(kPresets))
        query.days = *days;
      else
        why = "filter_value";
    } else if (name == "since" || name == "until") {
      const auto day = day_from(value);
      if (!day) why = "filter_value";
      if (day) (name == "since" ? since : until) = utc_day(*day);
    } else if (const PartName* part = part_named(name)) {
      if (counted.part)
        why = "filter_hidden";
      else if (asked.part)
        why = "filter_two_parts";
      else if (const std::string key = key_of(part->dimension, value); may_be_key(part->dimension, key))
        asked.part = sync::ReportPart{part->dimension, key};
      else
        why = "filter_value";
      part_parameter = name;
    } else {
      why = "filter_unknown";
    }
    if (why.empty())
      query.kept[name] = value;
    else
      query.not_applied.push_back({name, value, why});
  }
  if (!sync::can_report(asked.by, asked.part))
    query.not_applied.push_back(
        part_parameter.empty() ? NotApplied{"by", std::string(to_word(asked.by)), "filter_hidden"}
                               : NotApplied{part_parameter, query.kept[part_parameter], "filter_other_part"});
  const std::int64_t by_default = asked.by == ReportBy::month ? kDaysOfMonthsByDefault : kDaysByDefault;
  if (since || until)
    query.days = 0;
  else if (query.days == 0)
    query.days = by_default;
  asked.last_day = until.value_or(utc_day(call.now));
  asked.first_day = since.value_or(asked.last_day - (query.days > 0 ? query.days : by_default) + 1);
  if (asked.first_day > asked.last_day)
    query.not_applied.push_back({"since", utc_day_text(asked.first_day), "filter_later"});
  return query;
}

/// What people call the row.
std::string name_of(ReportBy by, const ReportRow& row) {
  if (row.kind == ReportRow::Kind::other) return texts().text("report_others");
  if (row.kind == ReportRow::Kind::none) return texts().text("report_none_" + std::string(to_word(by)));
  if (!row.name.empty()) return row.name;
  return by == ReportBy::source ? std::string(kOwnSource) : "#" + row.key;
}

const PartName& part_of(RollupDimension dimension) {
  return *std::find_if(std::begin(kParts), std::end(kParts),
                       [&](const PartName& part) { return part.dimension == dimension; });
}

class ReportView {
 public:
  ReportView(const PageCall& call, const CountedGifts& counted, const ReportQuery& query)
      : call_(call),
        is_own_(counted.part.has_value()),
        query_(query),
        asked_(query.question),
        today_(utc_day(call.now)) {}

  Data data(const sync::Report& report) const;

 private:
  std::string url(const std::map<std::string, std::string>& parameters) const {
    return call_.url().base + "/reports?" + query_of(parameters);
  }
  /// The address with these days.
  std::map<std::string, std::string> without_days() const {
    auto kept = query_.kept;
    for (const char* name : {"days", "since", "until"}) kept.erase(name);
    return kept;
  }
  Data tabs() const;
  Data presets() const;
  std::string part_name(const sync::Report& report) const;
  /// The months of the row's gifts, or nothing.
  std::string url_of_row(const ReportRow& row) const;
  std::string list_of_row(const ReportRow& row) const;
  Data row(const std::string& name, const GiftNumbers& numbers) const;
  Data bars(const sync::Report& report) const;
  Data redeem_chart(const GiftNumbers& total) const;

  const PageCall& call_;
  bool is_own_;
  const ReportQuery& query_;
  const sync::ReportQuestion& asked_;
  std::int64_t today_;
};

/// The reports that count the part; the one shown keeps the days of the address.
Data ReportView::tabs() const {
  Data tabs(Data::type::list);
  for (const ReportBy by : sync::kAllReportsBy) {
    if (is_own_ && by != ReportBy::month) continue;
    auto kept = query_.kept;
    kept["by"] = to_word(by);
    if (!is_own_ && asked_.part && !sync::can_report(by, asked_.part))
      for (const PartName& part : kParts) kept.erase(std::string(part.name));
    Data tab;
    tab.set("url", url(kept));
    tab.set("text", texts().text("report_by_" + std::string(to_word(by))));
    if (by == asked_.by) tab.set("current", true);
    tabs << tab;
  }
  return tabs;
}

Data ReportView::presets() const {
  return list_of(kPresets, [&](std::int64_t days) {
    auto kept = without_days();
    kept["days"] = std::to_string(days);
    Data preset;
    preset.set("url", url(kept));
    preset.set("text", texts().text("days_" + std::to_string(days)));
    if (days == query_.days) preset.set("current", true);
    return preset;
  });
}

/// An account of another organization has no gifts that the viewer sees: its address stays hidden.
std::string ReportView::part_name(const sync::Report& report) const {
  const std::string& key = asked_.part->key;
  if (asked_.part->dimension == RollupDimension::source && key.empty()) return std::string(kOwnSource);
  if (report.total[Status::sent] == 0 && asked_.part->dimension == RollupDimension::account) return "#" + key;
  const auto names = call_.store().rollups.names_of(asked_.part->dimension, std::array{key});
  const auto found = names.find(key);
  return found == names.end() ? "#" + key : found->second;
}

std::string ReportView::url_of_row(const ReportRow& row) const {
  if (row.kind != ReportRow::Kind::value || asked_.by == ReportBy::month) return {};
  auto kept = query_.kept;
  kept["by"] = to_word(ReportBy::month);
  if (query_.days > 0) kept["days"] = std::to_string(query_.days);
  const RollupDimension dimension = dimension_of(asked_.by);
  kept[std::string(part_of(dimension).name)] = value_of(dimension, row.key);
  return url(kept);
}

/// The list of the gifts that the row counts, as far as that list has such a filter.
std::string ReportView::list_of_row(const ReportRow& row) const {
  if (row.kind != ReportRow::Kind::value || call_.viewer().test) return {};
  std::int64_t first = asked_.first_day;
  std::int64_t last = asked_.last_day;
  std::map<std::string, std::string> filter;
  const auto limit_to = [&](RollupDimension dimension, const std::string& key, const std::string& name) {
    if (dimension == RollupDimension::account)
      filter["sender"] = name;
    else if (dimension == RollupDimension::item)
      filter["item"] = key.substr(key.starts_with('=') ? 1 : 0);
    else
      filter[std::string(part_of(dimension).name)] = value_of(dimension, key);
  };
  if (asked_.by == ReportBy::month) {
    if (asked_.part && !is_own_) {
      if (asked_.part->dimension == RollupDimension::account) return {};  // the row has no address
      limit_to(asked_.part->dimension, asked_.part->key, {});
    }
    constexpr std::int64_t kInNextMonth = 31;
    const auto begin_of_month = [](const std::string& month) { return utc_day(*day_from(month + "-01")); };
    const std::int64_t begin = begin_of_month(row.key);
    const std::string next = utc_day_text(begin + kInNextMonth).substr(0, row.key.size());
    first = std::max(first, begin);
    last = std::min(last, begin_of_month(next) - 1);
  } else {
    if (asked_.by == ReportBy::account && row.name.empty()) return {};
    limit_to(dimension_of(asked_.by), row.key, row.name);
  }
  filter["since"] = utc_day_text(first);
  filter["until"] = utc_day_text(last);
  return call_.url().base + "/gifts?" + query_of(filter);
}

Data ReportView::row(const std::string& name, const GiftNumbers& numbers) const {
  const std::int64_t sent = numbers[Status::sent];
  const std::int64_t redeemed = numbers[Status::redeemed];
  Data row;
  row.set("name", name);
  row.set("sent", grouped(sent));
  for (const Status status : {Status::delivered, Status::opened, Status::redeemed, Status::donated})
    row.set(std::string(to_word(status)), grouped(numbers[status]));
  set_text(row, "rate", share_text(redeemed, sent));
  row.set("spend", grouped(numbers.spend()));
  if (redeemed > 0)
    row.set("per_redeemed", grouped(Money{(numbers.spend().minor_units + redeemed / 2) / redeemed}));
  if (const auto half = median_redeem_seconds(numbers)) row.set("half", span_text(*half));
  return row;
}

Data ReportView::bars(const sync::Report& report) const {
  const std::size_t count = std::min(kBars, report.rows.size());
  const std::size_t first = asked_.by == ReportBy::month ? report.rows.size() - count : 0;
  std::vector<StackedBar> bars;
  for (std::size_t i = first; i < first + count; ++i)
    bars.push_back({name_of(asked_.by, report.rows[i]), url_of_row(report.rows[i]), report.rows[i].numbers});
  const std::string by = texts().text("report_by_" + std::string(to_word(asked_.by)));
  return stacked_bars_data(texts().text("what_became_table"), by, bars);
}

Data ReportView::redeem_chart(const GiftNumbers& total) const {
  Chart chart;
  chart.head = texts().text("redeemed_within");
  chart.label_each = 1;
  ChartSeries series{.name = texts().text("status_redeemed"), .tint = "redeemed"};
  for (const std::string_view bucket : kBucketTexts) chart.points.emplace_back(bucket);
  chart.points.push_back(texts().text("redeemed_later"));
  for (std::size_t i = 0; i < chart.points.size(); ++i)
    series.values.push_back(total.values[static_cast<std::size_t>(Measure::redeemed_1h) + i]);
  const auto most = std::max_element(series.values.begin(), series.values.end()) - series.values.begin();
  chart.label = texts().text("time_to_redeem_label",
                             {{"within", chart.points[static_cast<std::size_t>(most)]},
                              {"count", grouped(series.values[static_cast<std::size_t>(most)])}});
  chart.series.push_back(std::move(series));
  chart.nothing = texts().text("none_redeemed");
  return chart_data(chart);
}

Data ReportView::data(const sync::Report& report) const {
  const std::string by = texts().text("report_by_" + std::string(to_word(asked_.by)));
  Data data;
  data.set("period", texts().text("report_period", {{"first", day_label(asked_.first_day, today_)},
                                                    {"last", day_label(asked_.last_day, today_)}}));
  set_text(data, "not_whole", not_whole_text(report.progress, asked_.first_day, today_));
  data.set("presets", presets());
  data.set("tabs", tabs());
  data.set("several", !is_own_);
  data.set("since", utc_day_text(asked_.first_day));
  data.set("until", utc_day_text(asked_.last_day));
  data.set("hidden_fields", list_of(without_days(), [](const auto& parameter) {
             Data field;
             field.set("name", parameter.first);
             field.set("value", parameter.second);
             return field;
           }));
  if (asked_.part && !is_own_) {
    auto rest = query_.kept;
    for (const PartName& part : kParts) rest.erase(std::string(part.name));
    Data chip;
    chip.set("label", texts().text(part_of(asked_.part->dimension).text));
    chip.set("value", part_name(report));
    chip.set("without", url(rest));
    data.set("chip", chip);
  }
  auto csv = query_.kept;
  csv["format"] = "csv";
  data.set("csv", url(csv));
  data.set("by", by);
  set_text(data, "currency", currency_of(call_));
  data.set("tests", call_.viewer().test);
  if (report.total[Status::sent] == 0) {
    auto year = without_days();
    year["days"] = std::to_string(kPresets[std::size(kPresets) - 1]);
    const bool is_year = query_.days == kPresets[std::size(kPresets) - 1];
    data.set("empty", empty_data("chart", texts().text("no_gift_in_period"), texts().text("report_empty_why"),
                                 is_year ? "" : texts().text("report_year"), is_year ? "" : url(year)));
    return data;
  }
  data.set("bars_of", bars(report));
  data.set("times", redeem_chart(report.total));
  if (const auto half = median_redeem_seconds(report.total))
    data.set("half_text", texts().text("half_redeemed", {{"span", span_text(*half)}}));
  set_list(data, "rows", list_of(report.rows, [&](const ReportRow& of) {
             Data made = row(name_of(asked_.by, of), of.numbers);
             set_text(made, "url", url_of_row(of));
             set_text(made, "list", list_of_row(of));
             return made;
           }));
  data.set("total", row(texts().text("report_total"), report.total));
  return data;
}

/// The rows of the page, without their total: a sum over the file would count twice.
std::string csv_of(ReportBy by, const sync::Report& report, const std::string& currency) {
  const std::string last_cell = currency.empty() ? "" : "," + currency;
  std::string text = std::string(kByteOrderMark) + std::string(to_word(by)) + ",kind";
  for (const Status status : kAllStatuses) text.append(",").append(to_word(status));
  text += ",cost,spend,redemption_rate,median_redeem_seconds,mean_redeem_seconds";
  text += currency.empty() ? "\r\n" : ",currency\r\n";
  const auto number = [](const std::optional<std::int64_t>& value) {
    return value ? std::to_string(*value) : std::string();
  };
  for (const ReportRow& row : report.rows) {
    const bool is_value = row.kind == ReportRow::Kind::value;
    text += csv_cell(is_value ? name_of(by, row) : "");
    text += is_value ? ",value" : row.kind == ReportRow::Kind::none ? ",none" : ",other";
    for (const Status status : kAllStatuses) text += "," + std::to_string(row.numbers[status]);
    const auto rate = redemption_rate(row.numbers);
    text += "," + to_decimal(row.numbers.cost()) + "," + to_decimal(row.numbers.spend()) + "," +
            (rate ? fmt::format("{:.4f}", *rate) : "") + "," + number(median_redeem_seconds(row.numbers)) +
            "," + number(mean_redeem_seconds(row.numbers)) + last_cell + "\r\n";
  }
  return text;
}

}  // namespace

http::HttpResponse reports_page(const PageCall& call) {
  const auto counted = counted_gifts(call.viewer());
  Data data;
  if (!counted) {
    data.set("empty", empty_data("chart", texts().text("no_gift_in_period"),
                                 texts().text("gifts_of_no_account", {{"email", call.by->user.email}})));
    return page(call, "reports", texts().text("reports"), std::move(data));
  }
  const ReportQuery query = report_query(call, *counted);
  if (!query.not_applied.empty()) {
    if (query.csv) return notice(call.url(), 400, "filter_refused", "filter_refused_text", frame_user(call));
    set_not_applied(data, query.not_applied, call.url().base + "/reports");
    return page(call, "reports", texts().text("reports"), std::move(data));
  }
  const sync::Report report = sync::report(call.store().rollups, query.question);
  if (!query.csv)
    return page(call, "reports", texts().text("reports"), ReportView(call, *counted, query).data(report));
  http::HttpResponse response;
  response.headers = {{"Content-Type", "text/csv; charset=utf-8"},
                      {"Content-Disposition",
                       fmt::format("attachment; filename=\"report-by-{}.csv\"", to_word(query.question.by))}};
  add_page_headers(response);
  response.body = csv_of(query.question.by, report, currency_of(call));
  return response;
}

}  // namespace giftsync::console
