#include "schema/crm/directory.h"

#include <utility>

namespace giftsync::schema::crm {

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

}  // namespace giftsync::schema::crm
