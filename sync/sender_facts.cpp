#include "sync/sender_facts.h"

#include "schema/address.h"

namespace giftsync::sync {
namespace {

void find_users(schema::Crm& crm, std::vector<SenderFacts>& all) {
  std::vector<std::string> ids;
  std::vector<std::string> emails;
  for (const SenderFacts& facts : all) {
    if (!facts.name.user_id.empty())
      ids.push_back(facts.name.user_id);
    else
      emails.push_back(schema::email_key(facts.name.email));
  }
  std::vector<std::optional<schema::CrmUser>> by_id;
  std::vector<std::vector<schema::CrmUser>> by_email;
  if (!ids.empty()) by_id = crm.users_by_id(ids);
  if (!emails.empty()) by_email = crm.find_users(emails);
  std::size_t id = 0;
  std::size_t email = 0;
  for (SenderFacts& facts : all) {
    if (!facts.name.user_id.empty()) {
      facts.user = by_id.at(id++);
    } else if (const auto& users = by_email.at(email++); !users.empty()) {
      facts.user = users.front();
    }
  }
}

void find_accounts(schema::AccountBook& accounts, std::vector<SenderFacts>& all) {
  std::vector<std::string> keys;
  for (const SenderFacts& facts : all)
    if (facts.user) keys.push_back(schema::email_key(facts.user->email));
  const auto found = accounts.accounts_by_email_key(keys);
  for (SenderFacts& facts : all) {
    if (!facts.user) continue;
    if (const auto account = found.find(schema::email_key(facts.user->email)); account != found.end())
      facts.account = account->second;
  }
}

void find_permission_sets(schema::Crm& crm, std::vector<SenderFacts>& all) {
  std::vector<std::string> users;
  for (const SenderFacts& facts : all)
    if (facts.user) users.push_back(facts.user->id);
  if (users.empty()) return;
  auto found = crm.permission_sets(users);
  if (!found) return;
  std::size_t next = 0;
  for (SenderFacts& facts : all)
    if (facts.user) facts.permission_sets = std::move(found->at(next++));
}

}  // namespace

std::vector<SenderFacts> sender_facts(schema::AccountBook& accounts, schema::Crm& crm,
                                      const TokenStanding& token, std::span<const SenderName> names) {
  std::vector<SenderFacts> all;
  for (const SenderName& name : names) {
    SenderFacts& facts = all.emplace_back();
    facts.token = token;
    facts.name = name;
  }
  if (token.state != TokenStanding::State::active) return all;
  find_users(crm, all);
  find_accounts(accounts, all);
  find_permission_sets(crm, all);
  return all;
}

}  // namespace giftsync::sync
