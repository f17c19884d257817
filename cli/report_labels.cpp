#include "cli/report_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "platform/quoted_text.h"
#include "platform/spreadsheet_text.h"
#include "platform/text.h"

namespace giftsync::cli {
namespace {

/// Labels that differ from their field's name by more than blanks.
const std::map<std::string, std::string, std::less<>> kFieldsByLabel{
    {"active", "IsActive"},        {"businessphone", "Phone"},   {"closed", "IsClosed"},
    {"companyaccount", "Company"}, {"converted", "IsConverted"}, {"emailaddress", "Email"},
    {"fullname", "Name"},          {"leadstatus", "Status"},     {"mobile", "MobilePhone"},
    {"primary", "IsPrimary"},      {"stage", "StageName"},       {"won", "IsWon"}};

/// What labels are compared by.
std::string key_of(std::string_view label) {
  std::string key = platform::ascii_lower(label);
  std::erase_if(key, [](char c) { return !platform::is_ascii_letter_or_digit(c); });
  return key.empty() ? std::string(platform::without_blanks(label)) : key;
}

/// "Account Name" as "Account_Name".
std::string custom_name_of(std::string_view label) {
  std::string name;
  for (const char c : label) {
    if (platform::is_ascii_letter_or_digit(c))
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
  for (const char c : platform::ascii_lower(label) + " ") {
    if (platform::is_ascii_letter_or_digit(c)) {
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
  return schema::crm::import_header_faults(std::span(&cell, 1)).size() < 2;
}

}  // namespace

std::string field_of_label(schema::crm::ImportObject object, std::string_view label) {
  std::string key = key_of(label);
  if (const auto known = kFieldsByLabel.find(key); known != kFieldsByLabel.end()) key = key_of(known->second);
  const std::string own = key_of(to_word(object));
  if (key == own + "id" || key == own + "name") key.erase(0, own.size());
  for (const std::string& name : schema::crm::standard_columns(object)) {
    if (key_of(name) == key) return name;
  }
  return {};
}

std::vector<std::string> suggested_names(schema::crm::ImportObject object,
                                         const std::vector<std::string>& header) {
  std::set<std::string> used;
  for (const std::string& cell : header) {
    if (is_field_name(cell)) used.insert(schema::crm::import_column(cell));
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
    if (is_field_name(cell) && (name.empty() || used.contains(platform::ascii_lower(name)))) continue;
    if (name.empty() || !used.insert(platform::ascii_lower(name)).second) name = custom_name_of(cell);
    names.push_back(fmt::format("{}={}", platform::without_blanks(cell), name));
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
      faults.push_back(fmt::format("--map {}: there is no such column", platform::in_quotes(name)));
      continue;
    }
    named.insert(&*found);
    *found = name.substr(end + 1);
  }
  return faults;
}

}  // namespace giftsync::cli
