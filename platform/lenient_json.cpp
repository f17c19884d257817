#include "platform/lenient_json.h"

#include <fmt/format.h>
#include <utf8.h>

#include <algorithm>
#include <charconv>

#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync {
namespace {

/// "~1" is "/", "~0" is "~"; any other "~" is an error.
std::optional<std::string> unescape_token(std::string_view token) {
  std::string text;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '~') {
      text += token[i];
      continue;
    }
    if (++i == token.size() || (token[i] != '0' && token[i] != '1')) return std::nullopt;
    text += token[i] == '0' ? '~' : '/';
  }
  return text;
}

std::optional<std::size_t> parse_index(std::string_view token) {
  if (token.size() > 1 && token.front() == '0') return std::nullopt;
  return parse_number<std::size_t>(token);
}

const JsonValue* child_of(const JsonValue& value, const std::string& token) {
  if (!value.is_array()) return value.find(token);
  const std::optional<std::size_t> index = parse_index(token);
  return index && *index < value.elements().size() ? &value.elements()[*index] : nullptr;
}

}  // namespace

std::optional<JsonPointer> JsonPointer::parse(std::string_view text) {
  JsonPointer pointer;
  pointer.text_ = text;
  if (text.empty()) return pointer;
  if (text.front() != '/') return std::nullopt;
  while (!text.empty()) {
    text.remove_prefix(1);
    const std::size_t end = std::min(text.find('/'), text.size());
    std::optional<std::string> token = unescape_token(text.substr(0, end));
    if (!token) return std::nullopt;
    pointer.tokens_.push_back(std::move(*token));
    text.remove_prefix(end);
  }
  return pointer;
}

const JsonValue* JsonPointer::resolve(const JsonValue& root) const {
  const JsonValue* current = &root;
  for (const std::string& token : tokens_) {
    current = child_of(*current, token);
    if (current == nullptr) return nullptr;
  }
  return current;
}

std::string JsonPointer::describe_ambiguity(const JsonValue& root) const {
  const JsonValue* current = &root;
  for (auto token = tokens_.begin(); token != tokens_.end() && current != nullptr; ++token) {
    const std::span<const JsonMember> members = current->members();
    const auto is_named = [&](const JsonMember& member) { return member.name == *token; };
    if (std::count_if(members.begin(), members.end(), is_named) > 1) {
      const std::string path = fmt::format("{}", fmt::join(tokens_.begin(), token, "/"));
      return fmt::format("The name {} appears twice at {}; which one counts is not clear", in_quotes(*token),
                         path.empty() ? "the top level" : in_quotes("/" + path));
    }
    current = child_of(*current, *token);
  }
  return {};
}

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr JsonOptions kOptions{.may_be_ambiguous = true, .large_numbers_as_text = true};

/// What a replaced text is for.
enum class Purpose {
  reading,
  locating  ///< of another fault: each part keeps its length
};

/// The beginning of a text's content.
struct Part {
  std::size_t length;
  bool is_readable;
};

/// The UTF-16 unit of "\uXXXX" at the beginning.
std::optional<unsigned> utf16_unit(std::string_view text) {
  if (!text.starts_with("\\u") || text.size() < 6) return std::nullopt;
  unsigned unit = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + 6, unit, 16);
  return error == std::errc() && end == text.data() + 6 ? std::optional(unit) : std::nullopt;
}

Part first_part(std::string_view content) {
  const auto c = static_cast<unsigned char>(content.front());
  if (c == '\\') {
    // A backslash alone is the end of a text that is not closed.
    if (content.size() == 1 || std::string_view("\"\\/bfnrt").find(content[1]) != std::string_view::npos)
      return {std::min<std::size_t>(content.size(), 2), true};
    const std::optional<unsigned> unit = utf16_unit(content);
    if (!unit) return {1, false};
    if (*unit < 0xD800 || *unit > 0xDFFF) return {6, true};
    const unsigned second = *unit <= 0xDBFF ? utf16_unit(content.substr(6)).value_or(0) : 0;
    return second >= 0xDC00 && second <= 0xDFFF ? Part{12, true} : Part{6, false};
  }
  if (c < 0x80) return {1, c >= 0x20};
  const std::size_t length = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
  return length <= content.size() && utf8::is_valid(content.substr(0, length)) ? Part{length, true}
                                                                               : Part{1, false};
}

void append_content(std::string_view content, Purpose purpose, std::string& out) {
  while (!content.empty()) {
    const Part part = first_part(content);
    const char c = content.front();
    if (part.is_readable || (purpose == Purpose::locating && c == '\n'))
      out += content.substr(0, part.length);
    else if (purpose == Purpose::locating)
      out.append(part.length, '?');
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<int>(c));
    else
      out += kReplacement;
    content.remove_prefix(part.length);
  }
}

/// The position after the list or object at `begin`; npos when its brackets do not match.
std::size_t end_of_container(std::string_view text, std::size_t begin) {
  std::string closing;
  for (std::size_t i = begin; i < text.size();) {
    const char c = text[i];
    if (c == '[' || c == '{') closing += c == '[' ? ']' : '}';
    if (c == ']' || c == '}') {
      if (closing.back() != c) return std::string_view::npos;
      closing.pop_back();
      if (closing.empty()) return i + 1;
    }
    i = c == '"' ? end_of_quoted(text, i) : i + 1;
  }
  return std::string_view::npos;
}

std::string readable_text(std::string_view text, Purpose purpose) {
  std::string out;
  out.reserve(text.size());
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    std::size_t end = i + 1;
    if (c == '"') {
      end = end_of_quoted(text, i);
      out += c;
      append_content(text.substr(i + 1, std::max(end, i + 2) - i - 2), purpose, out);
      if (end > i + 1) out += text[end - 1];
    } else if ((c == '[' || c == '{') && depth == kMaxJsonDepth) {
      end = end_of_container(text, i);
      if (end == std::string_view::npos) return out.append(text.substr(i));
      out.append("\"\"").append(end - i - 2, ' ');
    } else {
      if (c == '[' || c == '{') ++depth;
      if ((c == ']' || c == '}') && depth > 0) --depth;
      out += c;
    }
    i = end;
  }
  return out;
}

}  // namespace

tl::expected<JsonDocument, JsonError> parse_lenient_json(std::string_view text) {
  text = without_byte_order_mark(text);
  auto document = parse_json(text, kOptions);
  if (document || document.error().code == "too_long" || document.error().code == "too_many_values")
    return document;
  if (auto readable = parse_json(readable_text(text, Purpose::reading), kOptions)) return readable;
  // What can be replaced is not what is wrong with this text.
  auto located = parse_json(readable_text(text, Purpose::locating), kOptions);
  return located ? std::move(document) : std::move(located);
}

std::string describe_unreadable_value(const JsonPointer& pointer, const JsonValue& root, ValueUse use) {
  std::string fault = pointer.describe_ambiguity(root);
  const JsonValue* value = fault.empty() ? pointer.resolve(root) : nullptr;
  const std::string_view text = value == nullptr ? "" : value->text().value_or("");
  if (text.find('\0') != std::string_view::npos)
    return fmt::format("The text at {} contains the NUL character (\\u0000)", in_quotes(pointer.text()));
  if (use == ValueUse::exact && text.find(kReplacement) != std::string_view::npos)
    return fmt::format("The text at {} has a character that cannot be read", in_quotes(pointer.text()));
  return fault;
}

}  // namespace giftsync
