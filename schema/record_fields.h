// schema: each stored record described once. Its fields stand in one list, in the order in which its rows are
// read:
//
//   inline constexpr auto kGiftRequestFields = record_fields(
//       "gift_request",
//       field<&GiftRequest::id>("id"),
//       field<&GiftRequest::costs, &GiftCosts::item>("item_cost"));
//
// The SELECT list, the reader and the INSERT of the store follow it (schema/sql/record_rows.h), and every
// output has the fields with a title: `gift show`, its JSON, `gift export`, the console's page and CSV. A
// member that does not exist, or whose type no column can have, is an error in the line of its field.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "platform/time.h"
#include "schema/enums.h"
#include "schema/ids.h"
#include "schema/money.h"

namespace giftsync {

namespace record_field {

template <class Member>
struct Parts;
template <class Owner, class Type>
struct Parts<Type Owner::*> {
  using Record = Owner;
};

/// Follows members; a value that is no member is the key of operator[].
template <auto step, auto... steps>
constexpr auto& reach(auto& value) {
  if constexpr (sizeof...(steps) > 0) {
    return reach<steps...>(reach<step>(value));
  } else if constexpr (std::is_member_object_pointer_v<decltype(step)>) {
    return value.*step;
  } else {
    return value[step];
  }
}

template <class Value>
inline constexpr bool kIsId = false;
template <class Tag>
inline constexpr bool kIsId<Id<Tag>> = true;

template <class Value>
concept Required = std::same_as<Value, std::string> || std::integral<Value> || std::is_enum_v<Value> ||
    std::same_as<Value, Money> || std::same_as<Value, UtcMillis> || kIsId<Value>;

template <class Value>
inline constexpr bool kIsOptional = false;
template <class Value>
inline constexpr bool kIsOptional<std::optional<Value>> = Required<Value>;

/// What a column can have: a text, a number, a flag, a word, an amount, a time or an id; each may be absent.
/// Or the scopes of an API key.
template <class Value>
concept Stored = Required<Value> || kIsOptional<Value> || std::same_as<Value, std::set<Scope>>;

}  // namespace record_field

/// What a field is called.
struct FieldNames {
  std::string_view column;
  std::string_view title =
      {};  ///< "Cost center": every output lists it; empty: outputs name it themselves, or not
  bool is_masked = false;  ///< an auditor sees only whether there is a value (CON-59)
  /// In outputs where it stands beside another record's column of the same name; empty: the column's name.
  std::string_view distinct_name = {};

  constexpr std::string_view listed_name() const { return distinct_name.empty() ? column : distinct_name; }
};

template <auto member, auto... steps>
struct Field : FieldNames {
  using Record = typename record_field::Parts<decltype(member)>::Record;
  using Value = std::remove_cvref_t<decltype(record_field::reach<member, steps...>(std::declval<Record&>()))>;

  constexpr Field masked() const requires std::same_as<Value, std::string> {
    return {{column, title, true, distinct_name}};
  }
  constexpr Field listed_as(std::string_view name) const { return {{column, title, is_masked, name}}; }

  static constexpr const Value& of(const Record& record) {
    return record_field::reach<member, steps...>(record);
  }
  static constexpr Value& of(Record& record) { return record_field::reach<member, steps...>(record); }
};

template <auto member, auto... steps>
requires record_field::Stored<typename Field<member, steps...>::Value>
constexpr Field<member, steps...> field(std::string_view column, std::string_view title = {}) {
  return {{column, title}};
}

/// A stored value as a person reads it: an amount as decimal text, a time as RFC 3339, a flag as "yes" or
/// "no"; an absent one is empty.
template <class Value>
std::string field_text(const Value& value) {
  if constexpr (record_field::kIsOptional<Value>) {
    return value ? field_text(*value) : std::string();
  } else if constexpr (std::is_same_v<Value, bool>) {
    return value ? "yes" : "no";
  } else if constexpr (std::is_integral_v<Value>) {
    return std::to_string(value);
  } else if constexpr (std::is_enum_v<Value>) {
    return std::string(to_word(value));
  } else if constexpr (std::is_same_v<Value, Money>) {
    return to_decimal(value);
  } else if constexpr (std::is_same_v<Value, UtcMillis>) {
    return to_rfc3339(value);
  } else if constexpr (record_field::kIsId<Value>) {
    return std::to_string(value.value);
  } else {
    return value;
  }
}

/// The types of the fields stand in the type and their names in one array: a tuple of them would cost each
/// file that reads a record's header half a second of compilation.
template <class First, class... More>
struct RecordFields {
  using Record = typename First::Record;
  static constexpr std::size_t kCount = 1 + sizeof...(More);

  std::string_view table;
  std::array<FieldNames, kCount> names;

  /// The place of a column; a name that no field has does not compile.
  consteval std::size_t index_of(std::string_view column) const {
    std::size_t at = 0, found = kCount;
    for (const FieldNames& name : names) found = name.column == column ? at++ : (++at, found);
    if (found == kCount) std::abort();
    return found;
  }

  /// Calls visit(field, value) for each field that every output lists, in order.
  template <class Visit>
  void each_listed(const Record& record, Visit&& visit) const {
    each([&](const auto& one) {
      if (!one.title.empty()) visit(one, one.of(record));
    });
  }

  /// Calls visit(field) for each, in order.
  template <class Visit>
  constexpr void each(Visit&& visit) const {
    std::size_t at = 0;
    each_of<First, More...>(at, visit);
  }

  /// Returns visit(values...): the fields' values of this record, in order.
  template <class Visit>
  static decltype(auto) of(Record& record, Visit&& visit) {
    return visit(First::of(record), More::of(record)...);
  }
  template <class Visit>
  static decltype(auto) of(const Record& record, Visit&& visit) {
    return visit(First::of(record), More::of(record)...);
  }

 private:
  template <class... Fields, class Visit>
  constexpr void each_of(std::size_t& at, Visit& visit) const {
    (visit(Fields{names[at++]}), ...);
  }
};

template <class First, class... More>
requires(std::same_as<typename First::Record, typename More::Record>&&...) constexpr RecordFields<
    First, More...> record_fields(std::string_view table, First first, More... more) {
  return {table, {first, more...}};
}

/// Which names the fields have in a JSON object: it has one record's, or also another one's.
enum class ListedNames { columns, distinct };

/// Adds the fields that every output lists to a JSON object: numbers and flags as such, all else as its text;
/// null when there is none.
template <class Json, class Fields>
void add_listed(Json& json, const Fields& fields, const typename Fields::Record& record,
                ListedNames names = ListedNames::columns) {
  fields.each_listed(record, [&](const auto& field, const auto& value) {
    Json& member = json[std::string(names == ListedNames::columns ? field.column : field.listed_name())];
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(value)>>) {
      member = value;
    } else if (std::string text = field_text(value); !text.empty()) {
      member = std::move(text);
    }
  });
}

}  // namespace giftsync
