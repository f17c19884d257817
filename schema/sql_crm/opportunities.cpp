#include "schema/sql_crm/opportunities.h"

#include "schema/sql_crm/candidates.h"

namespace giftsync::schema::sql_crm {
namespace {

/// The Id of an account that exists, or nothing.
std::string account_of(const std::string& column) {
  return "CASE WHEN " + account_exists(column) + " THEN coalesce(" + column + ", '') ELSE '' END";
}

std::string opportunities_statement(Dialect dialect, const Column& order_by, bool descending) {
  const std::string value = as_text(dialect, "o." + quoted(order_by.name), order_by.type);
  return "SELECT contactid, id, name, " + account_of("accountid") +
         ", stage, order_value FROM (SELECT r.contactid, o.id, coalesce(o.name, '') AS name, o.accountid, "
         "coalesce(o.stagename, '') AS stage, coalesce(" +
         value + ", '') AS order_value, row_number() OVER (PARTITION BY r.contactid ORDER BY " +
         order_terms(dialect, "o", order_by, descending) +
         ") AS place FROM (SELECT DISTINCT contactid, opportunityid FROM crm_opportunity_contact_role "
         "WHERE " +
         sql::in_list(dialect, "contactid", "contacts", true) +
         ") AS r JOIN crm_opportunity o ON o.id = r.opportunityid WHERE NOT coalesce(o.isclosed, false)) AS "
         "ranked WHERE place <= " +
         std::to_string(kMaxCandidates) + " ORDER BY contactid, place";
}

}  // namespace

std::map<std::string, std::vector<Opportunity>> opportunities_by_contact(
    sql::Database& database, const Column& order_by, bool descending,
    const std::vector<std::string>& contact_ids) {
  const std::string query = opportunities_statement(database.dialect(), order_by, descending);
  const std::string list = sql::list_of(database.dialect(), contact_ids);
  return database.read([&](soci::session& session) {
    std::map<std::string, std::vector<Opportunity>> found;
    Opportunity row;
    std::string contact;
    soci::statement statement =
        (session.prepare << query, soci::into(contact), soci::into(row.id), soci::into(row.name),
         soci::into(row.account_id), soci::into(row.stage), soci::into(row.order_value), soci::use(list));
    sql::each_row(statement, [&] {
      Opportunity& added = found[contact].emplace_back(row);
      if (order_by.type == ColumnType::number) added.order_value = plain_number(row.order_value);
    });
    return found;
  });
}

std::vector<ConvertedLead> read_converted_leads(sql::Database& database,
                                                const std::vector<std::string>& lead_ids) {
  const std::string list = sql::list_of(database.dialect(), lead_ids);
  return database.read([&](soci::session& session) {
    std::vector<ConvertedLead> found;
    ConvertedLead row;
    long long exists = 0;
    soci::statement statement =
        (session.prepare
             << "SELECT l.id, coalesce(l.convertedcontactid, ''), CASE WHEN p.id IS NULL THEN 0 ELSE 1 "
                "END, coalesce(" +
                    person_name("p") + ", ''), " + account_of("p.accountid") +
                    " FROM crm_lead l LEFT JOIN crm_contact p ON p.id = l.convertedcontactid WHERE "
                    "l.isconverted AND " +
                    sql::in_list(database.dialect(), "l.id", "leads", true),
         soci::into(row.lead_id), soci::into(row.contact_id), soci::into(exists),
         soci::into(row.contact_name), soci::into(row.account_id), soci::use(list));
    sql::each_row(statement, [&] { found.emplace_back(row).contact_exists = exists != 0; });
    return found;
  });
}

}  // namespace giftsync::schema::sql_crm
