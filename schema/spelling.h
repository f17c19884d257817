// schema: how the values of an enumeration are spelt, in tables, on the wire and in listings:
//   constexpr auto kScopes = spelling<Scope>({{Scope::send, "send"}, {Scope::read, "read"}});
// in the order of the enumeration. What has no word, or one that another value has, does not compile.
#pragma once

#include <array>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

namespace giftsync::schema {

/// Whether an enumeration has a name for this value: else the compiler calls it "(giftsync::schema::Scope)4".
template <auto value>
consteval bool is_named() {
  std::string_view text = __PRETTY_FUNCTION__;  // "... [with auto value = giftsync::schema::Scope::send]"
  text.remove_suffix(1);
  const char first = text[text.find_last_of(": )") + 1];
  return first < '0' || first > '9';
}

template <class Value, std::size_t count>
class Spelling {
 public:
  using Row = std::pair<Value, std::string_view>;

  consteval explicit Spelling(const Row (&rows)[count]) {
    static_assert(!is_named<static_cast<Value>(count)>(), "a value of the enumeration has no word");
    for (std::size_t i = 0; i < count; ++i) {
      if (rows[i].first != static_cast<Value>(i)) std::abort();  // not in the enumeration's order
      for (std::size_t j = 0; j < i; ++j) {
        if (words_[j] == rows[i].second) std::abort();  // two values of one word
      }
      words_[i] = rows[i].second;
    }
  }

  constexpr std::string_view of(Value value) const {
    const auto place = static_cast<std::size_t>(value);
    if (place >= count) std::abort();  // a value outside its enumeration: a bug
    return words_[place];
  }
  constexpr std::optional<Value> read(std::string_view word) const {
    for (std::size_t i = 0; i < count; ++i) {
      if (words_[i] == word) return static_cast<Value>(i);
    }
    return std::nullopt;
  }

 private:
  std::array<std::string_view, count> words_;
};

template <class Value, std::size_t count>
consteval Spelling<Value, count> spelling(const std::pair<Value, std::string_view> (&rows)[count]) {
  return Spelling<Value, count>(rows);
}

}  // namespace giftsync::schema
