#include "daemon/console/match_answer.h"

#include <fmt/format.h>

#include "daemon/console/gift_filter.h"
#include "matching/explanation.h"

namespace giftsync::daemon::console {
namespace {

using schema::store::MatchDecision;
using sync::MatchExplanation;

struct ListedCandidates {
  std::string_view title;  ///< the key of its text
  const std::vector<std::string>& fields;
  const schema::crm::OrderBy& order;
  const std::vector<schema::crm::Candidate>& candidates;
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
Data candidate_row(const Candidate& one, const std::string& field, const std::string& verdict,
                   bool is_masked) {
  Data row;
  row.set("id", one.id);
  set_text(row, "name", masked_text(is_masked, one.name));
  row.set("field", field);
  set_text(row, "order", masked_text(is_masked && !is_date(one.order_value), one.order_value));
  row.set("verdict", is_masked && verdict.starts_with("its ") ? texts().text("match_ranks_lower") : verdict);
  row.set("chosen", verdict == "chosen");
  return row;
}

Data list_data(const std::string& title, const schema::crm::OrderBy& order, const Data& rows) {
  Data list;
  list.set("title", title);
  list.set("order_field", order.field);
  set_list(list, "rows", rows);
  return list;
}

Data candidates_data(const ListedCandidates& list, bool is_masked) {
  const auto verdicts = matching::explain_outcomes(list.candidates, list.order, list.decided_before);
  Data rows(Data::type::list);
  for (std::size_t i = 0; i < list.candidates.size(); ++i)
    rows << candidate_row(list.candidates[i], list.candidates[i].matched_field, verdicts[i], is_masked);
  const std::string title =
      texts().text(list.title, {{"fields", fmt::format("{}", fmt::join(list.fields, ", "))},
                                {"order", matching::describe_order(list.order)}});
  return list_data(title, list.order, rows);
}

Data opportunities_data(const MatchExplanation& found, const schema::crm::OrderBy& order, bool is_masked) {
  const auto verdicts = matching::explain_outcomes(found.opportunities, order);
  Data rows(Data::type::list);
  for (std::size_t i = 0; i < found.opportunities.size(); ++i)
    rows << candidate_row(found.opportunities[i], found.opportunities[i].stage, verdicts[i], is_masked);
  const std::string title = texts().text("match_opportunities", {{"contact", found.decision.contact_id},
                                                                 {"order", matching::describe_order(order)}});
  return list_data(title, order, rows);
}

std::string choice_text(const MatchDecision& decision) {
  if (!decision.contact_id.empty()) return texts().text("contact", {{"id", decision.contact_id}});
  return decision.lead_id.empty() ? texts().text("match_none")
                                  : texts().text("lead", {{"id", decision.lead_id}});
}

}  // namespace

void set_explanation(const PageCall& call, const MatchExplanation& found, Data& data) {
  const schema::crm::MatchFields& fields = call.console.options.crm.rules.match_fields;
  const bool is_masked = call.viewer().is_masked();
  const sync::DecidedBefore before = sync::decided_before(found);
  const std::string none;
  Data lists(Data::type::list);
  const auto add = [&](bool is_compared, const ListedCandidates& list) {
    if (is_compared) lists << candidates_data(list, is_masked);
  };
  const bool by_email = !found.keys.email_key.empty();
  const bool by_phone = !found.keys.phone_key.empty();
  const schema::crm::PersonMatchFields& contact = fields.contact;
  const schema::crm::PersonMatchFields& lead = fields.lead;
  add(by_email, {"contacts_by_email", contact.email_fields, contact.order_by, found.contacts.by_email, none});
  add(by_phone, {"contacts_by_phone", contact.phone_fields, contact.order_by, found.contacts.by_phone,
                 before.contact_phone});
  add(by_email,
      {"leads_by_email", lead.email_fields, lead.order_by, found.leads.by_email, before.lead_email});
  add(by_phone,
      {"leads_by_phone", lead.phone_fields, lead.order_by, found.leads.by_phone, before.lead_phone});
  if (fields.opportunity.enabled && !found.decision.contact_id.empty())
    lists << opportunities_data(found, fields.opportunity.order_by, is_masked);
  Data facts(Data::type::list);
  add_line(facts, "compared_email", masked_address(is_masked, found.keys.email_key));
  add_line(facts, "compared_phone", masked_text(is_masked, found.keys.phone_key));
  add_line(facts, "match_choice", choice_text(found.decision));
  add_line(facts, "account_id", found.decision.account_id);
  add_line(facts, "opportunity_id", found.decision.opportunity_id);
  add_line(facts, "match_why", masked_text(is_masked, found.decision.reason));
  Data explained;
  explained.set("facts", facts);
  explained.set("lists", lists);
  data.set("explained", explained);
}

}  // namespace giftsync::daemon::console
