#include "schema/store/account/console_sessions.h"

#include "schema/sql/record_rows.h"
#include "schema/store/statements/claims.h"

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;

constexpr std::size_t kPublicIdDigits = 12;

// One field a line.
// clang-format off
constexpr auto kSignInLinkFields = record_fields(
    "sign_in_link",
    field<&SignInLink::token_hash>("token_hash"),
    field<&SignInLink::user>("user_id"),
    field<&SignInLink::created_by>("created_by"),
    field<&SignInLink::created_at>("created_at"),
    field<&SignInLink::expires_at>("expires_at"),
    field<&SignInLink::is_by_mail>("by_mail"));
constexpr auto kSignInAttemptFields = record_fields(
    "sign_in_attempt",
    field<&SignInAttempt::id_hash>("id_hash"),
    field<&SignInAttempt::connection>("connection"),
    field<&SignInAttempt::browser_hash>("browser_hash"),
    field<&SignInAttempt::nonce>("nonce"),
    field<&SignInAttempt::pkce_verifier>("pkce_verifier"),
    field<&SignInAttempt::saml_request_id>("saml_request_id"),
    field<&SignInAttempt::return_path>("return_path"),
    field<&SignInAttempt::must_reauthenticate>("must_reauthenticate"),
    field<&SignInAttempt::outcome>("outcome"),
    field<&SignInAttempt::created_at>("created_at"));
// clang-format on

/// `rest`: a condition on session s and console_user u, and an order, with the values of its parameters.
template <class... Uses>
std::vector<ConsoleSession> select_sessions(soci::session& session, const std::string& rest,
                                            const Uses&... uses) {
  ConsoleSession row;
  return sql::select_rows(
      row, session,
      "SELECT s.id_hash, s.user_id, u.email, s.identity_id, s.form_secret, s.created_at, s.last_seen_at, "
      "s.authenticated_at, s.expires_at, s.agent, s.network, s.by_mail, COALESCE(i.connection, '') FROM "
      "session s JOIN "
      "console_user u ON u.id = s.user_id LEFT JOIN user_identity i ON i.id = s.identity_id WHERE " +
          rest,
      uses..., into(row.id_hash), into(row.user), into(row.email), into(row.identity), into(row.form_secret),
      into(row.created_at), into(row.last_seen_at), into(row.authenticated_at), into(row.expires_at),
      into(row.agent), into(row.network), into(row.is_by_mail), into(row.connection));
}

/// The end of a list: what lasts, the latest first.
std::string latest_after(UtcMillis now) {
  return " AND s.expires_at > " + std::to_string(now.value) + " ORDER BY s.last_seen_at DESC, s.id_hash";
}

/// False when there is none.
bool end_session(soci::session& session, const std::string& id_hash) {
  return sql::change_rows(session, "DELETE FROM session WHERE id_hash = :id_hash", use(id_hash)) > 0;
}

/// Selects from console_user, so that no session of a user is inserted beside the user's deactivation.
bool insert_session(soci::session& session, const ConsoleSession& console_session) {
  return sql::change_rows(
             session,
             "INSERT INTO session (id_hash, user_id, identity_id, form_secret, created_at, last_seen_at, "
             "authenticated_at, expires_at, agent, network, by_mail) SELECT :id_hash, u.id, "
             "CAST(:identity_id AS "
             "BIGINT), :form_secret, CAST(:created_at AS BIGINT), CAST(:last_seen_at AS BIGINT), "
             "CAST(:authenticated_at AS BIGINT), CAST(:expires_at AS BIGINT), :agent, :network, "
             "CAST(:by_mail AS BIGINT) FROM "
             "console_user u WHERE u.id = :user_id AND u.active = 1",
             use(console_session.id_hash), use(console_session.identity), use(console_session.form_secret),
             use(console_session.created_at), use(console_session.last_seen_at),
             use(console_session.authenticated_at), use(console_session.expires_at),
             use(console_session.agent), use(console_session.network), use(console_session.is_by_mail),
             use(console_session.user)) > 0;
}

}  // namespace

std::string public_session_id(const std::string& id_hash) {
  return id_hash.substr(0, kPublicIdDigits);
}

bool ConsoleSessions::create_instead_of(const std::string& former_id_hash,
                                        const ConsoleSession& console_session, const AuditEvent& audit) {
  return database_->write([&](soci::session& session) {
    if (!insert_session(session, console_session)) return false;
    end_session(session, former_id_hash);
    insert_audit_event(session, audit);
    return true;
  });
}

std::optional<ConsoleSession> ConsoleSessions::find(const std::string& id_hash, UtcMillis now,
                                                    UtcMillis seen_after) {
  return sql::first_of(database_->read([&](soci::session& session) {
    return select_sessions(session,
                           "s.id_hash = :key AND u.active = 1 AND s.expires_at > " +
                               std::to_string(now.value) + " AND s.last_seen_at > " +
                               std::to_string(seen_after.value),
                           use(id_hash));
  }));
}

void ConsoleSessions::set_last_seen(const std::string& id_hash, UtcMillis now) {
  database_->write([&](soci::session& session) {
    session
        << "UPDATE session SET last_seen_at = :now WHERE id_hash = :id_hash AND last_seen_at < :now_again",
        use(now), use(id_hash), use(now);
  });
}

bool ConsoleSessions::end(const std::string& id_hash, const AuditEvent& audit) {
  return database_->write([&](soci::session& session) {
    const bool ended = end_session(session, id_hash);
    if (ended) insert_audit_event(session, audit);
    return ended;
  });
}

std::int64_t ConsoleSessions::end_all(UserId user, const AuditEvent& audit) {
  return database_->write([&](soci::session& session) {
    const std::int64_t ended =
        sql::change_rows(session, "DELETE FROM session WHERE user_id = :user_id", use(user));
    if (ended > 0) insert_audit_event(session, audit);
    return ended;
  });
}

std::vector<ConsoleSession> ConsoleSessions::list(const Viewer& viewer, UtcMillis now) {
  return database_->read([&](soci::session& session) {
    return select_sessions(session, users_condition(viewer) + latest_after(now));
  });
}

std::vector<ConsoleSession> ConsoleSessions::list(std::span<const UserId> users, UtcMillis now) {
  const std::string list = sql::list_of(database_->dialect(), users);
  return database_->read([&](soci::session& session) {
    return select_sessions(session, sql::in_list(session, "s.user_id", "key", false) + latest_after(now),
                           use(list));
  });
}

void ConsoleSessions::create_link(const SignInLink& link, const AuditEvent& audit) {
  database_->write([&](soci::session& session) {
    sql::insert_record(session, kSignInLinkFields, link);
    insert_audit_event(session, audit);
  });
}

std::optional<SignInLink> ConsoleSessions::find_link(const std::string& token_hash, UtcMillis now) {
  return sql::first_of(database_->read([&](soci::session& session) {
    return sql::find_records(kSignInLinkFields, session,
                             "WHERE token_hash = :token_hash AND expires_at > :now", use(token_hash),
                             use(now));
  }));
}

std::optional<UserId> ConsoleSessions::create_by_link(const std::string& token_hash,
                                                      const std::string& former_id_hash,
                                                      ConsoleSession console_session, AuditEvent audit,
                                                      UtcMillis now) {
  return database_->write([&](soci::session& session) -> std::optional<UserId> {
    const auto user = sql::first_of(sql::select_column<UserId>(
        session,
        "DELETE FROM sign_in_link WHERE token_hash = :token_hash AND expires_at > :now RETURNING user_id",
        use(token_hash), use(now)));
    if (!user) return std::nullopt;
    console_session.user = *user;
    if (!insert_session(session, console_session)) return std::nullopt;
    end_session(session, former_id_hash);
    audit.user = *user;
    insert_audit_event(session, audit);
    return user;
  });
}

void ConsoleSessions::prune(UtcMillis now) {
  store::prune(*database_, {"session", "expires_at"}, now);
  store::prune(*database_, {"sign_in_link", "expires_at"}, now);
}

namespace {

/// Runs a statement that ends with RETURNING and these columns.
template <class... Used>
std::optional<SignInAttempt> returned_attempt(soci::session& session, const std::string& text,
                                              Used&&... used) {
  return sql::first_of(sql::select_records(
      kSignInAttemptFields, session, text + " RETURNING " + sql::select_list(kSignInAttemptFields), used...));
}

}  // namespace

void SignInAttempts::create(const SignInAttempt& attempt) {
  database_->write(
      [&](soci::session& session) { sql::insert_record(session, kSignInAttemptFields, attempt); });
}

std::optional<SignInAttempt> SignInAttempts::claim(const std::string& id_hash, const std::string& connection,
                                                   UtcMillis created_after, UtcMillis now) {
  return database_->write([&](soci::session& session) {
    return returned_attempt(session,
                            "UPDATE sign_in_attempt SET claimed_at = :now WHERE id_hash = :id_hash AND "
                            "connection = :connection AND created_at > :created_after AND claimed_at IS NULL",
                            use(now), use(id_hash), use(connection), use(created_after));
  });
}

bool SignInAttempts::finish(const std::string& id_hash, const std::string& outcome, UtcMillis now) {
  return database_->write([&](soci::session& session) {
    return sql::change_rows(
               session,
               "UPDATE sign_in_attempt SET outcome = :outcome, finished_at = :now WHERE id_hash = "
               ":id_hash AND claimed_at IS NOT NULL AND outcome = ''",
               use(outcome), use(now), use(id_hash)) > 0;
  });
}

std::optional<SignInAttempt> SignInAttempts::take(const std::string& id_hash, const std::string& browser_hash,
                                                  UtcMillis finished_after) {
  return database_->write([&](soci::session& session) {
    return returned_attempt(session,
                            "DELETE FROM sign_in_attempt WHERE id_hash = :id_hash AND browser_hash = "
                            ":browser_hash AND outcome <> '' AND finished_at > :finished_after",
                            use(id_hash), use(browser_hash), use(finished_after));
  });
}

void SignInAttempts::prune(UtcMillis before) {
  store::prune(*database_, {"sign_in_attempt", "created_at"}, before);
}

}  // namespace giftsync::store
