#include "sync/status_rules.h"

#include <cstdlib>

#include "sync/status_intervals.h"

namespace giftsync::sync {
namespace {

constexpr platform::UtcMillis kYear2000{946'684'800'000};

/// The changes that count.
StatusIntervals intervals_of(std::span<const schema::store::StatusChange> changes) {
  StatusIntervals intervals;
  for (const schema::store::StatusChange& change : changes) {
    if (!change.voiding) intervals.add(change.status, change.premise, change.occurred_at, change.occurred_at);
  }
  return intervals;
}

schema::StatusTimes times_of(platform::UtcMillis sent_at, const StatusIntervals& intervals) {
  schema::StatusTimes times;
  times[schema::Status::sent] = sent_at;
  for (const schema::Status status : {schema::Status::delivered, schema::Status::undelivered})
    times[status] = intervals.latest(status);
  for (const schema::Status status :
       {schema::Status::opened, schema::Status::redeemed, schema::Status::donated, schema::Status::refunded})
    times[status] = intervals.earliest(status);
  times[schema::Status::expired] = intervals.expired();
  return times;
}

/// The earlier of redeemed and donated counts; at a tie redeemed.
void keep_earlier_claim(schema::StatusTimes& times) {
  std::optional<platform::UtcMillis>& redeemed = times[schema::Status::redeemed];
  std::optional<platform::UtcMillis>& donated = times[schema::Status::donated];
  if (!redeemed || !donated) return;
  (*redeemed <= *donated ? donated : redeemed).reset();
}

schema::Status status_of(const schema::StatusTimes& times) {
  for (const schema::Status status :
       {schema::Status::refunded, schema::Status::redeemed, schema::Status::donated, schema::Status::expired,
        schema::Status::opened}) {
    if (times[status]) return status;
  }
  const auto& delivered = times[schema::Status::delivered];
  const auto& undelivered = times[schema::Status::undelivered];
  if (delivered && (!undelivered || *delivered > *undelivered)) return schema::Status::delivered;
  return undelivered ? schema::Status::undelivered : schema::Status::sent;
}

/// Statuses of the same rank replace each other.
int rank(schema::Status status) {
  switch (status) {
    case schema::Status::sent:
      return 0;
    case schema::Status::delivered:
    case schema::Status::undelivered:
      return 1;
    case schema::Status::opened:
      return 2;
    case schema::Status::expired:
      return 3;
    case schema::Status::redeemed:
    case schema::Status::donated:
      return 4;
    case schema::Status::refunded:
      return 5;
  }
  std::abort();  // a value outside its enumeration: a bug
}

FoldedStatus fold_intervals(platform::UtcMillis sent_at, const StatusIntervals& intervals,
                            std::optional<schema::Status> untimed) {
  schema::StatusTimes times = times_of(sent_at, intervals);
  keep_earlier_claim(times);
  FoldedStatus folded{status_of(times), times, intervals.has_any_conflict()};
  if (untimed && rank(*untimed) > rank(folded.status)) folded.status = *untimed;
  return folded;
}

}  // namespace

FoldedStatus fold(platform::UtcMillis sent_at, std::span<const schema::store::ChangeSpan> spans,
                  std::optional<schema::Status> untimed) {
  StatusIntervals intervals;
  for (const schema::store::ChangeSpan& span : spans)
    intervals.add(span.status, span.premise, span.earliest, span.latest);
  return fold_intervals(sent_at, intervals, untimed);
}

FoldedStatus fold(platform::UtcMillis sent_at, std::span<const schema::store::StatusChange> changes,
                  std::optional<schema::Status> untimed) {
  return fold_intervals(sent_at, intervals_of(changes), untimed);
}

schema::store::ChangeSpan span_of(const schema::store::StatusChange& change) {
  return {change.transaction, change.status, change.premise, change.occurred_at, change.occurred_at};
}

std::string conflict_reason(const schema::store::StatusChange& change,
                            std::span<const schema::store::StatusChange> changes) {
  if (change.voiding) return "";
  return intervals_of(changes).conflict_reason(change.status, change.premise, change.occurred_at);
}

std::string time_error(platform::UtcMillis occurred_at, platform::UtcMillis received_at) {
  if (occurred_at < kYear2000) return "is before the year 2000";
  if (occurred_at > received_at + platform::kDayMillis) return "is more than 24 hours in the future";
  return "";
}

}  // namespace giftsync::sync
