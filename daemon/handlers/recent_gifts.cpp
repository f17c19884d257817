#include "daemon/handlers/recent_gifts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "platform/digest.h"
#include "schema/contact_normalization.h"

namespace giftsync::handlers {

RecentGifts::RecentGifts(Clock clock) : clock_(std::move(clock)), secret_(random_bytes(kSha256Bytes)) {}

std::optional<RecentGifts::Earlier> RecentGifts::remember(const Gift& gift, GiftRequestId request) {
  const Hash hash = hash_of(gift);
  const std::lock_guard lock(mutex_);
  // Read under the mutex, so that times ascend in by_age_.
  const UtcMillis now = clock_();
  while (!by_age_.empty() && is_over(by_age_.front().request, now)) forget_oldest();

  const auto [last, is_new] = last_requests_.try_emplace(hash, Request{request, now});
  std::optional<Earlier> earlier;
  if (!is_new) {
    // Equal recipients of one request have a warning of their own (HTTP-6).
    if (last->second.id == request) return std::nullopt;
    if (!is_over(last->second, now)) earlier = earlier_of(last->second, now);
    last->second = {request, now};
  }
  by_age_.push_back({hash, last->second});
  if (by_age_.size() > kMaxRemembered) forget_oldest();
  return earlier;
}

std::vector<std::optional<RecentGifts::Earlier>> RecentGifts::find(std::span<const Gift> gifts) {
  std::vector<Hash> hashes;
  for (const Gift& gift : gifts) hashes.push_back(hash_of(gift));
  std::vector<std::optional<Earlier>> found(gifts.size());
  std::unordered_set<Hash> of_this_request;
  const std::lock_guard lock(mutex_);
  const UtcMillis now = clock_();
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    const auto last = last_requests_.find(hashes[i]);
    if (!of_this_request.insert(hashes[i]).second || last == last_requests_.end()) continue;
    if (!is_over(last->second, now)) found[i] = earlier_of(last->second, now);
  }
  return found;
}

RecentGifts::Hash RecentGifts::hash_of(const Gift& gift) const {
  // No key of an address has a blank, and the message is last, so different gifts have different texts.
  const std::string text = fmt::format("{}{} {} {} {}", gift.is_test ? "test " : "", gift.account.value,
                                       gift.item.value, email_key(gift.email), gift.message);
  Hash hash = 0;
  std::memcpy(&hash, hmac_sha256(secret_, text).data(), sizeof hash);
  return hash;
}

void RecentGifts::forget_oldest() {
  const Remembered& oldest = by_age_.front();
  const auto last = last_requests_.find(oldest.gift);
  if (last != last_requests_.end() && last->second.id == oldest.request.id) last_requests_.erase(last);
  by_age_.pop_front();
}

}  // namespace giftsync::handlers
