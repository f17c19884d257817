// schema/crm: the CRM port. A CRM has parts, one interface each; a function takes the part that it needs.
// Batch-first, because a remote CRM charges per call: functions take up to as many rows as pace() allows and
// return one result per row; one bad row never blocks the others. The port assumes no more than upserts of
// 200 rows by external id. A CRM that cannot be reached throws DependencyError. Any thread.
#pragma once

#include <cstddef>

#include "schema/crm/directory.h"
#include "schema/crm/gift_records.h"
#include "schema/crm/legacy_status_log.h"
#include "schema/crm/request_records.h"
#include "schema/crm/tasks.h"

namespace giftsync::schema::crm {

inline constexpr std::size_t kCrmBatchSize = 200;

class Crm {
 public:
  virtual ~Crm() = default;

  /// The maximum of rows per call. A CRM in giftsync's own database takes more than others, because the
  /// cost of a call is its commit.
  virtual std::size_t max_rows_per_call() const { return kCrmBatchSize; }

  virtual Directory& directory() = 0;
  virtual GiftRecords& gift_records() = 0;
  virtual Tasks& tasks() = 0;
  /// Null when the CRM has no request records.
  virtual RequestRecords* request_records() { return nullptr; }
  /// Null when the CRM has no such object. Asks the CRM.
  virtual LegacyStatusLog* legacy_status_log() { return nullptr; }
};

}  // namespace giftsync::schema::crm
