#include "cli/status/change_import.h"

#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <tuple>

#include "cli/command_audit.h"
#include "platform/lenient_json.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "sync/mail/delivery_rules.h"
#include "sync/status/status_rules.h"

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
  void add(std::size_t line, const store::StatusChange& change) {
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
  store::StatusChange change(std::size_t at, UtcMillis received_at) const {
    const Row& row = rows_[at];
    store::StatusChange change{{}, kImportSource, row.transaction, row.status, row.occurred_at, received_at,
                               {}};
    if (row.event_id_bytes > 0)
      change.event_ids.push_back(event_ids_.substr(row.event_id_at, row.event_id_bytes));
    return change;
  }

 private:
  struct Row {
    TransactionId transaction;
    UtcMillis occurred_at;
    std::size_t line;
    std::size_t event_id_at;
    std::uint32_t event_id_bytes;
    Status status;
  };
  std::vector<Row> rows_;
  std::string event_ids_;  // concatenated
};

class ChangeImport {
 public:
  ChangeImport(const Console& console, store::Store& store, InputFile& input, std::size_t max_read_bytes)
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
    if (trimmed(line.text).empty()) return;
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
    std::vector<store::StatusChange> batch;
    for (std::size_t at = 0; at < pending_.size(); at += batch.size()) {
      batch.clear();
      const UtcMillis now = console_.now();
      while (batch.size() < kChangesPerBatch && at + batch.size() < pending_.size())
        batch.push_back(pending_.change(at + batch.size(), now));
      const std::vector<store::AcceptOutcome> outcomes = store_.changes.accept(batch, delay_millis);
      for (std::size_t i = 0; i < outcomes.size(); ++i)
        count(outcomes[i], pending_.line(at + i), batch[i].transaction);
    }
    pending_.clear();
  }

  void count(store::AcceptOutcome outcome, std::size_t line, TransactionId transaction) {
    switch (outcome) {
      case store::AcceptOutcome::accepted:
        ++accepted_;
        break;
      case store::AcceptOutcome::duplicate:
        ++duplicates_;
        break;
      case store::AcceptOutcome::orphaned:
        if (++orphaned_ <= kMaxOrphanMessages) {
          print_line_message(
              line,
              fmt::format("orphaned: there is no transaction {} yet; the change is applied when it appears",
                          transaction.value));
        }
        break;
      case store::AcceptOutcome::too_many_orphaned:
        refuse(line,
               {fmt::format(
                   "recipient_transaction_id: found {}, which is not known; allowed: known ones, because {} "
                   "changes are already orphaned; import it again after those transactions have appeared",
                   transaction.value, store::kMaxOrphanedChanges)});
        break;
      case store::AcceptOutcome::other_source:
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
        fmt::format("{}: {} accepted, {} duplicates, {} orphaned, {} refused", pluralize(lines_, "line"),
                    accepted_, duplicates_, orphaned_, refused_);
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
  store::Store& store_;
  InputFile& input_;
  const std::size_t max_read_bytes_;
  InputProgress progress_;
  PendingChanges pending_;
  UtcMillis pending_since_;   // when the first of them was read
  bool has_delayed_ = false;  // some accepted changes are not synced yet
  std::size_t lines_ = 0;     // without blank lines
  std::size_t accepted_ = 0;
  std::size_t duplicates_ = 0;
  std::size_t orphaned_ = 0;
  std::size_t refused_ = 0;
};

}  // namespace

int import_changes(const Console& console, store::Store& store, InputFile& input,
                   std::size_t max_read_bytes) {
  return ChangeImport(console, store, input, max_read_bytes).run();
}

namespace {

constexpr std::size_t kMaxEventIdCodePoints = 255;

std::string found_text(const JsonValue* value) {
  if (value == nullptr) return "nothing";
  if (const auto text = value->text()) return in_quotes(*text);
  if (const auto number = value->integer()) return std::to_string(*number);
  return std::string(value->kind_name());
}

/// Why a member that is read is not what its writer meant; empty: all can be read.
std::string unreadable_member(const JsonValue& object) {
  static const std::array<JsonPointer, 4> kMembers{
      *JsonPointer::parse("/recipient_transaction_id"), *JsonPointer::parse("/status"),
      *JsonPointer::parse("/occurred_at"), *JsonPointer::parse("/event_id")};
  for (const JsonPointer& member : kMembers) {
    std::string fault = describe_unreadable_value(member, object, ValueUse::exact);
    if (!fault.empty()) return fault;
  }
  return {};
}

class ChangeParser {
 public:
  ChangeParser(const JsonValue& object, UtcMillis now) : object_(object), now_(now) {}

  tl::expected<store::StatusChange, ChangeFaults> read() {
    store::StatusChange change;
    change.source = kImportSource;
    change.received_at = now_;
    change.transaction = transaction();
    change.status = status();
    change.occurred_at = occurred_at();
    change.event_ids = event_ids();
    if (!faults_.empty()) return tl::unexpected(std::move(faults_));
    return change;
  }

 private:
  void add_fault(std::string_view member, const std::string& found, const std::string& allowed) {
    faults_.push_back(fmt::format("{}: found {}; allowed: {}", member, found, allowed));
  }

  TransactionId transaction() {
    constexpr std::string_view kMember = "recipient_transaction_id";
    const JsonValue* value = object_.find(kMember);
    std::optional<std::int64_t> id = value ? value->integer() : std::nullopt;
    if (value && value->text()) id = parse_number<std::int64_t>(*value->text());
    if (id && *id >= 1 && *id <= kMaxId) return {*id};
    add_fault(kMember, found_text(value),
              fmt::format("a whole number from 1 to {}, or a text of its digits", kMaxId));
    return {};
  }

  Status status() {
    const JsonValue* value = object_.find("status");
    const auto word = value ? value->text() : std::nullopt;
    if (const auto known = word ? status_from_word(*word) : std::nullopt) return *known;
    std::vector<std::string> names;
    for (const Status allowed : kAllStatuses) names.emplace_back(to_word(allowed));
    const std::string nearest = word ? suggestion_for(*word, names) : "";
    const std::string allowed = fmt::format("{}", fmt::join(names, ", "));
    add_fault("status", found_text(value),
              nearest.empty() ? allowed : allowed + "; did you mean " + nearest + "?");
    return Status::sent;
  }

  UtcMillis occurred_at() {
    const JsonValue* value = object_.find("occurred_at");
    const auto text = value ? value->text() : std::nullopt;
    const auto time = text ? from_iso8601(*text) : std::nullopt;
    if (!time) {
      add_fault("occurred_at", found_text(value),
                "a time with its zone (ISO 8601) such as 2026-11-21T12:31:07Z");
      return {};
    }
    if (const std::string fault = sync::time_error(*time, now_); !fault.empty()) {
      add_fault("occurred_at", fmt::format("{}, which {}", in_quotes(*text), fault),
                "2000-01-01 to 24 hours from now");
    }
    return *time;
  }

  std::vector<std::string> event_ids() {
    const JsonValue* value = object_.find("event_id");
    if (value == nullptr || value->is_null()) return {};
    if (const auto number = value->integer()) return {std::to_string(*number)};
    const auto text = value->text();
    const bool fits = text && !text->empty() && count_code_points(*text) <= kMaxEventIdCodePoints;
    if (fits) return {std::string(*text)};
    add_fault("event_id", found_text(value),
              fmt::format("a text of 1 to {} characters, or leave it out", kMaxEventIdCodePoints));
    return {};
  }

  const JsonValue& object_;
  const UtcMillis now_;
  ChangeFaults faults_;
};

}  // namespace

tl::expected<store::StatusChange, ChangeFaults> parse_change(std::string_view line, UtcMillis now) {
  auto parsed = parse_json(without_byte_order_mark(line));
  if (!parsed) parsed = parse_lenient_json(line);
  std::string fault = parsed ? unreadable_member(parsed->root()) : parsed.error().message;
  if (!fault.empty()) {
    return tl::unexpected(ChangeFaults{
        fmt::format("found what cannot be read: {}; allowed: one JSON object", std::move(fault))});
  }
  const JsonValue& root = parsed->root();
  if (!root.is_object()) {
    return tl::unexpected(ChangeFaults{fmt::format("found {}; allowed: one JSON object", root.kind_name())});
  }
  return ChangeParser(root, now).read();
}

}  // namespace giftsync::cli
