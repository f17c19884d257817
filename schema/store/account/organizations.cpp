#include "schema/store/account/organizations.h"

#include "platform/text.h"
#include "schema/sql/queries.h"
#include "schema/store/statements/id_block.h"

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;

std::string name_key(const std::string& name) {
  return ascii_lower(trimmed(name));
}

template <class... Uses>
std::vector<Organization> select_organizations(soci::session& session, const std::string& rest,
                                               const Uses&... uses) {
  Organization row;
  return sql::select_rows(row, session,
                          "SELECT o.id, o.name, o.created_at, (SELECT count(*) FROM account a WHERE "
                          "a.organization_id = o.id) FROM organization o " +
                              rest,
                          uses..., into(row.id), into(row.name), into(row.created_at), into(row.accounts));
}

}  // namespace

Organizations::Organizations(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

std::optional<OrganizationId> Organizations::create(const std::string& name, const Credential& token) {
  return database_->write([&](soci::session& session) -> std::optional<OrganizationId> {
    const OrganizationId id{allocate_id(session, "organization")};
    const std::string key = name_key(name);
    const std::int64_t inserted =
        sql::change_rows(session,
                         "INSERT INTO organization (id, name, name_key, created_at) VALUES (:id, :name, "
                         ":name_key, :created_at) ON CONFLICT (name_key) DO NOTHING",
                         use(id), use(name), use(key), use(token.created_at));
    if (inserted == 0) return std::nullopt;
    Credential first = token;
    first.kind = CredentialKind::organization_token;
    first.organization = id;
    insert_credential(session, first);
    return id;
  });
}

std::vector<Organization> Organizations::list() {
  return database_->read(
      [](soci::session& session) { return select_organizations(session, "ORDER BY o.id"); });
}

std::optional<Organization> Organizations::find_by_name(const std::string& name) {
  const std::string key = name_key(name);
  return sql::first_of(database_->read([&](soci::session& session) {
    return select_organizations(session, "WHERE o.name_key = :key", use(key));
  }));
}

}  // namespace giftsync::store
