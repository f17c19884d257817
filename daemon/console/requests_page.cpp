// The list of request records.
#include <algorithm>
#include <array>
#include <map>

#include "daemon/console/gift_filter.h"
#include "daemon/console/pages.h"
#include "daemon/console/request_access.h"
#include "platform/text.h"
#include "sync/approver_notices.h"

namespace giftsync::daemon::console {
namespace {

using F = schema::RequestRecordField;
using State = schema::store::RequestRecordState;
using schema::store::ListedRequestRecord;

constexpr std::string_view kFailed = "failed";
constexpr std::string_view kAll = "all";

/// What the CRM has of these records, by Id.
std::map<std::string, schema::RequestRecord> contents_of(const PageCall& call,
                                                         const std::vector<ListedRequestRecord>& listed) {
  std::map<std::string, schema::RequestRecord> contents;
  if (listed.empty() || !decides_requests_here(call)) return contents;
  std::vector<std::string> ids;
  for (const ListedRequestRecord& one : listed) ids.push_back(one.record_id);
  ask_responding_crm([&] {
    schema::crm::RequestRecords& records = *call.console.options.crm.crm->request_records();
    for (auto& one : sync::load_with_defaults(records, records.find(ids)))
      contents.emplace(one.row.id, std::move(one.completed));
  });
  return contents;
}

Data row_data(const PageCall& call, const ListedRequestRecord& one, const schema::RequestRecord* content) {
  Data row;
  const std::string& name = one.number.empty() ? one.record_id : one.number;
  row.set("number", name);
  row.set("url", url_of(call, path_of_request(name)));
  row.set("state", texts().text("request_" + std::string(to_word(one.state))));
  row.set("since", time_data(one.since));
  row.set("requested_by", requester_text(one.requested_by));
  const bool is_masked = hides_recipients(call);
  set_text(row, "error", masked_text(is_masked, one.error));
  if (content) {
    const sync::RequestedItem item = sync::requested_item(call.store().catalogue, *content);
    set_text(row, "item", item.name);
    row.set("cost", item.cost);
    set_text(row, "recipient", masked_text(is_masked, content->text(F::recipient_email)));
  }
  return row;
}

/// A number finds its request in whatever state.
schema::store::RequestRecordFilter filter_of(const std::string& word, const std::string& number) {
  schema::store::RequestRecordFilter filter{
      .has_error = word == kFailed, .is_any_state = word == kAll || !number.empty(), .number = number};
  for (const State state : schema::store::kAllRequestRecordStates)
    if (to_word(state) == word) filter.state = state;
  return filter;
}

Data options_of(const schema::store::RequestRecordFilter& filter) {
  Data options(Data::type::list);
  const auto add = [&](const std::string& word, bool selected) {
    options << option_data(word, texts().text("request_" + word), selected);
  };
  for (const State state : schema::store::kAllRequestRecordStates)
    add(std::string(to_word(state)), !filter.has_error && !filter.is_any_state && filter.state == state);
  add(std::string(kFailed), filter.has_error && !filter.is_any_state);
  add(std::string(kAll), filter.is_any_state);
  return options;
}

bool is_listed_state(const std::string& word) {
  const auto& all = schema::store::kAllRequestRecordStates;
  return word == kFailed || word == kAll ||
         std::any_of(all.begin(), all.end(), [&](State one) { return to_word(one) == word; });
}

}  // namespace

http::HttpResponse requests_page(const PageCall& call) {
  Data data;
  data.set("in_use", uses_request_records(call));
  data.set("has_contents", decides_requests_here(call));
  const std::string word(platform::trimmed(field(call.query, "state")));
  const std::string number(platform::trimmed(field(call.query, "number")));
  auto filter = filter_of(word, number);
  const std::string before = field(call.query, "before");
  const auto list_filtered = [&] {
    return call.store().request_records.list(call.viewer(), owner_of_requests(call), filter, before,
                                             kPageRows + 1);
  };
  const bool is_applied = word.empty() || is_listed_state(word);
  std::vector<ListedRequestRecord> listed;
  if (is_applied)
    listed = list_filtered();
  else
    set_not_applied(
        data, {{"state", word}},
        call.url().base + "/requests" + (number.empty() ? "" : "?" + query_of({{"number", number}})));
  if (listed.empty() && is_applied && schema::complete_request_number(number) != number) {
    filter.number = schema::complete_request_number(number);
    listed = list_filtered();
  }
  const std::vector<ListedRequestRecord> shown(
      listed.begin(), listed.begin() + static_cast<std::ptrdiff_t>(std::min(listed.size(), kPageRows)));
  const auto contents = contents_of(call, shown);
  Data rows(Data::type::list);
  for (const ListedRequestRecord& one : shown) {
    const auto content = contents.find(one.record_id);
    rows << row_data(call, one, content == contents.end() ? nullptr : &content->second);
  }
  data.set("states", options_of(filter));
  data.set("searched_number", number);
  data.set("rows", rows);
  data.set("has_rows", !shown.empty());
  const std::string list = call.url().base + "/requests?";
  if (!before.empty()) data.set("newest", list + query_of({{"state", word}, {"number", number}}));
  if (listed.size() > kPageRows)
    data.set("older",
             list + query_of({{"state", word}, {"number", number}, {"before", shown.back().number}}));
  return page(call, "requests", texts().text("requests"), std::move(data));
}

}  // namespace giftsync::daemon::console
