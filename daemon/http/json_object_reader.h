// daemon/http: reads the members of a body's objects and collects the issues. It continues after an error, so
// the caller gets all of them at once. The reader of each body defines which members exist.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

#include "daemon/http/field_issue.h"

namespace giftsync::daemon::http {

/// Limit of collected warnings; the last one states how many more there were.
inline constexpr std::size_t kMaxWarnings = 100;

class JsonObjectReader {
 public:
  /// An object of the body: its value, and its path for messages ("recipients[3]"; empty for the body
  /// itself).
  struct LocatedObject {
    const platform::JsonValue& object;
    std::string path;
    std::string field(std::string_view name) const;
  };

  void add_error(std::string field, std::string code, std::string message);
  void add_warning(std::string field, std::string code, std::string message);
  /// "`subject` must be `wanted`; found a list."
  void add_wrong_type(std::string field, std::string_view subject, std::string_view wanted,
                      const platform::JsonValue& found);

  /// The member, or null when it is absent or null.
  static const platform::JsonValue* optional_member(const LocatedObject& parent, std::string_view name);
  /// The same, but absence is an error, which names a member with a similar name.
  const platform::JsonValue* required_member(const LocatedObject& parent, std::string_view name);

  /// " Found "giftId": write it "gift_id"."; empty when no member has a name similar to `name`.
  static std::string similar_member_hint(const LocatedObject& parent, std::string_view name);

  /// The text of a present member; any other kind is an error.
  std::optional<std::string_view> read_string(const platform::JsonValue& value, const LocatedObject& parent,
                                              std::string_view name);
  /// The text of a required member.
  std::optional<std::string_view> required_string(const LocatedObject& parent, std::string_view name);
  /// The trimmed text of an optional member: one line without control characters and bidirectional
  /// overrides, at most `limit` code points. Empty when absent or invalid.
  std::string read_optional_line(const LocatedObject& parent, std::string_view name, std::size_t limit);
  /// A text of more than `limit` code points is an error.
  bool check_length(std::string_view text, std::size_t limit, const LocatedObject& parent,
                    std::string_view name);

  /// Each member that is not among `known` is a warning.
  void warn_unknown_members(const LocatedObject& parent, std::initializer_list<std::string_view> known);

  /// Everything found so far; call once, at the end.
  FieldIssues take_errors() { return std::move(errors_); }
  FieldIssues take_warnings();

 private:
  FieldIssues errors_;
  FieldIssues warnings_;
  std::size_t omitted_warnings_ = 0;
};

/// What `read(fields, root)` makes of the body's root object, or the JSON error, or all errors in `fields`.
template <class Read>
auto read_json_body(std::string_view text, const Read& read)
    -> tl::expected<std::invoke_result_t<Read, JsonObjectReader&, const JsonObjectReader::LocatedObject&>,
                    BodyError> {
  const auto document = platform::parse_json(text);
  if (!document) return tl::unexpected<BodyError>(document.error());
  JsonObjectReader fields;
  if (!document->root().is_object()) {
    fields.add_wrong_type("", "The body", "an object", document->root());
    return tl::unexpected<BodyError>(fields.take_errors());
  }
  auto body = read(fields, JsonObjectReader::LocatedObject{document->root(), ""});
  if (FieldIssues errors = fields.take_errors(); !errors.empty())
    return tl::unexpected<BodyError>(std::move(errors));
  return body;
}

/// `text` in quotation marks, cut to a length that fits a message.
std::string quoted(std::string_view text);

}  // namespace giftsync::daemon::http
