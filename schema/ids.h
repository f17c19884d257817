// schema: every id is a type of its own, so that a gift id is never taken for a transaction id.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace giftsync::schema {

/// The largest integer that travels unharmed as a double, in JSON and in CRMs; no id is above it.
inline constexpr std::int64_t kMaxId = std::int64_t{1} << 53;

template <class Tag>
struct Id {
  std::int64_t value = 0;
  friend auto operator<=>(const Id&, const Id&) = default;
};

/// Where Transaction Ids may begin at most: it leaves room for those that are to be given out.
inline constexpr std::int64_t kMaxFirstTransactionId = 9'000'000'000'000'000;
static_assert(kMaxFirstTransactionId < kMaxId);

using AccountId = Id<struct AccountTag>;
using KeyId = Id<struct KeyTag>;
using OrganizationId = Id<struct OrganizationTag>;
using OrganizationTokenId = Id<struct OrganizationTokenTag>;
using GiftId = Id<struct GiftTag>;
using GiftRequestId = Id<struct GiftRequestTag>;
using TransactionId = Id<struct TransactionTag>;
using ChangeId = Id<struct ChangeTag>;

}  // namespace giftsync::schema

template <class Tag>
struct std::hash<giftsync::schema::Id<Tag>> {
  std::size_t operator()(giftsync::schema::Id<Tag> id) const noexcept {
    return std::hash<std::int64_t>{}(id.value);
  }
};
