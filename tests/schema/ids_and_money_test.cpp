// Ids of different kinds, money and times cannot be mistaken for each other or for plain numbers.
#include <gtest/gtest.h>

#include <type_traits>

#include "platform/time.h"
#include "schema/ids.h"
#include "schema/money.h"

namespace giftsync {
namespace {

template <class From, class To>
constexpr bool kIsMistaken = std::is_convertible_v<From, To> || std::is_constructible_v<To, From>;

// ARCH-9
TEST(IdsAndMoney, HaveTypesOfTheirOwnOf64Bits) {
  static_assert(!kIsMistaken<GiftId, TransactionId> && !kIsMistaken<TransactionId, GiftRequestId> &&
                !kIsMistaken<AccountId, OrganizationId> && !kIsMistaken<Money, TransactionId>);
  static_assert(!std::is_convertible_v<std::int64_t, Money> && !std::is_convertible_v<Money, std::int64_t>);
  static_assert(!std::is_convertible_v<UtcMillis, Money>);
  static_assert(std::is_same_v<decltype(Money::minor_units), std::int64_t>);
  static_assert(std::is_same_v<decltype(UtcMillis::value), std::int64_t>);
  EXPECT_EQ(kMaxId, 9'007'199'254'740'992);
  EXPECT_EQ(from_decimal("0.10"), Money{10}) << "cents";
  EXPECT_EQ(from_rfc3339("1970-01-01T01:00:00.001+01:00"), UtcMillis{1}) << "UTC milliseconds";
}

// covers: HTTP-60
TEST(IdsAndMoney, AnAmountNamesItsCurrencyIfThereIsOne) {
  EXPECT_EQ(amount_text(Money{550}, "EUR"), "5.50 EUR");
  EXPECT_EQ(amount_text(Money{-5}, ""), "-0.05");
  EXPECT_EQ(amount_text(std::nullopt, "EUR"), "");
}

// covers: GUARD-12
TEST(IdsAndMoney, ThePriceOfGiftsIsKnownIfThatOfOneIsAndHasAnEnd) {
  struct Case {
    std::optional<Money> of_one;
    std::int64_t gifts;
    std::optional<Money> price;
  };
  for (const Case& given :
       {Case{{}, 3, {}}, Case{{}, 0, {}}, Case{Money{550}, 0, Money{0}}, Case{Money{550}, 1, Money{550}},
        Case{Money{550}, 1000, Money{550'000}}, Case{Money{0}, 1000, Money{0}}, Case{kMaxMoney, 1, kMaxMoney},
        Case{Money{kMaxMoney.minor_units / 1000}, 1000, Money{kMaxMoney.minor_units / 1000 * 1000}},
        Case{Money{kMaxMoney.minor_units / 1000 + 1}, 1000, kMaxMoney}, Case{kMaxMoney, 10'000, kMaxMoney},
        Case{kMaxMoney, kMaxId, kMaxMoney}})
    EXPECT_EQ(price_of_gifts(given.of_one, given.gifts), given.price)
        << to_decimal(given.of_one) << " for " << given.gifts;
}

}  // namespace
}  // namespace giftsync
