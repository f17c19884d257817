// schema/crm/external: contacts and leads that may be a gift's recipient.
#include <algorithm>
#include <functional>
#include <set>

#include "schema/contact_normalization.h"
#include "schema/crm/external/directory.h"
#include "schema/crm/external/person_lookup.h"
#include "schema/crm/external/phone_suffix.h"
#include "schema/crm/sql_common/collation.h"

namespace giftsync::schema::crm::external {
namespace {

std::string object_name(PersonObject object) {
  return object == PersonObject::contact ? "contact" : "lead";
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
std::string people_statement(const MappedTables& tables, const LookupPlan& plan) {
  const std::string object = object_name(plan.object);
  const bool contact = plan.object == PersonObject::contact;
  const std::string order = order_by_clause(tables, object, plan.fields.order_by);
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
              tables.rows(object) + " AND " + tables.column("p", object, "Id") + " IS NOT NULL AND " +
              sql::in_list(tables.dialect(), plan.prefilter(column), "keys" + std::to_string(i), true);
  }
  return "SELECT field, value, id, name, account, CASE WHEN account = '' OR " +
         account_exists_condition(tables, "found.account") +
         " THEN 1 ELSE 0 END, converted, order_value FROM (" + fields +
         ") AS found WHERE cap_rank <= " + std::to_string(kMaxCandidates) + " ORDER BY field, order_rank";
}

sql_common::RowsByKey<Candidate> look_up(sql::Database& database, const MappedTables& tables,
                                         const LookupPlan& plan, const Keys& prefilter, const Keys& keys) {
  const std::set<std::string> wanted(keys.begin(), keys.end());
  const std::string list = sql::list_of(tables.dialect(), prefilter);
  const sql_common::Column* order = tables.type(object_name(plan.object), plan.fields.order_by.field);
  const bool is_number = order && order->type == sql_common::ColumnType::number;
  const sql_common::Column* id = tables.type(object_name(plan.object), "Id");
  const bool is_text = order && sql_common::is_ordered_as_text(*order, id ? id->name : "");
  return database.read([&](soci::session& session) {
    if (tables.dialect() == sql::Dialect::sqlite) register_phone_suffix_udf(session);
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
    statement.prepare(people_statement(tables, plan), sql::kRunOnce);
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
      added.order_is_text = is_text;
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
  const std::string list = sql::list_of(tables.dialect(), ids);
  const std::map<std::string, std::size_t> order_ranks = database.read([&](soci::session& session) {
    std::map<std::string, std::size_t> read;
    std::string id;
    soci::statement statement = sql::bound(
        session,
        "SELECT " + tables.text("p", object, "Id") + " FROM " + tables.table(object) + " p WHERE " +
            sql::in_list(tables.dialect(), tables.column("p", object, "Id"), "ids", true) + " ORDER BY " +
            order_by_clause(tables, object, plan.fields.order_by),
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

sql_common::RowsByKey<Candidate> people_by_email(sql::Database& database, const MappedTables& tables,
                                                 PersonObject object, const PersonMatchFields& fields,
                                                 const Keys& keys) {
  if (keys.empty() || fields.email_fields.empty() || !tables.has(object_name(object))) return {};
  const LookupPlan plan{object, fields, fields.email_fields,
                        [&](const std::string& column) { return email_expression(tables, column); },
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
  const LookupPlan plan{
      object, fields, fields.phone_fields,
      [&](const std::string& column) { return phone_suffix_expression(tables, column, region); },
      [&region](const std::string& value) { return phone_key(value, region); }};
  auto found = look_up(database, tables, plan, {ends.begin(), ends.end()}, keys);
  sort_people(database, tables, plan, found);
  return found;
}

}  // namespace

std::vector<Candidates> ExternalDirectory::find_candidates(PersonObject object,
                                                           std::span<const RecipientMatchKeys> recipients) {
  const PersonMatchFields& fields = object == PersonObject::contact ? fields_.contact : fields_.lead;
  const MappedTables& tables = crm_.tables();
  return sql_common::candidates_for_each(
      recipients,
      people_by_email(crm_.database(), tables, object, fields,
                      sql_common::distinct_keys(recipients, [](const auto& r) { return r.email_key; })),
      people_by_phone(crm_.database(), tables, object, fields, fields_.default_region,
                      sql_common::distinct_keys(recipients, [](const auto& r) { return r.phone_key; })));
}

}  // namespace giftsync::schema::crm::external
