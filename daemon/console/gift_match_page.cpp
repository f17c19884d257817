// To whom a gift would be matched now, beside its stored decision, as the preview of a rematch (CON-22).
#include "daemon/console/access.h"
#include "daemon/console/crm_questions.h"
#include "daemon/console/gift_actions.h"
#include "daemon/console/match_answer.h"
#include "daemon/console/pages.h"
#include "sync/match_decision.h"

namespace giftsync::daemon::console {
namespace {

using schema::store::MatchDecision;
using sync::MatchExplanation;
using sync::RematchResult;

/// The rules' fingerprint at the end of a reason (MATCH-4).
std::string rules_in(const std::string& reason) {
  constexpr std::string_view kBegin = "[rules ";
  const std::size_t at = reason.rfind(kBegin);
  return at == std::string::npos ? "" : reason.substr(at + kBegin.size(), 8);
}

/// `today`: null before the CRM was asked.
Data beside_rows(const MatchDecision& stored, const MatchDecision* answer, bool is_masked) {
  const MatchDecision today = answer ? *answer : MatchDecision();
  Data rows(Data::type::list);
  const auto add = [&](std::string_view key, const std::string& before, const std::string& now) {
    if (before.empty() && now.empty()) return;
    Data row;
    row.set("label", texts().text(key));
    set_text(row, "stored", before);
    set_text(row, "today", now);
    row.set("differs", answer && before != now && key != "match_reason");
    rows << row;
  };
  add("contact_id", stored.contact_id, today.contact_id);
  add("lead_id", stored.lead_id, today.lead_id);
  add("account_id", stored.account_id, today.account_id);
  add("opportunity_id", stored.opportunity_id, today.opportunity_id);
  add("deal_stage", stored.deal_stage, today.deal_stage);
  add("match_rules", rules_in(stored.reason), rules_in(today.reason));
  add("match_reason", masked_text(is_masked, with_readable_times(stored.reason)),
      masked_text(is_masked, with_readable_times(today.reason)));
  return rows;
}

/// What the rematch would do, with its button where there is something to do.
void set_preview(const PageCall& call, const schema::store::Gift& gift, const RematchResult& result,
                 Data& data) {
  if (!may(call.viewer().roles, Permission::act_on_crm) || !find_gift_to_change(call)) return;
  using Kind = RematchResult::Kind;
  Data preview = form_data(call, path_of(gift) + "/rematch");
  preview.set("text", texts().text("rematch_" + std::string(to_word(result.kind)),
                                   {{"from", sync::describe(result.from)},
                                    {"to", sync::describe(result.to)},
                                    {"detail", result.detail}}));
  preview.set("disabled", result.kind != Kind::relinked && result.kind != Kind::to_create);
  preview.set("fingerprint", sync::fingerprint(result));
  set_text(preview, "cost", cost_text(call, kMostRematchCalls));
  data.set("preview", preview);
}

/// Today's answer about a gift.
struct GiftAnswer {
  MatchExplanation explanation;
  std::optional<RematchResult> rematch = {};  ///< none for a gift that is not matched yet
};

GiftAnswer ask_about(const PageCall& call, schema::crm::Crm& crm, const schema::store::Gift& gift,
                     const std::vector<schema::store::CrmSyncState>& states) {
  sync::RematchRules rules = rematch_rules(call);
  rules.dry_run = true;
  GiftAnswer answer{sync::explain_match(crm.directory(), rules.match_fields,
                                        sync::recipient_keys(gift, rules.match_fields))};
  if (!states.empty()) answer.rematch = sync::rematch(call.store(), crm, rules, states, call.now).front();
  return answer;
}

/// As a decision: associations that a request record names come before those of the rules.
MatchDecision todays_decision(const GiftAnswer& answer) {
  MatchDecision today = answer.explanation.decision;
  if (!answer.rematch || answer.rematch->reason.empty()) return today;
  sync::set_associations(today, answer.rematch->to);
  today.deal_stage = answer.rematch->stage_to;
  today.reason = answer.rematch->reason;
  return today;
}

}  // namespace

http::HttpResponse gift_match_page(const PageCall& call) {
  const auto seen = find_gift(call);
  if (!seen) return not_found(call);
  const schema::TransactionId id = seen->gift.transaction.id;
  const auto gifts = call.store().gifts.find(std::span(&id, 1));  // what a masked viewer sees is not compared
  if (gifts.empty()) return not_found(call);
  const auto states = call.store().sync.find_states(std::span(&id, 1));
  const MatchDecision stored = states.empty() ? MatchDecision() : states.front().decision;
  Data data;
  data.set("gift_url", call.url().base + path_of(seen->gift));
  data.set("masked", call.viewer().is_masked());
  if (states.empty()) data.set("unmatched_yet", true);
  set_ask(call, path_of(seen->gift) + "/match", kMostPreviewCalls, data);
  std::optional<GiftAnswer> answer;
  if (asks_crm(call)) {
    const std::string away =
        ask_crm(call, [&](schema::crm::Crm& crm) { answer = ask_about(call, crm, gifts.front(), states); });
    set_outcome(call, away, data);
  }
  const MatchDecision today = answer ? todays_decision(*answer) : MatchDecision();
  Data beside;
  beside.set("rows", beside_rows(stored, answer ? &today : nullptr, call.viewer().is_masked()));
  if (!states.empty()) beside.set("decided", time_data(states.front().decided_at));
  data.set("beside", beside);
  if (answer) {
    set_explanation(call, answer->explanation, data);
    if (answer->rematch) set_preview(call, gifts.front(), *answer->rematch, data);
  }
  return page(call, "match", texts().text("match_of_gift", {{"id", call.parameter}}), std::move(data));
}

http::HttpResponse rematch_gift(const PageCall& call) {
  const auto gift = find_gift_to_change(call);
  if (!gift) return not_found(call);
  const schema::TransactionId id = gift->gift.transaction.id;
  const std::string match = path_of(gift->gift) + "/match";
  const auto states = call.store().sync.find_states(std::span(&id, 1));
  sync::RematchRules rules = rematch_rules(call);
  rules.expected = field(call.form, "fingerprint");
  rules.audit = gift_event(call, "gift.rematch", gift->gift);
  if (states.empty() || rules.expected.empty()) return redirect_with_notice(call, match, "not_done");
  std::optional<RematchResult> result;
  change_crm(call, [&](schema::crm::Crm& crm) {
    result = sync::rematch(call.store(), crm, rules, states, call.now).front();
  });
  if (!result) {
    rules.audit->refused = true;
    rules.audit->detail = "the CRM could not be asked";
    call.store().audit.add(*rules.audit);
    return redirect_with_notice(call, match, "rematch_failed");
  }
  if (result->is_outdated) return redirect_with_notice(call, match, "rematch_changed");
  using Kind = RematchResult::Kind;
  if (result->kind != Kind::relinked && result->kind != Kind::to_create)
    return redirect_with_notice(call, match, "rematch_failed");
  call.console.options.wake_workers();
  return redirect_with_notice(call, path_of(gift->gift), "rematched");
}

}  // namespace giftsync::daemon::console
