// schema: what is counted of gifts for reports (NUM-1), as sums of whole numbers: gifts by status, cents, and
// how long redeeming took. Pure.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "platform/time.h"
#include "schema/enums.h"
#include "schema/ids.h"
#include "schema/money.h"

namespace giftsync {

/// What is counted. The first ones are statuses, in the order of kAllStatuses.
enum class Measure : std::size_t {
  sent,  ///< gifts
  delivered,
  undelivered,
  opened,
  redeemed,
  donated,
  expired,
  refunded,
  cost,            ///< cents, of all gifts; an unknown cost is none
  refunded_cost,   ///< cents, of the refunded ones
  redeem_seconds,  ///< the sum of the times from sending to redeeming
  redeemed_1h,     ///< redeemed within an hour
  redeemed_6h,     ///< after an hour and within six, and so on
  redeemed_1d,
  redeemed_3d,
  redeemed_7d,
  redeemed_14d,
  redeemed_30d,
  redeemed_later,
};
/// The columns of gift_rollup and gift_rollup_delta, as Measure.
inline constexpr std::array<std::string_view, 19> kMeasureColumns{
    "sent",           "delivered",    "undelivered",  "opened",        "redeemed",
    "donated",        "expired",      "refunded",     "cost",          "refunded_cost",
    "redeem_seconds", "redeemed_1h",  "redeemed_6h",  "redeemed_1d",   "redeemed_3d",
    "redeemed_7d",    "redeemed_14d", "redeemed_30d", "redeemed_later"};

struct GiftNumbers {
  std::array<std::int64_t, kMeasureColumns.size()> values{};

  std::int64_t& operator[](Measure measure) { return values[static_cast<std::size_t>(measure)]; }
  std::int64_t operator[](Measure measure) const { return values[static_cast<std::size_t>(measure)]; }
  /// Gifts that came to the status.
  std::int64_t operator[](Status status) const { return values[static_cast<std::size_t>(status)]; }
  Money cost() const { return {(*this)[Measure::cost]}; }
  /// Without the refunded ones.
  Money spend() const { return {(*this)[Measure::cost] - (*this)[Measure::refunded_cost]}; }
  bool empty() const { return *this == GiftNumbers{}; }
  GiftNumbers& operator+=(const GiftNumbers& other);
  GiftNumbers& operator-=(const GiftNumbers& other);
  friend bool operator==(const GiftNumbers&, const GiftNumbers&) = default;
};

/// The part of the gifts sent that were redeemed; nothing without gifts.
std::optional<double> redemption_rate(const GiftNumbers& numbers);
/// From sending to redeeming, over the gifts whose time of redeeming is known; nothing without any.
std::optional<std::int64_t> mean_redeem_seconds(const GiftNumbers& numbers);
/// Half of those gifts were redeemed within that time: exact to a bucket (kRedeemBucketSeconds), and evenly
/// spread in it. Nothing without any, or when it is later than the last bucket.
std::optional<std::int64_t> median_redeem_seconds(const GiftNumbers& numbers);
/// The ends of the buckets but for the last, which has none.
inline constexpr std::array<std::int64_t, 7> kRedeemBucketSeconds{3'600,   21'600,    86'400,   259'200,
                                                                  604'800, 1'209'600, 2'592'000};

/// Days since 1970 by UTC.
std::int64_t utc_day(UtcMillis time);
/// "2026-11-28"
std::string utc_day_text(std::int64_t day);
inline constexpr UtcMillis begin_of_day(std::int64_t day) {
  return {day * kDayMillis};
}

/// What gifts are counted together by.
struct CountedBy {
  std::int64_t day = 0;           ///< utc_day() of sending
  std::int64_t organization = 0;  ///< of the account at sending; 0: of none
  std::int64_t account = 0;       ///< 0: of none, as of gifts that were sent elsewhere
  std::string item = {};          ///< "17", or "=Name" where the item has no number
  std::string campaign = {};      ///< "=autumn"; empty: none
  std::string source = {};        ///< RecipientTransaction::gift_source
  friend auto operator<=>(const CountedBy&, const CountedBy&) = default;
};

/// A gift as far as it is counted.
struct CountedGift {
  CountedBy by;
  Money cost;
  Status status = Status::sent;
  StatusTimes times;
};
/// A gift counts in each status that it has a time of, and in its present one. Pure.
GiftNumbers numbers_of(const CountedGift& gift);

/// The key of an item: "17", or "=Name" where it has no number; empty: nothing is known of it.
std::string item_key(GiftId item, std::string_view name);
/// The key of a campaign; empty for none.
std::string campaign_key(std::string_view campaign);

}  // namespace giftsync
