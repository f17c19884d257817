// schema/crm/external: open opportunities through contact roles, and the results of lead conversions.
#include "schema/crm/external/directory.h"
#include "schema/crm/external/person_lookup.h"
#include "schema/crm/sql_common/collation.h"
#include "schema/crm/sql_common/directory_rows.h"

namespace giftsync::schema::crm::external {

std::vector<std::vector<Opportunity>> ExternalDirectory::find_open_opportunities(
    std::span<const std::string> contact_ids) {
  const MappedTables& tables = crm_.tables();
  const Keys contacts = crm_id_forms(contact_ids);
  if (contacts.empty() || !tables.has("opportunity") || !tables.has("opportunity_contact_role"))
    return std::vector<std::vector<Opportunity>>(contact_ids.size());
  const OrderBy& by = fields_.opportunity.order_by;
  const std::string role = "opportunity_contact_role";
  const std::string contact = tables.column("r", role, "ContactId");
  const std::string account = tables.column("p", "opportunity", "AccountId");
  const std::string order = order_by_clause(tables, "opportunity", by);
  const std::string query =
      "SELECT contact, id, name, account, stage, order_value FROM (SELECT r.contact, " +
      tables.text("p", "opportunity", "Id") + " AS id, " + tables.text("p", "opportunity", "Name") +
      " AS name, CASE WHEN " + account_exists_condition(tables, account) + " THEN coalesce(" + account +
      ", '') ELSE '' END AS account, " + tables.text("p", "opportunity", "StageName") + " AS stage, " +
      tables.text("p", "opportunity", by.field) +
      " AS order_value, row_number() OVER (PARTITION BY r.contact ORDER BY " + order +
      ") AS order_rank FROM (SELECT DISTINCT " + contact + " AS contact, " +
      tables.column("r", role, "OpportunityId") + " AS opportunity FROM " + tables.table(role) + " r WHERE " +
      tables.not_deleted("r", role) + " AND " + sql::in_list(tables.dialect(), contact, "contacts", true) +
      ") AS r JOIN " + tables.table("opportunity") + " p ON " + tables.column("p", "opportunity", "Id") +
      " IN " + sql_common::crm_id_forms_expression(tables.dialect(), "r.opportunity") + " WHERE " +
      tables.not_deleted("p", "opportunity") + " AND NOT coalesce(" +
      tables.column("p", "opportunity", "IsClosed") +
      ", false)) AS ranked WHERE order_rank <= " + std::to_string(kMaxCandidates) +
      " ORDER BY contact, order_rank";
  const std::string list = sql::list_of(tables.dialect(), contacts);
  const sql_common::Column* column = tables.type("opportunity", by.field);
  const sql_common::Column* id = tables.type("opportunity", "Id");
  const bool is_text = column && sql_common::is_ordered_as_text(*column, id ? id->name : "");
  const auto found = crm_.database().read([&](soci::session& session) {
    sql_common::RowsByKey<Opportunity> read;
    std::string key;
    Opportunity row;
    soci::statement statement = sql::bound(
        session, query, soci::into(key), soci::into(row.id), soci::into(row.name), soci::into(row.account_id),
        soci::into(row.stage), soci::into(row.order_value), soci::use(list));
    sql::each_row(statement, [&] {
      Opportunity& added = read[long_crm_id(key)].emplace_back(row);
      if (column && column->type == sql_common::ColumnType::number)
        added.order_value = sql_common::trim_trailing_zeros(row.order_value);
      added.order_is_text = is_text;
    });
    if (column) sql_common::sort_by_text(read, *column, by.descending);
    return read;
  });
  return sql_common::rows_for_each(found, long_crm_ids(contact_ids));
}

std::vector<std::optional<std::string>> ExternalDirectory::find_accounts_of_contacts(
    std::span<const std::string> contact_ids) {
  const MappedTables& tables = crm_.tables();
  const Keys contacts = crm_id_forms(contact_ids);
  if (contacts.empty() || !tables.has("contact"))
    return std::vector<std::optional<std::string>>(contact_ids.size());
  const std::string account = tables.column("p", "contact", "AccountId");
  const std::string query =
      "SELECT " + tables.text("p", "contact", "Id") + ", CASE WHEN " +
      account_exists_condition(tables, account) + " THEN coalesce(" + account + ", '') ELSE '' END FROM " +
      tables.rows("contact") + " AND " +
      sql::in_list(tables.dialect(), tables.column("p", "contact", "Id"), "contacts", true);
  return sql_common::read_accounts(crm_.database(), query, sql::list_of(tables.dialect(), contacts),
                                   contact_ids);
}

std::vector<ConvertedLead> ExternalDirectory::find_converted_leads(std::span<const std::string> lead_ids) {
  const MappedTables& tables = crm_.tables();
  const Keys leads = crm_id_forms(lead_ids);
  if (leads.empty() || !tables.has("lead")) return {};
  const std::string contact = tables.column("p", "contact", "Id");
  const std::string account = tables.column("p", "contact", "AccountId");
  const std::string query =
      "SELECT " + tables.text("l", "lead", "Id") + ", " + tables.text("l", "lead", "ConvertedContactId") +
      ", CASE WHEN " + contact + " IS NULL THEN 0 ELSE 1 END, " + tables.text("p", "contact", "Name") +
      ", CASE WHEN " + account_exists_condition(tables, account) + " THEN coalesce(" + account +
      ", '') ELSE '' END FROM " + tables.table("lead") + " l LEFT JOIN " + tables.table("contact") +
      " p ON " + contact + " IN " +
      sql_common::crm_id_forms_expression(tables.dialect(),
                                          tables.column("l", "lead", "ConvertedContactId")) +
      " AND " + tables.not_deleted("p", "contact") + " WHERE " + tables.not_deleted("l", "lead") + " AND " +
      tables.column("l", "lead", "IsConverted") + " AND " +
      sql::in_list(tables.dialect(), tables.column("l", "lead", "Id"), "leads", true);
  return sql_common::read_converted_leads(crm_.database(), query, sql::list_of(tables.dialect(), leads),
                                          lead_ids);
}

}  // namespace giftsync::schema::crm::external
