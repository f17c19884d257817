#include "cli/change_import.h"

#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "cli/change_parser.h"
#include "cli/command_audit.h"
#include "cli/line_reader.h"
#include "cli/progress.h"
#include "platform/plural.h"
#include "platform/text.h"
#include "sync/delivery_rules.h"

namespace giftsync::cli {
namespace {

/// Lines of a slow pipe are accepted after this time, even if the memory is not full.
constexpr std::int64_t kMaxWaitMillis = 2000;
/// The CRM sync of a large file's gifts is delayed, because more changes of the same gifts may follow.
constexpr std::int64_t kSyncDelayMillis = 120'000;
static_assert(kSyncDelayMillis <= sync::kMaxSyncRetryMillis, "the daemon resets longer delays");

/// Changes that are read and not accepted yet. Needs a fifth of the memory of StatusChange.
class PendingChanges {
 public:
  void add(std::size_t line, const schema::store::StatusChange& change) {
    rows_.push_back({change.transaction, change.occurred_at, line, event_ids_.size(), 0, change.status});
    if (change.event_ids.empty()) return;
    rows_.back().event_id_bytes = static_cast<std::uint32_t>(change.event_ids.front().size());
    event_ids_ += change.event_ids.front();
  }
  bool empty() const { return rows_.empty(); }
  std::size_t bytes() const { return rows_.size() * sizeof(Row) + event_ids_.size(); }
  void clear() {
    rows_.clear();
    event_ids_.clear();
  }

  /// By gift, so that each database transaction touches few pages; changes of one gift stay in the order of
  /// their lines.
  void sort() {
    std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
      return std::tie(a.transaction, a.line) < std::tie(b.transaction, b.line);
    });
  }
  std::size_t size() const { return rows_.size(); }
  std::size_t line(std::size_t at) const { return rows_[at].line; }
  schema::store::StatusChange change(std::size_t at, platform::UtcMillis received_at) const {
    const Row& row = rows_[at];
    schema::store::StatusChange change{
        {}, kImportSource, row.transaction, row.status, row.occurred_at, received_at, {}};
    if (row.event_id_bytes > 0)
      change.event_ids.push_back(event_ids_.substr(row.event_id_at, row.event_id_bytes));
    return change;
  }

 private:
  struct Row {
    schema::TransactionId transaction;
    platform::UtcMillis occurred_at;
    std::size_t line;
    std::size_t event_id_at;
    std::uint32_t event_id_bytes;
    schema::Status status;
  };
  std::vector<Row> rows_;
  std::string event_ids_;  // concatenated
};

class ChangeImport {
 public:
  ChangeImport(const Console& console, schema::store::Store& store, InputFile& input,
               std::size_t max_read_bytes)
      : console_(console),
        store_(store),
        input_(input),
        max_read_bytes_(max_read_bytes),
        progress_(console, input.bytes()) {}

  int run() {
    audit_object(console_, "");
    LineReader reader(input_.stream());
    while (const auto line = reader.next()) {
      read_line(*line);
      progress_.update(line->number, reader.bytes());
    }
    accept_pending(0);
    if (has_delayed_) store_.sync.end_debounce(console_.now());
    progress_.clear();
    return report();
  }

 private:
  void read_line(const LineReader::Line& line) {
    if (line.too_long) {
      ++lines_;
      refuse(line.number, {fmt::format("found more than {} bytes; allowed: one change per line",
                                       LineReader::kMaxLineBytes)});
      return;
    }
    if (platform::trimmed(line.text).empty()) return;
    ++lines_;
    const auto change = parse_change(line.text, console_.now());
    if (!change) {
      refuse(line.number, change.error());
      return;
    }
    if (pending_.empty()) pending_since_ = console_.now();
    pending_.add(line.number, *change);
    const bool is_slow_pipe = !input_.bytes() && console_.now().value - pending_since_.value > kMaxWaitMillis;
    if (pending_.bytes() >= max_read_bytes_)
      accept_pending(kSyncDelayMillis);
    else if (is_slow_pipe)
      accept_pending(0);
  }

  void print_line_message(std::size_t line, const std::string& what) {
    progress_.clear();
    console_.info(fmt::format("{}:{}: {}", input_.name(), line, what));
  }

  void refuse(std::size_t line, const ChangeFaults& faults) {
    ++refused_;
    for (const std::string& fault : faults) print_line_message(line, fault);
  }

  void accept_pending(std::int64_t delay_millis) {
    has_delayed_ = has_delayed_ || delay_millis > 0;
    pending_.sort();
    std::vector<schema::store::StatusChange> batch;
    for (std::size_t at = 0; at < pending_.size(); at += batch.size()) {
      batch.clear();
      const platform::UtcMillis now = console_.now();
      while (batch.size() < kChangesPerBatch && at + batch.size() < pending_.size())
        batch.push_back(pending_.change(at + batch.size(), now));
      const std::vector<schema::store::AcceptOutcome> outcomes = store_.changes.accept(batch, delay_millis);
      for (std::size_t i = 0; i < outcomes.size(); ++i)
        count(outcomes[i], pending_.line(at + i), batch[i].transaction);
    }
    pending_.clear();
  }

  void count(schema::store::AcceptOutcome outcome, std::size_t line, schema::TransactionId transaction) {
    switch (outcome) {
      case schema::store::AcceptOutcome::accepted:
        ++accepted_;
        break;
      case schema::store::AcceptOutcome::duplicate:
        ++duplicates_;
        break;
      case schema::store::AcceptOutcome::orphaned:
        if (++orphaned_ <= kMaxOrphanMessages) {
          print_line_message(
              line,
              fmt::format("orphaned: there is no transaction {} yet; the change is applied when it appears",
                          transaction.value));
        }
        break;
      case schema::store::AcceptOutcome::too_many_orphaned:
        refuse(line,
               {fmt::format(
                   "recipient_transaction_id: found {}, which is not known; allowed: known ones, because {} "
                   "changes are already orphaned; import it again after those transactions have appeared",
                   transaction.value, schema::store::kMaxOrphanedChanges)});
        break;
      case schema::store::AcceptOutcome::other_source:
        refuse(line,
               {fmt::format("recipient_transaction_id: found {}, an external gift; allowed: giftsync's own "
                            "gifts; only its source can change an external gift",
                            transaction.value)});
        break;
    }
  }

  int report() {
    if (orphaned_ > kMaxOrphanMessages)
      console_.info(fmt::format("... and {} more orphaned", orphaned_ - kMaxOrphanMessages));
    const std::string total =
        fmt::format("{}: {} accepted, {} duplicates, {} orphaned, {} refused",
                    platform::pluralize(lines_, "line"), accepted_, duplicates_, orphaned_, refused_);
    audit_total(console_, total);
    console_.out << total << '\n';
    if (input_.stream().bad()) {
      return console_.fail(
          EX_IOERR, fmt::format("{}: cannot be read further; import it again, repeated lines change nothing",
                                input_.name()));
    }
    return refused_ == 0 ? EX_OK : EX_DATAERR;
  }

  const Console& console_;
  schema::store::Store& store_;
  InputFile& input_;
  const std::size_t max_read_bytes_;
  InputProgress progress_;
  PendingChanges pending_;
  platform::UtcMillis pending_since_;  // when the first of them was read
  bool has_delayed_ = false;           // some accepted changes are not synced yet
  std::size_t lines_ = 0;              // without blank lines
  std::size_t accepted_ = 0;
  std::size_t duplicates_ = 0;
  std::size_t orphaned_ = 0;
  std::size_t refused_ = 0;
};

}  // namespace

int import_changes(const Console& console, schema::store::Store& store, InputFile& input,
                   std::size_t max_read_bytes) {
  return ChangeImport(console, store, input, max_read_bytes).run();
}

}  // namespace giftsync::cli
