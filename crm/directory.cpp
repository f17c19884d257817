#include "crm/directory.h"

#include <utility>

#include "schema/contact_normalization.h"

namespace giftsync::crm {

RecipientMatchKeys match_keys_of(const std::string& email, const std::string& phone,
                                 const std::string& region) {
  RecipientMatchKeys keys{email_key(email), phone_key(phone, region)};
  keys.has_unusable_phone = !phone.empty() && keys.phone_key.empty();
  return keys;
}

DecisionFacts Directory::look_up(const DecisionQuestions& questions) {
  const std::vector<RecipientMatchKeys>& recipients = questions.recipients;
  DecisionFacts facts;
  if (!recipients.empty()) facts.contacts = find_candidates(PersonObject::contact, recipients);
  std::vector<RecipientMatchKeys> without_contact;
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < recipients.size(); ++i) {
    if (!facts.contacts[i].empty()) continue;
    without_contact.push_back(recipients[i]);
    positions.push_back(i);
  }
  facts.leads.resize(recipients.size());
  if (!without_contact.empty()) {
    std::vector<Candidates> leads = find_candidates(PersonObject::lead, without_contact);
    for (std::size_t i = 0; i < leads.size(); ++i) facts.leads[positions[i]] = std::move(leads[i]);
  }
  if (!questions.sender_keys.empty()) facts.senders = find_users_by_email(questions.sender_keys);
  return facts;
}

std::optional<std::vector<std::vector<PermissionSetAssignment>>> Directory::permission_sets_by_email(
    std::span<const std::string> email_keys) {
  std::vector<std::string> ids;
  std::vector<std::size_t> positions;  // of the keys, for each id
  const std::vector<std::vector<CrmUser>> users = find_users_by_email(email_keys);
  for (std::size_t i = 0; i < users.size(); ++i) {
    for (const CrmUser& user : users[i]) {
      if (!user.active) continue;
      ids.push_back(user.id);
      positions.push_back(i);
    }
  }
  std::vector<std::vector<PermissionSetAssignment>> results(email_keys.size());
  if (ids.empty()) return results;
  const auto sets = permission_sets(ids);
  if (!sets) return std::nullopt;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::vector<PermissionSetAssignment>& all = results[positions[i]];
    all.insert(all.end(), sets->at(i).begin(), sets->at(i).end());
  }
  return results;
}

}  // namespace giftsync::crm
