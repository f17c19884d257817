#include "schema/store/account/message_tokens.h"

#include "schema/sql/queries.h"
#include "schema/store/statements/id_block.h"

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;

bool has_current(soci::session& session) {
  return sql::select_value<std::int64_t>(
             session, "SELECT count(*) FROM crm_message_token WHERE expires_at IS NULL") > 0;
}

void insert(soci::session& session, std::int64_t id, const MessageToken& token) {
  session << "INSERT INTO crm_message_token (id, prefix, hash, created_at) VALUES (:id, :prefix, :hash, "
             ":created_at)",
      use(id), use(token.prefix), use(token.hash), use(token.created_at);
}

}  // namespace

bool MessageTokens::create(const MessageToken& token) {
  return database_->write([&](soci::session& session) {
    // First: two commands at the same time wait for each other at this row.
    const std::int64_t id = allocate_id(session, "crm_message_token");
    if (has_current(session)) return false;
    insert(session, id, token);
    return true;
  });
}

bool MessageTokens::rotate(const MessageToken& token, std::optional<UtcMillis> former_ends_at) {
  return database_->write([&](soci::session& session) {
    const std::int64_t id = allocate_id(session, "crm_message_token");
    if (!has_current(session)) return false;
    session << "DELETE FROM crm_message_token WHERE expires_at IS NOT NULL";
    if (former_ends_at)
      session << "UPDATE crm_message_token SET expires_at = :ends_at", use(*former_ends_at);
    else
      session << "DELETE FROM crm_message_token";
    insert(session, id, token);
    return true;
  });
}

void MessageTokens::remove(std::int64_t id) {
  database_->write(
      [&](soci::session& session) { session << "DELETE FROM crm_message_token WHERE id = :id", use(id); });
}

std::vector<MessageToken> MessageTokens::list() {
  return database_->read([](soci::session& session) {
    MessageToken row;
    return sql::select_rows(
        row, session,
        "SELECT id, prefix, hash, created_at, expires_at, last_used_at FROM crm_message_token ORDER BY id",
        into(row.id), into(row.prefix), into(row.hash), into(row.created_at), into(row.expires_at),
        into(row.last_used_at));
  });
}

}  // namespace giftsync::store
