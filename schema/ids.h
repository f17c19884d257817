// schema: every id has its own type, so that a gift id cannot be used as a transaction id.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace giftsync {

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

// The number of a gift as people write it.

/// 17 of "17", "0017", "#17", "gift 17", "gift:17" and "Gift: #17"; nothing of other texts (CON-47).
std::optional<TransactionId> gift_number(std::string_view text);

}  // namespace giftsync

template <class Tag>
struct std::hash<giftsync::Id<Tag>> {
  std::size_t operator()(giftsync::Id<Tag> id) const noexcept { return std::hash<std::int64_t>{}(id.value); }
};
