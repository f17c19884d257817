#include "schema/sql_crm/opportunities.h"

#include "schema/sql/kept_query.h"
#include "schema/sql_crm/candidates.h"
#include "schema/sql_crm/text_order.h"

namespace giftsync::schema::sql_crm {
namespace {

/// The Id of an account that exists, or nothing.
std::string account_of(const std::string& column) {
  return "CASE WHEN " + account_exists(column) + " THEN coalesce(" + column + ", '') ELSE '' END";
}

/// A batch seldom finds more: the plain statement reads so many rows, the capped one is for the rest.
constexpr std::size_t kPlainRowsMax = 5000;

std::string told_columns(Dialect dialect, const Column& order_by) {
  return "r.contactid, o.id, coalesce(o.name, '') AS name, " + account_of("o.accountid") +
         " AS account, coalesce(o.stagename, '') AS stage, coalesce(" +
         as_text(dialect, "o." + quoted(order_by.name), order_by.type) + ", '') AS order_value";
}

/// All in order; one that several roles lead to comes as often.
std::string plain_statement(Dialect dialect, const Column& order_by, bool descending) {
  return "SELECT " + told_columns(dialect, order_by) +
         " FROM crm_opportunity_contact_role r JOIN crm_opportunity o ON o.id = r.opportunityid WHERE " +
         sql::in_list(dialect, "r.contactid", "list", true) +
         " AND NOT coalesce(o.isclosed, false) ORDER BY " + order_terms(dialect, "o", order_by, descending) +
         " LIMIT " + std::to_string(kPlainRowsMax + 1);
}

/// At most kMaxCandidates for each contact, once each.
std::string capped_statement(Dialect dialect, const Column& order_by, bool descending) {
  return "SELECT contactid, id, name, account, stage, order_value FROM (SELECT " +
         told_columns(dialect, order_by) + ", row_number() OVER (PARTITION BY r.contactid ORDER BY " +
         order_terms(dialect, "o", order_by, descending) +
         ") AS place FROM (SELECT DISTINCT contactid, opportunityid FROM crm_opportunity_contact_role "
         "WHERE " +
         sql::in_list(dialect, "contactid", "list", true) +
         ") AS r JOIN crm_opportunity o ON o.id = r.opportunityid WHERE NOT coalesce(o.isclosed, false)) AS "
         "ranked WHERE place <= " +
         std::to_string(kMaxCandidates) + " ORDER BY contactid, place";
}

struct ReadOpportunities {
  std::map<std::string, std::vector<Opportunity>> found;
  bool too_many = false;  ///< rows, or opportunities of one contact
};

ReadOpportunities read_opportunities(sql::KeptQuery& rows, const Column& order_by, const std::string& list) {
  ReadOpportunities read;
  std::size_t count = 0;
  rows.each_row({list}, [&] {
    std::vector<Opportunity>& open = read.found[std::string(rows.text(0))];
    read.too_many = read.too_many || ++count > kPlainRowsMax || open.size() == kMaxCandidates;
    if (!open.empty() && open.back().id == rows.text(1)) return;
    Opportunity& added = open.emplace_back();
    added.id = rows.text(1);
    added.name = rows.text(2);
    added.account_id = rows.text(3);
    added.stage = rows.text(4);
    added.order_value = rows.text(5);
    if (order_by.type == ColumnType::number) added.order_value = plain_number(added.order_value);
  });
  return read;
}

}  // namespace

std::map<std::string, std::vector<Opportunity>> opportunities_by_contact(
    sql::Database& database, const Column& order_by, bool descending,
    const std::vector<std::string>& contact_ids) {
  const Dialect dialect = database.dialect();
  const std::string list = sql::list_of(dialect, contact_ids);
  const auto read = [&](const std::string& text) {
    return database.read([&](soci::session& session) {
      sql::KeptQuery rows(session, text);
      return read_opportunities(rows, order_by, list);
    });
  };
  ReadOpportunities plain = read(plain_statement(dialect, order_by, descending));
  auto found =
      plain.too_many ? read(capped_statement(dialect, order_by, descending)).found : std::move(plain.found);
  order_by_text(found, order_by, descending);
  return found;
}

std::vector<ConvertedLead> read_converted_leads(sql::Database& database,
                                                const std::vector<std::string>& lead_ids) {
  const std::string list = sql::list_of(database.dialect(), lead_ids);
  return database.read([&](soci::session& session) {
    std::vector<ConvertedLead> found;
    ConvertedLead row;
    long long exists = 0;
    soci::statement statement =
        sql::bound(session,
                   "SELECT l.id, coalesce(l.convertedcontactid, ''), CASE WHEN p.id IS NULL THEN 0 ELSE 1 "
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
