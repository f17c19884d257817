#include "schema/sql_crm/key_fields.h"

#include <algorithm>

#include "schema/sql/kept_query.h"
#include "schema/sql_crm/columns.h"

namespace giftsync::schema::sql_crm {
namespace {

constexpr int kNotesMax = 500;  // in one transaction, so that nobody waits long for its locks

std::string kind_word(KeyField::Kind kind) {
  return kind == KeyField::Kind::email ? "email" : "phone";
}

ChangedRows changed_rows(soci::session& session, const std::string& query, std::int64_t newest) {
  ChangedRows changed;
  long long up_to = newest;
  std::string object;
  std::string row_id;
  soci::statement statement =
      sql::bound(session, query, soci::into(object), soci::into(row_id), soci::use(up_to));
  sql::each_row(statement, [&] { changed[object].insert(row_id); });
  return changed;
}

/// "id <= ... LIMIT ..." behind a SELECT.
std::string oldest_notes() {
  return " FROM crm_pending_key WHERE id <= :newest ORDER BY id LIMIT " + std::to_string(kNotesMax);
}

}  // namespace

const StoredField* find(const std::vector<StoredField>& fields, const KeyField& wanted) {
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const StoredField& s) { return s.field == wanted; });
  return found == fields.end() ? nullptr : &*found;
}

KeyState key_state(soci::session& session) {
  KeyState state;
  sql::KeptQuery rows(
      session,
      "SELECT n.newest, f.id, f.object, f.kind, f.field, f.region, f.built_to, f.complete FROM "
      "(SELECT max(id) AS newest FROM crm_pending_key) AS n LEFT JOIN crm_key_field f ON true "
      "ORDER BY f.id",
      {});
  rows.each_row({}, [&] {
    if (!rows.is_absent(0)) state.newest_note = rows.integer(0);
    if (rows.is_absent(1)) return;  // no field has keys yet
    StoredField& stored = state.fields.emplace_back();
    stored.id = rows.integer(1);
    stored.field.object = rows.text(2);
    stored.field.kind = rows.text(3) == "email" ? KeyField::Kind::email : KeyField::Kind::phone;
    stored.field.column = rows.text(4);
    stored.field.region = rows.text(5);
    stored.built_to = rows.text(6);
    stored.complete = rows.integer(7) != 0;
  });
  return state;
}

std::vector<StoredField> stored_fields(soci::session& session) {
  return key_state(session).fields;
}

void lock_keys(soci::session& session, Dialect dialect) {
  // SQLite: BEGIN IMMEDIATE has done it.
  if (dialect == Dialect::postgresql) session << "LOCK TABLE crm_key_field IN SHARE ROW EXCLUSIVE MODE";
}

void enter_fields(soci::session& session, const std::vector<KeyField>& wanted) {
  const std::vector<StoredField> stored = stored_fields(session);
  long long id = stored.empty() ? 0 : stored.back().id;
  for (const KeyField& field : wanted) {
    if (find(stored, field)) continue;
    const std::string kind = kind_word(field.kind);
    ++id;
    // A field may stand twice in the settings.
    session << "INSERT INTO crm_key_field (id, object, kind, field, region, built_to, complete) VALUES"
               " (:id, :object, :kind, :field, :region, '', 0) ON CONFLICT (object, kind, field, region) DO "
               "NOTHING",
        soci::use(id), soci::use(field.object), soci::use(kind), soci::use(field.column),
        soci::use(field.region);
  }
}

void forget_lost_fields(soci::session& session, Dialect dialect, const std::string& object) {
  const std::vector<Column> columns = columns_of(session, dialect, "crm_" + object);
  for (const StoredField& stored : stored_fields(session)) {
    if (stored.field.object != object || find_column(columns, stored.field.column)) continue;
    const long long id = stored.id;
    session << "DELETE FROM crm_match_key WHERE field_id = :id", soci::use(id);
    session << "DELETE FROM crm_key_field WHERE id = :id", soci::use(id);
  }
}

void save_progress(soci::session& session, const StoredField& field) {
  const long long complete = field.complete ? 1 : 0;
  const long long id = field.id;
  session << "UPDATE crm_key_field SET built_to = :built_to, complete = :complete WHERE id = :id",
      soci::use(field.built_to), soci::use(complete), soci::use(id);
}

std::optional<std::int64_t> newest_note(soci::session& session) {
  std::optional<std::int64_t> newest;
  soci::statement statement = sql::bound(session, "SELECT max(id) FROM crm_pending_key", soci::into(newest));
  sql::each_row(statement, [] {});
  return newest;
}

ChangedRows read_notes(soci::session& session, std::int64_t newest) {
  return changed_rows(session, "SELECT object, row_id" + oldest_notes(), newest);
}

ChangedRows take_notes(soci::session& session, std::int64_t newest) {
  return changed_rows(
      session,
      "DELETE FROM crm_pending_key WHERE id IN (SELECT id" + oldest_notes() + ") RETURNING object, row_id",
      newest);
}

}  // namespace giftsync::schema::sql_crm
