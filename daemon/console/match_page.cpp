// To whom a gift to any address would be matched now (CON-23).
#include <fmt/format.h>

#include "daemon/console/access.h"
#include "daemon/console/crm_questions.h"
#include "daemon/console/gift_actions.h"
#include "daemon/console/gift_filter.h"
#include "daemon/console/page_call.h"
#include "daemon/console/pages.h"
#include "matching/choice.h"
#include "matching/match_decision.h"
#include "platform/text.h"
#include "schema/contact_normalization.h"

namespace giftsync::console {
namespace {

// An answer of the matching as both pages of matches show it (CON-23). Any thread.

using matching::MatchExplanation;
using store::MatchDecision;

struct ListedCandidates {
  std::string_view object;
  std::string_view title;  ///< the key of its text
  const std::vector<std::string>& fields;
  const crm::OrderBy& order;
  const std::vector<crm::Candidate>& candidates;
  const std::string& decided_before;
};

/// "2026-03-01", alone or before a time of day. Anything else may be a name or a number of a person.
bool is_date(const std::string& text) {
  constexpr std::size_t kDate = 10;
  return day_from(text.substr(0, kDate)) &&
         (text.size() == kDate || text[kDate] == 'T' || text[kDate] == ' ') &&
         text.find_first_not_of("0123456789-:.+ZT ") == std::string::npos;
}

/// A candidate or an opportunity. The order may be that of a name, which verdicts repeat.
template <class Candidate>
Data candidate_row(const PageCall& call, std::string_view object, const Candidate& candidate,
                   const std::string& field, const std::string& verdict) {
  const bool is_masked = call.viewer().is_masked();
  Data row;
  row.set("id", candidate.id);
  set_text(row, "record_url", record_url(call, object, candidate.id));
  set_text(row, "name", masked_text(is_masked, candidate.name));
  row.set("field", field);
  set_text(row, "order", masked_text(is_masked && !is_date(candidate.order_value), candidate.order_value));
  row.set("verdict", is_masked && verdict.starts_with("its ") ? texts().text("match_ranks_lower") : verdict);
  row.set("chosen", verdict == "chosen");
  return row;
}

Data list_data(const std::string& title, const crm::OrderBy& order, const Data& rows) {
  Data list;
  list.set("title", title);
  list.set("order_field", order.field);
  set_list(list, "rows", rows);
  return list;
}

Data candidates_data(const PageCall& call, const ListedCandidates& list) {
  const auto verdicts = matching::explain_outcomes(list.candidates, list.order, list.decided_before);
  Data rows(Data::type::list);
  for (std::size_t i = 0; i < list.candidates.size(); ++i)
    rows << candidate_row(call, list.object, list.candidates[i], list.candidates[i].matched_field,
                          verdicts[i]);
  const std::string title =
      texts().text(list.title, {{"fields", fmt::format("{}", fmt::join(list.fields, ", "))},
                                {"order", matching::describe_order(list.order)}});
  return list_data(title, list.order, rows);
}

Data opportunities_data(const PageCall& call, const MatchExplanation& found, const crm::OrderBy& order) {
  const auto verdicts = matching::explain_outcomes(found.opportunities, order);
  Data rows(Data::type::list);
  for (std::size_t i = 0; i < found.opportunities.size(); ++i)
    rows << candidate_row(call, "opportunity", found.opportunities[i], found.opportunities[i].stage,
                          verdicts[i]);
  const std::string title = texts().text("match_opportunities", {{"contact", found.decision.contact_id},
                                                                 {"order", matching::describe_order(order)}});
  return list_data(title, order, rows);
}

std::string choice_text(const MatchDecision& decision) {
  if (!decision.contact_id.empty()) return texts().text("contact", {{"id", decision.contact_id}});
  return decision.lead_id.empty() ? texts().text("match_none")
                                  : texts().text("lead", {{"id", decision.lead_id}});
}

/// Sets `explained` with what was compared, the candidates in their order, the choice and its reason; for a
/// masked viewer without what may name a recipient.
void set_explanation(const PageCall& call, const MatchExplanation& found, Data& data) {
  const crm::MatchFields& fields = call.console.options.crm.rules.match_fields;
  const bool is_masked = call.viewer().is_masked();
  const matching::DecidedBefore before = matching::decided_before(found);
  const std::string none;
  Data lists(Data::type::list);
  const auto add = [&](bool is_compared, const ListedCandidates& list) {
    if (is_compared) lists << candidates_data(call, list);
  };
  const bool by_email = !found.keys.email_key.empty();
  const bool by_phone = !found.keys.phone_key.empty();
  const crm::PersonMatchFields& contact = fields.contact;
  const crm::PersonMatchFields& lead = fields.lead;
  add(by_email, {"contact", "contacts_by_email", contact.email_fields, contact.order_by,
                 found.contacts.by_email, none});
  add(by_phone, {"contact", "contacts_by_phone", contact.phone_fields, contact.order_by,
                 found.contacts.by_phone, before.contact_phone});
  add(by_email,
      {"lead", "leads_by_email", lead.email_fields, lead.order_by, found.leads.by_email, before.lead_email});
  add(by_phone,
      {"lead", "leads_by_phone", lead.phone_fields, lead.order_by, found.leads.by_phone, before.lead_phone});
  if (fields.opportunity.enabled && !found.decision.contact_id.empty())
    lists << opportunities_data(call, found, fields.opportunity.order_by);
  Data facts(Data::type::list);
  add_line(facts, "compared_email", masked_address(is_masked, found.keys.email_key));
  add_line(facts, "compared_phone", masked_text(is_masked, found.keys.phone_key));
  add_line(facts, "match_choice", choice_text(found.decision));
  add_record_line(call, facts, "account", found.decision.account_id);
  add_record_line(call, facts, "opportunity", found.decision.opportunity_id);
  add_line(facts, "match_why", masked_text(is_masked, found.decision.reason));
  Data explained;
  explained.set("facts", facts);
  explained.set("lists", lists);
  data.set("explained", explained);
}

}  // namespace

http::HttpResponse match_page(const PageCall& call) {
  // The CRM is that of all organizations; and the id that an address leads to finds the gifts to it (CON-16).
  if (call.viewer().organization || call.viewer().is_masked()) return not_found(call);
  const std::string email(trimmed(field(parameters_of(call), "email")));
  const std::string phone(trimmed(field(parameters_of(call), "phone")));
  Data data;
  Data form;
  const bool is_paid = call.console.options.crm.is_paid;
  form.set("method", std::string(is_paid ? "post" : "get"));
  form.set("email", email);
  form.set("phone", phone);
  set_ask(call, "/match", matching::kMaxExplanationLookups, form);
  data.set("form", form);
  const bool is_empty = email.empty() && phone.empty();
  if (is_empty && (parameters_of(call).contains("email") || parameters_of(call).contains("phone")))
    data.set("nothing_given", true);
  if (asks_crm(call) && !is_empty) {
    const crm::MatchFields& fields = call.console.options.crm.rules.match_fields;
    const crm::RecipientMatchKeys keys = crm::match_keys_of(email, phone, fields.default_region);
    const auto fault = email_error(email);
    if (!email.empty() && fault) data.set("email_fault", texts().text("odd_email", {{"reason", *fault}}));
    if (keys.has_unusable_phone)
      data.set("phone_fault", texts().text("odd_phone", {{"region", fields.default_region}}));
    const std::string away = ask_crm(call, [&](crm::Crm& crm) {
      set_explanation(call, matching::explain_match(crm.directory(), fields, keys), data);
    });
    set_outcome(call, away, data);
  }
  return page(call, "match", texts().text("match_title"), std::move(data));
}

// To whom a gift would be matched now, beside its stored decision, as the preview of a rematch (CON-22).

namespace {

using matching::MatchExplanation;
using matching::RematchResult;
using store::MatchDecision;

/// The rules' fingerprint at the end of a reason (MATCH-4).
std::string rules_in(const std::string& reason) {
  constexpr std::string_view kBegin = "[rules ";
  const std::size_t at = reason.rfind(kBegin);
  return at == std::string::npos ? "" : reason.substr(at + kBegin.size(), 8);
}

/// `today`: null before the CRM was asked.
Data beside_rows(const PageCall& call, const MatchDecision& stored, const MatchDecision* answer) {
  const bool is_masked = call.viewer().is_masked();
  const MatchDecision today = answer ? *answer : MatchDecision();
  Data rows(Data::type::list);
  const auto add = [&](std::string_view key, const std::string& before, const std::string& now,
                       std::string_view object = "") {
    if (before.empty() && now.empty()) return;
    Data row;
    row.set("label", texts().text(key));
    set_text(row, "stored", before);
    set_text(row, "today", now);
    if (!object.empty()) {
      set_text(row, "stored_url", record_url(call, object, before));
      set_text(row, "today_url", record_url(call, object, now));
    }
    row.set("differs", answer && before != now && key != "match_reason");
    rows << row;
  };
  add("contact_id", stored.contact_id, today.contact_id, "contact");
  add("lead_id", stored.lead_id, today.lead_id, "lead");
  add("account_id", stored.account_id, today.account_id, "account");
  add("opportunity_id", stored.opportunity_id, today.opportunity_id, "opportunity");
  add("deal_stage", stored.deal_stage, today.deal_stage);
  add("match_rules", rules_in(stored.reason), rules_in(today.reason));
  add("match_reason", masked_text(is_masked, with_readable_times(stored.reason)),
      masked_text(is_masked, with_readable_times(today.reason)));
  return rows;
}

/// What the rematch would do, with its button where there is something to do.
void set_preview(const PageCall& call, const store::Gift& gift, const RematchResult& result, Data& data) {
  if (!may(call.viewer().roles, Permission::act_on_crm) || !find_gift_to_change(call)) return;
  using Kind = RematchResult::Kind;
  Data preview = form_data(call, path_of(gift) + "/rematch");
  preview.set("text", texts().text("rematch_" + std::string(to_word(result.kind)),
                                   {{"from", matching::describe(result.from)},
                                    {"to", matching::describe(result.to)},
                                    {"detail", result.detail}}));
  preview.set("disabled", result.kind != Kind::relinked && result.kind != Kind::to_create);
  preview.set("fingerprint", matching::fingerprint(result));
  set_text(preview, "cost", cost_text(call, kMostRematchCalls));
  data.set("preview", preview);
}

/// Today's answer about a gift.
struct GiftAnswer {
  MatchExplanation explanation;
  std::optional<RematchResult> rematch = {};  ///< none for a gift that is not matched yet
};

GiftAnswer ask_about(const PageCall& call, crm::Crm& crm, const store::Gift& gift,
                     const std::vector<store::CrmSyncState>& states) {
  matching::RematchRules rules = rematch_rules(call);
  rules.dry_run = true;
  GiftAnswer answer{matching::explain_match(crm.directory(), rules.match_fields,
                                            matching::recipient_keys(gift, rules.match_fields))};
  if (!states.empty()) answer.rematch = matching::rematch(call.store(), crm, rules, states, call.now).front();
  return answer;
}

/// As a decision: associations that a request record names come before those of the rules.
MatchDecision todays_decision(const GiftAnswer& answer) {
  MatchDecision today = answer.explanation.decision;
  if (!answer.rematch || answer.rematch->reason.empty()) return today;
  matching::set_associations(today, answer.rematch->to);
  today.deal_stage = answer.rematch->stage_to;
  today.reason = answer.rematch->reason;
  return today;
}

}  // namespace

http::HttpResponse gift_match_page(const PageCall& call) {
  const auto seen = find_gift(call);
  if (!seen) return not_found(call);
  const TransactionId id = seen->gift.transaction.id;
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
        ask_crm(call, [&](crm::Crm& crm) { answer = ask_about(call, crm, gifts.front(), states); });
    set_outcome(call, away, data);
  }
  const MatchDecision today = answer ? todays_decision(*answer) : MatchDecision();
  Data beside;
  beside.set("rows", beside_rows(call, stored, answer ? &today : nullptr));
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
  const TransactionId id = gift->gift.transaction.id;
  const std::string match = path_of(gift->gift) + "/match";
  const auto states = call.store().sync.find_states(std::span(&id, 1));
  matching::RematchRules rules = rematch_rules(call);
  rules.expected = field(call.form, "fingerprint");
  rules.audit = gift_event(call, "gift.rematch", gift->gift);
  if (states.empty() || rules.expected.empty()) return redirect_with_notice(call, match, "not_done");
  std::optional<RematchResult> result;
  change_crm(call, [&](crm::Crm& crm) {
    result = matching::rematch(call.store(), crm, rules, states, call.now).front();
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

}  // namespace giftsync::console
