// schema: every id has its own type, so that a gift id cannot be used as a transaction id.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace giftsync::schema {

/// The largest integer that a double holds exactly, in JSON and in CRMs; no id exceeds it.
inline constexpr std::int64_t kMaxId = std::int64_t{1} << 53;

template <class Tag>
struct Id {
  std::int64_t value = 0;
  friend auto operator<=>(const Id&, const Id&) = default;
};

/// The highest start value for Transaction Ids: it leaves enough ids to allocate.
inline constexpr std::int64_t kMaxFirstTransactionId = 9'000'000'000'000'000;
static_assert(kMaxFirstTransactionId < kMaxId);

using AccountId = Id<struct AccountTag>;
using ApiKeyId = Id<struct KeyTag>;
using OrganizationId = Id<struct OrganizationTag>;
using OrganizationTokenId = Id<struct OrganizationTokenTag>;
using GiftId = Id<struct GiftTag>;
using GiftRequestId = Id<struct GiftRequestTag>;
using TransactionId = Id<struct TransactionTag>;
using ChangeId = Id<struct ChangeTag>;
using UserId = Id<struct UserTag>;  // of the console
using IdentityId = Id<struct IdentityTag>;

}  // namespace giftsync::schema

template <class Tag>
struct std::hash<giftsync::schema::Id<Tag>> {
  std::size_t operator()(giftsync::schema::Id<Tag> id) const noexcept {
    return std::hash<std::int64_t>{}(id.value);
  }
};
