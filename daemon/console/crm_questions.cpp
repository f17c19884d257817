#include "daemon/console/crm_questions.h"

#include <algorithm>
#include <cstdint>

#include "platform/dependency_error.h"
#include "platform/time.h"

namespace giftsync::console {
namespace {

/// A page does not wait for one that is slow any longer. A question to an org is several calls over the
/// internet.
constexpr std::int64_t kLongestQuestionMillis = 3 * kSecondMillis;
constexpr std::int64_t kLongestPaidQuestionMillis = 10 * kSecondMillis;

/// One of the places of pages that ask a CRM that is not in the store.
struct Place {
  explicit Place(const CrmAccess& of) : access(of), is_free(!needs_place() || of.places->try_acquire()) {}
  ~Place() {
    if (is_free && needs_place()) access.places->release();
  }
  bool needs_place() const { return access.is_paid || access.has_own_database; }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  const CrmAccess& access;
  const bool is_free;
};

}  // namespace

bool asks_crm(const PageCall& call) {
  return !call.console.options.crm.is_paid || call.request.method == "POST";
}

std::string ask_crm(const PageCall& call, const std::function<void(crm::Crm&)>& ask) {
  const ThreadCallDeadline deadline(call.console.options.crm.is_paid ? kLongestPaidQuestionMillis
                                                                     : kLongestQuestionMillis);
  return change_crm(call, ask);
}

std::string change_crm(const PageCall& call, const std::function<void(crm::Crm&)>& change) {
  const CrmAccess& access = call.console.options.crm;
  if (!access.crm) return texts().text("crm_absent");
  const Place place(access);
  if (!place.is_free) return texts().text("crm_busy");
  try {
    access.crm->require_spare_calls();
    change(*access.crm);
  } catch (const DependencyError& fault) {
    return texts().text("crm_away", {{"reason", shown_text(call.viewer(), fault.what())}});
  }
  return {};
}

const std::map<std::string, std::string>& parameters_of(const PageCall& call) {
  return call.request.method == "POST" ? call.form : call.query;
}

std::string cost_text(const PageCall& call, int most_calls) {
  return call.console.options.crm.is_paid
             ? texts().text("calls_cost", {{"count", std::to_string(most_calls)}})
             : std::string();
}

void set_ask(const PageCall& call, const std::string& path, int most_calls, Data& data) {
  if (!call.console.options.crm.is_paid) return;
  Data ask = form_data(call, path);
  ask.set("cost", cost_text(call, most_calls));
  data.set("ask", ask);
}

void set_outcome(const PageCall& call, const std::string& away, Data& data) {
  set_text(data, "away", away);
  const CrmAccess& access = call.console.options.crm;
  const auto usage = access.is_paid && access.crm ? access.crm->usage() : std::nullopt;
  if (!usage || !usage->share) return;
  data.set("calls_left", texts().text("calls_left", {{"count", std::to_string(std::max<std::int64_t>(
                                                                   0, *usage->share - usage->own_calls))},
                                                     {"share", std::to_string(*usage->share)}}));
}

matching::RematchRules rematch_rules(const PageCall& call) {
  const sync::SyncRules& rules = call.console.options.crm.rules;
  matching::RematchRules made;
  made.match_fields = rules.match_fields;
  made.skip_unmatched = rules.skip_unmatched;
  made.tasks_enabled = rules.tasks.enabled;
  made.overwrite_corrections = true;
  made.by = call.by->user.email + " in the console";
  return made;
}

}  // namespace giftsync::console
