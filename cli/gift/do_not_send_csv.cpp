#include "cli/gift/do_not_send_csv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unordered_map>

#include "cli/csv_reader.h"
#include "cli/day_or_time.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "sync/access/sending_policy.h"

namespace giftsync::cli {
namespace {

using store::DoNotSendEntry;

const std::vector<std::string> kRequired{"pattern"};
const std::vector<std::string> kOptional{"reason", "comment", "expires_at"};

class CsvParser {
 public:
  CsvParser(std::istream& in, std::string name, UtcMillis now)
      : csv_(in, name), name_(std::move(name)), now_(now) {}

  DoNotSendCsv parse() {
    if (!read_header()) return std::move(file_);
    while (const auto row = csv_.next()) {
      if (file_.entries.size() == kMaxImportedEntries) {
        add_fault(row->line, fmt::format("found more than {} entries; allowed: at most as many in one file",
                                         kMaxImportedEntries));
        return std::move(file_);
      }
      read_row(*row);
    }
    if (!csv_.fault().empty()) add_text(csv_.fault());
    if (file_.fault_count == 0 && file_.entries.empty())
      add_fault(1, "found no entries below the header; allowed: one or more");
    return std::move(file_);
  }

 private:
  void add_text(std::string text) {
    if (++file_.fault_count <= DoNotSendCsv::kMaxListedFaults) file_.faults.push_back(std::move(text));
  }
  void add_fault(std::size_t line, const std::string& what) {
    add_text(fmt::format("{}:{}: {}", name_, line, what));
  }

  bool read_header() {
    const auto header = csv_.next();
    if (!header) {
      if (!csv_.fault().empty())
        add_text(csv_.fault());
      else
        add_fault(1, fmt::format("found an empty file; allowed: a header line with {},{}",
                                 fmt::join(kRequired, ","), fmt::join(kOptional, ",")));
      return false;
    }
    header_ = read_csv_header(header->cells, kRequired, kOptional);
    for (const std::string& fault : header_.faults) add_fault(header->line, fault);
    return file_.fault_count == 0;
  }

  void read_row(const CsvRow& row) {
    if (const auto fault = header_.row_fault(row.cells)) return add_fault(row.line, *fault);
    const std::size_t faults_before = file_.fault_count;
    DoNotSendEntry entry;
    const std::string written = header_.cell(row.cells, "pattern");
    if (const auto pattern = sync::do_not_send_pattern(written))
      entry.pattern = *pattern;
    else
      add_fault(row.line, fmt::format("pattern: found {}, which {}", in_quotes(written), pattern.error()));
    const std::string word = ascii_lower(header_.cell(row.cells, "reason"));
    if (const auto reason = do_not_send_reason_from_word(word); reason || word.empty())
      entry.reason = reason.value_or(DoNotSendReason::blocked);
    else
      add_fault(row.line, fmt::format("reason: found {}; allowed: {}, or nothing for blocked",
                                      in_quotes(word), fmt::join(do_not_send_reasons(), ", ")));
    entry.comment = header_.cell(row.cells, "comment");
    if (const auto fault = sync::do_not_send_comment_error(entry.comment))
      add_fault(row.line, fmt::format("comment: found {}, which {}", in_quotes(entry.comment), *fault));
    if (const std::string end = header_.cell(row.cells, "expires_at"); !end.empty()) {
      const auto read = read_entry_end(end, now_);
      if (read) entry.expires_at = *read;
      if (!read) add_fault(row.line, "expires_at: " + read.error());
    }
    if (file_.fault_count == faults_before) keep(row.line, std::move(entry));
  }

  void keep(std::size_t line, DoNotSendEntry entry) {
    const auto [known, is_new] = place_of_.emplace(entry.pattern, file_.entries.size());
    if (is_new) {
      lines_.push_back(line);
      entry.added_by = os_user();
      file_.entries.push_back(std::move(entry));
      return;
    }
    const DoNotSendEntry& other = file_.entries[known->second];
    if (other.reason != entry.reason || other.comment != entry.comment ||
        other.expires_at != entry.expires_at)
      add_fault(line, fmt::format("pattern: found {} again with another content; line {} has it first; "
                                  "allowed: each pattern once",
                                  entry.pattern, lines_[known->second]));
  }

  CsvReader csv_;
  const std::string name_;
  const UtcMillis now_;
  CsvHeader header_;
  std::unordered_map<std::string, std::size_t> place_of_;  // in the entries, by pattern
  std::vector<std::size_t> lines_;                         // of the entries
  DoNotSendCsv file_;
};

}  // namespace

std::vector<std::string> do_not_send_reasons() {
  std::vector<std::string> words;
  for (const DoNotSendReason reason : kAllDoNotSendReasons) words.emplace_back(to_word(reason));
  return words;
}

DoNotSendCsv parse_do_not_send_csv(std::istream& in, const std::string& name, UtcMillis now) {
  return CsvParser(in, name, now).parse();
}

tl::expected<UtcMillis, std::string> read_entry_end(const std::string& text, UtcMillis now) {
  const auto end = from_rfc3339(is_day(text) ? text + "T00:00:00Z" : text);
  if (!end)
    return tl::unexpected(
        fmt::format("found {}; allowed: a day such as 2027-01-31, or a time such as 2027-01-31T08:00:00Z",
                    in_quotes(text)));
  if (*end <= now)
    return tl::unexpected(fmt::format("found {}, which has passed; allowed: a later day or time", text));
  return *end;
}

std::optional<int> refuse_top_level(const Console& console, bool yes,
                                    const std::vector<DoNotSendEntry>& entries) {
  constexpr std::size_t kMaxNamed = 10;
  std::size_t count = 0;
  std::string named;
  for (const DoNotSendEntry& entry : entries) {
    if (!sync::is_top_level_pattern(entry.pattern)) continue;
    if (++count <= kMaxNamed) named += (named.empty() ? "" : ", ") + entry.pattern;
  }
  if (count == 0) return std::nullopt;
  if (count > kMaxNamed) named += fmt::format(" and {} more", count - kMaxNamed);
  return refuse_unconfirmed(console, yes, fmt::format("Send no gifts to any address below {}?", named), "");
}

}  // namespace giftsync::cli
