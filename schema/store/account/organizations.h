// schema/store: the companies whose CRM may send for their accounts, and the tokens that authenticate them
// (REQ-39). Only hashes of tokens are stored and passed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "platform/time.h"
#include "schema/ids.h"

namespace giftsync::sql {
class Database;
}

namespace giftsync::store {

struct Organization {
  OrganizationId id;
  std::string name;
  UtcMillis created_at;
  std::int64_t accounts = 0;
};

struct OrganizationToken {
  OrganizationTokenId id;
  OrganizationId organization;
  std::string organization_name;
  std::string prefix;  ///< the token's first characters, which listings show
  std::string hash;    ///< hex SHA-256 of the token
  UtcMillis created_at;
  std::optional<UtcMillis> expires_at;  ///< a rotated token works until then
  std::optional<UtcMillis> revoked_at;
};

class Organizations {
 public:
  explicit Organizations(std::shared_ptr<sql::Database> database);

  /// Creates it with its first token. Nullopt when an organization of that name (case ignored) exists.
  std::optional<OrganizationId> create(const std::string& name, const OrganizationToken& token);
  std::vector<Organization> list();
  /// By name, case ignored.
  std::optional<Organization> find_by_name(const std::string& name);

  OrganizationTokenId insert_token(const OrganizationToken& token);
  /// By organization, the oldest first.
  std::vector<OrganizationToken> list_tokens();
  /// The token with that hash, also a revoked or expired one: the caller checks its state.
  std::optional<OrganizationToken> find_token_by_hash(const std::string& hash);
  void revoke_token(OrganizationTokenId token, UtcMillis now);
  void set_token_expiry(OrganizationTokenId token, UtcMillis expires_at);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::store
