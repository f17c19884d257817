#include "sync/access/credential_changes.h"

#include "platform/text.h"
#include "platform/visible_text.h"
#include "sync/access/credential.h"

namespace giftsync::sync {
namespace {

bool is_key(const store::Credential& credential) {
  return credential.kind == CredentialKind::api_key;
}

CredentialChange outcome(bool is_changed) {
  return is_changed ? CredentialChange::done : CredentialChange::already;
}

}  // namespace

CredentialChange pause_credential(store::Credentials& credentials, const store::Credential& credential,
                                  const std::string& reason, UtcMillis now,
                                  const std::optional<store::AuditEvent>& audit) {
  if (!is_usable(state_of(credential, now))) return CredentialChange::unusable;
  return outcome(credentials.pause(credential, reason, now, audit));
}

CredentialChange release_credential(store::Store& store, const store::Credential& credential, UtcMillis now,
                                    const std::optional<store::AuditEvent>& audit) {
  if (!is_usable(state_of(credential, now))) return CredentialChange::unusable;
  // What a key that is not paused has sent goes on counting (GUARD-15).
  if (!credential.paused_at) return CredentialChange::already;
  store.sending_usage.forget_bursts(credential.prefix);
  return outcome(store.credentials.release(credential, audit, credential.paused_at));
}

CredentialChange revoke_credential(store::Credentials& credentials, const store::Credential& credential,
                                   UtcMillis now, const std::optional<store::AuditEvent>& audit) {
  return outcome(credentials.revoke(credential, now, audit));
}

bool is_plain_reason(std::string_view text) {
  return is_plain_line(text) && count_code_points(text) <= kMaxReasonCodePoints;
}

std::string pause_command(const store::Credential& credential) {
  return (is_key(credential) ? "key pause " : "organization pause-token ") + credential.prefix;
}

std::string release_command(const store::Credential& credential) {
  return (is_key(credential) ? "key release " : "organization release-token ") + credential.prefix;
}

}  // namespace giftsync::sync
