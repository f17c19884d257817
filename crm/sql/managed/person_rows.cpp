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

/// "name = CASE ..., birthdate = NULL": the assignments that erase a person.
std::string assignments_for(const std::vector<Column>& columns) {
  std::string assignments;
  for (const Column& column : columns) {
    if (is_kept(column)) continue;
    const std::string name = quoted(column.name);
    std::string assignment;
    if (column.type == ColumnType::date)
      assignment = name + " = NULL";
    else if (may_have_address(column) && has_id(column))
      assignment =
          name + " = CASE WHEN " + name + " LIKE '%@%' THEN erasure.erased_address ELSE " + name + " END";
    else if (column.type == ColumnType::text)
      // An admin may have made addresses unique.
      assignment = marked_column(name, may_have_address(column) ? "address" : "mark");
    else
      continue;
    assignments += (assignments.empty() ? "" : ", ") + assignment;
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
      if (may_have_address(column))
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
                            "UPDATE " + table + " SET " +
                                assignments_for(crm::sql_crm::columns_of(session, table)) + kErasure +
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
