#include "schema/store/event/refused_messages.h"

#include <set>

#include "platform/digest.h"
#include "schema/sql/queries.h"
#include "schema/store/statements/id_block.h"

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;

/// `rest`: a constant condition, order and limit. The body is stored as base64, since a text of PostgreSQL
/// holds neither a zero byte nor invalid UTF-8.
template <class... Used>
std::vector<RefusedMessage> select_messages(soci::session& session, const std::string& rest, Used&&... used) {
  RefusedMessage row;
  auto rows = sql::select_rows(
      row, session,
      "SELECT id, source, message_id, status, reason, size, body, received_at FROM refused_message WHERE " +
          rest,
      used..., into(row.id), into(row.source), into(row.message_id), into(row.status), into(row.reason),
      into(row.size), into(row.body), into(row.received_at));
  for (RefusedMessage& one : rows) one.body = from_base64_text(one.body).value_or("");
  return rows;
}

void insert(soci::session& session, const RefusedMessage& message) {
  const std::int64_t id = allocate_id(session, "refused_message");
  const std::string body = to_base64_text(message.body.substr(0, kMaxRefusedBodyBytes));
  session << "INSERT INTO refused_message (id, source, message_id, status, reason, size, body, received_at) "
             "VALUES (:id, :source, :message_id, :status, :reason, :size, :body, :received_at)",
      use(id), use(message.source), use(message.message_id), use(message.status), use(message.reason),
      use(message.size), use(body), use(message.received_at);
}

void delete_all_but_newest(soci::session& session, const std::string& source) {
  session << "DELETE FROM refused_message WHERE source = :source AND id NOT IN (SELECT id FROM "
             "refused_message WHERE source = :same ORDER BY id DESC LIMIT " +
                 std::to_string(kMaxRefusedPerSource) + ")",
      use(source), use(source);
}

}  // namespace

void insert_refused_messages(soci::session& session, std::span<const RefusedMessage> messages) {
  std::set<std::string> sources;
  for (const RefusedMessage& message : messages) {
    insert(session, message);
    sources.insert(message.source);
  }
  for (const std::string& source : sources) delete_all_but_newest(session, source);
}

std::vector<RefusedMessage> RefusedMessages::list(const std::string& source, std::size_t limit) {
  return database_->read([&](soci::session& session) {
    return select_messages(session, "source = :source ORDER BY id DESC LIMIT " + std::to_string(limit),
                           use(source));
  });
}

std::optional<RefusedMessage> RefusedMessages::find(const std::string& source, std::int64_t id) {
  return database_->read([&](soci::session& session) {
    return sql::first_of(select_messages(session, "source = :source AND id = :id", use(source), use(id)));
  });
}

void RefusedMessages::prune(UtcMillis before) {
  const auto has_older = [&](soci::session& session) {
    return sql::select_value<std::int64_t>(
               session, "SELECT count(*) FROM refused_message WHERE received_at < :before", use(before)) > 0;
  };
  if (!database_->read(has_older)) return;  // usual case; no write lock is taken
  database_->write([&](soci::session& session) {
    session << "DELETE FROM refused_message WHERE received_at < :before", use(before);
  });
}

}  // namespace giftsync::store
