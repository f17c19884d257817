// schema/sql: conversions of giftsync's types for SOCI. Integers are always long long (SOCI truncates
// `int` on SQLite), std::tm is never used (it drops fractions and zones), absent values are std::optional.
// Included by schema/'s .cpp files only.
#pragma once

#include <soci/soci.h>

#include <optional>

#include "platform/time.h"
#include "schema/ids.h"
#include "schema/money.h"

namespace giftsync::sql {

/// A type that is one 64-bit integer in the database.
template <class Type, std::int64_t Type::*member>
struct IntegerConversion {
  using base_type = long long;
  static void from_base(long long in, soci::indicator ind, Type& out) {
    out.*member = ind == soci::i_null ? 0 : in;
  }
  static void to_base(const Type& in, long long& out, soci::indicator& ind) {
    out = in.*member;
    ind = soci::i_ok;
  }
};

}  // namespace giftsync::sql

namespace soci {

template <>
struct type_conversion<giftsync::UtcMillis>
    : giftsync::sql::IntegerConversion<giftsync::UtcMillis, &giftsync::UtcMillis::value> {};

template <>
struct type_conversion<giftsync::Money>
    : giftsync::sql::IntegerConversion<giftsync::Money, &giftsync::Money::minor_units> {};

template <class Tag>
struct type_conversion<giftsync::Id<Tag>>
    : giftsync::sql::IntegerConversion<giftsync::Id<Tag>, &giftsync::Id<Tag>::value> {};

template <class Type>
struct type_conversion<std::optional<Type>> {
  using base_type = typename type_conversion<Type>::base_type;
  static void from_base(const base_type& in, indicator ind, std::optional<Type>& out) {
    if (ind == i_null) {
      out.reset();
      return;
    }
    Type value{};
    type_conversion<Type>::from_base(in, ind, value);
    out = std::move(value);
  }
  static void to_base(const std::optional<Type>& in, base_type& out, indicator& ind) {
    ind = i_null;
    if (in) type_conversion<Type>::to_base(*in, out, ind);
  }
};

}  // namespace soci
