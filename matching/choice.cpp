#include "matching/choice.h"

#include <algorithm>
#include <cstdint>

#include "crm/number_text.h"

namespace giftsync::matching {
namespace {

/// The candidates of one list that may be chosen: converted leads never match.
std::vector<crm::Candidate> eligible(const std::vector<crm::Candidate>& candidates) {
  std::vector<crm::Candidate> kept;
  std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(kept),
               [](const crm::Candidate& candidate) { return !candidate.converted; });
  return kept;
}

std::string describe(const crm::Candidate& candidate) {
  return candidate.id + (candidate.name.empty() ? "" : " (" + candidate.name + ")");
}

std::string describe_order_value(const crm::Candidate& candidate, const crm::OrderBy& order) {
  return order.field + " " + (candidate.order_value.empty() ? "empty" : candidate.order_value);
}

/// "Contact 003A (Rose): Email equals rose@edge.com. 2 contacts matched, ordered by ...".
std::string winner_reason(const std::string& object, const std::vector<crm::Candidate>& ordered,
                          const std::string& key, const crm::PersonMatchFields& fields) {
  const crm::Candidate& winner = ordered.front();
  std::string reason = object + " " + describe(winner) + ": " + winner.matched_field + " equals " + key + ".";
  if (ordered.size() == 1) return reason + " No other matched.";
  const crm::Candidate& second = ordered[1];
  reason += " " + std::to_string(ordered.size()) + " matched, ordered by " + describe_order(fields.order_by) +
            ", then Id: ";
  if (winner.order_value == second.order_value) {
    return reason + "a tie, both have " + describe_order_value(winner, fields.order_by) +
           ", so its lower Id comes before " + describe(second) + ".";
  }
  reason += describe_order_value(winner, fields.order_by) + " comes before " + describe(second) + " with " +
            describe_order_value(second, fields.order_by) + "." +
            text_order_warning(winner, second, fields.order_by);
  return reason;
}

/// The ordered list that decides, and the key that found it; empty when there is none.
struct DecidingList {
  std::vector<crm::Candidate> ordered;
  std::string key;
  std::size_t converted = 0;
};

DecidingList deciding_list(const crm::Candidates& candidates, const crm::RecipientMatchKeys& recipient) {
  std::vector<crm::Candidate> by_email = eligible(candidates.by_email);
  if (!by_email.empty()) return {std::move(by_email), recipient.email_key, 0};
  std::vector<crm::Candidate> by_phone = eligible(candidates.by_phone);
  const std::size_t converted = candidates.by_email.size() + candidates.by_phone.size() - by_phone.size();
  return {std::move(by_phone), recipient.phone_key, converted};
}

std::string comma_separated(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string no_match_reason(const crm::RecipientMatchKeys& recipient, const crm::MatchFields& fields,
                            std::size_t converted) {
  const std::string& email = recipient.email_key;
  const std::string& phone = recipient.phone_key;
  const std::string unusable =
      recipient.has_unusable_phone
          ? " The phone number is not compared: it is not valid, or fills its field, as 000-000-0000 does."
          : "";
  if (email.empty() && phone.empty())
    return "No match: there is neither an e-mail address nor a phone number to compare." + unusable;
  const auto compared = [&](const crm::PersonMatchFields& person) {
    std::string names = email.empty() ? "" : comma_separated(person.email_fields);
    const std::string phones = phone.empty() ? "" : comma_separated(person.phone_fields);
    if (!names.empty() && !phones.empty()) names += "; ";
    names += phones;
    return names.empty() ? names : " (" + names + ")";
  };
  std::string reason = "No match: no contact" + compared(fields.contact) + " and no lead" +
                       compared(fields.lead) + " has " + email +
                       (email.empty() || phone.empty() ? "" : " or ") + phone + "." + unusable;
  if (converted > 0)
    reason += " Converted leads that would have matched: " + std::to_string(converted) +
              ". To link a gift to the contact that such a lead became: \"giftsyncctl gift link\".";
  return reason;
}

}  // namespace

MatchChoice choose(const crm::RecipientMatchKeys& recipient, const crm::Candidates& contacts,
                   const crm::Candidates& leads, const crm::MatchFields& fields) {
  const DecidingList contact = deciding_list(contacts, recipient);
  if (!contact.ordered.empty()) {
    const crm::Candidate& winner = contact.ordered.front();
    std::string reason = winner_reason("Contact", contact.ordered, contact.key, fields.contact);
    if (winner.account_exists) return {winner.id, winner.account_id, "", reason};
    reason += " Its account " + winner.account_id + " is not in the CRM.";
    return {winner.id, "", "", reason};
  }
  const DecidingList lead = deciding_list(leads, recipient);
  if (!lead.ordered.empty()) {
    return {"", "", lead.ordered.front().id,
            "No contact matched. " + winner_reason("Lead", lead.ordered, lead.key, fields.lead)};
  }
  return {"", "", "", no_match_reason(recipient, fields, lead.converted)};
}

std::string match_settings_fingerprint(const crm::MatchFields& fields) {
  std::string text = fields.default_region;
  for (const crm::PersonMatchFields* person : {&fields.contact, &fields.lead}) {
    text += "|" + comma_separated(person->email_fields) + "|" + comma_separated(person->phone_fields) + "|" +
            person->order_by.field + (person->order_by.descending ? "-" : "+");
  }
  text += fields.opportunity.enabled ? "|" + describe_order(fields.opportunity.order_by) : "|off";
  std::uint32_t hash = 2166136261u;  // FNV-1a: it only has to differ when the settings differ
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  std::string hex;
  for (int shift = 28; shift >= 0; shift -= 4) hex += "0123456789abcdef"[(hash >> shift) & 15];
  return hex;
}

std::string describe_order(const crm::OrderBy& order) {
  return order.field + (order.descending ? " descending" : " ascending");
}

std::string explain_rank(const std::string& later, const std::string& earlier, const crm::OrderBy& order) {
  if (later.empty() && earlier.empty()) return order.field + " is empty in both and its Id is higher";
  if (later.empty()) return "its " + order.field + " is empty, which comes last";
  // Text order ignores case, so different values may be equal in order.
  if (later == earlier) return "its " + order.field + " is the same and its Id is higher";
  return "its " + order.field + " " + later + " ranks below " + earlier + " (" + describe_order(order) + ")";
}

std::string text_order_warning(const std::string& winner, const std::string& second,
                               const crm::OrderBy& order) {
  using crm::normalize_number;
  if (winner == second || !normalize_number(winner) || !normalize_number(second)) return {};
  return " " + order.field +
         " is a text field, so these numbers are ordered as text, 10 before 9; giftsyncctl crm check tells "
         "how "
         "to change that.";
}

std::vector<std::string> explain_outcomes(const std::vector<crm::Candidate>& candidates,
                                          const crm::OrderBy& order, const std::string& decided_before) {
  std::vector<std::string> outcomes;
  const crm::Candidate* chosen = nullptr;
  for (const crm::Candidate& candidate : candidates) {
    if (candidate.converted) {
      outcomes.emplace_back("converted leads never match");
    } else if (!decided_before.empty()) {
      outcomes.push_back(decided_before);
    } else if (!chosen) {
      chosen = &candidate;
      outcomes.emplace_back("chosen");
    } else {
      outcomes.push_back(explain_rank(candidate.order_value, chosen->order_value, order));
    }
  }
  return outcomes;
}

std::vector<std::string> explain_outcomes(const std::vector<crm::Opportunity>& opportunities,
                                          const crm::OrderBy& order) {
  std::vector<std::string> outcomes;
  for (const crm::Opportunity& opportunity : opportunities) {
    outcomes.push_back(outcomes.empty()
                           ? "chosen"
                           : explain_rank(opportunity.order_value, opportunities.front().order_value, order));
  }
  return outcomes;
}

namespace {

std::string describe(const crm::Opportunity& opportunity) {
  return opportunity.id + (opportunity.name.empty() ? "" : " (" + opportunity.name + ")");
}

std::string winner_reason(std::span<const crm::Opportunity> ordered, const crm::OrderBy& order) {
  const crm::Opportunity& winner = ordered.front();
  std::string reason = " Opportunity " + describe(winner) + ", stage " +
                       (winner.stage.empty() ? "empty" : winner.stage) + ": ";
  if (ordered.size() == 1) return reason + "the only open one of the contact's roles.";
  return reason + "the first of " + std::to_string(ordered.size()) + " open ones of the contact's roles by " +
         describe_order(order) + ", then Id; next is " + describe(ordered[1]) + ", because " +
         explain_rank(ordered[1].order_value, winner.order_value, order) + "." +
         text_order_warning(winner, ordered[1], order);
}

}  // namespace

OpportunityChoice choose_opportunity(const std::string& contact_account,
                                     std::span<const crm::Opportunity> opportunities,
                                     const crm::OpportunityMatching& rules) {
  if (!rules.enabled) return {"", contact_account, "", " Opportunity matching is off."};
  if (opportunities.empty())
    return {"", contact_account, "", " The contact's roles have no open opportunity."};
  const crm::Opportunity& winner = opportunities.front();
  OpportunityChoice choice{winner.id, contact_account, winner.stage,
                           winner_reason(opportunities, rules.order_by)};
  if (contact_account.empty() && !winner.account_id.empty()) {
    choice.account_id = winner.account_id;
    choice.reason += " The account is the opportunity's.";
  }
  return choice;
}

}  // namespace giftsync::matching
