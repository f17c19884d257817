// JSON as Salesforce writes it: numbers of fields are Java doubles ("7.0", "1.23E9"). Pure.
#pragma once

#include <string>
#include <string_view>

#include "platform/json.h"

namespace giftsync::tests::fake_org {

using Json = nlohmann::ordered_json;

/// "7.0", "1.23E9", "0.05", as Double.toString() of Java.
std::string java_number(double number);
std::string json_text(const Json& value);
/// Discarded when `text` is no JSON.
Json read_json(std::string_view text);

}  // namespace giftsync::tests::fake_org
