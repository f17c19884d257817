// cli: `gift export`: gifts as a file for spreadsheets and programs, with totals for accounting. Memory holds
// one batch.
#include "cli/gift/gift_export.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sysexits.h>

#include <algorithm>
#include <memory>
#include <span>

#include "cli/account/key_commands.h"
#include "cli/commands.h"
#include "cli/day_or_time.h"
#include "cli/gift/gift_detail.h"
#include "platform/text.h"
#include "schema/store/gift/gift_fields.h"
#include "sync/crm/record_comparison.h"

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

store::GiftFilter filter_of(const ExportOptions& options, UtcMillis now) {
  store::GiftFilter filter;
  filter.status = status_from_word(options.status);
  if (!options.since.empty()) filter.since = parse_day_or_time(options.since, now);
  if (!options.until.empty()) {
    filter.until = parse_day_or_time(options.until, now);
    if (is_day(options.until)) filter.until = *filter.until + kDayMillis;
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

std::map<TransactionId, store::Donation> donations_of(store::Store& store,
                                                      const std::vector<store::Gift>& gifts) {
  std::vector<TransactionId> ids;
  for (const store::Gift& gift : gifts) {
    if (gift.transaction.times[Status::donated]) ids.push_back(gift.transaction.id);
  }
  if (ids.empty()) return {};
  return store.donations.find_all(ids);
}

/// Clears estimated sent times: accounting needs recorded ones.
void clear_estimated_sent_times(const Console& console, crm::Crm& crm, std::vector<store::Gift>& gifts) try {
  std::map<TransactionId, store::Gift*> adopted;
  std::vector<TransactionId> ids;
  for (store::Gift& gift : gifts) {
    if (gift.transaction.gift_source != store::kAdoptedGiftSource) continue;
    adopted[gift.transaction.id] = &gift;
    ids.push_back(gift.transaction.id);
  }
  const std::size_t batch_size = crm.pace().rows_per_read;
  for (std::size_t at = 0; at < ids.size(); at += batch_size) {
    const auto some = std::span(ids).subspan(at, std::min(batch_size, ids.size() - at));
    for (const GiftRecord& record : crm.gift_records().find(some)) {
      store::Gift& gift = *adopted.at(record.transaction());
      if (sync::is_sent_time_estimated(gift, record)) gift.transaction.times[Status::sent].reset();
    }
  }
} catch (const DependencyError& fault) {
  // The export is complete without the CRM.
  console.info(
      fmt::format("CRM unavailable ({}): sent_at of adopted gifts may be an estimate.", fault.what()));
}

int export_gifts(const Console& console, CliContext& ctx, const ExportOptions& options) {
  if (options.excel && options.format != "csv") return console.fail(EX_USAGE, "--excel needs --format csv");
  store::GiftFilter filter = filter_of(options, console.now());
  if (!options.key.empty()) {
    const auto key = credential_prefix_of(ctx, options.key, console.now());
    if (!key) return console.fail(EX_DATAERR, key.error());
    if (is_test_key(*key))
      return console.fail(
          EX_DATAERR,
          "--key: test gifts are not exported; \"giftsyncctl gift list --test --json\" shows them");
    filter.key = *key;
  }
  ExportLines lines(console.out, options.format == "csv");
  ExportTotals totals;
  const std::string& currency = ctx.settings.catalogue.currency;
  if (options.excel) console.out << kByteOrderMark;
  if (!options.totals) lines.header(export_columns(currency));
  std::optional after = TransactionId{0};
  while (after && console.out) {
    auto [gifts, next] = ctx.store.gifts.list(filter, *after, kGiftsPerBatch);
    after = next;
    if (!options.totals) clear_estimated_sent_times(console, *ctx.crm, gifts);
    const auto donations = donations_of(ctx.store, gifts);
    for (const store::Gift& gift : gifts) {
      const auto donation = donations.find(gift.transaction.id);
      if (!options.totals)
        lines.add(export_row(gift, currency,
                             donation == donations.end() ? std::nullopt : std::optional(donation->second)));
      totals.add(gift);
    }
  }
  if (options.totals) {
    std::vector<std::string> names{
        "status",          "gifts",      "item_cost", "shipping_cost", "carbon_neutral_cost",
        "transaction_fee", "total_price"};
    if (!currency.empty()) names.emplace_back("currency");
    lines.header(names);
    for (const Json& row : totals.rows(currency)) lines.add(row);
  }
  console.out.flush();
  if (options.totals || !console.out) return EX_OK;
  totals.print(console.err);
  console.info(pluralize(totals.count(), "gift") + " exported.");
  if (totals.count() == 0) tell_of_left_out_tests(console, ctx, filter);
  return EX_OK;
}

}  // namespace

void add_gift_export_command(Commands& commands, Command& noun) {
  const auto options = std::make_shared<ExportOptions>();
  Command* verb = commands.verb(
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
  for (const Status status : kAllStatuses) statuses.emplace_back(to_word(status));
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

namespace {

std::string cell_text(const Json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? csv_cell(value.get<std::string>()) : value.dump();
}

std::string amount_or_unknown(std::optional<Money> amount) {
  return amount ? to_decimal(*amount) : "unknown";
}

void add_costs(Json& row, const store::GiftCosts& costs) {
  row["item_cost"] = json_amount(costs.item);
  row["shipping_cost"] = json_amount(costs.shipping);
  row["carbon_neutral_cost"] = json_amount(costs.carbon_neutral);
  row["transaction_fee"] = json_amount(costs.transaction_fee);
  row["total_price"] = json_amount(costs.total());
}

}  // namespace

Json export_row(const store::Gift& gift, const std::string& currency,
                const std::optional<store::Donation>& donation) {
  const store::GiftRequest& request = gift.request;
  const store::RecipientTransaction& transaction = gift.transaction;
  Json row = {{"recipient_transaction_id", transaction.id.value},
              {"gift_request_id", request.id.value},
              {"status", to_word(transaction.status)}};
  for (const Status status : kAllStatuses)
    row[std::string(to_word(status)) + "_at"] = json_time(transaction.times[status]);
  row["recipient_email"] = text_or_null(transaction.email);
  row["recipient_phone"] = text_or_null(transaction.phone);
  row["first_name"] = text_or_null(transaction.first_name);
  row["last_name"] = text_or_null(transaction.last_name);
  row["sender_email"] = text_or_null(request.sender_email);
  row["sender_name"] = text_or_null(request.sender_name);
  row["gift_id"] = request.gift.value == 0 ? Json(nullptr) : Json(request.gift.value);
  row["item_name"] = text_or_null(request.item_name);
  add_costs(row, request.costs);
  row["utm_campaign_id"] = text_or_null(request.utm_campaign_id.value_or(""));
  row["charity"] = donation ? text_or_null(donation->charity) : Json(nullptr);
  row["mode"] = to_word(request.mode);
  row["origin"] = text_or_null(transaction.gift_source);
  row["external_id"] = text_or_null(transaction.external_id);
  row["credential_prefix"] = text_or_null(request.credential_prefix);
  row["http_request_id"] = text_or_null(request.http_request_id);
  add_listed(row, store::kGiftRequestFields, request, ListedNames::distinct);
  add_listed(row, store::kRecipientTransactionFields, transaction, ListedNames::distinct);
  add_currency(row, currency);
  return row;
}

std::vector<std::string> export_columns(const std::string& currency) {
  std::vector<std::string> names;
  const Json row = export_row({}, currency);  // must outlive items()
  for (const auto& [name, value] : row.items()) names.push_back(name);
  return names;
}

std::string csv_line(const std::vector<std::string>& texts) {
  std::string line;
  for (const std::string& text : texts) line.append(line.empty() ? "" : ",").append(csv_cell(text));
  return line + "\r\n";
}

std::string csv_line(const Json& row) {
  std::string line;
  bool first = true;
  for (const auto& [name, value] : row.items()) {
    line.append(first ? "" : ",").append(cell_text(value));
    first = false;
  }
  return line + "\r\n";
}

void ExportTotals::add(const store::Gift& gift) {
  Sum& sum = sums_[gift.transaction.status];
  const store::GiftCosts& costs = gift.request.costs;
  ++sum.gifts;
  sum.costs = {sum.costs.item + costs.item, sum.costs.shipping + costs.shipping,
               sum.costs.carbon_neutral + costs.carbon_neutral,
               sum.costs.transaction_fee + costs.transaction_fee};
}

std::int64_t ExportTotals::count() const {
  std::int64_t count = 0;
  for (const auto& [status, sum] : sums_) count += sum.gifts;
  return count;
}

std::vector<Json> ExportTotals::rows(const std::string& currency) const {
  std::vector<Json> rows;
  for (const auto& [status, sum] : sums_) {
    Json row = {{"status", to_word(status)}, {"gifts", sum.gifts}};
    add_costs(row, sum.costs);
    add_currency(row, currency);
    rows.push_back(std::move(row));
  }
  return rows;
}

void ExportTotals::print(std::ostream& out) const {
  for (const auto& [status, sum] : sums_)
    fmt::print(out, "{} {}: total {}\n", pluralize(sum.gifts, "gift"), to_word(status),
               amount_or_unknown(sum.costs.total()));
}

}  // namespace giftsync::cli
