#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <memory>
#include <thread>

#include "cli/command_audit.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/crm/crm_import_report.h"
#include "cli/crm/crm_org_commands.h"
#include "cli/csv_reader.h"
#include "cli/input_file.h"
#include "cli/listing.h"
#include "crm/row_import.h"
#include "daemon/wiring/crm_config.h"
#include "daemon/wiring/database_config.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "schema/contact_normalization.h"

namespace giftsync::cli {
namespace {

/// SQLite does not queue writers: another process retries every few milliseconds.
constexpr std::chrono::milliseconds kPauseBetweenBatches{5};

const std::vector<std::string> kObjects{"contact",
                                        "lead",
                                        "account",
                                        "opportunity",
                                        "opportunity_contact_role",
                                        "user",
                                        "permission_set_assignment"};

struct ImportOptions {
  std::string object;
  std::string path;
  std::vector<std::string> names;
  bool dry_run = false;
};

/// Compares as SQL does: without case.
bool has_name(const std::vector<std::string>& names, std::string_view name) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& one) { return ascii_lower(trimmed(one)) == ascii_lower(name); });
}

/// Names the columns. Returns the header's faults, or that there is none, as "FILE:LINE: ...".
std::vector<std::string> header_faults(std::optional<CsvRow>& header, const CsvReader& reader,
                                       const std::string& name, const ImportOptions& options,
                                       const std::string& program) {
  if (!reader.fault().empty()) return {reader.fault()};
  if (!header)
    return {fmt::format("{}:1: found an empty file; allowed: a header line such as Id,Email,Phone", name)};
  std::vector<std::string> faults = apply_names(options.names, header->cells);
  const bool is_named = faults.empty();
  if (is_named) faults = crm::import_header_faults(header->cells);
  const auto suggested = suggested_names(*crm::parse_import_object(options.object), header->cells);
  if (is_named && !faults.empty() && !suggested.empty()) {
    std::string command =
        fmt::format("{}crm import --object {} {}", program, options.object, shell_word(options.path));
    for (const auto& names : {options.names, suggested}) {
      for (const std::string& one : names) command += " --map " + shell_word(one);
    }
    const bool has_id = has_name(header->cells, "Id") ||
                        std::any_of(suggested.begin(), suggested.end(),
                                    [](const std::string& one) { return one.ends_with("=Id"); });
    faults.push_back(
        has_id ? "a label of a report needs the name of its field; next: " + command
               : "a label of a report needs the name of its field; next, with the label of the column that "
                 "identifies the rows for LABEL: " +
                     command + " --map LABEL=Id");
  }
  for (std::string& fault : faults) fault = fmt::format("{}:{}: {}", name, header->line, fault);
  return faults;
}

/// The standard column that a misspelt name probably means; empty when none is close.
std::string suggested_column(const std::string& name, const std::vector<std::string>& standard) {
  std::vector<std::string> lower;
  for (const std::string& one : standard) lower.push_back(ascii_lower(one));
  const auto found = std::find(lower.begin(), lower.end(), suggestion_for(ascii_lower(name), lower));
  return found == lower.end() ? std::string() : standard[static_cast<std::size_t>(found - lower.begin())];
}

/// Names custom fields that are new or look misspelt: the import cannot tell a typing error from a custom
/// field.
void print_custom_fields(const Console& console, crm::ImportObject object,
                         const std::vector<std::string>& header, crm::RowImport& import) {
  const std::vector<std::string> new_columns = import.new_columns();
  const std::vector<std::string> standard = crm::standard_columns(object);
  std::vector<std::string> absent;
  std::copy_if(standard.begin(), standard.end(), std::back_inserter(absent),
               [&](const std::string& name) { return !has_name(header, name); });
  for (const std::string& cell : header) {
    const std::string name(trimmed(cell));
    if (has_name(standard, name)) continue;
    const bool is_new = has_name(new_columns, name);
    std::string meant = field_of_label(object, name);
    if (!has_name(absent, meant)) meant = suggested_column(name, absent);
    if (!is_new && meant.empty()) continue;
    std::vector<std::string> remarks;
    if (is_new) remarks.emplace_back(import.detected_type(name));
    if (!meant.empty()) remarks.push_back(fmt::format("did you mean {}?", meant));
    console.info(fmt::format("{}custom field: {} ({})", is_new ? "new " : "", printable(name),
                             fmt::join(remarks, "; ")));
  }
}

/// Names and counts incomplete e-mail addresses. They are stored, as the CRM has them, but match no one.
class EmailCheck {
 public:
  explicit EmailCheck(const std::vector<std::string>& header) {
    for (std::size_t i = 0; i < header.size(); ++i) {
      const std::string name = crm::import_column(header[i]);
      if (name.ends_with("email") || name.ends_with("email__c")) columns_.emplace_back(i, trimmed(header[i]));
    }
  }
  void check(const Console& console, const std::string& file, const CsvRow& row) {
    for (const auto& [at, name] : columns_) {
      if (at >= row.cells.size()) continue;
      const std::string_view email = trimmed(row.cells[at]);
      const bool has_no_dot = email.find('.', email.find('@')) == std::string_view::npos;
      if (email.empty() || (!has_no_dot && !email_error(email))) continue;
      if (++count_ <= kMaxNamed)
        console.info(fmt::format("{}:{}: {} holds {}, which is not a complete e-mail address", file, row.line,
                                 printable(name), in_quotes(email)));
    }
  }
  void print(const Console& console) const {
    if (count_ > 0)
      console.info(
          fmt::format("incomplete e-mail addresses: {}; their rows are imported, but gifts to the complete "
                      "address do not match them",
                      count_));
  }

 private:
  static constexpr std::size_t kMaxNamed = 20;
  std::vector<std::pair<std::size_t, std::string>> columns_;
  std::size_t count_ = 0;
};

/// Counts the values of a column that are none of its kind: they are stored, but no recipient matches them.
class ValueCheck {
 public:
  using IsValid = std::function<bool(std::string_view)>;
  ValueCheck(const std::vector<std::string>& header, std::string field, std::string kind, IsValid is_valid)
      : field_(std::move(field)), kind_(std::move(kind)), is_valid_(std::move(is_valid)) {
    for (std::size_t i = 0; i < header.size(); ++i) {
      if (crm::import_column(header[i]) == ascii_lower(field_)) at_ = i;
    }
  }
  void check(const CsvRow& row) {
    if (!at_ || *at_ >= row.cells.size()) return;
    const std::string_view value = trimmed(row.cells[*at_]);
    if (value.empty() || is_valid_(value)) return;
    if (count_++ == 0) first_line_ = row.line;
  }
  void print(const Console& console, const std::string& file) const {
    if (count_ == 0) return;
    console.info(
        fmt::format("{}:{}: {} is not {}; rows with such a value are imported, but never match by {}: {}",
                    file, first_line_, field_, kind_, field_, count_));
  }

 private:
  std::string field_;
  std::string kind_;
  IsValid is_valid_;
  std::optional<std::size_t> at_;
  std::size_t count_ = 0;
  std::size_t first_line_ = 0;
};

/// The phone fields that matching compares.
std::vector<ValueCheck> value_checks(const CliContext& ctx, crm::ImportObject object,
                                     const std::vector<std::string>& header) {
  std::vector<ValueCheck> checks;
  const crm::MatchFields fields = wiring::match_fields(ctx.settings.matching);
  std::vector<std::string> phones;
  if (object == crm::ImportObject::contact) phones = fields.contact.phone_fields;
  if (object == crm::ImportObject::lead) phones = fields.lead.phone_fields;
  for (const std::string& phone : phones)
    checks.emplace_back(
        header, phone,
        fmt::format("a valid phone number in the region {} (matching.default_region), or fills "
                    "the field, as 000-000-0000 does",
                    fields.default_region),
        [region = fields.default_region](std::string_view value) {
          return !phone_key(value, region).empty();
        });
  return checks;
}

/// Calls `each` with every row below the header. Returns the reader's fault, empty for none.
template <class Each>
std::string each_row(InputFile& input, Each&& each) {
  input.rewind();
  CsvReader reader(input.stream(), input.name());
  reader.next();
  while (const auto row = reader.next()) each(*row);
  return reader.fault();
}

int nothing_imported(const Console& console, const std::vector<std::string>& faults,
                     const std::string& name) {
  for (const std::string& fault : faults) console.info(fault);
  return console.fail(EX_DATAERR, fmt::format("nothing was imported from {}", name));
}

int import_rows(const Console& console, CliContext& ctx, const ImportOptions& options) {
  if (!wiring::crm_capabilities(ctx.settings).imports_rows) {
    return console.fail(EX_CONFIG, fmt::format("{}: {}; giftsync imports rows into the built-in CRM only",
                                               ctx.settings.file, wiring::no_package_clause(ctx.settings)));
  }
  auto opened = InputFile::open(options.path, console);
  if (!opened) return console.fail(opened.error());
  InputFile& input = *opened;
  if (!input.make_rewindable()) {
    return console.fail(
        EX_IOERR, fmt::format("{}: cannot copy stdin into the folder for temporary files; import from a file",
                              input.name()));
  }
  CsvReader first(input.stream(), input.name());
  auto header = first.next();
  if (const auto faults = header_faults(header, first, input.name(), options, program_with(ctx.settings));
      !faults.empty()) {
    return nothing_imported(console, faults, input.name());
  }
  const crm::ImportObject kind = *crm::parse_import_object(options.object);
  const std::unique_ptr<crm::RowImport> import = wiring::open_row_import(
      ctx.settings, kind, header->cells, options.dry_run ? crm::ImportMode::plan : crm::ImportMode::write);
  EmailCheck emails(header->cells);
  std::vector<ValueCheck> checks = value_checks(ctx, kind, header->cells);
  const std::string fault = each_row(input, [&](const CsvRow& row) {
    import->detect_types(row.line, row.cells);
    emails.check(console, input.name(), row);
    for (ValueCheck& check : checks) check.check(row);
  });
  if (!fault.empty()) return nothing_imported(console, {fault}, input.name());
  print_custom_fields(console, kind, header->cells, *import);
  emails.print(console);
  for (const ValueCheck& check : checks) check.print(console, input.name());
  InputProgress progress(console, input.bytes());
  std::uint64_t bytes = 0;
  each_row(input, [&](const CsvRow& row) {
    // The batch held the write lock: let other writers take it now.
    if (import->add(row.line, row.cells) && !options.dry_run)
      std::this_thread::sleep_for(kPauseBetweenBatches);
    for (const std::string& cell : row.cells) bytes += cell.size() + 1;
    progress.update(row.line, bytes);
  });
  progress.clear();
  const crm::ImportResult result = import->finish();
  audit_total(console, fmt::format("{} inserted, {} updated, {} unchanged, {} refused", result.inserted,
                                   result.updated, result.unchanged, result.refused.size()));
  print_import_report(console, result, {options.object, input.name(), options.dry_run});
  if (!options.dry_run) retry_failed_requests(console, ctx);
  return result.refused.empty() ? EX_OK : EX_DATAERR;
}

Check label_and_name() {
  return {[](const std::string& text) {
            const std::size_t end = text.rfind('=');
            const bool is_pair = end != std::string::npos && end > 0 && end + 1 < text.size();
            return is_pair ? std::string()
                           : in_quotes(text) + " is not LABEL=NAME, such as \"Contact ID=Id\"";
          },
          "LABEL=NAME"};
}

/// For the help.
std::string standard_columns_text() {
  constexpr std::size_t kWidth = 100;
  std::string text = "Standard columns; all others become custom fields:";
  for (const std::string& object : kObjects) {
    std::string line = "\n  " + object + ":";
    for (const std::string& name : crm::standard_columns(*crm::parse_import_object(object))) {
      if (line.size() - line.rfind('\n') + name.size() > kWidth) line += "\n   ";
      line += " " + name + ",";
    }
    line.pop_back();
    text += line;
  }
  return text + "\nPermissionSetName is Standard_User or Admin.";
}

struct CheckOptions {
  bool json = false;
  bool proves = false;
};

/// The checks of a daemon start; of an org of Salesforce more, which a start does without.
int check(const Console& console, const CliContext& ctx, const CheckOptions& options) {
  const bool json = options.json;
  const bool is_org = wiring::crm_capabilities(ctx.settings).is_remote;
  if (options.proves && !is_org) return console.fail(EX_USAGE, "--prove needs crm.type: salesforce");
  if (options.proves) return prove_crm_org(console, ctx.settings, json);
  if (is_org) return check_crm_org(console, ctx.settings, json);
  wiring::CrmCheck found = wiring::check_crm(ctx.settings);
  if (found.faults.empty()) found.faults = wiring::crm_user_faults(ctx.settings);
  if (json) {
    const Json report{{"crm", wiring::crm_location(ctx.settings)},
                      {"good", found.faults.empty()},
                      {"faults", found.faults},
                      {"warnings", found.warnings()},
                      {"deletion_marks", found.deletion_marks}};
    console.out << json_text(report, 2) << '\n';
    return found.faults.empty() ? EX_OK : EX_CONFIG;
  }
  for (const std::string& warning : found.warnings()) console.info(warning);
  if (!found.faults.empty()) return console.fail(refuse_faults(ctx.settings, found.faults));
  for (const std::string& mark : found.deletion_marks) console.out << mark << '\n';
  console.out << fmt::format(
      "{}: has every table and column that the settings name{}\n", wiring::crm_location(ctx.settings),
      ctx.settings.crm.backend == config::StoreBackend::postgresql ? ", and the rights to them" : "");
  return EX_OK;
}

}  // namespace

void add_crm_commands(Commands& commands) {
  Command* noun = commands.noun("crm", "The CRM: check it against the settings, import and list rows");
  Command* check_verb = commands.verb(
      *noun, "check",
      "Check that the CRM has every table and column that the settings name, and the rights to "
      "use them, as giftsyncd does at its start. Lists what is missing, unusable or slow. Of an org of "
      "Salesforce: objects, fields, permissions, rules and calls, each finding with its remedy.",
      {"crm check", "crm check --json", "crm check --prove"});
  const auto check_options = std::make_shared<CheckOptions>();
  check_verb->add_flag(
      "--json", check_options->json,
      "Print JSON: good, faults, warnings, deletion_marks; of an org also mode and findings");
  check_verb->add_flag(
      "--prove", check_options->proves,
      "In a sandbox or a Developer Edition org of Salesforce: make records, try on them what "
      "giftsync believes of Salesforce, and delete them");
  commands.run(check_verb, check_options, check);
  const auto options = std::make_shared<ImportOptions>();
  Command* verb = commands.verb(
      *noun, "import",
      "Import rows of the built-in CRM from a CSV file with a header line of API names (Id,Email,Phone,...). "
      "Inserts or updates by Id: an absent column stays unchanged, an empty cell clears the field. A row "
      "whose IsDeleted is true is deleted. Unknown columns become custom fields. Refused rows are listed by "
      "line; the others are "
      "imported.",
      {"crm import --object contact contacts.csv", "crm import --object contact contacts.csv --dry-run",
       "crm import --object user - < users.csv"});
  verb->footer += "\n\n" + standard_columns_text();
  verb->add_option("--object", options->object,
                   "What the rows are: " + fmt::format("{}", fmt::join(kObjects, ", ")))
      ->required()
      ->option_text("OBJECT REQUIRED")
      ->check(one_of(kObjects));
  verb->add_option("FILE", options->path, "The CSV file; - reads stdin")->required();
  verb->add_option("--map", options->names,
                   "Read the column with this label as this field, e.g. \"Contact ID=Id\"; can be repeated")
      ->option_text("LABEL=NAME")
      ->one_word_each()
      ->check(label_and_name());
  verb->add_flag("--dry-run", options->dry_run, "Show what would be imported and write nothing");
  commands.run(verb, options, import_rows);
  add_crm_setup_command(commands, *noun);
  add_crm_row_commands(commands, *noun);
  add_crm_retry_command(commands, *noun);
  add_crm_message_commands(commands, *noun);
  add_crm_org_commands(commands, *noun);
}

}  // namespace giftsync::cli
