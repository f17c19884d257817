#include "crm/sql/managed/match_columns.h"

#include <algorithm>

#include "schema/sql/prepared_query.h"

namespace giftsync::crm::managed {
namespace {

std::string column_names(const std::vector<crm::sql_crm::Column>& columns) {
  std::string names;
  for (const crm::sql_crm::Column& column : columns) names += (names.empty() ? "" : ", ") + column.name;
  return names;
}

/// Finds columns and collects the missing ones.
class ColumnFinder {
 public:
  ColumnFinder(std::string object, std::vector<crm::sql_crm::Column> columns)
      : object_(std::move(object)), columns_(std::move(columns)) {}

  const crm::sql_crm::Column* find(const std::string& setting, const std::string& field) {
    const crm::sql_crm::Column* column = crm::sql_crm::find_column(columns_, field);
    if (!column) faults_.push_back(fault(setting, field));
    return column;
  }
  std::vector<MatchKeyField> find_all(const std::string& setting, const std::vector<std::string>& fields,
                                      MatchKeyField::Kind kind, const std::string& region) {
    std::vector<MatchKeyField> found;
    for (const std::string& field : fields) {
      if (const crm::sql_crm::Column* column = find(setting, field))
        found.push_back({object_, kind, column->name, region});
    }
    return found;
  }
  std::vector<std::string> faults() && { return std::move(faults_); }

 private:
  std::string fault(const std::string& setting, const std::string& field) const {
    const std::string key = "matching." + object_ + "." + setting;
    if (columns_.empty()) {
      return key + ": the CRM's database has no table crm_" + object_ + "; run giftsyncctl db migrate";
    }
    return key + ": the CRM's " + object_ + " has no field " + field + "; it has " + column_names(columns_) +
           " (case does not matter). Correct the setting, or import the field with giftsyncctl crm import "
           "--object " +
           object_;
  }

  const std::string object_;
  const std::vector<crm::sql_crm::Column> columns_;
  std::vector<std::string> faults_;
};

}  // namespace

const PersonMatchFields& match_fields_of(PersonObject object, const MatchFields& fields) {
  return object == PersonObject::contact ? fields.contact : fields.lead;
}

PersonMatchColumns find_person_match_columns(soci::session& session, PersonObject object,
                                             const MatchFields& fields) {
  PersonMatchColumns result;
  result.object = object == PersonObject::contact ? "contact" : "lead";
  const PersonMatchFields& wanted = match_fields_of(object, fields);
  ColumnFinder finder(result.object, crm::sql_crm::columns_of(session, "crm_" + result.object));
  result.email_fields = finder.find_all("email_fields", wanted.email_fields, MatchKeyField::Kind::email, "");
  result.phone_fields =
      finder.find_all("phone_fields", wanted.phone_fields, MatchKeyField::Kind::phone, fields.default_region);
  if (const crm::sql_crm::Column* column = finder.find("order_by.field", wanted.order_by.field))
    result.order_by = *column;
  result.faults = std::move(finder).faults();
  return result;
}

OpportunityOrderColumn find_opportunity_order_column(soci::session& session, const MatchFields& fields) {
  OpportunityOrderColumn result;
  ColumnFinder finder("opportunity", crm::sql_crm::columns_of(session, "crm_opportunity"));
  if (const crm::sql_crm::Column* column = finder.find("order_by.field", fields.opportunity.order_by.field))
    result.order_by = *column;
  result.faults = std::move(finder).faults();
  return result;
}

namespace {

/// Another name makes the keys of all rows again: their rule changed (MATCH-1, MATCH-2).
std::string kind_name(MatchKeyField::Kind kind) {
  return kind == MatchKeyField::Kind::email ? "email_2" : "phone_2";
}
constexpr const char* kKinds = "('email_2', 'phone_2')";

ChangedRows changed_rows(soci::session& session, const std::string& query, std::int64_t newest) {
  ChangedRows changed;
  long long up_to = newest;
  std::string object;
  std::string row_id;
  soci::statement statement =
      sql::bound(session, query, soci::into(object), soci::into(row_id), soci::use(up_to));
  sql::each_row(statement, [&] {
    changed.ids_by_object[object].insert(row_id);
    ++changed.entries;
  });
  return changed;
}

/// "id <= ... LIMIT ..." behind a SELECT.
std::string oldest_queue_entries(std::size_t limit) {
  return " FROM crm_match_key_queue WHERE id <= :newest ORDER BY id LIMIT " + std::to_string(limit);
}

}  // namespace

const StoredMatchKeyField* find(const std::vector<StoredMatchKeyField>& fields, const MatchKeyField& wanted) {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const StoredMatchKeyField& s) { return s.field == wanted; });
  return found == fields.end() ? nullptr : &*found;
}

MatchKeyState load_match_key_state(soci::session& session) {
  MatchKeyState state;
  sql::PreparedQuery rows(
      session,
      "SELECT n.newest, f.id, f.object, f.kind, f.column_name, f.region, f.indexed_to_id, f.complete FROM "
      "(SELECT max(id) AS newest FROM crm_match_key_queue) AS n LEFT JOIN crm_match_key_field f ON f.kind "
      "IN " +
          std::string(kKinds) + " ORDER BY f.id",
      {});
  rows.each_row({}, [&] {
    if (!rows.is_null(0)) state.newest_queue_id = rows.integer(0);
    if (rows.is_null(1)) return;  // no field has keys yet
    StoredMatchKeyField& stored = state.fields.emplace_back();
    stored.id = rows.integer(1);
    stored.field.object = rows.text(2);
    stored.field.kind = rows.text(3) == kind_name(MatchKeyField::Kind::email) ? MatchKeyField::Kind::email
                                                                              : MatchKeyField::Kind::phone;
    stored.field.column = rows.text(4);
    stored.field.region = rows.text(5);
    stored.indexed_to_id = rows.text(6);
    stored.complete = rows.integer(7) != 0;
  });
  return state;
}

std::vector<StoredMatchKeyField> load_match_key_fields(soci::session& session) {
  return load_match_key_state(session).fields;
}

void lock_match_keys(soci::session& session) {
  // SQLite: BEGIN IMMEDIATE has done it.
  if (sql::Dialect(session) == sql::Dialect::postgresql)
    session << "LOCK TABLE crm_match_key_field IN SHARE ROW EXCLUSIVE MODE";
}

void insert_match_key_fields(soci::session& session, const std::vector<MatchKeyField>& wanted) {
  const std::vector<StoredMatchKeyField> stored = load_match_key_fields(session);
  long long id = 0;  // above those of former rules too, whose keys go as the new ones are made
  session << "SELECT coalesce(max(id), 0) FROM crm_match_key_field", soci::into(id);
  for (const MatchKeyField& field : wanted) {
    if (find(stored, field)) continue;
    const std::string kind = kind_name(field.kind);
    ++id;
    // A field may be listed twice in the settings.
    session << "INSERT INTO crm_match_key_field (id, object, kind, column_name, region, indexed_to_id, "
               "complete) VALUES"
               " (:id, :object, :kind, :column_name, :region, '', 0) ON CONFLICT (object, kind, column_name, "
               "region) DO "
               "NOTHING",
        soci::use(id), soci::use(field.object), soci::use(kind), soci::use(field.column),
        soci::use(field.region);
  }
}

void delete_dropped_fields(soci::session& session, const std::string& object) {
  const std::vector<crm::sql_crm::Column> columns = crm::sql_crm::columns_of(session, "crm_" + object);
  for (const StoredMatchKeyField& stored : load_match_key_fields(session)) {
    if (stored.field.object != object || crm::sql_crm::find_column(columns, stored.field.column)) continue;
    const long long id = stored.id;
    session << "DELETE FROM crm_match_key WHERE field_id = :id", soci::use(id);
    session << "DELETE FROM crm_match_key_field WHERE id = :id", soci::use(id);
  }
}

void save_progress(soci::session& session, const StoredMatchKeyField& field) {
  const long long complete = field.complete ? 1 : 0;
  const long long id = field.id;
  session
      << "UPDATE crm_match_key_field SET indexed_to_id = :indexed_to_id, complete = :complete WHERE id = :id",
      soci::use(field.indexed_to_id), soci::use(complete), soci::use(id);
  // Keys of a former rule, about as many as were made: all at once would take a transaction of minutes.
  constexpr int kMostDeleted = 5'000;
  session << "DELETE FROM crm_match_key WHERE (field_id, match_key, row_id) IN (SELECT field_id, match_key, "
             "row_id "
             "FROM crm_match_key WHERE field_id IN (SELECT id FROM crm_match_key_field WHERE kind NOT IN " +
                 std::string(kKinds) + ") LIMIT " + std::to_string(kMostDeleted) + ")";
}

std::optional<std::int64_t> newest_queue_id(soci::session& session) {
  std::optional<std::int64_t> newest;
  soci::statement statement =
      sql::bound(session, "SELECT max(id) FROM crm_match_key_queue", soci::into(newest));
  sql::each_row(statement, [] {});
  return newest;
}

ChangedRows peek_queued_rows(soci::session& session, std::int64_t newest, std::size_t limit) {
  return changed_rows(session, "SELECT object, row_id" + oldest_queue_entries(limit), newest);
}

ChangedRows dequeue_rows(soci::session& session, std::int64_t newest, std::size_t limit) {
  return changed_rows(session,
                      "DELETE FROM crm_match_key_queue WHERE id IN (SELECT id" + oldest_queue_entries(limit) +
                          ") RETURNING object, row_id",
                      newest);
}

}  // namespace giftsync::crm::managed
