// daemon/http: reads the members of a body's objects and keeps what is wrong with them. It goes on after a
// fault, so that the caller learns all of them at once. Which members there are is the business of each
// body's own reader.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/http/field_note.h"
#include "daemon/http/strict_json.h"

namespace giftsync::daemon {

/// At most so many warnings are kept; the last of them then tells how many more there were.
inline constexpr std::size_t kMaxWarnings = 100;

class BodyFields {
 public:
  /// An object of the body: its value, and its path for messages ("recipients[3]"; empty for the body
  /// itself).
  struct Parent {
    const JsonValue& object;
    std::string path;
    std::string field(std::string_view name) const;
  };

  void fault(std::string field, std::string code, std::string message);
  void warn(std::string field, std::string code, std::string message);

  /// The member, or null when it is absent or null.
  static const JsonValue* optional_member(const Parent& parent, std::string_view name);
  /// The same; its absence is a fault, which names a member whose name is written almost like it.
  const JsonValue* required_member(const Parent& parent, std::string_view name);

  /// The text of a present member; anything but text is a fault.
  std::optional<std::string_view> text_of(const JsonValue& value, const Parent& parent,
                                          std::string_view name);
  /// The trimmed text of an optional member: one line without control characters, at most `limit` code
  /// points. Empty when absent or faulty.
  std::string optional_line(const Parent& parent, std::string_view name, std::size_t limit);
  /// A text of more than `limit` code points is a fault.
  bool check_length(std::string_view text, std::size_t limit, const Parent& parent, std::string_view name);

  /// Each member that is not among `known` is a warning.
  void warn_of_unknown(const Parent& parent, std::initializer_list<std::string_view> known);

  /// Everything found so far; call once, at the end.
  FieldNotes take_faults() { return std::move(faults_); }
  FieldNotes take_warnings();

 private:
  FieldNotes faults_;
  FieldNotes warnings_;
  std::size_t unlisted_warnings_ = 0;
};

/// `text` between quotation marks, cut to a length that fits into a message.
std::string quoted(std::string_view text);

}  // namespace giftsync::daemon
