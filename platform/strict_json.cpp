#include "platform/strict_json.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <memory_resource>

#include "platform/json.h"
#include "platform/text.h"

namespace giftsync {

struct JsonDocument::Storage {
  explicit Storage(std::size_t bytes) : arena(bytes) {}
  std::pmr::monotonic_buffer_resource arena;  ///< holds all lists, objects and texts
  JsonValue root;
};

namespace {

namespace dom = simdjson::dom;

/// Texts up to this length are parsed with the thread's own parser, whose memory is kept.
constexpr std::size_t kPooledParserBytes = std::size_t{64} << 10;
/// simdjson's size() of a list or object stops counting here; a text of kMaxJsonBytes cannot hold that many
/// values.
constexpr std::size_t kSimdjsonMaxCount = 0xFFFFFF;
static_assert(kMaxJsonBytes / 2 < kSimdjsonMaxCount);

JsonError too_long_error(std::size_t bytes) {
  return {"too_long",
          fmt::format("The text has {} bytes; at most {} can be read at once.", bytes, kMaxJsonBytes)};
}

/// An upper bound: one, plus one for each comma and each opening bracket. Exact for well-formed JSON, except
/// that empty lists and objects count twice.
std::size_t max_value_count(std::string_view text) {
  std::size_t count = 1;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == ',' || c == '[' || c == '{') ++count;
    i = c == '"' ? end_of_quoted(text, i) : i + 1;
  }
  return count;
}

JsonError too_many_values_error(std::size_t values) {
  return {"too_many_values",
          fmt::format("The text holds {} values; at most {} can be read at once.", values, kMaxJsonValues)};
}

/// Converts simdjson's tape into values and counts the depth exactly.
class Builder {
 public:
  explicit Builder(std::pmr::memory_resource& arena) : arena_(arena) {}

  /// False: the value is nested deeper than kMaxJsonDepth.
  bool build(dom::element element, std::size_t depth, JsonValue& value) {
    switch (element.type()) {
      case dom::element_type::ARRAY:
        return build_array(dom::array(element), depth + 1, value);
      case dom::element_type::OBJECT:
        return build_object(dom::object(element), depth + 1, value);
      case dom::element_type::STRING:
        return set(value, copy_text(std::string_view(element)));
      case dom::element_type::INT64:
        return set(value, std::int64_t(element));
      case dom::element_type::UINT64:
        return set(value, static_cast<double>(std::uint64_t(element)));
      case dom::element_type::DOUBLE:
        return set(value, double(element));
      case dom::element_type::BOOL:
        return set(value, bool(element));
      case dom::element_type::NULL_VALUE:
        return set(value, std::monostate{});
    }
    std::terminate();
  }

 private:
  /// Memory for a container's values. They need no destructor and are released with the arena.
  template <class T>
  std::span<T> allocate(std::size_t count) {
    T* first = static_cast<T*>(arena_.allocate(count * sizeof(T), alignof(T)));
    std::uninitialized_value_construct_n(first, count);
    return {first, count};
  }
  static bool set(JsonValue& value, JsonValue::Content content) {
    value = JsonValue(content);
    return true;
  }
  /// Copies a text into the arena; the parser's own buffer does not outlive the call.
  std::string_view copy_text(std::string_view text) {
    char* copy = static_cast<char*>(arena_.allocate(text.size() + 1, 1));
    return {copy, text.copy(copy, text.size())};
  }

  bool build_array(dom::array array, std::size_t depth, JsonValue& value) {
    if (depth > kMaxJsonDepth) return false;
    const std::span<JsonValue> elements = allocate<JsonValue>(array.size());
    std::size_t next = 0;
    for (const dom::element element : array) {
      if (!build(element, depth, elements[next++])) return false;
    }
    return set(value, JsonValue::Elements{elements.data(), elements.size()});
  }

  bool build_object(dom::object object, std::size_t depth, JsonValue& value) {
    if (depth > kMaxJsonDepth) return false;
    const std::span<JsonMember> members = allocate<JsonMember>(object.size());
    std::size_t next = 0;
    for (const dom::key_value_pair member : object) {
      members[next].name = copy_text(member.key);
      if (!build(member.value, depth, members[next++].value)) return false;
    }
    return set(value, JsonValue::Members{members.data(), members.size()});
  }

  std::pmr::memory_resource& arena_;
};

tl::expected<JsonDocument, JsonError> parse_with(dom::parser& parser, std::string_view text) {
  auto error = simdjson::SUCCESS;
  if (parser.capacity() < text.size() || parser.capacity() == 0) {
    // simdjson counts the values inside the innermost list as one more level, hence the +1; the builder then
    // counts exactly.
    error = parser.allocate(std::max(text.size(), kPooledParserBytes), kMaxJsonDepth + 1);
  }
  dom::element root;
  if (!error) error = parser.parse(text.data(), text.size()).get(root);
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  if (error == simdjson::DEPTH_ERROR) return tl::unexpected(too_deep_error());
  if (error) return tl::unexpected(explain_json_error(text, simdjson::error_message(error)));

  auto storage = std::make_unique<JsonDocument::Storage>(2 * text.size() + sizeof(JsonMember));
  if (!Builder(storage->arena).build(root, 0, storage->root)) return tl::unexpected(too_deep_error());
  return JsonDocument(std::move(storage));
}

tl::expected<JsonDocument, JsonError> parse_text(std::string_view text) {
  if (text.size() > kMaxJsonBytes) return tl::unexpected(too_long_error(text.size()));
  if (text.size() >= kMaxJsonValues) {
    const std::size_t values = max_value_count(text);
    if (values > kMaxJsonValues) return tl::unexpected(too_many_values_error(values));
  }
  if (text.size() > kPooledParserBytes) {
    dom::parser parser;
    return parse_with(parser, text);
  }
  thread_local dom::parser parser;
  return parse_with(parser, text);
}

tl::expected<JsonDocument, JsonError> parse_large_numbers_as_text(std::string_view text) {
  if (text.size() > kMaxJsonBytes) return parse_text(text);  // which refuses it
  const std::vector<std::string_view> large = find_large_numbers(text);
  if (large.empty()) return parse_text(text);
  auto quoted = parse_text(with_quoted_parts(text, large));
  if (quoted) return quoted;
  // The error's position was counted with the inserted quotes.
  auto zeroed = parse_text(with_zeroed_parts(text, large));
  return zeroed ? std::move(quoted) : std::move(zeroed);
}

}  // namespace

std::span<const JsonValue> JsonValue::elements() const {
  const Elements* elements = std::get_if<Elements>(&content_);
  return elements ? std::span<const JsonValue>(elements->first, elements->count)
                  : std::span<const JsonValue>{};
}

std::span<const JsonMember> JsonValue::members() const {
  const Members* members = std::get_if<Members>(&content_);
  return members ? std::span<const JsonMember>(members->first, members->count)
                 : std::span<const JsonMember>{};
}

const JsonValue* JsonValue::find(std::string_view name) const {
  for (const JsonMember& member : members()) {
    if (member.name == name) return &member.value;
  }
  return nullptr;
}

std::string_view JsonValue::text_of(std::string_view name) const {
  const JsonValue* value = find(name);
  return value == nullptr ? std::string_view() : value->text().value_or("");
}

std::string_view JsonValue::kind_name() const {
  constexpr std::array<std::string_view, 7> kNames{
      "null", "true or false", "a whole number", "a number with a fraction or exponent",
      "text", "a list",        "an object"};
  return kNames[content_.index()];
}

JsonDocument::JsonDocument(std::unique_ptr<Storage> storage) : storage_(std::move(storage)) {}
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;
JsonDocument::~JsonDocument() = default;
const JsonValue& JsonDocument::root() const {
  return storage_->root;
}

tl::expected<JsonDocument, JsonError> parse_json(std::string_view text, const JsonOptions& options) {
  auto document = options.large_numbers_as_text ? parse_large_numbers_as_text(text) : parse_text(text);
  if (document && !options.may_be_ambiguous) {
    if (auto error = find_ambiguity(document->root())) return tl::unexpected(std::move(*error));
  }
  return document;
}

namespace {

constexpr std::size_t kMaxQuotedName = 60;
/// Up to this size comparing all pairs of names is faster than sorting.
constexpr std::size_t kMaxMembersForPairwise = 12;

/// One step of the path from the root to a value. Lives on the stack and is formatted only for an error.
struct PathStep {
  const PathStep* parent = nullptr;
  std::string_view name;  ///< of an object's member; no data for a list element
  std::size_t index = 0;
};

std::string path_to(const PathStep* step) {
  if (step == nullptr || step->parent == nullptr) return {};
  const std::string before = path_to(step->parent);
  if (step->name.data() == nullptr) return fmt::format("{}[{}]", before, step->index);
  return before + (before.empty() ? "" : ".") + excerpt(step->name, kMaxQuotedName);
}

std::string quoted_path(const PathStep& step) {
  const std::string path = path_to(&step);
  return path.empty() ? "the top level" : fmt::format("\"{}\"", path);
}

std::string_view duplicate_name(std::span<const JsonMember> members) {
  if (members.size() <= kMaxMembersForPairwise) {
    for (auto second = members.begin(); second != members.end(); ++second) {
      const auto same = [&](const JsonMember& first) { return first.name == second->name; };
      if (std::any_of(members.begin(), second, same)) return second->name;
    }
    return {};
  }
  std::vector<std::string_view> names(members.size());
  std::transform(members.begin(), members.end(), names.begin(),
                 [](const JsonMember& member) { return member.name; });
  std::sort(names.begin(), names.end());
  const auto duplicate = std::adjacent_find(names.begin(), names.end());
  return duplicate == names.end() ? std::string_view{} : *duplicate;
}

bool has_nul(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

JsonError nul_error(const PathStep& step) {
  return {"nul_character",
          fmt::format("The text at {} contains the NUL character (\\u0000), which is not allowed.",
                      quoted_path(step))};
}

JsonError duplicate_name_error(std::string_view name, const PathStep& step) {
  return {"duplicate_key", fmt::format("The name \"{}\" appears twice at {}; which one counts is not clear.",
                                       excerpt(name, kMaxQuotedName), quoted_path(step))};
}

/// `step` is the position of `value`.
std::optional<JsonError> find_in(const JsonValue& value, const PathStep& step) {
  if (const auto text = value.text()) return has_nul(*text) ? std::optional(nul_error(step)) : std::nullopt;
  PathStep inner{&step, {}, 0};
  for (const JsonValue& element : value.elements()) {
    if (auto error = find_in(element, inner)) return error;
    ++inner.index;
  }
  const std::span<const JsonMember> members = value.members();
  for (const JsonMember& member : members) {
    if (has_nul(member.name)) return nul_error(step);
    if (auto error = find_in(member.value, {&step, member.name, 0})) return error;
  }
  const std::string_view name = duplicate_name(members);
  return name.data() != nullptr ? std::optional(duplicate_name_error(name, step)) : std::nullopt;
}

}  // namespace

std::optional<JsonError> find_ambiguity(const JsonValue& value) {
  return find_in(value, PathStep{});
}

namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kWhitespace = " \t\r\n";

void strip_prefix(std::string_view& text, std::string_view characters) {
  text.remove_prefix(std::min(text.find_first_not_of(characters), text.size()));
}

/// Whether `text` begins with digits; removes them.
bool consume_digits(std::string_view& text) {
  const std::size_t before = text.size();
  strip_prefix(text, kDigits);
  return text.size() < before;
}

/// By the grammar of RFC 8259; `is_integer` is false for a fraction or an exponent.
bool is_number(std::string_view text, bool& is_integer) {
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text.starts_with('0'))
    text.remove_prefix(1);
  else if (!consume_digits(text))
    return false;
  is_integer = text.empty();
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (!consume_digits(text)) return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (!consume_digits(text)) return false;
  }
  return text.empty();
}

template <class Number>
bool fits(std::string_view text) {
  Number number{};
  return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc();
}

/// A double distinguishes this many digits; a cursor with more digits would be changed.
bool exceeds_double_precision(std::string_view token) {
  const std::string_view digits = token.substr(0, token.find_first_of("eE"));
  return std::count_if(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; }) >
         std::numeric_limits<double>::digits10;
}

bool is_too_large(std::string_view token) {
  bool is_integer = false;
  if (!is_number(token, is_integer)) return false;
  return is_integer ? !fits<std::int64_t>(token) : !fits<double>(token) || exceeds_double_precision(token);
}

/// Whether a value may be here: after the beginning, white space or one of "[,:", and not before a colon.
/// Elsewhere replacing a number by a text could turn invalid JSON into valid JSON.
bool is_value_position(std::string_view text, std::size_t begin, std::size_t end) {
  constexpr std::string_view kBefore = "[,: \t\r\n";
  if (begin > 0 && kBefore.find(text[begin - 1]) == std::string_view::npos) return false;
  std::string_view rest = text.substr(end);
  strip_prefix(rest, kWhitespace);
  return rest.empty() || rest.front() == ',' || rest.front() == ']' || rest.front() == '}';
}

/// `text` with each part replaced by `replacement` of it.
template <class Replacement>
std::string replace_parts(std::string_view text, const std::vector<std::string_view>& parts,
                          Replacement replacement) {
  std::string all;
  all.reserve(text.size() + 2 * parts.size());
  const char* from = text.data();
  for (const std::string_view part : parts) {
    all.append(from, part.data()).append(replacement(part));
    from = part.data() + part.size();
  }
  return all.append(from, text.data() + text.size());
}

}  // namespace

std::size_t end_of_quoted(std::string_view text, std::size_t begin) {
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      return i + 1;
  }
  return text.size();
}

std::vector<std::string_view> find_large_numbers(std::string_view text) {
  constexpr std::string_view kNumberCharacters = "0123456789+-.eE";
  std::vector<std::string_view> found;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '-' || (c >= '0' && c <= '9')) {
      const std::size_t end = std::min(text.find_first_not_of(kNumberCharacters, i), text.size());
      const std::string_view token = text.substr(i, end - i);
      if (is_too_large(token) && is_value_position(text, i, end)) found.push_back(token);
      i = end;
    } else {
      i = c == '"' ? end_of_quoted(text, i) : i + 1;
    }
  }
  return found;
}

std::string with_quoted_parts(std::string_view text, const std::vector<std::string_view>& parts) {
  return replace_parts(text, parts, [](std::string_view number) { return '"' + std::string(number) + '"'; });
}

std::string with_zeroed_parts(std::string_view text, const std::vector<std::string_view>& parts) {
  return replace_parts(text, parts,
                       [](std::string_view number) { return '0' + std::string(number.size() - 1, ' '); });
}

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

}  // namespace giftsync

// What platform/json.h promises.
template class nlohmann::basic_json<>;
template class nlohmann::basic_json<nlohmann::ordered_map>;
