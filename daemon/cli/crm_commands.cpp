#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <thread>

#include "daemon/cli/commands.h"
#include "daemon/cli/csv_reader.h"
#include "daemon/cli/input_file.h"
#include "daemon/cli/json_list.h"
#include "daemon/cli/progress.h"
#include "daemon/cli/text_table.h"
#include "daemon/counted.h"
#include "daemon/crm_of_settings.h"
#include "daemon/settings/nearest_word.h"
#include "daemon/store_address.h"
#include "schema/address.h"
#include "schema/sql_crm/managed_import.h"
#include "schema/text.h"

namespace giftsync::daemon {
namespace {

/// SQLite does not queue its writers: those of another process look again every few milliseconds.
constexpr std::chrono::milliseconds kPauseBetweenBatches{5};

const std::vector<std::string> kObjects{"contact",
                                        "lead",
                                        "account",
                                        "opportunity",
                                        "opportunity_contact_role",
                                        "user",
                                        "permission_set_assignment"};

/// The header's faults, or that there is none, as "FILE:LINE: ...".
std::vector<std::string> header_faults(const std::optional<CsvRow>& header, const CsvReader& reader,
                                       const std::string& name) {
  if (!reader.fault().empty()) return {reader.fault()};
  if (!header)
    return {fmt::format("{}:1: found an empty file; allowed: a header line such as Id,Email,Phone", name)};
  std::vector<std::string> faults;
  for (const std::string& fault : schema::import_header_faults(header->cells)) {
    faults.push_back(fmt::format("{}:{}: {}", name, header->line, fault));
  }
  return faults;
}

/// As SQL compares names.
bool has_name(const std::vector<std::string>& names, std::string_view name) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& one) {
    return schema::ascii_lower(schema::trimmed(one)) == schema::ascii_lower(name);
  });
}

/// The standard column that a custom one was probably meant to be; empty when none comes near.
std::string meant_by(const std::string& name, const std::vector<std::string>& standard) {
  std::vector<std::string> lower;
  for (const std::string& one : standard) lower.push_back(schema::ascii_lower(one));
  const auto found = std::find(lower.begin(), lower.end(), nearest_word(schema::ascii_lower(name), lower));
  return found == lower.end() ? std::string() : standard[static_cast<std::size_t>(found - lower.begin())];
}

/// A misspelt column is a custom field like any other to the import: only a person can tell.
void note_custom_fields(const Console& console, schema::ImportObject object,
                        const std::vector<std::string>& header, schema::ManagedImport& import) {
  const std::vector<std::string> fresh = import.new_columns();
  const std::vector<std::string> standard = schema::standard_columns(object);
  std::vector<std::string> absent;
  std::copy_if(standard.begin(), standard.end(), std::back_inserter(absent),
               [&](const std::string& name) { return !has_name(header, name); });
  for (const std::string& cell : header) {
    const std::string name(schema::trimmed(cell));
    if (has_name(standard, name)) continue;
    const bool is_new = has_name(fresh, name);
    const std::string meant = meant_by(name, absent);
    if (!is_new && meant.empty()) continue;
    std::vector<std::string> remarks;
    if (is_new) remarks.emplace_back(import.new_type(name));
    if (!meant.empty()) remarks.push_back(fmt::format("did you mean {}?", meant));
    console.note(fmt::format("{}custom field: {} ({})", is_new ? "new " : "", printable(name),
                             fmt::join(remarks, "; ")));
  }
}

/// Values of the standard Email that no recipient can have: they are kept, and match nobody.
class EmailFaults {
 public:
  explicit EmailFaults(const std::vector<std::string>& header) {
    for (std::size_t i = 0; i < header.size(); ++i) {
      if (schema::ascii_lower(schema::trimmed(header[i])) == "email") at_ = i;
    }
  }
  void look(const CsvRow& row) {
    if (!at_ || *at_ >= row.cells.size()) return;
    const std::string_view email = schema::trimmed(row.cells[*at_]);
    if (email.empty() || !schema::email_fault(email)) return;
    if (count_++ == 0) first_line_ = row.line;
  }
  void note(const Console& console, const std::string& file) const {
    if (count_ == 0) return;
    console.note(
        fmt::format("{}:{}: Email is no e-mail address{}; such rows are kept, but match nobody by it", file,
                    first_line_, count_ == 1 ? "" : ", nor is it in " + counted(count_ - 1, "more row")));
  }

 private:
  std::optional<std::size_t> at_;
  std::size_t count_ = 0;
  std::size_t first_line_ = 0;
};

/// Goes through the rows below the header; `each` gets every row. Gives the reader's fault, if any.
template <class Each>
std::string each_row(InputFile& input, Each&& each) {
  input.rewind();
  CsvReader reader(input.stream(), input.name());
  reader.next();
  while (const auto row = reader.next()) each(*row);
  return reader.fault();
}

int report(const Console& console, const schema::ImportResult& result, const std::string& object,
           const std::string& name) {
  for (const schema::RefusedRow& row : result.refused)
    console.note(fmt::format("{}:{}: {}", name, row.line, row.reason));
  for (const std::string& field : result.kept_text) {
    console.note(fmt::format("custom field {} stays text: an index or a view of the database stands on it",
                             printable(field)));
  }
  const std::size_t rows = result.inserted + result.updated + result.unchanged + result.refused.size();
  console.out << fmt::format("{}: {}: {} new, {} changed, {} unchanged, {} refused\n", object,
                             counted(rows, "row"), result.inserted, result.updated, result.unchanged,
                             result.refused.size());
  if (result.repeated_ids > 0) {
    console.note(
        fmt::format("{} of the refused rows {} an Id that an earlier line of the file has: the "
                    "first row of an Id counts",
                    result.repeated_ids, verb_for(result.repeated_ids, "has", "have")));
  }
  return result.refused.empty() ? EX_OK : EX_DATAERR;
}

int nothing_imported(const Console& console, const std::vector<std::string>& faults,
                     const std::string& name) {
  for (const std::string& fault : faults) console.note(fault);
  return console.fail(EX_DATAERR, fmt::format("nothing was imported from {}", name));
}

int import_rows(const Console& console, Installation& place, const std::string& object,
                const std::string& path) {
  if (place.settings.crm.is_foreign()) {
    return console.fail(EX_CONFIG,
                        fmt::format("{}: crm.connection names a CRM that someone else owns: its rows come "
                                    "from there, giftsync imports nothing into it",
                                    place.settings.file));
  }
  auto opened = InputFile::open(path, console);
  if (const auto* refusal = std::get_if<Refusal>(&opened))
    return console.fail(refusal->exit_code, refusal->lines.front());
  InputFile& input = std::get<InputFile>(opened);
  if (!input.make_rewindable()) {
    return console.fail(
        EX_IOERR, fmt::format("{}: no room for a copy in the folder for temporary files; import from a file",
                              input.name()));
  }
  CsvReader first(input.stream(), input.name());
  const auto header = first.next();
  if (const auto faults = header_faults(header, first, input.name()); !faults.empty()) {
    return nothing_imported(console, faults, input.name());
  }
  const schema::ImportObject kind = *schema::import_object_from_word(object);
  schema::ManagedImport import(store_address(place.settings.store), kind, header->cells);
  EmailFaults emails(header->cells);
  const std::string fault = each_row(input, [&](const CsvRow& row) {
    import.survey(row.cells);
    emails.look(row);
  });
  if (!fault.empty()) return nothing_imported(console, {fault}, input.name());
  note_custom_fields(console, kind, header->cells, import);
  emails.note(console, input.name());
  Progress progress(console, input.bytes());
  std::uint64_t bytes = 0;
  each_row(input, [&](const CsvRow& row) {
    // A batch held the write lock: whoever else writes to the file gets in now.
    if (import.add(row.line, row.cells)) std::this_thread::sleep_for(kPauseBetweenBatches);
    for (const std::string& cell : row.cells) bytes += cell.size() + 1;
    progress.at(row.line, bytes);
  });
  progress.clear();
  return report(console, import.finish(), object, input.name());
}

/// For the help.
std::string standard_columns_text() {
  constexpr std::size_t kWidth = 100;
  std::string text = "Standard columns; all others become custom fields:";
  for (const std::string& object : kObjects) {
    std::string line = "\n  " + object + ":";
    for (const std::string& name : schema::standard_columns(*schema::import_object_from_word(object))) {
      if (line.size() - line.rfind('\n') + name.size() > kWidth) line += "\n   ";
      line += " " + name + ",";
    }
    line.pop_back();
    text += line;
  }
  return text + "\nPermissionSetName is Standard_User or Admin.";
}

/// Everything that a start of the daemon would look at.
int check(const Console& console, const Installation& place, bool json) {
  const CrmCheck found = check_crm(place.settings);
  if (json) {
    const Json report{{"crm", crm_place(place.settings)},
                      {"good", found.faults.empty()},
                      {"faults", found.faults},
                      {"warnings", found.warnings()}};
    console.out << json_text(report, 2) << '\n';
    return found.faults.empty() ? EX_OK : EX_CONFIG;
  }
  for (const std::string& warning : found.warnings()) console.note(warning);
  if (!found.faults.empty()) return refuse(console, refuse_faults(place.settings, found.faults));
  console.out << fmt::format(
      "{}: every table and column that the settings name is there{}\n", crm_place(place.settings),
      place.settings.crm.backend == StoreBackend::postgresql ? ", with the rights to them" : "");
  return EX_OK;
}

}  // namespace

void add_crm_commands(Commands& commands) {
  struct Words {
    std::string object;
    std::string path;
  };
  CLI::App* noun = commands.noun("crm", "The CRM: its rows, and whether it suits the settings");
  CLI::App* look =
      commands.verb(*noun, "check",
                    "Look whether the CRM has every table and column that the settings name, and the "
                    "rights to work with them, "
                    "as giftsyncd does at its start, and name what is missing, unusable or slow.",
                    {"crm check", "crm check --json"});
  const auto json = std::make_shared<bool>(false);
  look->add_flag("--json", *json, "Print JSON: good, faults, warnings");
  commands.run(look,
               [json](const Console& console, Installation& place) { return check(console, place, *json); });
  const auto words = std::make_shared<Words>();
  CLI::App* verb = commands.verb(
      *noun, "import",
      "Bring the managed CRM's records in from a CSV file with a header line of API names "
      "(Id,Email,Phone,...). Rows are "
      "inserted or "
      "updated by Id: an absent column stays as it is, an empty cell clears the field, nothing is deleted. "
      "Unknown columns "
      "become custom fields. Rows that are refused are listed by line; the others are imported.",
      {"crm import --object contact contacts.csv", "crm import --object user - < users.csv"});
  verb->footer(verb->get_footer() + "\n\n" + standard_columns_text());
  verb->add_option("--object", words->object,
                   "What the rows are: " + fmt::format("{}", fmt::join(kObjects, ", ")))
      ->required()
      ->option_text("OBJECT REQUIRED")
      ->check(one_of(kObjects));
  verb->add_option("FILE", words->path, "The CSV file; - reads stdin")->required();
  commands.run(verb, [words](const Console& console, Installation& place) {
    return import_rows(console, place, words->object, words->path);
  });
}

}  // namespace giftsync::daemon
