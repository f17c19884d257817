#include "schema/sql_crm/request_rows.h"

#include <set>

#include "schema/sql/written_apart.h"
#include "schema/sql_crm/gift_table.h"
#include "schema/sql_crm/record_rows.h"
#include "schema/sql_crm/text_rows.h"
#include "schema/text.h"

namespace giftsync::schema::sql_crm {
namespace {

using F = RequestField;
using Kind = RowResult::Kind;

constexpr std::string_view kTable = "crm_request_record";

std::string column(F field) {
  return std::string(field_of(field).column);
}

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
      record.set(static_cast<F>(i), value_of(kRequestFields[i], *texts_[i]));
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
    statement.prepare(
        "SELECT " + RecordRow::columns(database.dialect()) + " FROM " + std::string(kTable) + " " + rest,
        sql::kRunOnce);
    statement.define_and_bind();
    std::vector<RequestRecord> found;
    sql::each_row(statement, [&] { found.push_back(row.value()); });
    return found;
  });
}

/// What must be as it was read for a write to be made: everything that approval and sending go by.
std::vector<F> compared_fields() {
  std::vector<F> fields{F::status, F::auto_approved, F::account, F::opportunity, F::gift_item_description};
  fields.insert(fields.end(), approved_fields().begin(), approved_fields().end());
  return fields;
}

std::string boolean_of(std::string_view cell) {
  return "CASE " + std::string(cell) + " WHEN 'true' THEN true WHEN 'false' THEN false END";
}

std::optional<std::string> text_of(std::optional<bool> value) {
  return value ? std::optional<std::string>(*value ? "true" : "false") : std::nullopt;
}

/// The cells of a write: id, new values, whether it was claimed, then what was read.
constexpr std::size_t kCellsBefore = 7;

TextRows::Row cells_of(const RequestWrite& row) {
  TextRows::Row cells{row.as_read.id,
                      row.status ? std::optional(std::string(to_word(*row.status))) : std::nullopt,
                      row.error_log,
                      text_of(row.auto_approved),
                      row.item_link,
                      text_of(row.claimed),
                      text_of(std::optional(row.as_read.claimed))};
  for (const F field : compared_fields()) cells.push_back(sql_crm::text_of(row.as_read.get(field)));
  return cells;
}

std::string write_statement(Dialect dialect, const TextRows& texts, const std::string& user) {
  std::string text = "UPDATE " + std::string(kTable) +
                     " SET request_status = coalesce(c1, request_status), "
                     "error_log = CASE WHEN c2 IS NULL THEN error_log ELSE nullif(c2, '') END, "
                     "auto_approved = coalesce(" +
                     boolean_of("c3") +
                     ", auto_approved), "
                     "item_link = CASE WHEN c4 IS NULL THEN item_link ELSE nullif(c4, '') END, "
                     "claimed = coalesce(" +
                     boolean_of("c5") +
                     ", claimed), "
                     "lastmodifieddate = " +
                     now_text(dialect);
  if (!user.empty()) text += ", lastmodifiedbyid = :acting_user";
  text += " FROM " + texts.as_table() + " WHERE " + std::string(kTable) +
          ".id = c0 AND claimed = " + boolean_of("c6");
  std::size_t cell = kCellsBefore;
  for (const F field : compared_fields())
    text += " AND " + read_expression(field_of(field), dialect) + " IS NOT DISTINCT FROM c" +
            std::to_string(cell++);
  return text + " RETURNING " + std::string(kTable) + ".id";
}

std::set<std::string> run_writes(soci::session& session, Dialect dialect, std::span<const RequestWrite> rows,
                                 const std::string& user) {
  TextRows texts(dialect, kCellsBefore + compared_fields().size());
  for (const RequestWrite& row : rows) texts.add(cells_of(row));
  std::set<std::string> written;
  std::string id;
  soci::statement statement(session);
  statement.exchange(soci::into(id));
  // In the order in which the statement names them.
  if (!user.empty()) statement.exchange(soci::use(user));
  texts.bind(statement);
  statement.alloc();
  statement.prepare(write_statement(dialect, texts, user), sql::kRunOnce);
  statement.define_and_bind();
  sql::each_row(statement, [&] { written.insert(id); });
  return written;
}

std::set<std::string> present_ids(soci::session& session, Dialect dialect,
                                  const std::vector<std::string>& ids) {
  const std::string list = sql::list_of(dialect, ids);
  std::set<std::string> present;
  std::string id;
  soci::statement statement = sql::bound(
      session, "SELECT id FROM " + std::string(kTable) + " WHERE " + sql::in_list(dialect, "id", "ids", true),
      soci::use(list), soci::into(id));
  sql::each_row(statement, [&] { present.insert(id); });
  return present;
}

std::vector<RowResult> write_rows(soci::session& session, Dialect dialect, std::span<const RequestWrite> rows,
                                  const std::string& user) {
  std::vector<std::string> ids;
  for (const RequestWrite& row : rows) ids.push_back(row.as_read.id);
  const std::set<std::string> written = run_writes(session, dialect, rows, user);
  const std::set<std::string> present = present_ids(session, dialect, ids);
  std::vector<RowResult> results;
  for (const std::string& id : ids) {
    if (written.contains(id))
      results.push_back({Kind::updated, {}});
    else if (present.contains(id))
      results.push_back({Kind::unchanged, "it was changed in the CRM just now"});
    else
      results.push_back({Kind::gone, "it was deleted in the CRM"});
  }
  return results;
}

/// The fields that an insert names; the rest is the table's own.
std::vector<F> inserted_fields() {
  std::vector<F> fields(given_fields().begin(), given_fields().end());
  for (const F field : {F::item_link, F::created_by, F::owner}) fields.push_back(field);
  return fields;
}

/// The Id of the record that was made under the key.
std::string id_of_key(soci::session& session, const std::string& key) {
  std::string id;
  soci::statement statement =
      sql::bound(session, "SELECT id FROM " + std::string(kTable) + " WHERE creation_key = :key",
                 soci::use(key), soci::into(id));
  sql::each_row(statement, [] {});
  return id;
}

std::vector<std::string> insert_rows(soci::session& session, Dialect dialect,
                                     std::span<const NewRequest> rows) {
  const std::vector<F> fields = inserted_fields();
  std::string names = "creation_key";
  std::string values = "c0";
  std::size_t cell = 1;
  for (const F field : fields) {
    const std::string name = "c" + std::to_string(cell++);
    names += ", " + column(field);
    values += ", " + (field_of(field).type == FieldType::checkbox ? boolean_of(name) : name);
  }
  std::vector<std::string> ids;
  for (const NewRequest& row : rows) {  // one by one: their order is that of their numbers
    TextRows texts(dialect, 1 + fields.size());
    TextRows::Row cells{row.creation_key};
    for (const F field : fields) cells.push_back(sql_crm::text_of(row.record.get(field)));
    texts.add(cells);
    std::string id;
    soci::statement statement(session);
    statement.exchange(soci::into(id));
    texts.bind(statement);
    statement.alloc();
    statement.prepare("INSERT INTO " + std::string(kTable) + " (" + names + ") SELECT " + values + " FROM " +
                          texts.as_table() + " WHERE true ON CONFLICT (creation_key) DO NOTHING RETURNING id",
                      sql::kRunOnce);
    statement.define_and_bind();
    sql::each_row(statement, [] {});
    ids.push_back(id.empty() ? id_of_key(session, row.creation_key) : id);
  }
  return ids;
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

std::vector<RowResult> write_request_rows(sql::Database& database, std::span<const RequestWrite> rows,
                                          const std::string& user) {
  return sql::written_apart(rows, [&](std::span<const RequestWrite> some) {
    return database.write(
        [&](soci::session& session) { return write_rows(session, database.dialect(), some, user); });
  });
}

std::vector<RequestRecord> create_request_rows(sql::Database& database, std::span<const NewRequest> rows) {
  if (rows.empty()) return {};
  const std::vector<std::string> ids =
      database.write([&](soci::session& session) { return insert_rows(session, database.dialect(), rows); });
  std::vector<RequestRecord> found = find_request_rows(database, ids);
  std::vector<RequestRecord> in_order;
  for (const std::string& id : ids) {
    for (RequestRecord& one : found) {
      if (one.id == id) in_order.push_back(one);
    }
  }
  return in_order;
}

}  // namespace giftsync::schema::sql_crm
