#include "sync/status_log_backfill.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "platform/text.h"

namespace giftsync::sync {
namespace {

constexpr const char* kSource = "status_log";
constexpr platform::UtcMillis kYear2000{946'684'800'000};

/// The log's statuses of one gift.
struct LoggedGift {
  schema::TransactionId transaction;
  schema::StatusTimes times;  ///< the time of each status that counts
  std::array<std::int64_t, schema::kAllStatuses.size()> rows{};
};

bool uses_latest_time(schema::Status status) {
  return status == schema::Status::delivered || status == schema::Status::undelivered;
}

std::optional<schema::Status> status_of(const std::string& word) {
  if (const auto status = schema::status_from_word(word)) return status;
  return schema::status_from_word(platform::ascii_lower(platform::trimmed(word)));
}

class StatusLogBackfill {
 public:
  StatusLogBackfill(schema::store::Store& store, schema::crm::GiftRecords& records,
                    schema::crm::LegacyStatusLog& log, schema::TransactionId after, bool dry_run,
                    platform::UtcMillis now)
      : store_(store), gift_records_(records), log_(log), after_(after), dry_run_(dry_run), now_(now) {}

  StatusLogBatch run() {
    aggregate(read_spans());
    load();
    for (const LoggedGift& gift : logged_) plan_fill(gift);
    if (!dry_run_) {
      accept();
      gift_records_.fill_status_times(direct_);
    }
    return std::move(batch_);
  }

 private:
  std::vector<schema::crm::StatusLogGroup> read_spans() {
    std::vector<schema::crm::StatusLogGroup> spans = read_spans(kLogSpansPerBatch);
    // The last gift may continue on the next page and is left to it, unless it is the only one.
    for (std::size_t limit = kLogSpansPerBatch; !batch_.done && is_of_one_gift(spans); limit *= 2) {
      if (limit >= kMaxLogSpansPerGift)
        throw platform::DependencyError(
            false, "the status log has more than " + std::to_string(kMaxLogSpansPerGift) +
                       " different statuses for gift " + std::to_string(spans.front().transaction.value) +
                       "; crm.status_log.status must name the column with the status");
      spans = read_spans(limit * 2);
    }
    if (spans.empty()) return spans;
    if (!batch_.done) {
      const schema::TransactionId last = spans.back().transaction;
      std::erase_if(spans,
                    [&](const schema::crm::StatusLogGroup& group) { return group.transaction == last; });
    }
    batch_.last = spans.back().transaction;
    return spans;
  }

  std::vector<schema::crm::StatusLogGroup> read_spans(std::size_t limit) {
    std::vector<schema::crm::StatusLogGroup> spans =
        log_.spans(after_, limit, kYear2000, now_ + platform::kDayMillis);
    batch_.done = spans.size() < limit;
    check_order(spans);
    return spans;
  }

  static bool is_of_one_gift(const std::vector<schema::crm::StatusLogGroup>& spans) {
    return !spans.empty() && spans.front().transaction == spans.back().transaction;
  }

  /// In another order the walk would not terminate.
  void check_order(const std::vector<schema::crm::StatusLogGroup>& spans) const {
    schema::TransactionId before = after_;
    for (const schema::crm::StatusLogGroup& group : spans) {
      const bool is_first = &group == &spans.front();
      if (group.transaction < before || (is_first && group.transaction == before))
        throw platform::DependencyError(
            false, "the status log does not come in the order of its gifts: " +
                       std::to_string(group.transaction.value) + " came after " +
                       std::to_string(before.value) +
                       "; crm.status_log.transaction_id must name a column of whole numbers");
      before = group.transaction;
    }
  }

  void aggregate(const std::vector<schema::crm::StatusLogGroup>& spans) {
    for (const schema::crm::StatusLogGroup& group : spans) {
      if (logged_.empty() || logged_.back().transaction != group.transaction)
        logged_.push_back({group.transaction, {}, {}});
      const std::optional<schema::Status> status = status_of(group.status_text);
      if (!status) {
        batch_.rows.unknown_word += group.rows;
        batch_.unknown_words[group.status_text] += group.rows;
        continue;
      }
      batch_.rows.implausible += group.implausible;
      add(logged_.back(), *status, group);
    }
  }

  static void add(LoggedGift& gift, schema::Status status, const schema::crm::StatusLogGroup& group) {
    gift.rows[static_cast<std::size_t>(status)] += group.rows - group.implausible;
    std::optional<platform::UtcMillis>& time = gift.times[status];
    if (uses_latest_time(status)) {
      if (group.latest && (!time || *time < *group.latest)) time = group.latest;
    } else if (group.earliest && (!time || *group.earliest < *time)) {
      time = group.earliest;
    }
  }

  void load() {
    std::vector<schema::TransactionId> ids;
    for (const LoggedGift& gift : logged_) ids.push_back(gift.transaction);
    for (schema::store::TransactionState& state : store_.backfill.find_states(ids))
      states_[state.transaction] = std::move(state);
    for (const schema::crm::GiftStatusTimes& one : gift_records_.find_status_times(ids))
      records_[one.transaction] = one.times;
  }

  void plan_fill(const LoggedGift& gift) {
    const auto record = records_.find(gift.transaction);
    if (record == records_.end()) {
      for (const std::int64_t rows : gift.rows) batch_.rows.no_record += rows;
      return;
    }
    const auto state = states_.find(gift.transaction);
    const schema::StatusTimes wanted =
        missing_of(gift.times, record->second, state == states_.end() ? nullptr : &state->second);
    bool any = false;
    for (const schema::Status status : schema::kAllStatuses) {
      const std::int64_t rows = gift.rows[static_cast<std::size_t>(status)];
      (wanted[status] ? batch_.rows.used : batch_.rows.not_needed) += rows;
      if (!wanted[status]) continue;
      any = true;
      batch_.filled.push_back({gift.transaction, status, *wanted[status]});
      if (state != states_.end()) add_change(state->second, status, *wanted[status], rows);
    }
    if (!any) return;
    ++batch_.gifts;
    if (state == states_.end()) direct_.push_back({gift.transaction, wanted});
  }

  /// The times that the log has and that record and store lack.
  schema::StatusTimes missing_of(const schema::StatusTimes& logged, const schema::StatusTimes& record,
                                 const schema::store::TransactionState* state) const {
    schema::StatusTimes missing;
    for (const schema::Status status : schema::kAllStatuses) {
      // The store's times have precedence over the CRM's.
      const bool known = state ? record[status] || state->times[status] || status == schema::Status::sent
                               : record[status] || !gift_records_.has_field(schema::time_field_of(status));
      if (!known) missing[status] = logged[status];
    }
    std::optional<platform::UtcMillis>& redeemed = missing[schema::Status::redeemed];
    std::optional<platform::UtcMillis>& donated = missing[schema::Status::donated];
    const auto has = [&](schema::Status status) { return record[status] || (state && state->times[status]); };
    if (has(schema::Status::redeemed)) donated.reset();
    if (has(schema::Status::donated)) redeemed.reset();
    if (redeemed && donated) (*redeemed <= *donated ? donated : redeemed).reset();
    return missing;
  }

  void add_change(const schema::store::TransactionState& state, schema::Status status,
                  platform::UtcMillis time, std::int64_t rows) {
    schema::store::StatusChange change{{}, kSource, state.transaction, status, time, now_, {}};
    change.gift_source = state.gift_source;
    changes_.push_back(std::move(change));
    rows_of_changes_.push_back(rows);
  }

  void accept() {
    if (changes_.empty()) return;
    const std::vector<schema::store::AcceptOutcome> outcomes = store_.changes.accept(changes_);
    std::unordered_set<schema::TransactionId> written;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (outcomes[i] == schema::store::AcceptOutcome::accepted)
        written.insert(changes_[i].transaction);
      else
        uncount(i);
    }
    batch_.to_write.assign(written.begin(), written.end());
    // gifts of which no change was accepted
    std::unordered_set<schema::TransactionId> attempted;
    for (const schema::store::StatusChange& change : changes_) attempted.insert(change.transaction);
    batch_.gifts -= static_cast<std::int64_t>(attempted.size() - written.size());
  }

  /// It is in the change log already, voided or not written yet: it fills nothing now.
  void uncount(std::size_t i) {
    batch_.rows.used -= rows_of_changes_[i];
    batch_.rows.not_needed += rows_of_changes_[i];
    std::erase_if(batch_.filled, [&](const FilledTime& one) {
      return one.transaction == changes_[i].transaction && one.status == changes_[i].status;
    });
  }

  schema::store::Store& store_;
  schema::crm::GiftRecords& gift_records_;
  schema::crm::LegacyStatusLog& log_;
  const schema::TransactionId after_;
  const bool dry_run_;
  const platform::UtcMillis now_;
  StatusLogBatch batch_;
  std::vector<LoggedGift> logged_;
  std::unordered_map<schema::TransactionId, schema::store::TransactionState> states_;
  std::unordered_map<schema::TransactionId, schema::StatusTimes> records_;
  std::vector<schema::crm::GiftStatusTimes> direct_;
  std::vector<schema::store::StatusChange> changes_;
  std::vector<std::int64_t> rows_of_changes_;
};

}  // namespace

StatusLogBatch backfill_status_log(schema::store::Store& store, schema::crm::GiftRecords& records,
                                   schema::crm::LegacyStatusLog& log, schema::TransactionId after,
                                   bool dry_run, platform::UtcMillis now) {
  return StatusLogBackfill(store, records, log, after, dry_run, now).run();
}

}  // namespace giftsync::sync
