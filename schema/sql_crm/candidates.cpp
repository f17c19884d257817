#include "schema/sql_crm/candidates.h"

namespace giftsync::schema::sql_crm {
namespace {

std::string id_list(const std::vector<std::int64_t>& ids) {
  std::string list;
  for (const std::int64_t id : ids) list += (list.empty() ? "" : ", ") + std::to_string(id);
  return list;
}

/// The people of each key once, with the first of the fields that is equal.
std::string matched_rows(Dialect dialect, const std::vector<std::int64_t>& field_ids) {
  std::string preference = "CASE field_id";
  for (std::size_t i = 0; i < field_ids.size(); ++i) {
    preference += " WHEN " + std::to_string(field_ids[i]) + " THEN " + std::to_string(i);
  }
  return "(SELECT match_key, row_id, min(" + preference +
         " END) AS preference FROM crm_match_key WHERE field_id IN (" + id_list(field_ids) + ") AND " +
         sql::in_list(dialect, "match_key", "keys", true) + " GROUP BY match_key, row_id) AS k";
}

std::string people_statement(Dialect dialect, const PersonQuery& query) {
  const bool contact = query.object == PersonObject::contact;
  const std::string order_column = "p." + quoted(query.order_by.name);
  const std::string order = order_terms(dialect, "p", query.order_by, query.descending);
  const std::string converted = contact ? "0" : "CASE WHEN p.isconverted THEN 1 ELSE 0 END";
  const std::string window = "row_number() OVER (PARTITION BY k.match_key ORDER BY ";
  // Only those who are left are asked for their account.
  const std::string exists =
      contact ? "CASE WHEN account = '' OR " + account_exists("account") + " THEN 1 ELSE 0 END" : "1";
  return "SELECT match_key, id, name, account, converted, preference, order_value, " + exists +
         " FROM (SELECT k.match_key, p.id, " + person_name("p") + " AS name, " +
         (contact ? "coalesce(p.accountid, '')" : "''") + " AS account, " + converted +
         " AS converted, k.preference, coalesce(" + as_text(dialect, order_column, query.order_by.type) +
         ", '') AS order_value, " + window + (contact ? "" : converted + ", ") + order + ") AS chosen, " +
         window + order + ") AS place FROM " + matched_rows(dialect, query.field_ids) + " JOIN crm_" +
         (contact ? "contact" : "lead") +
         " p ON p.id = k.row_id) AS ranked WHERE chosen <= " + std::to_string(kMaxCandidates) +
         " ORDER BY match_key, place";
}

std::string users_statement(Dialect dialect, std::int64_t field_id) {
  const std::string active = "CASE WHEN coalesce(p.isactive, true) THEN 1 ELSE 0 END";
  return "SELECT match_key, id, name, email, active FROM (SELECT k.match_key, p.id, " + person_name("p") +
         " AS name, coalesce(p.email, '') AS email, " + active +
         " AS active, row_number() OVER (PARTITION BY k.match_key ORDER BY " + active + " DESC, " +
         bytewise(dialect, "p.id") + ") AS place FROM " + matched_rows(dialect, {field_id}) +
         " JOIN crm_user p ON p.id = k.row_id) AS ranked WHERE place <= " + std::to_string(kMaxCandidates) +
         " ORDER BY match_key, place";
}

}  // namespace

std::string person_name(const std::string& alias) {
  const auto column = [&](const char* name) { return "coalesce(" + alias + "." + name + ", '')"; };
  return "coalesce(nullif(" + alias + ".name, ''), trim(" + column("firstname") + " || ' ' || " +
         column("lastname") + "))";
}

std::string account_exists(const std::string& id) {
  return "(EXISTS (SELECT 1 FROM crm_account a WHERE a.id = " + id +
         ") OR NOT EXISTS (SELECT 1 FROM crm_account))";
}

std::string order_terms(Dialect dialect, const std::string& alias, const Column& order_by, bool descending) {
  const std::string id = bytewise(dialect, alias + ".id");
  const std::string key =
      order_by.name == "id" ? id : as_sort_key(dialect, alias + "." + quoted(order_by.name), order_by.type);
  return key + (descending ? " DESC" : " ASC") + " NULLS LAST, " + id;
}

std::string plain_number(std::string text) {
  if (text.find('.') == std::string::npos || text.find_first_of("eE") != std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

FoundByKey<Candidate> people_by_key(sql::Database& database, const PersonQuery& query,
                                    const std::vector<std::string>& keys) {
  const std::string statement_text = people_statement(database.dialect(), query);
  const std::string list = sql::list_of(database.dialect(), keys);
  return database.read([&](soci::session& session) {
    FoundByKey<Candidate> found;
    Candidate person;
    std::string key;
    long long converted = 0;
    long long preference = 0;
    long long account_exists = 0;
    soci::statement statement =
        (session.prepare << statement_text, soci::into(key), soci::into(person.id), soci::into(person.name),
         soci::into(person.account_id), soci::into(converted), soci::into(preference),
         soci::into(person.order_value), soci::into(account_exists), soci::use(list));
    sql::each_row(statement, [&] {
      Candidate& added = found[key].emplace_back(person);
      added.converted = converted != 0;
      added.account_exists = account_exists != 0;
      added.matched_field = query.field_names[static_cast<std::size_t>(preference)];
      if (query.order_by.type == ColumnType::number) added.order_value = plain_number(person.order_value);
    });
    return found;
  });
}

FoundByKey<CrmUser> users_by_key(sql::Database& database, std::int64_t field_id,
                                 const std::vector<std::string>& keys) {
  const std::string list = sql::list_of(database.dialect(), keys);
  return database.read([&](soci::session& session) {
    FoundByKey<CrmUser> found;
    CrmUser user;
    std::string key;
    long long active = 0;
    soci::statement statement = (session.prepare << users_statement(database.dialect(), field_id),
                                 soci::into(key), soci::into(user.id), soci::into(user.name),
                                 soci::into(user.email), soci::into(active), soci::use(list));
    sql::each_row(statement, [&] { found[key].emplace_back(user).active = active != 0; });
    return found;
  });
}

}  // namespace giftsync::schema::sql_crm
