#include "schema/store/account/accounts.h"

#include "schema/contact_normalization.h"
#include "schema/sql/record_rows.h"
#include "schema/store/statements/id_block.h"
#include "schema/store/statements/word_conversions.h"

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;

std::string format_scopes(const std::set<Scope>& scopes) {
  std::string text;
  for (const Scope scope : scopes) text.append(text.empty() ? "" : ",").append(to_word(scope));
  return text;
}

std::set<Scope> parse_scopes(std::string_view text) {
  std::set<Scope> scopes;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    if (const auto scope = scope_from_word(text.substr(0, comma))) scopes.insert(*scope);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return scopes;
}

// One field a line.
// clang-format off
constexpr auto kAccountFields = record_fields(
    "account",
    field<&Account::id>("id"),
    field<&Account::email>("email"),
    field<&Account::name>("name"),
    field<&Account::plan>("plan"),
    field<&Account::active>("active"),
    field<&Account::created_at>("created_at"),
    field<&Account::organization>("organization_id"));
// clang-format on

template <class... Uses>
std::vector<Account> select_accounts(soci::session& session, const std::string& rest, const Uses&... uses) {
  return sql::select_records(kAccountFields, session,
                             "SELECT " + sql::select_list(kAccountFields) + " FROM account " + rest, uses...);
}

template <class... Uses>
std::vector<ApiKeyOwner> select_keys(soci::session& session, const std::string& rest, const Uses&... uses) {
  ApiKeyOwner row;
  std::string scopes;
  const std::string text =
      "SELECT k.id, k.account_id, k.name, k.prefix, k.hash, k.scopes, k.created_at, k.expires_at, "
      "k.revoked_at, "
      "k.last_used_at, " +
      sql::select_list(kAccountFields, "a") + " FROM api_key k JOIN account a ON a.id = k.account_id " + rest;
  soci::statement statement = std::apply(
      [&](const auto&... field) {
        return sql::bound(session, text, uses..., into(row.key.id), into(row.key.account), into(row.key.name),
                          into(row.key.prefix), into(row.key.hash), into(scopes), into(row.key.created_at),
                          into(row.key.expires_at), into(row.key.revoked_at), into(row.key.last_used_at),
                          into(field.of(row.account))...);
      },
      kAccountFields.fields);
  std::vector<ApiKeyOwner> found;
  sql::each_row(statement, [&] {
    row.key.scopes = parse_scopes(scopes);
    found.push_back(row);
  });
  return found;
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

ApiKeyId Accounts::insert_key(const ApiKey& key) {
  return database_->write([&](soci::session& session) {
    const ApiKeyId id{allocate_id(session, "api_key")};
    const std::string scopes = format_scopes(key.scopes);
    session
        << "INSERT INTO api_key (id, account_id, name, prefix, hash, scopes, created_at, expires_at) VALUES "
           "(:id, :account, :name, :prefix, :hash, :scopes, :created_at, :expires_at)",
        use(id), use(key.account), use(key.name), use(key.prefix), use(key.hash), use(scopes),
        use(key.created_at), use(key.expires_at);
    return id;
  });
}

std::vector<ApiKeyOwner> Accounts::list_keys() {
  return database_->read([](soci::session& session) { return select_keys(session, "ORDER BY k.id"); });
}

std::optional<ApiKeyOwner> Accounts::find_key_by_hash(const std::string& hash) {
  return sql::first_of(database_->read(
      [&](soci::session& session) { return select_keys(session, "WHERE k.hash = :key", use(hash)); }));
}

void Accounts::revoke_key(ApiKeyId key, UtcMillis now) {
  database_->write([&](soci::session& session) {
    session << "UPDATE api_key SET revoked_at = :now WHERE id = :id AND revoked_at IS NULL", use(now),
        use(key);
  });
}

void Accounts::set_key_expiry(ApiKeyId key, UtcMillis expires_at) {
  database_->write([&](soci::session& session) {
    session << "UPDATE api_key SET expires_at = :expires_at WHERE id = :id", use(expires_at), use(key);
  });
}

void Accounts::update_last_used(const std::vector<std::pair<ApiKeyId, UtcMillis>>& uses) {
  if (uses.empty()) return;
  database_->write([&](soci::session& session) {
    for (const auto& [key, time] : uses) {
      session << "UPDATE api_key SET last_used_at = :now WHERE id = :id", use(time), use(key);
    }
  });
}

}  // namespace giftsync::store
