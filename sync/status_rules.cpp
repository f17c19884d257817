#include "sync/status_rules.h"

#include <algorithm>

namespace giftsync::sync {
namespace {

using schema::Status;
using schema::StatusTimes;
using schema::UtcMillis;

constexpr UtcMillis kYear2000{946'684'800'000};

bool keeps_latest(Status status) {
  return status == Status::delivered || status == Status::undelivered;
}

StatusTimes collect(UtcMillis sent_at, std::span<const schema::StatusChange> changes) {
  StatusTimes times;
  for (const schema::StatusChange& change : changes) {
    std::optional<UtcMillis>& kept = times[change.status];
    if (!kept) {
      kept = change.occurred_at;
    } else {
      kept = keeps_latest(change.status) ? std::max(*kept, change.occurred_at)
                                         : std::min(*kept, change.occurred_at);
    }
  }
  times[Status::sent] = sent_at;
  return times;
}

/// Of redeemed and donated the earlier stands, at a tie redeemed.
void keep_winner(StatusTimes& times) {
  std::optional<UtcMillis>& redeemed = times[Status::redeemed];
  std::optional<UtcMillis>& donated = times[Status::donated];
  if (!redeemed || !donated) return;
  (*redeemed <= *donated ? donated : redeemed).reset();
}

Status status_of(const StatusTimes& times) {
  for (const Status final_one :
       {Status::refunded, Status::redeemed, Status::donated, Status::expired, Status::opened}) {
    if (times[final_one]) return final_one;
  }
  const auto& delivered = times[Status::delivered];
  const auto& undelivered = times[Status::undelivered];
  if (delivered && (!undelivered || *delivered > *undelivered)) return Status::delivered;
  return undelivered ? Status::undelivered : Status::sent;
}

}  // namespace

FoldedStatus fold(UtcMillis sent_at, std::span<const schema::StatusChange> changes) {
  StatusTimes times = collect(sent_at, changes);
  keep_winner(times);
  return {status_of(times), times};
}

std::string contradiction(const schema::StatusChange& change, std::span<const schema::StatusChange> changes) {
  if (change.status != Status::redeemed && change.status != Status::donated) return "";
  const StatusTimes times = collect(change.occurred_at, changes);
  const Status rival = change.status == Status::redeemed ? Status::donated : Status::redeemed;
  const auto& rival_time = times[rival];
  const bool lost = rival_time && (*rival_time < change.occurred_at ||
                                   (*rival_time == change.occurred_at && rival == Status::redeemed));
  if (lost) return std::string(to_word(change.status)) + " after it was " + std::string(to_word(rival));
  for (const Status ended : {Status::expired, Status::refunded}) {
    if (times[ended] && *times[ended] < change.occurred_at) {
      return std::string(to_word(change.status)) + " after it was " + std::string(to_word(ended));
    }
  }
  return "";
}

std::string time_fault(UtcMillis occurred_at, UtcMillis received_at) {
  if (occurred_at < kYear2000) return "is before the year 2000";
  if (occurred_at > received_at + schema::kDayMillis) return "is more than 24 hours in the future";
  return "";
}

}  // namespace giftsync::sync
