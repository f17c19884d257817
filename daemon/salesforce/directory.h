// daemon/salesforce: the people and opportunities of an org. Any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/salesforce/api_names.h"
#include "daemon/salesforce/org_calls.h"
#include "schema/crm/directory.h"

namespace giftsync::daemon::salesforce {

class SalesforceDirectory : public schema::crm::Directory {
 public:
  /// `calls` and `names` outlive this object.
  SalesforceDirectory(OrgCalls& calls, const ApiNames& names, schema::crm::MatchFields fields);

  /// One call, and a second one for phone numbers of recipients whose address matches no contact.
  schema::crm::DecisionFacts look_up(const schema::crm::DecisionQuestions& questions) override;
  std::vector<schema::crm::Candidates> find_candidates(
      schema::crm::PersonObject object, std::span<const schema::crm::RecipientMatchKeys> recipients) override;
  std::vector<std::vector<schema::crm::Opportunity>> find_open_opportunities(
      std::span<const std::string> contact_ids) override;
  std::vector<schema::crm::ConvertedLead> find_converted_leads(
      std::span<const std::string> lead_ids) override;
  std::vector<std::optional<std::string>> find_accounts_of_contacts(
      std::span<const std::string> contact_ids) override;
  std::vector<std::vector<schema::crm::CrmUser>> find_users_by_email(
      std::span<const std::string> email_keys) override;
  std::vector<std::optional<schema::crm::CrmUser>> find_users_by_id(
      std::span<const std::string> ids) override;
  std::optional<std::vector<std::vector<schema::crm::PermissionSetAssignment>>> permission_sets(
      std::span<const std::string> user_ids) override;
  /// One call, and a second one where permission set groups are assigned.
  std::optional<std::vector<std::vector<schema::crm::PermissionSetAssignment>>> permission_sets_by_email(
      std::span<const std::string> email_keys) override;

 private:
  OrgCalls& calls_;
  const ApiNames& names_;
  const schema::crm::MatchFields fields_;
};

}  // namespace giftsync::daemon::salesforce
