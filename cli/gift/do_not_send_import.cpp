// `do-not-send import`: entries from a CSV file, or the addresses of people whom the CRM has marked
// (GUARD-4). One transaction.
#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "cli/command_audit.h"
#include "cli/commands.h"
#include "cli/gift/do_not_send_csv.h"
#include "cli/input_file.h"
#include "cli/listing.h"
#include "crm/row_reader.h"
#include "daemon/wiring/database_config.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "schema/contact_normalization.h"
#include "sync/access/sending_policy.h"

namespace giftsync::cli {
namespace {

using store::DoNotSendEntry;

/// Who added the entries of the CRM.
constexpr const char* kCrmActor = "crm";

struct ImportOptions {
  std::string path;
  std::string crm_field;
  bool dry_run = false;
  bool yes = false;
};

std::string counted_entries(std::size_t count) {
  return fmt::format("{} {}", count, plural_verb(count, "entry", "entries"));
}

/// "3 entries of list.csv: 2 blocked, 1 opted_out"
std::string summary_of(const std::vector<DoNotSendEntry>& entries, const std::string& source) {
  std::map<DoNotSendReason, std::size_t> counts;
  for (const DoNotSendEntry& entry : entries) ++counts[entry.reason];
  std::string reasons;
  for (const auto& [reason, count] : counts)
    reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", count, to_word(reason));
  return fmt::format("{} of {}: {}", counted_entries(entries.size()), source, reasons);
}

int add_all(const Console& console, CliContext& ctx, const ImportOptions& options,
            const std::vector<DoNotSendEntry>& entries, const std::string& source) {
  if (options.dry_run) {
    console.out << summary_of(entries, source) << "; nothing was imported\n";
    return EX_OK;
  }
  audit_object(console, "", summary_of(entries, source));
  const std::int64_t changed = ctx.store.do_not_send.add(entries, {});
  console.out << fmt::format("{}: {} new or changed, {} unchanged\n", counted_entries(entries.size()),
                             changed, static_cast<std::int64_t>(entries.size()) - changed);
  return EX_OK;
}

int import_file(const Console& console, CliContext& ctx, const ImportOptions& options) {
  auto input = InputFile::open(options.path, console);
  if (!input) return console.fail(input.error());
  const DoNotSendCsv file = parse_do_not_send_csv(input->stream(), input->name(), console.now());
  if (file.fault_count > 0) {
    for (const std::string& fault : file.faults) console.info(fault);
    if (file.fault_count > file.faults.size())
      console.info(fmt::format("and {} more", file.fault_count - file.faults.size()));
    return console.fail(EX_DATAERR, fmt::format("{} in {}; nothing was imported",
                                                pluralize(file.fault_count, "fault"), input->name()));
  }
  // A dry run changes nothing that would have to be confirmed.
  if (const auto refused = refuse_top_level(console, options.yes || options.dry_run, file.entries))
    return *refused;
  return add_all(console, ctx, options, file.entries, input->name());
}

// From the CRM.

struct CrmField {
  std::string object;  ///< "contact" or "lead"
  std::string field;   ///< as it was written
};

std::optional<CrmField> crm_field_of(const std::string& text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string::npos || dot + 1 == text.size()) return std::nullopt;
  const std::string object = ascii_lower(text.substr(0, dot));
  if (object != "contact" && object != "lead") return std::nullopt;
  return CrmField{object, text.substr(dot + 1)};
}

/// The row's field whatever its case: an admin's own column has the name that the database gives it.
const std::optional<std::string>* find_value(const crm::CrmRow& row, const std::string& field) {
  for (const auto& [name, value] : row.fields)
    if (ascii_lower(name) == ascii_lower(field)) return &value;
  return nullptr;
}

bool is_true(const std::optional<std::string>& value) {
  constexpr std::array<std::string_view, 5> kTrue{"true", "t", "1", "yes", "y"};
  const std::string word = ascii_lower(trimmed(value.value_or("")));
  return std::find(kTrue.begin(), kTrue.end(), word) != kTrue.end();
}

struct MarkedPeople {
  std::size_t rows = 0;
  std::size_t marked = 0;
  std::size_t unusable = 0;             ///< addresses that are none
  std::set<std::string> patterns = {};  ///< of all addresses of the marked ones
};

/// Reads all rows. Refuses a field that the rows do not have.
tl::expected<MarkedPeople, Refusal> read_marked(crm::RowReader& reader, std::size_t page_rows,
                                                const CrmField& wanted,
                                                const std::vector<std::string>& email_fields) {
  MarkedPeople found;
  std::string after;
  while (true) {
    const std::vector<crm::CrmRow> page = reader.page(wanted.object, after, page_rows);
    for (const crm::CrmRow& row : page) {
      const auto* value = find_value(row, wanted.field);
      if (value == nullptr)
        return tl::unexpected(Refusal{
            EX_DATAERR,
            {fmt::format(
                "--crm-field: the CRM's {} has no field {}; \"giftsyncctl crm show {} {}\" lists its "
                "fields",
                wanted.object, in_quotes(wanted.field), wanted.object, shell_word(printable(row.id)))}});
      ++found.rows;
      if (!is_true(*value)) continue;
      ++found.marked;
      for (const std::string& field : email_fields) {
        const std::string email = row.text(field);
        if (trimmed(email).empty()) continue;
        if (email_error(email))
          ++found.unusable;
        else
          found.patterns.insert(email_key(email));
      }
    }
    if (page.size() < page_rows) return found;
    after = page.back().id;
  }
}

int import_from_crm(const Console& console, CliContext& ctx, const ImportOptions& options) {
  const auto wanted = crm_field_of(options.crm_field);
  if (!wanted)
    return console.fail(EX_USAGE,
                        fmt::format("--crm-field: found {}; allowed: contact.FIELD or lead.FIELD, such as "
                                    "contact.HasOptedOutOfEmail",
                                    in_quotes(options.crm_field)));
  const crm::MatchFields fields = wiring::match_fields(ctx.settings.matching);
  const auto people = read_marked(*ctx.crm->rows(), ctx.crm->pace().rows_per_read, *wanted,
                                  (wanted->object == "contact" ? fields.contact : fields.lead).email_fields);
  if (!people) return console.fail(people.error());
  console.info(fmt::format("{} read, {} of them marked by {}.", pluralize(people->rows, wanted->object),
                           people->marked, wanted->field));
  if (people->unusable > 0)
    console.info(fmt::format("{} of them {} no e-mail address and {} left out.",
                             pluralize(people->unusable, "value"), plural_verb(people->unusable, "is", "are"),
                             plural_verb(people->unusable, "is", "are")));
  if (people->patterns.size() > kMaxImportedEntries)
    return console.fail(EX_DATAERR,
                        fmt::format("found {} addresses; allowed: at most {}; nothing was imported",
                                    people->patterns.size(), kMaxImportedEntries));
  std::vector<DoNotSendEntry> entries;
  for (const std::string& pattern : people->patterns) {
    DoNotSendEntry entry;
    entry.pattern = pattern;
    entry.reason = DoNotSendReason::opted_out;
    // The same in each run, so that a repeated one changes nothing.
    entry.comment = wanted->object + "." + wanted->field;
    entry.added_by = kCrmActor;
    entries.push_back(std::move(entry));
  }
  if (entries.empty()) {
    console.info("No address is to be added.");
    return EX_OK;
  }
  return add_all(console, ctx, options, entries, "the CRM's " + wanted->object + "." + wanted->field);
}

int import_entries(const Console& console, CliContext& ctx, const ImportOptions& options) {
  if (options.path.empty() == options.crm_field.empty())
    return console.fail(EX_USAGE, "give either a file, or --crm-field with a field of the CRM");
  return options.path.empty() ? import_from_crm(console, ctx, options) : import_file(console, ctx, options);
}

}  // namespace

void add_do_not_send_import_command(Commands& commands, Command& do_not_send) {
  const auto options = std::make_shared<ImportOptions>();
  Command* verb = commands.verb(
      do_not_send, "import",
      "Add entries from a CSV file. A file with a fault is refused whole, with a list of the faults. A "
      "reason "
      "is blocked, opted_out, complained or bounced, and blocked where the cell is empty. Of a pattern with "
      "several reasons the strongest counts. With --crm-field add, as opted_out, the addresses of the CRM's "
      "contacts or leads whose field is true; entries whose field is false later stay until they are "
      "removed.",
      {"do-not-send import list.csv --dry-run", "do-not-send import - < list.csv",
       "do-not-send import --crm-field contact.HasOptedOutOfEmail"});
  Option* path = verb->add_option("FILE", options->path,
                                  "CSV with the column pattern and optionally reason,comment,expires_at; - "
                                  "reads stdin");
  verb->add_option("--crm-field", options->crm_field,
                   "Read the CRM's rows: contact or lead, a dot, the API name of a field without prefix and "
                   "suffix")
      ->option_text("OBJECT.FIELD")
      ->excludes(path);
  verb->add_flag("--dry-run", options->dry_run, "Only check and count; nothing is imported");
  add_yes_flag(*verb, options->yes);
  commands.run(verb, options, import_entries);
}

}  // namespace giftsync::cli
