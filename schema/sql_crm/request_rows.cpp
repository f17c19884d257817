#include "schema/sql_crm/request_rows.h"

#include <set>

#include "schema/sql/written_apart.h"
#include "schema/sql_crm/gift_table.h"
#include "schema/sql_crm/record_rows.h"
#include "schema/sql_crm/text_rows.h"

namespace giftsync::schema::sql_crm {
namespace {

using F = RequestField;
using Kind = RowResult::Kind;

constexpr std::string_view kTable = "crm_request_record";

std::string column(F field) {
  return std::string(field_of(field).column);
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
