// schema: record Ids of Salesforce. 15 letters and digits, whose case counts; or 18, of which the last three
// say which of the 15 are capital letters. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace giftsync::schema {

/// The 18 characters of an Id of 15 or 18; nullopt for any other text, and where the last three do not fit
/// the others: an Id of another case is no Id.
std::optional<std::string> long_record_id(std::string_view text);

}  // namespace giftsync::schema
