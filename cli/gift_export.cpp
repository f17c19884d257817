// cli: `gift export`: gifts as a file for spreadsheets and programs, with totals for accounting. Memory holds
// one batch.
#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <map>
#include <memory>
#include <span>

#include "cli/commands.h"
#include "cli/credentials.h"
#include "cli/day_or_time.h"
#include "cli/gift_export_rows.h"
#include "daemon/config/text_checks.h"
#include "platform/plural.h"
#include "platform/quoted_text.h"
#include "platform/text.h"
#include "sync/adopt_existing.h"

namespace giftsync::cli {
namespace {

constexpr std::size_t kGiftsPerBatch = 1000;

struct ExportOptions {
  std::string format = "csv";
  std::string status;
  std::string since;
  std::string until;
  std::string campaign;
  std::string sender;
  std::string item;
  std::string key;
  bool totals = false;
  bool excel = false;
};

schema::store::GiftFilter filter_of(const ExportOptions& options, platform::UtcMillis now) {
  schema::store::GiftFilter filter;
  filter.status = schema::status_from_word(options.status);
  if (!options.since.empty()) filter.since = parse_day_or_time(options.since, now);
  if (!options.until.empty()) {
    filter.until = parse_day_or_time(options.until, now);
    if (is_day(options.until)) filter.until = *filter.until + platform::kDayMillis;
  }
  if (!options.campaign.empty()) filter.campaign = options.campaign;
  if (!options.sender.empty()) filter.sender = options.sender;
  if (!options.item.empty()) filter.item = options.item;
  return filter;
}

class ExportLines {
 public:
  ExportLines(std::ostream& out, bool csv) : out_(out), csv_(csv) {}
  void header(const std::vector<std::string>& names) {
    if (csv_) out_ << csv_line(names);
  }
  void add(const Json& row) { out_ << (csv_ ? csv_line(row) : json_text(row) + "\n"); }

 private:
  std::ostream& out_;
  const bool csv_;
};

std::map<schema::TransactionId, schema::store::Donation> donations_of(
    schema::store::Store& store, const std::vector<schema::store::Gift>& gifts) {
  std::vector<schema::TransactionId> ids;
  for (const schema::store::Gift& gift : gifts) {
    if (gift.transaction.times[schema::Status::donated]) ids.push_back(gift.transaction.id);
  }
  if (ids.empty()) return {};
  return store.donations.find_all(ids);
}

/// Clears estimated sent times: accounting needs recorded ones.
void clear_estimated_sent_times(const Console& console, schema::crm::Crm& crm,
                                std::vector<schema::store::Gift>& gifts) try {
  std::map<schema::TransactionId, schema::store::Gift*> adopted;
  std::vector<schema::TransactionId> ids;
  for (schema::store::Gift& gift : gifts) {
    if (gift.transaction.gift_source != schema::store::kAdoptedGiftSource) continue;
    adopted[gift.transaction.id] = &gift;
    ids.push_back(gift.transaction.id);
  }
  const std::size_t batch_size = crm.pace().rows_per_read;
  for (std::size_t at = 0; at < ids.size(); at += batch_size) {
    const auto some = std::span(ids).subspan(at, std::min(batch_size, ids.size() - at));
    for (const schema::GiftRecord& record : crm.gift_records().find(some)) {
      schema::store::Gift& gift = *adopted.at(record.transaction());
      if (sync::is_sent_time_estimated(gift, record)) gift.transaction.times[schema::Status::sent].reset();
    }
  }
} catch (const platform::DependencyError& fault) {
  // The export is complete without the CRM.
  console.info(
      fmt::format("CRM unavailable ({}): sent_at of adopted gifts may be an estimate.", fault.what()));
}

int export_gifts(const Console& console, CliContext& ctx, const ExportOptions& options) {
  if (options.excel && options.format != "csv") return console.fail(EX_USAGE, "--excel needs --format csv");
  schema::store::GiftFilter filter = filter_of(options, console.now());
  if (!options.key.empty()) {
    const auto key = credential_prefix_of(ctx, options.key, console.now());
    if (!key) return console.fail(EX_DATAERR, key.error());
    filter.key = *key;
  }
  ExportLines lines(console.out, options.format == "csv");
  ExportTotals totals;
  if (options.excel) console.out << platform::kByteOrderMark;
  if (!options.totals) lines.header(export_columns());
  std::optional after = schema::TransactionId{0};
  while (after && console.out) {
    auto [gifts, next] = ctx.store.gifts.list(filter, *after, kGiftsPerBatch);
    after = next;
    if (!options.totals) clear_estimated_sent_times(console, *ctx.crm, gifts);
    const auto donations = donations_of(ctx.store, gifts);
    for (const schema::store::Gift& gift : gifts) {
      const auto donation = donations.find(gift.transaction.id);
      if (!options.totals)
        lines.add(
            export_row(gift, donation == donations.end() ? std::nullopt : std::optional(donation->second)));
      totals.add(gift);
    }
  }
  if (options.totals) {
    lines.header({"status", "gifts", "item_cost", "shipping_cost", "carbon_neutral_cost", "transaction_fee",
                  "total_price"});
    for (const Json& row : totals.rows()) lines.add(row);
  }
  console.out.flush();
  if (options.totals || !console.out) return EX_OK;
  totals.print(console.err);
  console.info(platform::pluralize(totals.count(), "gift") + " exported.");
  return EX_OK;
}

}  // namespace

void add_gift_export_command(Commands& commands, CLI::App& noun) {
  const auto options = std::make_shared<ExportOptions>();
  CLI::App* verb = commands.verb(
      noun, "export",
      "Export gifts with their current status and costs, one per line, and print the totals of each status "
      "on stderr. A cell that a spreadsheet would read as a formula gets a leading apostrophe. Amounts are "
      "costs; giftsync moves no money.",
      {"gift export --status donated --since 2026-10-01 --until 2026-10-31 > donated.csv",
       "gift export --format ndjson --campaign spring-2026",
       "gift export --totals --sender ana@example.com"});
  verb->add_option("--format", options->format, "csv (default) or ndjson")
      ->option_text("FORMAT")
      ->check(one_of({"csv", "ndjson"}));
  std::vector<std::string> statuses;
  for (const schema::Status status : schema::kAllStatuses) statuses.emplace_back(to_word(status));
  verb->add_option("--status", options->status, "Only gifts with this status")
      ->option_text("STATUS")
      ->check(one_of(statuses));
  verb->add_option(
          "--since", options->since,
          "Only gifts that were sent on this day or later; with --status, that reached it then; days are UTC")
      ->option_text("DAY")
      ->check(day_or_time());
  verb->add_option("--until", options->until, "Only gifts up to and including this day, or before this time")
      ->option_text("DAY")
      ->check(day_or_time());
  verb->add_option("--campaign", options->campaign, "Only gifts of this utm_campaign_id")->option_text("ID");
  verb->add_option("--sender", options->sender, "Only gifts of the sender with this address")
      ->option_text("ADDRESS");
  verb->add_option("--item", options->item, "Only gifts of this item: its number or its exact name")
      ->option_text("ITEM");
  add_key_filter(*verb, options->key);
  verb->add_flag("--excel", options->excel,
                 "Begin with a byte order mark, without which Excel misreads letters beyond ASCII");
  verb->add_flag("--totals", options->totals, "Print only the count and sums of each status");
  commands.run(verb, options, export_gifts);
}

}  // namespace giftsync::cli
