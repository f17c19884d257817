#include "daemon/cli/change_import.h"

#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "daemon/cli/change_line.h"
#include "daemon/cli/line_reader.h"
#include "daemon/cli/progress.h"
#include "schema/text.h"

namespace giftsync::daemon {
namespace {

using schema::AcceptOutcome;
using schema::StatusChange;

/// Lines that are read before any of them is accepted: some ten MiB without event ids.
constexpr std::size_t kChangesInMemory = 50'000;
/// A slow pipe's lines do not wait for so many.
constexpr std::int64_t kLongestWaitMillis = 2000;

struct ReadLine {
  std::size_t number;
  StatusChange change;
};

class ChangeImport {
 public:
  ChangeImport(const Console& console, schema::ChangeLog& log, InputFile& input)
      : console_(console), log_(log), input_(input), progress_(console, input.bytes()) {}

  int run() {
    LineReader reader(input_.stream());
    while (const auto line = reader.next()) {
      take(*line);
      progress_.at(line->number, reader.bytes());
    }
    accept_read();
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
    read_.push_back({line.number, std::move(std::get<StatusChange>(read))});
    const bool waits = console_.now().value - read_.front().change.received_at.value > kLongestWaitMillis;
    if (waits || read_.size() == kChangesInMemory) accept_read();
  }

  void say(std::size_t line, const std::string& what) {
    progress_.clear();
    console_.note(fmt::format("{}:{}: {}", input_.name(), line, what));
  }

  void refuse(std::size_t line, const ChangeLineFaults& faults) {
    ++refused_;
    for (const std::string& fault : faults) say(line, fault);
  }

  /// In the order of their gifts, so that one transaction after the other touches few pages of the database.
  void accept_read() {
    std::stable_sort(read_.begin(), read_.end(), [](const ReadLine& a, const ReadLine& b) {
      return a.change.transaction < b.change.transaction;
    });
    for (std::size_t at = 0; at < read_.size(); at += kChangesPerBatch)
      accept(std::span(read_).subspan(at, std::min(kChangesPerBatch, read_.size() - at)));
    read_.clear();
  }

  void accept(std::span<ReadLine> lines) {
    std::vector<StatusChange> changes;
    changes.reserve(lines.size());
    for (ReadLine& line : lines) changes.push_back(std::move(line.change));
    const std::vector<AcceptOutcome> outcomes = log_.accept(changes);
    for (std::size_t i = 0; i < outcomes.size(); ++i) count(outcomes[i], lines[i].number, changes[i]);
  }

  void count(AcceptOutcome outcome, std::size_t line, const StatusChange& change) {
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
                                change.transaction.value));
        }
        break;
      case AcceptOutcome::too_many_held:
        refuse(line,
               {fmt::format(
                   "recipient_transaction_id: found {}, which is not known; allowed: known ones, since {} "
                   "changes are held already; import it again once those transactions have appeared",
                   change.transaction.value, schema::kMaxHeldChanges)});
        break;
      case AcceptOutcome::other_origin:
        refuse(line, {fmt::format(
                         "recipient_transaction_id: found {}, a gift that a source reports; allowed: gifts "
                         "of our own, since of a gift from outside its source is the authority",
                         change.transaction.value)});
        break;
    }
  }

  int report() {
    if (held_ > kMostHeldNotes) console_.note(fmt::format("... and {} more held", held_ - kMostHeldNotes));
    console_.out << fmt::format("{} lines: {} accepted, {} repeated, {} held, {} refused\n", lines_,
                                accepted_, repeated_, held_, refused_);
    if (input_.stream().bad()) {
      return console_.fail(
          EX_IOERR,
          fmt::format("{}: cannot be read any further; import it again, repeats do no harm", input_.name()));
    }
    return refused_ == 0 ? EX_OK : EX_DATAERR;
  }

  const Console& console_;
  schema::ChangeLog& log_;
  InputFile& input_;
  Progress progress_;
  std::vector<ReadLine> read_;  // and not accepted yet
  std::size_t lines_ = 0;       // blank ones do not count
  std::size_t accepted_ = 0;
  std::size_t repeated_ = 0;
  std::size_t held_ = 0;
  std::size_t refused_ = 0;
};

}  // namespace

int import_changes(const Console& console, schema::ChangeLog& log, InputFile& input) {
  return ChangeImport(console, log, input).run();
}

}  // namespace giftsync::daemon
