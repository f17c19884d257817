// schema/crm/managed: contacts, leads and opportunities by the Ids in request records.
#include <initializer_list>

#include "schema/crm/managed/match_key_lookup.h"
#include "schema/crm/managed/request_records.h"

namespace giftsync::schema::crm::managed {
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
                          sql::in_list(database.dialect(), "p.id", "ids", true) + " AND " +
                          sql_common::row_not_deleted_condition(database.dialect(), table, "p"),
                      sql::kRunOnce);
    statement.define_and_bind();
    sql::each_row(statement, [&] {
      for (const std::string& asked : sql_common::asked_forms(ids, row.id))
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

}  // namespace giftsync::schema::crm::managed
