// crm/sql/managed: reads request records and their change events.
#include "crm/sql/managed/request_records.h"

#include <array>
#include <initializer_list>
#include <set>

#include "crm/sql/gift_values.h"
#include "crm/sql/managed/gift_table.h"
#include "crm/sql/managed/match_key_lookup.h"
#include "crm/sql/rows_by_key.h"
#include "crm/sql/table_rows.h"
#include "crm/sql/transaction_rows.h"
#include "platform/text.h"
#include "schema/ids.h"

namespace giftsync::crm::managed {
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
      if (!is_storable_text(*texts_[i])) {
        record.unreadable = std::string(kRequestRecordFields[i].label);
        continue;
      }
      // Absent for a date that is none: nothing is decided by dates.
      record.set(static_cast<RequestRecordField>(i),
                 crm::sql_crm::value_of(kRequestRecordFields[i], *texts_[i]));
    }
    if (!is_storable_text(record.id)) record.unreadable = "Id";
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
    statement.prepare("SELECT " + RecordRow::columns(session) + " FROM crm_request_record " + rest,
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
  const std::string list = sql::list_of(database_.dialect(), event_ids);
  database_.write([&](soci::session& session) {
    session << "DELETE FROM crm_request_queue WHERE " + sql::in_list(session, "id", "ids", false),
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
                        {sql::list_of(dialect, ids)});
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

// contacts, leads and opportunities by the Ids in request records.

namespace {

/// The rows of the table, as p, with these ids, as they are asked for; `cells` are the fetched members, in
/// the order of the columns.
template <class Row>
std::vector<Row> rows_by_id(sql::Database& database, const std::string& columns, const std::string& table,
                            std::span<const std::string> ids,
                            std::initializer_list<std::string Row::*> cells) {
  if (ids.empty()) return {};
  const std::string list = sql::list_of(database.dialect(), crm_id_forms(ids));
  return database.read([&](soci::session& session) {
    std::vector<Row> found;
    Row row;
    soci::statement statement(session);
    for (const auto cell : cells) statement.exchange(soci::into(row.*cell));
    statement.exchange(soci::use(list));
    statement.alloc();
    statement.prepare("SELECT " + columns + " FROM " + table + " p WHERE " +
                          sql::in_list(session, "p.id", "ids", true) + " AND " +
                          crm::sql_crm::row_not_deleted_condition(session, table, "p"),
                      sql::kRunOnce);
    statement.define_and_bind();
    sql::each_row(statement, [&] {
      for (const std::string& asked : crm::sql_crm::asked_forms(ids, row.id))
        found.emplace_back(row).id = asked;
    });
    return found;
  });
}

std::string existing_account(sql::Dialect dialect) {
  return "CASE WHEN " + account_exists_condition(dialect, "p.accountid") +
         " THEN coalesce(p.accountid, '') ELSE '' END";
}

}  // namespace

std::vector<Person> ManagedRequestRecords::find_persons(PersonObject object,
                                                        std::span<const std::string> ids) {
  const bool contact = object == PersonObject::contact;
  return rows_by_id<Person>(
      database_,
      "id, coalesce(email, ''), coalesce(firstname, ''), coalesce(lastname, ''), " +
          (contact ? existing_account(database_.dialect()) : std::string("''")),
      contact ? "crm_contact" : "crm_lead", ids,
      {&Person::id, &Person::email, &Person::first_name, &Person::last_name, &Person::account_id});
}

std::vector<Opportunity> ManagedRequestRecords::find_opportunities(std::span<const std::string> ids) {
  return rows_by_id<Opportunity>(
      database_,
      "id, coalesce(name, ''), " + existing_account(database_.dialect()) + ", coalesce(stagename, '')",
      "crm_opportunity", ids,
      {&Opportunity::id, &Opportunity::name, &Opportunity::account_id, &Opportunity::stage});
}

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

crm::sql_crm::TextRows::Row cells_of(const RequestRecordUpdate& row) {
  crm::sql_crm::TextRows::Row cells{
      row.expected.id,
      row.status ? std::optional(std::string(to_word(*row.status))) : std::nullopt,
      row.error_log,
      text_of(row.auto_approved),
      row.item_link,
      text_of(row.claimed),
      text_of(std::optional(row.expected.claimed))};
  for (const F field : compared_fields()) cells.push_back(crm::sql_crm::text_of(row.expected.get(field)));
  return cells;
}

std::string update_statement(sql::Dialect dialect, const crm::sql_crm::TextRows& texts,
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
                     crm::sql_crm::now_expression(dialect);
  if (!user.empty()) text += ", lastmodifiedbyid = :acting_user";
  text += " FROM " + texts.as_table() + " WHERE " + std::string(kTable) +
          ".id = c0 AND claimed = " + boolean_expression("c6");
  std::size_t cell = kUpdateCells;
  for (const F field : compared_fields())
    text += " AND " + read_expression(descriptor_of(field), dialect) + " IS NOT DISTINCT FROM c" +
            std::to_string(cell++);
  return text + " RETURNING " + std::string(kTable) + ".id";
}

std::set<std::string> run_updates(soci::session& session, std::span<const RequestRecordUpdate> rows,
                                  const std::string& user) {
  crm::sql_crm::TextRows texts(session, kUpdateCells + compared_fields().size());
  for (const RequestRecordUpdate& row : rows) texts.add(cells_of(row));
  std::set<std::string> written;
  std::string id;
  soci::statement statement(session);
  statement.exchange(soci::into(id));
  // In the order in which the statement names them.
  if (!user.empty()) statement.exchange(soci::use(user));
  texts.bind(statement);
  statement.alloc();
  statement.prepare(update_statement(session, texts, user), sql::kRunOnce);
  statement.define_and_bind();
  sql::each_row(statement, [&] { written.insert(id); });
  return written;
}

std::set<std::string> existing_ids(soci::session& session, const std::vector<std::string>& ids) {
  const std::string list = sql::list_of(session, ids);
  std::set<std::string> existing;
  std::string id;
  soci::statement statement = sql::bound(
      session, "SELECT id FROM " + std::string(kTable) + " WHERE " + sql::in_list(session, "id", "ids", true),
      soci::use(list), soci::into(id));
  sql::each_row(statement, [&] { existing.insert(id); });
  return existing;
}

std::vector<RowResult> write_rows(soci::session& session, std::span<const RequestRecordUpdate> rows,
                                  const std::string& user) {
  std::vector<std::string> ids;
  for (const RequestRecordUpdate& row : rows) ids.push_back(row.expected.id);
  const std::set<std::string> written = run_updates(session, rows, user);
  const std::set<std::string> existing = existing_ids(session, ids);
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

std::vector<std::string> insert_rows(soci::session& session, std::span<const NewRequestRecord> rows) {
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
    crm::sql_crm::TextRows texts(session, 1 + fields.size());
    crm::sql_crm::TextRows::Row cells{row.creation_key};
    for (const F field : fields) {
      auto text = crm::sql_crm::text_of(row.record.get(field));
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
  return crm::sql_crm::bisect_upsert(rows, [&](std::span<const RequestRecordUpdate> some) {
    return database_.write([&](soci::session& session) { return write_rows(session, some, user_); });
  });
}

std::vector<RequestRecord> ManagedRequestRecords::create(std::span<const NewRequestRecord> rows) {
  if (rows.empty()) return {};
  const std::vector<std::string> ids =
      database_.write([&](soci::session& session) { return insert_rows(session, rows); });
  std::vector<RequestRecord> found = find(ids);
  std::vector<RequestRecord> in_order;
  for (const std::string& id : ids) {
    for (RequestRecord& record : found) {
      if (record.id == id) in_order.push_back(record);
    }
  }
  return in_order;
}

}  // namespace giftsync::crm::managed
