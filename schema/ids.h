// schema: every id has its own type, so that a gift id cannot be used as a transaction id; the forms of an
// id of a CRM.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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
using CredentialId = Id<struct CredentialTag>;
using OrganizationId = Id<struct OrganizationTag>;
using GiftId = Id<struct GiftTag>;
using GiftRequestId = Id<struct GiftRequestTag>;
using TransactionId = Id<struct TransactionTag>;
using ChangeId = Id<struct ChangeTag>;
using UserId = Id<struct UserTag>;  // of the console
using IdentityId = Id<struct IdentityTag>;

// The number of a gift as people write it.

/// 17 of "17", "0017", "#17", "gift 17", "gift:17" and "Gift: #17"; nothing of other texts (CON-47).
std::optional<TransactionId> gift_number(std::string_view text);

// The Ids of an org of Salesforce, which exist in two forms: 15 letters and digits whose case counts,
// as reports show them, and 18, as its interfaces do, of which the last three say which of the 15 are capital
// letters (MATCH-34). Pure; any thread.

/// The 18 characters of an Id of 15 or 18, of whatever object; nullopt for any other text, and where the last
/// three do not fit the others: an Id of another case is no Id.
std::optional<std::string> long_record_id(std::string_view text);

/// The form of 18 characters of an Id that has 15; any other Id as it is. An Id of 15 letters and digits is
/// Salesforce's when it begins like one: with the prefix of a standard object that giftsync uses, or as that
/// of an object of a package does.
std::string long_crm_id(std::string_view id);

/// The form of 15 characters of an Id that has 18 with the right suffix; any other Id as it is.
std::string short_crm_id(std::string_view id);

std::vector<std::string> long_crm_ids(std::span<const std::string> ids);

/// Without duplicates and empty ones, each in both forms.
std::vector<std::string> crm_id_forms(std::span<const std::string> ids);

/// The prefixes of the standard objects, for SQL: "'001', '003'".
inline constexpr std::string_view kCrmIdPrefixes =
    "'001', '003', '005', '006', '00K', '00Q', '00T', '0PS', '0Pa'";

}  // namespace giftsync

template <class Tag>
struct std::hash<giftsync::Id<Tag>> {
  std::size_t operator()(giftsync::Id<Tag> id) const noexcept { return std::hash<std::int64_t>{}(id.value); }
};
