#include "schema/sql_crm/match_keys.h"

#include <algorithm>
#include <unordered_map>

#include "schema/address.h"
#include "schema/sql/bulk_insert.h"
#include "schema/sql_crm/columns.h"
#include "schema/sql_crm/key_fields.h"

namespace giftsync::schema::sql_crm {
namespace {

constexpr std::size_t kBuiltRowsMax = 1000;  // in one transaction
constexpr std::size_t kValueBytesMax =
    512;  // no address is longer; an index row of PostgreSQL holds some 2,700

/// A row with the value of each field whose key is to be made.
struct KeyedRow {
  std::string id;
  std::vector<std::optional<std::string>> values;
};

/// Keys that are made before the lock is taken, because reading phone numbers is slow and other writers wait
/// for the lock.
class MadeKeys {
 public:
  void make(const std::vector<StoredField>& fields, const std::vector<KeyedRow>& rows) {
    for (const KeyedRow& row : rows) {
      for (std::size_t i = 0; i < fields.size(); ++i) {
        if (row.values[i]) key(fields[i].field, *row.values[i]);
      }
    }
  }
  /// Empty when the value matches nothing.
  const std::string& key(const KeyField& field, const std::string& value) {
    const auto [made, is_new] = keys_[{field.kind, field.region}].try_emplace(value);
    if (is_new && value.size() <= kValueBytesMax) {
      made->second = field.kind == KeyField::Kind::email ? email_key(value) : phone_key(value, field.region);
    }
    return made->second;
  }

 private:
  std::map<std::pair<KeyField::Kind, std::string>, std::unordered_map<std::string, std::string>> keys_;
};

/// `where` names one parameter.
std::vector<KeyedRow> keyed_rows(soci::session& session, const std::vector<StoredField>& fields,
                                 const std::string& where, const std::string& parameter) {
  std::string query = "SELECT id";
  for (const StoredField& stored : fields) query += ", cast(" + quoted(stored.field.column) + " as text)";
  query += " FROM crm_" + fields.front().field.object + " WHERE " + where;
  std::vector<KeyedRow> rows;
  KeyedRow row;
  row.values.resize(fields.size());
  soci::statement statement(session);
  statement.exchange(soci::into(row.id));
  for (auto& value : row.values) statement.exchange(soci::into(value));
  statement.exchange(soci::use(parameter));
  statement.alloc();
  statement.prepare(query, sql::kRunOnce);
  statement.define_and_bind();
  sql::each_row(statement, [&] { rows.push_back(row); });
  return rows;
}

std::vector<KeyedRow> rows_with_ids(soci::session& session, Dialect dialect,
                                    const std::vector<StoredField>& fields,
                                    const std::vector<std::string>& ids) {
  return keyed_rows(session, fields, sql::in_list(dialect, "id", "rows", true), sql::list_of(dialect, ids));
}

std::vector<KeyedRow> rows_to_build(soci::session& session, const StoredField& field) {
  return keyed_rows(session, {field}, "id > :built_to ORDER BY id LIMIT " + std::to_string(kBuiltRowsMax),
                    field.built_to);
}

void delete_keys(soci::session& session, Dialect dialect, const std::vector<StoredField>& fields,
                 const std::vector<std::string>& row_ids) {
  std::vector<std::int64_t> field_ids;
  for (const StoredField& stored : fields) field_ids.push_back(stored.id);
  const std::string rows = sql::list_of(dialect, row_ids);
  const std::string ids = sql::list_of(dialect, field_ids);
  session << "DELETE FROM crm_match_key WHERE " + sql::in_list(dialect, "row_id", "rows", true) + " AND " +
                 sql::in_list(dialect, "field_id", "ids", false),
      soci::use(rows), soci::use(ids);
}

void insert_keys(soci::session& session, Dialect dialect, const std::vector<StoredField>& fields,
                 const std::vector<KeyedRow>& rows, MadeKeys& made) {
  using sql::BulkInsert;
  BulkInsert keys(dialect, "crm_match_key",
                  {{"field_id", BulkInsert::Type::integer},
                   {"match_key", BulkInsert::Type::text},
                   {"row_id", BulkInsert::Type::text}});
  for (const KeyedRow& row : rows) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (!row.values[i]) continue;
      const std::string& key = made.key(fields[i].field, *row.values[i]);
      if (!key.empty()) keys.add({fields[i].id, key, row.id});
    }
  }
  keys.run(session);
}

/// The object's fields whose columns exist.
std::vector<StoredField> present_fields(soci::session& session, Dialect dialect, const std::string& object) {
  std::vector<StoredField> fields = stored_fields(session);
  const std::vector<Column> columns = columns_of(session, dialect, "crm_" + object);
  std::erase_if(fields, [&](const StoredField& stored) {
    return stored.field.object != object || !find_column(columns, stored.field.column);
  });
  return fields;
}

void make_noted_keys(soci::session& session, Dialect dialect, std::int64_t newest, MadeKeys& made) {
  for (const auto& [object, ids] : read_notes(session, newest)) {
    const std::vector<StoredField> fields = present_fields(session, dialect, object);
    if (fields.empty()) continue;
    made.make(fields, rows_with_ids(session, dialect, fields, {ids.begin(), ids.end()}));
  }
}

/// Returns false when there was nothing left to settle.
bool settle_some(soci::session& session, Dialect dialect, std::int64_t newest, MadeKeys& made) {
  lock_keys(session, dialect);
  const ChangedRows changed = take_notes(session, newest);
  for (const auto& [object, ids] : changed) {
    forget_lost_fields(session, dialect, object);
    const std::vector<StoredField> fields = present_fields(session, dialect, object);
    if (fields.empty()) continue;
    const std::vector<std::string> row_ids(ids.begin(), ids.end());
    const std::vector<KeyedRow> rows = rows_with_ids(session, dialect, fields, row_ids);
    delete_keys(session, dialect, fields, row_ids);
    insert_keys(session, dialect, fields, rows, made);
  }
  return !changed.empty();
}

void settle(sql::Database& database, std::int64_t newest) {
  const Dialect dialect = database.dialect();
  for (bool more = true; more;) {
    MadeKeys made;
    database.read([&](soci::session& session) { make_noted_keys(session, dialect, newest, made); });
    more =
        database.write([&](soci::session& session) { return settle_some(session, dialect, newest, made); });
  }
}

/// Makes the keys of the next rows of a field. Returns true once it has them all.
bool build_some(soci::session& session, Dialect dialect, const KeyField& wanted, MadeKeys& made) {
  lock_keys(session, dialect);
  const std::vector<StoredField> all = stored_fields(session);
  if (!find(all, wanted) || find(all, wanted)->complete) return true;
  StoredField stored = *find(all, wanted);
  const std::vector<KeyedRow> rows = rows_to_build(session, stored);
  std::vector<std::string> ids;
  for (const KeyedRow& row : rows) ids.push_back(row.id);
  delete_keys(session, dialect, {stored}, ids);
  insert_keys(session, dialect, {stored}, rows, made);
  if (!rows.empty()) stored.built_to = rows.back().id;
  stored.complete = rows.size() < kBuiltRowsMax;
  save_progress(session, stored);
  return stored.complete;
}

void build(sql::Database& database, const KeyField& field) {
  for (bool complete = false; !complete;) {
    MadeKeys made;
    database.read([&](soci::session& session) {
      const std::vector<StoredField> all = stored_fields(session);
      const StoredField* stored = find(all, field);
      if (stored && !stored->complete) made.make({*stored}, rows_to_build(session, *stored));
    });
    complete = database.write(
        [&](soci::session& session) { return build_some(session, database.dialect(), field, made); });
  }
}

}  // namespace

void settle_pending_keys(sql::Database& database) {
  const std::optional<std::int64_t> newest = database.read(newest_note);
  if (newest) settle(database, *newest);
}

std::vector<std::int64_t> bring_keys_up_to_date(sql::Database& database,
                                                const std::vector<KeyField>& wanted) {
  KeyState state = database.read(key_state);
  if (state.newest_note) {
    settle(database, *state.newest_note);
    state = database.read(key_state);
  }
  std::vector<StoredField>& stored = state.fields;
  const auto is_complete = [&](const KeyField& field) {
    return find(stored, field) && find(stored, field)->complete;
  };
  if (!std::all_of(wanted.begin(), wanted.end(), is_complete)) {
    database.write([&](soci::session& session) {
      lock_keys(session, database.dialect());
      enter_fields(session, wanted);
    });
    for (const KeyField& field : wanted) build(database, field);
    stored = database.read(stored_fields);
  }
  std::vector<std::int64_t> ids;
  for (const KeyField& field : wanted) {
    const StoredField* found = find(stored, field);
    if (!found)
      throw BrokenWorld(true, "the CRM's " + field.object + " lost its column " + field.column + " just now");
    ids.push_back(found->id);
  }
  return ids;
}

}  // namespace giftsync::schema::sql_crm
