// schema/crm: the CRM port. Batch-first, because a remote CRM charges per call: every function takes up to
// max_rows_per_call() rows and returns one result per row; one bad row never blocks the others. The port
// assumes no more than upserts of 200 rows by external id. A CRM that cannot be reached throws
// DependencyError. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "platform/dependency_error.h"
#include "schema/gift_record.h"
#include "schema/ids.h"
#include "schema/request_record.h"
#include "schema/status_times.h"

namespace giftsync::schema::crm {

inline constexpr std::size_t kCrmBatchSize = 200;
/// Candidates that are fetched per recipient and kind of field (MATCH-11).
inline constexpr std::size_t kMaxCandidates = 200;

enum class PersonObject { contact, lead };

struct OrderBy {
  std::string field;  ///< API name without prefix and suffix
  bool descending = true;
};

/// The fields of contacts (or leads) that are compared, and the order that decides between several
/// matches (MATCH-3, MATCH-10).
struct PersonMatchFields {
  std::vector<std::string> email_fields;
  std::vector<std::string> phone_fields;
  OrderBy order_by;
};

/// Whether and how an open opportunity is chosen from a contact's opportunity contact roles (MATCH-13).
struct OpportunityMatching {
  bool enabled = true;
  OrderBy order_by{"CloseDate", false};
};

struct MatchFields {
  PersonMatchFields contact;
  PersonMatchFields lead;
  std::string default_region;  ///< for phone numbers without a country
  OpportunityMatching opportunity = {};
};

/// The match keys of a recipient: email_key() and phone_key() of schema/contact_normalization.h; empty
/// ones match nothing.
struct RecipientMatchKeys {
  std::string email_key;
  std::string phone_key;
};

struct Candidate {
  std::string id;
  std::string name;            ///< for explanations
  std::string account_id;      ///< contacts; empty when there is none
  bool converted = false;      ///< leads
  std::string matched_field;   ///< the first configured field that matches
  std::string order_value;     ///< the order-by field as text, empty when null; for explanations
  bool account_exists = true;  ///< false: account_id refers to no existing account
};

/// Both lists are ordered by the configured field and direction, text without case, nulls last, then by
/// id, and have at most kMaxCandidates entries.
struct Candidates {
  std::vector<Candidate> by_email;
  std::vector<Candidate> by_phone;
};

/// An open opportunity of a contact.
struct Opportunity {
  std::string id;
  std::string name;
  std::string account_id;  ///< empty when there is none or it does not exist
  std::string stage;
  std::string order_value;  ///< the order-by field as text, empty when null; for explanations
};

/// The result of a lead conversion.
struct ConvertedLead {
  std::string lead_id;
  std::string contact_id;       ///< empty when the conversion names none
  bool contact_exists = false;  ///< the contact is in the CRM
  std::string contact_name;
  std::string account_id;  ///< the contact's; empty when there is none or it does not exist
};

struct CrmUser {
  std::string id;
  std::string name;
  std::string email;
  bool active = true;
};

/// One permission set that is assigned to a user (REQ-36).
struct PermissionSetAssignment {
  std::string permission_set;  ///< its API name, such as Standard_User
  bool active = true;
  std::optional<platform::UtcMillis> expires_at;
};

/// The outcome of one row of an upsert.
struct RowResult {
  enum class Kind {
    created,
    updated,
    unchanged,  ///< the CRM already has this version or a newer one
    not_found,  ///< it existed once and was deleted; nothing was written
    retry,      ///< a possibly temporary fault
    rejected,   ///< the CRM refuses the row as it is
  };
  Kind kind = Kind::retry;
  std::string reason;  ///< for not_found, retry and rejected
  /// Lookups that the CRM refused because their target was deleted or merged: they were left empty and
  /// the row was written without them (SYNC-17).
  std::vector<GiftField> cleared_lookups = {};
};

/// The refusal of a row whose Transaction Id belongs to a record that giftsync did not write
/// (GiftUpsert::may_adopt). The text is the same for the same gift, so that a stored refusal is
/// recognised.
RowResult id_conflict_result(TransactionId transaction);

/// One gift record to write. Of an existing record only the fields that giftsync owns are written, and an
/// absent value leaves the record's value where is_preserved_when_absent() says so. With `exists` a
/// deleted record is not created again.
struct GiftUpsert {
  GiftRecord record;
  bool exists = false;
  /// True for gifts that were sent elsewhere: a record with this Transaction Id that giftsync did not
  /// write belongs to the same gift. For giftsync's own gifts it is an unknown record: the row is
  /// rejected and the record stays unchanged.
  bool may_adopt = false;
};

/// An existing record that an admin's command relinks. Only these four lookups are written, and Deal
/// Stage when its two values differ.
struct GiftRelink {
  TransactionId transaction;
  Associations
      from;  ///< written only while the record still has these: a manual correction is never overwritten
  Associations to;
  std::string stage_from =
      {};  ///< Deal Stage is written only over this value; a record with another one is left unchanged
  std::string stage_to = {};  ///< of the opportunity in `to`; empty to clear it

  bool changes_stage() const { return stage_from != stage_to; }
  /// The target of the lookup does not exist; a stage is cleared with its opportunity.
  void clear_target(GiftField lookup) {
    clear_lookup(to, lookup);
    if (lookup == GiftField::opportunity) stage_to.clear();
  }
};

/// The one task of a gift (SYNC-30): its Related To is always the gift record of that transaction.
struct TaskUpsert {
  TransactionId transaction;
  bool exists =
      false;  ///< it was created before: if it is missing now, it was deleted and is not created again
  bool completed = false;  ///< `status` is written to an existing task as well, and nothing else
  std::string status;
  std::string type;
  std::string subject;
  std::string contact_id;  ///< its Name (WhoId); empty when no contact matched
  std::string owner_id;
};

struct Task {
  std::string id;
  TransactionId transaction;
  std::string what_id;  ///< the gift record's Id
  std::string who_id;
  std::string type;
  std::string status;
  std::string subject;
  std::string owner_id;
};

/// The status timestamps of a gift record.
struct GiftStatusTimes {
  TransactionId transaction;
  StatusTimes times;
};

struct StatusLogSize {
  std::int64_t rows = 0;
  std::int64_t without_gift = 0;  ///< rows without a Transaction Id above 0
};

/// The rows of the old status log (SYNC-59) for one gift and one status text.
struct StatusLogGroup {
  TransactionId transaction;
  std::string status_text;  ///< as stored there
  std::optional<platform::UtcMillis> earliest;
  std::optional<platform::UtcMillis> latest;
  std::int64_t rows = 0;
  std::int64_t implausible = 0;  ///< the number of rows without a time within the requested bounds
};

/// A contact or lead that a request record refers to.
struct Person {
  std::string id;
  std::string email;
  std::string first_name;
  std::string last_name;
  std::string account_id;  ///< contacts only
};

/// The record was inserted, updated or deleted. The event does not say which.
struct RequestRecordEvent {
  std::int64_t id = 0;
  std::string record_id;
};

/// A request record to create. It is created once per key: after an unknown outcome the caller repeats
/// the call.
struct NewRequestRecord {
  std::string creation_key;
  RequestRecord record;
};

/// Changes to an existing request record, written only while it still has the values that were read: its
/// approved fields, status, Auto-Approved and claim. Absent fields stay unchanged.
struct RequestRecordUpdate {
  RequestRecord expected;
  std::optional<RequestRecordStatus> status = std::nullopt;
  std::optional<std::string> error_log = std::nullopt;  ///< an empty text clears it
  std::optional<bool> auto_approved = std::nullopt;
  std::optional<std::string> item_link = std::nullopt;  ///< an empty text clears it
  std::optional<bool> claimed = std::nullopt;
};

class Crm {
 public:
  virtual ~Crm() = default;

  /// The maximum of rows per call. A CRM in giftsync's own database takes more than others, because the
  /// cost of a call is its commit.
  virtual std::size_t max_rows_per_call() const { return kCrmBatchSize; }

  /// One result per recipient, in their order.
  virtual std::vector<Candidates> find_candidates(PersonObject object,
                                                  std::span<const RecipientMatchKeys> recipients) = 0;

  /// For each contact the open opportunities of its opportunity contact roles, without duplicates,
  /// ordered like candidates; at most kMaxCandidates.
  virtual std::vector<std::vector<Opportunity>> find_open_opportunities(
      std::span<const std::string> contact_ids) = 0;

  /// The converted ones of these leads, in any order.
  virtual std::vector<ConvertedLead> find_converted_leads(std::span<const std::string> lead_ids) = 0;

  /// For each e-mail key the users with that address: active ones first, then by id.
  virtual std::vector<std::vector<CrmUser>> find_users_by_email(std::span<const std::string> email_keys) = 0;

  /// For each Id the user, also an inactive one.
  virtual std::vector<std::optional<CrmUser>> find_users_by_id(std::span<const std::string> ids) = 0;

  /// For each user (by Id) the assignments, also expired ones, in any order; nothing when giftsync
  /// cannot see the CRM's assignments: then it is unknown whether a user has a permission set.
  virtual std::optional<std::vector<std::vector<PermissionSetAssignment>>> permission_sets(
      std::span<const std::string> user_ids) = 0;

  /// Upserts by Transaction Id: exactly one record each, and never an older version over a newer one.
  virtual std::vector<RowResult> upsert_gift_records(std::span<const GiftUpsert> rows) = 0;

  /// Relinks existing records; a task whose Name is the old contact is updated as well. `updated`;
  /// `unchanged` when the record does not have `from`; or `not_found`.
  virtual std::vector<RowResult> relink_gift_records(std::span<const GiftRelink> rows) = 0;

  /// For each the lookups whose targets were deleted or merged in the CRM.
  virtual std::vector<std::vector<GiftField>> missing_lookups(std::span<const Associations> links) = 0;

  /// Upserts by RecipientTransactionId: exactly one task per gift. None is created for a gift record
  /// that does not exist (`not_found`); an existing one is completed without it.
  virtual std::vector<RowResult> upsert_tasks(std::span<const TaskUpsert> rows) = 0;

  /// Tasks of gifts with a Transaction Id above `after`, ascending.
  virtual std::vector<Task> tasks(TransactionId after, std::size_t limit) = 0;

  /// The existing gift records of these transactions, in any order.
  virtual std::vector<GiftRecord> find_gift_records(std::span<const TransactionId> transactions) = 0;

  /// Gift records with a Transaction Id above `after`, ascending.
  virtual std::vector<GiftRecord> gift_records(TransactionId after, std::size_t limit) = 0;

  /// Transaction Ids of gift records below `below`, descending.
  virtual std::vector<TransactionId> transaction_ids_below(TransactionId below, std::size_t limit) = 0;

  /// Transaction Ids of the gift records to `address` (an email_key in ASCII), ascending.
  virtual std::vector<TransactionId> transaction_ids_by_email(const std::string& address) = 0;

  virtual std::int64_t count_gift_records() = 0;

  /// Whether its gift records have this field; a missing field is never written and reads as absent.
  virtual bool has_field(GiftField) const { return true; }

  // Request records (REQ-1). Where has_request_records() is false the others throw DependencyError.

  virtual bool has_request_records() const { return false; }

  /// Change events of request records that were inserted, updated or deleted and that are not
  /// acknowledged, the oldest first. An event is never lost: neither a transaction that commits late
  /// nor a wrong clock hides one.
  virtual std::vector<RequestRecordEvent> request_record_events(std::size_t /*limit*/) {
    no_request_records();
  }
  /// Acknowledges change events that were processed.
  virtual void ack_request_record_events(std::span<const std::int64_t> /*event_ids*/) {
    no_request_records();
  }
  /// Creates a change event for each request record that waits for approval or sending.
  virtual void enqueue_open_request_records() { no_request_records(); }
  /// The existing ones, in any order.
  virtual std::vector<RequestRecord> find_request_records(std::span<const std::string> /*ids*/) {
    no_request_records();
  }
  /// By Request Number or Id.
  virtual std::optional<RequestRecord> find_request_record(const std::string& /*number_or_id*/) {
    no_request_records();
  }
  /// Request records with a number above `after`, in the order of their numbers; with one status, if
  /// given.
  virtual std::vector<RequestRecord> request_records(const std::string& /*after*/,
                                                     std::optional<RequestRecordStatus> /*status*/,
                                                     std::size_t /*limit*/) {
    no_request_records();
  }
  /// For each whether it was `updated`, is `unchanged` because it changed since it was read, or
  /// `not_found`. The claim uses this too: it decides between a daemon and a concurrent rejection.
  virtual std::vector<RowResult> update_request_records(std::span<const RequestRecordUpdate> /*rows*/) {
    no_request_records();
  }
  /// Creates the records with new keys; the CRM assigns Id, number and dates. Returns all of them with
  /// their current values.
  virtual std::vector<RequestRecord> create_request_records(std::span<const NewRequestRecord> /*rows*/) {
    no_request_records();
  }
  /// The existing ones, in any order.
  virtual std::vector<Person> find_persons(PersonObject /*object*/, std::span<const std::string> /*ids*/) {
    no_request_records();
  }
  /// The existing ones, also closed ones, in any order; without an order value.
  virtual std::vector<Opportunity> find_opportunities(std::span<const std::string> /*ids*/) {
    no_request_records();
  }

  // What backfills need besides these. They may take more than kCrmBatchSize rows; an adapter splits
  // them.

  /// Empty when the CRM has no such object; throws DependencyError when it lacks a required field.
  virtual std::optional<StatusLogSize> status_log_size() = 0;
  /// To be called before a long scan of the log: creates an index where giftsync owns the CRM.
  virtual void prepare_status_log() = 0;
  /// The log of gifts with a Transaction Id above `after`, ascending, at most `limit` spans. Times
  /// outside `from` to `to` count as implausible.
  virtual std::vector<StatusLogGroup> status_log(TransactionId after, std::size_t limit,
                                                 platform::UtcMillis from, platform::UtcMillis to) = 0;
  /// Of the existing records, in any order.
  virtual std::vector<GiftStatusTimes> find_status_times(std::span<const TransactionId> transactions) = 0;
  /// Writes these times into existing records, each only where the record has none at that moment.
  /// Returns the transactions whose record was changed.
  virtual std::vector<TransactionId> fill_status_times(std::span<const GiftStatusTimes> times) = 0;

 private:
  [[noreturn]] static void no_request_records() {
    throw platform::DependencyError(false, "not available: this CRM has no request_record table mapped");
  }
};

}  // namespace giftsync::schema::crm
