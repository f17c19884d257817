#include "schema/crm/managed/capped_lookup.h"
#include "schema/crm/managed/directory.h"
#include "schema/crm/managed/match_key_lookup.h"
#include "schema/crm/sql_common/directory_rows.h"

namespace giftsync::schema::crm::managed {
namespace {

/// The Id of an account that exists, or nothing.
std::string existing_account_expression(sql::Dialect dialect, const std::string& column) {
  return "CASE WHEN " + account_exists_condition(dialect, column) + " THEN coalesce(" + column +
         ", '') ELSE '' END";
}

std::string result_columns(sql::Dialect dialect, const sql_common::Column& order_by) {
  return "r.contactid, o.id, coalesce(o.name, '') AS name, " +
         existing_account_expression(dialect, "o.accountid") +
         " AS account, coalesce(o.stagename, '') AS stage, coalesce(" +
         sql_common::as_text(dialect, "o." + sql_common::quoted(order_by.name), order_by.type) +
         ", '') AS order_value";
}

/// Of the row `alias` of crm_`object`.
std::string not_deleted(sql::Dialect dialect, const std::string& object, const std::string& alias) {
  return " AND " + sql_common::row_not_deleted_condition(dialect, "crm_" + object, alias);
}

/// All in order; one that several roles lead to comes as often.
std::string uncapped_statement(sql::Dialect dialect, const sql_common::Column& order_by, bool descending) {
  return "SELECT " + result_columns(dialect, order_by) +
         " FROM crm_opportunity_contact_role r JOIN crm_opportunity o ON o.id = r.opportunityid WHERE " +
         sql::in_list(dialect, "r.contactid", "list", true) +
         not_deleted(dialect, "opportunity_contact_role", "r") + not_deleted(dialect, "opportunity", "o") +
         " AND NOT coalesce(o.isclosed, false) ORDER BY " +
         order_by_clause(dialect, "o", order_by, descending) + " LIMIT " +
         std::to_string(kMaxUncappedRows + 1);
}

/// At most kMaxCandidates for each contact, once each.
std::string capped_statement(sql::Dialect dialect, const sql_common::Column& order_by, bool descending) {
  return "SELECT contactid, id, name, account, stage, order_value FROM (SELECT " +
         result_columns(dialect, order_by) + ", row_number() OVER (PARTITION BY r.contactid ORDER BY " +
         order_by_clause(dialect, "o", order_by, descending) +
         ") AS order_rank FROM (SELECT DISTINCT contactid, opportunityid FROM crm_opportunity_contact_role k "
         "WHERE " +
         sql::in_list(dialect, "contactid", "list", true) +
         not_deleted(dialect, "opportunity_contact_role", "k") +
         ") AS r JOIN crm_opportunity o ON o.id = r.opportunityid WHERE NOT coalesce(o.isclosed, false)" +
         not_deleted(dialect, "opportunity", "o") +
         ") AS ranked WHERE order_rank <= " + std::to_string(kMaxCandidates) +
         " ORDER BY contactid, order_rank";
}

}  // namespace

std::vector<std::vector<Opportunity>> ManagedDirectory::find_open_opportunities(
    std::span<const std::string> contact_ids) {
  const std::vector<std::string> contacts = crm_id_forms(contact_ids);
  if (contacts.empty()) return std::vector<std::vector<Opportunity>>(contact_ids.size());
  const auto find = [&] {
    const sql_common::Column order_by = current_opportunity_column().order_by;
    const bool descending = fields_.opportunity.order_by.descending;
    const sql::Dialect dialect = database_.dialect();
    const CappedLookup lookup{uncapped_statement(dialect, order_by, descending),
                              capped_statement(dialect, order_by, descending), order_by, descending};
    return read_capped<Opportunity>(database_, lookup, sql::list_of(dialect, contacts), long_crm_id,
                                    [](sql::PreparedQuery& rows, Opportunity& opportunity) {
                                      opportunity.account_id = rows.text(3);
                                      opportunity.stage = rows.text(4);
                                      opportunity.order_value = rows.text(5);
                                    });
  };
  return sql_common::rows_for_each(retry_with_fresh_columns(find), long_crm_ids(contact_ids));
}

std::vector<std::optional<std::string>> ManagedDirectory::find_accounts_of_contacts(
    std::span<const std::string> contact_ids) {
  const std::vector<std::string> contacts = crm_id_forms(contact_ids);
  if (contacts.empty()) return std::vector<std::optional<std::string>>(contact_ids.size());
  const sql::Dialect dialect = database_.dialect();
  return sql_common::read_accounts(
      database_,
      "SELECT p.id, " + existing_account_expression(dialect, "p.accountid") + " FROM crm_contact p WHERE " +
          sql::in_list(dialect, "p.id", "contacts", true) + not_deleted(dialect, "contact", "p"),
      sql::list_of(dialect, contacts), contact_ids);
}

std::vector<ConvertedLead> ManagedDirectory::find_converted_leads(std::span<const std::string> lead_ids) {
  const std::vector<std::string> leads = crm_id_forms(lead_ids);
  if (leads.empty()) return {};
  const sql::Dialect dialect = database_.dialect();
  return sql_common::read_converted_leads(
      database_,
      "SELECT l.id, coalesce(l.convertedcontactid, ''), CASE WHEN p.id IS NULL THEN 0 ELSE 1 END, coalesce(" +
          person_name_expression("p") + ", ''), " + existing_account_expression(dialect, "p.accountid") +
          " FROM crm_lead l LEFT JOIN crm_contact p ON p.id = l.convertedcontactid" +
          not_deleted(dialect, "contact", "p") + " WHERE l.isconverted AND " +
          sql::in_list(dialect, "l.id", "leads", true) + not_deleted(dialect, "lead", "l"),
      sql::list_of(dialect, leads), lead_ids);
}

}  // namespace giftsync::schema::crm::managed
