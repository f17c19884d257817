#include "matching/choice.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "matching/explanation.h"

namespace giftsync::matching {
namespace {

using schema::Candidate;
using schema::Candidates;
using schema::PersonMatchFields;

/// Who may be chosen from one list: converted leads never match.
std::vector<Candidate> eligible(const std::vector<Candidate>& candidates) {
  std::vector<Candidate> kept;
  std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(kept),
               [](const Candidate& candidate) { return !candidate.converted; });
  return kept;
}

std::string described(const Candidate& candidate) {
  return candidate.id + (candidate.name.empty() ? "" : " (" + candidate.name + ")");
}

std::string order_of(const Candidate& candidate, const schema::OrderBy& order) {
  return order.field + " " + (candidate.order_value.empty() ? "empty" : candidate.order_value);
}

/// "Contact 003A (Rose): Email equals rose@edge.com. 2 contacts matched, ordered by ...".
std::string reason_for(const std::string& object, const std::vector<Candidate>& ordered,
                       const std::string& key, const PersonMatchFields& fields) {
  const Candidate& winner = ordered.front();
  std::string reason =
      object + " " + described(winner) + ": " + winner.matched_field + " equals " + key + ".";
  if (ordered.size() == 1) return reason + " Nobody else matched.";
  const Candidate& runner_up = ordered[1];
  reason += " " + std::to_string(ordered.size()) + " matched, ordered by " + order_words(fields.order_by) +
            ", then Id: ";
  if (winner.order_value == runner_up.order_value) {
    return reason + "a tie, both have " + order_of(winner, fields.order_by) +
           ", so by its Id it stands before " + described(runner_up) + ".";
  }
  reason += order_of(winner, fields.order_by) + " stands before " + described(runner_up) + " with " +
            order_of(runner_up, fields.order_by) + ".";
  return reason;
}

/// The ordered list that decides, and the key it was found by; empty when neither does.
struct Deciding {
  std::vector<Candidate> ordered;
  std::string key;
  std::size_t converted = 0;
};

Deciding deciding_list(const Candidates& candidates, const schema::RecipientKeys& recipient) {
  std::vector<Candidate> by_email = eligible(candidates.by_email);
  if (!by_email.empty()) return {std::move(by_email), recipient.email_key, 0};
  std::vector<Candidate> by_phone = eligible(candidates.by_phone);
  const std::size_t converted = candidates.by_email.size() + candidates.by_phone.size() - by_phone.size();
  return {std::move(by_phone), recipient.phone_key, converted};
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string nobody(const schema::RecipientKeys& recipient, const schema::MatchFields& fields,
                   std::size_t converted) {
  const std::string& email = recipient.email_key;
  const std::string& phone = recipient.phone_key;
  if (email.empty() && phone.empty())
    return "Nobody matched: there is neither an e-mail address nor a phone number to compare.";
  const auto compared = [&](const PersonMatchFields& person) {
    std::string names = email.empty() ? "" : joined(person.email_fields);
    const std::string phones = phone.empty() ? "" : joined(person.phone_fields);
    if (!names.empty() && !phones.empty()) names += "; ";
    names += phones;
    return names.empty() ? names : " (" + names + ")";
  };
  std::string reason = "Nobody matched: no contact" + compared(fields.contact) + " and no lead" +
                       compared(fields.lead) + " has " + email +
                       (email.empty() || phone.empty() ? "" : " or ") + phone + ".";
  if (converted > 0) reason += " Converted leads that would have matched: " + std::to_string(converted) + ".";
  return reason;
}

}  // namespace

bool contact_decides(const Candidates& contacts) {
  return !contacts.by_email.empty() || !contacts.by_phone.empty();
}

Choice choose(const schema::RecipientKeys& recipient, const Candidates& contacts, const Candidates& leads,
              const schema::MatchFields& fields) {
  const Deciding contact = deciding_list(contacts, recipient);
  if (!contact.ordered.empty()) {
    const Candidate& winner = contact.ordered.front();
    std::string reason = reason_for("Contact", contact.ordered, contact.key, fields.contact);
    if (winner.account_exists) return {winner.id, winner.account_id, "", reason};
    reason += " Its account " + winner.account_id + " is not in the CRM.";
    return {winner.id, "", "", reason};
  }
  const Deciding lead = deciding_list(leads, recipient);
  if (!lead.ordered.empty()) {
    return {"", "", lead.ordered.front().id,
            "No contact matched. " + reason_for("Lead", lead.ordered, lead.key, fields.lead)};
  }
  return {"", "", "", nobody(recipient, fields, lead.converted)};
}

std::string fingerprint(const schema::MatchFields& fields) {
  std::string text = fields.default_region;
  for (const PersonMatchFields* person : {&fields.contact, &fields.lead}) {
    text += "|" + joined(person->email_fields) + "|" + joined(person->phone_fields) + "|" +
            person->order_by.field + (person->order_by.descending ? "-" : "+");
  }
  text += fields.opportunity.enabled ? "|" + order_words(fields.opportunity.order_by) : "|off";
  std::uint32_t hash = 2166136261u;  // FNV-1a: only has to differ when the settings do
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  std::string hex;
  for (int shift = 28; shift >= 0; shift -= 4) hex += "0123456789abcdef"[(hash >> shift) & 15];
  return hex;
}

}  // namespace giftsync::matching
