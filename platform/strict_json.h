// platform: the one strict JSON reader for all input from outside: request bodies, lines of `change import`,
// and messages of sources. It accepts a document as a whole or not at all (ARCH-34). Beyond RFC 8259 it
// refuses what two readers could understand differently: equal names in one object (at any depth), NUL in a
// text (PostgreSQL would cut there), lone surrogates, a byte order mark, numbers that fit neither 64 bits nor
// a double. It also refuses documents nested deeper than kMaxJsonDepth, longer than kMaxJsonBytes or with
// more than kMaxJsonValues values.
//
// Values are views into their document: they are valid as long as it exists, also after it is moved. No
// thread may move or destroy a document that another one reads; otherwise concurrent reading is safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <variant>
#include <vector>

namespace giftsync {

/// Nesting of lists and objects; the document's own level counts as one.
inline constexpr std::size_t kMaxJsonDepth = 64;
/// Bytes of one text; limits.max_body_bytes bounds requests far below it.
inline constexpr std::size_t kMaxJsonBytes = std::size_t{16} << 20;
/// Values of one document, all levels together: ten thousand events of a hundred values each (SRC-2). They
/// are counted before parsing, because a value of one byte takes fifty bytes of memory.
inline constexpr std::size_t kMaxJsonValues = 1'000'000;

struct JsonMember;

class JsonValue {
 public:
  struct Elements {
    const JsonValue* first = nullptr;
    std::size_t count = 0;
  };
  struct Members {
    const JsonMember* first = nullptr;
    std::size_t count = 0;
  };
  /// null, true/false, integer, other number, text, list, object.
  using Content =
      std::variant<std::monostate, bool, std::int64_t, double, std::string_view, Elements, Members>;

  JsonValue() = default;
  explicit JsonValue(Content content) : content_(content) {}

  bool is_null() const { return std::holds_alternative<std::monostate>(content_); }
  bool is_array() const { return std::holds_alternative<Elements>(content_); }
  bool is_object() const { return std::holds_alternative<Members>(content_); }

  std::optional<bool> boolean() const { return get_as<bool>(); }
  /// Only for numbers written as integers: 7 is one; 7.0 and 7e0 are not.
  std::optional<std::int64_t> integer() const { return get_as<std::int64_t>(); }
  /// Only for other numbers: 1.5, 7.0, 7e0, and integers outside signed 64 bits.
  std::optional<double> real() const { return get_as<double>(); }
  std::optional<std::string_view> text() const { return get_as<std::string_view>(); }

  /// Empty when this is not a list.
  std::span<const JsonValue> elements() const;
  /// In the order of the document; empty when this is not an object.
  std::span<const JsonMember> members() const;
  /// The member of that name; null when there is none or this is not an object.
  const JsonValue* find(std::string_view name) const;
  /// The text of the member of that name; empty when there is none or it is no text.
  std::string_view text_of(std::string_view name) const;

  /// The kind of this value for a message: "null", "a whole number", "text", "a list".
  std::string_view kind_name() const;

 private:
  template <class T>
  std::optional<T> get_as() const {
    const T* value = std::get_if<T>(&content_);
    return value ? std::optional<T>(*value) : std::nullopt;
  }
  Content content_;
};

struct JsonMember {
  std::string_view name;
  JsonValue value;
};

/// Why a text was refused.
struct JsonError {
  /// empty_text, byte_order_mark, syntax, invalid_utf8, lone_surrogate, nul_character, number_out_of_range,
  /// too_deep, too_long, too_many_values or duplicate_key.
  std::string code;
  /// A sentence with the position: line and column (only the column in a text of one line) or the value's
  /// path.
  std::string message;
};

class JsonDocument {
 public:
  struct Storage;
  explicit JsonDocument(std::unique_ptr<Storage> storage);
  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  ~JsonDocument();

  const JsonValue& root() const;

 private:
  std::unique_ptr<Storage> storage_;
};

struct JsonOptions {
  /// Without the checks for duplicate names and NUL: the caller checks what it uses (lenient_json.h).
  bool may_be_ambiguous = false;
  /// Whole numbers that do not fit signed 64 bits, and other numbers that do not fit a double, become texts
  /// of their digits instead of an error.
  bool large_numbers_as_text = false;
};

/// Parses one document. `text` is copied and may be destroyed afterwards.
tl::expected<JsonDocument, JsonError> parse_json(std::string_view text, const JsonOptions& options = {});

// Finds JSON that two readers could understand differently: equal names in one object (at any
// depth), and NUL in a text or name (PostgreSQL would cut there). Pure.

/// The first such error in `value`, with its path (duplicate_key, nul_character).
std::optional<JsonError> find_ambiguity(const JsonValue& value);

// Finds the numbers of a JSON text that giftsync cannot represent. A source cannot correct its JSON
// on request, and a refused page delays all later ones. So a number that RFC 8259 allows becomes the text of
// its digits (SRC-10). Part of strict_json; pure.

/// `text[begin]` is a quotation mark. Returns the position after the closing one, or the end of `text` when
/// there is none. A backslash escapes the next character.
std::size_t end_of_quoted(std::string_view text, std::size_t begin);

/// Whole numbers that do not fit signed 64 bits, and other numbers that a double changes: parts of `text`, in
/// their order.
std::vector<std::string_view> find_large_numbers(std::string_view text);

/// `text` with each of these parts in quotation marks.
std::string with_quoted_parts(std::string_view text, const std::vector<std::string_view>& parts);

/// `text` with a zero of the same length instead of each part, so that positions stay the same.
std::string with_zeroed_parts(std::string_view text, const std::vector<std::string_view>& parts);

// Finds reason and position of an error in a JSON text. Part of strict_json, which alone decides
// what is refused; this code runs only after a refusal.

/// The error of a refused text. `reason` is the reader's own message, used when no better one is found.
JsonError explain_json_error(std::string_view text, std::string_view reason);

/// The error of a document nested beyond kMaxJsonDepth.
JsonError too_deep_error();

/// `text` cut to at most `code_points` plus "...", for a message.
std::string excerpt(std::string_view text, std::size_t code_points);

}  // namespace giftsync
