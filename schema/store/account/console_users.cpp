#include "schema/store/account/console_users.h"

#include <algorithm>
#include <set>

#include "schema/contact_normalization.h"
#include "schema/sql/record_rows.h"
#include "schema/store/statements/claims.h"
#include "schema/store/statements/id_block.h"

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;

struct OwnedRole {
  UserId user = {};
  UserRole role = {};
};

/// `where`: a condition on console_user u, and the values of its parameters.
template <class... Uses>
std::vector<OwnedRole> select_roles(soci::session& session, const std::string& where, const Uses&... uses) {
  OwnedRole row;
  std::string role;
  std::string origin;
  std::vector<OwnedRole> found;
  soci::statement statement =
      sql::bound(session,
                 "SELECT o.user_id, o.role, o.origin, o.granted_by, o.granted_at FROM user_role o JOIN "
                 "console_user u ON u.id = o.user_id WHERE " +
                     where + " ORDER BY o.user_id, o.role, o.origin",
                 uses..., into(row.user), into(role), into(origin), into(row.role.granted_by),
                 into(row.role.granted_at));
  sql::each_row(statement, [&] {
    const auto known = role_from_word(role);
    if (!known) return;  // of a later version
    row.role.role = *known;
    row.role.origin = role_origin_from_word(origin).value_or(RoleOrigin::granted);
    found.push_back(row);
  });
  return found;
}

template <class... Uses>
std::vector<ConsoleUser> select_users(soci::session& session, const std::string& where, const Uses&... uses) {
  ConsoleUser row;
  std::vector<ConsoleUser> users = sql::select_rows(
      row, session,
      "SELECT u.id, u.email, u.name, u.active, u.organization_id, u.created_at FROM console_user u WHERE " +
          where + " ORDER BY u.id",
      uses..., into(row.id), into(row.email), into(row.name), into(row.active), into(row.organization),
      into(row.created_at));
  for (const OwnedRole& owned : select_roles(session, where, uses...)) {
    const auto user =
        std::lower_bound(users.begin(), users.end(), owned.user,
                         [](const ConsoleUser& console_user, UserId id) { return console_user.id < id; });
    if (user != users.end() && user->id == owned.user) user->roles.push_back(owned.role);
  }
  return users;
}

bool insert_role(soci::session& session, UserId user, const UserRole& role) {
  const std::string word(to_word(role.role));
  const std::string origin(to_word(role.origin));
  return sql::change_rows(session,
                          "INSERT INTO user_role (user_id, role, origin, granted_by, granted_at) VALUES "
                          "(:user_id, :role, :origin, :granted_by, :granted_at) ON CONFLICT DO NOTHING",
                          use(user), use(word), use(origin), use(role.granted_by), use(role.granted_at)) > 0;
}

/// "admin, sender"; "none".
std::string listed(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& one : words) text += (text.empty() ? "" : ", ") + one;
  return text.empty() ? "none" : text;
}

}  // namespace

RoleSet ConsoleUser::role_set() const {
  RoleSet set;
  for (const UserRole& user_role : roles) set.insert(user_role.role);
  return set;
}

std::optional<UserId> ConsoleUsers::create(const ConsoleUser& user, const AuditEvent& audit) {
  return database_->write([&](soci::session& session) -> std::optional<UserId> {
    const UserId id{allocate_id(session, "console_user")};
    const std::string key = email_key(user.email);
    const std::int64_t inserted = sql::change_rows(
        session,
        "INSERT INTO console_user (id, email, email_key, name, active, organization_id, created_at) VALUES "
        "(:id, :email, :email_key, :name, :active, :organization_id, :created_at) ON CONFLICT (email_key) DO "
        "NOTHING",
        use(id), use(user.email), use(key), use(user.name), use(user.active), use(user.organization),
        use(user.created_at));
    if (inserted == 0) return std::nullopt;
    for (const UserRole& role : user.roles) insert_role(session, id, role);
    insert_audit_event(session, audit);
    return id;
  });
}

std::vector<ConsoleUser> ConsoleUsers::list(const Viewer& viewer) {
  return database_->snapshot(
      [&](soci::session& session) { return select_users(session, users_condition(viewer)); });
}

std::vector<ConsoleUser> ConsoleUsers::list(const Viewer& viewer, const UserFilter& filter) {
  const std::string before =
      filter.before ? " AND u.id < " + std::to_string(filter.before->value) : std::string();
  // The roles are selected with the same condition, so the limit is part of it.
  const std::string where = "u.id IN (SELECT u.id FROM console_user u WHERE " + users_condition(viewer) +
                            before + " AND u.email_key LIKE :key ESCAPE '!' ORDER BY u.id DESC LIMIT " +
                            std::to_string(filter.limit) + ")";
  const std::string pattern = "%" + sql::like_pattern(email_key(filter.find)) + "%";
  auto users =
      database_->snapshot([&](soci::session& session) { return select_users(session, where, use(pattern)); });
  std::reverse(users.begin(), users.end());
  return users;
}

std::optional<ConsoleUser> ConsoleUsers::find(UserId id) {
  return find(Viewer::of_command_line(), id);
}

std::optional<ConsoleUser> ConsoleUsers::find(const Viewer& viewer, UserId id) {
  return sql::first_of(database_->snapshot([&](soci::session& session) {
    return select_users(session, users_condition(viewer) + " AND u.id = :id", use(id));
  }));
}

std::optional<ConsoleUser> ConsoleUsers::find_by_email(const std::string& email) {
  const std::string key = email_key(email);
  return sql::first_of(database_->snapshot([&](soci::session& session) {
    return select_users(session, "u.email_key = :key AND u.email_key <> ''", use(key));
  }));
}

bool ConsoleUsers::grant(UserId user, const UserRole& role, const AuditEvent& audit) {
  return database_->write([&](soci::session& session) {
    if (!insert_role(session, user, role)) return false;
    insert_audit_event(session, audit);
    return true;
  });
}

bool ConsoleUsers::revoke(UserId user, Role role, const AuditEvent& audit) {
  return database_->write([&](soci::session& session) {
    const std::string word(to_word(role));
    const bool revoked =
        sql::change_rows(
            session, "DELETE FROM user_role WHERE user_id = :user_id AND role = :role AND origin = 'granted'",
            use(user), use(word)) > 0;
    if (revoked) insert_audit_event(session, audit);
    return revoked;
  });
}

void ConsoleUsers::set_active(UserId user, bool active, const AuditEvent& audit) {
  database_->write([&](soci::session& session) {
    session << "UPDATE console_user SET active = :active WHERE id = :id", use(active), use(user);
    if (!active) {
      session << "DELETE FROM session WHERE user_id = :id", use(user);
      session << "DELETE FROM sign_in_link WHERE user_id = :id", use(user);
    }
    insert_audit_event(session, audit);
  });
}

AuditEvent crm_roles_event(const ConsoleUser& user, UtcMillis now) {
  return {.occurred_at = now,
          .actor_kind = ActorKind::system,
          .actor = "CRM",
          .action = "user.crm-roles",
          .object_kind = "user",
          .object_id = user.email,
          .organization = user.organization};
}

bool ConsoleUsers::replace_roles(UserId user, RoleOrigin origin, const std::vector<UserRole>& roles,
                                 const AuditEvent& audit) {
  const std::string origin_word(to_word(origin));
  std::set<std::string> given;
  for (const UserRole& user_role : roles) given.emplace(to_word(user_role.role));
  const auto former_roles = [&](soci::session& session) {
    const std::vector<std::string> words = sql::select_column<std::string>(
        session, "SELECT role FROM user_role WHERE user_id = :user_id AND origin = :origin ORDER BY role",
        use(user), use(origin_word));
    return std::set<std::string>(words.begin(), words.end());
  };
  // Mostly nothing has changed, and a writer would wait for its turn.
  if (database_->snapshot(former_roles) == given) return false;
  return database_->write([&](soci::session& session) {
    const std::set<std::string> former = former_roles(session);
    if (former == given) return false;
    session << "DELETE FROM user_role WHERE user_id = :user_id AND origin = :origin", use(user),
        use(origin_word);
    for (UserRole one : roles) {
      one.origin = origin;
      insert_role(session, user, one);
    }
    AuditEvent event = audit;
    event.detail = "now " + listed(given) + ", before " + listed(former);
    insert_audit_event(session, event);
    return true;
  });
}

namespace {

// One field a line.
// clang-format off
constexpr auto kUserIdentityFields = record_fields(
    "user_identity",
    field<&UserIdentity::id>("id"),
    field<&UserIdentity::user>("user_id"),
    field<&UserIdentity::connection>("connection"),
    field<&UserIdentity::tenant>("tenant"),
    field<&UserIdentity::subject>("subject"),
    field<&UserIdentity::last_email>("last_email"),
    field<&UserIdentity::linked_at>("linked_at"),
    field<&UserIdentity::last_sign_in_at>("last_sign_in_at"));
// clang-format on

bool has_identity(soci::session& session, UserId user, const std::string& connection) {
  return sql::has_row(session, "user_identity WHERE user_id = :user_id AND connection = :connection",
                      use(user), use(connection));
}

}  // namespace

std::optional<IdentityId> UserIdentities::link(const UserIdentity& identity, const AuditEvent& audit) {
  return database_->write([&](soci::session& session) -> std::optional<IdentityId> {
    // First: two sign-ins at the same time wait for each other at this row.
    UserIdentity linked = identity;
    linked.id = {allocate_id(session, "user_identity")};
    if (has_identity(session, identity.user, identity.connection)) return std::nullopt;
    if (!sql::insert_record(session, kUserIdentityFields, linked,
                            "ON CONFLICT (connection, tenant, subject) DO NOTHING"))
      return std::nullopt;
    insert_audit_event(session, audit);
    return linked.id;
  });
}

bool UserIdentities::is_linked(UserId user, const std::string& connection) {
  return database_->read([&](soci::session& session) { return has_identity(session, user, connection); });
}

std::optional<UserIdentity> UserIdentities::find(const std::string& connection, const std::string& tenant,
                                                 const std::string& subject) {
  return sql::first_of(database_->read([&](soci::session& session) {
    return sql::find_records(kUserIdentityFields, session,
                             "WHERE connection = :connection AND tenant = :tenant AND subject = :subject",
                             use(connection), use(tenant), use(subject));
  }));
}

void UserIdentities::set_last_sign_in(IdentityId id, const std::string& email, UtcMillis now) {
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
    if (!unlinked) return false;
    const std::string group(to_word(RoleOrigin::group));
    session << "DELETE FROM user_role WHERE user_id = :user_id AND origin = :origin", use(user), use(group);
    insert_audit_event(session, audit);
    return true;
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

void SignInConnections::record_success(const std::string& name, UtcMillis now) {
  database_->write([&](soci::session& session) {
    session
        << "INSERT INTO sign_in_connection_state (name, tenant, last_success_at, last_error) VALUES (:name, "
           "'', :now, '') ON CONFLICT (name) DO UPDATE SET last_success_at = excluded.last_success_at",
        use(name), use(now);
  });
}

void SignInConnections::record_error(const std::string& name, const std::string& error, UtcMillis now) {
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
                                         UtcMillis expires_at) {
  return database_->write([&](soci::session& session) {
    return sql::change_rows(session,
                            "INSERT INTO saml_assertion_seen (connection, assertion_id, expires_at) VALUES "
                            "(:connection, :assertion_id, :expires_at) ON CONFLICT DO NOTHING",
                            use(connection), use(assertion_id), use(expires_at)) > 0;
  });
}

void SignInConnections::prune(UtcMillis now) {
  store::prune(*database_, {"saml_assertion_seen", "expires_at"}, now);
}

}  // namespace giftsync::store
