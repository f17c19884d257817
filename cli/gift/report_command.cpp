#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/day_or_time.h"
#include "cli/gift/gift_export.h"
#include "cli/listing.h"
#include "platform/text.h"
#include "sync/report.h"

namespace giftsync::cli {
namespace {

using sync::ReportBy;
using sync::ReportRow;
using Kind = TextTable::Kind;

constexpr std::int64_t kDaysByDefault = 30;
constexpr std::int64_t kDaysOfMonthsByDefault = 365;

struct ReportOptions {
  std::string by;
  std::string since;
  std::string until;
  std::string campaign;
  bool json = false;
  bool csv = false;
};

/// A day, or how long ago; a time of a day would cut through what is counted.
Check whole_day() {
  return {[](const std::string& text) -> std::string {
            if (parse_day_or_time(text, {}) && text.find(':') == std::string::npos) return {};
            return "found " + in_quotes(text) +
                   "; allowed: a day such as 2026-10-31, today, or how long ago, such as 30d";
          },
          ""};
}

/// `options.by` is a word of a report.
sync::ReportQuestion question_of(const ReportOptions& options, UtcMillis now) {
  sync::ReportQuestion question;
  question.by = *sync::report_by_from_word(options.by);
  const auto day_of = [&](const std::string& text) { return utc_day(*parse_day_or_time(text, now)); };
  const std::int64_t days = question.by == ReportBy::month ? kDaysOfMonthsByDefault : kDaysByDefault;
  question.last_day = options.until.empty() ? utc_day(now) : day_of(options.until);
  question.first_day = options.since.empty() ? question.last_day - days + 1 : day_of(options.since);
  if (!options.campaign.empty())
    question.part = sync::ReportPart{store::RollupDimension::campaign, campaign_key(options.campaign)};
  return question;
}

std::string_view kind_word(ReportRow::Kind kind) {
  switch (kind) {
    case ReportRow::Kind::none:
      return "none";
    case ReportRow::Kind::other:
      return "other";
    case ReportRow::Kind::value:
      break;
  }
  return "value";
}

std::string shown_name(ReportBy by, const ReportRow& row) {
  if (row.kind == ReportRow::Kind::none) return "(none)";
  if (row.kind == ReportRow::Kind::other) return "(others)";
  if (!row.name.empty()) return row.name;
  return by == ReportBy::source ? "(giftsync)" : "#" + row.key;
}

void add_duration(ListedRow& row, const char* key, ListedRow::Title title,
                  std::optional<std::int64_t> seconds) {
  row.add(key, title, seconds ? Json(*seconds) : Json(nullptr),
          seconds ? duration_text(*seconds * kSecondMillis) : std::string());
}

void add_numbers(ListedRow& row, const GiftNumbers& numbers) {
  constexpr std::pair<Status, ListedRow::Title> kTitles[] = {
      {Status::sent, {"SENT", Kind::number}},          {Status::delivered, {"DELIVERED", Kind::number}},
      {Status::undelivered, {"UNDEL.", Kind::number}}, {Status::opened, {"OPENED", Kind::number}},
      {Status::redeemed, {"REDEEMED", Kind::number}},  {Status::donated, {"DONATED", Kind::number}},
      {Status::expired, {"EXPIRED", Kind::number}},    {Status::refunded, {"REFUNDED", Kind::number}}};
  for (const auto& [status, title] : kTitles)
    row.add(std::string(to_word(status)).c_str(), title, numbers[status]);
  row.add("cost", {"COST", Kind::number}, std::optional(numbers.cost()));
  row.add("spend", {"SPEND", Kind::number}, std::optional(numbers.spend()));
  const auto rate = redemption_rate(numbers);
  constexpr double kFourDigits = 10'000;
  row.add("redemption_rate", {"RATE", Kind::number},
          rate ? Json(std::round(*rate * kFourDigits) / kFourDigits) : Json(nullptr),
          rate ? fmt::format("{:.1f} %", *rate * 100) : std::string());
  add_duration(row, "median_redeem_seconds", {"MEDIAN", Kind::number}, median_redeem_seconds(numbers));
  add_duration(row, "mean_redeem_seconds", {"MEAN", Kind::number}, mean_redeem_seconds(numbers));
}

void describe(ListedRow& row, ReportBy by, const ReportRow& of, const std::string& currency) {
  row.add_json("kind", kind_word(of.kind));
  row.add("name", {"NAME", Kind::elastic}, text_or_null(of.name), shown_name(by, of));
  add_numbers(row, of.numbers);
  row.add_currency(currency);
}

void print_csv(const Console& console, ReportBy by, const sync::Report& report, const std::string& currency) {
  bool has_header = false;
  for (const ReportRow& of : report.rows) {
    ListedRow row(true);
    describe(row, by, of, currency);
    if (!std::exchange(has_header, true)) {
      std::vector<std::string> names;
      for (const auto& [name, value] : row.json().items()) names.push_back(name);
      console.out << csv_line(names);
    }
    console.out << csv_line(row.json());
  }
}

void print_rows(const Console& console, const sync::ReportQuestion& question, const ReportOptions& options,
                const sync::Report& report, const std::string& currency) {
  SummarizedListing list(console.out, options.json, "rows");
  for (const ReportRow& of : report.rows)
    list.add([&](ListedRow& row) {
      row.add_json("key", of.key);
      describe(row, question.by, of, currency);
    });
  ListedRow total(options.json);
  if (!options.json && !report.rows.empty())
    list.add([&](ListedRow& row) {
      row.add_cell({"NAME", Kind::elastic}, "total");
      add_numbers(row, report.total);
    });
  add_numbers(total, report.total);
  total.add_currency(currency);
  Json summary = {{"by", options.by},
                  {"since", utc_day_text(question.first_day)},
                  {"until", utc_day_text(question.last_day)},
                  {"total", total.json()},
                  {"is_whole", report.progress.is_whole}};
  list.finish(summary, "");
}

int print_report(const Console& console, store::Store& store, const config::Settings& settings,
                 const ReportOptions& options) {
  const sync::ReportQuestion question = question_of(options, console.now());
  if (question.first_day > question.last_day)
    return console.fail(EX_USAGE, "--since is a later day than --until");
  if (!sync::can_report(question.by, question.part))
    return console.fail(EX_USAGE,
                        "--campaign needs --by campaign or --by month: gifts are counted by one of campaign, "
                        "account, item and source at a time; \"giftsyncctl gift export --campaign\" lists "
                        "the gifts themselves");
  const sync::Report report = sync::report(store.rollups, question);
  if (options.csv)
    print_csv(console, question.by, report, settings.catalogue.currency);
  else
    print_rows(console, question, options, report, settings.catalogue.currency);
  if (!report.progress.is_whole)
    console.info(
        report.progress.from_day
            ? fmt::format("Gifts that were sent before {} are not counted yet; giftsyncd counts them.",
                          utc_day_text(*report.progress.from_day))
            : "Gifts from before the upgrade are not counted yet; giftsyncd counts them.");
  if (options.json || options.csv) return EX_OK;
  console.info(fmt::format("Gifts that were sent from {} to {} (UTC), in each status that they came to.",
                           utc_day_text(question.first_day), utc_day_text(question.last_day)));
  return EX_OK;
}

}  // namespace

void add_report_command(Commands& commands) {
  const auto options = std::make_shared<ReportOptions>();
  Command* verb = commands.verb(
      commands.root(), "report",
      "Report the gifts that were sent in a period: how many came to each status, what they cost, the part "
      "that was redeemed and how long that took. Days are UTC. Test gifts are left out. SPEND is COST "
      "without refunded gifts.",
      {"report --by campaign", "report --by campaign --campaign autumn --since 2026-09-01 --until 2026-11-30",
       "report --by month --campaign autumn", "report --by account --since 90d --csv > senders.csv"});
  std::vector<std::string> words;
  for (const ReportBy by : sync::kAllReportsBy) words.emplace_back(to_word(by));
  verb->add_option("--by", options->by, "A row for each campaign, account (sender), item, source or month")
      ->option_text("WHAT")
      ->check(one_of(words))
      ->required();
  verb->add_option("--since", options->since,
                   "Only gifts that were sent on this day or later; without it 30 days, by month 365")
      ->option_text("DAY")
      ->check(whole_day());
  verb->add_option("--until", options->until, "Only gifts up to and including this day; without it today")
      ->option_text("DAY")
      ->check(whole_day());
  verb->add_option("--campaign", options->campaign,
                   "Only gifts of this utm_campaign_id; with --by campaign or month")
      ->option_text("ID");
  Option* json = verb->add_flag("--json", options->json, "Print a JSON object with the rows and their total");
  verb->add_flag("--csv", options->csv, "Print the rows as CSV, without their total")->excludes(json);
  commands.run_with_store_alone(verb, options, print_report);
}

}  // namespace giftsync::cli
