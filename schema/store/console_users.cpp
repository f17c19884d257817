#include "schema/store/console_users.h"

#include <algorithm>
#include <set>

#include "schema/contact_normalization.h"
#include "schema/sql/queries.h"
#include "schema/store/id_block.h"

namespace giftsync::schema::store {
namespace {

using soci::into;
using soci::use;

struct OwnedRole {
  UserId user = {};
  UserRole role = {};
};

/// `where`: a condition on console_user u with the text parameter :key.
std::vector<OwnedRole> select_roles(soci::session& session, const std::string& where,
                                    const std::string& key) {
  OwnedRole row;
  std::string role;
  std::string origin;
  std::vector<OwnedRole> found;
  soci::statement statement =
      sql::bound(session,
                 "SELECT o.user_id, o.role, o.origin, o.granted_by, o.granted_at FROM user_role o JOIN "
                 "console_user u ON u.id = o.user_id WHERE " +
                     where + " ORDER BY o.user_id, o.role, o.origin",
                 use(key), into(row.user), into(role), into(origin), into(row.role.granted_by),
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

std::vector<ConsoleUser> select_users(soci::session& session, const std::string& where,
                                      const std::string& key) {
  ConsoleUser row;
  std::vector<ConsoleUser> users = sql::select_rows(
      row, session,
      "SELECT u.id, u.email, u.name, u.active, u.organization_id, u.created_at FROM console_user u WHERE " +
          where + " ORDER BY u.id",
      use(key), into(row.id), into(row.email), into(row.name), into(row.active), into(row.organization),
      into(row.created_at));
  for (const OwnedRole& owned : select_roles(session, where, key)) {
    const auto user = std::lower_bound(users.begin(), users.end(), owned.user,
                                       [](const ConsoleUser& one, UserId id) { return one.id < id; });
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
  for (const UserRole& one : roles) set.insert(one.role);
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
  return database_->snapshot([&](soci::session& session) {
    return select_users(session, users_condition(viewer) + " AND u.email_key <> :key", "");
  });
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
      database_->snapshot([&](soci::session& session) { return select_users(session, where, pattern); });
  std::reverse(users.begin(), users.end());
  return users;
}

std::optional<ConsoleUser> ConsoleUsers::find(UserId id) {
  return find(Viewer::of_command_line(), id);
}

std::optional<ConsoleUser> ConsoleUsers::find(const Viewer& viewer, UserId id) {
  const std::string number = std::to_string(id.value);
  return sql::first_of(database_->snapshot([&](soci::session& session) {
    return select_users(
        session, users_condition(viewer) + " AND CAST(u.id AS TEXT) = :key AND u.id = " + number, number);
  }));
}

std::optional<ConsoleUser> ConsoleUsers::find_by_email(const std::string& email) {
  return sql::first_of(database_->snapshot([&](soci::session& session) {
    return select_users(session, "u.email_key = :key AND u.email_key <> ''", email_key(email));
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

AuditEvent crm_roles_event(const ConsoleUser& user, platform::UtcMillis now) {
  return {.occurred_at = now,
          .actor_kind = ActorKind::system,
          .actor = "CRM",
          .action = "user.crm-roles",
          .object_kind = "user",
          .object_id = user.email,
          .organization = user.organization};
}

bool ConsoleUsers::replace_crm_roles(UserId user, const std::vector<UserRole>& roles,
                                     const AuditEvent& audit) {
  std::set<std::string> given;
  for (const UserRole& one : roles) given.emplace(to_word(one.role));
  const auto former_roles = [&](soci::session& session) {
    const std::vector<std::string> words = sql::select_column<std::string>(
        session, "SELECT role FROM user_role WHERE user_id = :user_id AND origin = 'crm' ORDER BY role",
        use(user));
    return std::set<std::string>(words.begin(), words.end());
  };
  // Mostly nothing has changed, and a writer would wait for its turn.
  if (database_->snapshot(former_roles) == given) return false;
  return database_->write([&](soci::session& session) {
    const std::set<std::string> former = former_roles(session);
    if (former == given) return false;
    session << "DELETE FROM user_role WHERE user_id = :user_id AND origin = 'crm'", use(user);
    for (UserRole one : roles) {
      one.origin = RoleOrigin::crm;
      insert_role(session, user, one);
    }
    AuditEvent event = audit;
    event.detail = "now " + listed(given) + ", before " + listed(former);
    insert_audit_event(session, event);
    return true;
  });
}

}  // namespace giftsync::schema::store
