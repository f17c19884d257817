#include "daemon/handlers/recent_gifts.h"

#include <boost/container_hash/hash.hpp>
#include <functional>
#include <unordered_set>

#include "schema/contact_normalization.h"

namespace giftsync::handlers {

RecentGifts::RecentGifts(Clock clock) : clock_(std::move(clock)) {}

std::optional<RecentGifts::Earlier> RecentGifts::remember(const Gift& gift, GiftRequestId request) {
  const Hash hash = hash_of(gift);
  const std::lock_guard lock(mutex_);
  // Read under the mutex, so that times ascend in by_age_.
  const UtcMillis now = clock_();
  while (!by_age_.empty() && is_over(by_age_.front().request, now)) forget_oldest();

  const Request made{request, gift.account, now};
  const auto [last, is_new] = last_requests_.try_emplace(hash, made);
  std::optional<Earlier> earlier;
  if (!is_new) {
    // Equal recipients of one request have a warning of their own (HTTP-6).
    if (last->second.id == request) return std::nullopt;
    if (last->second.account == gift.account && !is_over(last->second, now))
      earlier = earlier_of(last->second, now);
    last->second = made;
  }
  by_age_.push_back({hash, made});
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
    if (last->second.account == gifts[i].account && !is_over(last->second, now))
      found[i] = earlier_of(last->second, now);
  }
  return found;
}

RecentGifts::Hash RecentGifts::hash_of(const Gift& gift) {
  constexpr std::hash<std::string_view> kHashOfText;
  std::size_t hash = kHashOfText(email_key(gift.email));
  boost::hash_combine(hash, kHashOfText(gift.message));
  boost::hash_combine(hash, gift.account.value);
  boost::hash_combine(hash, gift.item.value);
  boost::hash_combine(hash, gift.is_test);
  return hash;
}

void RecentGifts::forget_oldest() {
  const Remembered& oldest = by_age_.front();
  const auto last = last_requests_.find(oldest.gift);
  if (last != last_requests_.end() && last->second.id == oldest.request.id) last_requests_.erase(last);
  by_age_.pop_front();
}

}  // namespace giftsync::handlers
