#include "sync/batch_decisions.h"

#include <map>
#include <set>
#include <utility>

#include "schema/contact_normalization.h"
#include "sync/explicit_associations.h"
#include "sync/match_decision.h"

namespace giftsync::sync {
namespace {

using schema::store::CrmSyncState;
using schema::store::Gift;
using schema::store::MatchDecision;

/// What is asked of the CRM at once. Senders whom a request record names are not asked for.
schema::crm::DecisionQuestions questions_about(const std::vector<const Gift*>& gifts,
                                               const RequestLinks& request_links,
                                               const schema::crm::MatchFields& fields) {
  schema::crm::DecisionQuestions questions;
  std::set<std::string> sender_keys;
  for (const Gift* gift : gifts) {
    questions.recipients.push_back(recipient_keys(*gift, fields));
    const auto link = request_links.find(gift->request.id);
    const bool is_named = link != request_links.end() && !link->second.sender_id.empty();
    if (!is_named && !gift->request.sender_email.empty())
      sender_keys.insert(schema::email_key(gift->request.sender_email));
  }
  questions.sender_keys.assign(sender_keys.begin(), sender_keys.end());
  return questions;
}

/// `users`: for each sender key.
void add_senders(const std::vector<const Gift*>& gifts, const std::vector<std::string>& sender_keys,
                 const std::vector<std::vector<schema::crm::CrmUser>>& users,
                 std::vector<MatchDecision>& decisions, std::vector<std::string>& warnings) {
  std::map<std::string, std::string> sender_ids;
  for (std::size_t i = 0; i < sender_keys.size(); ++i) {
    if (users[i].empty())
      warnings.push_back("no CRM user has the address " + sender_keys[i] + ": Sender stays empty");
    sender_ids[sender_keys[i]] = users[i].empty() ? "" : users[i].front().id;
  }
  for (std::size_t i = 0; i < gifts.size(); ++i) {
    const std::string& sender = gifts[i]->request.sender_email;
    // A request record names the sender, or an external gift has none.
    if (!decisions[i].sender_id.empty() || sender.empty()) continue;
    decisions[i].sender_id = sender_ids.at(schema::email_key(sender));
    if (decisions[i].sender_id.empty())
      add_warning(decisions[i], "No CRM user has the sender's address " + sender + ": Sender stays empty.");
  }
}

}  // namespace

std::vector<CrmSyncState> decide_gifts(schema::store::Store& store, schema::crm::Crm& crm,
                                       const SyncRules& rules, const std::vector<const Gift*>& gifts,
                                       platform::UtcMillis now, std::vector<std::string>& warnings) {
  // They named rows of another CRM where this one has no request records.
  const RequestLinks request_links = crm.request_records() ? request_links_of(store, gifts) : RequestLinks();
  const schema::crm::DecisionQuestions questions = questions_about(gifts, request_links, rules.match_fields);
  const schema::crm::DecisionFacts facts = crm.directory().look_up(questions);
  std::vector<MatchDecision> decisions =
      match_recipients(crm.directory(), rules.match_fields, questions.recipients, facts);
  // A gift that was sent for a request record gets the associations that the record names (REQ-28).
  apply_explicit_associations(crm, rules.match_fields, gifts, request_links, decisions);
  add_senders(gifts, questions.sender_keys, facts.senders, decisions, warnings);
  const auto task = rules.tasks.enabled ? schema::store::TaskState::wanted : schema::store::TaskState::none;
  std::vector<CrmSyncState> sync_states;
  for (std::size_t i = 0; i < gifts.size(); ++i) {
    const schema::store::RecipientTransaction& transaction = gifts[i]->transaction;
    stamp_deal_stage(decisions[i], *transaction.times[schema::Status::sent], now);
    const auto state = status_before_write(associations_of(decisions[i]), rules.skip_unmatched);
    sync_states.push_back({transaction.id, state, now, std::move(decisions[i]), 0, "", false, task});
  }
  return sync_states;
}

}  // namespace giftsync::sync
