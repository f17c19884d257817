// sync: summary of one gift's changes: for each status and premise the first and the last time. Intervals
// only widen, so changes may be added in any order and repeatedly. The fold and the conflict flags are
// computed from it. Part of status_rules.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "schema/status_times.h"
#include "schema/store/change_log.h"

namespace giftsync::sync {

class StatusIntervals {
 public:
  using Time = std::optional<platform::UtcMillis>;

  void add(schema::Status status, schema::Premise premise, platform::UtcMillis earliest,
           platform::UtcMillis latest);

  /// Over all premises.
  Time earliest(schema::Status status) const;
  Time latest(schema::Status status) const;
  /// Of the expiries that count.
  Time expired() const;
  /// The earlier of redeemed and donated.
  Time claimed() const;

  /// Whether the other changes contradict an expiry or refund with this premise and time.
  bool is_denied(schema::Status status, schema::Premise premise, platform::UtcMillis time) const;
  /// Why a change is flagged; empty when it is not.
  std::string conflict_reason(schema::Status status, schema::Premise premise, platform::UtcMillis time) const;
  /// Whether any added change is flagged.
  bool has_any_conflict() const;

 private:
  struct Span {
    platform::UtcMillis earliest;
    platform::UtcMillis latest;
  };
  using Spans = std::array<std::optional<Span>, schema::kAllPremises.size()>;
  const Spans& of(schema::Status status) const { return spans_[static_cast<std::size_t>(status)]; }
  /// Which of the two claims of a claimed gift counts.
  schema::Status claim_status() const;
  Time opened_or_claimed() const;
  bool was_redelivered(platform::UtcMillis before) const;

  std::array<Spans, schema::kAllStatuses.size()> spans_;
};

}  // namespace giftsync::sync
