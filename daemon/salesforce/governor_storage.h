// daemon/salesforce: where the state of the governor is kept, so that all processes of a store count their
// calls together and rest together.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace giftsync::daemon::salesforce {

/// Of the store's metadata: CallGovernor::to_text().
inline constexpr const char* kGovernorFact = "salesforce_calls";

/// Gets the stored state, nullopt when there is none, and returns the new one. It may run again and throws
/// nothing.
using GovernorChange = std::function<std::string(const std::optional<std::string>& state)>;

/// Makes one change; those of other processes come before or after it. May throw platform::DependencyError.
using GovernorStorage = std::function<void(const GovernorChange& change)>;

}  // namespace giftsync::daemon::salesforce
