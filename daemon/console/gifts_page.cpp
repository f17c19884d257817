// The list of gifts, and the same as CSV.
#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <utility>

#include "daemon/console/access.h"
#include "daemon/console/charts.h"
#include "daemon/console/console_sign_in.h"
#include "daemon/console/gift_actions.h"
#include "daemon/console/gift_filter.h"
#include "daemon/console/pages.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "schema/store/gift/gift_fields.h"

namespace giftsync::console {
namespace {

using store::ConsoleGift;

constexpr std::size_t kCsvPageRows = 500;
constexpr std::int64_t kMaxCsvRows = 1'000'000;

std::string recipient_of(const ConsoleGift& row) {
  const store::RecipientTransaction& transaction = row.gift.transaction;
  return transaction.email.empty() ? transaction.phone : transaction.email;
}

/// The key of the text that describes the record in the CRM.
std::string crm_key(const ConsoleGift& row) {
  using store::CrmSyncStatus;
  if (row.needs_relink) return "crm_needs_relink";
  if (row.crm_state == CrmSyncStatus::skipped) return "crm_skipped";
  if (row.crm_state == CrmSyncStatus::deleted) return "crm_deleted";
  if (row.crm_state == CrmSyncStatus::rejected) return "crm_rejected";
  if (row.failures > 0) return "crm_failing";
  if (row.is_waiting) return "crm_waiting";
  return row.crm_state ? "crm_written" : "crm_none";
}

std::string linked_to(const ConsoleGift& row) {
  if (!row.contact_id.empty()) return texts().text("contact", {{"id", row.contact_id}});
  return row.lead_id.empty() ? texts().text("not_linked") : texts().text("lead", {{"id", row.lead_id}});
}

UtcMillis since_of(const store::RecipientTransaction& transaction) {
  return transaction.times[transaction.status].value_or(*transaction.times[Status::sent]);
}

Data row_data(const PageCall& call, const ConsoleGift& row) {
  const store::RecipientTransaction& transaction = row.gift.transaction;
  const store::GiftRequest& request = row.gift.request;
  Data made;
  made.set("id", std::to_string(transaction.id.value));
  made.set("url", call.url().base + "/gifts/" + std::to_string(transaction.id.value));
  made.set("sent", time_data(*transaction.times[Status::sent]));
  if (const std::string name = recipient_name(transaction); name != masked_text(true, name))
    set_text(made, "name", name);
  set_address(made, "recipient", recipient_of(row));
  set_text(made, "item", request.item_name);
  set_text(made, "campaign", request.utm_campaign_id.value_or(""));
  set_address(made, "sender", request.sender_name.empty() ? request.sender_email : request.sender_name);
  made.set("status", badge_data("status_" + std::string(to_word(transaction.status))));
  made.set("since", time_data(since_of(transaction)));
  made.set("conflict", transaction.has_conflict);
  made.set("linked", linked_to(row));
  made.set("crm", badge_data(crm_key(row)));
  made.set("cost", amount_on_page(call, request.costs.total()));
  return made;
}

std::string csv_header(const std::string& currency) {
  std::string listed;
  store::each_listed({},
                     [&](const auto& field, const auto&) { listed.append(",").append(field.listed_name()); });
  return std::string(kByteOrderMark) +
         "transaction_id,gift_request_id,sent_at,status,status_since,recipient_email,first_name,last_name,"
         "sender_email,item,campaign,total_cost,source,conflict,contact_id,lead_id,crm_state,crm_error" +
         listed + (currency.empty() ? "" : ",currency") + "\r\n";
}

std::string csv_row(const ConsoleGift& row, const std::string& currency) {
  const store::RecipientTransaction& transaction = row.gift.transaction;
  const store::GiftRequest& request = row.gift.request;
  const auto total = request.costs.total();
  const std::array<std::string, 18> cells{std::to_string(transaction.id.value),
                                          std::to_string(request.id.value),
                                          to_rfc3339(*transaction.times[Status::sent]),
                                          std::string(to_word(transaction.status)),
                                          to_rfc3339(since_of(transaction)),
                                          transaction.email,
                                          transaction.first_name,
                                          transaction.last_name,
                                          request.sender_email,
                                          request.item_name,
                                          request.utm_campaign_id.value_or(""),
                                          total ? to_decimal(*total) : "",
                                          transaction.gift_source,
                                          transaction.has_conflict ? "yes" : "no",
                                          row.contact_id,
                                          row.lead_id,
                                          crm_key(row).substr(4),
                                          row.last_error};
  std::string line;
  for (const std::string& cell : cells) line += (line.empty() ? "" : ",") + csv_cell(cell);
  store::each_listed(row.gift,
                     [&](const auto&, const auto& value) { line += "," + csv_cell(field_text(value)); });
  if (!currency.empty()) line += "," + currency;
  return line + "\r\n";
}

/// Reads one page after the other, each in a transaction of its own, while the client takes them and its
/// session lasts (CON-41).
struct CsvReader {
  store::ConsoleGifts& gifts;
  const store::Viewer viewer;
  const store::ConsoleGiftFilter filter;
  const std::function<bool()> may_go_on;
  const std::string currency;
  std::optional<TransactionId> before = {};
  std::int64_t rows = 0;
  bool has_ended = false;
  bool has_header = false;

  std::string next() {
    std::string text = has_header ? "" : csv_header(currency);
    has_header = true;
    while (text.empty() && !has_ended) {
      // The body then ends without its last chunk.
      if (before && !may_go_on()) throw std::runtime_error("who reads this CSV may not read on");
      const auto page = gifts.list(viewer, filter, before, kCsvPageRows);
      for (const ConsoleGift& row : page.gifts) text += csv_row(row, currency);
      rows += static_cast<std::int64_t>(page.gifts.size());
      before = page.next_before;
      has_ended = !before || rows >= kMaxCsvRows;
    }
    return text;
  }
};

/// Whether the session has not ended, and its user sees what the viewer saw.
std::function<bool()> session_check(const PageCall& call) {
  return [&console = call.console, request = call.request, viewer = call.viewer()] {
    const auto by = console.sign_in.find_session(request, console.options.clock());
    return by && by->viewer.roles == viewer.roles && by->viewer.organization == viewer.organization &&
           by->viewer.account == viewer.account;
  };
}

/// The filter as auditors may read it: that an address or a name was asked for, not which (CON-16).
std::string audited_filter(const GiftQuery& query) {
  auto kept = query.kept;
  if (kept.contains("find") && query.filter.ids.empty()) kept["find"] = "...";
  if (const auto error = kept.find("error"); error != kept.end())
    error->second.resize(std::min(error->second.find(':'), error->second.size()));
  return query_of(kept);
}

/// Whose gifts the user sees, for a list without any (CON-61); empty for who sees all. `is_whole`: the list
/// has all that fit.
std::string whose_gifts(const PageCall& call, bool is_whole) {
  if (sees_installation(call.viewer())) return {};
  if (call.viewer().sees_all_senders()) return texts().text("gifts_of_organization");
  const std::string whose = texts().text(call.viewer().account ? "gifts_of_account" : "gifts_of_no_account",
                                         {{"email", call.by->user.email}});
  return call.viewer().account && is_whole ? whose + " " + texts().text("gifts_of_account_none") : whose;
}

/// "R-4", as the search field of every page takes it.
bool is_request_number(const std::string& text) {
  return ascii_lower(text).starts_with("r-") &&
         parse_number<std::int64_t>(std::string_view(text).substr(2)).has_value();
}

/// How many gifts the list has and what they cost, where the counts of reports say so exactly: of a period of
/// at most a year with at most a campaign or a source, for a viewer of all gifts or of the own account
/// (CON-75). Else empty.
std::string counted_text(const PageCall& call, const GiftQuery& query) {
  constexpr std::int64_t kMaxDays = 366;
  auto others = query.kept;
  for (const char* name : {"since", "until", "campaign", "source"}) others.erase(name);
  const auto counted = counted_gifts(call.viewer());
  const store::ConsoleGiftFilter& filter = query.filter;
  if (!others.empty() || query.before || !filter.sent_since || !counted || counted->organization ||
      call.viewer().test)
    return {};
  sync::OverviewQuestion asked{
      .first_day = utc_day(*filter.sent_since),
      .last_day = filter.sent_until ? utc_day(*filter.sent_until) - 1 : utc_day(call.now),
      .part = counted->part};
  const int parts = (asked.part ? 1 : 0) + (filter.campaign.empty() ? 0 : 1) + (filter.source ? 1 : 0);
  const std::int64_t days = asked.last_day - asked.first_day + 1;
  if (parts > 1 || days < 1 || days > kMaxDays) return {};
  store::Rollups& rollups = call.store().rollups;
  if (!filter.campaign.empty()) {
    // Gifts of the campaign may be among those of days with too many campaigns.
    if (!rollups
             .sum_by_day({.dimension = store::RollupDimension::campaign,
                          .first_day = asked.first_day,
                          .last_day = asked.last_day,
                          .key = std::string(store::kOtherCampaigns)})
             .empty())
      return {};
    asked.part = sync::ReportPart{store::RollupDimension::campaign, campaign_key(filter.campaign)};
  } else if (filter.source) {
    asked.part = sync::ReportPart{store::RollupDimension::source, *filter.source};
  }
  const sync::Overview numbers = sync::overview(rollups, asked);
  if (!not_whole_text(numbers.progress, asked.first_day, asked.last_day).empty()) return {};
  return texts().text("gifts_counted", {{"count", grouped(numbers.period[Status::sent])},
                                        {"cost", grouped(numbers.period.cost(), currency_of(call))}});
}

http::HttpResponse gifts_csv(const PageCall& call, const store::ConsoleGiftFilter& filter) {
  const auto reader = std::make_shared<CsvReader>(
      CsvReader{call.store().console_gifts, call.viewer(), filter, session_check(call), currency_of(call)});
  http::HttpResponse response;
  response.headers = {{"Content-Type", "text/csv; charset=utf-8"},
                      {"Content-Disposition", "attachment; filename=\"gifts.csv\""}};
  add_page_headers(response);
  if (call.request.method != "HEAD") response.next_chunk = [reader] { return reader->next(); };
  return response;
}

}  // namespace

http::HttpResponse gifts_page(const PageCall& call) {
  const std::string typed(trimmed(field(call.query, "find")));
  if (call.query.size() == 1 && uses_request_records(call) && is_request_number(typed))
    return redirect(url_of(call, "/requests") + "?" + query_of({{"find", typed}}));
  GiftQuery query = gift_query(call.query, call.viewer().is_masked(), [&](const std::string& text) {
    std::vector<TransactionId> ids;
    for (const auto& one : call.store().external_ids.find(text)) ids.push_back(one.transaction);
    return ids;
  });
  if (query.undelivered_days)
    query.filter.undelivered_since = call.now - *query.undelivered_days * kDayMillis;
  const std::string list = call.url().base + "/gifts";
  if (query.csv && !query.not_applied.empty())
    return notice(call.url(), 400, "filter_refused", "filter_refused_text", frame_user(call));
  if (query.csv) {
    store::AuditEvent event = event_of(call, "gift.export", "gift");
    event.detail = audited_filter(query);
    call.store().audit.add(event);
    return gifts_csv(call, query.filter);
  }
  store::ConsoleGiftPage found;
  if (query.not_applied.empty())
    found = call.store().console_gifts.list(call.viewer(), query.filter, query.before, kPageRows);
  Data data;
  set_not_applied(data, query.not_applied, query.kept.empty() ? list : list + "?" + query_of(query.kept));
  set_list(data, "rows", list_of(found.gifts, [&](const ConsoleGift& gift) { return row_data(call, gift); }));
  data.set("tests_left_out", !call.viewer().test);
  set_text(data, "filter", describe_filter(query));
  if (query.not_applied.empty()) set_text(data, "counted", counted_text(call, query));
  set_text(data, "whose", whose_gifts(call, !found.searched_back_to && !query.before));
  data.set("decides", may(call.viewer().roles, Permission::decide_requests));
  data.set("form", filter_form(query, call.viewer().is_masked()));
  data.set("chips", filter_chips(query, list));
  auto address = query.kept;
  if (query.before) data.set("newest", list + "?" + query_of(address));
  address["format"] = "csv";
  data.set("csv", list + "?" + query_of(address));
  address.erase("format");
  if (may(call.viewer().roles, Permission::cancel_many) && sees_installation(call.viewer()))
    data.set("cancel_many", call.url().base + "/cancel-gifts");
  if (found.next_before) {
    address["before"] = std::to_string(found.next_before->value);
    data.set("older", list + "?" + query_of(address));
  }
  if (found.searched_back_to)
    data.set("searched", texts().text("searched", {{"time", minute(*found.searched_back_to)}}));
  return page(call, "gifts", texts().text("gifts"), std::move(data));
}

}  // namespace giftsync::console
