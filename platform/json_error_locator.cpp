#include "platform/json_error_locator.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "platform/large_json_numbers.h"
#include "platform/text.h"

namespace giftsync::platform {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxQuotedDigits = 40;
constexpr std::size_t kMaxReasonCharacters = 200;

/// "line 3, column 7", or "column 7" for a text of one line (which may itself be a line of a file).
/// `position` counts the bytes up to and including the offending one.
std::string line_and_column(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, std::min(position > 0 ? position - 1 : 0, text.size()));
  const std::size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  const std::size_t column = before.size() - line_start + 1;
  if (text.find('\n') == std::string_view::npos) return fmt::format("column {}", column);
  return fmt::format("line {}, column {}", std::count(before.begin(), before.end(), '\n') + 1, column);
}

/// "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error REASON; last read:
/// 'TOKEN'" -> "REASON". The token is dropped: it can be as long as the body.
std::string bare_reason(std::string_view exception_text) {
  constexpr std::string_view kBeforeReason = ": syntax error ";
  const std::size_t before = exception_text.find(kBeforeReason);
  std::string_view reason = exception_text;
  if (before != std::string_view::npos) reason.remove_prefix(before + kBeforeReason.size());
  return excerpt(reason.substr(0, reason.find("; last read:")), kMaxReasonCharacters);
}

/// With blanks for the other white space between values: the parser writes out the white space before an
/// error, a control character ten times as slowly as a blank.
std::string with_blanks(std::string_view text) {
  std::string all(text);
  for (std::size_t i = 0; i < all.size();) {
    if (all[i] == '\n' || all[i] == '\r' || all[i] == '\t') all[i] = ' ';
    i = all[i] == '"' ? end_of_quoted(all, i) : i + 1;
  }
  return all;
}

/// UTF-16 or UTF-32, with a byte order mark or with NUL beside the first character.
bool is_wide_text(std::string_view text) {
  return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF") ||
         (text.size() % 2 == 0 && text.substr(0, 2).find('\0') != std::string_view::npos);
}

/// nlohmann's parser reports the position of an error; simdjson does not. It stops at the first error.
class ErrorLocator : public nlohmann::json_sax<json> {
 public:
  explicit ErrorLocator(std::string_view text) : text_(text) {}
  std::optional<JsonError> error() const { return error_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t& literal) override {
    const bool is_integer = literal.find_first_of(".eE") == std::string::npos;
    return is_integer ? stop({"number_out_of_range", too_large_message(literal)}) : true;
  }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool key(string_t&) override { return true; }
  bool start_object(std::size_t) override { return enter_container(); }
  bool start_array(std::size_t) override { return enter_container(); }
  bool end_object() override { return leave_container(); }
  bool end_array() override { return leave_container(); }

  bool parse_error(std::size_t position, const std::string& last_token,
                   const json::exception& error) override {
    const std::string reason = bare_reason(error.what());
    const std::string at = line_and_column(text_, position);
    if (error.id == 406) return stop({"number_out_of_range", too_large_message(last_token)});
    if (reason.find("surrogate") != std::string::npos) {
      return stop({"lone_surrogate",
                   fmt::format("Half of a surrogate pair at {}: write both halves (\\ud83d\\ude00), "
                               "or the character itself as UTF-8.",
                               at)});
    }
    if (reason.find("UTF-8") != std::string::npos) {
      return stop(
          {"invalid_utf8", fmt::format("The text is not valid UTF-8 at {}. Send it encoded as UTF-8.", at)});
    }
    return stop({"syntax", fmt::format("The text is not valid JSON at {}, {}.", at, reason)});
  }

 private:
  static std::string too_large_message(const std::string& literal) {
    return fmt::format("The number {} is too large: whole numbers must fit in 64 bits, others in a double.",
                       excerpt(literal, kMaxQuotedDigits));
  }
  bool stop(JsonError error) {
    error_ = std::move(error);
    return false;
  }
  bool enter_container() { return ++depth_ <= kMaxJsonDepth ? true : stop(too_deep_error()); }
  bool leave_container() {
    --depth_;
    return true;
  }

  std::string_view text_;
  std::size_t depth_ = 0;
  std::optional<JsonError> error_;
};

}  // namespace

std::string excerpt(std::string_view text, std::size_t code_points) {
  const std::string_view kept = truncated(text, code_points);
  return std::string(kept) + (kept.size() < text.size() ? "..." : "");
}

JsonError too_deep_error() {
  return {"too_deep", fmt::format("Lists and objects are nested deeper than {} levels.", kMaxJsonDepth)};
}

JsonError explain_json_error(std::string_view text, std::string_view reason) {
  if (without_byte_order_mark(text).size() < text.size()) {
    return {"byte_order_mark", "The text begins with a byte order mark. Send plain UTF-8 without one."};
  }
  if (is_wide_text(text))
    return {"invalid_utf8", "The text is encoded as UTF-16 or UTF-32. Send it encoded as UTF-8."};
  if (trimmed(text).empty()) return {"empty_text", "There is no JSON: the text is empty."};
  ErrorLocator locator(text);
  const std::string spaced = with_blanks(text);
  json::sax_parse(spaced.begin(), spaced.end(), &locator);
  if (locator.error()) return *locator.error();
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return {"syntax", fmt::format("There is a NUL byte at {}; JSON does not allow it.",
                                  line_and_column(text, nul + 1))};
  }
  return {"syntax", fmt::format("The text is not valid JSON: {}.", reason)};
}

}  // namespace giftsync::platform
