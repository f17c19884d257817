// schema: the CRM as a port. Batch-first, because a remote CRM is paid by the call: every function takes up
// to rows_a_call() rows and answers for each row on its own; one bad row never holds up the others. Nothing
// here assumes more than 200-row upserts by external id. A CRM that cannot be reached throws BrokenWorld. Any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schema/broken_world.h"
#include "schema/gift_record.h"
#include "schema/ids.h"
#include "schema/request_record.h"
#include "schema/status_times.h"

namespace giftsync::schema {

inline constexpr std::size_t kCrmBatch = 200;
/// Candidates that are fetched for one recipient and one kind of field (design 3.2).
inline constexpr std::size_t kMaxCandidates = 200;

enum class PersonObject { contact, lead };

struct OrderBy {
  std::string field;  ///< API name without prefix and suffix
  bool descending = true;
};

/// Which fields of contacts (or leads) are compared, and who wins when several match (Spec 6.4).
struct PersonMatchFields {
  std::vector<std::string> email_fields;
  std::vector<std::string> phone_fields;
  OrderBy order_by;
};

/// Whether and how an open opportunity is chosen from a contact's opportunity contact roles (Spec 6.4.2).
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

/// A recipient as matching compares it: email_key() and phone_key() of schema/address.h; empty ones match
/// nothing.
struct RecipientKeys {
  std::string email_key;
  std::string phone_key;
};

struct Candidate {
  std::string id;
  std::string name;            ///< for explanations
  std::string account_id;      ///< contacts; empty when there is none
  bool converted = false;      ///< leads
  std::string matched_field;   ///< the first of the configured fields that is equal
  std::string order_value;     ///< the order-by field as text, empty when null; for explanations
  bool account_exists = true;  ///< false: account_id leads to no account of the CRM any more
};

/// Both lists are ordered by the configured field and direction, text without case, nulls last, then by id,
/// and hold at most kMaxCandidates.
struct Candidates {
  std::vector<Candidate> by_email;
  std::vector<Candidate> by_phone;
};

/// An open opportunity of a contact.
struct Opportunity {
  std::string id;
  std::string name;
  std::string account_id;  ///< empty when there is none, or none that exists
  std::string stage;
  std::string order_value;  ///< the order-by field as text, empty when null; for explanations
};

/// Where a converted lead went.
struct ConvertedLead {
  std::string lead_id;
  std::string contact_id;       ///< empty when the conversion names none
  bool contact_exists = false;  ///< the contact is in the CRM
  std::string contact_name;
  std::string account_id;  ///< the contact's; empty when there is none, or none that exists
};

struct CrmUser {
  std::string id;
  std::string name;
  std::string email;
  bool active = true;
};

/// One permission set that a user was given (Spec 5.6).
struct PermissionSetAssignment {
  std::string permission_set;  ///< its API name, such as Standard_User
  bool active = true;
  std::optional<UtcMillis> expires_at;
};

/// What became of one row of an upsert.
struct RowResult {
  enum class Kind {
    created,
    updated,
    unchanged,  ///< the CRM already holds this version or a newer one
    gone,       ///< it was there once and somebody deleted it; nothing was written
    retry,      ///< a fault that may pass
    rejected,   ///< the CRM refuses the row as it is
  };
  Kind kind = Kind::retry;
  std::string reason;  ///< for gone, retry and rejected
  /// Lookups that the CRM refused, because what they point to was deleted or merged: they were left empty and
  /// the row was written without them (design 3.2).
  std::vector<GiftField> cleared = {};
};

/// The refusal of a row that meets a record which giftsync did not write (GiftUpsert::may_take_over): the
/// same words for the same gift, so that the refusal is known again where it was kept.
RowResult refused_for_strangers_record(TransactionId transaction);

/// One gift record to write. Of one that is there only the fields that giftsync owns are written, and an
/// absent one leaves what the record has where is_left_when_absent() says so. With `exists` it is not made
/// again.
struct GiftUpsert {
  GiftRecord record;
  bool exists = false;
  /// A record of this Transaction Id that giftsync did not write is the same gift's, as it may be of gifts
  /// that were sent elsewhere. Of ours it is somebody else's: then the row is rejected, and the record left
  /// as it is.
  bool may_take_over = false;
};

/// An existing record that an admin's command links anew. These four lookups are written and nothing else,
/// but for Deal Stage where its two differ.
struct GiftRelink {
  TransactionId transaction;
  Associations from;  ///< written only while the record still holds these: nobody's correction is overwritten
  Associations to;
  std::string stage_from = {};  ///< Deal Stage is written only over this one; a record with another keeps it
  std::string stage_to = {};    ///< of the opportunity in `to`; empty to clear it

  bool moves_stage() const { return stage_from != stage_to; }
  /// What the lookup was to point to is not there; a stage goes with its opportunity.
  void clear_target(GiftField lookup) {
    clear(to, lookup);
    if (lookup == GiftField::opportunity) stage_to.clear();
  }
};

/// The one task of a gift (Spec 6.5): its Related To is the gift record of that transaction, always.
struct TaskUpsert {
  TransactionId transaction;
  bool exists = false;     ///< it was made once: when it is not there any more it is gone, not made again
  bool completed = false;  ///< `status` is written to an existing task too, and nothing else of it
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

/// The status timestamps that a gift record holds.
struct RecordTimes {
  TransactionId transaction;
  StatusTimes times;
};

struct StatusLogSize {
  std::int64_t rows = 0;
  std::int64_t without_gift = 0;  ///< rows that name no Transaction Id above 0
};

/// What the old status log (Spec 9.2) says of one gift with one word.
struct StatusLogSpan {
  TransactionId transaction;
  std::string word;  ///< as it stands there
  std::optional<UtcMillis> earliest;
  std::optional<UtcMillis> latest;
  std::int64_t rows = 0;
  std::int64_t unbelievable = 0;  ///< of the rows: those without a time within the bounds that were asked for
};

/// A contact or lead as a request names it.
struct Person {
  std::string id;
  std::string email;
  std::string first_name;
  std::string last_name;
  std::string account_id;  ///< contacts only
};

/// Something happened to the request `request_id`; nobody says what.
struct RequestNote {
  std::int64_t id = 0;
  std::string request_id;
};

/// A request to be made. It is made once under its key, whatever breaks: whoever is unsure asks again.
struct NewRequest {
  std::string creation_key;
  RequestRecord record;
};

/// Changes to a request that exists, written only while it still is what was read: its approved fields,
/// status, Auto-Approved and claim. What is absent is left alone.
struct RequestWrite {
  RequestRecord as_read;
  std::optional<RequestStatus> status = std::nullopt;
  std::optional<std::string> error_log = std::nullopt;  ///< an empty text clears it
  std::optional<bool> auto_approved = std::nullopt;
  std::optional<std::string> item_link = std::nullopt;  ///< an empty text clears it
  std::optional<bool> claimed = std::nullopt;
};

class Crm {
 public:
  virtual ~Crm() = default;

  /// How many rows a call takes. One in our own database takes more than others, because what a call costs
  /// there is the commit.
  virtual std::size_t rows_a_call() const { return kCrmBatch; }

  /// One answer for each recipient, in their order.
  virtual std::vector<Candidates> find_candidates(PersonObject object,
                                                  std::span<const RecipientKeys> recipients) = 0;

  /// For each contact the open opportunities that its opportunity contact roles lead to, each once, ordered
  /// as candidates are; at most kMaxCandidates.
  virtual std::vector<std::vector<Opportunity>> open_opportunities(
      std::span<const std::string> contact_ids) = 0;

  /// Those of the leads that were converted, in any order.
  virtual std::vector<ConvertedLead> converted_leads(std::span<const std::string> lead_ids) = 0;

  /// For each e-mail key the users with that address: active ones first, then by id.
  virtual std::vector<std::vector<CrmUser>> find_users(std::span<const std::string> email_keys) = 0;

  /// For each Id the user, inactive ones too.
  virtual std::vector<std::optional<CrmUser>> users_by_id(std::span<const std::string> ids) = 0;

  /// For each user (by Id) the assignments, ended ones too, in any order; nothing at all when the CRM keeps
  /// none that giftsync could see: whether a user holds a permission set is then unknown.
  virtual std::optional<std::vector<std::vector<PermissionSetAssignment>>> permission_sets(
      std::span<const std::string> user_ids) = 0;

  /// Upserts by Transaction Id: exactly one record for each, and never an older version over a newer one.
  virtual std::vector<RowResult> upsert_gift_records(std::span<const GiftUpsert> rows) = 0;

  /// Links existing records anew; a task whose Name is the old contact follows. `updated`; `unchanged`
  /// when the record does not hold `from`; or `gone`.
  virtual std::vector<RowResult> relink_gift_records(std::span<const GiftRelink> rows) = 0;

  /// For each which of its four lookups lead to rows that are not in the CRM any more, deleted or merged.
  virtual std::vector<std::vector<GiftField>> lost_lookups(std::span<const Associations> links) = 0;

  /// Upserts by RecipientTransactionId: exactly one task for each gift. None is made for a gift record that
  /// does not exist (`gone`); one that was made is completed without it.
  virtual std::vector<RowResult> upsert_tasks(std::span<const TaskUpsert> rows) = 0;

  /// Tasks of gifts with a Transaction Id above `after`, in its order.
  virtual std::vector<Task> tasks(TransactionId after, std::size_t limit) = 0;

  /// The gift records that exist of these transactions, in any order.
  virtual std::vector<GiftRecord> find_gift_records(std::span<const TransactionId> transactions) = 0;

  /// Gift records with a Transaction Id above `after`, in its order.
  virtual std::vector<GiftRecord> gift_records(TransactionId after, std::size_t limit) = 0;

  /// Transaction Ids of gift records below `below`, the highest first.
  virtual std::vector<TransactionId> transaction_ids_below(TransactionId below, std::size_t limit) = 0;

  /// Transaction Ids of the gift records to `address` (an email_key in ASCII), in their order.
  virtual std::vector<TransactionId> transaction_ids_to(const std::string& address) = 0;

  virtual std::int64_t count_gift_records() = 0;

  /// Whether its gift records have this field; what they do not have is never written and reads as absent.
  virtual bool has_field(GiftField) const { return true; }

  // Request records (Spec 2.6). Where has_requests() is false the others throw BrokenWorld.

  virtual bool has_requests() const { return false; }

  /// Requests that somebody made, changed or deleted since their notes were settled, the oldest first. A note
  /// is never lost: neither a transaction that ends late nor a wrong clock hides one.
  virtual std::vector<RequestNote> request_notes(std::size_t /*limit*/) { no_requests(); }
  /// Notes whose requests have been seen to.
  virtual void settle_request_notes(std::span<const std::int64_t> /*notes*/) { no_requests(); }
  /// Makes a note of each request that waits to be approved or sent.
  virtual void note_open_requests() { no_requests(); }
  /// Those that exist, in any order.
  virtual std::vector<RequestRecord> find_requests(std::span<const std::string> /*ids*/) { no_requests(); }
  /// By Request Number or Id.
  virtual std::optional<RequestRecord> find_request(const std::string& /*number_or_id*/) { no_requests(); }
  /// Requests, in the order of their numbers, with a number above `after`; with one status, if given.
  virtual std::vector<RequestRecord> requests(const std::string& /*after*/,
                                              std::optional<RequestStatus> /*status*/,
                                              std::size_t /*limit*/) {
    no_requests();
  }
  /// For each whether it was `updated`, is `unchanged` because somebody changed it since it was read, or
  /// `gone`. This is the claim too: it decides between a daemon and whoever rejects at the same moment.
  virtual std::vector<RowResult> write_requests(std::span<const RequestWrite> /*rows*/) { no_requests(); }
  /// Makes those whose keys are new; Id, number and dates are the CRM's. Returns all of them as they are
  /// then.
  virtual std::vector<RequestRecord> create_requests(std::span<const NewRequest> /*rows*/) { no_requests(); }
  /// Those that exist, in any order.
  virtual std::vector<Person> find_people(PersonObject /*object*/, std::span<const std::string> /*ids*/) {
    no_requests();
  }
  /// Those that exist, closed ones too, in any order; without an order value.
  virtual std::vector<Opportunity> find_opportunities(std::span<const std::string> /*ids*/) { no_requests(); }

  // What backfills need beside these. They may take more than kCrmBatch rows; an adapter splits them.

  /// Empty when the CRM has no such object; throws BrokenWorld when it lacks a field that is needed.
  virtual std::optional<StatusLogSize> status_log_size() = 0;
  /// Called before a long walk through the log: makes it fast where the CRM's owner is giftsync.
  virtual void prepare_status_log() = 0;
  /// The log of gifts with a Transaction Id above `after`, in its order, at most `limit` spans. Times outside
  /// `from` to `to` count as unbelievable.
  virtual std::vector<StatusLogSpan> status_log(TransactionId after, std::size_t limit, UtcMillis from,
                                                UtcMillis to) = 0;
  /// Of the records that exist, in any order.
  virtual std::vector<RecordTimes> record_times(std::span<const TransactionId> transactions) = 0;
  /// Writes these times into records that exist, each only where the record has none at that moment. Returns
  /// the transactions whose record was touched.
  virtual std::vector<TransactionId> fill_record_times(std::span<const RecordTimes> times) = 0;

 private:
  [[noreturn]] static void no_requests() {
    throw BrokenWorld(false, "not available: this CRM has no request_record table mapped");
  }
};

}  // namespace giftsync::schema
