#include "schema/store/account/accounts.h"

#include "schema/contact_normalization.h"
#include "schema/sql/record_rows.h"
#include "schema/store/statements/id_block.h"
#include "schema/store/statements/word_conversions.h"

namespace giftsync::store {
namespace {

using soci::use;

template <class... Uses>
std::vector<Account> select_accounts(soci::session& session, const std::string& rest, const Uses&... uses) {
  return sql::select_records(kAccountFields, session,
                             "SELECT " + sql::select_list(kAccountFields) + " FROM account " + rest, uses...);
}

}  // namespace

Accounts::Accounts(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

std::optional<AccountId> Accounts::create(const Account& account) {
  return database_->write([&](soci::session& session) -> std::optional<AccountId> {
    const AccountId id{allocate_id(session, "account")};
    const std::string key = email_key(account.email);
    const std::int64_t inserted =
        sql::change_rows(session,
                         "INSERT INTO account (id, email, email_key, name, plan, active, created_at, "
                         "organization_id) VALUES "
                         "(:id, :email, :email_key, :name, :plan, :active, :created_at, :organization) "
                         "ON CONFLICT (email_key) DO NOTHING",
                         use(id), use(account.email), use(key), use(account.name), use(account.plan),
                         use(account.active), use(account.created_at), use(account.organization));
    return inserted == 0 ? std::nullopt : std::optional(id);
  });
}

std::vector<Account> Accounts::list() {
  return database_->read([](soci::session& session) { return select_accounts(session, "ORDER BY id"); });
}

std::optional<Account> Accounts::find(AccountId id) {
  return sql::first_of(database_->read(
      [&](soci::session& session) { return select_accounts(session, "WHERE id = :id", use(id)); }));
}

std::optional<Account> Accounts::find_by_email(const std::string& email) {
  const std::string key = email_key(email);
  return sql::first_of(database_->read(
      [&](soci::session& session) { return select_accounts(session, "WHERE email_key = :key", use(key)); }));
}

bool Accounts::set_active(const std::string& email, bool active) {
  const std::string key = email_key(email);
  return database_->write([&](soci::session& session) {
    return sql::change_rows(session, "UPDATE account SET active = :active WHERE email_key = :key",
                            use(active), use(key)) == 1;
  });
}

std::optional<Plan> Accounts::set_plan(const std::string& email, Plan plan) {
  const std::string key = email_key(email);
  return database_->write([&](soci::session& session) -> std::optional<Plan> {
    const auto found = select_accounts(session, "WHERE email_key = :key", use(key));
    if (found.empty()) return std::nullopt;
    session << "UPDATE account SET plan = :plan WHERE email_key = :key", use(plan), use(key);
    return found.front().plan;
  });
}

std::map<std::string, Account> Accounts::find_by_email_keys(std::span<const std::string> keys) {
  std::map<std::string, Account> found;
  if (keys.empty()) return found;
  const sql::Dialect dialect = database_->dialect();
  const std::string list = sql::list_of(dialect, std::vector<std::string>(keys.begin(), keys.end()));
  const auto accounts = database_->read([&](soci::session& session) {
    return select_accounts(session, "WHERE " + sql::in_list(dialect, "email_key", "keys", true), use(list));
  });
  for (const Account& account : accounts) found.emplace(email_key(account.email), account);
  return found;
}

bool Accounts::set_organization(const std::string& email, std::optional<OrganizationId> organization) {
  const std::string key = email_key(email);
  return database_->write([&](soci::session& session) {
    return sql::change_rows(session,
                            "UPDATE account SET organization_id = :organization WHERE email_key = :key",
                            use(organization), use(key)) == 1;
  });
}

}  // namespace giftsync::store
