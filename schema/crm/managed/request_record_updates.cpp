#include <set>

#include "schema/crm/managed/gift_table.h"
#include "schema/crm/managed/request_records.h"
#include "schema/crm/sql_common/bisect_upsert.h"
#include "schema/crm/sql_common/gift_values.h"
#include "schema/crm/sql_common/text_rows.h"
#include "schema/crm/sql_common/transaction_rows.h"
#include "schema/crm_id.h"

namespace giftsync::schema::crm::managed {
namespace {

using F = RequestRecordField;
using Kind = RowResult::Kind;

constexpr std::string_view kTable = "crm_request_record";

std::string column(F field) {
  return std::string(descriptor_of(field).column);
}

/// The fields that must be unchanged since they were read: everything that approval and sending depend on.
std::vector<F> compared_fields() {
  std::vector<F> fields{F::status, F::auto_approved, F::account, F::opportunity, F::gift_item_description};
  fields.insert(fields.end(), approval_bound_fields().begin(), approval_bound_fields().end());
  return fields;
}

std::string boolean_expression(std::string_view cell) {
  return "CASE " + std::string(cell) + " WHEN 'true' THEN true WHEN 'false' THEN false END";
}

std::optional<std::string> text_of(std::optional<bool> value) {
  return value ? std::optional<std::string>(*value ? "true" : "false") : std::nullopt;
}

/// The cells of a write: id, new values, whether it was claimed, then what was read.
constexpr std::size_t kUpdateCells = 7;

sql_common::TextRows::Row cells_of(const RequestRecordUpdate& row) {
  sql_common::TextRows::Row cells{
      row.expected.id,
      row.status ? std::optional(std::string(to_word(*row.status))) : std::nullopt,
      row.error_log,
      text_of(row.auto_approved),
      row.item_link,
      text_of(row.claimed),
      text_of(std::optional(row.expected.claimed))};
  for (const F field : compared_fields()) cells.push_back(sql_common::text_of(row.expected.get(field)));
  return cells;
}

std::string update_statement(sql::Dialect dialect, const sql_common::TextRows& texts,
                             const std::string& user) {
  std::string text = "UPDATE " + std::string(kTable) +
                     " SET request_status = coalesce(c1, request_status), "
                     "error_log = CASE WHEN c2 IS NULL THEN error_log ELSE nullif(c2, '') END, "
                     "auto_approved = coalesce(" +
                     boolean_expression("c3") +
                     ", auto_approved), "
                     "item_link = CASE WHEN c4 IS NULL THEN item_link ELSE nullif(c4, '') END, "
                     "claimed = coalesce(" +
                     boolean_expression("c5") +
                     ", claimed), "
                     "lastmodifieddate = " +
                     sql_common::now_expression(dialect);
  if (!user.empty()) text += ", lastmodifiedbyid = :acting_user";
  text += " FROM " + texts.as_table() + " WHERE " + std::string(kTable) +
          ".id = c0 AND claimed = " + boolean_expression("c6");
  std::size_t cell = kUpdateCells;
  for (const F field : compared_fields())
    text += " AND " + read_expression(descriptor_of(field), dialect) + " IS NOT DISTINCT FROM c" +
            std::to_string(cell++);
  return text + " RETURNING " + std::string(kTable) + ".id";
}

std::set<std::string> run_updates(soci::session& session, sql::Dialect dialect,
                                  std::span<const RequestRecordUpdate> rows, const std::string& user) {
  sql_common::TextRows texts(dialect, kUpdateCells + compared_fields().size());
  for (const RequestRecordUpdate& row : rows) texts.add(cells_of(row));
  std::set<std::string> written;
  std::string id;
  soci::statement statement(session);
  statement.exchange(soci::into(id));
  // In the order in which the statement names them.
  if (!user.empty()) statement.exchange(soci::use(user));
  texts.bind(statement);
  statement.alloc();
  statement.prepare(update_statement(dialect, texts, user), sql::kRunOnce);
  statement.define_and_bind();
  sql::each_row(statement, [&] { written.insert(id); });
  return written;
}

std::set<std::string> existing_ids(soci::session& session, sql::Dialect dialect,
                                   const std::vector<std::string>& ids) {
  const std::string list = sql::list_of(dialect, ids);
  std::set<std::string> existing;
  std::string id;
  soci::statement statement = sql::bound(
      session, "SELECT id FROM " + std::string(kTable) + " WHERE " + sql::in_list(dialect, "id", "ids", true),
      soci::use(list), soci::into(id));
  sql::each_row(statement, [&] { existing.insert(id); });
  return existing;
}

std::vector<RowResult> write_rows(soci::session& session, sql::Dialect dialect,
                                  std::span<const RequestRecordUpdate> rows, const std::string& user) {
  std::vector<std::string> ids;
  for (const RequestRecordUpdate& row : rows) ids.push_back(row.expected.id);
  const std::set<std::string> written = run_updates(session, dialect, rows, user);
  const std::set<std::string> existing = existing_ids(session, dialect, ids);
  std::vector<RowResult> results;
  for (const std::string& id : ids) {
    if (written.contains(id))
      results.push_back({Kind::updated, {}});
    else if (existing.contains(id))
      results.push_back({Kind::unchanged, "it was changed in the CRM meanwhile"});
    else
      results.push_back({Kind::not_found, "it was deleted in the CRM"});
  }
  return results;
}

/// The fields that an insert names; the rest is the table's own.
std::vector<F> inserted_fields() {
  std::vector<F> fields(creatable_fields().begin(), creatable_fields().end());
  for (const F field : {F::item_link, F::created_by, F::owner}) fields.push_back(field);
  return fields;
}

/// The Id of the record with that creation key.
std::string id_of_creation_key(soci::session& session, const std::string& key) {
  std::string id;
  soci::statement statement =
      sql::bound(session, "SELECT id FROM " + std::string(kTable) + " WHERE creation_key = :key",
                 soci::use(key), soci::into(id));
  sql::each_row(statement, [] {});
  return id;
}

std::vector<std::string> insert_rows(soci::session& session, sql::Dialect dialect,
                                     std::span<const NewRequestRecord> rows) {
  const std::vector<F> fields = inserted_fields();
  std::string names = "creation_key";
  std::string values = "c0";
  std::size_t cell = 1;
  for (const F field : fields) {
    const std::string name = "c" + std::to_string(cell++);
    names += ", " + column(field);
    values += ", " + (descriptor_of(field).type == FieldType::checkbox ? boolean_expression(name) : name);
  }
  std::vector<std::string> ids;
  for (const NewRequestRecord& row : rows) {  // one by one: their order is that of their numbers
    sql_common::TextRows texts(dialect, 1 + fields.size());
    sql_common::TextRows::Row cells{row.creation_key};
    for (const F field : fields) {
      auto text = sql_common::text_of(row.record.get(field));
      if (text && descriptor_of(field).type == FieldType::lookup) text = long_crm_id(*text);
      cells.push_back(std::move(text));
    }
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
    ids.push_back(id.empty() ? id_of_creation_key(session, row.creation_key) : id);
  }
  return ids;
}

}  // namespace

std::vector<RowResult> ManagedRequestRecords::update(std::span<const RequestRecordUpdate> rows) {
  return sql_common::bisect_upsert(rows, [&](std::span<const RequestRecordUpdate> some) {
    return database_.write(
        [&](soci::session& session) { return write_rows(session, database_.dialect(), some, user_); });
  });
}

std::vector<RequestRecord> ManagedRequestRecords::create(std::span<const NewRequestRecord> rows) {
  if (rows.empty()) return {};
  const std::vector<std::string> ids = database_.write(
      [&](soci::session& session) { return insert_rows(session, database_.dialect(), rows); });
  std::vector<RequestRecord> found = find(ids);
  std::vector<RequestRecord> in_order;
  for (const std::string& id : ids) {
    for (RequestRecord& one : found) {
      if (one.id == id) in_order.push_back(one);
    }
  }
  return in_order;
}

}  // namespace giftsync::schema::crm::managed
