// schema: the spelling of enumeration values in tables, on the wire and in listings, in the order of the
// enumeration: constexpr auto kScopes = enum_words<Scope>({{Scope::send, "send"}, {Scope::read, "read"}});
// A value without a spelling, or with the spelling of another value, does not compile.
#pragma once

#include <array>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

namespace giftsync::schema {

/// Whether an enumeration has a name for this value; otherwise the compiler prints it as
/// "(giftsync::schema::Scope)4".
template <auto value>
consteval bool has_enumerator() {
  std::string_view text = __PRETTY_FUNCTION__;  // "... [with auto value = giftsync::schema::Scope::send]"
  text.remove_suffix(1);
  const char first = text[text.find_last_of(": )") + 1];
  return first < '0' || first > '9';
}

template <class Value, std::size_t count>
class EnumWords {
 public:
  using Row = std::pair<Value, std::string_view>;

  consteval explicit EnumWords(const Row (&rows)[count]) {
    static_assert(!has_enumerator<static_cast<Value>(count)>(), "a value of the enumeration has no word");
    for (std::size_t i = 0; i < count; ++i) {
      if (rows[i].first != static_cast<Value>(i)) std::abort();  // not in the enumeration's order
      for (std::size_t j = 0; j < i; ++j) {
        if (words_[j] == rows[i].second) std::abort();  // two values with one spelling
      }
      words_[i] = rows[i].second;
    }
  }

  constexpr std::string_view word_of(Value value) const {
    const auto index = static_cast<std::size_t>(value);
    if (index >= count) std::abort();  // a value outside its enumeration: a bug
    return words_[index];
  }
  constexpr std::optional<Value> parse(std::string_view word) const {
    for (std::size_t i = 0; i < count; ++i) {
      if (words_[i] == word) return static_cast<Value>(i);
    }
    return std::nullopt;
  }

 private:
  std::array<std::string_view, count> words_;
};

template <class Value, std::size_t count>
consteval EnumWords<Value, count> enum_words(const std::pair<Value, std::string_view> (&rows)[count]) {
  return EnumWords<Value, count>(rows);
}

}  // namespace giftsync::schema
