// daemon/salesforce: the validation rules by which Salesforce itself keeps giftsync's conditional writes, in
// the transaction of the save. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace giftsync::daemon::salesforce {

/// The messages of refused writes begin with these; neither reaches a person.
inline constexpr std::string_view kOlderVersionMark = "GIFTSYNC:OLDER";
inline constexpr std::string_view kOtherGiftMark = "GIFTSYNC:OTHER";
inline constexpr std::string_view kChangedSinceReadMark = "GIFTSYNC:CHANGED";

struct PackageRule {
  std::string object;
  std::string name;
  std::string description;
  std::string formula;  ///< the save is refused where it is true
  std::string message;
};

std::vector<PackageRule> package_rules();

}  // namespace giftsync::daemon::salesforce
