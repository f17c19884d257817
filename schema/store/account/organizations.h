// schema/store: the companies whose CRM may send for their accounts (REQ-39).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "platform/time.h"
#include "schema/ids.h"
#include "schema/store/account/credentials.h"

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

class Organizations {
 public:
  explicit Organizations(std::shared_ptr<sql::Database> database);

  /// Creates it with its first token. Nullopt when an organization of that name (case ignored) exists.
  std::optional<OrganizationId> create(const std::string& name, const Credential& token);
  std::vector<Organization> list();
  /// By name, case ignored.
  std::optional<Organization> find_by_name(const std::string& name);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::store
