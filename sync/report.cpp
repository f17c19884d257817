#include "sync/report.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "schema/store/store.h"

namespace giftsync::sync {
namespace {

using store::RollupDimension;

constexpr std::string_view kWords[] = {"campaign", "account", "item", "source", "month"};

/// That of the rows. A month has that of the part that it is asked for.
RollupDimension dimension_of(ReportBy by, const std::optional<ReportPart>& part) {
  return by == ReportBy::month && part ? part->dimension : sync::dimension_of(by);
}

std::optional<std::string> key_of(const std::optional<ReportPart>& part) {
  return part ? std::optional(part->key) : std::nullopt;
}

std::vector<ReportRow> rows_by_month(store::Rollups& rollups, const store::RollupQuestion& asked) {
  std::map<std::string, GiftNumbers> months;
  for (const auto& [day, numbers] : rollups.sum_by_day(asked))
    months[utc_day_text(day).substr(0, std::string_view("2026-11").size())] += numbers;
  std::vector<ReportRow> rows;
  for (const auto& [month, numbers] : months) rows.push_back({ReportRow::Kind::value, month, month, numbers});
  return rows;
}

ReportRow::Kind kind_of(RollupDimension dimension, const std::string& key) {
  if (dimension == RollupDimension::campaign && key == store::kOtherCampaigns) return ReportRow::Kind::other;
  // Gifts without a source are giftsync's own.
  return key.empty() && dimension != RollupDimension::source ? ReportRow::Kind::none : ReportRow::Kind::value;
}

std::vector<ReportRow> rows_by_key(store::Rollups& rollups, const store::RollupQuestion& asked) {
  std::vector<ReportRow> rows;
  std::vector<std::string> keys;
  for (auto& [key, numbers] : rollups.sum_by_key(asked)) {
    rows.push_back({kind_of(asked.dimension, key), key, {}, numbers});
    keys.push_back(key);
  }
  const std::map<std::string, std::string> names = rollups.names_of(asked.dimension, keys);
  for (ReportRow& row : rows)
    if (const auto name = names.find(row.key); name != names.end()) row.name = name->second;
  std::sort(rows.begin(), rows.end(), [](const ReportRow& a, const ReportRow& b) {
    const auto place = [](const ReportRow& row) {
      return std::pair(row.kind == ReportRow::Kind::other, -row.numbers[Status::sent]);
    };
    return place(a) != place(b) ? place(a) < place(b) : std::tie(a.name, a.key) < std::tie(b.name, b.key);
  });
  return rows;
}

/// Those beyond the limit become one row, which the campaigns that are not counted apart are a part of.
void fold_rest(std::vector<ReportRow>& rows, std::size_t max_rows) {
  if (rows.size() <= max_rows) return;
  ReportRow rest{ReportRow::Kind::other, {}, {}, {}};
  for (std::size_t i = max_rows; i < rows.size(); ++i) rest.numbers += rows[i].numbers;
  rows.resize(max_rows);
  rows.push_back(std::move(rest));
}

}  // namespace

RollupDimension dimension_of(ReportBy by) {
  switch (by) {
    case ReportBy::campaign:
      return RollupDimension::campaign;
    case ReportBy::account:
      return RollupDimension::account;
    case ReportBy::item:
      return RollupDimension::item;
    case ReportBy::source:
      return RollupDimension::source;
    case ReportBy::month:
      break;
  }
  return RollupDimension::all;
}

std::string_view to_word(ReportBy by) {
  return kWords[static_cast<std::size_t>(by)];
}

std::optional<ReportBy> report_by_from_word(std::string_view word) {
  for (const ReportBy by : kAllReportsBy)
    if (word == to_word(by)) return by;
  return std::nullopt;
}

bool can_report(ReportBy by, const std::optional<ReportPart>& part) {
  return !part || by == ReportBy::month || dimension_of(by, part) == part->dimension;
}

Report report(store::Rollups& rollups, const ReportQuestion& question) {
  const store::RollupQuestion asked{.dimension = dimension_of(question.by, question.part),
                                    .first_day = question.first_day,
                                    .last_day = question.last_day,
                                    .organization = question.organization,
                                    .key = key_of(question.part)};
  Report made;
  made.progress = rollups.progress();
  made.rows = question.by == ReportBy::month ? rows_by_month(rollups, asked) : rows_by_key(rollups, asked);
  for (const ReportRow& row : made.rows) made.total += row.numbers;
  if (question.by != ReportBy::month) fold_rest(made.rows, question.max_rows);
  return made;
}

Overview overview(store::Rollups& rollups, const OverviewQuestion& question) {
  const std::int64_t count = question.last_day - question.first_day + 1;
  const store::RollupQuestion asked{
      .dimension = question.part ? question.part->dimension : RollupDimension::all,
      .first_day = question.first_day - count,
      .last_day = question.last_day,
      .organization = question.organization,
      .key = key_of(question.part)};
  Overview made;
  made.progress = rollups.progress();
  std::map<std::int64_t, GiftNumbers> days = rollups.sum_by_day(asked);
  for (const auto& [day, numbers] : days) (day < question.first_day ? made.before : made.period) += numbers;
  for (std::int64_t day = question.first_day; day <= question.last_day; ++day)
    made.days.push_back({day, days[day]});
  return made;
}

}  // namespace giftsync::sync
