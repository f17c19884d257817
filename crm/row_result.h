// crm: the outcome of one row that is written to the CRM.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schema/gift_record.h"

namespace giftsync::crm {

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
  /// The record's Id in the CRM. Empty where the CRM did not say it, and from a CRM that needs none: it finds
  /// records by their Transaction Id.
  std::string crm_id = {};
  /// After retry and rejected: another try before then would only cost a call. 0: whenever the caller likes.
  std::int64_t retry_after_millis = 0;
  /// With unchanged: the record's version is above that of the row, not equal to it.
  bool is_newer_in_crm = false;
  /// With created: the Id of the task that was created with the record; empty: none was.
  std::string task_crm_id = {};
};

}  // namespace giftsync::crm
