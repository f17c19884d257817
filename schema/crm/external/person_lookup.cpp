#include "schema/crm/external/person_lookup.h"

#include <algorithm>
#include <functional>

#include "schema/contact_normalization.h"
#include "schema/crm/external/phone_suffix.h"
#include "schema/crm/sql_common/collation.h"
#include "schema/crm/sql_common/columns.h"

namespace giftsync::schema::crm::external {
namespace {

std::string object_name(PersonObject object) {
  return object == PersonObject::contact ? "contact" : "lead";
}

std::string has_id_condition(const MappedTables& tables, const std::string& alias,
                             const std::string& object) {
  return tables.column(alias, object, "Id") + " IS NOT NULL";
}

/// The account is there; an account object that is empty, or that the CRM does not have, is not checked.
std::string account_exists_condition(const MappedTables& tables, const std::string& id) {
  if (!tables.has("account")) return "true";
  return "(EXISTS (SELECT 1 FROM " + tables.table("account") + " a WHERE " +
         tables.column("a", "account", "Id") + " = " + id + ") OR NOT EXISTS (SELECT 1 FROM " +
         tables.table("account") + "))";
}

std::string order_by_clause(sql::Dialect dialect, const MappedTables& tables, const std::string& object,
                            const OrderBy& by) {
  const std::string id = sql_common::bytewise(dialect, tables.column("p", object, "Id"));
  const sql_common::Column* column = tables.type(object, by.field);
  const std::string key =
      column ? sql_common::as_sort_key(dialect, tables.column("p", object, by.field), column->type) : id;
  return key + (by.descending ? " DESC" : " ASC") + " NULLS LAST, " + id;
}

struct LookupPlan {
  PersonObject object;
  const PersonMatchFields& fields;
  const std::vector<std::string>& columns;                   ///< the compared fields
  std::function<std::string(const std::string&)> prefilter;  ///< of a column, in SQL
  std::function<std::string(const std::string&)> key;        ///< of its value, exactly
};

/// All rows with a requested prefilter value, at most kMaxCandidates per prefilter value and field,
/// unconverted leads first, ordered.
std::string people_statement(sql::Dialect dialect, const MappedTables& tables, const LookupPlan& plan) {
  const std::string object = object_name(plan.object);
  const bool contact = plan.object == PersonObject::contact;
  const std::string order = order_by_clause(dialect, tables, object, plan.fields.order_by);
  const std::string account = contact ? tables.column("p", object, "AccountId") : "NULL";
  const std::string converted =
      contact ? "0" : "CASE WHEN " + tables.column("p", object, "IsConverted") + " THEN 1 ELSE 0 END";
  std::string fields;
  for (std::size_t i = 0; i < plan.columns.size(); ++i) {
    const std::string column = tables.column("p", object, plan.columns[i]);
    fields += std::string(i == 0 ? "" : " UNION ALL ") + "SELECT " + std::to_string(i) + " AS field, " +
              tables.text("p", object, plan.columns[i]) + " AS value, " + tables.text("p", object, "Id") +
              " AS id, " + tables.text("p", object, "Name") + " AS name, coalesce(cast(" + account +
              " as text), '') AS account, " + converted + " AS converted, " +
              tables.text("p", object, plan.fields.order_by.field) +
              " AS order_value, row_number() OVER (ORDER BY " + order +
              ") AS order_rank, row_number() OVER "
              "(PARTITION BY " +
              plan.prefilter(column) + " ORDER BY " + converted + ", " + order + ") AS cap_rank FROM " +
              tables.table(object) + " p WHERE " + has_id_condition(tables, "p", object) + " AND " +
              sql::in_list(dialect, plan.prefilter(column), "keys" + std::to_string(i), true);
  }
  return "SELECT field, value, id, name, account, CASE WHEN account = '' OR " +
         account_exists_condition(tables, "found.account") +
         " THEN 1 ELSE 0 END, converted, order_value FROM (" + fields +
         ") AS found WHERE cap_rank <= " + std::to_string(kMaxCandidates) + " ORDER BY field, order_rank";
}

}  // namespace

std::string email_expression(const std::string& column) {
  return "lower(trim(" + column + "))";
}

Keys email_spellings(const Keys& keys) {
  std::set<std::string> all(keys.begin(), keys.end());
  for (const std::string& key : keys) all.insert(email_key_in_unicode(key));
  return {all.begin(), all.end()};
}

namespace {

sql_common::RowsByKey<Candidate> look_up(sql::Database& database, const MappedTables& tables,
                                         const LookupPlan& plan, const Keys& prefilter, const Keys& keys) {
  const std::set<std::string> wanted(keys.begin(), keys.end());
  const std::string list = sql::list_of(database.dialect(), prefilter);
  const sql_common::Column* order = tables.type(object_name(plan.object), plan.fields.order_by.field);
  const bool is_number = order && order->type == sql_common::ColumnType::number;
  return database.read([&](soci::session& session) {
    if (database.dialect() == sql::Dialect::sqlite) register_phone_suffix_udf(session);
    sql_common::RowsByKey<Candidate> found;
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
    for (std::size_t i = 0; i < plan.columns.size(); ++i) statement.exchange(soci::use(list));
    statement.alloc();
    statement.prepare(people_statement(database.dialect(), tables, plan), sql::kRunOnce);
    statement.define_and_bind();
    sql::each_row(statement, [&] {
      const std::string key = plan.key(value);
      if (!wanted.contains(key)) return;
      std::vector<Candidate>& people = found[key];
      for (const Candidate& known : people)
        if (known.id == person.id) return;
      Candidate& added = people.emplace_back(person);
      added.converted = converted != 0;
      added.account_exists = account_exists != 0;
      added.matched_field = plan.columns[static_cast<std::size_t>(field)];
      if (is_number) added.order_value = sql_common::trim_trailing_zeros(person.order_value);
    });
    return found;
  });
}

/// People found by several fields are ordered by the database, because only the database can sort its values.
void merge_fields(sql::Database& database, const MappedTables& tables, const LookupPlan& plan,
                  sql_common::RowsByKey<Candidate>& found) {
  if (plan.columns.size() < 2) return;
  const std::string object = object_name(plan.object);
  Keys ids;
  for (const auto& [key, people] : found) {
    if (people.size() < 2) continue;
    for (const Candidate& person : people) ids.push_back(person.id);
  }
  if (ids.empty()) return;
  const std::string list = sql::list_of(database.dialect(), ids);
  const std::map<std::string, std::size_t> order_ranks = database.read([&](soci::session& session) {
    std::map<std::string, std::size_t> read;
    std::string id;
    soci::statement statement = sql::bound(
        session,
        "SELECT " + tables.text("p", object, "Id") + " FROM " + tables.table(object) + " p WHERE " +
            sql::in_list(database.dialect(), tables.column("p", object, "Id"), "ids", true) + " ORDER BY " +
            order_by_clause(database.dialect(), tables, object, plan.fields.order_by),
        soci::into(id), soci::use(list));
    sql::each_row(statement, [&] { read.emplace(id, read.size()); });
    return read;
  });
  const auto order_rank = [&](const Candidate& person) {
    const auto at = order_ranks.find(person.id);
    return at == order_ranks.end() ? order_ranks.size() : at->second;
  };
  for (auto& [key, people] : found) {
    std::stable_sort(people.begin(), people.end(),
                     [&](const Candidate& a, const Candidate& b) { return order_rank(a) < order_rank(b); });
    if (people.size() > kMaxCandidates) people.resize(kMaxCandidates);
  }
}

void sort_people(sql::Database& database, const MappedTables& tables, const LookupPlan& plan,
                 sql_common::RowsByKey<Candidate>& found) {
  merge_fields(database, tables, plan, found);
  const OrderBy& by = plan.fields.order_by;
  if (const sql_common::Column* column = tables.type(object_name(plan.object), by.field))
    sql_common::sort_by_text(found, *column, by.descending);
}

}  // namespace

sql_common::RowsByKey<Candidate> people_by_email(sql::Database& database, const MappedTables& tables,
                                                 PersonObject object, const PersonMatchFields& fields,
                                                 const Keys& keys) {
  if (keys.empty() || fields.email_fields.empty() || !tables.has(object_name(object))) return {};
  const LookupPlan plan{object, fields, fields.email_fields, email_expression,
                        [](const std::string& value) { return email_key(value); }};
  auto found = look_up(database, tables, plan, email_spellings(keys), keys);
  sort_people(database, tables, plan, found);
  return found;
}

sql_common::RowsByKey<Candidate> people_by_phone(sql::Database& database, const MappedTables& tables,
                                                 PersonObject object, const PersonMatchFields& fields,
                                                 const std::string& region, const Keys& keys) {
  if (keys.empty() || fields.phone_fields.empty() || !tables.has(object_name(object))) return {};
  std::set<std::string> ends;
  for (const std::string& key : keys) ends.insert(phone_suffix(key));
  const LookupPlan plan{object, fields, fields.phone_fields,
                        [&](const std::string& column) {
                          return phone_suffix_expression(database.dialect(), tables, column, region);
                        },
                        [&region](const std::string& value) { return phone_key(value, region); }};
  auto found = look_up(database, tables, plan, {ends.begin(), ends.end()}, keys);
  sort_people(database, tables, plan, found);
  return found;
}

sql_common::RowsByKey<Opportunity> opportunities_by_contact(sql::Database& database,
                                                            const MappedTables& tables,
                                                            const OrderBy& order_by, const Keys& contacts) {
  if (contacts.empty() || !tables.has("opportunity") || !tables.has("opportunity_contact_role")) return {};
  const sql::Dialect dialect = database.dialect();
  const std::string role = "opportunity_contact_role";
  const std::string contact = tables.column("r", role, "ContactId");
  const std::string account = tables.column("p", "opportunity", "AccountId");
  const std::string order = order_by_clause(dialect, tables, "opportunity", order_by);
  const std::string query =
      "SELECT contact, id, name, account, stage, order_value FROM (SELECT r.contact, " +
      tables.text("p", "opportunity", "Id") + " AS id, " + tables.text("p", "opportunity", "Name") +
      " AS name, CASE WHEN " + account_exists_condition(tables, account) + " THEN coalesce(" + account +
      ", '') ELSE '' END AS account, " + tables.text("p", "opportunity", "StageName") + " AS stage, " +
      tables.text("p", "opportunity", order_by.field) +
      " AS order_value, row_number() OVER (PARTITION BY r.contact ORDER BY " + order +
      ") AS order_rank FROM (SELECT DISTINCT " + contact + " AS contact, " +
      tables.column("r", role, "OpportunityId") + " AS opportunity FROM " + tables.table(role) + " r WHERE " +
      sql::in_list(dialect, contact, "contacts", true) + ") AS r JOIN " + tables.table("opportunity") +
      " p ON " + tables.column("p", "opportunity", "Id") + " = r.opportunity WHERE NOT coalesce(" +
      tables.column("p", "opportunity", "IsClosed") +
      ", false)) AS ranked WHERE order_rank <= " + std::to_string(kMaxCandidates) +
      " ORDER BY contact, order_rank";
  const std::string list = sql::list_of(dialect, contacts);
  const sql_common::Column* column = tables.type("opportunity", order_by.field);
  return database.read([&](soci::session& session) {
    sql_common::RowsByKey<Opportunity> found;
    std::string key;
    Opportunity row;
    soci::statement statement = sql::bound(
        session, query, soci::into(key), soci::into(row.id), soci::into(row.name), soci::into(row.account_id),
        soci::into(row.stage), soci::into(row.order_value), soci::use(list));
    sql::each_row(statement, [&] {
      Opportunity& added = found[key].emplace_back(row);
      if (column && column->type == sql_common::ColumnType::number)
        added.order_value = sql_common::trim_trailing_zeros(row.order_value);
    });
    if (column) sql_common::sort_by_text(found, *column, order_by.descending);
    return found;
  });
}

std::vector<ConvertedLead> find_converted_leads(sql::Database& database, const MappedTables& tables,
                                                const Keys& leads) {
  if (leads.empty() || !tables.has("lead")) return {};
  const sql::Dialect dialect = database.dialect();
  const std::string contact = tables.column("p", "contact", "Id");
  const std::string account = tables.column("p", "contact", "AccountId");
  const std::string query =
      "SELECT " + tables.text("l", "lead", "Id") + ", " + tables.text("l", "lead", "ConvertedContactId") +
      ", CASE WHEN " + contact + " IS NULL THEN 0 ELSE 1 END, " + tables.text("p", "contact", "Name") +
      ", CASE WHEN " + account_exists_condition(tables, account) + " THEN coalesce(" + account +
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

std::set<std::string> missing_ids(soci::session& session, sql::Dialect dialect, const MappedTables& tables,
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

}  // namespace giftsync::schema::crm::external
