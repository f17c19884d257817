#include "schema/store/account/credentials.h"

#include <algorithm>
#include <iterator>

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
    field<&Credential::last_used_at>("last_used_at"),
    field<&Credential::paused_at>("paused_at"),
    field<&Credential::pause_reason>("pause_reason"));

constexpr auto kOrganizationTokenFields = record_fields(
    "organization_token",
    field<&Credential::id>("id"),
    field<&Credential::organization>("organization_id"),
    field<&Credential::prefix>("prefix"),
    field<&Credential::hash>("hash"),
    field<&Credential::created_at>("created_at"),
    field<&Credential::expires_at>("expires_at"),
    field<&Credential::revoked_at>("revoked_at"),
    field<&Credential::paused_at>("paused_at"),
    field<&Credential::pause_reason>("pause_reason"));

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
  return fields.of(credential, [&](auto&... value) {
    return sql::select_rows(row, session, text, exchanged..., into(value)...);
  });
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

/// Runs the UPDATE; with the event, if it changes a row.
template <class... Uses>
bool change_credential(soci::session& session, const std::string& update,
                       const std::optional<AuditEvent>& audit, const Uses&... uses) {
  const bool is_changed = sql::change_rows(session, update, uses...) > 0;
  if (is_changed && audit) insert_audit_event(session, *audit);
  return is_changed;
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

std::vector<Credential> Credentials::list(const Viewer& viewer, CredentialKind kind) {
  const std::string seen =
      kind == CredentialKind::api_key ? keys_condition(viewer) : organization_tokens_condition(viewer);
  return database_->read([&](soci::session& session) {
    return select_credentials(session, kind, "WHERE " + seen + " ORDER BY c.id");
  });
}

std::optional<Credential> Credentials::find_by_hash(CredentialKind kind, const std::string& hash) {
  return sql::first_of(database_->read([&](soci::session& session) {
    return select_credentials(session, kind, "WHERE c.hash = :hash", use(hash));
  }));
}

std::optional<ApiKeyOwner> Credentials::find_key_by_hash(const std::string& hash) {
  return sql::first_of(database_->read([&](soci::session& session) {
    ApiKeyOwner row;
    return kAccountFields.of(row.account, [&](auto&... value) {
      return select_with(session, row, row.key, kApiKeyFields, sql::select_list(kAccountFields, "a"),
                         "JOIN account a ON a.id = c.account_id WHERE c.hash = :hash", use(hash),
                         into(value)...);
    });
  }));
}

void Credentials::set_expiry(const Credential& credential, UtcMillis expires_at) {
  database_->write([&](soci::session& session) {
    session << "UPDATE " + table_of(credential.kind) + " SET expires_at = :expires_at WHERE id = :id",
        use(expires_at), use(credential.id);
  });
}

bool Credentials::revoke(const Credential& credential, UtcMillis now,
                         const std::optional<AuditEvent>& audit) {
  return database_->write([&](soci::session& session) {
    return change_credential(session,
                             "UPDATE " + table_of(credential.kind) +
                                 " SET revoked_at = :now WHERE id = :id AND revoked_at IS NULL",
                             audit, use(now, "now"), use(credential.id, "id"));
  });
}

bool Credentials::pause(const Credential& credential, const std::string& reason, UtcMillis now,
                        const std::optional<AuditEvent>& audit) {
  return database_->write([&](soci::session& session) {
    return change_credential(session,
                             "UPDATE " + table_of(credential.kind) +
                                 " SET paused_at = :now, pause_reason = :reason WHERE id = :id AND paused_at "
                                 "IS NULL",
                             audit, use(now, "now"), use(reason, "reason"), use(credential.id, "id"));
  });
}

bool Credentials::release(const Credential& credential, const std::optional<AuditEvent>& audit,
                          std::optional<UtcMillis> since) {
  const std::string paused =
      since ? "paused_at = " + std::to_string(since->value) : std::string("paused_at IS NOT NULL");
  return database_->write([&](soci::session& session) {
    return change_credential(session,
                             "UPDATE " + table_of(credential.kind) +
                                 " SET paused_at = NULL, pause_reason = '' WHERE id = :id AND " + paused,
                             audit, use(credential.id, "id"));
  });
}

std::vector<Credential> Credentials::list_paused(UtcMillis now) {
  return database_->read([&](soci::session& session) {
    std::vector<Credential> paused;
    for (const CredentialKind kind : {CredentialKind::api_key, CredentialKind::organization_token})
      std::ranges::move(select_credentials(session, kind,
                                           "WHERE c.paused_at IS NOT NULL AND c.revoked_at IS NULL AND "
                                           "(c.expires_at IS NULL OR c.expires_at > :now) ORDER BY c.id",
                                           use(now)),
                        std::back_inserter(paused));
    return paused;
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
