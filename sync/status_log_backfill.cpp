#include "sync/status_log_backfill.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "schema/text.h"

namespace giftsync::sync {
namespace {

using schema::BrokenWorld;
using schema::RecordTimes;
using schema::Status;
using schema::StatusLogSpan;
using schema::StatusTimes;
using schema::TransactionId;
using schema::UtcMillis;

constexpr const char* kSource = "status_log";
constexpr UtcMillis kYear2000{946'684'800'000};

/// What the log says of one gift.
struct LoggedGift {
  TransactionId transaction;
  StatusTimes times;  ///< the one of each status that counts
  std::array<std::int64_t, schema::kAllStatuses.size()> rows{};
};

bool is_latest_wanted(Status status) {
  return status == Status::delivered || status == Status::undelivered;
}

std::optional<Status> status_of(const std::string& word) {
  if (const auto status = schema::status_from_word(word)) return status;
  return schema::status_from_word(schema::ascii_lower(schema::trimmed(word)));
}

class Chunk {
 public:
  Chunk(schema::Store& store, schema::Crm& crm, TransactionId after, bool dry_run, UtcMillis now)
      : store_(store), crm_(crm), after_(after), dry_run_(dry_run), now_(now) {}

  StatusLogChunk run() {
    sum_up(read_spans());
    load();
    for (const LoggedGift& gift : logged_) plan(gift);
    if (!dry_run_) {
      accept();
      crm_.fill_record_times(direct_);
    }
    return std::move(chunk_);
  }

 private:
  std::vector<StatusLogSpan> read_spans() {
    std::vector<StatusLogSpan> spans = read_spans(kLogSpansAChunk);
    // The last gift may go on beyond the page; it is left to the next one, unless it is alone.
    for (std::size_t limit = kLogSpansAChunk; !chunk_.done && is_of_one_gift(spans); limit *= 2) {
      if (limit >= kLogSpansAGiftMax)
        throw BrokenWorld(false, "the status log has more than " + std::to_string(kLogSpansAGiftMax) +
                                     " different words for gift " +
                                     std::to_string(spans.front().transaction.value) +
                                     "; crm.status_log.status must name the column with the status");
      spans = read_spans(limit * 2);
    }
    if (spans.empty()) return spans;
    if (!chunk_.done) {
      const TransactionId last = spans.back().transaction;
      std::erase_if(spans, [&](const StatusLogSpan& span) { return span.transaction == last; });
    }
    chunk_.last = spans.back().transaction;
    return spans;
  }

  std::vector<StatusLogSpan> read_spans(std::size_t limit) {
    std::vector<StatusLogSpan> spans = crm_.status_log(after_, limit, kYear2000, now_ + schema::kDayMillis);
    chunk_.done = spans.size() < limit;
    check_order(spans);
    return spans;
  }

  static bool is_of_one_gift(const std::vector<StatusLogSpan>& spans) {
    return !spans.empty() && spans.front().transaction == spans.back().transaction;
  }

  /// In another order the walk would go round in circles.
  void check_order(const std::vector<StatusLogSpan>& spans) const {
    TransactionId before = after_;
    for (const StatusLogSpan& span : spans) {
      const bool is_first = &span == &spans.front();
      if (span.transaction < before || (is_first && span.transaction == before))
        throw BrokenWorld(false, "the status log does not come in the order of its gifts: " +
                                     std::to_string(span.transaction.value) + " came after " +
                                     std::to_string(before.value) +
                                     "; crm.status_log.transaction_id must name a column of whole numbers");
      before = span.transaction;
    }
  }

  void sum_up(const std::vector<StatusLogSpan>& spans) {
    for (const StatusLogSpan& span : spans) {
      if (logged_.empty() || logged_.back().transaction != span.transaction)
        logged_.push_back({span.transaction, {}, {}});
      const std::optional<Status> status = status_of(span.word);
      if (!status) {
        chunk_.rows.unknown_word += span.rows;
        chunk_.unknown_words[span.word] += span.rows;
        continue;
      }
      chunk_.rows.unbelievable += span.unbelievable;
      add(logged_.back(), *status, span);
    }
  }

  static void add(LoggedGift& gift, Status status, const StatusLogSpan& span) {
    gift.rows[static_cast<std::size_t>(status)] += span.rows - span.unbelievable;
    std::optional<UtcMillis>& time = gift.times[status];
    if (is_latest_wanted(status)) {
      if (span.latest && (!time || *time < *span.latest)) time = span.latest;
    } else if (span.earliest && (!time || *span.earliest < *time)) {
      time = span.earliest;
    }
  }

  void load() {
    std::vector<TransactionId> ids;
    for (const LoggedGift& gift : logged_) ids.push_back(gift.transaction);
    for (schema::GiftState& state : store_.backfill.states(ids))
      states_[state.transaction] = std::move(state);
    for (const RecordTimes& one : crm_.record_times(ids)) records_[one.transaction] = one.times;
  }

  void plan(const LoggedGift& gift) {
    const auto record = records_.find(gift.transaction);
    if (record == records_.end()) {
      for (const std::int64_t rows : gift.rows) chunk_.rows.no_record += rows;
      return;
    }
    const auto state = states_.find(gift.transaction);
    const StatusTimes wanted =
        missing_of(gift.times, record->second, state == states_.end() ? nullptr : &state->second);
    bool any = false;
    for (const Status status : schema::kAllStatuses) {
      const std::int64_t rows = gift.rows[static_cast<std::size_t>(status)];
      (wanted[status] ? chunk_.rows.used : chunk_.rows.not_needed) += rows;
      if (!wanted[status]) continue;
      any = true;
      chunk_.filled.push_back({gift.transaction, status, *wanted[status]});
      if (state != states_.end()) report(state->second, status, *wanted[status], rows);
    }
    if (!any) return;
    ++chunk_.gifts;
    if (state == states_.end()) direct_.push_back({gift.transaction, wanted});
  }

  /// What the log has and the record, and the store if it knows the gift, has not.
  StatusTimes missing_of(const StatusTimes& logged, const StatusTimes& record,
                         const schema::GiftState* state) const {
    StatusTimes missing;
    for (const Status status : schema::kAllStatuses) {
      // What the store knows it keeps, wherever the CRM would have it.
      const bool known = state ? record[status] || state->times[status] || status == Status::sent
                               : record[status] || !crm_.has_field(time_field_of(status));
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

  void report(const schema::GiftState& state, Status status, UtcMillis time, std::int64_t rows) {
    schema::StatusChange change{{}, kSource, state.transaction, status, time, now_, {}};
    change.origin = state.origin;
    changes_.push_back(std::move(change));
    rows_of_changes_.push_back(rows);
  }

  void accept() {
    if (changes_.empty()) return;
    const std::vector<schema::AcceptOutcome> outcomes = store_.changes.accept(changes_);
    std::unordered_set<TransactionId> written;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (outcomes[i] == schema::AcceptOutcome::accepted)
        written.insert(changes_[i].transaction);
      else
        take_back(i);
    }
    chunk_.to_write.assign(written.begin(), written.end());
    // Those of which nothing was accepted.
    std::unordered_set<TransactionId> asked;
    for (const schema::StatusChange& change : changes_) asked.insert(change.transaction);
    chunk_.gifts -= static_cast<std::int64_t>(asked.size() - written.size());
  }

  /// It was reported before, and voided or not written yet: nothing is filled by it now.
  void take_back(std::size_t i) {
    chunk_.rows.used -= rows_of_changes_[i];
    chunk_.rows.not_needed += rows_of_changes_[i];
    std::erase_if(chunk_.filled, [&](const FilledTime& one) {
      return one.transaction == changes_[i].transaction && one.status == changes_[i].status;
    });
  }

  schema::Store& store_;
  schema::Crm& crm_;
  const TransactionId after_;
  const bool dry_run_;
  const UtcMillis now_;
  StatusLogChunk chunk_;
  std::vector<LoggedGift> logged_;
  std::unordered_map<TransactionId, schema::GiftState> states_;
  std::unordered_map<TransactionId, StatusTimes> records_;
  std::vector<RecordTimes> direct_;
  std::vector<schema::StatusChange> changes_;
  std::vector<std::int64_t> rows_of_changes_;
};

}  // namespace

StatusLogChunk backfill_status_log(schema::Store& store, schema::Crm& crm, TransactionId after, bool dry_run,
                                   UtcMillis now) {
  return Chunk(store, crm, after, dry_run, now).run();
}

}  // namespace giftsync::sync
