#include "sync/sender_lookup.h"

#include "schema/contact_normalization.h"

namespace giftsync::sync {
namespace {

void look_up_users(schema::crm::Directory& directory, std::vector<SenderInfo>& senders) {
  std::vector<std::string> ids;
  std::vector<std::string> emails;
  for (const SenderInfo& sender : senders) {
    if (!sender.name.user_id.empty())
      ids.push_back(sender.name.user_id);
    else
      emails.push_back(schema::email_key(sender.name.email));
  }
  std::vector<std::optional<schema::crm::CrmUser>> by_id;
  std::vector<std::vector<schema::crm::CrmUser>> by_email;
  if (!ids.empty()) by_id = directory.find_users_by_id(ids);
  if (!emails.empty()) by_email = directory.find_users_by_email(emails);
  std::size_t id = 0;
  std::size_t email = 0;
  for (SenderInfo& sender : senders) {
    if (!sender.name.user_id.empty()) {
      sender.user = by_id.at(id++);
    } else if (const auto& users = by_email.at(email++); !users.empty()) {
      sender.user = users.front();
    }
  }
}

void find_accounts(schema::store::Accounts& accounts, std::vector<SenderInfo>& senders) {
  std::vector<std::string> keys;
  for (const SenderInfo& sender : senders)
    if (sender.user) keys.push_back(schema::email_key(sender.user->email));
  const auto found = accounts.find_by_email_keys(keys);
  for (SenderInfo& sender : senders) {
    if (!sender.user) continue;
    if (const auto account = found.find(schema::email_key(sender.user->email)); account != found.end())
      sender.account = account->second;
  }
}

void find_permission_sets(schema::crm::Directory& directory, std::vector<SenderInfo>& senders) {
  std::vector<std::string> users;
  for (const SenderInfo& sender : senders)
    if (sender.user) users.push_back(sender.user->id);
  if (users.empty()) return;
  auto found = directory.permission_sets(users);
  if (!found) return;
  std::size_t next = 0;
  for (SenderInfo& sender : senders)
    if (sender.user) sender.permission_sets = std::move(found->at(next++));
}

}  // namespace

std::vector<SenderInfo> find_senders(schema::store::Accounts& accounts, schema::crm::Directory& directory,
                                     const TokenStatus& token, std::span<const SenderRef> names) {
  std::vector<SenderInfo> senders;
  for (const SenderRef& name : names) {
    SenderInfo& sender = senders.emplace_back();
    sender.token = token;
    sender.name = name;
  }
  look_up_users(directory, senders);
  find_accounts(accounts, senders);
  find_permission_sets(directory, senders);
  return senders;
}

}  // namespace giftsync::sync
