#include "schema/store/sign_in_attempts.h"

#include "schema/sql/queries.h"
#include "schema/store/pruning.h"

namespace giftsync::schema::store {
namespace {

using soci::into;
using soci::use;

/// Runs a statement that ends with RETURNING and these columns.
template <class... Used>
std::optional<SignInAttempt> returned_attempt(soci::session& session, const std::string& text,
                                              Used&&... used) {
  SignInAttempt row;
  return sql::first_of(sql::select_rows(
      row, session,
      text +
          " RETURNING id_hash, connection, browser_hash, nonce, pkce_verifier, saml_request_id, return_path, "
          "must_reauthenticate, outcome, created_at",
      used..., into(row.id_hash), into(row.connection), into(row.browser_hash), into(row.nonce),
      into(row.pkce_verifier), into(row.saml_request_id), into(row.return_path),
      into(row.must_reauthenticate), into(row.outcome), into(row.created_at)));
}

}  // namespace

void SignInAttempts::create(const SignInAttempt& attempt) {
  database_->write([&](soci::session& session) {
    session << "INSERT INTO sign_in_attempt (id_hash, connection, browser_hash, nonce, pkce_verifier, "
               "saml_request_id, return_path, must_reauthenticate, outcome, created_at) VALUES (:id_hash, "
               ":connection, :browser_hash, :nonce, :pkce_verifier, :saml_request_id, :return_path, "
               ":must_reauthenticate, '', :created_at)",
        use(attempt.id_hash), use(attempt.connection), use(attempt.browser_hash), use(attempt.nonce),
        use(attempt.pkce_verifier), use(attempt.saml_request_id), use(attempt.return_path),
        use(attempt.must_reauthenticate), use(attempt.created_at);
  });
}

std::optional<SignInAttempt> SignInAttempts::claim(const std::string& id_hash, const std::string& connection,
                                                   platform::UtcMillis created_after,
                                                   platform::UtcMillis now) {
  return database_->write([&](soci::session& session) {
    return returned_attempt(session,
                            "UPDATE sign_in_attempt SET claimed_at = :now WHERE id_hash = :id_hash AND "
                            "connection = :connection AND created_at > :created_after AND claimed_at IS NULL",
                            use(now), use(id_hash), use(connection), use(created_after));
  });
}

bool SignInAttempts::finish(const std::string& id_hash, const std::string& outcome, platform::UtcMillis now) {
  return database_->write([&](soci::session& session) {
    return sql::change_rows(
               session,
               "UPDATE sign_in_attempt SET outcome = :outcome, finished_at = :now WHERE id_hash = "
               ":id_hash AND claimed_at IS NOT NULL AND outcome = ''",
               use(outcome), use(now), use(id_hash)) > 0;
  });
}

std::optional<SignInAttempt> SignInAttempts::take(const std::string& id_hash, const std::string& browser_hash,
                                                  platform::UtcMillis finished_after) {
  return database_->write([&](soci::session& session) {
    return returned_attempt(session,
                            "DELETE FROM sign_in_attempt WHERE id_hash = :id_hash AND browser_hash = "
                            ":browser_hash AND outcome <> '' AND finished_at > :finished_after",
                            use(id_hash), use(browser_hash), use(finished_after));
  });
}

void SignInAttempts::prune(platform::UtcMillis before) {
  store::prune(*database_, {"sign_in_attempt", "created_at"}, before);
}

}  // namespace giftsync::schema::store
