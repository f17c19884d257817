#include "sync/status_rules.h"

#include <cstdlib>

#include "sync/status_facts.h"

namespace giftsync::sync {
namespace {

using schema::Status;
using schema::StatusTimes;
using schema::UtcMillis;

constexpr UtcMillis kYear2000{946'684'800'000};

/// What counts of the changes.
StatusFacts facts_of(std::span<const schema::StatusChange> changes) {
  StatusFacts facts;
  for (const schema::StatusChange& change : changes) {
    if (!change.voiding) facts.add(change.status, change.premise, change.occurred_at, change.occurred_at);
  }
  return facts;
}

StatusTimes times_of(UtcMillis sent_at, const StatusFacts& facts) {
  StatusTimes times;
  times[Status::sent] = sent_at;
  for (const Status status : {Status::delivered, Status::undelivered}) times[status] = facts.latest(status);
  for (const Status status : {Status::opened, Status::redeemed, Status::donated, Status::refunded})
    times[status] = facts.earliest(status);
  times[Status::expired] = facts.expired();
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

/// Those that stand in for each other have the same.
int rank(Status status) {
  switch (status) {
    case Status::sent:
      return 0;
    case Status::delivered:
    case Status::undelivered:
      return 1;
    case Status::opened:
      return 2;
    case Status::expired:
      return 3;
    case Status::redeemed:
    case Status::donated:
      return 4;
    case Status::refunded:
      return 5;
  }
  std::abort();  // a value outside its enumeration: a bug
}

FoldedStatus read_off(UtcMillis sent_at, const StatusFacts& facts) {
  StatusTimes times = times_of(sent_at, facts);
  keep_winner(times);
  return {status_of(times), times, facts.any_contradiction()};
}

}  // namespace

FoldedStatus fold(UtcMillis sent_at, std::span<const schema::ChangeSpan> spans,
                  std::optional<Status> untimed) {
  StatusFacts facts;
  for (const schema::ChangeSpan& span : spans)
    facts.add(span.status, span.premise, span.earliest, span.latest);
  FoldedStatus folded = read_off(sent_at, facts);
  if (untimed && rank(*untimed) > rank(folded.status)) folded.status = *untimed;
  return folded;
}

FoldedStatus fold(UtcMillis sent_at, std::span<const schema::StatusChange> changes) {
  return read_off(sent_at, facts_of(changes));
}

std::string contradiction(const schema::StatusChange& change, std::span<const schema::StatusChange> changes) {
  if (change.voiding) return "";
  return facts_of(changes).contradiction(change.status, change.premise, change.occurred_at);
}

std::string time_fault(UtcMillis occurred_at, UtcMillis received_at) {
  if (occurred_at < kYear2000) return "is before the year 2000";
  if (occurred_at > received_at + schema::kDayMillis) return "is more than 24 hours in the future";
  return "";
}

}  // namespace giftsync::sync
