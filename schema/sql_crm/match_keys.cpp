#include "schema/sql_crm/match_keys.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "schema/address.h"
#include "schema/sql/bulk_insert.h"
#include "schema/sql_crm/columns.h"

namespace giftsync::schema::sql_crm {
namespace {

constexpr std::size_t kSettledRowsMax = 1000;  // in one transaction, so that nobody waits long for its locks
constexpr std::size_t kBuiltRowsMax = 2000;
constexpr std::size_t kValueBytesMax =
    512;  // no address is longer; an index row of PostgreSQL holds some 2,700

struct StoredField {
  std::int64_t id = 0;
  KeyField field;
  std::string built_to;
  bool complete = false;
};

struct Look {
  std::vector<StoredField> fields;
  std::optional<std::int64_t> newest_note;
};

/// A row with the value of each field whose key is to be made.
struct KeyedRow {
  std::string id;
  std::vector<std::optional<std::string>> values;
};

std::string kind_word(KeyField::Kind kind) {
  return kind == KeyField::Kind::email ? "email" : "phone";
}

std::vector<StoredField> stored_fields(soci::session& session) {
  std::vector<StoredField> fields;
  long long id = 0;
  long long complete = 0;
  std::string object, kind, column, region, built_to;
  soci::statement statement =
      (session.prepare
           << "SELECT id, object, kind, field, region, built_to, complete FROM crm_key_field ORDER BY id",
       soci::into(id), soci::into(object), soci::into(kind), soci::into(column), soci::into(region),
       soci::into(built_to), soci::into(complete));
  sql::each_row(statement, [&] {
    const auto which = kind == "email" ? KeyField::Kind::email : KeyField::Kind::phone;
    fields.push_back({id, {object, which, column, region}, built_to, complete != 0});
  });
  return fields;
}

Look look(soci::session& session) {
  Look seen;
  soci::statement statement =
      (session.prepare << "SELECT max(id) FROM crm_pending_key", soci::into(seen.newest_note));
  sql::each_row(statement, [] {});
  seen.fields = stored_fields(session);
  return seen;
}

const StoredField* find(const std::vector<StoredField>& fields, const KeyField& wanted) {
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const StoredField& s) { return s.field == wanted; });
  return found == fields.end() ? nullptr : &*found;
}

/// Keys are read, computed and written under one lock: a slower process must not put an old value's key back.
void lock_keys(soci::session& session, Dialect dialect) {
  // SQLite: BEGIN IMMEDIATE has done it.
  if (dialect == Dialect::postgresql) session << "LOCK TABLE crm_key_field IN SHARE ROW EXCLUSIVE MODE";
}

std::string key_of(const KeyField& field, const std::string& value) {
  if (value.size() > kValueBytesMax) return {};
  return field.kind == KeyField::Kind::email ? email_key(value) : phone_key(value, field.region);
}

std::string select_rows(const std::string& object, const std::vector<StoredField>& fields,
                        const std::string& rest) {
  std::string query = "SELECT id";
  for (const StoredField& stored : fields) query += ", cast(" + quoted(stored.field.column) + " as text)";
  return query + " FROM crm_" + object + " " + rest;
}

std::vector<KeyedRow> keyed_rows(soci::session& session, const std::string& query,
                                 const std::string& parameter, std::size_t fields) {
  std::vector<KeyedRow> rows;
  KeyedRow row;
  row.values.resize(fields);
  soci::statement statement(session);
  statement.exchange(soci::into(row.id));
  for (auto& value : row.values) statement.exchange(soci::into(value));
  statement.exchange(soci::use(parameter));
  statement.alloc();
  statement.prepare(query);
  statement.define_and_bind();
  sql::each_row(statement, [&] { rows.push_back(row); });
  return rows;
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
                 const std::vector<KeyedRow>& rows) {
  using sql::BulkInsert;
  BulkInsert keys(dialect, "crm_match_key",
                  {{"field_id", BulkInsert::Type::integer},
                   {"match_key", BulkInsert::Type::text},
                   {"row_id", BulkInsert::Type::text}});
  for (const KeyedRow& row : rows) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (!row.values[i]) continue;
      const std::string key = key_of(fields[i].field, *row.values[i]);
      if (!key.empty()) keys.add({fields[i].id, key, row.id});
    }
  }
  keys.run(session);
}

/// Takes the oldest notes up to `newest` and returns the changed rows of each object. The notes are gone
/// before the rows are read, so a row that changes again after the reading has a note of its own.
std::map<std::string, std::set<std::string>> take_notes(soci::session& session, std::int64_t newest) {
  std::map<std::string, std::set<std::string>> changed;
  long long up_to = newest;
  std::string object, row_id;
  soci::statement statement =
      (session.prepare
           << "DELETE FROM crm_pending_key WHERE id IN (SELECT id FROM crm_pending_key WHERE id <= :newest"
              " ORDER BY id LIMIT " +
                  std::to_string(kSettledRowsMax) + ") RETURNING object, row_id",
       soci::into(object), soci::into(row_id), soci::use(up_to));
  sql::each_row(statement, [&] { changed[object].insert(row_id); });
  return changed;
}

/// The object's fields whose columns still exist. One that an admin dropped is forgotten, so that its keys
/// are made anew if it comes back.
std::vector<StoredField> fields_of(soci::session& session, Dialect dialect, const std::string& object) {
  std::vector<StoredField> fields;
  const std::vector<Column> columns = columns_of(session, dialect, "crm_" + object);
  for (StoredField& stored : stored_fields(session)) {
    if (stored.field.object != object) continue;
    if (find_column(columns, stored.field.column)) {
      fields.push_back(std::move(stored));
      continue;
    }
    const long long id = stored.id;
    session << "DELETE FROM crm_match_key WHERE field_id = :id", soci::use(id);
    session << "DELETE FROM crm_key_field WHERE id = :id", soci::use(id);
  }
  return fields;
}

/// Returns false when there was nothing left to settle.
bool settle_some(soci::session& session, Dialect dialect, std::int64_t newest) {
  lock_keys(session, dialect);
  const auto changed = take_notes(session, newest);
  for (const auto& [object, ids] : changed) {
    const std::vector<StoredField> fields = fields_of(session, dialect, object);
    if (fields.empty()) continue;
    const std::vector<std::string> row_ids(ids.begin(), ids.end());
    const std::string query =
        select_rows(object, fields, "WHERE " + sql::in_list(dialect, "id", "rows", true));
    const auto rows = keyed_rows(session, query, sql::list_of(dialect, row_ids), fields.size());
    delete_keys(session, dialect, fields, row_ids);
    insert_keys(session, dialect, fields, rows);
  }
  return !changed.empty();
}

void settle(sql::Database& database, std::int64_t newest) {
  bool more = true;
  while (more) {
    more = database.write(
        [&](soci::session& session) { return settle_some(session, database.dialect(), newest); });
  }
}

void enter_fields(soci::session& session, Dialect dialect, const std::vector<KeyField>& wanted) {
  lock_keys(session, dialect);
  const std::vector<StoredField> stored = stored_fields(session);
  long long id = 0;
  for (const StoredField& field : stored) id = std::max<long long>(id, field.id);
  for (const KeyField& field : wanted) {
    if (find(stored, field)) continue;
    const std::string kind = kind_word(field.kind);
    ++id;
    session << "INSERT INTO crm_key_field (id, object, kind, field, region, built_to, complete)"
               " VALUES (:id, :object, :kind, :field, :region, '', 0) ON CONFLICT (object, kind, field, "
               "region) DO NOTHING",
        soci::use(id), soci::use(field.object), soci::use(kind), soci::use(field.column),
        soci::use(field.region);
  }
}

/// Makes the keys of the next rows of a field. Returns true once it has them all.
bool build_some(soci::session& session, Dialect dialect, const KeyField& wanted) {
  lock_keys(session, dialect);
  const std::vector<StoredField> all = stored_fields(session);
  const StoredField* stored = find(all, wanted);
  if (!stored || stored->complete) return true;
  const std::vector<StoredField> fields{*stored};
  const std::string rest = "WHERE id > :built_to ORDER BY id LIMIT " + std::to_string(kBuiltRowsMax);
  const auto rows = keyed_rows(session, select_rows(wanted.object, fields, rest), stored->built_to, 1);
  std::vector<std::string> ids;
  for (const KeyedRow& row : rows) ids.push_back(row.id);
  delete_keys(session, dialect, fields, ids);
  insert_keys(session, dialect, fields, rows);
  const std::string built_to = rows.empty() ? stored->built_to : rows.back().id;
  const long long complete = rows.size() < kBuiltRowsMax ? 1 : 0;
  const long long id = stored->id;
  session << "UPDATE crm_key_field SET built_to = :built_to, complete = :complete WHERE id = :id",
      soci::use(built_to), soci::use(complete), soci::use(id);
  return complete != 0;
}

void build(sql::Database& database, const KeyField& field) {
  bool complete = false;
  while (!complete) {
    complete = database.write(
        [&](soci::session& session) { return build_some(session, database.dialect(), field); });
  }
}

bool is_complete(const Look& seen, const KeyField& field) {
  const StoredField* stored = find(seen.fields, field);
  return stored && stored->complete;
}

}  // namespace

void settle_pending_keys(sql::Database& database) {
  const Look seen = database.read(look);
  if (seen.newest_note) settle(database, *seen.newest_note);
}

std::vector<std::int64_t> bring_keys_up_to_date(sql::Database& database,
                                                const std::vector<KeyField>& wanted) {
  Look seen = database.read(look);
  if (seen.newest_note) settle(database, *seen.newest_note);
  const bool all =
      std::all_of(wanted.begin(), wanted.end(), [&](const KeyField& f) { return is_complete(seen, f); });
  if (!all) {
    database.write([&](soci::session& session) { enter_fields(session, database.dialect(), wanted); });
    for (const KeyField& field : wanted) build(database, field);
    seen = database.read(look);
  }
  std::vector<std::int64_t> ids;
  for (const KeyField& field : wanted) {
    const StoredField* stored = find(seen.fields, field);
    if (!stored)
      throw BrokenWorld(true, "the CRM's " + field.object + " lost its column " + field.column + " just now");
    ids.push_back(stored->id);
  }
  return ids;
}

}  // namespace giftsync::schema::sql_crm
