#include "daemon/cli/gift_export.h"

#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <map>
#include <memory>
#include <span>

#include "daemon/cli/export_rows.h"
#include "daemon/counted.h"
#include "daemon/settings/settings_fault.h"
#include "daemon/settings/text_rules.h"
#include "sync/adoption.h"

namespace giftsync::daemon {
namespace {

constexpr std::size_t kGiftsAtOnce = 1000;

struct ExportWords {
  std::string format = "csv";
  std::string status;
  std::string since;
  std::string until;
  std::string campaign;
  std::string sender;
  bool totals = false;
};

bool is_day(const std::string& text) {
  return text.size() == std::string_view("2026-10-31").size() && schema::from_rfc3339(text + "T00:00:00Z");
}

/// A day counts as its first moment.
std::optional<schema::UtcMillis> moment_in(const std::string& text) {
  return schema::from_rfc3339(is_day(text) ? text + "T00:00:00Z" : text);
}

CLI::Validator a_moment() {
  return {[](const std::string& text) -> std::string {
            if (moment_in(text)) return {};
            return "found " + in_quotes(text) +
                   "; allowed: a day such as 2026-10-31 or a time such as 2026-10-31T08:00:00Z";
          },
          ""};
}

schema::GiftFilter filter_of(const ExportWords& words) {
  schema::GiftFilter filter;
  filter.status = schema::status_from_word(words.status);
  if (!words.since.empty()) filter.since = moment_in(words.since);
  if (!words.until.empty()) {
    filter.until = moment_in(words.until);
    if (is_day(words.until)) filter.until = *filter.until + schema::kDayMillis;
  }
  if (!words.campaign.empty()) filter.campaign = words.campaign;
  if (!words.sender.empty()) filter.sender = words.sender;
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

std::map<schema::TransactionId, schema::Donation> donations_of(schema::Store& store,
                                                               const std::vector<schema::Gift>& gifts) {
  std::vector<schema::TransactionId> ids;
  for (const schema::Gift& gift : gifts) {
    if (gift.transaction.times[schema::Status::donated]) ids.push_back(gift.transaction.id);
  }
  if (ids.empty()) return {};
  return store.donations.donations(ids);
}

/// What giftsync had to take for the time of sending is nothing for the books.
void forget_guessed_sendings(const Console& console, schema::Crm& crm, std::vector<schema::Gift>& gifts) try {
  std::map<schema::TransactionId, schema::Gift*> adopted;
  std::vector<schema::TransactionId> ids;
  for (schema::Gift& gift : gifts) {
    if (gift.transaction.origin != schema::kAdoptedOrigin) continue;
    adopted[gift.transaction.id] = &gift;
    ids.push_back(gift.transaction.id);
  }
  const std::size_t most = crm.rows_a_call();
  for (std::size_t at = 0; at < ids.size(); at += most) {
    const auto some = std::span(ids).subspan(at, std::min(most, ids.size() - at));
    for (const schema::GiftRecord& record : crm.find_gift_records(some)) {
      schema::Gift& gift = *adopted.at(record.transaction());
      if (sync::is_sending_guessed(gift, record)) gift.transaction.times[schema::Status::sent].reset();
    }
  }
} catch (const schema::BrokenWorld& fault) {
  // The books are the store's; they do not wait for somebody's CRM.
  console.note(
      fmt::format("Which gifts from before giftsync tell no Sent At is not known ({}): for these the time "
                  "that giftsync counts from stands in sent_at.",
                  fault.what()));
}

int export_gifts(const Console& console, Installation& place, const ExportWords& words) {
  const schema::GiftFilter filter = filter_of(words);
  ExportLines lines(console.out, words.format == "csv");
  ExportTotals totals;
  if (!words.totals) lines.header(export_columns());
  schema::TransactionId after{0};
  while (console.out) {
    std::vector<schema::Gift> gifts = place.store.gifts.list(filter, after, kGiftsAtOnce);
    if (!words.totals) forget_guessed_sendings(console, *place.crm, gifts);
    const auto donations = donations_of(place.store, gifts);
    for (const schema::Gift& gift : gifts) {
      const auto donation = donations.find(gift.transaction.id);
      if (!words.totals)
        lines.add(
            export_row(gift, donation == donations.end() ? std::nullopt : std::optional(donation->second)));
      totals.add(gift);
    }
    if (gifts.size() < kGiftsAtOnce) break;
    after = gifts.back().transaction.id;
  }
  if (words.totals) {
    lines.header({"status", "gifts", "item_cost", "shipping_cost", "carbon_neutral_cost", "transaction_fee",
                  "total_price"});
    for (const Json& row : totals.rows()) lines.add(row);
  }
  console.out.flush();
  if (words.totals || !console.out) return EX_OK;
  totals.tell(console.err);
  console.note(counted(totals.count(), "gift") + " exported.");
  return EX_OK;
}

}  // namespace

void add_gift_export_verb(Commands& commands, CLI::App& noun) {
  const auto words = std::make_shared<ExportWords>();
  CLI::App* verb = commands.verb(
      noun, "export",
      "Gifts as they stand, one a line, with their costs, and the totals of each status on stderr. A cell "
      "that a spreadsheet would take for a formula gets an apostrophe in front of it. Amounts are what gifts "
      "cost; giftsync moves no money.",
      {"gift export --status donated --since 2026-10-01 --until 2026-10-31 > donated.csv",
       "gift export --format ndjson --campaign spring-2026",
       "gift export --totals --sender ana@example.com"});
  verb->add_option("--format", words->format, "csv (default) or ndjson")
      ->option_text("FORMAT")
      ->check(one_of({"csv", "ndjson"}));
  std::vector<std::string> statuses;
  for (const schema::Status status : schema::kAllStatuses) statuses.emplace_back(to_word(status));
  verb->add_option("--status", words->status, "Only gifts with this status")
      ->option_text("STATUS")
      ->check(one_of(statuses));
  verb->add_option("--since", words->since,
                   "Only gifts that were sent on this day or later, with --status that came to it then; "
                   "days are UTC")
      ->option_text("DAY")
      ->check(a_moment());
  verb->add_option("--until", words->until, "And no later than on this day, or before this time")
      ->option_text("DAY")
      ->check(a_moment());
  verb->add_option("--campaign", words->campaign, "Only gifts of this utm_campaign_id")->option_text("ID");
  verb->add_option("--sender", words->sender, "Only gifts of the sender with this address")
      ->option_text("ADDRESS");
  verb->add_flag("--totals", words->totals, "Count and sums of each status alone");
  commands.run(verb, [words](const Console& console, Installation& place) {
    return export_gifts(console, place, *words);
  });
}

}  // namespace giftsync::daemon
