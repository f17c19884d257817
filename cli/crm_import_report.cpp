#include "cli/crm_import_report.h"

#include <fmt/format.h>

#include "cli/text_table.h"
#include "platform/plural.h"

namespace giftsync::cli {
namespace {

std::string plural(std::string_view type) {
  return type == "date and time" ? "times" : fmt::format("{}s", type);
}

/// "contacts.csv: Priority__c is text from now on, because line 10 has "high" ...".
std::string text_field_text(const schema::crm::TextField& field, const ImportedFile& file) {
  const std::string place = field.line > 0 ? fmt::format("line {}", field.line)
                                           : fmt::format("{} {}", file.object, printable(field.id));
  const char* state = !field.is_new ? "stays text" : file.dry_run ? "would be text" : "is text from now on";
  return fmt::format(
      "{}: {} {}, because {} has \"{}\", while most values are {}{}. To make it a {}: correct or empty that "
      "value and import the column again.",
      file.name, printable(field.field), state, place, printable(field.value), plural(field.most),
      field.most == "number" ? ", which are ordered as text now, 10 before 9" : "", field.most);
}

std::string type_change_text(const schema::crm::TypeChange& change, const ImportedFile& file) {
  return fmt::format("custom field {} {} a {}, because all its values are", printable(change.field),
                     file.dry_run ? "would be" : "is from now on", change.type);
}

}  // namespace

void print_import_report(const Console& console, const schema::crm::ImportResult& result,
                         const ImportedFile& file) {
  for (const auto& row : result.refused)
    console.info(fmt::format("{}:{}: {}", file.name, row.line, row.reason));
  for (const schema::crm::TextField& field : result.text_fields) console.info(text_field_text(field, file));
  for (const schema::crm::TypeChange& change : result.type_changes)
    console.info(type_change_text(change, file));
  for (const std::string& field : result.kept_as_text) {
    console.info(fmt::format("custom field {} stays text: an index or a view of the database uses it",
                             printable(field)));
  }
  const std::size_t rows =
      result.inserted + result.updated + result.unchanged + result.deleted + result.refused.size();
  console.out << fmt::format("{}: {}: {} new, {} changed, {} unchanged, {} refused{}\n", file.object,
                             platform::pluralize(rows, "row"), result.inserted, result.updated,
                             result.unchanged, result.refused.size(),
                             file.dry_run ? ". Nothing was written." : "");
  if (result.deleted > 0) {
    console.info(fmt::format(
        "{} {} deleted (IsDeleted is true) and {} not stored; {} of the CRM {} removed",
        platform::pluralize(result.deleted, "row"), platform::plural_verb(result.deleted, "is", "are"),
        platform::plural_verb(result.deleted, "is", "are"), platform::pluralize(result.removed, "row"),
        file.dry_run ? "would be" : platform::plural_verb(result.removed, "was", "were")));
  }
  if (result.duplicate_ids > 0) {
    console.info(
        fmt::format("{} of the refused rows {} an Id that an earlier line of the file has; only the "
                    "first row of an Id is imported",
                    result.duplicate_ids, platform::plural_verb(result.duplicate_ids, "has", "have")));
  }
}

}  // namespace giftsync::cli
