#include "schema/foreign_crm/people.h"

#include <algorithm>
#include <functional>

#include "schema/address.h"
#include "schema/foreign_crm/number_end.h"
#include "schema/sql_crm/candidates.h"
#include "schema/sql_crm/text_order.h"

namespace giftsync::schema::foreign_crm {
namespace {

std::string object_of(PersonObject object) {
  return object == PersonObject::contact ? "contact" : "lead";
}

std::string with_id(const Tables& tables, const std::string& alias, const std::string& object) {
  return tables.column(alias, object, "Id") + " IS NOT NULL";
}

/// The account is there; an account object that is empty, or that the CRM does not have, is not checked.
std::string account_exists(const Tables& tables, const std::string& id) {
  if (!tables.has("account")) return "true";
  return "(EXISTS (SELECT 1 FROM " + tables.table("account") + " a WHERE " +
         tables.column("a", "account", "Id") + " = " + id + ") OR NOT EXISTS (SELECT 1 FROM " +
         tables.table("account") + "))";
}

std::string order_terms(Dialect dialect, const Tables& tables, const std::string& object, const OrderBy& by) {
  const std::string id = sql_crm::bytewise(dialect, tables.column("p", object, "Id"));
  const Column* column = tables.type(object, by.field);
  const std::string key =
      column ? sql_crm::as_sort_key(dialect, tables.column("p", object, by.field), column->type) : id;
  return key + (by.descending ? " DESC" : " ASC") + " NULLS LAST, " + id;
}

struct Look {
  PersonObject object;
  const PersonMatchFields& fields;
  const std::vector<std::string>& columns;                ///< the compared fields
  std::function<std::string(const std::string&)> coarse;  ///< of a column, in SQL
  std::function<std::string(const std::string&)> key;     ///< of its value, exactly
};

/// All rows whose coarse value is asked for, at most kMaxCandidates for each coarse value and field,
/// unconverted leads first, ordered.
std::string people_statement(Dialect dialect, const Tables& tables, const Look& look) {
  const std::string object = object_of(look.object);
  const bool contact = look.object == PersonObject::contact;
  const std::string order = order_terms(dialect, tables, object, look.fields.order_by);
  const std::string account = contact ? tables.column("p", object, "AccountId") : "NULL";
  const std::string converted =
      contact ? "0" : "CASE WHEN " + tables.column("p", object, "IsConverted") + " THEN 1 ELSE 0 END";
  std::string fields;
  for (std::size_t i = 0; i < look.columns.size(); ++i) {
    const std::string column = tables.column("p", object, look.columns[i]);
    fields += std::string(i == 0 ? "" : " UNION ALL ") + "SELECT " + std::to_string(i) + " AS field, " +
              tables.text("p", object, look.columns[i]) + " AS value, " + tables.text("p", object, "Id") +
              " AS id, " + tables.text("p", object, "Name") + " AS name, coalesce(cast(" + account +
              " as text), '') AS account, " + converted + " AS converted, " +
              tables.text("p", object, look.fields.order_by.field) +
              " AS order_value, row_number() OVER (ORDER BY " + order +
              ") AS place, row_number() OVER "
              "(PARTITION BY " +
              look.coarse(column) + " ORDER BY " + converted + ", " + order + ") AS chosen FROM " +
              tables.table(object) + " p WHERE " + with_id(tables, "p", object) + " AND " +
              sql::in_list(dialect, look.coarse(column), "keys" + std::to_string(i), true);
  }
  return "SELECT field, value, id, name, account, CASE WHEN account = '' OR " +
         account_exists(tables, "found.account") + " THEN 1 ELSE 0 END, converted, order_value FROM (" +
         fields + ") AS found WHERE chosen <= " + std::to_string(kMaxCandidates) + " ORDER BY field, place";
}

}  // namespace

std::string email_expression(const std::string& column) {
  return "lower(trim(" + column + "))";
}

Keys spellings(const Keys& keys) {
  std::set<std::string> all(keys.begin(), keys.end());
  for (const std::string& key : keys) all.insert(email_key_in_unicode(key));
  return {all.begin(), all.end()};
}

namespace {

FoundByKey<Candidate> look_up(sql::Database& database, const Tables& tables, const Look& look,
                              const Keys& coarse, const Keys& keys) {
  const std::set<std::string> wanted(keys.begin(), keys.end());
  const std::string list = sql::list_of(database.dialect(), coarse);
  const Column* order = tables.type(object_of(look.object), look.fields.order_by.field);
  const bool is_number = order && order->type == ColumnType::number;
  return database.read([&](soci::session& session) {
    if (database.dialect() == Dialect::sqlite) teach_number_end(session);
    FoundByKey<Candidate> found;
    long long field = 0;
    long long converted = 0;
    long long account_exists = 0;
    std::string value;
    Candidate person;
    soci::statement statement(session);
    statement.exchange(soci::into(field));
    for (std::string* text : {&value, &person.id, &person.name, &person.account_id})
      statement.exchange(soci::into(*text));
    statement.exchange(soci::into(account_exists));
    statement.exchange(soci::into(converted));
    statement.exchange(soci::into(person.order_value));
    for (std::size_t i = 0; i < look.columns.size(); ++i) statement.exchange(soci::use(list));
    statement.alloc();
    statement.prepare(people_statement(database.dialect(), tables, look), sql::kRunOnce);
    statement.define_and_bind();
    sql::each_row(statement, [&] {
      const std::string key = look.key(value);
      if (!wanted.contains(key)) return;
      std::vector<Candidate>& people = found[key];
      for (const Candidate& known : people)
        if (known.id == person.id) return;
      Candidate& added = people.emplace_back(person);
      added.converted = converted != 0;
      added.account_exists = account_exists != 0;
      added.matched_field = look.columns[static_cast<std::size_t>(field)];
      if (is_number) added.order_value = sql_crm::plain_number(person.order_value);
    });
    return found;
  });
}

/// People found by several fields are put in one order by the database, which alone knows how its values
/// sort.
void unite_fields(sql::Database& database, const Tables& tables, const Look& look,
                  FoundByKey<Candidate>& found) {
  if (look.columns.size() < 2) return;
  const std::string object = object_of(look.object);
  Keys ids;
  for (const auto& [key, people] : found) {
    if (people.size() < 2) continue;
    for (const Candidate& person : people) ids.push_back(person.id);
  }
  if (ids.empty()) return;
  const std::string list = sql::list_of(database.dialect(), ids);
  const std::map<std::string, std::size_t> places = database.read([&](soci::session& session) {
    std::map<std::string, std::size_t> read;
    std::string id;
    soci::statement statement = sql::bound(
        session,
        "SELECT " + tables.text("p", object, "Id") + " FROM " + tables.table(object) + " p WHERE " +
            sql::in_list(database.dialect(), tables.column("p", object, "Id"), "ids", true) + " ORDER BY " +
            order_terms(database.dialect(), tables, object, look.fields.order_by),
        soci::into(id), soci::use(list));
    sql::each_row(statement, [&] { read.emplace(id, read.size()); });
    return read;
  });
  const auto place = [&](const Candidate& person) {
    const auto at = places.find(person.id);
    return at == places.end() ? places.size() : at->second;
  };
  for (auto& [key, people] : found) {
    std::stable_sort(people.begin(), people.end(),
                     [&](const Candidate& a, const Candidate& b) { return place(a) < place(b); });
    if (people.size() > kMaxCandidates) people.resize(kMaxCandidates);
  }
}

void order_people(sql::Database& database, const Tables& tables, const Look& look,
                  FoundByKey<Candidate>& found) {
  unite_fields(database, tables, look, found);
  const OrderBy& by = look.fields.order_by;
  if (const Column* column = tables.type(object_of(look.object), by.field))
    sql_crm::order_by_text(found, *column, by.descending);
}

}  // namespace

FoundByKey<Candidate> people_by_email(sql::Database& database, const Tables& tables, PersonObject object,
                                      const PersonMatchFields& fields, const Keys& keys) {
  if (keys.empty() || fields.email_fields.empty() || !tables.has(object_of(object))) return {};
  const Look look{object, fields, fields.email_fields, email_expression,
                  [](const std::string& value) { return email_key(value); }};
  auto found = look_up(database, tables, look, spellings(keys), keys);
  order_people(database, tables, look, found);
  return found;
}

FoundByKey<Candidate> people_by_phone(sql::Database& database, const Tables& tables, PersonObject object,
                                      const PersonMatchFields& fields, const std::string& region,
                                      const Keys& keys) {
  if (keys.empty() || fields.phone_fields.empty() || !tables.has(object_of(object))) return {};
  std::set<std::string> ends;
  for (const std::string& key : keys) ends.insert(number_end(key));
  const Look look{object, fields, fields.phone_fields,
                  [&](const std::string& column) {
                    return number_end_expression(database.dialect(), tables, column, region);
                  },
                  [&region](const std::string& value) { return phone_key(value, region); }};
  auto found = look_up(database, tables, look, {ends.begin(), ends.end()}, keys);
  order_people(database, tables, look, found);
  return found;
}

FoundByKey<Opportunity> opportunities_by_contact(sql::Database& database, const Tables& tables,
                                                 const OrderBy& order_by, const Keys& contacts) {
  if (contacts.empty() || !tables.has("opportunity") || !tables.has("opportunity_contact_role")) return {};
  const Dialect dialect = database.dialect();
  const std::string role = "opportunity_contact_role";
  const std::string contact = tables.column("r", role, "ContactId");
  const std::string account = tables.column("p", "opportunity", "AccountId");
  const std::string order = order_terms(dialect, tables, "opportunity", order_by);
  const std::string query =
      "SELECT contact, id, name, account, stage, order_value FROM (SELECT r.contact, " +
      tables.text("p", "opportunity", "Id") + " AS id, " + tables.text("p", "opportunity", "Name") +
      " AS name, CASE WHEN " + account_exists(tables, account) + " THEN coalesce(" + account +
      ", '') ELSE '' END AS account, " + tables.text("p", "opportunity", "StageName") + " AS stage, " +
      tables.text("p", "opportunity", order_by.field) +
      " AS order_value, row_number() OVER (PARTITION BY r.contact ORDER BY " + order +
      ") AS place FROM (SELECT DISTINCT " + contact + " AS contact, " +
      tables.column("r", role, "OpportunityId") + " AS opportunity FROM " + tables.table(role) + " r WHERE " +
      sql::in_list(dialect, contact, "contacts", true) + ") AS r JOIN " + tables.table("opportunity") +
      " p ON " + tables.column("p", "opportunity", "Id") + " = r.opportunity WHERE NOT coalesce(" +
      tables.column("p", "opportunity", "IsClosed") +
      ", false)) AS ranked WHERE place <= " + std::to_string(kMaxCandidates) + " ORDER BY contact, place";
  const std::string list = sql::list_of(dialect, contacts);
  const Column* column = tables.type("opportunity", order_by.field);
  return database.read([&](soci::session& session) {
    FoundByKey<Opportunity> found;
    std::string key;
    Opportunity row;
    soci::statement statement = sql::bound(
        session, query, soci::into(key), soci::into(row.id), soci::into(row.name), soci::into(row.account_id),
        soci::into(row.stage), soci::into(row.order_value), soci::use(list));
    sql::each_row(statement, [&] {
      Opportunity& added = found[key].emplace_back(row);
      if (column && column->type == ColumnType::number)
        added.order_value = sql_crm::plain_number(row.order_value);
    });
    if (column) sql_crm::order_by_text(found, *column, order_by.descending);
    return found;
  });
}

std::vector<ConvertedLead> converted_leads(sql::Database& database, const Tables& tables, const Keys& leads) {
  if (leads.empty() || !tables.has("lead")) return {};
  const Dialect dialect = database.dialect();
  const std::string contact = tables.column("p", "contact", "Id");
  const std::string account = tables.column("p", "contact", "AccountId");
  const std::string query =
      "SELECT " + tables.text("l", "lead", "Id") + ", " + tables.text("l", "lead", "ConvertedContactId") +
      ", CASE WHEN " + contact + " IS NULL THEN 0 ELSE 1 END, " + tables.text("p", "contact", "Name") +
      ", CASE WHEN " + account_exists(tables, account) + " THEN coalesce(" + account +
      ", '') ELSE '' END FROM " + tables.table("lead") + " l LEFT JOIN " + tables.table("contact") +
      " p ON " + contact + " = " + tables.column("l", "lead", "ConvertedContactId") + " WHERE " +
      tables.column("l", "lead", "IsConverted") + " AND " +
      sql::in_list(dialect, tables.column("l", "lead", "Id"), "leads", true);
  const std::string list = sql::list_of(dialect, leads);
  return database.read([&](soci::session& session) {
    std::vector<ConvertedLead> found;
    ConvertedLead row;
    long long exists = 0;
    soci::statement statement =
        sql::bound(session, query, soci::into(row.lead_id), soci::into(row.contact_id), soci::into(exists),
                   soci::into(row.contact_name), soci::into(row.account_id), soci::use(list));
    sql::each_row(statement, [&] { found.emplace_back(row).contact_exists = exists != 0; });
    return found;
  });
}

std::set<std::string> missing_ids(soci::session& session, Dialect dialect, const Tables& tables,
                                  const std::string& object, const std::set<std::string>& ids) {
  if (ids.empty() || !tables.has(object)) return {};
  const std::string list = sql::list_of(dialect, Keys(ids.begin(), ids.end()));
  std::string query = "SELECT " + tables.text("p", object, "Id") + " FROM " + tables.table(object) +
                      " p WHERE " + sql::in_list(dialect, tables.column("p", object, "Id"), "ids", true);
  if (object == "account" || object == "user")
    query += " UNION ALL SELECT '' WHERE NOT EXISTS (SELECT 1 FROM " + tables.table(object) + ")";
  std::set<std::string> missing = ids;
  std::string id;
  soci::statement statement = sql::bound(session, query, soci::into(id), soci::use(list));
  sql::each_row(statement, [&] {
    if (id.empty())
      missing.clear();
    else
      missing.erase(id);
  });
  return missing;
}

}  // namespace giftsync::schema::foreign_crm
