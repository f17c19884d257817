// platform: reads JSON of senders that cannot correct it on request: sources, feeds and files of `change
// import` (READ-3). What parse_json() accepts is read as it is, at its speed. In a text that it refuses, only
// what cannot be read is replaced: in a text half of a surrogate pair, bytes that are not UTF-8 and escapes
// that JSON does not have become U+FFFD, control characters their escape, and a list or object deeper than
// kMaxJsonDepth an empty text. A fault of the structure stays a fault. Large numbers become texts (SRC-10).
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "platform/strict_json.h"

namespace giftsync {

// JSON pointers (RFC 6901): the position of a value in a vendor's document.

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

/// Names that appear twice and NUL are left in the document: describe_unreadable_value() finds them. An
/// error's position counts from behind the byte order mark.
tl::expected<JsonDocument, JsonError> parse_lenient_json(std::string_view text);

/// Whether a replaced character leaves the value usable.
enum class ValueUse {
  exact,     ///< an id, an address, a cursor: two values that differ in that character would become one
  free_text  ///< a name, a message
};

/// Why the value at `pointer` is not what the sender wrote: a name on its way appears twice, or the text has
/// NUL or, for an exact value, U+FFFD. A sentence without its full stop; empty: it can be read.
std::string describe_unreadable_value(const JsonPointer& pointer, const JsonValue& root, ValueUse use);

}  // namespace giftsync
