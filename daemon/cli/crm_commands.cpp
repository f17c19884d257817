#include <fmt/format.h>
#include <sysexits.h>

#include <chrono>
#include <memory>
#include <thread>

#include "daemon/cli/commands.h"
#include "daemon/cli/csv_reader.h"
#include "daemon/cli/input_file.h"
#include "daemon/cli/progress.h"
#include "daemon/crm_of_settings.h"
#include "daemon/store_address.h"
#include "schema/sql_crm/managed_import.h"

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
  const std::size_t rows = result.inserted + result.updated + result.unchanged + result.refused.size();
  console.out << fmt::format("{}: {} rows: {} new, {} changed, {} unchanged, {} refused\n", object, rows,
                             result.inserted, result.updated, result.unchanged, result.refused.size());
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
  schema::ManagedImport import(store_address(place.settings.store), *schema::import_object_from_word(object),
                               header->cells);
  const std::string fault = each_row(input, [&](const CsvRow& row) { import.survey(row.cells); });
  if (!fault.empty()) return nothing_imported(console, {fault}, input.name());
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

/// Everything that a start of the daemon would look at.
int check(const Console& console, const Installation& place) {
  const CrmCheck found = check_crm(place.settings);
  for (const std::string& warning : found.warnings) console.note(warning);
  for (const std::string& fault : found.faults)
    console.fail(EX_CONFIG, fmt::format("{}: {}", place.settings.file, fault));
  if (!found.faults.empty()) return EX_CONFIG;
  console.out << fmt::format("{}: every table and column that the settings name is there\n",
                             crm_place(place.settings));
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
                    "Look whether the CRM has every table and column that the settings name, "
                    "as giftsyncd does at its start, and name what is missing, unusable or slow.",
                    {"crm check"});
  commands.run(look, [](const Console& console, Installation& place) { return check(console, place); });
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
