// sync: what pausing, releasing and revoking an API key or an organization's token does (HTTP-51), for the
// commands and the console alike, and the commands that do it. Any thread. All throw DependencyError.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "schema/store/account/credentials.h"
#include "schema/store/statements/audit_log.h"
#include "schema/store/store.h"

namespace giftsync::sync {

/// `already`: it is in that state before, and nothing was changed. `unusable`: it was revoked or has expired,
/// and nothing lets it send again.
enum class CredentialChange { done, already, unusable };

/// Until it is released. The event is inserted with the change.
CredentialChange pause_credential(store::Credentials& credentials, const store::Credential& credential,
                                  const std::string& reason, UtcMillis now,
                                  const std::optional<store::AuditEvent>& audit = {});
/// Ends the pause that `credential` has, and no later one. What it sent within the present window of a burst
/// is forgotten with that pause alone: else its next call would pause it again.
CredentialChange release_credential(store::Store& store, const store::Credential& credential, UtcMillis now,
                                    const std::optional<store::AuditEvent>& audit = {});
/// For good, also while it is paused; never `unusable`.
CredentialChange revoke_credential(store::Credentials& credentials, const store::Credential& credential,
                                   UtcMillis now, const std::optional<store::AuditEvent>& audit = {});

inline constexpr std::size_t kMaxReasonCodePoints = 200;
/// Whether the text may be the reason of a pause: one line, which may be empty.
bool is_plain_reason(std::string_view text);

/// "key pause gsk_live_x3Kd9aQ", or "organization pause-token got_live_x3Kd9aQ": what follows giftsyncctl.
std::string pause_command(const store::Credential& credential);
std::string release_command(const store::Credential& credential);

}  // namespace giftsync::sync
