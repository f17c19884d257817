#include "schema/crm/managed/record_lookup.h"

#include "schema/crm/managed/match_key_lookup.h"

namespace giftsync::schema::crm::managed {

std::vector<Person> read_people_by_id(sql::Database& database, PersonObject object,
                                      std::span<const std::string> ids) {
  std::vector<Person> found;
  if (ids.empty()) return found;
  const bool contact = object == PersonObject::contact;
  const sql::Dialect dialect = database.dialect();
  const std::string list = sql::list_of(dialect, std::vector<std::string>(ids.begin(), ids.end()));
  database.read([&](soci::session& session) {
    found.clear();
    Person row;
    soci::statement statement =
        sql::bound(session,
                   std::string("SELECT id, coalesce(email, ''), coalesce(firstname, ''), "
                               "coalesce(lastname, ''), ") +
                       (contact ? "CASE WHEN " + account_exists_condition("accountid") +
                                      " THEN coalesce(accountid, '') ELSE '' END FROM crm_contact WHERE "
                                : std::string("'' FROM crm_lead WHERE ")) +
                       sql::in_list(dialect, "id", "ids", true),
                   soci::use(list), soci::into(row.id), soci::into(row.email), soci::into(row.first_name),
                   soci::into(row.last_name), soci::into(row.account_id));
    sql::each_row(statement, [&] { found.push_back(row); });
  });
  return found;
}

std::vector<Opportunity> read_opportunities_by_id(sql::Database& database, std::span<const std::string> ids) {
  std::vector<Opportunity> found;
  if (ids.empty()) return found;
  const std::string list = sql::list_of(database.dialect(), std::vector<std::string>(ids.begin(), ids.end()));
  database.read([&](soci::session& session) {
    found.clear();
    Opportunity row;
    soci::statement statement = sql::bound(
        session,
        "SELECT o.id, coalesce(o.name, ''), CASE WHEN " + account_exists_condition("o.accountid") +
            " THEN coalesce(o.accountid, '') ELSE '' END, coalesce(o.stagename, '') FROM crm_opportunity o "
            "WHERE " +
            sql::in_list(database.dialect(), "o.id", "ids", true),
        soci::use(list), soci::into(row.id), soci::into(row.name), soci::into(row.account_id),
        soci::into(row.stage));
    sql::each_row(statement, [&] { found.push_back(row); });
  });
  return found;
}

}  // namespace giftsync::schema::crm::managed
