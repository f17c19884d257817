// The list of request records.
#include <algorithm>
#include <map>

#include "daemon/console/access.h"
#include "daemon/console/gift_filter.h"
#include "daemon/console/pages.h"
#include "platform/text.h"
#include "schema/ids.h"
#include "sync/request/approver_notices.h"
#include "sync/request/request_record_reconcile.h"

namespace giftsync::console {
namespace {

using F = RequestRecordField;
using State = store::RequestRecordState;
using store::ListedRequestRecord;

constexpr std::string_view kFailed = "failed";
constexpr std::string_view kAll = "all";

/// What the CRM has of these records, by Id.
std::map<std::string, RequestRecord> contents_of(const PageCall& call,
                                                 const std::vector<ListedRequestRecord>& listed) {
  std::map<std::string, RequestRecord> contents;
  if (listed.empty() || !decides_requests_here(call)) return contents;
  std::vector<std::string> ids;
  for (const ListedRequestRecord& record : listed) ids.push_back(record.record_id);
  ask_responding_crm([&] {
    crm::RequestRecords& records = *call.console.options.crm.crm->request_records();
    for (auto& one : sync::load_with_defaults(records, records.find(ids)))
      contents.emplace(one.row.id, std::move(one.completed));
  });
  return contents;
}

Data row_data(const PageCall& call, const ListedRequestRecord& record, const RequestRecord* content) {
  Data row;
  const std::string& name = record.number.empty() ? record.record_id : record.number;
  row.set("number", name);
  row.set("url", url_of(call, path_of_request(name)));
  const bool is_withdrawn = sync::is_withdrawal(record.error);
  row.set("state",
          badge_data(is_withdrawn ? "request_withdrawn" : request_state_key(record.state, record.error)));
  row.set("since", time_data(record.since));
  set_address(row, "requested_by", requester_text(record.requested_by));
  const bool is_masked = hides_recipients(call);
  if (!is_withdrawn) set_text(row, "error", masked_text(is_masked, record.error));
  if (content) {
    const sync::RequestedItem item = sync::requested_item(call.store().catalogue, *content);
    set_text(row, "item", item.name);
    row.set("cost", amount_on_page(call, item.total));
    set_address(row, "recipient", masked_address(is_masked, content->text(F::recipient_email)));
  }
  return row;
}

std::string_view without_hash(std::string_view text) {
  return trimmed(text.substr(text.starts_with('#') ? 1 : 0));
}

bool is_request_number(std::string_view text) {
  const std::string number = complete_request_number(std::string(text));
  return number.starts_with("R-") &&
         parse_number<std::int64_t>(std::string_view(number).substr(2)).has_value();
}

/// The state `word`; without one those that wait, or of a search all. What is searched for: "4", "#4" and
/// "#R-4" one by its number, "gift 17" that of a gift, and an address those of a person.
store::RequestRecordFilter filter_of(const std::string& word, const std::string& find) {
  store::RequestRecordFilter filter{.has_error = word == kFailed,
                                    .is_any_state = word == kAll || (word.empty() && !find.empty())};
  if (ascii_lower(find).starts_with("gift")) filter.gift = gift_number(find);
  if (find.find('@') != std::string::npos)
    filter.person = find;
  else if (!filter.gift)
    filter.number = without_hash(find);
  for (const State state : store::kAllRequestRecordStates)
    if (to_word(state) == word) filter.state = state;
  return filter;
}

/// The states as tabs: {url, text, current}, with what is searched for.
Data tabs_of(const PageCall& call, const store::RequestRecordFilter& filter, const std::string& find) {
  Data tabs(Data::type::list);
  const auto add = [&](const std::string& word, bool is_current) {
    Data tab;
    tab.set("url", call.url().base + "/requests?" + query_of({{"state", word}, {"find", find}}));
    tab.set("text", texts().text("request_" + word));
    tab.set("current", is_current);
    tabs << tab;
  };
  for (const State state : store::kAllRequestRecordStates)
    add(std::string(to_word(state)), !filter.has_error && !filter.is_any_state && filter.state == state);
  add(std::string(kFailed), filter.has_error && !filter.is_any_state);
  add(std::string(kAll), filter.is_any_state);
  return tabs;
}

bool is_listed_state(const std::string& word) {
  const auto& all = store::kAllRequestRecordStates;
  return word == kFailed || word == kAll ||
         std::any_of(all.begin(), all.end(), [&](State state) { return to_word(state) == word; });
}

/// Why a parameter of the address cannot be applied, as the key of a text; empty when it can.
std::string_view why_not(const PageCall& call, const std::string& name, const std::string& value) {
  if (name == "state") return is_listed_state(value) ? "" : "filter_value";
  if (name != "find") return name == "before" || name == "notice" ? "" : "filter_unknown";
  const std::size_t at = value.rfind('@');
  if (at == std::string::npos)
    return value[0] == '#' && !is_request_number(without_hash(value)) ? "filter_find_request" : "";
  if (hides_recipients(call)) return "filter_hidden";
  return at == 0 || at + 1 == value.size() ? "filter_find_request" : "";
}

/// In place of rows: that none waits or fits, the way to more of them, and what a search finds.
void add_nothing_found(Data& data, const PageCall& call, const store::RequestRecordFilter& filter,
                       const std::string& find) {
  const bool is_search = !find.empty();
  const std::string list = call.url().base + "/requests?";
  const bool is_of_waiting = !is_search && !filter.has_error && !filter.is_any_state &&
                             filter.state == State::pending && field(call.query, "before").empty();
  const bool none_waits = is_of_waiting && sees_all_requests(call);
  data.set("none_waits", none_waits);
  data.set("nothing", texts().text(none_waits ? "no_request_waits" : "no_request_here"));
  if (is_of_waiting) data.set("all_requests", list + "state=all");
  if (!is_search) return;
  if (!filter.is_any_state)
    data.set("in_all_states", list + query_of({{"find", find}, {"state", std::string(kAll)}}));
  data.set("found_by", texts().text(hides_recipients(call) ? "requests_found_masked" : "requests_found"));
}

}  // namespace

http::HttpResponse requests_page(const PageCall& call) {
  Data data;
  data.set("in_use", uses_request_records(call));
  data.set("has_contents", decides_requests_here(call));
  std::map<std::string, std::string> kept;
  std::vector<NotApplied> not_applied;
  for (const auto& [name, value] : call.query) {
    const std::string text(trimmed(value));
    const std::string_view why = text.empty() ? "" : why_not(call, name, text);
    if (!why.empty())
      not_applied.push_back({name, text, why});
    else if (name == "state" || name == "find")
      kept[name] = text;
  }
  const std::string list = call.url().base + "/requests?";
  set_not_applied(data, not_applied, kept.empty() ? call.url().base + "/requests" : list + query_of(kept));
  const auto filter = filter_of(kept["state"], kept["find"]);
  const std::string before = field(call.query, "before");
  std::vector<ListedRequestRecord> listed;
  if (not_applied.empty())
    listed = call.store().request_records.list(call.viewer(), owner_of_requests(call), filter, before,
                                               kPageRows + 1);
  if (listed.empty()) add_nothing_found(data, call, filter, kept["find"]);
  const std::vector<ListedRequestRecord> shown(
      listed.begin(), listed.begin() + static_cast<std::ptrdiff_t>(std::min(listed.size(), kPageRows)));
  const auto contents = contents_of(call, shown);
  data.set("tabs", tabs_of(call, filter, kept["find"]));
  data.set("find", kept["find"]);
  data.set("find_what", texts().text(hides_recipients(call) ? "find_request_masked" : "find_request"));
  data.set("has_errors", std::any_of(shown.begin(), shown.end(), [](const ListedRequestRecord& record) {
             return !record.error.empty() && !sync::is_withdrawal(record.error);
           }));
  set_list(data, "rows", list_of(shown, [&](const ListedRequestRecord& request_record) {
             const auto content = contents.find(request_record.record_id);
             return row_data(call, request_record, content == contents.end() ? nullptr : &content->second);
           }));
  if (!before.empty()) data.set("newest", list + query_of(kept));
  kept["before"] = listed.size() > kPageRows ? shown.back().number : "";
  if (!kept["before"].empty()) data.set("older", list + query_of(kept));
  return page(call, "requests", texts().text("requests"), std::move(data));
}

}  // namespace giftsync::console
