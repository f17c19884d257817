// platform: JSON values (nlohmann). Their classes are compiled once, in strict_json.cpp: each file that reads
// or writes JSON would else compile them again, which takes seconds.
#pragma once

#include <nlohmann/json.hpp>

extern template class nlohmann::basic_json<>;
extern template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace giftsync {

using Json = nlohmann::ordered_json;  ///< members stay in the order in which they were added

}  // namespace giftsync
