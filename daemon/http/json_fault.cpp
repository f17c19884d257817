#include "daemon/http/json_fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "schema/text.h"

namespace giftsync::daemon {
namespace {

using nlohmann::json;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kQuotedDigits = 40;
constexpr std::size_t kLongestReason = 200;

/// "line 3, column 7"; "column 7" in a text of one line, which may itself be a line of a file. `position`
/// counts the bytes read up to and including the offending one.
std::string place(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, std::min(position > 0 ? position - 1 : 0, text.size()));
  const std::size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  const std::size_t column = before.size() - line_start + 1;
  if (text.find('\n') == std::string_view::npos) return fmt::format("column {}", column);
  return fmt::format("line {}, column {}", std::count(before.begin(), before.end(), '\n') + 1, column);
}

/// "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error WORDS; last read: 'TOKEN'"
/// -> "WORDS". The token is left out: it can be as long as the body.
std::string bare_words(std::string_view exception_text) {
  constexpr std::string_view kBeforeWords = ": syntax error ";
  const std::size_t before = exception_text.find(kBeforeWords);
  std::string_view words = exception_text;
  if (before != std::string_view::npos) words.remove_prefix(before + kBeforeWords.size());
  return excerpt(words.substr(0, words.find("; last read:")), kLongestReason);
}

/// nlohmann's parser knows the place of a fault, which simdjson does not tell. It stops at the first one.
class FaultFinder : public nlohmann::json_sax<json> {
 public:
  explicit FaultFinder(std::string_view text) : text_(text) {}
  std::optional<JsonFault> fault() const { return fault_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t& written) override {
    const bool whole = written.find_first_of(".eE") == std::string::npos;
    return whole ? stop({"number_out_of_range", too_big(written)}) : true;
  }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool key(string_t&) override { return true; }
  bool start_object(std::size_t) override { return one_deeper(); }
  bool start_array(std::size_t) override { return one_deeper(); }
  bool end_object() override { return one_up(); }
  bool end_array() override { return one_up(); }

  bool parse_error(std::size_t position, const std::string& last_token,
                   const json::exception& error) override {
    const std::string words = bare_words(error.what());
    const std::string at = place(text_, position);
    if (error.id == 406) return stop({"number_out_of_range", too_big(last_token)});
    if (words.find("surrogate") != std::string::npos) {
      return stop({"lone_surrogate",
                   fmt::format("Half of a surrogate pair at {}: write both halves (\\ud83d\\ude00), "
                               "or the character itself as UTF-8.",
                               at)});
    }
    if (words.find("UTF-8") != std::string::npos) {
      return stop(
          {"invalid_utf8", fmt::format("The text is not valid UTF-8 at {}. Send it encoded as UTF-8.", at)});
    }
    return stop({"syntax", fmt::format("The text is not valid JSON at {}, {}.", at, words)});
  }

 private:
  static std::string too_big(const std::string& written) {
    return fmt::format("The number {} is too large: whole numbers must fit in 64 bits, others in a double.",
                       excerpt(written, kQuotedDigits));
  }
  bool stop(JsonFault fault) {
    fault_ = std::move(fault);
    return false;
  }
  bool one_deeper() { return ++depth_ <= kMaxJsonDepth ? true : stop(too_deep_fault()); }
  bool one_up() {
    --depth_;
    return true;
  }

  std::string_view text_;
  std::size_t depth_ = 0;
  std::optional<JsonFault> fault_;
};

}  // namespace

std::string excerpt(std::string_view text, std::size_t code_points) {
  const std::string_view kept = schema::truncated(text, code_points);
  return std::string(kept) + (kept.size() < text.size() ? "..." : "");
}

JsonFault too_deep_fault() {
  return {"too_deep", fmt::format("Lists and objects are nested deeper than {} levels.", kMaxJsonDepth)};
}

JsonFault explain_json_fault(std::string_view text, std::string_view reason) {
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    return {"byte_order_mark", "The text begins with a byte order mark. Send plain UTF-8 without one."};
  }
  if (schema::trimmed(text).empty()) return {"empty_text", "There is no JSON: the text is empty."};
  FaultFinder finder(text);
  json::sax_parse(text.begin(), text.end(), &finder);
  if (finder.fault()) return *finder.fault();
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return {"syntax", fmt::format("A NUL byte stands at {}; JSON has none.", place(text, nul + 1))};
  }
  return {"syntax", fmt::format("The text is not valid JSON: {}.", reason)};
}

}  // namespace giftsync::daemon
