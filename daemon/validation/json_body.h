// daemon/validation: reads the JSON of a request's body and collects its faults and warnings. Pure.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/validation/error_catalogue.h"
#include "platform/strict_json.h"

namespace giftsync::validation {

// An issue with one field of a request's body: an error (the request is refused) or a warning
// (it is not).

struct FieldIssue {
  FieldIssue(std::string where, FieldCode what, std::string sentence)
      : field(std::move(where)), code(what.text()), message(std::move(sentence)) {}

  std::string field;    ///< "gift_id", "recipients[3].email"; empty for the body as a whole
  std::string code;     ///< stable, for programs: "missing", "invalid_email"
  std::string message;  ///< sentence for people: what was found, what is allowed
};

using FieldIssues = std::vector<FieldIssue>;

/// "recipients[3].email: email "x" has no @."; the path is left out when the message already begins with it.
std::string describe(const FieldIssue& issue);

/// Why a body is refused: it is not JSON, or its content has these errors (never empty).
using BodyError = std::variant<JsonError, FieldIssues>;

/// The text of `json`. An invalid byte is replaced: it must not cost the whole response.
std::string json_text(const nlohmann::ordered_json& json);

// Reads the members of a body's objects and collects the issues. It continues after an error, so
// the caller gets all of them at once. The reader of each body defines which members exist.

/// Limit of collected warnings; the last one states how many more there were.
inline constexpr std::size_t kMaxWarnings = 100;

class WarningList {
 public:
  void add_warning(std::string field, FieldCodeIn<kInWarnings> code, std::string message);
  /// At most kMaxWarnings, in the order in which they were added.
  FieldIssues list() const;

 private:
  FieldIssues listed_;
  std::size_t omitted_ = 0;
};

class JsonObjectReader {
 public:
  /// An object of the body: its value, and its path for messages ("recipients[3]"; empty for the body
  /// itself).
  struct LocatedObject {
    const JsonValue& object;
    std::string path;
    std::string field(std::string_view name) const;
  };

  void add_error(std::string field, FieldCodeIn<kInErrors> code, std::string message);
  void add_warning(std::string field, FieldCodeIn<kInWarnings> code, std::string message);
  /// "`subject` must be `wanted`; found a list."
  void add_wrong_type(std::string field, std::string_view subject, std::string_view wanted,
                      const JsonValue& found);

  /// The member, or null when it is absent or null.
  static const JsonValue* optional_member(const LocatedObject& parent, std::string_view name);
  /// The same, but absence is an error, which names a member with a similar name.
  const JsonValue* required_member(const LocatedObject& parent, std::string_view name);

  /// " Found "giftId": write it "gift_id"."; empty when no member has a name similar to `name`.
  static std::string similar_member_hint(const LocatedObject& parent, std::string_view name);

  /// The text of a present member; any other kind is an error.
  std::optional<std::string_view> read_string(const JsonValue& value, const LocatedObject& parent,
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
  void warn_unknown_members(const LocatedObject& parent, std::span<const std::string_view> known);
  void warn_unknown_members(const LocatedObject& parent, std::initializer_list<std::string_view> known) {
    warn_unknown_members(parent, std::span(known.begin(), known.size()));
  }

  /// Everything found so far; call once, at the end.
  FieldIssues take_errors() { return std::move(errors_); }
  WarningList take_warnings() { return std::move(warnings_); }

 private:
  FieldIssues errors_;
  WarningList warnings_;
};

/// What `read(fields, root)` makes of the body's root object, or the JSON error, or all errors in `fields`.
template <class Read>
auto read_json_body(std::string_view text, const Read& read)
    -> tl::expected<std::invoke_result_t<Read, JsonObjectReader&, const JsonObjectReader::LocatedObject&>,
                    BodyError> {
  const auto document = parse_json(text);
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

}  // namespace giftsync::validation
