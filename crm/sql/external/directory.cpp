#include "crm/sql/external/directory.h"

#include <algorithm>
#include <functional>
#include <new>
#include <set>

#include "crm/sql/directory_rows.h"
#include "crm/sql/external/mapping.h"
#include "crm/sql/external/person_lookup.h"
#include "crm/sql/rows_by_key.h"
#include "schema/contact_normalization.h"
#include "schema/sql/database.h"
#include "schema/sql/session.h"

namespace giftsync::crm::external {
namespace {

// The last seven digits of a phone number without an extension; a database without
// match keys is searched by them.

constexpr std::size_t kSuffixDigits = 7;
constexpr const char* kPhoneSuffixFunction = "giftsync_phone_suffix";

/// The suffix of a phone_key().
std::string phone_suffix(const std::string& key) {
  return key.substr(key.size() - std::min(key.size(), kSuffixDigits));
}

/// Whether a number contains more than digits and the usual separators: an extension, letters, digits of
/// other scripts. Only such a number needs the full parser.
std::string has_other_characters(sql::Dialect dialect, const std::string& column) {
  return dialect == sql::Dialect::postgresql ? column + " ~ '[^-0-9 ()./+]'"
                                             : column + " GLOB '*[^-0-9 ()./+' || char(160) || ']*'";
}

/// The digits at the end of a number, without an extension. docs/operations/external-crm.md has an index over
/// the very expression of PostgreSQL's.
std::string postgresql_suffix(const MappedTables& tables, const std::string& column) {
  // Full-width, Arabic and Persian digits, which a database of another encoding does not have.
  const std::string digits =
      tables.is_unicode()
          ? "translate(" + column +
                R"(, E'\uFF10\uFF11\uFF12\uFF13\uFF14\uFF15\uFF16\uFF17\uFF18\uFF19\u0660\u0661\u0662\u0663)"
                R"(\u0664\u0665\u0666\u0667\u0668\u0669\u06F0\u06F1\u06F2\u06F3\u06F4\u06F5\u06F6\u06F7)"
                R"(\u06F8\u06F9', '012345678901234567890123456789'))"
          : column;
  // Seven digits at least, and what follows up to a letter or one of ;,# which begin an extension.
  return "right(regexp_replace(CASE WHEN " + has_other_characters(sql::Dialect::postgresql, column) +
         " THEN substring(" + digits + " FROM '^(?:[^0-9]*[0-9]){7}[^[:alpha:];,#]*') ELSE " + column +
         " END, '[^0-9]+', '', 'g'), " + std::to_string(kSuffixDigits) + ")";
}

/// SQLite has no regular expressions. The usual separators are removed one by one; everything else calls
/// kPhoneSuffixFunction.
std::string sqlite_suffix(const std::string& column, const std::string& region) {
  std::string digits = column;
  for (const char* other : {"' '", "'-'", "'('", "')'", "'.'", "'/'", "'+'", "char(160)"})
    digits = "replace(" + digits + ", " + other + ", '')";
  return "CASE WHEN " + has_other_characters(sql::Dialect::sqlite, column) + " THEN " + kPhoneSuffixFunction +
         "(" + column + ", '" + region + "') ELSE substr(" + digits + ", -" + std::to_string(kSuffixDigits) +
         ") END";
}

/// The SQL function kPhoneSuffixFunction(number, region): what the number's key ends with.
void phone_suffix_udf(sqlite_api::sqlite3_context* context, int, sqlite_api::sqlite3_value** values) {
  using namespace sqlite_api;
  const auto text = [&](int at) {
    const unsigned char* value = sqlite3_value_text(values[at]);
    return value ? std::string(reinterpret_cast<const char*>(value)) : std::string();
  };
  try {
    const std::string end = phone_suffix(phone_key(text(0), text(1)));
    sqlite3_result_text(context, end.c_str(), static_cast<int>(end.size()), SQLITE_TRANSIENT);
  } catch (const std::bad_alloc&) {
    sqlite3_result_error_nomem(context);
  }
}

/// The same for a number in the column, as an SQL expression. `region` applies to numbers without a
/// country. On SQLite the function below must be registered first.
std::string phone_suffix_expression(const MappedTables& tables, const std::string& column,
                                    const std::string& region) {
  return tables.dialect() == sql::Dialect::sqlite ? sqlite_suffix(column, region)
                                                  : postgresql_suffix(tables, column);
}

/// Registers the function of that expression with an SQLite connection. Idempotent.
void register_phone_suffix_udf(soci::session& session) {
  sqlite_api::sqlite3* connection = static_cast<soci::sqlite3_session_backend*>(session.get_backend())->conn_;
  const int result = sqlite_api::sqlite3_create_function(connection, kPhoneSuffixFunction, 2,
                                                         SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr,
                                                         phone_suffix_udf, nullptr, nullptr);
  if (result != SQLITE_OK) sql::throw_sqlite_error(connection, result);
}

}  // namespace

// Contacts and leads that may be a gift's recipient.

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

crm::sql_crm::RowsByKey<Candidate> look_up(sql::Database& database, const MappedTables& tables,
                                           const LookupPlan& plan, const Keys& prefilter, const Keys& keys) {
  const std::set<std::string> wanted(keys.begin(), keys.end());
  const std::string list = sql::list_of(tables.dialect(), prefilter);
  const crm::sql_crm::Column* order = tables.type(object_name(plan.object), plan.fields.order_by.field);
  const bool is_number = order && order->type == crm::sql_crm::ColumnType::number;
  const crm::sql_crm::Column* id = tables.type(object_name(plan.object), "Id");
  const bool is_text = order && crm::sql_crm::is_ordered_as_text(*order, id ? id->name : "");
  return database.read([&](soci::session& session) {
    if (tables.dialect() == sql::Dialect::sqlite) register_phone_suffix_udf(session);
    crm::sql_crm::RowsByKey<Candidate> found;
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
      if (is_number) added.order_value = crm::sql_crm::trim_trailing_zeros(person.order_value);
    });
    return found;
  });
}

/// People found by several fields are ordered by the database, because only the database can sort its values.
void merge_fields(sql::Database& database, const MappedTables& tables, const LookupPlan& plan,
                  crm::sql_crm::RowsByKey<Candidate>& found) {
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
                 crm::sql_crm::RowsByKey<Candidate>& found) {
  merge_fields(database, tables, plan, found);
  const OrderBy& by = plan.fields.order_by;
  if (const crm::sql_crm::Column* column = tables.type(object_name(plan.object), by.field))
    crm::sql_crm::sort_by_text(found, *column, by.descending);
}

crm::sql_crm::RowsByKey<Candidate> people_by_email(sql::Database& database, const MappedTables& tables,
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

crm::sql_crm::RowsByKey<Candidate> people_by_phone(sql::Database& database, const MappedTables& tables,
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
  return crm::sql_crm::candidates_for_each(
      recipients,
      people_by_email(crm_.database(), tables, object, fields,
                      crm::sql_crm::distinct_keys(recipients, [](const auto& r) { return r.email_key; })),
      people_by_phone(crm_.database(), tables, object, fields, fields_.default_region,
                      crm::sql_crm::distinct_keys(recipients, [](const auto& r) { return r.phone_key; })));
}

// Open opportunities through contact roles, and the results of lead conversions.

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
      " IN " + crm::sql_crm::crm_id_forms_expression(tables.dialect(), "r.opportunity") + " WHERE " +
      tables.not_deleted("p", "opportunity") + " AND NOT coalesce(" +
      tables.column("p", "opportunity", "IsClosed") +
      ", false)) AS ranked WHERE order_rank <= " + std::to_string(kMaxCandidates) +
      " ORDER BY contact, order_rank";
  const std::string list = sql::list_of(tables.dialect(), contacts);
  const crm::sql_crm::Column* column = tables.type("opportunity", by.field);
  const crm::sql_crm::Column* id = tables.type("opportunity", "Id");
  const bool is_text = column && crm::sql_crm::is_ordered_as_text(*column, id ? id->name : "");
  const auto found = crm_.database().read([&](soci::session& session) {
    crm::sql_crm::RowsByKey<Opportunity> read;
    std::string key;
    Opportunity row;
    soci::statement statement = sql::bound(
        session, query, soci::into(key), soci::into(row.id), soci::into(row.name), soci::into(row.account_id),
        soci::into(row.stage), soci::into(row.order_value), soci::use(list));
    sql::each_row(statement, [&] {
      Opportunity& added = read[long_crm_id(key)].emplace_back(row);
      if (column && column->type == crm::sql_crm::ColumnType::number)
        added.order_value = crm::sql_crm::trim_trailing_zeros(row.order_value);
      added.order_is_text = is_text;
    });
    if (column) crm::sql_crm::sort_by_text(read, *column, by.descending);
    return read;
  });
  return crm::sql_crm::rows_for_each(found, long_crm_ids(contact_ids));
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
  return crm::sql_crm::read_accounts(crm_.database(), query, sql::list_of(tables.dialect(), contacts),
                                     contact_ids);
}

std::vector<std::string> ExternalDirectory::find_account_owners(std::span<const std::string> account_ids) {
  const MappedTables& tables = crm_.tables();
  if (!tables.type("account", "OwnerId")) return std::vector<std::string>(account_ids.size());
  const std::string query =
      "SELECT " + tables.text("p", "account", "Id") + ", " + tables.text("p", "account", "OwnerId") +
      " FROM " + tables.rows("account") + " AND " +
      sql::in_list(tables.dialect(), tables.column("p", "account", "Id"), "accounts", true);
  return crm::sql_crm::read_account_owners(
      crm_.database(), query, sql::list_of(tables.dialect(), crm_id_forms(account_ids)), account_ids);
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
      crm::sql_crm::crm_id_forms_expression(tables.dialect(),
                                            tables.column("l", "lead", "ConvertedContactId")) +
      " AND " + tables.not_deleted("p", "contact") + " WHERE " + tables.not_deleted("l", "lead") + " AND " +
      tables.column("l", "lead", "IsConverted") + " AND " +
      sql::in_list(tables.dialect(), tables.column("l", "lead", "Id"), "leads", true);
  return crm::sql_crm::read_converted_leads(crm_.database(), query, sql::list_of(tables.dialect(), leads),
                                            lead_ids);
}

// users, and the permission sets that are assigned to them (REQ-36).

namespace {

/// 1 unless the field is false; a CRM without the field has only active rows.
std::string is_active(const MappedTables& tables, const std::string& object) {
  const std::string column = tables.column("p", object, "IsActive");
  return "CASE WHEN coalesce(" + (column == "NULL" ? "true" : column) + ", true) THEN 1 ELSE 0 END";
}

std::string expiration(const MappedTables& tables) {
  const std::string object = "permission_set_assignment";
  const std::string column = tables.column("p", object, "ExpirationDate");
  const crm::sql_crm::Column* type = tables.type(object, "ExpirationDate");
  if (!type) return "''";
  // SQLite may store times in text columns, in a form that its functions parse.
  const crm::sql_crm::Column read =
      tables.dialect() == sql::Dialect::sqlite
          ? crm::sql_crm::Column{type->name, crm::sql_crm::ColumnType::date_time, type->sql_type}
          : *type;
  return crm::sql_crm::expiration_expression(column, as_text(tables.dialect(), column, read));
}

/// The users whose `field` is in the list.
std::string users_query(const MappedTables& tables, const std::string& field) {
  return "SELECT " + tables.text("p", "user", "Id") + ", " + tables.text("p", "user", "Name") + ", " +
         tables.text("p", "user", "Email") + ", " + is_active(tables, "user") + " FROM " +
         tables.rows("user") + " AND " + sql::in_list(tables.dialect(), field, "keys", true);
}

}  // namespace

/// Active ones first; without those that have no Id.
std::vector<std::vector<CrmUser>> ExternalDirectory::find_users_by_email(
    std::span<const std::string> email_keys) {
  const MappedTables& tables = crm_.tables();
  const Keys keys = crm::sql_crm::distinct_keys(email_keys);
  if (keys.empty() || !tables.has("user")) return std::vector<std::vector<CrmUser>>(email_keys.size());
  const std::string id = tables.column("p", "user", "Id");
  const std::string query =
      users_query(tables, email_expression(tables, tables.column("p", "user", "Email"))) + " AND " + id +
      " IS NOT NULL ORDER BY " + is_active(tables, "user") + " DESC, " +
      crm::sql_crm::bytewise(tables.dialect(), id);
  crm::sql_crm::RowsByKey<CrmUser> found;
  for (CrmUser& user : crm::sql_crm::read_users(crm_.database(), query,
                                                sql::list_of(tables.dialect(), email_spellings(keys)))) {
    std::vector<CrmUser>& of_key = found[email_key(user.email)];
    if (of_key.size() < kMaxCandidates) of_key.push_back(std::move(user));
  }
  return crm::sql_crm::rows_for_each(found, email_keys);
}

std::vector<std::optional<CrmUser>> ExternalDirectory::find_users_by_id(std::span<const std::string> ids) {
  const MappedTables& tables = crm_.tables();
  const Keys wanted = crm_id_forms(ids);
  if (wanted.empty() || !tables.has("user")) return std::vector<std::optional<CrmUser>>(ids.size());
  const auto users =
      crm::sql_crm::read_users(crm_.database(), users_query(tables, tables.column("p", "user", "Id")),
                               sql::list_of(tables.dialect(), wanted));
  return crm::sql_crm::first_for_each(crm::sql_crm::by_id(users), long_crm_ids(ids));
}

std::optional<std::vector<std::vector<PermissionSetAssignment>>> ExternalDirectory::permission_sets(
    std::span<const std::string> user_ids) {
  const MappedTables& tables = crm_.tables();
  const std::string object = "permission_set_assignment";
  if (!tables.has(object)) return std::nullopt;
  const Keys users = crm_id_forms(user_ids);
  if (users.empty()) return std::vector<std::vector<PermissionSetAssignment>>(user_ids.size());
  const auto found = crm::sql_crm::read_assignments(
      crm_.database(),
      "SELECT " + tables.text("p", object, "AssigneeId") + ", " +
          tables.text("p", object, "PermissionSetName") + ", " + is_active(tables, object) + ", " +
          expiration(tables) + " FROM " + tables.rows(object) + " AND " +
          sql::in_list(tables.dialect(), tables.column("p", object, "AssigneeId"), "users", true),
      sql::list_of(tables.dialect(), users));
  return crm::sql_crm::rows_for_each(found, long_crm_ids(user_ids));
}

}  // namespace giftsync::crm::external
