// schema/store: who may send: accounts and their API keys. Keys are kept as hashes; nothing here ever sees a
// key.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schema/ids.h"
#include "schema/time.h"
#include "schema/words.h"

namespace giftsync::schema {

namespace sql {
class Database;
}

struct Account {
  AccountId id;
  std::string email;
  std::string name;
  Plan plan = Plan::team;
  bool active = true;
  UtcMillis created_at;
  std::optional<OrganizationId> organization = std::nullopt;  ///< whose CRM may send on its behalf
};

struct ApiKey {
  KeyId id;
  AccountId account;
  std::string prefix;  ///< the key's first characters, which listings show
  std::string hash;    ///< hex SHA-256 of the key
  std::set<Scope> scopes;
  UtcMillis created_at;
  std::optional<UtcMillis> expires_at;  ///< a rotated key works until then
  std::optional<UtcMillis> revoked_at;
  std::optional<UtcMillis> last_used_at;
};

struct KeyHolder {
  ApiKey key;
  Account account;
};

class AccountBook {
 public:
  explicit AccountBook(std::shared_ptr<sql::Database> database);

  /// Nullopt when an account with that address (in any spelling) exists.
  std::optional<AccountId> create(const Account& account);
  std::vector<Account> accounts();
  std::optional<Account> account_by_email(const std::string& email);
  /// False when there is no such account.
  bool set_active(const std::string& email, bool active);
  /// The plan before; nothing when there is no such account.
  std::optional<Plan> set_plan(const std::string& email, Plan plan);
  /// Those that exist, by email_key() of their addresses.
  std::map<std::string, Account> accounts_by_email_key(std::span<const std::string> keys);
  /// False when there is no such account.
  bool set_organization(const std::string& email, std::optional<OrganizationId> organization);

  KeyId add_key(const ApiKey& key);
  std::vector<KeyHolder> keys();
  /// The key with that hash, revoked and expired ones included: the caller judges (design 3.4).
  std::optional<KeyHolder> find_key(const std::string& hash);
  void revoke(KeyId key, UtcMillis now);
  void set_expiry(KeyId key, UtcMillis expires_at);
  void note_used(const std::vector<std::pair<KeyId, UtcMillis>>& uses);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::schema
