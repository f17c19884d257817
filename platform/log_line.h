// platform: what a log line consists of: the kind of its event, a sentence, and fields that programs look
// for. What may not log itself (sync, matching, the store) returns lines, and its caller logs them. The
// kinds are one table (log_events.cpp), from which docs/operations/events.md and the journal's message
// catalog are made (OPS-47).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace giftsync {

enum class LogLevel : std::uint8_t { info, warning, error };

/// The kinds of lines from level info on, in the order of their table.
enum class LogEvent : std::uint8_t {
  // A gift's way.
  gift_request_made,
  gift_matched,
  gift_unmatched,
  mail_accepted,
  reminder_accepted,
  gift_record_created,
  gift_record_updated,
  gifts_not_named,
  page_opened,
  gift_accepted,
  gift_donated,
  recipient_opted_out,
  recipient_opted_in,
  mail_undelivered,
  mail_uncertain,
  mail_waits,
  gift_record_refused,
  gift_record_deleted,
  gift_lookup_cleared,
  gift_sender_unknown,
  gift_task_refused,
  gift_task_deleted,
  gift_timer_refused,
  codes_exhausted,
  codes_low,
  foreign_decision_refused,
  timers_applied,
  held_request_expired,
  feed_begun,
  // Request records, keys and budgets.
  request_records_sent,
  request_record_not_sent,
  request_record_changed,
  request_record_refused,
  request_record_recent_gift,
  request_record_requester_lost,
  credential_paused,
  budget_used,
  // Outgoing webhooks.
  webhook_failing,
  webhook_recovered,
  webhook_disabled,
  webhook_event_given_up,
  webhook_events_lost,
  webhook_secret_unreadable,
  // Mail as a whole.
  mail_paused,
  mail_resumed,
  mail_paused_by_admin,
  mail_resumed_by_admin,
  alert_mailed,
  alert_not_mailed,
  alert_recipient_refused,
  relay_connection_rests,
  // The CRM as a whole.
  crm_questions_refused,
  crm_claims_lost,
  crm_rows_refused,
  crm_roles_changed,
  crm_roles_unknown,
  transaction_ids_raised,
  transaction_ids_unknown,
  orphaned_changes_applied,
  // Sources.
  source_works,
  source_incomplete,
  source_failing,
  source_message_refused,
  source_event_quarantined,
  source_reprocessed,
  source_begun_again,
  source_removed,
  source_health_not_saved,
  // HTTP and console.
  request_refused,
  many_requests_refused,
  request_failed,
  store_recovered,
  response_broken,
  server_overloaded,
  connections_wait,
  console_needs_crm,
  console_page_failed,
  sign_in_refused,
  sign_ins_limited,
  // The process.
  daemon_started,
  daemon_listens,
  daemon_stopping,
  daemon_stopped,
  daemon_failed,
  settings_reloaded,
  reload_refused,
  reload_waits,
  settings_warning,
  certificate_changed,
  certificate_refused,
  certificate_warning,
  certificate_not_valid,
  socket_unit_unused,
  daemon_record_kept,
  last_used_not_saved,
  worker_failing,
  worker_recovered,
  clock_doubted,
  clock_trusted,
  retry_times_reset,
  store_created,
  tables_upgraded,
  upgrade_goes_on,
  upgrade_part_done,
  upgrade_failing,
  secret_followed,
  secret_not_followed,
  secret_sealed_again,
  secret_dropped,
  secret_file_stuck,
  server_file_not_written,
  log_lines_lost,
};

/// One row of the table.
struct LogEventKind {
  LogEvent event;
  LogLevel level;
  std::string_view name;     ///< the enumerator
  std::string_view id;       ///< the journal's MESSAGE_ID: 32 hexadecimal digits, never changed
  std::string_view meaning;  ///< one sentence
  std::string_view step;     ///< what a person has to do; empty when nothing
  /// The fields that every line of the kind has: what it is about, for `journalctl TRANSACTION=17`. Others
  /// are of some lines only.
  std::string_view fields = {};  ///< "gift request"
};
/// Every kind, in the order of LogEvent.
std::span<const LogEventKind> log_event_kinds();
const LogEventKind& kind_of(LogEvent event);

/// A value of a log line that programs look for: `name=value` after the message in text, a member of its own
/// in JSON, NAME=value in the journal, where `gift` is TRANSACTION and `request` is GIFT_REQUEST. Each number
/// of a list is `name=value` in text and in the journal; in JSON they are an array. Empty texts and lists are
/// left out.
struct LogField {
  std::string_view name;  ///< a literal of small letters and underscores
  std::variant<std::int64_t, std::string, std::vector<std::int64_t>> value;
  bool is_shown_in_text = true;

  LogField(std::string_view its_name, std::int64_t number) : name(its_name), value(number) {}
  LogField(std::string_view its_name, std::string_view text) : name(its_name), value(std::string(text)) {}
  LogField(std::string_view its_name, const char* text) : LogField(its_name, std::string_view(text)) {}
  LogField(std::string_view its_name, std::vector<std::int64_t> numbers)
      : name(its_name), value(std::move(numbers)) {}

  /// For lines whose sentence names what the field has, and whose text is to stay as people know it.
  LogField not_in_text() && {
    is_shown_in_text = false;
    return std::move(*this);
  }
};

/// A line for the caller to log.
struct LogLine {
  LogEvent event;
  std::string message;
  std::vector<LogField> fields = {};
};

/// The first field that lines of this kind have and `fields` lacks; empty when none is missing.
std::string_view missing_field(const LogEventKind& kind, std::span<const LogField> fields);

/// A line about one source of status changes, after whose name `text` follows.
inline LogLine source_line(LogEvent event, const std::string& source, std::string_view text) {
  return {event, "source " + source + std::string(text), {LogField("source", source).not_in_text()}};
}

/// The gift of a line about one gift.
inline LogField gift_field(std::int64_t gift) {
  return LogField("gift", std::vector<std::int64_t>{gift});
}

}  // namespace giftsync
