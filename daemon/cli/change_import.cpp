#include "daemon/cli/change_import.h"

#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "daemon/cli/change_line.h"
#include "daemon/cli/line_reader.h"
#include "daemon/cli/progress.h"
#include "daemon/counted.h"
#include "schema/text.h"
#include "sync/delivery_rules.h"

namespace giftsync::daemon {
namespace {

using schema::AcceptOutcome;
using schema::StatusChange;

/// A slow pipe's lines do not wait for many others.
constexpr std::int64_t kLongestWaitMillis = 2000;
/// While memory is filled again and again, more changes of the same gifts are to come: meanwhile those rest.
constexpr std::int64_t kRestMillis = 120'000;
static_assert(kRestMillis <= sync::kLongestSyncRetryMillis, "a daemon would end it");

/// Changes that were read and are not accepted yet, in a fifth of the memory of StatusChange.
class ReadChanges {
 public:
  void add(std::size_t line, const StatusChange& change) {
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

  /// By gift, so that one transaction after the other touches few pages of the database; those of one gift as
  /// they were read.
  void sort() {
    std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
      return std::tie(a.transaction, a.line) < std::tie(b.transaction, b.line);
    });
  }
  std::size_t size() const { return rows_.size(); }
  std::size_t line(std::size_t at) const { return rows_[at].line; }
  StatusChange change(std::size_t at, schema::UtcMillis received_at) const {
    const Row& row = rows_[at];
    StatusChange change{{}, kImportSource, row.transaction, row.status, row.occurred_at, received_at, {}};
    if (row.event_id_bytes > 0)
      change.event_ids.push_back(event_ids_.substr(row.event_id_at, row.event_id_bytes));
    return change;
  }

 private:
  struct Row {
    schema::TransactionId transaction;
    schema::UtcMillis occurred_at;
    std::size_t line;
    std::size_t event_id_at;
    std::uint32_t event_id_bytes;
    schema::Status status;
  };
  std::vector<Row> rows_;
  std::string event_ids_;  // one after the other
};

class ChangeImport {
 public:
  ChangeImport(const Console& console, schema::Store& store, InputFile& input, std::size_t read_bytes_max)
      : console_(console),
        store_(store),
        input_(input),
        read_bytes_max_(read_bytes_max),
        progress_(console, input.bytes()) {}

  int run() {
    LineReader reader(input_.stream());
    while (const auto line = reader.next()) {
      take(*line);
      progress_.at(line->number, reader.bytes());
    }
    accept_read(0);
    if (has_resting_) store_.sync.end_rest(console_.now());
    progress_.clear();
    return report();
  }

 private:
  void take(const LineReader::Line& line) {
    if (line.too_long) {
      ++lines_;
      refuse(line.number, {fmt::format("found more than {} bytes; allowed: one change a line",
                                       LineReader::kMostLineBytes)});
      return;
    }
    if (schema::trimmed(line.text).empty()) return;
    ++lines_;
    auto read = read_change_line(line.text, console_.now());
    if (const auto* faults = std::get_if<ChangeLineFaults>(&read)) {
      refuse(line.number, *faults);
      return;
    }
    if (read_.empty()) waiting_since_ = console_.now();
    read_.add(line.number, std::get<StatusChange>(read));
    const bool is_slow_pipe =
        !input_.bytes() && console_.now().value - waiting_since_.value > kLongestWaitMillis;
    if (read_.bytes() >= read_bytes_max_)
      accept_read(kRestMillis);
    else if (is_slow_pipe)
      accept_read(0);
  }

  void say(std::size_t line, const std::string& what) {
    progress_.clear();
    console_.note(fmt::format("{}:{}: {}", input_.name(), line, what));
  }

  void refuse(std::size_t line, const ChangeLineFaults& faults) {
    ++refused_;
    for (const std::string& fault : faults) say(line, fault);
  }

  void accept_read(std::int64_t rest_millis) {
    has_resting_ = has_resting_ || rest_millis > 0;
    read_.sort();
    std::vector<StatusChange> batch;
    for (std::size_t at = 0; at < read_.size(); at += batch.size()) {
      batch.clear();
      const schema::UtcMillis now = console_.now();
      while (batch.size() < kChangesPerBatch && at + batch.size() < read_.size())
        batch.push_back(read_.change(at + batch.size(), now));
      const std::vector<AcceptOutcome> outcomes = store_.changes.accept(batch, rest_millis);
      for (std::size_t i = 0; i < outcomes.size(); ++i)
        count(outcomes[i], read_.line(at + i), batch[i].transaction);
    }
    read_.clear();
  }

  void count(AcceptOutcome outcome, std::size_t line, schema::TransactionId transaction) {
    switch (outcome) {
      case AcceptOutcome::accepted:
        ++accepted_;
        break;
      case AcceptOutcome::repeated:
        ++repeated_;
        break;
      case AcceptOutcome::held:
        if (++held_ <= kMostHeldNotes) {
          say(line, fmt::format("held: there is no transaction {} yet; the change is applied when it appears",
                                transaction.value));
        }
        break;
      case AcceptOutcome::too_many_held:
        refuse(line,
               {fmt::format(
                   "recipient_transaction_id: found {}, which is not known; allowed: known ones, since {} "
                   "changes are held already; import it again once those transactions have appeared",
                   transaction.value, schema::kMaxHeldChanges)});
        break;
      case AcceptOutcome::other_origin:
        refuse(line, {fmt::format(
                         "recipient_transaction_id: found {}, a gift that a source reports; allowed: gifts "
                         "of our own, since of a gift from outside its source is the authority",
                         transaction.value)});
        break;
    }
  }

  int report() {
    if (held_ > kMostHeldNotes) console_.note(fmt::format("... and {} more held", held_ - kMostHeldNotes));
    console_.out << fmt::format("{}: {} accepted, {} repeated, {} held, {} refused\n",
                                counted(lines_, "line"), accepted_, repeated_, held_, refused_);
    if (input_.stream().bad()) {
      return console_.fail(
          EX_IOERR,
          fmt::format("{}: cannot be read any further; import it again, repeats do no harm", input_.name()));
    }
    return refused_ == 0 ? EX_OK : EX_DATAERR;
  }

  const Console& console_;
  schema::Store& store_;
  InputFile& input_;
  const std::size_t read_bytes_max_;
  Progress progress_;
  ReadChanges read_;
  schema::UtcMillis waiting_since_;  // the first of those that were read
  bool has_resting_ = false;         // gifts whose changes are accepted and which rest
  std::size_t lines_ = 0;            // blank ones do not count
  std::size_t accepted_ = 0;
  std::size_t repeated_ = 0;
  std::size_t held_ = 0;
  std::size_t refused_ = 0;
};

}  // namespace

int import_changes(const Console& console, schema::Store& store, InputFile& input,
                   std::size_t read_bytes_max) {
  return ChangeImport(console, store, input, read_bytes_max).run();
}

}  // namespace giftsync::daemon
