// schema/store: accounts: the senders.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "platform/time.h"
#include "schema/enums.h"
#include "schema/ids.h"
#include "schema/record_fields.h"

namespace giftsync::sql {
class Database;
}

namespace giftsync::store {

struct Account {
  AccountId id;
  std::string email;
  std::string name;
  Plan plan = Plan::team;
  bool active = true;
  UtcMillis created_at;
  std::optional<OrganizationId> organization =
      std::nullopt;  ///< the organization whose CRM may send for the account
};

// One field a line.
// clang-format off
inline constexpr auto kAccountFields = record_fields(
    "account",
    field<&Account::id>("id"),
    field<&Account::email>("email"),
    field<&Account::name>("name"),
    field<&Account::plan>("plan"),
    field<&Account::active>("active"),
    field<&Account::created_at>("created_at"),
    field<&Account::organization>("organization_id"));
// clang-format on

class Accounts {
 public:
  explicit Accounts(std::shared_ptr<sql::Database> database);

  /// Nullopt when an account with that address (case ignored) exists.
  std::optional<AccountId> create(const Account& account);
  std::vector<Account> list();
  std::optional<Account> find_by_email(const std::string& email);
  std::optional<Account> find(AccountId id);
  /// False when there is no such account.
  bool set_active(const std::string& email, bool active);
  /// The previous plan; nothing when there is no such account.
  std::optional<Plan> set_plan(const std::string& email, Plan plan);
  /// The existing accounts, by email_key() of their addresses.
  std::map<std::string, Account> find_by_email_keys(std::span<const std::string> keys);
  /// False when there is no such account.
  bool set_organization(const std::string& email, std::optional<OrganizationId> organization);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::store
