#include "crm/sql/managed/person_rows.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

#include "crm/sql/columns.h"
#include "crm/sql/transaction_rows.h"
#include "schema/request_record.h"
#include "schema/sql/queries.h"

namespace giftsync::crm::managed {
namespace {

using crm::sql_crm::Column;
using crm::sql_crm::ColumnType;
using crm::sql_crm::quoted;
using soci::use;

bool may_have_address(const Column& column) {
  return column.type == ColumnType::text && column.name.find("email") != std::string::npos;
}
/// "emailid" has an address or the Id of another row.
bool has_id(const Column& column) {
  return column.name.ends_with("id");
}

/// Says nothing of the person: the CRM's own Ids and times, and words that reports group by. Any other name
/// that ends in "id" may be that of a passport.
bool is_kept(const Column& column) {
  constexpr std::array<std::string_view, 19> kKept{"id",
                                                   "accountid",
                                                   "ownerid",
                                                   "masterrecordid",
                                                   "recordtypeid",
                                                   "reportstoid",
                                                   "createdbyid",
                                                   "lastmodifiedbyid",
                                                   "convertedaccountid",
                                                   "convertedcontactid",
                                                   "convertedopportunityid",
                                                   "converteddate",
                                                   "createddate",
                                                   "lastmodifieddate",
                                                   "systemmodstamp",
                                                   "leadsource",
                                                   "status",
                                                   "rating",
                                                   "isdeleted"};
  return std::find(kKept.begin(), kKept.end(), column.name) != kKept.end();
}

/// Sets the column where it has a text. The marks are in a row of their own, because SOCI binds each name
/// once.
std::string marked_column(const std::string& column, const std::string& mark) {
  return column + " = CASE WHEN coalesce(" + column + ", '') = '' THEN " + column + " ELSE erasure.erased_" +
         mark + " END";
}
std::string marked_columns(std::initializer_list<const char*> columns) {
  std::string assignments;
  for (const char* column : columns)
    assignments += (assignments.empty() ? "" : ", ") + marked_column(column, "mark");
  return assignments;
}

constexpr const char* kErasure =
    " FROM (SELECT cast(:mark AS text) AS erased_mark, cast(:address AS text) AS erased_address) erasure "
    "WHERE ";

/// What an admin's definition of a column forbids.
struct ColumnRules {
  std::string name;
  bool is_required = false;   ///< NOT NULL
  bool is_generated = false;  ///< from other columns: never set, and without the person once those are
};

std::vector<ColumnRules> rules_of(soci::session& session, const std::string& table) {
  const std::string query =
      sql::Dialect(session) == sql::Dialect::sqlite
          ? "SELECT lower(name), \"notnull\", CASE WHEN hidden IN (2, 3) THEN 1 ELSE 0 END FROM "
            "pragma_table_xinfo(:table)"
          : "SELECT lower(cast(attname AS text)), CASE WHEN attnotnull THEN 1 ELSE 0 END, CASE WHEN "
            "attgenerated <> '' THEN 1 ELSE 0 END FROM pg_attribute WHERE attrelid = to_regclass(:table) AND "
            "attnum > 0 AND NOT attisdropped";
  ColumnRules row;
  return sql::select_rows(row, session, query, use(table, "table"), soci::into(row.name),
                          soci::into(row.is_required), soci::into(row.is_generated));
}

/// In PostgreSQL a uuid or JSON document is no text that could become a mark.
bool takes_marks(sql::Dialect dialect, const Column& column) {
  if (column.type != ColumnType::text) return false;
  constexpr std::array<std::string_view, 4> kTexts{"text", "character", "character varying", "citext"};
  return dialect == sql::Dialect::sqlite ||
         std::find(kTexts.begin(), kTexts.end(), column.sql_type) != kTexts.end();
}

/// The text of a mark that fits into the column.
std::string fitting(sql::Dialect dialect, const Column& column, const std::string& text) {
  const bool is_bounded =
      dialect == sql::Dialect::postgresql && column.sized_type.find('(') != std::string::npos;
  return is_bounded ? "cast(" + text + " AS " + column.sized_type + ")" : text;
}

/// What the column becomes; empty: it stays as it is.
std::string erased_value(sql::Dialect dialect, const Column& column, bool is_required, bool is_unique) {
  const std::string name = quoted(column.name);
  if (column.type == ColumnType::date) return is_required ? "'1970-01-01'" : "NULL";
  if (column.type != ColumnType::text) return {};
  if (!takes_marks(dialect, column)) return is_required ? "" : "NULL";
  if (may_have_address(column) && has_id(column))
    return "CASE WHEN " + name + " LIKE '%@%' THEN " + fitting(dialect, column, "erasure.erased_address") +
           " ELSE " + name + " END";
  // An admin may have made texts unique. The Id comes first, since a short column cuts what follows.
  std::string mark = may_have_address(column) ? "erasure.erased_address" : "erasure.erased_mark";
  if (is_unique && !may_have_address(column)) mark = "id || ':' || erasure.erased_mark";
  return "CASE WHEN coalesce(" + name + ", '') = '' THEN " + name + " ELSE " +
         fitting(dialect, column, mark) + " END";
}

/// "name = CASE ..., birthdate = NULL": the assignments that erase a person, whatever an admin's own columns
/// require.
std::string assignments_for(soci::session& session, const std::string& table) {
  const std::vector<ColumnRules> rules = rules_of(session, table);
  std::string assignments;
  for (const Column& column : crm::sql_crm::columns_of(session, table)) {
    if (is_kept(column)) continue;
    const auto rule = std::find_if(rules.begin(), rules.end(),
                                   [&](const ColumnRules& each) { return each.name == column.name; });
    const bool is_known = rule != rules.end();
    if (is_known && rule->is_generated) continue;
    const std::string value = erased_value(session, column, is_known && rule->is_required,
                                           crm::sql_crm::is_unique(session, table, column.name));
    if (value.empty()) continue;
    assignments += (assignments.empty() ? "" : ", ") + quoted(column.name) + " = " + value;
  }
  return assignments;
}

}  // namespace

std::vector<std::string> ManagedPersonRows::request_records(const RequestRecordsOf& person,
                                                            const ErasureMarks& marks, bool is_closed) {
  return database_.read([&](soci::session& session) {
    const std::string contacts = sql::list_of(session, person.contacts);
    const std::string leads = sql::list_of(session, person.leads);
    const std::string records = sql::list_of(session, person.records);
    const auto refers = [&](const std::string& object, const std::string& list) {
      return "EXISTS (SELECT 1 FROM crm_" + object + " p WHERE p.id IN " +
             crm::sql_crm::crm_id_forms_expression(session, "crm_request_record.recipient_" + object) +
             " AND " + sql::in_list(session, "p.id", list, true) + ")";
    };
    const std::string address = "coalesce(recipient_email, '')";
    const std::string texts =
        "coalesce(recipient_first_name, '') || coalesce(recipient_last_name, '') || coalesce(message, '')";
    const std::string closed = "coalesce(request_status, '') IN ('" +
                               std::string(to_word(RequestRecordStatus::sent)) + "', '" +
                               std::string(to_word(RequestRecordStatus::rejected)) + "')";
    return sql::select_column<std::string>(
        session,
        "SELECT id FROM crm_request_record WHERE (" +
            crm::sql_crm::email_key_expression(session, "recipient_email") + " = :address OR ((" +
            sql::in_list(session, "id", "records", true) + " OR " + address + " = '' AND (" +
            refers("contact", "contacts") + " OR " + refers("lead", "leads") + ")) AND (" + address +
            " NOT IN ('', :erased_address) OR replace(" + texts + ", :erased_text, '') <> ''))) AND " +
            (is_closed ? "" : "NOT ") + closed + " ORDER BY id",
        use(person.email_key, "address"), use(records, "records"), use(contacts, "contacts"),
        use(leads, "leads"), use(marks.address, "erased_address"), use(marks.text, "erased_text"));
  });
}

std::vector<std::string> ManagedPersonRows::deleted_people(PersonObject object,
                                                           const std::string& email_key) {
  const std::string table = object == PersonObject::contact ? "crm_contact" : "crm_lead";
  return database_.read([&](soci::session& session) -> std::vector<std::string> {
    const std::vector<Column> columns = crm::sql_crm::columns_of(session, table);
    const Column* const mark = crm::sql_crm::find_column(columns, "isdeleted");
    if (!mark) return {};
    std::string any;
    for (const Column& column : columns)
      if (may_have_address(column) && takes_marks(session, column))
        any += (any.empty() ? "" : " OR ") +
               crm::sql_crm::email_key_expression(session, quoted(column.name)) + " = asked.address";
    if (any.empty()) return {};
    return sql::select_column<std::string>(
        session,
        "SELECT id FROM " + table + ", (SELECT cast(:address AS text) AS address) asked WHERE NOT (" +
            crm::sql_crm::not_deleted_condition(session, mark->name, mark->type) + ") AND (" + any +
            ") ORDER BY id",
        use(email_key, "address"));
  });
}

std::int64_t ManagedPersonRows::erase_people(PersonObject object, std::span<const std::string> ids,
                                             const ErasureMarks& marks) {
  if (ids.empty()) return 0;
  const std::string table = object == PersonObject::contact ? "crm_contact" : "crm_lead";
  return database_.write([&](soci::session& session) {
    const std::string list = sql::list_of(session, ids);
    return sql::change_rows(session,
                            "UPDATE " + table + " SET " + assignments_for(session, table) + kErasure +
                                sql::in_list(session, table + ".id", "ids", true),
                            use(marks.text, "mark"), use(marks.address, "address"), use(list, "ids"));
  });
}

std::int64_t ManagedPersonRows::erase_gift_records(std::span<const ErasedGiftRecord> records,
                                                   const ErasureMarks& marks) {
  return database_.write([&](soci::session& session) {
    const std::string texts = marked_columns({"message", "recipient_phone_number"});
    std::int64_t changed = 0;
    for (const ErasedGiftRecord& record : records) {
      const std::string id = std::to_string(record.transaction.value);
      changed += sql::change_rows(
          session,
          "UPDATE crm_gift_record SET name = :name, recipient_email = erasure.erased_address, " + texts +
              kErasure + "recipienttransactionid = cast(:id AS bigint)",
          use(record.name, "name"), use(marks.text, "mark"), use(marks.address, "address"), use(id, "id"));
      sql::change_rows(session,
                       "UPDATE crm_task SET " + marked_columns({"subject", "description"}) + kErasure +
                           "recipienttransactionid = cast(:id AS bigint)",
                       use(marks.text, "mark"), use(marks.address, "address"), use(id, "id"));
    }
    return changed;
  });
}

std::int64_t ManagedPersonRows::erase_request_records(std::span<const std::string> ids,
                                                      const ErasureMarks& marks) {
  if (ids.empty()) return 0;
  return database_.write([&](soci::session& session) {
    const std::string list = sql::list_of(session, ids);
    return sql::change_rows(
        session,
        "UPDATE crm_request_record SET " + marked_column("recipient_email", "address") + ", " +
            marked_columns({"recipient_first_name", "recipient_last_name", "message", "error_log"}) +
            kErasure + sql::in_list(session, "crm_request_record.id", "ids", true),
        use(marks.text, "mark"), use(marks.address, "address"), use(list, "ids"));
  });
}

}  // namespace giftsync::crm::managed
