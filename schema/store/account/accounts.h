// schema/store: accounts (the senders) and their API keys. Only hashes of keys are stored and passed.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "platform/time.h"
#include "schema/enums.h"
#include "schema/ids.h"

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

struct ApiKey {
  ApiKeyId id;
  AccountId account;
  std::string name;    ///< what the admin calls it; may be empty
  std::string prefix;  ///< the key's first characters, which listings show
  std::string hash;    ///< hex SHA-256 of the key
  std::set<Scope> scopes;
  UtcMillis created_at;
  std::optional<UtcMillis> expires_at;  ///< a rotated key works until then
  std::optional<UtcMillis> revoked_at;
  std::optional<UtcMillis> last_used_at;
};

struct ApiKeyOwner {
  ApiKey key;
  Account account;
};

class Accounts {
 public:
  explicit Accounts(std::shared_ptr<sql::Database> database);

  /// Nullopt when an account with that address (case ignored) exists.
  std::optional<AccountId> create(const Account& account);
  std::vector<Account> list();
  std::optional<Account> find_by_email(const std::string& email);
  /// False when there is no such account.
  bool set_active(const std::string& email, bool active);
  /// The previous plan; nothing when there is no such account.
  std::optional<Plan> set_plan(const std::string& email, Plan plan);
  /// The existing accounts, by email_key() of their addresses.
  std::map<std::string, Account> find_by_email_keys(std::span<const std::string> keys);
  /// False when there is no such account.
  bool set_organization(const std::string& email, std::optional<OrganizationId> organization);

  ApiKeyId insert_key(const ApiKey& key);
  std::vector<ApiKeyOwner> list_keys();
  /// The key with that hash, also a revoked or expired one: the caller checks its state (HTTP-25).
  std::optional<ApiKeyOwner> find_key_by_hash(const std::string& hash);
  void revoke_key(ApiKeyId key, UtcMillis now);
  void set_key_expiry(ApiKeyId key, UtcMillis expires_at);
  void update_last_used(const std::vector<std::pair<ApiKeyId, UtcMillis>>& uses);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::store
