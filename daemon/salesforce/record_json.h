// daemon/salesforce: gift records, tasks and request records as rows of Collections calls, and from the rows
// of queries. Rows begin with `attributes`: Salesforce refuses others. Fields that the org does not have are
// neither written nor read. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/salesforce/api_names.h"
#include "platform/strict_json.h"
#include "platform/time.h"
#include "schema/crm/gift_records.h"
#include "schema/crm/request_records.h"
#include "schema/crm/tasks.h"
#include "schema/gift_record.h"
#include "schema/request_record.h"
#include "schema/status_times.h"

namespace giftsync::daemon::salesforce {

/// A record with what Salesforce adds.
template <class Record>
struct ReadRecord {
  std::string id;
  std::string last_modified;  ///< as it came; empty when it was not asked for
  std::string guard_mark;     ///< of request records
  Record record;
};

/// A new gift record: every field that giftsync writes and that has a value, without `left_out` (lookups that
/// the org refuses). Absent fields are not named: the org's defaults hold.
std::string gift_create_row(const ApiNames& names, const schema::GiftRecord& record,
                            const std::vector<schema::GiftField>& left_out = {});

/// Only the fields that giftsync owns, and the version. An absent value is null, unless
/// is_preserved_when_absent() says that the record keeps its own.
std::string gift_update_row(const ApiNames& names, std::string_view id, const schema::GiftRecord& record,
                            const std::vector<schema::GiftField>& left_out = {});

/// A new row of the four lookups, and of the stage where it changes. Without `id` it is the body of a single
/// write, whose URL names the record.
std::string gift_relink_row(const ApiNames& names, std::string_view id,
                            const schema::crm::GiftRelink& relink);

/// The status times, each only where it is known; the version as it was read makes the org refuse the row
/// when a newer one was written meanwhile. Without `id` as gift_relink_row().
std::string gift_times_row(const ApiNames& names, std::string_view id, const schema::StatusTimes& times,
                           std::int64_t version_as_read);

/// What an org makes of a value: white space at the ends is cut, an empty text is no value, a time has whole
/// seconds. giftsync cuts a text to the field's length as UTF-16 counts it. An org takes no address of more
/// than 80 characters: giftsync leaves such a field empty.
schema::FieldValue as_kept(const schema::FieldDescriptor& field, schema::FieldValue value);

/// Values that are not valid go to GiftRecord::unreadable.
ReadRecord<schema::GiftRecord> read_gift(const ApiNames& names, const platform::JsonValue& row);

/// `gift_id` is the gift record's Id, its Related To; empty: the row lacks it.
std::string task_create_row(const ApiNames& names, const schema::crm::TaskUpsert& task,
                            std::string_view gift_id);
/// Of a completed task the status, and Related To unless `gift_id` is empty; nothing else.
std::string task_update_row(const ApiNames& names, std::string_view id, const schema::crm::TaskUpsert& task,
                            const std::string& gift_id);
/// Its Name, when the gift was linked to another contact; empty clears it.
std::string task_relink_row(const ApiNames& names, std::string_view id, const std::string& contact_id);
/// Nullopt for a task without a valid transaction.
std::optional<schema::crm::Task> read_task(const ApiNames& names, const platform::JsonValue& row);

std::string request_create_row(const ApiNames& names, const schema::crm::NewRequestRecord& request);
/// What makes the org write only over the record as it was read.
struct WriteGuard {
  std::string last_modified;  ///< as it was read
  std::string mark;           ///< a new random text for each write
};
std::string request_update_row(const ApiNames& names, const schema::crm::RequestRecordUpdate& update,
                               const WriteGuard& guard);
/// A value that is not valid is absent: nothing is decided by dates and numbers.
ReadRecord<schema::RequestRecord> read_request(const ApiNames& names, const platform::JsonValue& row);

/// Both forms of Salesforce: 2026-01-31T10:00:00.000+0000 and ...Z.
std::optional<platform::UtcMillis> read_time(std::string_view text);

/// The value at `path`, over lookups: "Opportunity.StageName"; null when it or a lookup before it is missing.
/// Names are compared without case.
const platform::JsonValue* value_at(const platform::JsonValue& row, std::string_view path);

/// The value of a field as text, also of numbers and checkboxes; empty when it is null or missing.
std::string text_of_value(const platform::JsonValue* value);

}  // namespace giftsync::daemon::salesforce
