#include "sync/crm/status_log_backfill.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "platform/text.h"

namespace giftsync::sync {
namespace {

constexpr const char* kSource = "status_log";
constexpr UtcMillis kYear2000{946'684'800'000};

/// What one batch reads of the log.
struct LogPage {
  std::vector<crm::StatusLogGroup> spans;  ///< of whole gifts
  TransactionId last;
  bool done = false;
};

/// The log's statuses of one gift.
struct LoggedGift {
  TransactionId transaction;
  StatusTimes times;  ///< the time of each status that counts
  std::array<std::int64_t, kAllStatuses.size()> rows{};
};

bool uses_latest_time(Status status) {
  return status == Status::delivered || status == Status::undelivered;
}

std::optional<Status> status_of(const std::string& word) {
  if (const auto status = status_from_word(word)) return status;
  return status_from_word(ascii_lower(giftsync::trimmed(word)));
}

/// A change that fills a time of a gift in the store.
struct PlannedChange {
  store::StatusChange change;
  std::int64_t rows = 0;  ///< of the log
};

struct FillPlan {
  std::vector<PlannedChange> changes;
  std::vector<crm::GiftStatusTimes> direct;  ///< of gifts that the store does not know
};

/// In another order the walk would not terminate.
void check_order(const std::vector<crm::StatusLogGroup>& spans, TransactionId after) {
  TransactionId before = after;
  for (const crm::StatusLogGroup& group : spans) {
    const bool is_first = &group == &spans.front();
    if (group.transaction < before || (is_first && group.transaction == before))
      throw DependencyError(false, "the status log does not come in the order of its gifts: " +
                                       std::to_string(group.transaction.value) + " came after " +
                                       std::to_string(before.value) +
                                       "; crm.status_log.transaction_id must name a column of whole numbers");
    before = group.transaction;
  }
}

LogPage read_log(crm::LegacyStatusLog& log, TransactionId after, UtcMillis now) {
  LogPage page;
  // The last gift may continue on the next page and is left to it, unless it is the only one.
  for (std::size_t limit = kLogSpansPerBatch;; limit *= 2) {
    page.spans = log.spans(after, limit, kYear2000, now + kDayMillis);
    page.done = page.spans.size() < limit;
    check_order(page.spans, after);
    if (page.spans.empty()) return page;
    if (page.done || page.spans.front().transaction != page.spans.back().transaction) break;
    if (limit >= kMaxLogSpansPerGift)
      throw DependencyError(false, "the status log has more than " + std::to_string(kMaxLogSpansPerGift) +
                                       " different statuses for gift " +
                                       std::to_string(page.spans.front().transaction.value) +
                                       "; crm.status_log.status must name the column with the status");
  }
  if (!page.done) {
    const TransactionId last = page.spans.back().transaction;
    std::erase_if(page.spans, [&](const crm::StatusLogGroup& group) { return group.transaction == last; });
  }
  page.last = page.spans.back().transaction;
  return page;
}

void add(LoggedGift& gift, Status status, const crm::StatusLogGroup& group) {
  gift.rows[static_cast<std::size_t>(status)] += group.rows - group.implausible;
  std::optional<UtcMillis>& time = gift.times[status];
  if (uses_latest_time(status)) {
    if (group.latest && (!time || *time < *group.latest)) time = group.latest;
  } else if (group.earliest && (!time || *group.earliest < *time)) {
    time = group.earliest;
  }
}

/// By gift; counts the rows that cannot be used.
std::vector<LoggedGift> aggregate(const std::vector<crm::StatusLogGroup>& spans, StatusLogBatch& batch) {
  std::vector<LoggedGift> logged;
  for (const crm::StatusLogGroup& group : spans) {
    if (logged.empty() || logged.back().transaction != group.transaction)
      logged.push_back({group.transaction, {}, {}});
    const std::optional<Status> status = status_of(group.status_text);
    if (!status) {
      batch.rows.unknown_word += group.rows;
      batch.unknown_words[group.status_text] += group.rows;
      continue;
    }
    batch.rows.implausible += group.implausible;
    add(logged.back(), *status, group);
  }
  return logged;
}

/// The times that the log has and that record and store lack. `state` is null for a gift that the store does
/// not know.
StatusTimes missing_of(const crm::GiftRecords& gift_records, const StatusTimes& logged,
                       const StatusTimes& record, const store::TransactionState* state) {
  StatusTimes missing;
  for (const Status status : kAllStatuses) {
    // The store's times have precedence over the CRM's.
    const bool known = state ? record[status] || state->times[status] || status == Status::sent
                             : record[status] || !gift_records.has_field(time_field_of(status));
    if (!known) missing[status] = logged[status];
  }
  std::optional<UtcMillis>& redeemed = missing[Status::redeemed];
  std::optional<UtcMillis>& donated = missing[Status::donated];
  const auto has = [&](Status status) { return record[status] || (state && state->times[status]); };
  if (has(Status::redeemed)) donated.reset();
  if (has(Status::donated)) redeemed.reset();
  if (redeemed && donated) (*redeemed <= *donated ? donated : redeemed).reset();
  return missing;
}

/// Plans what fills `missing`, and counts the log's rows.
void plan_fill(const LoggedGift& gift, const StatusTimes& missing, const store::TransactionState* state,
               UtcMillis now, FillPlan& plan, StatusLogBatch& batch) {
  const std::size_t filled_before = batch.filled.size();
  for (const Status status : kAllStatuses) {
    const std::int64_t rows = gift.rows[static_cast<std::size_t>(status)];
    (missing[status] ? batch.rows.used : batch.rows.not_needed) += rows;
    if (!missing[status]) continue;
    batch.filled.push_back({gift.transaction, status, *missing[status]});
    if (!state) continue;
    PlannedChange& planned = plan.changes.emplace_back(
        PlannedChange{{{}, kSource, gift.transaction, status, *missing[status], now, {}}, rows});
    planned.change.gift_source = state->gift_source;
  }
  if (batch.filled.size() == filled_before) return;
  ++batch.gifts;
  if (!state) plan.direct.push_back({gift.transaction, missing});
}

FillPlan plan_fills(store::BackfillStore& backfill, crm::GiftRecords& gift_records,
                    const std::vector<LoggedGift>& logged, UtcMillis now, StatusLogBatch& batch) {
  std::vector<TransactionId> ids;
  for (const LoggedGift& gift : logged) ids.push_back(gift.transaction);
  std::unordered_map<TransactionId, store::TransactionState> states;
  for (store::TransactionState& state : backfill.find_states(ids))
    states[state.transaction] = std::move(state);
  std::unordered_map<TransactionId, StatusTimes> records;
  for (const crm::GiftStatusTimes& found : gift_records.find_status_times(ids))
    records[found.transaction] = found.times;
  FillPlan plan;
  for (const LoggedGift& gift : logged) {
    const auto record = records.find(gift.transaction);
    if (record == records.end()) {
      for (const std::int64_t rows : gift.rows) batch.rows.no_record += rows;
      continue;
    }
    const auto found = states.find(gift.transaction);
    const store::TransactionState* state = found == states.end() ? nullptr : &found->second;
    plan_fill(gift, missing_of(gift_records, gift.times, record->second, state), state, now, plan, batch);
  }
  return plan;
}

/// Corrects the counts by the changes that are in the change log already, voided or not written yet: they
/// fill nothing now.
void accept(store::ChangeLog& log, const std::vector<PlannedChange>& planned, StatusLogBatch& batch) {
  if (planned.empty()) return;
  std::vector<store::StatusChange> changes;
  for (const PlannedChange& planned_change : planned) changes.push_back(planned_change.change);
  const std::vector<store::AcceptOutcome> outcomes = log.accept(changes);
  std::unordered_set<TransactionId> attempted;
  std::unordered_set<TransactionId> written;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const store::StatusChange& change = changes[i];
    attempted.insert(change.transaction);
    if (outcomes[i] == store::AcceptOutcome::accepted) {
      written.insert(change.transaction);
      continue;
    }
    batch.rows.used -= planned[i].rows;
    batch.rows.not_needed += planned[i].rows;
    std::erase_if(batch.filled, [&](const FilledTime& filled_time) {
      return filled_time.transaction == change.transaction && filled_time.status == change.status;
    });
  }
  batch.to_write.assign(written.begin(), written.end());
  // gifts of which no change was accepted
  batch.gifts -= static_cast<std::int64_t>(attempted.size() - written.size());
}

}  // namespace

StatusLogBatch backfill_status_log(store::BackfillStore& backfill, store::ChangeLog& changes,
                                   crm::GiftRecords& records, crm::LegacyStatusLog& log, TransactionId after,
                                   bool dry_run, UtcMillis now) {
  const LogPage page = read_log(log, after, now);
  StatusLogBatch batch;
  batch.last = page.last;
  batch.done = page.done;
  const FillPlan plan = plan_fills(backfill, records, aggregate(page.spans, batch), now, batch);
  if (!dry_run) {
    accept(changes, plan.changes, batch);
    records.fill_status_times(plan.direct);
  }
  return batch;
}

}  // namespace giftsync::sync
