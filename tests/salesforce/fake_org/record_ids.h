// Record ids of Salesforce: 15 characters that differ by case, and 3 more that tell the case. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace giftsync::tests::fake_org {

/// 15 or 18 letters and digits.
bool is_record_id(std::string_view text);
/// 18 characters for a valid id; any other text stays as it is.
std::string to_long_id(std::string_view id);
/// The id of the `number`-th record of an object.
std::string make_record_id(std::string_view key_prefix, std::uint64_t number);

}  // namespace giftsync::tests::fake_org
