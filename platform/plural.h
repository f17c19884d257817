// platform: counts with their noun and verb, for messages.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>

namespace giftsync::platform {

/// "1 gift", "2 gifts", "0 gifts"; `singular` is the noun for one.
std::string pluralize(std::integral auto count, std::string_view singular) {
  return fmt::format("{} {}{}", count, singular, count == 1 ? "" : "s");
}

/// The verb that follows a count: "is" or "are", "has" or "have".
std::string_view plural_verb(std::integral auto count, std::string_view singular, std::string_view plural) {
  return count == 1 ? singular : plural;
}

}  // namespace giftsync::platform
