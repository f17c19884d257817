// schema/sql_crm: request records as they are read, and the notes of what happened to them.
#include <array>

#include "schema/sql_crm/gift_table.h"
#include "schema/sql_crm/request_rows.h"
#include "schema/text.h"

namespace giftsync::schema::sql_crm {
namespace {

/// The columns of a whole record, and the variables they are fetched into.
class RecordRow {
 public:
  static std::string columns(Dialect dialect) {
    std::string text = "id, CASE WHEN claimed THEN 1 ELSE 0 END";
    for (const RecordField& field : kRequestFields) text += ", " + read_expression(field, dialect);
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
      if (!is_storable_text(*texts_[i])) {
        record.unreadable = std::string(kRequestFields[i].label);
        continue;
      }
      // Absent for a date that is none: nothing is decided by dates.
      record.set(static_cast<RequestField>(i), value_of(kRequestFields[i], *texts_[i]));
    }
    if (!is_storable_text(record.id)) record.unreadable = "Id";
    return record;
  }

 private:
  std::string id_;
  long long claimed_ = 0;
  std::array<std::optional<std::string>, kRequestFieldCount> texts_;
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

std::vector<RequestNote> read_request_notes(sql::Database& database, std::size_t limit) {
  return database.read([&](soci::session& session) {
    std::vector<RequestNote> notes;
    RequestNote note;
    long long id = 0;
    soci::statement statement = sql::bound(
        session, "SELECT id, row_id FROM crm_pending_request ORDER BY id LIMIT " + std::to_string(limit),
        soci::into(id), soci::into(note.request_id));
    sql::each_row(statement, [&] {
      note.id = id;
      notes.push_back(note);
    });
    return notes;
  });
}

void delete_request_notes(sql::Database& database, std::span<const std::int64_t> notes) {
  if (notes.empty()) return;
  const Dialect dialect = database.dialect();
  const std::string list = sql::list_of(dialect, std::vector<std::int64_t>(notes.begin(), notes.end()));
  database.write([&](soci::session& session) {
    session << "DELETE FROM crm_pending_request WHERE " + sql::in_list(dialect, "id", "ids", false),
        soci::use(list);
  });
}

void note_open_request_rows(sql::Database& database) {
  database.write([](soci::session& session) {
    session << "INSERT INTO crm_pending_request (row_id) SELECT id FROM crm_request_record r WHERE "
               "coalesce(request_status, '') NOT IN ('Sent', 'Rejected') AND NOT EXISTS (SELECT 1 FROM "
               "crm_pending_request p WHERE p.row_id = r.id)";
  });
}

std::vector<RequestRecord> find_request_rows(sql::Database& database, std::span<const std::string> ids) {
  if (ids.empty()) return {};
  const Dialect dialect = database.dialect();
  return select_records(database, "WHERE " + sql::in_list(dialect, "id", "ids", true),
                        {sql::list_of(dialect, std::vector<std::string>(ids.begin(), ids.end()))});
}

std::optional<RequestRecord> find_request_row(sql::Database& database, const std::string& number_or_id) {
  const auto found = select_records(
      database, "WHERE name = :number OR id = :id ORDER BY CASE WHEN name = :again THEN 0 ELSE 1 END",
      {number_or_id, number_or_id, number_or_id});
  return found.empty() ? std::nullopt : std::optional(found.front());
}

std::vector<RequestRecord> read_request_rows(sql::Database& database, const std::string& after,
                                             std::optional<RequestStatus> status, std::size_t limit) {
  const std::string wanted(status ? to_word(*status) : "");
  // Longer numbers are higher ones.
  return select_records(
      database,
      "WHERE (length(name) > length(cast(:after1 as text)) OR (length(name) = length(cast(:after2 as text)) "
      "AND name > "
      ":after3)) AND (cast(:any as text) = '' OR coalesce(nullif(request_status, ''), 'Pending') = :wanted) "
      "ORDER BY length(name), name LIMIT " +
          std::to_string(limit),
      {after, after, after, wanted, wanted});
}

}  // namespace giftsync::schema::sql_crm
