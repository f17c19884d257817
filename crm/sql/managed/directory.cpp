#include "crm/sql/managed/directory.h"

#include "crm/sql/directory_rows.h"
#include "crm/sql/managed/match_key_lookup.h"
#include "crm/sql/managed/match_keys.h"
#include "platform/dependency_error.h"

namespace giftsync::crm::managed {
namespace {

void throw_if_faulty(const std::vector<std::string>& faults) {
  if (faults.empty()) return;
  std::string text;
  for (const std::string& fault : faults) text += (text.empty() ? "" : "; ") + fault;
  throw DependencyError(false, text);
}

/// An import may convert a text column when its first values arrive; other types do not change.
bool is_type_final(const crm::sql_crm::Column& order_by) {
  return order_by.type != crm::sql_crm::ColumnType::text;
}

}  // namespace

PersonMatchColumns ManagedDirectory::person_columns_for(PersonObject object) {
  const std::lock_guard lock(mutex_);
  const auto known = person_columns_.find(object);
  if (known != person_columns_.end() && is_type_final(known->second.order_by)) return known->second;
  const PersonMatchColumns columns = database_.read(
      [&](soci::session& session) { return find_person_match_columns(session, object, fields_); });
  throw_if_faulty(columns.faults);
  return person_columns_.insert_or_assign(object, columns).first->second;
}

OpportunityOrderColumn ManagedDirectory::current_opportunity_column() {
  const std::lock_guard lock(mutex_);
  if (opportunity_column_ && is_type_final(opportunity_column_->order_by)) return *opportunity_column_;
  const OpportunityOrderColumn columns =
      database_.read([&](soci::session& session) { return find_opportunity_order_column(session, fields_); });
  throw_if_faulty(columns.faults);
  return opportunity_column_.emplace(columns);
}

void ManagedDirectory::clear_column_cache() {
  const std::lock_guard lock(mutex_);
  person_columns_.clear();
  opportunity_column_.reset();
}

std::vector<std::int64_t> ManagedDirectory::key_field_ids(const std::vector<MatchKeyField>& fields) {
  auto ids = refresh_match_keys(database_, fields, max_keyed_rows_);
  if (ids) return std::move(*ids);
  throw LookupNotReady(
      "the CRM's contacts, leads or users were loaded or changed, and their match keys are still being made; "
      "matching waits until they are complete");
}

/// Fields that the CRM does not have are left to the lookups, which report them.
std::vector<MatchKeyField> ManagedDirectory::compared_fields() {
  std::vector<MatchKeyField> fields{kUserEmail};
  for (const PersonObject object : {PersonObject::contact, PersonObject::lead}) {
    try {
      const PersonMatchColumns columns = person_columns_for(object);
      fields.insert(fields.end(), columns.email_fields.begin(), columns.email_fields.end());
      fields.insert(fields.end(), columns.phone_fields.begin(), columns.phone_fields.end());
    } catch (const DependencyError& fault) {
      if (fault.transient()) throw;
    }
  }
  return fields;
}

bool ManagedDirectory::maintain() {
  if (has_all_fields_) return !process_match_key_queue(database_, max_keyed_rows_);
  has_all_fields_ = refresh_match_keys(database_, compared_fields(), max_keyed_rows_).has_value();
  return !has_all_fields_;
}

std::vector<Candidates> ManagedDirectory::find_by_columns(PersonObject object,
                                                          const PersonMatchColumns& columns,
                                                          std::span<const RecipientMatchKeys> recipients) {
  std::vector<MatchKeyField> fields = columns.email_fields;
  fields.insert(fields.end(), columns.phone_fields.begin(), columns.phone_fields.end());
  const std::vector<std::int64_t> ids = key_field_ids(fields);
  const auto phones_at = ids.begin() + static_cast<std::ptrdiff_t>(columns.email_fields.size());
  const PersonMatchFields& names = match_fields_of(object, fields_);
  const auto people = [&](std::vector<std::int64_t> field_ids, const std::vector<std::string>& field_names,
                          const std::vector<std::string>& keys) {
    if (field_ids.empty() || keys.empty()) return crm::sql_crm::RowsByKey<Candidate>();
    return people_by_match_key(
        database_, {object, columns.order_by, names.order_by.descending, std::move(field_ids), field_names},
        keys);
  };
  return crm::sql_crm::candidates_for_each(
      recipients,
      people({ids.begin(), phones_at}, names.email_fields,
             crm::sql_crm::distinct_keys(recipients, [](const auto& r) { return r.email_key; })),
      people({phones_at, ids.end()}, names.phone_fields,
             crm::sql_crm::distinct_keys(recipients, [](const auto& r) { return r.phone_key; })));
}

std::vector<Candidates> ManagedDirectory::find_candidates(PersonObject object,
                                                          std::span<const RecipientMatchKeys> recipients) {
  return retry_with_fresh_columns(
      [&] { return find_by_columns(object, person_columns_for(object), recipients); });
}

namespace {

/// The Id of an account that exists, or nothing.
std::string existing_account_expression(sql::Dialect dialect, const std::string& column) {
  return "CASE WHEN " + account_exists_condition(dialect, column) + " THEN coalesce(" + column +
         ", '') ELSE '' END";
}

std::string result_columns(sql::Dialect dialect, const crm::sql_crm::Column& order_by) {
  return "r.contactid, o.id, coalesce(o.name, '') AS name, " +
         existing_account_expression(dialect, "o.accountid") +
         " AS account, coalesce(o.stagename, '') AS stage, coalesce(" +
         crm::sql_crm::as_text(dialect, "o." + crm::sql_crm::quoted(order_by.name), order_by.type) +
         ", '') AS order_value";
}

/// The condition on row `alias` of crm_`object`.
std::string not_deleted(sql::Dialect dialect, const std::string& object, const std::string& alias) {
  return " AND " + crm::sql_crm::row_not_deleted_condition(dialect, "crm_" + object, alias);
}

/// All in order; one that several roles lead to comes as often.
std::string uncapped_statement(sql::Dialect dialect, const crm::sql_crm::Column& order_by, bool descending) {
  return "SELECT " + result_columns(dialect, order_by) +
         " FROM crm_opportunity_contact_role r JOIN crm_opportunity o ON o.id = r.opportunityid WHERE " +
         sql::in_list(dialect, "r.contactid", "list", true) +
         not_deleted(dialect, "opportunity_contact_role", "r") + not_deleted(dialect, "opportunity", "o") +
         " AND NOT coalesce(o.isclosed, false) ORDER BY " +
         order_by_clause(dialect, "o", order_by, descending) + " LIMIT " +
         std::to_string(kMaxUncappedRows + 1);
}

/// At most kMaxCandidates for each contact, once each.
std::string capped_statement(sql::Dialect dialect, const crm::sql_crm::Column& order_by, bool descending) {
  return "SELECT contactid, id, name, account, stage, order_value FROM (SELECT " +
         result_columns(dialect, order_by) + ", row_number() OVER (PARTITION BY r.contactid ORDER BY " +
         order_by_clause(dialect, "o", order_by, descending) +
         ") AS order_rank FROM (SELECT DISTINCT contactid, opportunityid FROM crm_opportunity_contact_role k "
         "WHERE " +
         sql::in_list(dialect, "contactid", "list", true) +
         not_deleted(dialect, "opportunity_contact_role", "k") +
         ") AS r JOIN crm_opportunity o ON o.id = r.opportunityid WHERE NOT coalesce(o.isclosed, false)" +
         not_deleted(dialect, "opportunity", "o") +
         ") AS ranked WHERE order_rank <= " + std::to_string(kMaxCandidates) +
         " ORDER BY contactid, order_rank";
}

}  // namespace

std::vector<std::vector<Opportunity>> ManagedDirectory::find_open_opportunities(
    std::span<const std::string> contact_ids) {
  const std::vector<std::string> contacts = crm_id_forms(contact_ids);
  if (contacts.empty()) return std::vector<std::vector<Opportunity>>(contact_ids.size());
  const auto find = [&] {
    const crm::sql_crm::Column order_by = current_opportunity_column().order_by;
    const bool descending = fields_.opportunity.order_by.descending;
    const sql::Dialect dialect = database_.dialect();
    const CappedLookup lookup{uncapped_statement(dialect, order_by, descending),
                              capped_statement(dialect, order_by, descending), order_by, descending};
    return read_capped<Opportunity>(database_, lookup, sql::list_of(dialect, contacts), long_crm_id,
                                    [](sql::PreparedQuery& rows, Opportunity& opportunity) {
                                      opportunity.account_id = rows.text(3);
                                      opportunity.stage = rows.text(4);
                                      opportunity.order_value = rows.text(5);
                                    });
  };
  return crm::sql_crm::rows_for_each(retry_with_fresh_columns(find), long_crm_ids(contact_ids));
}

std::vector<std::optional<std::string>> ManagedDirectory::find_accounts_of_contacts(
    std::span<const std::string> contact_ids) {
  const std::vector<std::string> contacts = crm_id_forms(contact_ids);
  if (contacts.empty()) return std::vector<std::optional<std::string>>(contact_ids.size());
  const sql::Dialect dialect = database_.dialect();
  return crm::sql_crm::read_accounts(
      database_,
      "SELECT p.id, " + existing_account_expression(dialect, "p.accountid") + " FROM crm_contact p WHERE " +
          sql::in_list(dialect, "p.id", "contacts", true) + not_deleted(dialect, "contact", "p"),
      sql::list_of(dialect, contacts), contact_ids);
}

std::vector<std::string> ManagedDirectory::find_account_owners(std::span<const std::string> account_ids) {
  const sql::Dialect dialect = database_.dialect();
  return crm::sql_crm::read_account_owners(database_,
                                           "SELECT a.id, coalesce(a.ownerid, '') FROM crm_account a WHERE " +
                                               sql::in_list(dialect, "a.id", "accounts", true) +
                                               not_deleted(dialect, "account", "a"),
                                           sql::list_of(dialect, crm_id_forms(account_ids)), account_ids);
}

std::vector<ConvertedLead> ManagedDirectory::find_converted_leads(std::span<const std::string> lead_ids) {
  const std::vector<std::string> leads = crm_id_forms(lead_ids);
  if (leads.empty()) return {};
  const sql::Dialect dialect = database_.dialect();
  return crm::sql_crm::read_converted_leads(
      database_,
      "SELECT l.id, coalesce(l.convertedcontactid, ''), CASE WHEN p.id IS NULL THEN 0 ELSE 1 END, coalesce(" +
          person_name_expression("p") + ", ''), " + existing_account_expression(dialect, "p.accountid") +
          " FROM crm_lead l LEFT JOIN crm_contact p ON p.id = l.convertedcontactid" +
          not_deleted(dialect, "contact", "p") + " WHERE l.isconverted AND " +
          sql::in_list(dialect, "l.id", "leads", true) + not_deleted(dialect, "lead", "l"),
      sql::list_of(dialect, leads), lead_ids);
}

// users, and the permission sets that are assigned to them (REQ-36).

std::vector<std::vector<CrmUser>> ManagedDirectory::find_users_by_email(
    std::span<const std::string> email_keys) {
  const std::vector<std::string> keys = crm::sql_crm::distinct_keys(email_keys);
  if (keys.empty()) return std::vector<std::vector<CrmUser>>(email_keys.size());
  return crm::sql_crm::rows_for_each(users_by_match_key(database_, key_field_ids({kUserEmail}).front(), keys),
                                     email_keys);
}

std::vector<std::optional<CrmUser>> ManagedDirectory::find_users_by_id(std::span<const std::string> ids) {
  const sql::Dialect dialect = database_.dialect();
  const auto users =
      crm::sql_crm::read_users(database_,
                               "SELECT p.id, " + person_name_expression("p") +
                                   ", coalesce(p.email, ''), CASE WHEN coalesce(p.isactive, true) "
                                   "THEN 1 ELSE 0 END FROM crm_user p WHERE " +
                                   sql::in_list(dialect, "p.id", "ids", true) + " AND " +
                                   crm::sql_crm::row_not_deleted_condition(dialect, "crm_user", "p"),
                               sql::list_of(dialect, crm_id_forms(ids)));
  return crm::sql_crm::first_for_each(crm::sql_crm::by_id(users), long_crm_ids(ids));
}

std::optional<std::vector<std::vector<PermissionSetAssignment>>> ManagedDirectory::permission_sets(
    std::span<const std::string> user_ids) {
  const sql::Dialect dialect = database_.dialect();
  const std::string expires = "s.expirationdate";
  const auto found = crm::sql_crm::read_assignments(
      database_,
      "SELECT s.assigneeid, coalesce(s.permissionsetname, ''), CASE WHEN coalesce(s.isactive, true) THEN 1 "
      "ELSE 0 END, " +
          crm::sql_crm::expiration_expression(
              expires, crm::sql_crm::as_text(dialect, expires, crm::sql_crm::ColumnType::date_time)) +
          " FROM crm_permission_set_assignment s WHERE " +
          sql::in_list(dialect, "s.assigneeid", "users", true) + " AND " +
          crm::sql_crm::row_not_deleted_condition(dialect, "crm_permission_set_assignment", "s"),
      sql::list_of(dialect, crm_id_forms(user_ids)));
  return crm::sql_crm::rows_for_each(found, long_crm_ids(user_ids));
}

}  // namespace giftsync::crm::managed
