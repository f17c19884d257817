#include "sync/request_record_step.h"
#include "sync/sender_lookup.h"

namespace giftsync::sync {

std::vector<SenderAuthorization> authorize_senders(schema::store::Accounts& accounts,
                                                   schema::crm::Directory& directory,
                                                   const TokenStatus& token,
                                                   std::span<const std::string> user_ids,
                                                   platform::UtcMillis now) {
  std::vector<SenderRef> names;
  for (const std::string& id : user_ids) names.push_back({id, ""});
  std::vector<SenderAuthorization> authorizations;
  for (const SenderInfo& sender : find_senders(accounts, directory, token, names)) {
    std::vector<MissingPrecondition> missing = all_missing_preconditions(sender, now);
    authorizations.push_back({missing.empty() ? sender.account : std::nullopt, std::move(missing)});
  }
  return authorizations;
}

}  // namespace giftsync::sync
