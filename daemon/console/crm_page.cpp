// What the CRM does not get: the queue, and the failures by class with their retry.
#include <algorithm>
#include <map>

#include "daemon/console/access.h"
#include "daemon/console/gift_actions.h"
#include "daemon/console/pages.h"
#include "schema/store/crm_retry_event.h"

namespace giftsync::daemon::console {
namespace {

using schema::store::CrmFailureClass;

/// Of one press of the button.
constexpr std::size_t kRetriedRows = 1'000;

/// The queue of all organizations, and whether the CRM is called.
Data queue_data(const PageCall& call) {
  const auto counts = call.store().sync.counts();
  Data lines(Data::type::list);
  add_line(lines, "waiting_gifts", std::to_string(counts.waiting));
  if (counts.waiting > 0) add_time(lines, "oldest_due", counts.oldest_due);
  add_line(lines, "failing_gifts", std::to_string(counts.failing));
  add_line(lines, "rejected_gifts", std::to_string(counts.rejected));
  add_time(lines, "next_attempt", counts.next_rejected_at);
  const CrmAccess& access = call.console.options.crm;
  add_line(lines, "crm_paused", shown_text(call.viewer(), access.pause()));
  const auto usage = access.crm ? access.crm->usage() : std::nullopt;
  if (!usage) return lines;
  if (usage->resting_until)
    add_line(lines, "crm_rests",
             texts().text("crm_rests_until", {{"time", minute(*usage->resting_until)},
                                              {"reason", shown_text(call.viewer(), usage->rest_reason)}}));
  if (usage->share)
    add_line(lines, "calls_own",
             texts().text("count_of", {{"count", std::to_string(usage->own_calls)},
                                       {"limit", std::to_string(*usage->share)}}));
  if (usage->used && usage->limit)
    add_line(lines, "calls_org",
             texts().text("count_of", {{"count", std::to_string(*usage->used)},
                                       {"limit", std::to_string(*usage->limit)}}));
  return lines;
}

/// The last retries, by the number of their class; empty: of all classes, by command.
using Retries = std::map<std::string, schema::store::AuditEvent>;

Retries retries_of(const PageCall& call) {
  Retries found;
  for (schema::store::AuditEvent& one : call.store().audit.last_of_each(
           call.viewer(), schema::store::kFailuresObject, schema::store::kCrmRetryAction)) {
    std::string number = one.object_id;
    found.emplace(std::move(number), std::move(one));
  }
  return found;
}

/// When the class was last retried, by whom, how many failed since and how many did not (CON-50).
void add_retry(Data& row, const Retries& retries, const CrmFailureClass& one) {
  const schema::store::AuditEvent* last = nullptr;
  for (const std::string& number : {failure_class_number(one.error), std::string()}) {
    const auto found = retries.find(number);
    if (found != retries.end() && (last == nullptr || last->id < found->second.id)) last = &found->second;
  }
  if (last == nullptr) return;
  const auto failed = std::count_if(one.failed_at.begin(), one.failed_at.end(),
                                    [&](platform::UtcMillis at) { return at > last->occurred_at; });
  row.set("retried", time_data(last->occurred_at));
  row.set(
      "retried_by",
      texts().text("retried_by",
                   {{"who", last->actor},
                    {"count", std::to_string(failed)},
                    {"rest", std::to_string(static_cast<std::ptrdiff_t>(one.failed_at.size()) - failed)}}));
}

Data class_data(const PageCall& call, const CrmFailureClass& one, const Retries& retries) {
  Data row = failure_data(call, one);
  set_text(row, "history",
           history_url(call, schema::store::kFailuresObject, failure_class_number(one.error)));
  const bool is_dated = one.first_failing_since > platform::UtcMillis();
  if (is_dated) row.set("first", time_data(one.first_failing_since));
  if (is_dated) row.set("last", time_data(one.last_failing_since));
  add_retry(row, retries, one);
  row.set("is_new", is_dated && one.first_failing_since >= call.now - platform::kDayMillis);
  if (!may(call.viewer().roles, Permission::act_on_crm)) return row;
  if (one.rejected == 0) {
    row.set("retries_itself", true);
    return row;
  }
  Data retry;
  retry.set("token", token_of(call, "/crm/retry"));
  retry.set("class", one.error);
  retry.set("button", texts().text("retry_class", {{"count", std::to_string(one.rejected)}}));
  row.set("retry", retry);
  return row;
}

}  // namespace

http::HttpResponse crm_page(const PageCall& call) {
  Data data;
  if (!call.viewer().organization) {
    data.set("queue", queue_data(call));
    data.set("has_queue", true);
  }
  auto classes = call.store().console_gifts.failure_classes(call.viewer());
  std::stable_sort(classes.begin(), classes.end(), [](const auto& one, const auto& other) {
    return one.first_failing_since > other.first_failing_since;
  });
  const Retries retries = retries_of(call);
  set_list(data, "rows",
           list_of(classes, [&](const CrmFailureClass& one) { return class_data(call, one, retries); }));
  data.set("acts", may(call.viewer().roles, Permission::act_on_crm));
  return page(call, "crm", texts().text("crm_title"), std::move(data));
}

http::HttpResponse retry_failures(const PageCall& call) {
  const std::string error = field(call.form, "class");
  const auto gifts =
      call.store().console_gifts.rejected_gifts(acting_viewer(call.viewer()), error, kRetriedRows);
  schema::store::AuditEvent event = event_of(call, schema::store::kCrmRetryAction,
                                             schema::store::kFailuresObject, failure_class_number(error));
  event.detail =
      schema::store::error_code(error);  // what more it says may name a recipient, and auditors read this
  const std::int64_t count = call.store().sync.reset_rejected(gifts, call.now, event);
  call.console.options.wake_workers();
  return redirect_with_notice(call, "/crm", count == 0 ? "nothing_to_retry" : "class_retried", count);
}

}  // namespace giftsync::daemon::console
