// daemon/salesforce: what an admin does about each refusal of the token endpoint. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/salesforce/answers.h"

namespace giftsync::daemon::salesforce {

/// Whether the error says nothing about the credentials, so that a later attempt may succeed.
bool is_temporary(const OAuthError& error);

/// A sentence for an admin, without an end: what to change and where. `clock_lead_seconds`: by how much this
/// host's clock is ahead of the server's, where the answer has a date.
std::string next_step_after(const OAuthError& error, std::optional<std::int64_t> clock_lead_seconds);

}  // namespace giftsync::daemon::salesforce
