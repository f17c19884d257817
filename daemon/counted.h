// daemon: numbers of things, for people.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>

namespace giftsync::daemon {

/// "1 gift", "2 gifts", "0 gifts"; `one` is the word for a single one.
std::string counted(std::integral auto count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

/// The verb that follows a count: "is" or "are", "has" or "have".
std::string_view verb_for(std::integral auto count, std::string_view of_one, std::string_view of_many) {
  return count == 1 ? of_one : of_many;
}

}  // namespace giftsync::daemon
