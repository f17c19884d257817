// schema/store: the state of the CRM's request records (REQ-24): state, approved content, transitions, and
// the gift that was sent. Everything here survives the record itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/time.h"
#include "schema/request_record.h"
#include "schema/store/gift/gift_requests.h"
#include "schema/store/statements/audit_log.h"

namespace soci {
class session;
}

namespace giftsync::store {

/// The state of a request record (diagram in sync/request/request_record_state_machine.h). A claimed one
/// shows Approved in the CRM.
enum class RequestRecordState { pending, approved, claimed, rejected, sent };
inline constexpr std::array<RequestRecordState, 5> kAllRequestRecordStates{
    RequestRecordState::pending, RequestRecordState::approved, RequestRecordState::claimed,
    RequestRecordState::rejected, RequestRecordState::sent};
std::string_view to_word(RequestRecordState state);

/// The kind of an approval.
enum class Approval { none, automatic, person };
std::string_view to_word(Approval approval);

struct RequestRecordEntry {
  std::string record_id;  ///< the record's Id in the CRM
  std::string number;
  RequestRecordState state = RequestRecordState::pending;
  RequestRecordStatus crm_status = RequestRecordStatus::pending;  ///< the value that the CRM last had
  Approval approval = Approval::none;
  std::string approved_by;
  std::string
      approved_content;      ///< the content that the approval binds to, or the one that was changed after it
  std::string seen_content;  ///< while it is pending or approved: the content when it was last read
  std::string gift_request_text;  ///< what is sent after the claim
  std::string requested_by;       ///< who created it by command or over HTTP; empty: created in the CRM
  std::string error;              ///< as in the record's Error Log
  std::int64_t failures = 0;
  std::optional<UtcMillis> next_attempt_at;  ///< when it is reconciled next without an event
  bool deleted = false;                      ///< in the CRM
  std::int64_t version = 0;                  ///< 0: not stored yet
  friend bool operator==(const RequestRecordEntry&, const RequestRecordEntry&) = default;
};

struct RequestRecordTransition {
  UtcMillis at;
  std::string who;
  std::string from;  ///< spelling of the state
  std::string to;
  std::string comment;
  friend bool operator==(const RequestRecordTransition&, const RequestRecordTransition&) = default;
};

/// Values that were edited in the CRM (CON-54).
struct RequestRecordEdit {
  UtcMillis at;     ///< when it was read
  std::string who;  ///< empty: not known
  /// A record with the edited fields alone, as format_values() of approval_bound_fields().
  std::string before;
  std::string after;
};

/// `next.version` is the version that was read: a newer one is never overwritten.
struct RequestRecordEntryUpdate {
  RequestRecordEntry next;
  std::vector<RequestRecordTransition> transitions;
  std::optional<AuditEvent> audit = {};        ///< inserted with them
  std::optional<RequestRecordEdit> edit = {};  ///< likewise
};

/// A filter of the console: the state, or the ones with an Error Log that are not sent or rejected and do not
/// only wait again (kUncheckedError, kChangedError), or all states; and in these, unless all of its fields
/// are empty, a search: of several the last one counts.
struct RequestRecordFilter {
  RequestRecordState state = RequestRecordState::pending;
  bool has_error = false;
  bool is_any_state = false;
  std::string number = {};                 ///< as it is, or as complete_request_number() completes it
  std::optional<TransactionId> gift = {};  ///< the one for which it was sent
  /// An e-mail address: of the account that asked for the record, or of the recipient of the gift that was
  /// sent for it.
  std::string person = {};
};

struct ListedRequestRecord {
  std::string record_id;
  std::string number;
  RequestRecordState state = RequestRecordState::pending;
  std::string requested_by;
  std::string error;
  UtcMillis since;  ///< when it came into this state
};

struct CreationReservation {
  bool is_mismatch = false;  ///< the Idempotency-Key was used for another body
  std::string creation_key;
  std::string record_id;  ///< the record's Id, when the record is known to exist
  std::string number;
};

struct CreatedRequestRecord {
  std::string record_id;  ///< the record's Id
  std::string number;
  std::string requested_by;
  std::string creation_key;
};

class RequestRecords {
 public:
  explicit RequestRecords(std::shared_ptr<sql::Database> database);

  /// The stored states, in any order.
  std::vector<RequestRecordEntry> find(std::span<const std::string> record_ids);
  /// One transaction, but each state is saved on its own; returns the ids of the saved ones, which then
  /// have version + 1.
  std::set<std::string> save(std::span<const RequestRecordEntryUpdate> changes);
  /// Ids of the records that are due, the longest due first.
  std::vector<std::string> find_due(UtcMillis now, std::size_t limit);
  /// Makes records due that wait until after `latest`; returns how many.
  std::int64_t reset_scheduled_after(UtcMillis latest, UtcMillis now);
  /// Makes approved records due whose last attempt failed, also those that wait for an edit; returns how
  /// many. A step that is reading one of them meanwhile reads it again.
  std::int64_t retry_failed(std::span<const std::string> record_ids, UtcMillis now);
  /// The same for all of them, except those whose error begins with `except_error`.
  std::int64_t retry_all_failed(const std::string& except_error, UtcMillis now);
  /// By Request Number or Id.
  std::optional<RequestRecordEntry> find_by_number_or_id(const std::string& number_or_id);

  /// The ones that the viewer sees, by descending number, below `before` unless that is empty. `owner`: as
  /// request_records_condition() takes it.
  std::vector<ListedRequestRecord> list(const Viewer& viewer, std::optional<OrganizationId> owner,
                                        const RequestRecordFilter& filter, const std::string& before,
                                        std::size_t limit);
  /// By Request Number, else Id; nothing when the viewer does not see it.
  std::optional<RequestRecordEntry> find(const Viewer& viewer, std::optional<OrganizationId> owner,
                                         const std::string& number_or_id);

  /// The creation key under which the CRM creates the caller's record: the stored one for a known
  /// Idempotency-Key, else `new_creation_key`. Durable on return.
  CreationReservation reserve_creation_key(AccountId account, const IdempotencyKey& idempotency,
                                           const std::string& new_creation_key, UtcMillis now);
  /// Records who requested a record, whose state may be stored already; a repeated request under its
  /// creation key gets this Id from now on.
  void record_created(const CreatedRequestRecord& made, UtcMillis now);
  /// Deletes Idempotency-Keys older than `before`; returns how many.
  std::int64_t prune_idempotency(UtcMillis before);

  /// The database's own clock: daemons and commands compare announcements by it.
  UtcMillis now();
  /// The oldest first.
  std::vector<RequestRecordTransition> find_transitions(const std::string& record_id);
  /// The newest edits, at most `limit`; the oldest of them first.
  std::vector<RequestRecordEdit> find_edits(const std::string& record_id, std::size_t limit);

  /// The ones of these records that a gift was sent for.
  std::vector<RequestRecordGift> find_gifts_by_record(std::span<const std::string> record_ids);
  /// The ones of these gift requests that were sent for a record.
  std::vector<RequestRecordGift> find_gifts_by_request(std::span<const GiftRequestId> requests);

 private:
  std::shared_ptr<sql::Database> database_;
};

// Keeps what approvers are mailed of a request record true after an edit (CON-31).

/// After an edit of the item or of what it costs: the record's notices name the new item and no cost. Those
/// of a mail that may have left stay, because a repeat has the same bytes.
void update_noticed_content(soci::session& session, const std::string& record_id,
                            const RequestRecordEdit& edit);

}  // namespace giftsync::store
