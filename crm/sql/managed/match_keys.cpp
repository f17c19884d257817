#include "crm/sql/managed/match_keys.h"

#include <algorithm>
#include <unordered_map>

#include "crm/sql/columns.h"
#include "crm/sql/managed/match_columns.h"
#include "schema/contact_normalization.h"
#include "schema/sql/bulk_rows.h"

namespace giftsync::crm::managed {
namespace {

// In one transaction, so that other writers do not wait long:
constexpr std::size_t kMaxIndexBatchRows = 1000;
constexpr std::size_t kMaxQueueBatchRows = 500;
constexpr std::size_t kMaxValueBytes =
    512;  // no address is longer; an index row of PostgreSQL holds some 2,700

/// A row with the value of each field whose key has to be computed.
struct KeyedRow {
  std::string id;
  std::vector<std::optional<std::string>> values;
};

/// Keys that are computed before the lock is taken, because parsing phone numbers is slow and other writers
/// wait for the lock.
class MatchKeyCache {
 public:
  void compute(const std::vector<StoredMatchKeyField>& fields, const std::vector<KeyedRow>& rows) {
    for (const KeyedRow& row : rows) {
      for (std::size_t i = 0; i < fields.size(); ++i) {
        if (row.values[i]) key(fields[i].field, *row.values[i]);
      }
    }
  }
  /// Empty when the value matches nothing.
  const std::string& key(const MatchKeyField& field, const std::string& value) {
    const auto [made, is_new] = keys_[{field.kind, field.region}].try_emplace(value);
    if (is_new && value.size() <= kMaxValueBytes) {
      made->second =
          field.kind == MatchKeyField::Kind::email ? email_key(value) : phone_key(value, field.region);
    }
    return made->second;
  }

 private:
  std::map<std::pair<MatchKeyField::Kind, std::string>, std::unordered_map<std::string, std::string>> keys_;
};

/// `where` names one parameter. A row that is marked as deleted gets no keys.
std::vector<KeyedRow> keyed_rows(soci::session& session, const std::vector<StoredMatchKeyField>& fields,
                                 const std::string& where, const std::string& parameter) {
  std::string query = "SELECT id";
  for (const StoredMatchKeyField& stored : fields)
    query += ", cast(" + crm::sql_crm::quoted(stored.field.column) + " as text)";
  const std::string table = "crm_" + fields.front().field.object;
  query += " FROM " + table + " WHERE ";
  const std::vector<crm::sql_crm::Column> columns = crm::sql_crm::columns_of(session, table);
  if (const crm::sql_crm::Column* mark = crm::sql_crm::find_column(columns, "isdeleted"))
    query += crm::sql_crm::not_deleted_condition(session, mark->name, mark->type) + " AND ";
  query += where;
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

std::vector<KeyedRow> rows_with_ids(soci::session& session, const std::vector<StoredMatchKeyField>& fields,
                                    const std::vector<std::string>& ids) {
  return keyed_rows(session, fields, sql::in_list(session, "id", "rows", true), sql::list_of(session, ids));
}

std::vector<KeyedRow> rows_to_index(soci::session& session, const StoredMatchKeyField& field,
                                    std::size_t limit) {
  return keyed_rows(session, {field}, "id > :indexed_to_id ORDER BY id LIMIT " + std::to_string(limit),
                    field.indexed_to_id);
}

void delete_keys(soci::session& session, const std::vector<StoredMatchKeyField>& fields,
                 const std::vector<std::string>& row_ids) {
  std::vector<std::int64_t> field_ids;
  for (const StoredMatchKeyField& stored : fields) field_ids.push_back(stored.id);
  const std::string rows = sql::list_of(session, row_ids);
  const std::string ids = sql::list_of(session, field_ids);
  session << "DELETE FROM crm_match_key WHERE " + sql::in_list(session, "row_id", "rows", true) + " AND " +
                 sql::in_list(session, "field_id", "ids", false),
      soci::use(rows), soci::use(ids);
}

void insert_keys(soci::session& session, const std::vector<StoredMatchKeyField>& fields,
                 const std::vector<KeyedRow>& rows, MatchKeyCache& cache) {
  using sql::BulkInsert;
  sql::BulkInsert keys(session, "crm_match_key",
                       {{"field_id", sql::BulkInsert::Type::integer},
                        {"match_key", sql::BulkInsert::Type::text},
                        {"row_id", sql::BulkInsert::Type::text}});
  for (const KeyedRow& row : rows) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (!row.values[i]) continue;
      const std::string& key = cache.key(fields[i].field, *row.values[i]);
      if (!key.empty()) keys.add({fields[i].id, key, row.id});
    }
  }
  keys.run(session);
}

/// The object's fields whose columns exist.
std::vector<StoredMatchKeyField> existing_fields(soci::session& session, const std::string& object) {
  std::vector<StoredMatchKeyField> fields = load_match_key_fields(session);
  const std::vector<crm::sql_crm::Column> columns = crm::sql_crm::columns_of(session, "crm_" + object);
  std::erase_if(fields, [&](const StoredMatchKeyField& stored) {
    return stored.field.object != object || !crm::sql_crm::find_column(columns, stored.field.column);
  });
  return fields;
}

/// How many rows may still get their keys in this call.
class Budget {
 public:
  explicit Budget(std::size_t rows) : rows_(rows) {}
  /// The rows of the next transaction; 0 when the number is spent.
  std::size_t next_batch(std::size_t max_rows) const { return std::min(rows_, max_rows); }
  void spend(std::size_t rows) { rows_ -= std::min(rows_, rows); }

 private:
  std::size_t rows_;
};

/// The oldest entries of the queue that one transaction processes.
struct QueueBatch {
  std::int64_t newest;  ///< entries up to this one
  std::size_t limit;
};

void compute_queued_keys(soci::session& session, const QueueBatch& batch, MatchKeyCache& cache) {
  for (const auto& [object, ids] : peek_queued_rows(session, batch.newest, batch.limit).ids_by_object) {
    const std::vector<StoredMatchKeyField> fields = existing_fields(session, object);
    if (fields.empty()) continue;
    cache.compute(fields, rows_with_ids(session, fields, {ids.begin(), ids.end()}));
  }
}

/// Returns the number of entries.
std::size_t process_queue_batch(soci::session& session, const QueueBatch& batch, MatchKeyCache& cache) {
  lock_match_keys(session);
  const ChangedRows changed = dequeue_rows(session, batch.newest, batch.limit);
  for (const auto& [object, ids] : changed.ids_by_object) {
    delete_dropped_fields(session, object);
    const std::vector<StoredMatchKeyField> fields = existing_fields(session, object);
    if (fields.empty()) continue;
    const std::vector<std::string> row_ids(ids.begin(), ids.end());
    const std::vector<KeyedRow> rows = rows_with_ids(session, fields, row_ids);
    delete_keys(session, fields, row_ids);
    insert_keys(session, fields, rows, cache);
  }
  return changed.entries;
}

/// Returns false when entries are left.
bool process_queue(sql::Database& database, std::int64_t newest, Budget& budget) {
  while (const std::size_t limit = budget.next_batch(kMaxQueueBatchRows)) {
    const QueueBatch batch{newest, limit};
    MatchKeyCache cache;
    database.read([&](soci::session& session) { compute_queued_keys(session, batch, cache); });
    const std::size_t entries =
        database.write([&](soci::session& session) { return process_queue_batch(session, batch, cache); });
    budget.spend(entries);
    if (entries < limit) return true;
  }
  return false;
}

struct IndexedRows {
  std::size_t rows = 0;
  bool complete = false;  ///< the field has the keys of all rows
};

/// Makes the keys of the next rows of a field.
IndexedRows index_batch(soci::session& session, const MatchKeyField& wanted, std::size_t limit,
                        MatchKeyCache& cache) {
  lock_match_keys(session);
  const std::vector<StoredMatchKeyField> all = load_match_key_fields(session);
  if (!find(all, wanted) || find(all, wanted)->complete) return {0, true};
  StoredMatchKeyField stored = *find(all, wanted);
  const std::vector<KeyedRow> rows = rows_to_index(session, stored, limit);
  std::vector<std::string> ids;
  for (const KeyedRow& row : rows) ids.push_back(row.id);
  delete_keys(session, {stored}, ids);
  insert_keys(session, {stored}, rows, cache);
  if (!rows.empty()) stored.indexed_to_id = rows.back().id;
  stored.complete = rows.size() < limit;
  save_progress(session, stored);
  return {rows.size(), stored.complete};
}

/// Returns false when the field lacks keys of further rows.
bool index_field(sql::Database& database, const MatchKeyField& field, Budget& budget) {
  while (const std::size_t limit = budget.next_batch(kMaxIndexBatchRows)) {
    MatchKeyCache cache;
    database.read([&](soci::session& session) {
      const std::vector<StoredMatchKeyField> all = load_match_key_fields(session);
      const StoredMatchKeyField* stored = find(all, field);
      if (stored && !stored->complete) cache.compute({*stored}, rows_to_index(session, *stored, limit));
    });
    const IndexedRows indexed =
        database.write([&](soci::session& session) { return index_batch(session, field, limit, cache); });
    if (indexed.complete) return true;
    budget.spend(indexed.rows);
  }
  return false;
}

std::vector<std::int64_t> ids_of(const std::vector<MatchKeyField>& wanted,
                                 const std::vector<StoredMatchKeyField>& stored) {
  std::vector<std::int64_t> ids;
  for (const MatchKeyField& field : wanted) {
    const StoredMatchKeyField* found = find(stored, field);
    if (!found)
      throw DependencyError(
          true, "the CRM's " + field.object + " lost its column " + field.column + " during the lookup");
    ids.push_back(found->id);
  }
  return ids;
}

}  // namespace

bool process_match_key_queue(sql::Database& database, std::size_t max_rows) {
  const std::optional<std::int64_t> newest = database.read(newest_queue_id);
  Budget budget(max_rows);
  return !newest || process_queue(database, *newest, budget);
}

std::optional<std::vector<std::int64_t>> refresh_match_keys(sql::Database& database,
                                                            const std::vector<MatchKeyField>& wanted,
                                                            std::size_t max_rows) {
  MatchKeyState state = database.read(load_match_key_state);
  Budget budget(max_rows);
  if (state.newest_queue_id) {
    if (!process_queue(database, *state.newest_queue_id, budget)) return std::nullopt;
    state = database.read(load_match_key_state);
  }
  std::vector<StoredMatchKeyField>& stored = state.fields;
  const auto is_complete = [&](const MatchKeyField& field) {
    return find(stored, field) && find(stored, field)->complete;
  };
  if (!std::all_of(wanted.begin(), wanted.end(), is_complete)) {
    database.write([&](soci::session& session) {
      lock_match_keys(session);
      insert_match_key_fields(session, wanted);
    });
    for (const MatchKeyField& field : wanted) {
      if (!is_complete(field) && !index_field(database, field, budget)) return std::nullopt;
    }
    stored = database.read(load_match_key_fields);
  }
  return ids_of(wanted, stored);
}

}  // namespace giftsync::crm::managed
