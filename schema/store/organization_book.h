// schema/store: the companies whose CRM may send on behalf of their accounts (Spec 5.6), and the tokens by
// which a CRM proves whose it is. Tokens are kept as hashes; nothing here ever sees one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schema/ids.h"
#include "schema/time.h"

namespace giftsync::schema {

namespace sql {
class Database;
}

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

class OrganizationBook {
 public:
  explicit OrganizationBook(std::shared_ptr<sql::Database> database);

  /// With its first token. Nullopt when an organization of that name (in any case) exists.
  std::optional<OrganizationId> create(const std::string& name, const OrganizationToken& token);
  std::vector<Organization> organizations();
  /// By name, in any case.
  std::optional<Organization> organization(const std::string& name);

  OrganizationTokenId add_token(const OrganizationToken& token);
  /// By organization, the oldest first.
  std::vector<OrganizationToken> tokens();
  /// The token with that hash, revoked and expired ones included: the caller judges.
  std::optional<OrganizationToken> find_token(const std::string& hash);
  void revoke(OrganizationTokenId token, UtcMillis now);
  void set_expiry(OrganizationTokenId token, UtcMillis expires_at);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::schema
