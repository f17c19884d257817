// crm/salesforce: gift records, tasks and request records as rows of Collections calls, and from the rows
// of queries. Rows begin with `attributes`: Salesforce refuses others. Fields that the org does not have are
// neither written nor read. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crm/gift_records.h"
#include "crm/request_records.h"
#include "crm/salesforce/calls/api_names.h"
#include "crm/tasks.h"
#include "platform/strict_json.h"
#include "platform/time.h"
#include "schema/enums.h"
#include "schema/field_descriptor.h"
#include "schema/gift_record.h"
#include "schema/money.h"
#include "schema/request_record.h"

namespace giftsync::salesforce {

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
std::string gift_create_row(const ApiNames& names, const GiftRecord& record,
                            const std::vector<GiftField>& left_out = {});

/// Only the fields that giftsync owns, and the version. An absent value is null, unless
/// is_preserved_when_absent() says that the record keeps its own.
std::string gift_update_row(const ApiNames& names, std::string_view id, const GiftRecord& record,
                            const std::vector<GiftField>& left_out = {});

/// A new row of the four lookups, and of the stage where it changes. Without `id` it is the body of a single
/// write, whose URL names the record.
std::string gift_relink_row(const ApiNames& names, std::string_view id, const crm::GiftRelink& relink);

/// The status times, each only where it is known; the version as it was read makes the org refuse the row
/// when a newer one was written meanwhile. Without `id` as gift_relink_row().
std::string gift_times_row(const ApiNames& names, std::string_view id, const StatusTimes& times,
                           std::int64_t version_as_read);

/// What an org makes of a value: white space at the ends is cut, an empty text is no value, a time has whole
/// seconds. giftsync cuts a text to the field's length as UTF-16 counts it. An org takes no address of more
/// than 80 characters: giftsync leaves such a field empty.
FieldValue as_kept(const FieldDescriptor& field, FieldValue value);

/// Values that are not valid go to GiftRecord::unreadable.
ReadRecord<GiftRecord> read_gift(const ApiNames& names, const JsonValue& row);

/// `gift_id` is the gift record's Id, its Related To; empty: the row lacks it.
std::string task_create_row(const ApiNames& names, const crm::TaskUpsert& task, std::string_view gift_id);
/// The status of a completed task, and Related To unless `gift_id` is empty; nothing else.
std::string task_update_row(const ApiNames& names, std::string_view id, const crm::TaskUpsert& task,
                            const std::string& gift_id);
/// Its Name, when the gift was linked to another contact; empty clears it.
std::string task_relink_row(const ApiNames& names, std::string_view id, const std::string& contact_id);
/// Nullopt for a task without a valid transaction.
std::optional<crm::Task> read_task(const ApiNames& names, const JsonValue& row);

std::string request_create_row(const ApiNames& names, const crm::NewRequestRecord& request);
/// What makes the org write only over the record as it was read.
struct WriteGuard {
  std::string last_modified;  ///< as it was read
  std::string mark;           ///< a new random text for each write
};
std::string request_update_row(const ApiNames& names, const crm::RequestRecordUpdate& update,
                               const WriteGuard& guard);
/// A value that is not valid is absent: nothing is decided by dates and numbers.
ReadRecord<RequestRecord> read_request(const ApiNames& names, const JsonValue& row);

/// Both forms of Salesforce: 2026-01-31T10:00:00.000+0000 and ...Z.
std::optional<UtcMillis> read_time(std::string_view text);

/// The value at `path`, over lookups: "Opportunity.StageName"; null when it or a lookup before it is missing.
/// Names are compared without case.
const JsonValue* value_at(const JsonValue& row, std::string_view path);

/// The value of a field as text, also of numbers and checkboxes; empty when it is null or missing.
std::string text_of_value(const JsonValue* value);

// Writes one row of a Collections call. Numbers are written as their digits, which a
// double would not keep. Pure; one thread at a time.

class JsonRow {
 public:
  /// Begins with {"attributes":{"type":"Task"}.
  explicit JsonRow(std::string_view object);

  /// A name that is empty, a field that the org does not have, adds nothing.
  void add_text(std::string_view name, std::string_view value);
  void add_number(std::string_view name, std::int64_t value);
  void add_bool(std::string_view name, bool value);
  void add_null(std::string_view name);
  /// Absent values and empty texts, which are the same in Salesforce, become null.
  void add(std::string_view name, const FieldValue& value);
  /// Absent values and empty texts are left out.
  void add_if_present(std::string_view name, const FieldValue& value);

  std::string text() const { return text_ + "}"; }

 private:
  void add_raw(std::string_view name, std::string_view value);
  std::string text_;
};

/// A JSON text with its quotation marks. Bytes that are no UTF-8 become U+FFFD.
std::string json_text(std::string_view text);

/// No value, or an empty text.
bool is_absent(const FieldValue& value);

// Numbers of Salesforce's answers, exactly. Number fields travel as doubles: an integer
// comes as 123.0 or 1.23E9. Money and ids are read from the digits, never rounded. Pure; any thread.

/// The number of a document that was parsed with large_numbers_as_text: that option keeps the digits of every
/// number which a double would change. Nullopt for what is no number.
std::optional<std::string> number_text(const JsonValue& value);

/// A number as JSON writes it, without an exponent and without zeros that say nothing: "-0.05", "1230000000".
/// Nullopt for other text and for more than 40 digits.
std::optional<std::string> plain_number(std::string_view text);

/// Nullopt when it is not whole or does not fit 64 bits.
std::optional<std::int64_t> whole_number(std::string_view text);

/// Nullopt for fractions of a cent and beyond kMaxMoney.
std::optional<Money> money_of(std::string_view text);

}  // namespace giftsync::salesforce
