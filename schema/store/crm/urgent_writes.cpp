#include "schema/store/crm/urgent_writes.h"

#include <algorithm>
#include <optional>

#include "schema/sql/database.h"
#include "schema/store/event/ingest_transaction.h"
#include "schema/store/gift/change_rows.h"
#include "schema/store/gift/gift_rows.h"

namespace giftsync::store {
namespace {

/// Undone as a whole, unless it is released.
class Savepoint {
 public:
  explicit Savepoint(soci::session& session) : session_(session) { session_ << "SAVEPOINT member"; }
  ~Savepoint() {
    if (is_released_) return;
    try {
      session_ << "ROLLBACK TO SAVEPOINT member";
      session_ << "RELEASE SAVEPOINT member";
    } catch (const soci::soci_error&) {  // the transaction fails too
    }
  }
  Savepoint(const Savepoint&) = delete;
  Savepoint& operator=(const Savepoint&) = delete;
  void release() {
    session_ << "RELEASE SAVEPOINT member";
    is_released_ = true;
  }

 private:
  soci::session& session_;
  bool is_released_ = false;
};

IngestResult over_limit() {
  IngestResult result;
  result.kind = IngestResult::Kind::over_limit;
  return result;
}

IngestResult ingest_in_savepoint(soci::session& session, const PreparedBatch& message, IngestEnd& end) {
  try {
    Savepoint savepoint(session);
    IngestEnd own_end;
    IngestResult result = ingest_batch(session, message, own_end);
    savepoint.release();
    end.merge(own_end);
    return result;
  } catch (const QuotaExceeded&) {
    return over_limit();
  }
}

ConditionalOutcome decide_in_savepoint(soci::session& session, const Decision& decision,
                                       const StatusChange& change) {
  try {
    Savepoint savepoint(session);
    const ConditionalOutcome outcome = decide(session, change, decision.condition, decision.effect);
    savepoint.release();
    return outcome;
  } catch (const EffectUnavailable&) {
    return ConditionalOutcome::effect_unavailable;
  }
}

/// In the order of their ids, so that of two groups with the same messages one waits for the other.
std::vector<std::size_t> in_message_order(const std::vector<PreparedBatch>& messages) {
  std::vector<std::size_t> order(messages.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const InboundBatch& left = *messages[a].batch;
    const InboundBatch& right = *messages[b].batch;
    return std::tie(left.source, left.message_id) < std::tie(right.source, right.message_id);
  });
  return order;
}

/// The store is away or busy, as it would be for the next write too.
bool is_transient(const std::exception_ptr& fault) {
  if (!fault) return false;
  try {
    std::rethrow_exception(fault);
  } catch (const DependencyError& error) {
    return error.transient();
  }
}

/// Calls `attempt(may_be_committed)` until it is known what became of the write.
template <class Attempt>
auto write_until_known(bool may_be_committed, const std::function<bool()>& may_try_again, Attempt&& attempt)
    -> Written<decltype(attempt(true))> {
  while (true) {
    try {
      return {attempt(may_be_committed), nullptr};
    } catch (const sql::CommitOutcomeUnknown&) {
      may_be_committed = true;
      if (!may_try_again()) return {{}, std::current_exception()};
    } catch (const DependencyError& fault) {
      const bool may_be_known_later = may_be_committed && fault.transient();
      if (!may_be_known_later || !may_try_again()) return {{}, std::current_exception()};
    }
  }
}

}  // namespace

/// The messages and decisions of a group with their ids, ready for repeated write attempts.
struct UrgentWrites::RemainingWrites {
  const WriteGroup& group;
  std::vector<PreparedBatch> messages;
  std::vector<StatusChange> decisions;  ///< their changes

  // What the last attempt found:
  std::vector<IngestResult> ingested{};
  std::vector<ConditionalOutcome> decided{};

  bool empty() const { return messages.empty() && decisions.empty(); }
  /// Gifts, new ones too, are locked first and sync marks written last, in the order of their ids (ARCH-40).
  void write(soci::session& session);

 private:
  UtcMillis now() const {
    return messages.empty() ? decisions.front().received_at : messages.front().batch->now;
  }
  void write_messages(soci::session& session, IngestEnd& end);
  void write_decisions(soci::session& session, IngestEnd& end);
};

void UrgentWrites::RemainingWrites::write(soci::session& session) {
  std::vector<std::int64_t> gifts;
  for (const StatusChange& change : decisions) gifts.push_back(change.transaction.value);
  lock_new_gifts(session, messages);
  lock_gifts(session, gifts);
  IngestEnd end;
  write_messages(session, end);
  write_decisions(session, end);
  end.write(session, now());
}

void UrgentWrites::RemainingWrites::write_messages(soci::session& session, IngestEnd& end) {
  ingested.assign(messages.size(), {});
  if (messages.empty()) return;
  const std::vector<std::optional<IngestResult>> plain = ingest_plain(session, messages, end);
  for (const std::size_t i : in_message_order(messages))
    ingested[i] = plain[i] ? *plain[i] : ingest_in_savepoint(session, messages[i], end);
}

void UrgentWrites::RemainingWrites::write_decisions(soci::session& session, IngestEnd& end) {
  decided.clear();
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    decided.push_back(decide_in_savepoint(session, group.decisions[i], decisions[i]));
    if (decided.back() == ConditionalOutcome::accepted) end.enqueue(std::span(&decisions[i].transaction, 1));
  }
}

UrgentWrites::UrgentWrites(std::shared_ptr<sql::Database> database, GiftRequests& gift_requests,
                           ChangeLog& changes, Sources& sources)
    : database_(std::move(database)), gift_requests_(gift_requests), changes_(changes), sources_(sources) {}

UrgentWrites::RemainingWrites UrgentWrites::prepare(const WriteGroup& group) {
  RemainingWrites others{group, {}, {}};
  for (const InboundBatch& message : group.messages) others.messages.push_back(sources_.prepare(message));
  for (const Decision& decision : group.decisions) others.decisions.push_back(decision.change);
  others.decisions = changes_.with_ids(others.decisions);
  return others;
}

GroupOutcomes UrgentWrites::write(const WriteGroup& group, const std::function<bool()>& may_try_again) {
  try {
    RemainingWrites others = prepare(group);
    return write_prepared(group, others, may_try_again);
  } catch (const DependencyError&) {
    const std::exception_ptr fault = std::current_exception();
    GroupOutcomes outcomes;
    outcomes.gift_requests.assign(group.gift_requests.size(), {{}, fault});
    outcomes.messages.assign(group.messages.size(), {{}, fault});
    outcomes.decisions.assign(group.decisions.size(), {{}, fault});
    return outcomes;
  }
}

GroupOutcomes UrgentWrites::write_prepared(const WriteGroup& group, RemainingWrites& others,
                                           const std::function<bool()>& may_try_again) {
  using Commit = GiftRequests::GroupOutcome::Commit;
  GiftRequests::OtherWrites write_others;
  if (!others.empty()) write_others = [&](soci::session& session) { others.write(session); };
  GiftRequests::GroupOutcome written = gift_requests_.create_with(group.gift_requests, write_others);
  GroupOutcomes outcomes;
  for (CreateOutcome& outcome : written.requests)
    outcomes.gift_requests.push_back({std::move(outcome), nullptr});
  // Once there is no time left, no caller waits any more.
  const std::function<bool()> has_time = [&, is_out_of_time = false]() mutable {
    is_out_of_time = is_out_of_time || !may_try_again();
    return !is_out_of_time;
  };
  if (written.commit == Commit::done) {
    for (IngestResult& result : others.ingested) outcomes.messages.push_back({std::move(result), nullptr});
    for (const ConditionalOutcome outcome : others.decided) outcomes.decisions.push_back({outcome, nullptr});
  } else {
    write_each(others, written.commit == Commit::unknown, has_time, outcomes);
  }
  resolve_gift_requests(group, has_time, outcomes);
  return outcomes;
}

void UrgentWrites::write_each(const RemainingWrites& others, bool may_be_committed,
                              const std::function<bool()>& may_try_again, GroupOutcomes& outcomes) {
  // While the store is away or busy, each further member would hold up the writer as long as the first one.
  std::exception_ptr away;
  const auto write_one = [&](auto& written, auto&& attempt) {
    if (away) {
      written.push_back({{}, away});
      return;
    }
    written.push_back(write_until_known(may_be_committed, may_try_again, attempt));
    if (is_transient(written.back().fault)) away = written.back().fault;
  };
  // A message that was committed is known by its id, and its changes by themselves.
  for (const PreparedBatch& message : others.messages)
    write_one(outcomes.messages, [&](bool) { return sources_.accept(*message.batch); });
  for (std::size_t i = 0; i < others.decisions.size(); ++i) {
    const Decision& decision = others.group.decisions[i];
    const StatusChange& change = others.decisions[i];
    write_one(outcomes.decisions, [&](bool is_maybe_committed) {
      if (is_maybe_committed && changes_.is_stored(change.id)) return ConditionalOutcome::accepted;
      const ConditionalOutcome outcome = changes_.decide_alone(change, decision.condition, decision.effect);
      // The lost commit may have become visible while this decision waited for its gift.
      const bool is_own =
          is_maybe_committed && outcome == ConditionalOutcome::refused && changes_.is_stored(change.id);
      return is_own ? ConditionalOutcome::accepted : outcome;
    });
  }
}

/// A "failed" response for a gift that was committed would make the caller send it again.
void UrgentWrites::resolve_gift_requests(const WriteGroup& group, const std::function<bool()>& may_try_again,
                                         GroupOutcomes& outcomes) {
  for (std::size_t i = 0; i < group.gift_requests.size(); ++i) {
    CreateOutcome& outcome = outcomes.gift_requests[i].outcome;
    while (outcome.kind == CreateOutcome::Kind::unknown) {
      outcome = gift_requests_.resolve_unknown(group.gift_requests[i], outcome);
      if (outcome.kind == CreateOutcome::Kind::unknown && !may_try_again()) return;
    }
  }
}

}  // namespace giftsync::store
