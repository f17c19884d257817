#include "schema/store/user_identities.h"

#include "schema/sql/queries.h"
#include "schema/store/id_block.h"
#include "schema/store/pruning.h"

namespace giftsync::schema::store {
namespace {

using soci::into;
using soci::use;

}  // namespace

std::optional<IdentityId> UserIdentities::link(const UserIdentity& identity, const AuditEvent& audit) {
  return database_->write([&](soci::session& session) -> std::optional<IdentityId> {
    // First: two sign-ins at the same time wait for each other at this row.
    const IdentityId id{allocate_id(session, "user_identity")};
    const auto others = sql::select_value<std::int64_t>(
        session, "SELECT count(*) FROM user_identity WHERE user_id = :user_id AND connection = :connection",
        use(identity.user), use(identity.connection));
    if (others > 0) return std::nullopt;
    const std::int64_t inserted = sql::change_rows(
        session,
        "INSERT INTO user_identity (id, user_id, connection, tenant, subject, last_email, linked_at, "
        "last_sign_in_at) VALUES (:id, :user_id, :connection, :tenant, :subject, :last_email, :linked_at, "
        ":last_sign_in_at) ON CONFLICT (connection, tenant, subject) DO NOTHING",
        use(id), use(identity.user), use(identity.connection), use(identity.tenant), use(identity.subject),
        use(identity.last_email), use(identity.linked_at), use(identity.last_sign_in_at));
    if (inserted == 0) return std::nullopt;
    insert_audit_event(session, audit);
    return id;
  });
}

std::optional<UserIdentity> UserIdentities::find(const std::string& connection, const std::string& tenant,
                                                 const std::string& subject) {
  return sql::first_of(database_->read([&](soci::session& session) {
    UserIdentity row;
    return sql::select_rows(
        row, session,
        "SELECT id, user_id, connection, tenant, subject, last_email, linked_at, last_sign_in_at FROM "
        "user_identity WHERE connection = :connection AND tenant = :tenant AND subject = :subject",
        use(connection), use(tenant), use(subject), into(row.id), into(row.user), into(row.connection),
        into(row.tenant), into(row.subject), into(row.last_email), into(row.linked_at),
        into(row.last_sign_in_at));
  }));
}

void UserIdentities::set_last_sign_in(IdentityId id, const std::string& email, platform::UtcMillis now) {
  database_->write([&](soci::session& session) {
    session << "UPDATE user_identity SET last_email = :email, last_sign_in_at = :now WHERE id = :id",
        use(email), use(now), use(id);
  });
}

bool UserIdentities::unlink(UserId user, const std::string& connection, const AuditEvent& audit) {
  return database_->write([&](soci::session& session) {
    session
        << "DELETE FROM session WHERE identity_id IN (SELECT id FROM user_identity WHERE user_id = :user_id "
           "AND connection = :connection)",
        use(user), use(connection);
    const bool unlinked =
        sql::change_rows(session,
                         "DELETE FROM user_identity WHERE user_id = :user_id AND connection = :connection",
                         use(user), use(connection)) > 0;
    if (unlinked) insert_audit_event(session, audit);
    return unlinked;
  });
}

std::vector<SignInConnectionState> SignInConnections::list() {
  return database_->read([](soci::session& session) {
    SignInConnectionState row;
    return sql::select_rows(row, session,
                            "SELECT name, tenant, last_success_at, last_error, last_error_at FROM "
                            "sign_in_connection_state ORDER BY name",
                            into(row.name), into(row.tenant), into(row.last_success_at), into(row.last_error),
                            into(row.last_error_at));
  });
}

std::string SignInConnections::pin_tenant(const std::string& name, const std::string& tenant) {
  return database_->write([&](soci::session& session) {
    session
        << "INSERT INTO sign_in_connection_state (name, tenant, last_error) VALUES (:name, :tenant, '') ON "
           "CONFLICT (name) DO UPDATE SET tenant = excluded.tenant WHERE sign_in_connection_state.tenant = "
           "''",
        use(name), use(tenant);
    return sql::select_value<std::string>(
        session, "SELECT tenant FROM sign_in_connection_state WHERE name = :name", use(name));
  });
}

void SignInConnections::record_success(const std::string& name, platform::UtcMillis now) {
  database_->write([&](soci::session& session) {
    session
        << "INSERT INTO sign_in_connection_state (name, tenant, last_success_at, last_error) VALUES (:name, "
           "'', :now, '') ON CONFLICT (name) DO UPDATE SET last_success_at = excluded.last_success_at",
        use(name), use(now);
  });
}

void SignInConnections::record_error(const std::string& name, const std::string& error,
                                     platform::UtcMillis now) {
  database_->write([&](soci::session& session) {
    session
        << "INSERT INTO sign_in_connection_state (name, tenant, last_error, last_error_at) VALUES (:name, "
           "'', "
           ":error, :now) ON CONFLICT (name) DO UPDATE SET last_error = excluded.last_error, last_error_at = "
           "excluded.last_error_at",
        use(name), use(error), use(now);
  });
}

bool SignInConnections::accept_assertion(const std::string& connection, const std::string& assertion_id,
                                         platform::UtcMillis expires_at) {
  return database_->write([&](soci::session& session) {
    return sql::change_rows(session,
                            "INSERT INTO saml_assertion_seen (connection, assertion_id, expires_at) VALUES "
                            "(:connection, :assertion_id, :expires_at) ON CONFLICT DO NOTHING",
                            use(connection), use(assertion_id), use(expires_at)) > 0;
  });
}

void SignInConnections::prune(platform::UtcMillis now) {
  store::prune(*database_, {"saml_assertion_seen", "expires_at"}, now);
}

}  // namespace giftsync::schema::store
