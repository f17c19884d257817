// schema: how a phone number may be written where a CRM can only be asked for equal texts. Pure; any thread.
#pragma once

#include <string>
#include <vector>

namespace giftsync::schema {

/// The usual spellings of a phone_key(), the key first, each once: E.164 and its digits, international and
/// national forms with spaces, hyphens, dots and without. A key that is no number has only itself. Other
/// spellings (an extension, a remark) are not among them.
std::vector<std::string> phone_spellings(const std::string& key);

}  // namespace giftsync::schema
