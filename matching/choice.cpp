#include "matching/choice.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "matching/explanation.h"

namespace giftsync::matching {
namespace {

/// The candidates of one list that may be chosen: converted leads never match.
std::vector<schema::crm::Candidate> eligible(const std::vector<schema::crm::Candidate>& candidates) {
  std::vector<schema::crm::Candidate> kept;
  std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(kept),
               [](const schema::crm::Candidate& candidate) { return !candidate.converted; });
  return kept;
}

std::string describe(const schema::crm::Candidate& candidate) {
  return candidate.id + (candidate.name.empty() ? "" : " (" + candidate.name + ")");
}

std::string describe_order_value(const schema::crm::Candidate& candidate, const schema::crm::OrderBy& order) {
  return order.field + " " + (candidate.order_value.empty() ? "empty" : candidate.order_value);
}

/// "Contact 003A (Rose): Email equals rose@edge.com. 2 contacts matched, ordered by ...".
std::string winner_reason(const std::string& object, const std::vector<schema::crm::Candidate>& ordered,
                          const std::string& key, const schema::crm::PersonMatchFields& fields) {
  const schema::crm::Candidate& winner = ordered.front();
  std::string reason = object + " " + describe(winner) + ": " + winner.matched_field + " equals " + key + ".";
  if (ordered.size() == 1) return reason + " No other matched.";
  const schema::crm::Candidate& second = ordered[1];
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
  std::vector<schema::crm::Candidate> ordered;
  std::string key;
  std::size_t converted = 0;
};

DecidingList deciding_list(const schema::crm::Candidates& candidates,
                           const schema::crm::RecipientMatchKeys& recipient) {
  std::vector<schema::crm::Candidate> by_email = eligible(candidates.by_email);
  if (!by_email.empty()) return {std::move(by_email), recipient.email_key, 0};
  std::vector<schema::crm::Candidate> by_phone = eligible(candidates.by_phone);
  const std::size_t converted = candidates.by_email.size() + candidates.by_phone.size() - by_phone.size();
  return {std::move(by_phone), recipient.phone_key, converted};
}

std::string comma_separated(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string no_match_reason(const schema::crm::RecipientMatchKeys& recipient,
                            const schema::crm::MatchFields& fields, std::size_t converted) {
  const std::string& email = recipient.email_key;
  const std::string& phone = recipient.phone_key;
  const std::string unusable =
      recipient.has_unusable_phone
          ? " The phone number is not compared: it is not valid, or fills its field, as 000-000-0000 does."
          : "";
  if (email.empty() && phone.empty())
    return "No match: there is neither an e-mail address nor a phone number to compare." + unusable;
  const auto compared = [&](const schema::crm::PersonMatchFields& person) {
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

MatchChoice choose(const schema::crm::RecipientMatchKeys& recipient, const schema::crm::Candidates& contacts,
                   const schema::crm::Candidates& leads, const schema::crm::MatchFields& fields) {
  const DecidingList contact = deciding_list(contacts, recipient);
  if (!contact.ordered.empty()) {
    const schema::crm::Candidate& winner = contact.ordered.front();
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

std::string match_settings_fingerprint(const schema::crm::MatchFields& fields) {
  std::string text = fields.default_region;
  for (const schema::crm::PersonMatchFields* person : {&fields.contact, &fields.lead}) {
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

}  // namespace giftsync::matching
