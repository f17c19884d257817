#include "cli/crm/crm_import_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "cli/listing.h"
#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::cli {
namespace {

std::string plural(std::string_view type) {
  return type == "date and time" ? "times" : fmt::format("{}s", type);
}

/// "contacts.csv: Priority__c is text from now on, because line 10 has "high" ...".
std::string text_field_text(const crm::TextField& field, const ImportedFile& file) {
  const std::string place = field.line > 0 ? fmt::format("line {}", field.line)
                                           : fmt::format("{} {}", file.object, printable(field.id));
  const char* state = !field.is_new ? "stays text" : file.dry_run ? "would be text" : "is text from now on";
  return fmt::format(
      "{}: {} {}, because {} has \"{}\", while most values are {}{}. To make it a {}: correct or empty that "
      "value and import the column again.",
      file.name, printable(field.field), state, place, printable(field.value), plural(field.most),
      field.most == "number" ? ", which are ordered as text now, 10 before 9" : "", field.most);
}

std::string type_change_text(const crm::TypeChange& change, const ImportedFile& file) {
  return fmt::format("custom field {} {} a {}, because all its values are", printable(change.field),
                     file.dry_run ? "would be" : "is from now on", change.type);
}

}  // namespace

void print_import_report(const Console& console, const crm::ImportResult& result, const ImportedFile& file) {
  for (const auto& row : result.refused)
    console.info(fmt::format("{}:{}: {}", file.name, row.line, row.reason));
  for (const crm::TextField& field : result.text_fields) console.info(text_field_text(field, file));
  for (const crm::TypeChange& change : result.type_changes) console.info(type_change_text(change, file));
  for (const std::string& field : result.kept_as_text) {
    console.info(fmt::format("custom field {} stays text: an index or a view of the database uses it",
                             printable(field)));
  }
  const std::size_t rows =
      result.inserted + result.updated + result.unchanged + result.deleted + result.refused.size();
  console.out << fmt::format("{}: {}: {} new, {} changed, {} unchanged, {} refused{}\n", file.object,
                             pluralize(rows, "row"), result.inserted, result.updated, result.unchanged,
                             result.refused.size(), file.dry_run ? ". Nothing was written." : "");
  if (result.deleted > 0) {
    console.info(fmt::format("{} {} deleted (IsDeleted is true) and {} not stored; {} of the CRM {} removed",
                             pluralize(result.deleted, "row"), plural_verb(result.deleted, "is", "are"),
                             plural_verb(result.deleted, "is", "are"), pluralize(result.removed, "row"),
                             file.dry_run ? "would be" : plural_verb(result.removed, "was", "were")));
  }
  if (result.duplicate_ids > 0) {
    console.info(
        fmt::format("{} of the refused rows {} an Id that an earlier line of the file has; only the "
                    "first row of an Id is imported",
                    result.duplicate_ids, plural_verb(result.duplicate_ids, "has", "have")));
  }
}

namespace {

/// Labels that differ from their field's name by more than blanks.
const std::map<std::string, std::string, std::less<>> kFieldsByLabel{
    {"active", "IsActive"},        {"businessphone", "Phone"},   {"closed", "IsClosed"},
    {"companyaccount", "Company"}, {"converted", "IsConverted"}, {"emailaddress", "Email"},
    {"fullname", "Name"},          {"leadstatus", "Status"},     {"mobile", "MobilePhone"},
    {"primary", "IsPrimary"},      {"stage", "StageName"},       {"won", "IsWon"}};

/// What labels are compared by.
std::string key_of(std::string_view label) {
  std::string key = ascii_lower(label);
  std::erase_if(key, [](char c) { return !is_ascii_letter_or_digit(c); });
  return key.empty() ? std::string(without_blanks(label)) : key;
}

/// "Account Name" as "Account_Name".
std::string custom_name_of(std::string_view label) {
  std::string name;
  for (const char c : label) {
    if (is_ascii_letter_or_digit(c))
      name += c;
    else if (!name.empty() && !name.ends_with('_'))
      name += '_';
  }
  name.erase(name.find_last_not_of('_') + 1);
  const bool has_letter_first = !name.empty() && name.front() > '9';
  return has_letter_first ? name : "Column_" + name;
}

/// "Kontakt-ID", "ID des Kontakts".
bool has_word_id(std::string_view label) {
  std::string word;
  for (const char c : ascii_lower(label) + " ") {
    if (is_ascii_letter_or_digit(c)) {
      word += c;
      continue;
    }
    if (word == "id") return true;
    word.clear();
  }
  return false;
}

/// Besides a name's own faults a header without Id has one.
bool is_field_name(const std::string& cell) {
  return crm::import_header_faults(std::span(&cell, 1)).size() < 2;
}

}  // namespace

std::string field_of_label(crm::ImportObject object, std::string_view label) {
  std::string key = key_of(label);
  if (const auto known = kFieldsByLabel.find(key); known != kFieldsByLabel.end()) key = key_of(known->second);
  const std::string own = key_of(to_word(object));
  if (key == own + "id" || key == own + "name") key.erase(0, own.size());
  for (const std::string& name : crm::standard_columns(object)) {
    if (key_of(name) == key) return name;
  }
  return {};
}

std::vector<std::string> suggested_names(crm::ImportObject object, const std::vector<std::string>& header) {
  std::set<std::string> used;
  for (const std::string& cell : header) {
    if (is_field_name(cell)) used.insert(crm::import_column(cell));
  }
  const bool has_id =
      used.contains("id") || std::any_of(header.begin(), header.end(), [&](const std::string& cell) {
        return field_of_label(object, cell) == "Id";
      });
  // In other languages than English the column of the ids is the only one that its label shows.
  const auto id = has_id ? header.end() : std::find_if(header.begin(), header.end(), has_word_id);
  std::vector<std::string> names;
  for (const std::string& cell : header) {
    std::string name = id != header.end() && &cell == &*id ? "Id" : field_of_label(object, cell);
    if (is_field_name(cell) && (name.empty() || used.contains(ascii_lower(name)))) continue;
    if (name.empty() || !used.insert(ascii_lower(name)).second) name = custom_name_of(cell);
    names.push_back(fmt::format("{}={}", without_blanks(cell), name));
  }
  return names;
}

std::vector<std::string> apply_names(const std::vector<std::string>& names,
                                     std::vector<std::string>& header) {
  std::vector<std::string> faults;
  std::set<std::string*> named;
  for (const std::string& name : names) {
    const std::size_t end = name.rfind('=');
    const std::string key = key_of(name.substr(0, end));
    const auto found = std::find_if(header.begin(), header.end(), [&](std::string& cell) {
      return !named.contains(&cell) && key_of(cell) == key;
    });
    if (found == header.end()) {
      faults.push_back(fmt::format("--map {}: there is no such column", in_quotes(name)));
      continue;
    }
    named.insert(&*found);
    *found = name.substr(end + 1);
  }
  return faults;
}

}  // namespace giftsync::cli
