#include "sync/sending_times.h"

#include <algorithm>

namespace giftsync::sync {
namespace {

using schema::Status;
using schema::TransactionId;
using schema::UtcMillis;
using Times = std::map<TransactionId, UtcMillis>;

bool is_from_outside(const schema::RecipientTransaction& gift) {
  return !gift.origin.empty() && gift.origin != schema::kAdoptedOrigin;
}

void take(Times& times, TransactionId id, UtcMillis time) {
  const auto [known, is_first] = times.emplace(id, time);
  if (!is_first) known->second = std::min(known->second, time);
}

}  // namespace

Times reported_times_of_sending(schema::ChangeLog& log,
                                std::span<const schema::RecipientTransaction* const> gifts,
                                std::span<const schema::ChangeSpan> spans) {
  Times reported;
  for (const schema::ChangeSpan& span : spans) {
    if (span.status == Status::sent) take(reported, span.transaction, span.earliest);
  }
  Times times;
  std::vector<TransactionId> none_counts;
  for (const schema::RecipientTransaction* gift : gifts) {
    if (!is_from_outside(*gift)) continue;
    if (const auto found = reported.find(gift->id); found != reported.end())
      times.insert(*found);
    else
      none_counts.push_back(gift->id);
  }
  if (none_counts.empty()) return times;
  for (const schema::StatusChange& change : log.changes_of(none_counts)) {
    if (change.status == Status::sent) take(times, change.transaction, change.occurred_at);
  }
  return times;
}

}  // namespace giftsync::sync
