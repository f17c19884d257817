#include "schema/store/account/credentials.h"

#include "schema/sql/record_rows.h"
#include "schema/store/statements/id_block.h"
#include "schema/store/statements/word_conversions.h"

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;

// One field a line.
// clang-format off
constexpr auto kApiKeyFields = record_fields(
    "api_key",
    field<&Credential::id>("id"),
    field<&Credential::account>("account_id"),
    field<&Credential::name>("name"),
    field<&Credential::prefix>("prefix"),
    field<&Credential::hash>("hash"),
    field<&Credential::scopes>("scopes"),
    field<&Credential::created_at>("created_at"),
    field<&Credential::expires_at>("expires_at"),
    field<&Credential::revoked_at>("revoked_at"),
    field<&Credential::last_used_at>("last_used_at"));

constexpr auto kOrganizationTokenFields = record_fields(
    "organization_token",
    field<&Credential::id>("id"),
    field<&Credential::organization>("organization_id"),
    field<&Credential::prefix>("prefix"),
    field<&Credential::hash>("hash"),
    field<&Credential::created_at>("created_at"),
    field<&Credential::expires_at>("expires_at"),
    field<&Credential::revoked_at>("revoked_at"));

constexpr auto kMessageTokenFields = record_fields(
    "crm_message_token",
    field<&Credential::id>("id"),
    field<&Credential::prefix>("prefix"),
    field<&Credential::hash>("hash"),
    field<&Credential::created_at>("created_at"),
    field<&Credential::expires_at>("expires_at"),
    field<&Credential::last_used_at>("last_used_at"));
// clang-format on

/// Calls action(fields, owner, join): the fields of that kind, its owner's name, and the join that has it.
template <class Action>
auto with_kind(CredentialKind kind, const Action& action) {
  switch (kind) {
    case CredentialKind::api_key:
      return action(kApiKeyFields, "a.email", "JOIN account a ON a.id = c.account_id ");
    case CredentialKind::organization_token:
      return action(kOrganizationTokenFields, "o.name", "JOIN organization o ON o.id = c.organization_id ");
    case CredentialKind::message_token:
      break;
  }
  return action(kMessageTokenFields, "''", "");
}

/// SELECTs `first`, which `exchanged` fetches, and the fields of credentials `c` into `credential`, a part of
/// `row`.
template <class Row, class Fields, class... Exchanged>
std::vector<Row> select_with(soci::session& session, const Row& row, Credential& credential,
                             const Fields& fields, const std::string& first, const std::string& rest,
                             Exchanged&&... exchanged) {
  const std::string text = "SELECT " + first + ", " + sql::select_list(fields, "c") + " FROM " +
                           std::string(fields.table) + " c " + rest;
  return std::apply(
      [&](const auto&... field) {
        return sql::select_rows(row, session, text, exchanged..., into(field.of(credential))...);
      },
      fields.fields);
}

template <class... Uses>
std::vector<Credential> select_credentials(soci::session& session, CredentialKind kind,
                                           const std::string& rest, const Uses&... uses) {
  return with_kind(kind, [&](const auto& fields, const std::string& owner, const std::string& join) {
    Credential row{.kind = kind};
    return select_with(session, row, row, fields, owner, join + rest, uses..., into(row.owner));
  });
}

std::string table_of(CredentialKind kind) {
  return with_kind(kind, [](const auto& fields, auto...) { return std::string(fields.table); });
}

bool has_current_message_token(soci::session& session) {
  return sql::has_row(session, "crm_message_token WHERE expires_at IS NULL");
}

}  // namespace

CredentialId insert_credential(soci::session& session, Credential credential) {
  credential.id.value = allocate_id(session, table_of(credential.kind));
  with_kind(credential.kind,
            [&](const auto& fields, auto...) { return sql::insert_record(session, fields, credential); });
  return credential.id;
}

CredentialId Credentials::insert(const Credential& credential) {
  return database_->write([&](soci::session& session) { return insert_credential(session, credential); });
}

std::vector<Credential> Credentials::list(CredentialKind kind) {
  return database_->read(
      [&](soci::session& session) { return select_credentials(session, kind, "ORDER BY c.id"); });
}

std::optional<Credential> Credentials::find_by_hash(CredentialKind kind, const std::string& hash) {
  return sql::first_of(database_->read([&](soci::session& session) {
    return select_credentials(session, kind, "WHERE c.hash = :hash", use(hash));
  }));
}

std::optional<ApiKeyOwner> Credentials::find_key_by_hash(const std::string& hash) {
  return sql::first_of(database_->read([&](soci::session& session) {
    ApiKeyOwner row;
    return std::apply(
        [&](const auto&... field) {
          return select_with(session, row, row.key, kApiKeyFields, sql::select_list(kAccountFields, "a"),
                             "JOIN account a ON a.id = c.account_id WHERE c.hash = :hash", use(hash),
                             into(field.of(row.account))...);
        },
        kAccountFields.fields);
  }));
}

void Credentials::set_expiry(const Credential& credential, UtcMillis expires_at) {
  database_->write([&](soci::session& session) {
    session << "UPDATE " + table_of(credential.kind) + " SET expires_at = :expires_at WHERE id = :id",
        use(expires_at), use(credential.id);
  });
}

void Credentials::revoke(const Credential& credential, UtcMillis now) {
  database_->write([&](soci::session& session) {
    session << "UPDATE " + table_of(credential.kind) +
                   " SET revoked_at = :now WHERE id = :id AND revoked_at IS NULL",
        use(now), use(credential.id);
  });
}

void Credentials::update_last_used(const std::vector<std::pair<CredentialId, UtcMillis>>& key_uses) {
  if (key_uses.empty()) return;
  database_->write([&](soci::session& session) {
    for (const auto& [key, time] : key_uses)
      session << "UPDATE api_key SET last_used_at = :now WHERE id = :id", use(time), use(key);
  });
}

bool Credentials::create_message_token(Credential token) {
  return database_->write([&](soci::session& session) {
    // First: two commands at the same time wait for each other at this row.
    token.id.value = allocate_id(session, "crm_message_token");
    if (has_current_message_token(session)) return false;
    return sql::insert_record(session, kMessageTokenFields, token);
  });
}

bool Credentials::rotate_message_token(Credential token, std::optional<UtcMillis> former_ends_at) {
  return database_->write([&](soci::session& session) {
    token.id.value = allocate_id(session, "crm_message_token");
    if (!has_current_message_token(session)) return false;
    session << "DELETE FROM crm_message_token WHERE expires_at IS NOT NULL";
    if (former_ends_at)
      session << "UPDATE crm_message_token SET expires_at = :ends_at", use(*former_ends_at);
    else
      session << "DELETE FROM crm_message_token";
    return sql::insert_record(session, kMessageTokenFields, token);
  });
}

void Credentials::remove_message_token(CredentialId id) {
  database_->write(
      [&](soci::session& session) { session << "DELETE FROM crm_message_token WHERE id = :id", use(id); });
}

}  // namespace giftsync::store
