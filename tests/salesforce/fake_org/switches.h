// The settings of the fake org, and the switches of what orgs answer differently. README.md beside it says
// what each switch imitates, from which source, and how sure that is. Pure.
#pragma once

#include <span>
#include <string_view>

namespace giftsync::tests::fake_org {

struct Switch {
  std::string_view name;
  std::string_view initial;  ///< of a new org
};

/// All names that Org::set() takes. "true" switches one on; a list is separated by commas.
std::span<const Switch> switches();

}  // namespace giftsync::tests::fake_org
