#include "crm/sql/directory_rows.h"

namespace giftsync::crm::sql_crm {

std::vector<CrmUser> read_users(sql::Database& database, const std::string& query, const std::string& list) {
  return database.read([&](soci::session& session) {
    std::vector<CrmUser> users;
    CrmUser user;
    long long active = 0;
    soci::statement statement = sql::bound(session, query, soci::into(user.id), soci::into(user.name),
                                           soci::into(user.email), soci::into(active), soci::use(list));
    sql::each_row(statement, [&] { users.emplace_back(user).active = active != 0; });
    return users;
  });
}

RowsByKey<CrmUser> by_id(const std::vector<CrmUser>& users) {
  RowsByKey<CrmUser> found;
  for (const CrmUser& user : users) found[long_crm_id(user.id)].push_back(user);
  return found;
}

std::string expiration_expression(const std::string& column, const std::string& as_text) {
  return "CASE WHEN " + column + " IS NULL THEN '' ELSE coalesce(" + as_text + ", '?') END";
}

RowsByKey<PermissionSetAssignment> read_assignments(sql::Database& database, const std::string& query,
                                                    const std::string& list) {
  return database.read([&](soci::session& session) {
    RowsByKey<PermissionSetAssignment> found;
    std::string user;
    std::string expires;
    PermissionSetAssignment row;
    long long active = 0;
    soci::statement statement = sql::bound(session, query, soci::into(user), soci::into(row.permission_set),
                                           soci::into(active), soci::into(expires), soci::use(list));
    sql::each_row(statement, [&] {
      row.active = active != 0;
      row.expires_at.reset();
      if (!expires.empty()) row.expires_at = from_rfc3339(expires).value_or(UtcMillis{0});
      found[long_crm_id(user)].push_back(row);
    });
    return found;
  });
}

std::vector<std::optional<std::string>> read_accounts(sql::Database& database, const std::string& query,
                                                      const std::string& list,
                                                      std::span<const std::string> contact_ids) {
  std::map<std::string, std::string> found;
  database.read([&](soci::session& session) {
    std::string contact;
    std::string account;
    soci::statement statement =
        sql::bound(session, query, soci::into(contact), soci::into(account), soci::use(list));
    sql::each_row(statement, [&] { found[long_crm_id(contact)] = account; });
  });
  std::vector<std::optional<std::string>> accounts;
  for (const std::string& contact : contact_ids) {
    const auto at = found.find(long_crm_id(contact));
    accounts.push_back(at == found.end() ? std::nullopt : std::optional(at->second));
  }
  return accounts;
}

std::vector<std::string> read_account_owners(sql::Database& database, const std::string& query,
                                             const std::string& list,
                                             std::span<const std::string> account_ids) {
  std::vector<std::string> owners;
  for (std::optional<std::string>& owner : read_accounts(database, query, list, account_ids))
    owners.push_back(std::move(owner).value_or(""));
  return owners;
}

std::vector<ConvertedLead> read_converted_leads(sql::Database& database, const std::string& query,
                                                const std::string& list,
                                                std::span<const std::string> lead_ids) {
  return database.read([&](soci::session& session) {
    std::vector<ConvertedLead> found;
    ConvertedLead row;
    long long exists = 0;
    soci::statement statement =
        sql::bound(session, query, soci::into(row.lead_id), soci::into(row.contact_id), soci::into(exists),
                   soci::into(row.contact_name), soci::into(row.account_id), soci::use(list));
    sql::each_row(statement, [&] {
      row.contact_exists = exists != 0;
      for (const std::string& asked : asked_forms(lead_ids, row.lead_id))
        found.emplace_back(row).lead_id = asked;
    });
    return found;
  });
}

}  // namespace giftsync::crm::sql_crm
