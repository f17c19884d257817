// daemon/sources: JSON pointers (RFC 6901): where in a vendor's document something stands.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/http/strict_json.h"

namespace giftsync::daemon {

class JsonPointer {
 public:
  /// "" is the whole document; anything else begins with "/". Nullopt for what is no pointer.
  static std::optional<JsonPointer> parse(std::string_view text);

  /// The value it leads to, or null. Into lists by index, "0" the first; never past the end ("-").
  const JsonValue* in(const JsonValue& root) const;

 private:
  std::vector<std::string> steps_;
};

}  // namespace giftsync::daemon
