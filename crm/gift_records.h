// crm: the gift records of a CRM, one for each transaction. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crm/row_result.h"
#include "crm/tasks.h"
#include "schema/enums.h"
#include "schema/gift_record.h"
#include "schema/ids.h"

namespace giftsync::crm {

/// The refusal of a row whose Transaction Id belongs to a record that giftsync did not write
/// (GiftUpsert::may_adopt). Its reason is id_conflict_reason().
RowResult id_conflict_result(TransactionId transaction);

/// Likewise of a row whose record in the CRM has a version that the store has never had.
RowResult newer_record_result(TransactionId transaction);

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
  /// RowResult::crm_id of an earlier write; may be empty. It saves the CRM the search for an existing record.
  /// A record that it does not name any more is searched by the Transaction Id.
  std::string crm_id = {};
  /// The gift's task. A CRM that creates the record may create the task in the same call, and says so in
  /// RowResult::task_crm_id; Tasks::upsert() makes the others.
  std::optional<TaskUpsert> task = {};
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

/// The status timestamps of a gift record.
struct GiftStatusTimes {
  TransactionId transaction;
  StatusTimes times;
};

class GiftRecords {
 public:
  virtual ~GiftRecords() = default;

  /// Upserts by Transaction Id: exactly one record each, and never an older version over a newer one.
  virtual std::vector<RowResult> upsert(std::span<const GiftUpsert> rows) = 0;

  /// Relinks existing records; a task whose Name is the old contact is updated as well. `updated`;
  /// `unchanged` when the record does not have `from`; or `not_found`.
  virtual std::vector<RowResult> relink(std::span<const GiftRelink> rows) = 0;

  /// For each the lookups whose targets were deleted or merged in the CRM.
  virtual std::vector<std::vector<GiftField>> missing_lookups(std::span<const Associations> links) = 0;

  /// The existing gift records of these transactions, in any order.
  virtual std::vector<GiftRecord> find(std::span<const TransactionId> transactions) = 0;

  /// Gift records with a Transaction Id above `after`, ascending.
  virtual std::vector<GiftRecord> page(TransactionId after, std::size_t limit) = 0;
  /// Those with this status; none where the records have no such field.
  virtual std::vector<GiftRecord> page_in_status(Status status, TransactionId after, std::size_t limit) = 0;

  /// Transaction Ids of gift records from `from` on and below `below`, ascending.
  virtual std::vector<TransactionId> transaction_ids_between(TransactionId from, TransactionId below,
                                                             std::size_t limit) = 0;

  /// Transaction Ids of gift records below `below`, descending.
  virtual std::vector<TransactionId> transaction_ids_below(TransactionId below, std::size_t limit) = 0;

  /// Transaction Ids of the gift records to `address` (an email_key in ASCII), ascending.
  virtual std::vector<TransactionId> transaction_ids_by_email(const std::string& address) = 0;

  /// Transaction Ids of the gift records that are linked to this contact, ascending.
  virtual std::vector<TransactionId> transaction_ids_by_contact(const std::string& contact) = 0;

  virtual std::int64_t count() = 0;

  /// Whether its gift records have this field; a missing field is never written and reads as absent.
  virtual bool has_field(GiftField) const { return true; }
  /// What the field holds after this value was written: CRMs cut, trim and round values. A record that holds
  /// either of them is as it should be.
  virtual FieldValue as_kept(GiftField, FieldValue value) const { return value; }

  // Backfills call these two with any number of rows; an adapter splits them.

  /// The times of the existing records, in any order.
  virtual std::vector<GiftStatusTimes> find_status_times(std::span<const TransactionId> transactions) = 0;
  /// Writes these times into existing records, each only where the record has none at that moment.
  /// Returns the transactions whose record was changed.
  virtual std::vector<TransactionId> fill_status_times(std::span<const GiftStatusTimes> times) = 0;
};

}  // namespace giftsync::crm
