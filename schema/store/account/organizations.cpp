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

template <class... Uses>
std::vector<OrganizationToken> select_tokens(soci::session& session, const std::string& rest,
                                             const Uses&... uses) {
  OrganizationToken row;
  return sql::select_rows(row, session,
                          "SELECT t.id, t.organization_id, o.name, t.prefix, t.hash, t.created_at, "
                          "t.expires_at, t.revoked_at FROM organization_token t JOIN organization o ON "
                          "o.id = t.organization_id " +
                              rest,
                          uses..., into(row.id), into(row.organization), into(row.organization_name),
                          into(row.prefix), into(row.hash), into(row.created_at), into(row.expires_at),
                          into(row.revoked_at));
}

OrganizationTokenId insert_token_row(soci::session& session, OrganizationId organization,
                                     const OrganizationToken& token) {
  const OrganizationTokenId id{allocate_id(session, "organization_token")};
  session << "INSERT INTO organization_token (id, organization_id, prefix, hash, created_at, expires_at) "
             "VALUES (:id, :organization, :prefix, :hash, :created_at, :expires_at)",
      use(id), use(organization), use(token.prefix), use(token.hash), use(token.created_at),
      use(token.expires_at);
  return id;
}

}  // namespace

Organizations::Organizations(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

std::optional<OrganizationId> Organizations::create(const std::string& name, const OrganizationToken& token) {
  return database_->write([&](soci::session& session) -> std::optional<OrganizationId> {
    const OrganizationId id{allocate_id(session, "organization")};
    const std::string key = name_key(name);
    const std::int64_t inserted =
        sql::change_rows(session,
                         "INSERT INTO organization (id, name, name_key, created_at) VALUES (:id, :name, "
                         ":name_key, :created_at) ON CONFLICT (name_key) DO NOTHING",
                         use(id), use(name), use(key), use(token.created_at));
    if (inserted == 0) return std::nullopt;
    insert_token_row(session, id, token);
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

OrganizationTokenId Organizations::insert_token(const OrganizationToken& token) {
  return database_->write(
      [&](soci::session& session) { return insert_token_row(session, token.organization, token); });
}

std::vector<OrganizationToken> Organizations::list_tokens() {
  return database_->read(
      [](soci::session& session) { return select_tokens(session, "ORDER BY t.organization_id, t.id"); });
}

std::optional<OrganizationToken> Organizations::find_token_by_hash(const std::string& hash) {
  return sql::first_of(database_->read(
      [&](soci::session& session) { return select_tokens(session, "WHERE t.hash = :key", use(hash)); }));
}

void Organizations::revoke_token(OrganizationTokenId token, UtcMillis now) {
  database_->write([&](soci::session& session) {
    session << "UPDATE organization_token SET revoked_at = :now WHERE id = :id AND revoked_at IS NULL",
        use(now), use(token);
  });
}

void Organizations::set_token_expiry(OrganizationTokenId token, UtcMillis expires_at) {
  database_->write([&](soci::session& session) {
    session << "UPDATE organization_token SET expires_at = :expires_at WHERE id = :id", use(expires_at),
        use(token);
  });
}

}  // namespace giftsync::store
