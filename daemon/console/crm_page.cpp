// What the CRM does not get: the queue, and the failures by class with their retry.
#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "daemon/console/access.h"
#include "daemon/console/gift_actions.h"
#include "daemon/console/pages.h"
#include "platform/text.h"
#include "schema/store/crm/crm_change_events.h"

namespace giftsync::console {
namespace {

using store::AuditEvent;
using store::CrmFailureClass;
using Classes = std::vector<CrmFailureClass>;

/// Records of one press of the button.
constexpr std::size_t kRetriedRows = 1'000;

/// The queue of all organizations as numbers, and why the CRM is not called.
void add_queue(Data& data, const PageCall& call) {
  const auto counts = call.store().sync.counts();
  Data stats(Data::type::list);
  const auto add = [&](std::string_view label, std::int64_t value, const std::string& share,
                       const std::string& more, const std::string& list) {
    Data stat;
    stat.set("name", texts().text(label));
    stat.set("value", std::to_string(value));
    set_text(stat, "share", share);
    set_text(stat, "more", more);
    if (!list.empty()) stat.set("url", call.url().base + "/gifts?crm=" + list);
    stats << stat;
  };
  const auto of_limit = [](std::int64_t limit) {
    return texts().text("of_limit", {{"limit", std::to_string(limit)}});
  };
  add("waiting_gifts", counts.waiting, "",
      counts.waiting > 0 && counts.oldest_due
          ? texts().text("oldest_since", {{"time", minute(*counts.oldest_due)}})
          : "",
      "waiting");
  add("failing_gifts", counts.failing, of_limit(counts.waiting), "", "failing");
  add("rejected_gifts", counts.rejected, "",
      counts.next_rejected_at ? texts().text("tried_at", {{"time", minute(*counts.next_rejected_at)}}) : "",
      "rejected");
  const CrmAccess& access = call.console.options.crm;
  set_text(data, "crm_paused", shown_text(call.viewer(), access.pause()));
  const auto usage = access.crm ? access.crm->usage() : std::nullopt;
  if (usage && usage->paused_until)
    data.set("crm_rests",
             texts().text("crm_rests_until", {{"time", minute(*usage->paused_until)},
                                              {"reason", shown_text(call.viewer(), usage->rest_reason)}}));
  if (usage && usage->share) add("calls_own", usage->own_calls, of_limit(*usage->share), "", "");
  if (usage && usage->used && usage->limit) add("calls_org", *usage->used, of_limit(*usage->limit), "", "");
  data.set("label", texts().text("queue"));
  data.set("stats", stats);
  data.set("has_queue", true);
}

/// The last retry of a class, or by command of all.
struct Retry {
  AuditEvent event = {};
  std::int64_t tried = 0;  ///< made due, by all batches of the command
};
/// By the number of their class; empty: of all classes.
using Retries = std::map<std::string, Retry>;

Retries retries_of(const PageCall& call) {
  Retries found;
  for (AuditEvent& audit_event :
       call.store().audit.last_of_each(call.viewer(), store::kFailuresObject, store::kCrmRetryAction)) {
    Retry& retry = found[audit_event.object_id];
    const std::string_view detail = audit_event.detail;  // ends with the number
    retry.tried += parse_number<std::int64_t>(detail.substr(detail.rfind(' ') + 1)).value_or(0);
    if (retry.event.id < audit_event.id) retry.event = std::move(audit_event);
  }
  return found;
}

/// What fails and what was retried, read and counted once for the page.
struct Failures {
  Classes classes = {};
  std::vector<std::string> numbers = {};  ///< of the classes, at their positions
  /// How many gifts of all classes were made due at that time and not tried since.
  std::map<UtcMillis, std::int64_t> due = {};
  Retries retries = {};
  bool is_cut = false;  ///< more gifts may fail than were looked at
};

Failures failures_of(const PageCall& call) {
  Failures found;
  found.classes = newest_first(call.store().console_gifts.failure_classes(call.viewer()));
  for (const CrmFailureClass& failure_class : found.classes) {
    found.numbers.push_back(failure_class_number(failure_class.error));
    for (const store::FailingGift& gift : failure_class.failing)
      if (gift.failed_at <= gift.next_attempt_at) ++found.due[gift.next_attempt_at];
  }
  found.retries = retries_of(call);
  found.is_cut = call.store().console_gifts.has_most_failures();
  return found;
}

/// What became of the records that a retry made due, as far as it is stored: one that is written leaves the
/// queue, and one that fails otherwise has another class (CON-64).
struct RetryOutcome {
  std::int64_t tried = 0;   ///< made due
  std::int64_t failed = 0;  ///< of its classes: since then, again or for the first time
  std::int64_t again = 0;   ///< of these: had failed before
  std::int64_t rest = 0;    ///< of its classes: not tried since then
  std::int64_t due = 0;     ///< made due and not tried since, also where the CRM was away meanwhile

  std::string tried_text() const { return std::to_string(tried); }
  std::string mended_text() const { return std::to_string(std::max<std::int64_t>(tried - again - due, 0)); }
};

/// `classes`: those that it retried and that have gifts still.
RetryOutcome outcome_of(const Retry& retry, const Failures& failures,
                        std::span<const CrmFailureClass> classes) {
  const UtcMillis at = retry.event.occurred_at;
  RetryOutcome found;
  found.tried = retry.tried;
  if (const auto due = failures.due.find(at); due != failures.due.end()) found.due = due->second;
  for (const CrmFailureClass& failure_class : classes) {
    for (const store::FailingGift& gift : failure_class.failing) {
      const bool has_failed = gift.failed_at > at;
      ++(has_failed ? found.failed : found.rest);
      if (has_failed && gift.since <= at) ++found.again;
    }
  }
  return found;
}

/// When the class at `index` was last retried, by whom, and what became of it (CON-50, CON-64).
void add_retry(Data& row, const PageCall& call, const Failures& failures, std::size_t index) {
  const Retry* last = nullptr;
  for (const std::string& number : {failures.numbers[index], std::string()}) {
    const auto found = failures.retries.find(number);
    if (found != failures.retries.end() && (last == nullptr || last->event.id < found->second.event.id))
      last = &found->second;
  }
  if (last == nullptr)
    return row.set("not_retried",
                   texts().text(sees_installation(call.viewer()) ? "not_retried" : "not_retried_by_yours"));
  const RetryOutcome outcome = outcome_of(*last, failures, std::span(&failures.classes[index], 1));
  row.set("retried", time_data(last->event.occurred_at));
  row.set("history", history_url(call, store::kFailuresObject, last->event.object_id));
  row.set("retried_by", texts().text("retried_by", {{"who", last->event.actor},
                                                    {"count", std::to_string(outcome.failed)},
                                                    {"rest", std::to_string(outcome.rest)}}));
  if (last->event.object_id.empty() || outcome.tried == 0 || failures.is_cut) return;
  row.set("mended",
          texts().text("retry_mended", {{"mended", outcome.mended_text()}, {"tried", outcome.tried_text()}}));
}

Data retry_data(const PageCall& call, const AuditEvent& event, const RetryOutcome& outcome) {
  const std::string& number = event.object_id;
  const std::string error = event.detail.substr(0, event.detail.rfind(": "));
  const std::string what = number.empty()
                               ? texts().text("all_classes")
                               : texts().text("class_named", {{"number", number}, {"error", error}});
  Data row;
  row.set("at", time_data(event.occurred_at));
  row.set("history", history_url(call, store::kFailuresObject, number));
  row.set("outcome", texts().text("retry_outcome", {{"what", what},
                                                    {"who", event.actor},
                                                    {"mended", outcome.mended_text()},
                                                    {"tried", outcome.tried_text()},
                                                    {"again", std::to_string(outcome.again)},
                                                    {"rest", std::to_string(outcome.due)}}));
  return row;
}

/// The retries of the last day that no class shows: of classes that have no gifts any more, and of all.
Data other_retries(const PageCall& call, const Failures& failures) {
  Data list(Data::type::list);
  if (failures.is_cut) return list;
  const std::set<std::string> shown(failures.numbers.begin(), failures.numbers.end());
  for (const auto& [number, retry] : failures.retries) {
    const bool is_recent = retry.event.occurred_at >= call.now - kDayMillis;
    if (!is_recent || retry.tried == 0 || shown.contains(number)) continue;
    const std::span<const CrmFailureClass> all(failures.classes);
    list << retry_data(call, retry.event, outcome_of(retry, failures, number.empty() ? all : all.first(0)));
  }
  return list;
}

Data class_data(const PageCall& call, const Failures& failures, std::size_t index) {
  const CrmFailureClass& failure_class = failures.classes[index];
  Data row = failure_data(call, failure_class, failures.numbers[index]);
  add_retry(row, call, failures, index);
  if (!may(call.viewer().roles, Permission::act_on_crm)) return row;
  if (failure_class.rejected == 0) {
    row.set("retries_itself", true);
    return row;
  }
  Data retry;
  retry.set("token", token_of(call, "/crm/retry"));
  retry.set("class", failure_class.error);
  retry.set("button", texts().text("retry_class", {{"count", std::to_string(failure_class.rejected)}}));
  row.set("retry", retry);
  return row;
}

}  // namespace

http::HttpResponse crm_page(const PageCall& call) {
  Data data;
  if (!call.viewer().organization) add_queue(data, call);
  const Failures failures = failures_of(call);
  Data rows(Data::type::list);
  for (std::size_t i = 0; i < failures.classes.size(); ++i) rows << class_data(call, failures, i);
  set_list(data, "rows", rows);
  set_list(data, "retries", other_retries(call, failures));
  data.set("acts", may(call.viewer().roles, Permission::act_on_crm));
  return page(call, "crm", texts().text("crm_title"), std::move(data));
}

http::HttpResponse retry_failures(const PageCall& call) {
  const std::string error = field(call.form, "class");
  const auto gifts =
      call.store().console_gifts.rejected_gifts(acting_viewer(call.viewer()), error, kRetriedRows);
  AuditEvent event =
      event_of(call, store::kCrmRetryAction, store::kFailuresObject, failure_class_number(error));
  event.detail = store::error_code(error);  // what more it says may name a recipient, and auditors read this
  const std::int64_t count = call.store().sync.reset_rejected(gifts, call.now, event);
  call.console.options.wake_workers();
  return redirect_with_notice(call, "/crm", count == 0 ? "nothing_to_retry" : "class_retried", count);
}

}  // namespace giftsync::console
