// crm/sql/managed: contacts, leads, opportunities and users in the managed tables. People are found by
// their match keys (match_keys.h). One statement for any number of recipients, contacts, leads or users.
// Included by schema/'s .cpp files only.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crm/directory.h"
#include "crm/sql/managed/match_columns.h"
#include "crm/sql/rows_by_key.h"
#include "schema/sql/database.h"

namespace giftsync::crm::managed {

class ManagedDirectory : public Directory {
 public:
  /// `max_keyed_rows`: see ManagedCrmOptions.
  ManagedDirectory(sql::Database& database, const MatchFields& fields, std::size_t max_keyed_rows)
      : database_(database), fields_(fields), max_keyed_rows_(max_keyed_rows) {}

  /// Makes match keys (SYNC-68). One cheap read when all have been made.
  bool maintain() override;
  std::vector<Candidates> find_candidates(PersonObject object,
                                          std::span<const RecipientMatchKeys> recipients) override;
  /// An opportunity with a null IsClosed is open.
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
  PersonMatchColumns person_columns_for(PersonObject object);
  OpportunityOrderColumn current_opportunity_column();
  void clear_column_cache();
  std::vector<MatchKeyField> compared_fields();
  /// Throws LookupNotReady.
  std::vector<std::int64_t> key_field_ids(const std::vector<MatchKeyField>& fields);
  std::vector<Candidates> find_by_columns(PersonObject object, const PersonMatchColumns& columns,
                                          std::span<const RecipientMatchKeys> recipients);

  /// Looks up by cached columns; when one of them was dropped, again by the current ones.
  template <class LookUp>
  auto retry_with_fresh_columns(LookUp&& look_up) {
    try {
      return look_up();
    } catch (const DependencyError& fault) {
      if (fault.transient()) throw;
      clear_column_cache();
      return look_up();
    }
  }

  sql::Database& database_;
  const MatchFields fields_;
  const std::size_t max_keyed_rows_;
  std::atomic<bool> has_all_fields_ = false;  ///< each compared field had its keys once
  std::mutex mutex_;
  // What the fields mean in the database, once it is known: guarded by mutex_.
  std::map<PersonObject, PersonMatchColumns> person_columns_;
  std::optional<OpportunityOrderColumn> opportunity_column_;
};

}  // namespace giftsync::crm::managed
