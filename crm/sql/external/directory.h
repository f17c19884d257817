// crm/sql/external: contacts, leads, opportunities and users in external tables, as far as the settings
// map them. There are no match keys: e-mail addresses are compared by email_expression(), phone numbers
// first by their last seven digits without an extension and then as E.164 (schema/contact_normalization.h).
// One statement per batch and kind of field. Rows without an Id match nothing. Included by schema/'s .cpp
// files only.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crm/directory.h"
#include "crm/sql/external/external_database.h"

namespace giftsync::crm::external {

class ExternalDirectory : public Directory {
 public:
  ExternalDirectory(ExternalDatabase& crm, const MatchFields& fields) : crm_(crm), fields_(fields) {}

  std::vector<Candidates> find_candidates(PersonObject object,
                                          std::span<const RecipientMatchKeys> recipients) override;
  std::vector<std::vector<Opportunity>> find_open_opportunities(
      std::span<const std::string> contact_ids) override;
  std::vector<std::optional<std::string>> find_accounts_of_contacts(
      std::span<const std::string> contact_ids) override;
  std::vector<ConvertedLead> find_converted_leads(std::span<const std::string> lead_ids) override;
  std::vector<std::vector<CrmUser>> find_users_by_email(std::span<const std::string> email_keys) override;
  std::vector<std::string> find_account_owners(std::span<const std::string> account_ids) override;
  std::vector<std::optional<CrmUser>> find_users_by_id(std::span<const std::string> ids) override;
  std::optional<std::vector<std::vector<PermissionSetAssignment>>> permission_sets(
      std::span<const std::string> user_ids) override;

 private:
  ExternalDatabase& crm_;
  const MatchFields fields_;
};

}  // namespace giftsync::crm::external
