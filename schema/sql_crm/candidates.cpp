#include "schema/sql_crm/candidates.h"

#include "schema/sql/kept_query.h"
#include "schema/sql_crm/text_order.h"

namespace giftsync::schema::sql_crm {
namespace {

std::string id_list(const std::vector<std::int64_t>& ids) {
  std::string list;
  for (const std::int64_t id : ids) list += (list.empty() ? "" : ", ") + std::to_string(id);
  return list;
}

/// A batch seldom finds more: the plain statement reads so many rows, the capped one is for the rest.
constexpr std::size_t kPlainRowsMax = 5000;

/// The place of the row's field among those that are compared.
std::string preference_of(const std::string& column, const std::vector<std::int64_t>& field_ids) {
  std::string preference = "CASE " + column;
  for (std::size_t i = 0; i < field_ids.size(); ++i) {
    preference += " WHEN " + std::to_string(field_ids[i]) + " THEN " + std::to_string(i);
  }
  return preference + " END";
}

/// The people of each key once, with the first of the fields that is equal.
std::string matched_rows(Dialect dialect, const std::vector<std::int64_t>& field_ids) {
  return "(SELECT match_key, row_id, min(" + preference_of("field_id", field_ids) +
         ") AS preference FROM crm_match_key WHERE field_id IN (" + id_list(field_ids) + ") AND " +
         sql::in_list(dialect, "match_key", "list", true) + " GROUP BY match_key, row_id) AS k";
}

/// What is told of a person, behind the key: id, name, account, whether converted, the field's place, the
/// order-by value.
std::string told_columns(Dialect dialect, const PersonQuery& query, const std::string& preference) {
  const bool contact = query.object == PersonObject::contact;
  return "p.id, " + person_name("p") + " AS name, " + (contact ? "coalesce(p.accountid, '')" : "''") +
         " AS account, " + (contact ? "0" : "CASE WHEN p.isconverted THEN 1 ELSE 0 END") + " AS converted, " +
         preference + " AS preference, coalesce(" +
         as_text(dialect, "p." + quoted(query.order_by.name), query.order_by.type) + ", '') AS order_value";
}

std::string account_column(const PersonQuery& query, const std::string& account) {
  if (query.object == PersonObject::lead) return "1";
  return "CASE WHEN coalesce(" + account + ", '') = '' OR " + account_exists(account) + " THEN 1 ELSE 0 END";
}

/// Everybody in order; a person who matches in several fields comes as often, the first field first. Half the
/// cost of the capped statement.
std::string plain_statement(Dialect dialect, const PersonQuery& query) {
  const bool contact = query.object == PersonObject::contact;
  return "SELECT k.match_key, " + told_columns(dialect, query, preference_of("k.field_id", query.field_ids)) +
         ", " + account_column(query, "p.accountid") + " FROM crm_match_key k JOIN crm_" +
         (contact ? "contact" : "lead") + " p ON p.id = k.row_id WHERE k.field_id IN (" +
         id_list(query.field_ids) + ") AND " + sql::in_list(dialect, "k.match_key", "list", true) +
         " ORDER BY " + order_terms(dialect, "p", query.order_by, query.descending) + ", preference LIMIT " +
         std::to_string(kPlainRowsMax + 1);
}

/// At most kMaxCandidates for each key, once each.
std::string capped_statement(Dialect dialect, const PersonQuery& query) {
  const bool contact = query.object == PersonObject::contact;
  const std::string order = order_terms(dialect, "p", query.order_by, query.descending);
  const std::string window = "row_number() OVER (PARTITION BY k.match_key ORDER BY ";
  return "SELECT match_key, id, name, account, converted, preference, order_value, " +
         account_column(query, "ranked.account") + " FROM (SELECT k.match_key, " +
         told_columns(dialect, query, "k.preference") + ", " + window +
         (contact ? "" : "CASE WHEN p.isconverted THEN 1 ELSE 0 END, ") + order + ") AS chosen, " + window +
         order + ") AS place FROM " + matched_rows(dialect, query.field_ids) + " JOIN crm_" +
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
  // Not EXISTS: PostgreSQL would read all accounts for it.
  return "((SELECT a.id FROM crm_account a WHERE a.id = " + id +
         ") IS NOT NULL OR NOT EXISTS (SELECT 1 FROM crm_account))";
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

namespace {

struct ReadPeople {
  FoundByKey<Candidate> found;
  bool too_many = false;  ///< rows, or people of one key
};

ReadPeople read_people(sql::KeptQuery& rows, const PersonQuery& query, const std::string& list) {
  ReadPeople read;
  std::size_t count = 0;
  rows.each_row({list}, [&] {
    std::vector<Candidate>& people = read.found[std::string(rows.text(0))];
    read.too_many = read.too_many || ++count > kPlainRowsMax || people.size() == kMaxCandidates;
    if (!people.empty() && people.back().id == rows.text(1)) return;
    Candidate& added = people.emplace_back();
    added.id = rows.text(1);
    added.name = rows.text(2);
    added.account_id = rows.text(3);
    added.converted = rows.integer(4) != 0;
    added.matched_field = query.field_names[static_cast<std::size_t>(rows.integer(5))];
    added.order_value = rows.text(6);
    added.account_exists = rows.integer(7) != 0;
    if (query.order_by.type == ColumnType::number) added.order_value = plain_number(added.order_value);
  });
  return read;
}

}  // namespace

FoundByKey<Candidate> people_by_key(sql::Database& database, const PersonQuery& query,
                                    const std::vector<std::string>& keys) {
  const Dialect dialect = database.dialect();
  const std::string list = sql::list_of(dialect, keys);
  const auto read = [&](const std::string& text) {
    return database.read([&](soci::session& session) {
      sql::KeptQuery rows(session, text);
      return read_people(rows, query, list);
    });
  };
  ReadPeople plain = read(plain_statement(dialect, query));
  FoundByKey<Candidate> found =
      plain.too_many ? read(capped_statement(dialect, query)).found : std::move(plain.found);
  order_by_text(found, query.order_by, query.descending);
  return found;
}

FoundByKey<CrmUser> users_by_key(sql::Database& database, std::int64_t field_id,
                                 const std::vector<std::string>& keys) {
  const std::string list = sql::list_of(database.dialect(), keys);
  return database.read([&](soci::session& session) {
    FoundByKey<CrmUser> found;
    sql::KeptQuery rows(session, users_statement(database.dialect(), field_id));
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

}  // namespace giftsync::schema::sql_crm
