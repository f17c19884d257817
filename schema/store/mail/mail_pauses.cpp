#include "schema/store/mail/mail_pauses.h"

#include "platform/text.h"
#include "schema/sql/database.h"
#include "schema/store/statements/metadata.h"

namespace giftsync::store {
namespace {

using soci::use;

// In the store's metadata. The pause is three parts, each behind a line end: since, by, reason.
const std::string kPauseFact = "mail_admin_pause";
const std::string kEndedFact = "mail_admin_pause_ended_at";

UtcMillis time_of(const std::string& text) {
  return {parse_number<std::int64_t>(text).value_or(0)};
}

std::string stored_text(const MailPause& pause) {
  return std::to_string(pause.since.value) + "\n" + pause.by + "\n" + pause.reason;
}

std::optional<MailPause> read_pause(soci::session& session) {
  const std::optional<std::string> stored = read_metadata(session, kPauseFact);
  if (!stored) return std::nullopt;
  const std::size_t by = stored->find('\n') + 1;
  const std::size_t reason = stored->find('\n', by) + 1;
  return MailPause{time_of(stored->substr(0, by - 1)), stored->substr(by, reason - by - 1),
                   stored->substr(reason)};
}

}  // namespace

MailPauseState MailPauses::state() {
  return database_->read([](soci::session& session) {
    return MailPauseState{read_pause(session), time_of(read_metadata(session, kEndedFact).value_or(""))};
  });
}

bool MailPauses::begin(const MailPause& pause, const std::optional<AuditEvent>& audit) {
  const std::string text = stored_text(pause);
  return database_->write([&](soci::session& session) {
    if (sql::change_rows(session,
                         "INSERT INTO store_metadata (name, value) VALUES (:name, :value) ON CONFLICT (name) "
                         "DO NOTHING",
                         use(kPauseFact), use(text)) == 0)
      return false;
    if (audit) insert_audit_event(session, *audit);
    return true;
  });
}

std::optional<MailPause> MailPauses::end(UtcMillis now, const std::optional<AuditEvent>& audit,
                                         std::optional<UtcMillis> since) {
  return database_->write([&](soci::session& session) {
    std::optional<MailPause> pause = read_pause(session);
    if (!pause || (since && pause->since != *since)) return std::optional<MailPause>();
    const std::string text = stored_text(*pause);
    if (sql::change_rows(session, "DELETE FROM store_metadata WHERE name = :name AND value = :value",
                         use(kPauseFact, "name"), use(text, "value")) == 0)
      return std::optional<MailPause>();
    write_metadata(session, kEndedFact, std::to_string(now.value));
    if (audit) insert_audit_event(session, *audit);
    return pause;
  });
}

}  // namespace giftsync::store
