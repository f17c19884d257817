#include "platform/strict_json.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <memory_resource>

#include "platform/json_error_locator.h"
#include "platform/json_uniqueness.h"
#include "platform/large_json_numbers.h"

namespace giftsync::platform {

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

}  // namespace giftsync::platform
