#include "schema/store/event/refused_messages.h"

#include <set>

#include "platform/digest.h"
#include "schema/sql/record_rows.h"
#include "schema/store/statements/claims.h"
#include "schema/store/statements/id_block.h"

namespace giftsync::store {
namespace {

using soci::use;

// One field a line.
// clang-format off
constexpr auto kRefusedMessageFields = record_fields(
    "refused_message",
    field<&RefusedMessage::id>("id"),
    field<&RefusedMessage::source>("source"),
    field<&RefusedMessage::message_id>("message_id"),
    field<&RefusedMessage::status>("status"),
    field<&RefusedMessage::reason>("reason"),
    field<&RefusedMessage::size>("size"),
    field<&RefusedMessage::body>("body"),
    field<&RefusedMessage::received_at>("received_at"));
// clang-format on

/// The body is stored as base64, since a text of PostgreSQL holds neither a zero byte nor invalid UTF-8.
template <class... Used>
std::vector<RefusedMessage> find_messages(soci::session& session, const std::string& rest, Used&&... used) {
  auto rows = sql::find_records(kRefusedMessageFields, session, rest, used...);
  for (RefusedMessage& message : rows) message.body = from_base64_text(message.body).value_or("");
  return rows;
}

void insert(soci::session& session, RefusedMessage message) {
  message.id = allocate_id(session, "refused_message");
  message.body = to_base64_text(message.body.substr(0, kMaxRefusedBodyBytes));
  sql::insert_record(session, kRefusedMessageFields, message);
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
    return find_messages(session, "WHERE source = :source ORDER BY id DESC LIMIT " + std::to_string(limit),
                         use(source));
  });
}

std::optional<RefusedMessage> RefusedMessages::find(const std::string& source, std::int64_t id) {
  return database_->read([&](soci::session& session) {
    return sql::first_of(find_messages(session, "WHERE source = :source AND id = :id", use(source), use(id)));
  });
}

void RefusedMessages::prune(UtcMillis before) {
  const auto has_older = [&](soci::session& session) {
    return sql::has_row(session, "refused_message WHERE received_at < :before", use(before));
  };
  write_if_any(*database_, has_older, [&](soci::session& session) {
    session << "DELETE FROM refused_message WHERE received_at < :before", use(before);
  });
}

}  // namespace giftsync::store
