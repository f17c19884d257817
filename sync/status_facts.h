// sync: what is known of one gift: for each status and premise when the first and the last change of that
// kind occurred. Facts only widen, so it does not matter in which order and how often they are added;
// everything that the fold and the flags need is read off them. Part of status_rules.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "schema/status_times.h"
#include "schema/store/change_log.h"

namespace giftsync::sync {

class StatusFacts {
 public:
  using Time = std::optional<schema::UtcMillis>;

  void add(schema::Status status, schema::Premise premise, schema::UtcMillis earliest,
           schema::UtcMillis latest);

  /// Over all premises.
  Time earliest(schema::Status status) const;
  Time latest(schema::Status status) const;
  /// Of the expiries that count.
  Time expired() const;
  /// The earlier of redeemed and donated.
  Time claimed() const;

  /// Whether an expiry or refund with this premise and time is denied by the other facts.
  bool is_denied(schema::Status status, schema::Premise premise, schema::UtcMillis time) const;
  /// Why a change is flagged; empty when it is not.
  std::string contradiction(schema::Status status, schema::Premise premise, schema::UtcMillis time) const;
  /// Whether any change that was added is flagged.
  bool any_contradiction() const;

 private:
  struct Span {
    schema::UtcMillis earliest;
    schema::UtcMillis latest;
  };
  using Spans = std::array<std::optional<Span>, schema::kAllPremises.size()>;
  const Spans& of(schema::Status status) const { return spans_[static_cast<std::size_t>(status)]; }
  /// Of a claimed gift which of the two it was claimed by.
  schema::Status winner() const;
  Time opened_or_claimed() const;
  bool was_turned_to_delivered(schema::UtcMillis before) const;

  std::array<Spans, schema::kAllStatuses.size()> spans_;
};

}  // namespace giftsync::sync
