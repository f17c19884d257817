// platform: JSON pointers (RFC 6901): the position of a value in a vendor's document.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/strict_json.h"

namespace giftsync::platform {

class JsonPointer {
 public:
  /// "" is the whole document; any other pointer begins with "/". Nullopt for an invalid pointer.
  static std::optional<JsonPointer> parse(std::string_view text);

  /// The value at the pointer, or null. List elements by index, "0" is the first; "-" never matches.
  const JsonValue* resolve(const JsonValue& root) const;

  /// Which name on the way to the value appears twice in its object, so that it is not clear which value is
  /// meant: a sentence without its full stop; empty for none.
  std::string describe_ambiguity(const JsonValue& root) const;

  /// As it was parsed.
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::vector<std::string> tokens_;
};

}  // namespace giftsync::platform
