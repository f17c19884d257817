#include "crm/sql/managed/match_key_lookup.h"

namespace giftsync::crm::managed {
namespace {

std::string id_list(const std::vector<std::int64_t>& ids) {
  std::string list;
  for (const std::int64_t id : ids) list += (list.empty() ? "" : ", ") + std::to_string(id);
  return list;
}

/// The index of the row's field among the compared fields.
std::string field_rank_expression(const std::string& column, const std::vector<std::int64_t>& field_ids) {
  std::string preference = "CASE " + column;
  for (std::size_t i = 0; i < field_ids.size(); ++i) {
    preference += " WHEN " + std::to_string(field_ids[i]) + " THEN " + std::to_string(i);
  }
  return preference + " END";
}

/// The people of each key once, with the first of the fields that is equal.
std::string matched_rows(sql::Dialect dialect, const std::vector<std::int64_t>& field_ids) {
  return "(SELECT match_key, row_id, min(" + field_rank_expression("field_id", field_ids) +
         ") AS preference FROM crm_match_key WHERE field_id IN (" + id_list(field_ids) + ") AND " +
         sql::in_list(dialect, "match_key", "list", true) + " GROUP BY match_key, row_id) AS k";
}

/// The columns of a person after the key: id, name, account, converted, the field's index, the order-by
/// value.
std::string result_columns(sql::Dialect dialect, const PersonQuery& query, const std::string& preference) {
  const bool contact = query.object == PersonObject::contact;
  return "p.id, " + person_name_expression("p") + " AS name, " +
         (contact ? "coalesce(p.accountid, '')" : "''") + " AS account, " +
         (contact ? "0" : "CASE WHEN p.isconverted THEN 1 ELSE 0 END") + " AS converted, " + preference +
         " AS preference, coalesce(" +
         crm::sql_crm::as_text(dialect, "p." + crm::sql_crm::quoted(query.order_by.name),
                               query.order_by.type) +
         ", '') AS order_value";
}

std::string account_exists_column(sql::Dialect dialect, const PersonQuery& query,
                                  const std::string& account) {
  if (query.object == PersonObject::lead) return "1";
  return "CASE WHEN coalesce(" + account + ", '') = '' OR " + account_exists_condition(dialect, account) +
         " THEN 1 ELSE 0 END";
}

/// Everybody in order; a person who matches in several fields comes as often, the first field first. Half the
/// cost of the capped statement.
std::string uncapped_statement(sql::Dialect dialect, const PersonQuery& query) {
  const bool contact = query.object == PersonObject::contact;
  return "SELECT k.match_key, " +
         result_columns(dialect, query, field_rank_expression("k.field_id", query.field_ids)) + ", " +
         account_exists_column(dialect, query, "p.accountid") + " FROM crm_match_key k JOIN crm_" +
         (contact ? "contact" : "lead") + " p ON p.id = k.row_id WHERE k.field_id IN (" +
         id_list(query.field_ids) + ") AND " + sql::in_list(dialect, "k.match_key", "list", true) +
         " ORDER BY " + order_by_clause(dialect, "p", query.order_by, query.descending) +
         ", preference LIMIT " + std::to_string(kMaxUncappedRows + 1);
}

/// At most kMaxCandidates for each key, once each.
std::string capped_statement(sql::Dialect dialect, const PersonQuery& query) {
  const bool contact = query.object == PersonObject::contact;
  const std::string order = order_by_clause(dialect, "p", query.order_by, query.descending);
  const std::string window = "row_number() OVER (PARTITION BY k.match_key ORDER BY ";
  return "SELECT match_key, id, name, account, converted, preference, order_value, " +
         account_exists_column(dialect, query, "ranked.account") + " FROM (SELECT k.match_key, " +
         result_columns(dialect, query, "k.preference") + ", " + window +
         (contact ? "" : "CASE WHEN p.isconverted THEN 1 ELSE 0 END, ") + order + ") AS cap_rank, " + window +
         order + ") AS order_rank FROM " + matched_rows(dialect, query.field_ids) + " JOIN crm_" +
         (contact ? "contact" : "lead") +
         " p ON p.id = k.row_id) AS ranked WHERE cap_rank <= " + std::to_string(kMaxCandidates) +
         " ORDER BY match_key, order_rank";
}

std::string users_statement(sql::Dialect dialect, std::int64_t field_id) {
  const std::string active = "CASE WHEN coalesce(p.isactive, true) THEN 1 ELSE 0 END";
  return "SELECT match_key, id, name, email, active FROM (SELECT k.match_key, p.id, " +
         person_name_expression("p") + " AS name, coalesce(p.email, '') AS email, " + active +
         " AS active, row_number() OVER (PARTITION BY k.match_key ORDER BY " + active + " DESC, " +
         crm::sql_crm::bytewise(dialect, "p.id") + ") AS order_rank FROM " +
         matched_rows(dialect, {field_id}) +
         " JOIN crm_user p ON p.id = k.row_id) AS ranked WHERE order_rank <= " +
         std::to_string(kMaxCandidates) + " ORDER BY match_key, order_rank";
}

}  // namespace

std::string person_name_expression(const std::string& alias) {
  const auto column = [&](const char* name) { return "coalesce(" + alias + "." + name + ", '')"; };
  return "coalesce(nullif(" + alias + ".name, ''), trim(" + column("firstname") + " || ' ' || " +
         column("lastname") + "))";
}

std::string account_exists_condition(sql::Dialect dialect, const std::string& id) {
  // Not EXISTS: PostgreSQL would read all accounts for it.
  return "((SELECT a.id FROM crm_account a WHERE a.id = " + id + " AND " +
         crm::sql_crm::row_not_deleted_condition(dialect, "crm_account", "a") +
         ") IS NOT NULL OR NOT EXISTS (SELECT 1 FROM crm_account))";
}

std::string order_by_clause(sql::Dialect dialect, const std::string& alias,
                            const crm::sql_crm::Column& order_by, bool descending) {
  const std::string id = crm::sql_crm::bytewise(dialect, alias + ".id");
  const std::string key =
      order_by.name == "id" ? id
                            : crm::sql_crm::as_sort_key(
                                  dialect, alias + "." + crm::sql_crm::quoted(order_by.name), order_by.type);
  return key + (descending ? " DESC" : " ASC") + " NULLS LAST, " + id;
}

crm::sql_crm::RowsByKey<Candidate> people_by_match_key(sql::Database& database, const PersonQuery& query,
                                                       const std::vector<std::string>& keys) {
  const sql::Dialect dialect = database.dialect();
  const CappedLookup lookup{uncapped_statement(dialect, query), capped_statement(dialect, query),
                            query.order_by, query.descending};
  return read_capped<Candidate>(
      database, lookup, sql::list_of(dialect, keys), [](std::string_view key) { return std::string(key); },
      [&](sql::PreparedQuery& rows, Candidate& person) {
        person.account_id = rows.text(3);
        person.converted = rows.integer(4) != 0;
        person.matched_field = query.field_names[static_cast<std::size_t>(rows.integer(5))];
        person.order_value = rows.text(6);
        person.account_exists = rows.integer(7) != 0;
      });
}

crm::sql_crm::RowsByKey<CrmUser> users_by_match_key(sql::Database& database, std::int64_t field_id,
                                                    const std::vector<std::string>& keys) {
  const std::string list = sql::list_of(database.dialect(), keys);
  return database.read([&](soci::session& session) {
    crm::sql_crm::RowsByKey<CrmUser> found;
    sql::PreparedQuery rows(session, users_statement(session, field_id));
    rows.each_row({list}, [&] {
      CrmUser& user = found[std::string(rows.text(0))].emplace_back();
      user.id = rows.text(1);
      user.name = rows.text(2);
      user.email = rows.text(3);
      user.active = rows.integer(4) != 0;
    });
    return found;
  });
}

}  // namespace giftsync::crm::managed
