// crm/salesforce: writes gift records in rounds: ask what is not known, write, look at what the org
// refused, at most three times. A new record is created on its unique Transaction Id, an existing one is
// updated by its record Id with the fields that giftsync owns. Tasks are created with new records (ORG-20).
// In bare mode (ORG-9) rows that are older than the store's newest version are left out, and where the
// Transaction Id is not unique a new record is looked up first and then created by upsert. One call at a
// time; the object is made for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crm/gift_records.h"
#include "crm/row_result.h"
#include "crm/salesforce/calls/answers.h"
#include "crm/salesforce/calls/api_names.h"
#include "crm/salesforce/calls/error_class.h"
#include "crm/salesforce/calls/org_calls.h"
#include "crm/salesforce/calls/record_json.h"
#include "crm/salesforce/calls/row_writes.h"
#include "crm/salesforce/records/bare_writes.h"
#include "schema/gift_record.h"

namespace giftsync::salesforce {

/// One gift while it is written. `id` of a row that exists comes from an earlier write: a record that it does
/// not name any more is looked up.
struct GiftWrite {
  enum class Next {
    look_up,        ///< its record by its Transaction Id
    check_lookups,  ///< which targets are lost
    create,
    update,
    done
  };
  Next next = Next::create;
  std::size_t row = 0;  ///< of the rows given
  GiftRecord record;
  bool is_older = false;  ///< the store has a newer version: the record is only looked for
  bool exists = false;
  bool may_adopt = false;
  std::string id;
  std::vector<GiftField> left_out;         ///< fields that the org refuses
  std::vector<GiftField> cleared;          ///< lookups among them
  std::vector<GiftField> refused_lookups;  ///< that an error named
  std::string refusal;                     ///< the words of the last error
  std::int64_t retry_after_millis = 0;     ///< after it
  bool is_duplicate = false;               ///< the org said that the record is there already
  bool may_be_ours = false;                ///< a lost answer may have created it
  std::optional<crm::TaskUpsert> task;     ///< to be created with the record
  crm::RowResult result;
};

/// The record that has a gift's Transaction Id.
struct FoundGift {
  std::string id;
  std::int64_t version = 0;  ///< 0 in bare mode
  bool is_ours = false;      ///< giftsync wrote it
  std::size_t count = 1;     ///< of records with the Transaction Id
};

class GiftUpserts {
 public:
  /// `turn` outlives this object. `has_tasks`: as of SalesforceTasks.
  GiftUpserts(OrgCalls& calls, const ApiNames& names, const WriteContext& turn, bool has_tasks)
      : calls_(calls), names_(names), turn_(turn), has_tasks_(has_tasks) {}

  std::vector<crm::RowResult> run(std::span<const crm::GiftUpsert> rows);

 private:
  void plan(std::span<const crm::GiftUpsert> rows);
  void leave_out_older_versions();
  FoundGift found_gift(const GiftWrite& gift, const ReadRecord<GiftRecord>& read) const;
  WriteRow creation(const GiftWrite& gift) const;
  void round();
  bool leaves_out_more();
  void look_up();
  void check_lookups();
  void write();
  std::vector<GiftWrite*> add_tasks(const std::vector<GiftWrite*>& gifts, std::vector<WriteRow>& rows) const;
  void take(GiftWrite& gift, const RowWrite& write);
  std::vector<GiftWrite*> with(GiftWrite::Next next);

  OrgCalls& calls_;
  const ApiNames& names_;
  const WriteContext& turn_;
  const bool has_tasks_;
  std::vector<GiftWrite> gifts_;
  std::vector<crm::RowResult> results_;
  bool has_results_ = false;
  std::optional<bool> leaves_out_more_;  ///< than when this round's rows were written; nullopt: not looked
};

/// What follows from an error of a row; the row is done, or says what is next.
void classify_failure(GiftWrite& gift, const ApiError& error, ErrorClass error_class, const ApiNames& names);
/// What follows from the record that has the gift's Transaction Id; nullopt: there is none.
void resolve_existing(GiftWrite& gift, const std::optional<FoundGift>& found);
void finish(GiftWrite& gift, crm::RowResult::Kind kind, std::string reason = {},
            std::int64_t retry_after_millis = 0);
/// The row is written without this lookup, which is reported.
void clear(GiftWrite& gift, GiftField lookup);

}  // namespace giftsync::salesforce
