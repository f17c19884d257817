// crm/salesforce: the people and opportunities of an org. Any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crm/directory.h"
#include "crm/salesforce/calls/api_names.h"
#include "crm/salesforce/calls/org_calls.h"

namespace giftsync::salesforce {

class SalesforceDirectory : public crm::Directory {
 public:
  /// `calls` and `names` outlive this object.
  SalesforceDirectory(OrgCalls& calls, const ApiNames& names, crm::MatchFields fields);

  /// One call, and a second one for phone numbers of recipients whose address matches no contact.
  crm::DecisionFacts look_up(const crm::DecisionQuestions& queries) override;
  std::vector<crm::Candidates> find_candidates(crm::PersonObject object,
                                               std::span<const crm::RecipientMatchKeys> recipients) override;
  std::vector<std::vector<crm::Opportunity>> find_open_opportunities(
      std::span<const std::string> contact_ids) override;
  std::vector<crm::ConvertedLead> find_converted_leads(std::span<const std::string> lead_ids) override;
  std::vector<std::optional<std::string>> find_accounts_of_contacts(
      std::span<const std::string> contact_ids) override;
  std::vector<std::vector<crm::CrmUser>> find_users_by_email(
      std::span<const std::string> email_keys) override;
  std::vector<std::string> find_account_owners(std::span<const std::string> account_ids) override;
  std::vector<std::optional<crm::CrmUser>> find_users_by_id(std::span<const std::string> ids) override;
  std::optional<std::vector<std::vector<crm::PermissionSetAssignment>>> permission_sets(
      std::span<const std::string> user_ids) override;
  /// One call, and a second one where permission set groups are assigned.
  std::optional<std::vector<std::vector<crm::PermissionSetAssignment>>> permission_sets_by_email(
      std::span<const std::string> email_keys) override;

 private:
  OrgCalls& calls_;
  const ApiNames& names_;
  const crm::MatchFields fields_;
};

}  // namespace giftsync::salesforce
