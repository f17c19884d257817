#include "schema/crm/managed/directory.h"
#include "schema/crm/managed/match_key_lookup.h"
#include "schema/crm/sql_common/collation.h"
#include "schema/crm/sql_common/directory_rows.h"
#include "schema/sql/prepared_query.h"

namespace giftsync::schema::crm::managed {
namespace {

/// The Id of an account that exists, or nothing.
std::string existing_account_expression(const std::string& column) {
  return "CASE WHEN " + account_exists_condition(column) + " THEN coalesce(" + column + ", '') ELSE '' END";
}

/// A batch seldom finds more: the uncapped statement reads so many rows, the capped one is for the rest.
constexpr std::size_t kMaxUncappedRows = 5000;

std::string result_columns(sql::Dialect dialect, const sql_common::Column& order_by) {
  return "r.contactid, o.id, coalesce(o.name, '') AS name, " + existing_account_expression("o.accountid") +
         " AS account, coalesce(o.stagename, '') AS stage, coalesce(" +
         sql_common::as_text(dialect, "o." + sql_common::quoted(order_by.name), order_by.type) +
         ", '') AS order_value";
}

/// All in order; one that several roles lead to comes as often.
std::string uncapped_statement(sql::Dialect dialect, const sql_common::Column& order_by, bool descending) {
  return "SELECT " + result_columns(dialect, order_by) +
         " FROM crm_opportunity_contact_role r JOIN crm_opportunity o ON o.id = r.opportunityid WHERE " +
         sql::in_list(dialect, "r.contactid", "list", true) +
         " AND NOT coalesce(o.isclosed, false) ORDER BY " +
         order_by_clause(dialect, "o", order_by, descending) + " LIMIT " +
         std::to_string(kMaxUncappedRows + 1);
}

/// At most kMaxCandidates for each contact, once each.
std::string capped_statement(sql::Dialect dialect, const sql_common::Column& order_by, bool descending) {
  return "SELECT contactid, id, name, account, stage, order_value FROM (SELECT " +
         result_columns(dialect, order_by) + ", row_number() OVER (PARTITION BY r.contactid ORDER BY " +
         order_by_clause(dialect, "o", order_by, descending) +
         ") AS order_rank FROM (SELECT DISTINCT contactid, opportunityid FROM crm_opportunity_contact_role "
         "WHERE " +
         sql::in_list(dialect, "contactid", "list", true) +
         ") AS r JOIN crm_opportunity o ON o.id = r.opportunityid WHERE NOT coalesce(o.isclosed, false)) AS "
         "ranked WHERE order_rank <= " +
         std::to_string(kMaxCandidates) + " ORDER BY contactid, order_rank";
}

struct OpportunitiesResult {
  sql_common::RowsByKey<Opportunity> found;
  bool too_many = false;  ///< rows, or opportunities of one contact
};

OpportunitiesResult read_opportunities(sql::PreparedQuery& rows, const sql_common::Column& order_by,
                                       const std::string& list) {
  OpportunitiesResult read;
  std::size_t count = 0;
  rows.each_row({list}, [&] {
    std::vector<Opportunity>& open = read.found[std::string(rows.text(0))];
    read.too_many = read.too_many || ++count > kMaxUncappedRows || open.size() == kMaxCandidates;
    if (!open.empty() && open.back().id == rows.text(1)) return;
    Opportunity& added = open.emplace_back();
    added.id = rows.text(1);
    added.name = rows.text(2);
    added.account_id = rows.text(3);
    added.stage = rows.text(4);
    added.order_value = rows.text(5);
    if (order_by.type == sql_common::ColumnType::number)
      added.order_value = sql_common::trim_trailing_zeros(added.order_value);
  });
  return read;
}

/// For each contact its open opportunities, ordered as in schema/crm/directory.h.
sql_common::RowsByKey<Opportunity> opportunities_by_contact(sql::Database& database,
                                                            const sql_common::Column& order_by,
                                                            bool descending,
                                                            const std::vector<std::string>& contact_ids) {
  const sql::Dialect dialect = database.dialect();
  const std::string list = sql::list_of(dialect, contact_ids);
  const auto read = [&](const std::string& text) {
    return database.read([&](soci::session& session) {
      sql::PreparedQuery rows(session, text);
      return read_opportunities(rows, order_by, list);
    });
  };
  OpportunitiesResult uncapped = read(uncapped_statement(dialect, order_by, descending));
  auto found = uncapped.too_many ? read(capped_statement(dialect, order_by, descending)).found
                                 : std::move(uncapped.found);
  sql_common::sort_by_text(found, order_by, descending);
  return found;
}

}  // namespace

std::vector<std::vector<Opportunity>> ManagedDirectory::find_open_opportunities(
    std::span<const std::string> contact_ids) {
  const std::vector<std::string> contacts = sql_common::distinct_keys(contact_ids);
  if (contacts.empty()) return std::vector<std::vector<Opportunity>>(contact_ids.size());
  return sql_common::rows_for_each(retry_with_fresh_columns([&] {
                                     return opportunities_by_contact(
                                         database_, current_opportunity_column().order_by,
                                         fields_.opportunity.order_by.descending, contacts);
                                   }),
                                   contact_ids);
}

std::vector<ConvertedLead> ManagedDirectory::find_converted_leads(std::span<const std::string> lead_ids) {
  const std::vector<std::string> leads = sql_common::distinct_keys(lead_ids);
  if (leads.empty()) return {};
  const sql::Dialect dialect = database_.dialect();
  return sql_common::read_converted_leads(
      database_,
      "SELECT l.id, coalesce(l.convertedcontactid, ''), CASE WHEN p.id IS NULL THEN 0 ELSE 1 END, coalesce(" +
          person_name_expression("p") + ", ''), " + existing_account_expression("p.accountid") +
          " FROM crm_lead l LEFT JOIN crm_contact p ON p.id = l.convertedcontactid WHERE l.isconverted AND " +
          sql::in_list(dialect, "l.id", "leads", true),
      sql::list_of(dialect, leads));
}

}  // namespace giftsync::schema::crm::managed
