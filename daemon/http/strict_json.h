// daemon/http: the one strict JSON reader for everything that comes from outside: request bodies, lines of
// `change import`, and what sources send (daemon/sources/source_json.h). A document is accepted whole or not
// at all. Beyond RFC 8259 it refuses what would later be read in two ways: equal names in one object (at any
// depth), NUL in a text (PostgreSQL would cut there), lone surrogates, a byte order mark, numbers that fit
// neither 64 bits nor a double; and what is nested deeper than kMaxJsonDepth, longer than kMaxJsonBytes or
// has more than kMaxJsonValues values.
//
// Values are views into their document: they live as long as it does, also when it is moved. No thread may
// move or end a document that another one reads; apart from that, reading is safe on many threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace giftsync::daemon {

/// Lists and objects within each other; the document's own level counts as one.
inline constexpr std::size_t kMaxJsonDepth = 64;
/// One text; requests are bounded long before by limits.body_bytes.
inline constexpr std::size_t kMaxJsonBytes = std::size_t{16} << 20;
/// Values of one document, all levels together: ten thousand reports of a hundred each. One of a single byte
/// takes fifty bytes to read, so they are counted before.
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
  /// null, true/false, whole number, any other number, text, list, object.
  using Content =
      std::variant<std::monostate, bool, std::int64_t, double, std::string_view, Elements, Members>;

  JsonValue() = default;
  explicit JsonValue(Content content) : content_(content) {}

  bool is_null() const { return std::holds_alternative<std::monostate>(content_); }
  bool is_array() const { return std::holds_alternative<Elements>(content_); }
  bool is_object() const { return std::holds_alternative<Members>(content_); }

  std::optional<bool> boolean() const { return held<bool>(); }
  /// Only for numbers written as whole numbers: 7 is one, 7.0 and 7e0 are not.
  std::optional<std::int64_t> integer() const { return held<std::int64_t>(); }
  /// Only for any other number: 1.5, 7.0, 7e0 and whole ones outside of 64 bits with sign.
  std::optional<double> real() const { return held<double>(); }
  std::optional<std::string_view> text() const { return held<std::string_view>(); }

  /// Empty when this is no list.
  std::span<const JsonValue> elements() const;
  /// In the order of the document; empty when this is no object.
  std::span<const JsonMember> members() const;
  /// The member of that name, or null when there is none (or this is no object).
  const JsonValue* find(std::string_view name) const;

  /// What this is, for a sentence: "null", "a whole number", "text", "a list".
  std::string_view kind_in_words() const;

 private:
  template <class T>
  std::optional<T> held() const {
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
struct JsonFault {
  /// empty_text, byte_order_mark, syntax, invalid_utf8, lone_surrogate, nul_character, number_out_of_range,
  /// too_deep, too_long, too_many_values or duplicate_key.
  std::string code;
  /// A sentence with the place: a line and column (the column alone in a text of one line) or the value's
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

/// Reads one document and nothing else. `text` is copied: it may end before the document does.
std::variant<JsonDocument, JsonFault> read_strict_json(std::string_view text);

/// The same, but what may be read in two ways is still in it: whoever looks at a part of it asks
/// ambiguity_in() for that part first.
std::variant<JsonDocument, JsonFault> read_json(std::string_view text);

}  // namespace giftsync::daemon
