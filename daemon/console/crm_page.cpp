// What the CRM does not get: the queue, and the failures by class with their retry.
#include <algorithm>
#include <map>

#include "daemon/console/access.h"
#include "daemon/console/gift_actions.h"
#include "daemon/console/pages.h"
#include "platform/text.h"
#include "schema/store/crm_retry_event.h"

namespace giftsync::daemon::console {
namespace {

using schema::store::AuditEvent;
using schema::store::CrmFailureClass;
using Classes = std::vector<CrmFailureClass>;

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
using Retries = std::map<std::string, AuditEvent>;

Retries retries_of(const PageCall& call) {
  Retries found;
  for (AuditEvent& one : call.store().audit.last_of_each(call.viewer(), schema::store::kFailuresObject,
                                                         schema::store::kCrmRetryAction)) {
    std::string number = one.object_id;
    found.emplace(std::move(number), std::move(one));
  }
  return found;
}

/// What became of the records that a retry made due, as far as it is stored: one that is written leaves the
/// queue, and one that fails otherwise has another class (CON-64).
struct RetryOutcome {
  std::int64_t tried = 0;   ///< made due
  std::int64_t failed = 0;  ///< of the class: since then, again or for the first time
  std::int64_t again = 0;   ///< of these: had failed before
  std::int64_t rest = 0;    ///< of the class: not tried since then
  std::int64_t due = 0;     ///< made due and not tried since, also where the CRM was away meanwhile
  bool is_known = true;     ///< there are no more failing gifts than were read

  std::string tried_text() const { return std::to_string(tried); }
  std::string mended_text() const { return std::to_string(std::max<std::int64_t>(tried - again - due, 0)); }
};

/// `of`: the class to look at; null: that of the retry has no gifts any more, or all were retried.
RetryOutcome outcome_of(const AuditEvent& retry, const CrmFailureClass* of, const Classes& classes) {
  RetryOutcome found;
  const std::string_view detail = retry.detail;  // ends with the number
  found.tried = platform::parse_number<std::int64_t>(detail.substr(detail.rfind(' ') + 1)).value_or(0);
  std::size_t read = 0;
  for (const CrmFailureClass& one : classes) {
    read += one.failing.size();
    const bool is_retried = of != nullptr ? &one == of : retry.object_id.empty();
    for (const schema::store::FailingGift& gift : one.failing) {
      const bool has_failed = gift.failed_at > retry.occurred_at;
      if (is_retried) ++(has_failed ? found.failed : found.rest);
      if (is_retried && has_failed && gift.since <= retry.occurred_at) ++found.again;
      if (!has_failed && gift.next_attempt_at == retry.occurred_at) ++found.due;
    }
  }
  found.is_known = read < schema::store::ConsoleGifts::kMaxFailures;
  return found;
}

/// When the class was last retried, by whom, and what became of it (CON-50, CON-64).
void add_retry(Data& row, const PageCall& call, const Retries& retries, const CrmFailureClass& one,
               const Classes& classes) {
  const AuditEvent* last = nullptr;
  for (const std::string& number : {failure_class_number(one.error), std::string()}) {
    const auto found = retries.find(number);
    if (found != retries.end() && (last == nullptr || last->id < found->second.id)) last = &found->second;
  }
  if (last == nullptr) return;
  const RetryOutcome outcome = outcome_of(*last, &one, classes);
  row.set("retried", time_data(last->occurred_at));
  row.set("history", history_url(call, schema::store::kFailuresObject, last->object_id));
  row.set("retried_by", texts().text("retried_by", {{"who", last->actor},
                                                    {"count", std::to_string(outcome.failed)},
                                                    {"rest", std::to_string(outcome.rest)}}));
  if (last->object_id.empty() || outcome.tried == 0 || !outcome.is_known) return;
  row.set("mended",
          texts().text("retry_mended", {{"mended", outcome.mended_text()}, {"tried", outcome.tried_text()}}));
}

/// The retries of the last day that no class shows: of classes that have no gifts any more, and of all.
Data other_retries(const PageCall& call, const Retries& retries, const Classes& classes) {
  Data list(Data::type::list);
  for (const auto& [number, retry] : retries) {
    const bool is_shown = std::any_of(classes.begin(), classes.end(), [&shown = number](const auto& one) {
      return failure_class_number(one.error) == shown;
    });
    const RetryOutcome outcome = outcome_of(retry, nullptr, classes);
    const bool is_recent = retry.occurred_at >= call.now - platform::kDayMillis;
    if (is_shown || !is_recent || outcome.tried == 0 || !outcome.is_known) continue;
    const std::string error = retry.detail.substr(0, retry.detail.rfind(": "));
    const std::string what = number.empty()
                                 ? texts().text("all_classes")
                                 : texts().text("class_named", {{"number", number}, {"error", error}});
    Data row;
    row.set("at", time_data(retry.occurred_at));
    row.set("history", history_url(call, schema::store::kFailuresObject, number));
    row.set("outcome", texts().text("retry_outcome", {{"what", what},
                                                      {"who", retry.actor},
                                                      {"mended", outcome.mended_text()},
                                                      {"tried", outcome.tried_text()},
                                                      {"again", std::to_string(outcome.again)},
                                                      {"rest", std::to_string(outcome.due)}}));
    list << row;
  }
  return list;
}

Data class_data(const PageCall& call, const CrmFailureClass& one, const Retries& retries,
                const Classes& classes) {
  Data row = failure_data(call, one);
  const bool is_dated = one.first_failing_since > platform::UtcMillis();
  if (is_dated) row.set("first", time_data(one.first_failing_since));
  if (is_dated) row.set("last", time_data(one.last_failing_since));
  add_retry(row, call, retries, one, classes);
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
  Classes classes = call.store().console_gifts.failure_classes(call.viewer());
  std::stable_sort(classes.begin(), classes.end(), [](const auto& one, const auto& other) {
    return one.first_failing_since > other.first_failing_since;
  });
  const Retries retries = retries_of(call);
  set_list(data, "rows", list_of(classes, [&](const CrmFailureClass& one) {
             return class_data(call, one, retries, classes);
           }));
  set_list(data, "retries", other_retries(call, retries, classes));
  data.set("acts", may(call.viewer().roles, Permission::act_on_crm));
  return page(call, "crm", texts().text("crm_title"), std::move(data));
}

http::HttpResponse retry_failures(const PageCall& call) {
  const std::string error = field(call.form, "class");
  const auto gifts =
      call.store().console_gifts.rejected_gifts(acting_viewer(call.viewer()), error, kRetriedRows);
  AuditEvent event = event_of(call, schema::store::kCrmRetryAction, schema::store::kFailuresObject,
                              failure_class_number(error));
  event.detail =
      schema::store::error_code(error);  // what more it says may name a recipient, and auditors read this
  const std::int64_t count = call.store().sync.reset_rejected(gifts, call.now, event);
  call.console.options.wake_workers();
  return redirect_with_notice(call, "/crm", count == 0 ? "nothing_to_retry" : "class_retried", count);
}

}  // namespace giftsync::daemon::console
