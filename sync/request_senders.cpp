#include "sync/request_step.h"
#include "sync/sender_facts.h"

namespace giftsync::sync {

std::vector<SenderVerdict> check_senders(schema::AccountBook& accounts, schema::Crm& crm,
                                         const TokenStanding& token, std::span<const std::string> user_ids,
                                         schema::UtcMillis now) {
  std::vector<SenderName> names;
  for (const std::string& id : user_ids) names.push_back({id, ""});
  std::vector<SenderVerdict> verdicts;
  for (const SenderFacts& facts : sender_facts(accounts, crm, token, names)) {
    const std::vector<MissingPrecondition> missing = missing_preconditions(facts, now);
    if (missing.empty())
      verdicts.push_back({facts.account, ""});
    else
      verdicts.push_back({std::nullopt, missing.front().message});
  }
  return verdicts;
}

}  // namespace giftsync::sync
