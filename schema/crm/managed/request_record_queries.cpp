// schema/crm/managed: reads request records and their change events.
#include <array>

#include "platform/text.h"
#include "schema/crm/managed/gift_table.h"
#include "schema/crm/managed/request_records.h"
#include "schema/crm/sql_common/gift_values.h"

namespace giftsync::schema::crm::managed {
namespace {

/// The columns of a whole record, and the variables they are fetched into.
class RecordRow {
 public:
  static std::string columns(sql::Dialect dialect) {
    std::string text = "id, CASE WHEN claimed THEN 1 ELSE 0 END";
    for (const FieldDescriptor& field : kRequestRecordFields) text += ", " + read_expression(field, dialect);
    return text;
  }
  void bind(soci::statement& statement) {
    statement.exchange(soci::into(id_));
    statement.exchange(soci::into(claimed_));
    for (std::optional<std::string>& text : texts_) statement.exchange(soci::into(text));
  }
  RequestRecord value() const {
    RequestRecord record;
    record.id = id_;
    record.claimed = claimed_ != 0;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      if (!texts_[i]) continue;
      if (!platform::is_storable_text(*texts_[i])) {
        record.unreadable = std::string(kRequestRecordFields[i].label);
        continue;
      }
      // Absent for a date that is none: nothing is decided by dates.
      record.set(static_cast<RequestRecordField>(i),
                 sql_common::value_of(kRequestRecordFields[i], *texts_[i]));
    }
    if (!platform::is_storable_text(record.id)) record.unreadable = "Id";
    return record;
  }

 private:
  std::string id_;
  long long claimed_ = 0;
  std::array<std::optional<std::string>, kRequestRecordFieldCount> texts_;
};

std::vector<RequestRecord> select_records(sql::Database& database, const std::string& rest,
                                          const std::vector<std::string>& values) {
  return database.read([&](soci::session& session) {
    RecordRow row;
    soci::statement statement(session);
    for (const std::string& value : values) statement.exchange(soci::use(value));
    row.bind(statement);
    statement.alloc();
    statement.prepare("SELECT " + RecordRow::columns(database.dialect()) + " FROM crm_request_record " + rest,
                      sql::kRunOnce);
    statement.define_and_bind();
    std::vector<RequestRecord> found;
    sql::each_row(statement, [&] { found.push_back(row.value()); });
    return found;
  });
}

}  // namespace

std::vector<RequestRecordEvent> ManagedRequestRecords::events(std::size_t limit) {
  return database_.read([&](soci::session& session) {
    std::vector<RequestRecordEvent> events;
    RequestRecordEvent event;
    long long id = 0;
    soci::statement statement = sql::bound(
        session, "SELECT id, row_id FROM crm_request_queue ORDER BY id LIMIT " + std::to_string(limit),
        soci::into(id), soci::into(event.record_id));
    sql::each_row(statement, [&] {
      event.id = id;
      events.push_back(event);
    });
    return events;
  });
}

void ManagedRequestRecords::acknowledge(std::span<const std::int64_t> event_ids) {
  if (event_ids.empty()) return;
  const sql::Dialect dialect = database_.dialect();
  const std::string list =
      sql::list_of(dialect, std::vector<std::int64_t>(event_ids.begin(), event_ids.end()));
  database_.write([&](soci::session& session) {
    session << "DELETE FROM crm_request_queue WHERE " + sql::in_list(dialect, "id", "ids", false),
        soci::use(list);
  });
}

void ManagedRequestRecords::enqueue_open() {
  database_.write([](soci::session& session) {
    session << "INSERT INTO crm_request_queue (row_id) SELECT id FROM crm_request_record r WHERE "
               "coalesce(request_status, '') NOT IN ('Sent', 'Rejected') AND NOT EXISTS (SELECT 1 FROM "
               "crm_request_queue p WHERE p.row_id = r.id)";
  });
}

std::vector<RequestRecord> ManagedRequestRecords::find(std::span<const std::string> ids) {
  if (ids.empty()) return {};
  const sql::Dialect dialect = database_.dialect();
  return select_records(database_, "WHERE " + sql::in_list(dialect, "id", "ids", true),
                        {sql::list_of(dialect, std::vector<std::string>(ids.begin(), ids.end()))});
}

std::optional<RequestRecord> ManagedRequestRecords::find_one(const std::string& number_or_id) {
  const auto found = select_records(
      database_, "WHERE name = :number OR id = :id ORDER BY CASE WHEN name = :again THEN 0 ELSE 1 END",
      {number_or_id, number_or_id, number_or_id});
  return found.empty() ? std::nullopt : std::optional(found.front());
}

std::vector<RequestRecord> ManagedRequestRecords::page(const std::string& after,
                                                       std::optional<RequestRecordStatus> status,
                                                       std::size_t limit) {
  const std::string wanted(status ? to_word(*status) : "");
  // Longer numbers are higher ones.
  return select_records(
      database_,
      "WHERE (length(name) > length(cast(:after1 as text)) OR (length(name) = length(cast(:after2 as text)) "
      "AND name > "
      ":after3)) AND (cast(:any as text) = '' OR coalesce(nullif(request_status, ''), 'Pending') = :wanted) "
      "ORDER BY length(name), name LIMIT " +
          std::to_string(limit),
      {after, after, after, wanted, wanted});
}

}  // namespace giftsync::schema::crm::managed
