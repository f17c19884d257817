// schema/crm/managed: contacts, leads, opportunities and users in the managed tables. People are found by
// their match keys (match_keys.h). One statement for any number of recipients, contacts, leads or users.
// Included by schema/'s .cpp files only.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schema/crm/directory.h"
#include "schema/crm/managed/match_columns.h"
#include "schema/crm/sql_common/rows_by_key.h"
#include "schema/sql/database.h"

namespace giftsync::schema::crm::managed {

class ManagedDirectory : public Directory {
 public:
  ManagedDirectory(sql::Database& database, const MatchFields& fields)
      : database_(database), fields_(fields) {}

  std::vector<Candidates> find_candidates(PersonObject object,
                                          std::span<const RecipientMatchKeys> recipients) override;
  /// An opportunity with a null IsClosed is open.
  std::vector<std::vector<Opportunity>> find_open_opportunities(
      std::span<const std::string> contact_ids) override;
  std::vector<std::optional<std::string>> find_accounts_of_contacts(
      std::span<const std::string> contact_ids) override;
  std::vector<ConvertedLead> find_converted_leads(std::span<const std::string> lead_ids) override;
  std::vector<std::vector<CrmUser>> find_users_by_email(std::span<const std::string> email_keys) override;
  std::vector<std::optional<CrmUser>> find_users_by_id(std::span<const std::string> ids) override;
  std::optional<std::vector<std::vector<PermissionSetAssignment>>> permission_sets(
      std::span<const std::string> user_ids) override;

 private:
  PersonMatchColumns person_columns_for(PersonObject object);
  OpportunityOrderColumn current_opportunity_column();
  void clear_column_cache();
  std::vector<Candidates> find_by_columns(PersonObject object, const PersonMatchColumns& columns,
                                          std::span<const RecipientMatchKeys> recipients);

  /// Looks up by cached columns; when one of them was dropped, again by the current ones.
  template <class LookUp>
  auto retry_with_fresh_columns(LookUp&& look_up) {
    try {
      return look_up();
    } catch (const platform::DependencyError& fault) {
      if (fault.transient()) throw;
      clear_column_cache();
      return look_up();
    }
  }

  sql::Database& database_;
  const MatchFields fields_;
  std::mutex mutex_;
  // What the fields mean in the database, once it is known: guarded by mutex_.
  std::map<PersonObject, PersonMatchColumns> person_columns_;
  std::optional<OpportunityOrderColumn> opportunity_column_;
};

}  // namespace giftsync::schema::crm::managed
