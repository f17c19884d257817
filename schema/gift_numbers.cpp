#include "schema/gift_numbers.h"

#include <algorithm>
#include <span>

namespace giftsync {
namespace {

static_assert(static_cast<std::size_t>(Measure::redeemed_later) + 1 == kMeasureColumns.size());
static_assert(static_cast<std::size_t>(Measure::refunded) == static_cast<std::size_t>(Status::refunded));
constexpr std::size_t kFirstBucket = static_cast<std::size_t>(Measure::redeemed_1h);
static_assert(kFirstBucket + kRedeemBucketSeconds.size() + 1 == kMeasureColumns.size());

}  // namespace

GiftNumbers& GiftNumbers::operator+=(const GiftNumbers& other) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += other.values[i];
  return *this;
}

GiftNumbers& GiftNumbers::operator-=(const GiftNumbers& other) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] -= other.values[i];
  return *this;
}

std::optional<double> redemption_rate(const GiftNumbers& numbers) {
  if (numbers[Measure::sent] <= 0) return std::nullopt;
  return static_cast<double>(numbers[Measure::redeemed]) / static_cast<double>(numbers[Measure::sent]);
}

namespace {

std::span<const std::int64_t> buckets_of(const GiftNumbers& numbers) {
  return std::span(numbers.values).subspan(kFirstBucket);
}

std::int64_t timed_gifts(const GiftNumbers& numbers) {
  std::int64_t gifts = 0;
  for (const std::int64_t bucket : buckets_of(numbers)) gifts += bucket;
  return gifts;
}

}  // namespace

std::optional<std::int64_t> mean_redeem_seconds(const GiftNumbers& numbers) {
  const std::int64_t gifts = timed_gifts(numbers);
  if (gifts <= 0) return std::nullopt;
  return numbers[Measure::redeem_seconds] / gifts;
}

std::optional<std::int64_t> median_redeem_seconds(const GiftNumbers& numbers) {
  const std::int64_t gifts = timed_gifts(numbers);
  if (gifts <= 0) return std::nullopt;
  const double half = static_cast<double>(gifts) / 2;
  double before = 0;
  double begin = 0;
  for (std::size_t i = 0; i < kRedeemBucketSeconds.size(); ++i) {
    const auto count = static_cast<double>(buckets_of(numbers)[i]);
    const auto end = static_cast<double>(kRedeemBucketSeconds[i]);
    if (count > 0 && before + count >= half)
      return static_cast<std::int64_t>(begin + (end - begin) * (half - before) / count);
    before += count;
    begin = end;
  }
  return std::nullopt;
}

std::int64_t utc_day(UtcMillis time) {
  const std::int64_t day = time.value / kDayMillis;
  return time.value % kDayMillis < 0 ? day - 1 : day;
}

std::string utc_day_text(std::int64_t day) {
  return to_rfc3339(begin_of_day(day)).substr(0, std::string_view("2026-11-28").size());
}

GiftNumbers numbers_of(const CountedGift& gift) {
  GiftNumbers numbers;
  for (const Status status : kAllStatuses)
    if (gift.times[status] || status == gift.status || status == Status::sent)
      numbers.values[static_cast<std::size_t>(status)] = 1;
  numbers[Measure::cost] = gift.cost.minor_units;
  if (numbers[Measure::refunded] > 0) numbers[Measure::refunded_cost] = gift.cost.minor_units;
  const auto& sent = gift.times[Status::sent];
  const auto& redeemed = gift.times[Status::redeemed];
  if (!sent || !redeemed) return numbers;
  const std::int64_t seconds = std::max<std::int64_t>(0, (redeemed->value - sent->value) / kSecondMillis);
  numbers[Measure::redeem_seconds] = seconds;
  const auto bucket = std::lower_bound(kRedeemBucketSeconds.begin(), kRedeemBucketSeconds.end(), seconds);
  numbers.values[kFirstBucket + static_cast<std::size_t>(bucket - kRedeemBucketSeconds.begin())] = 1;
  return numbers;
}

std::string item_key(GiftId item, std::string_view name) {
  if (item.value != 0) return std::to_string(item.value);
  return name.empty() ? std::string() : "=" + std::string(name);
}

std::string campaign_key(std::string_view campaign) {
  return campaign.empty() ? std::string() : "=" + std::string(campaign);
}

}  // namespace giftsync
