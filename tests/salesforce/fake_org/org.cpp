#include "tests/salesforce/fake_org/org.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <sstream>
#include <stdexcept>

#include "platform/text.h"
#include "tests/salesforce/fake_org/formula.h"
#include "tests/salesforce/fake_org/metadata.h"
#include "tests/salesforce/fake_org/record_ids.h"
#include "tests/salesforce/fake_org/switches.h"
#include "tests/salesforce/fake_org/tables.h"

namespace giftsync::tests::fake_org {
namespace {

std::string column_list(const Object& object, const std::string& alias) {
  std::string text;
  for (const Field& field : object.fields)
    text += (text.empty() ? "" : ", ") + value_sql(object, field, alias);
  return text;
}

/// Currency keeps its digits as text; a number is one.
Value stored_form(const Field& field, const Value& value) {
  const auto* number = std::get_if<double>(&value);
  if (field.kind != Kind::currency || number == nullptr) return value;
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), *number,
                                 std::chars_format::fixed, field.scale)
                       .ptr;
  return std::string(buffer.data(), end);
}

std::string text_of(const Cell& cell) {
  return cell.value_or("");
}

/// Not of any project: those who deploy.
PermissionSet administrators() {
  PermissionSet set;
  set.name = "System_Administrator";
  set.user_permissions = {"ModifyMetadata", "ViewSetup", "ViewAllData"};
  return set;
}

void check_formula(const std::string& path, const std::string& formula, const Object& object) {
  try {
    parse_formula(formula, object);
  } catch (const FormulaError& error) {
    throw MetadataError(path, error.what());
  }
}

/// The schema with formulas that can be evaluated.
OrgSchema checked_schema(const SourceFiles& files) {
  OrgSchema schema = read_org_schema(files);
  for (const Object& object : schema.objects) {
    const std::string folder = "objects/" + object.name + "/";
    for (const ValidationRule& rule : object.rules)
      check_formula(folder + "validationRules/" + rule.name + ".validationRule-meta.xml", rule.formula,
                    object);
    for (const Field& field : object.fields) {
      if (!field.formula.empty())
        check_formula(folder + "fields/" + field.name + ".field-meta.xml", field.formula, object);
    }
  }
  schema.permission_sets.push_back(administrators());
  return schema;
}

}  // namespace

Org::Org(const std::string& database, const std::filesystem::path& project) : database_(database) {
  database_.run_script(own_tables_script());
  for (const Switch& one : switches()) settings_.emplace(one.name, one.initial);
  for (const Cells& row : database_.run("SELECT name, value FROM org_setting"))
    settings_[text_of(row[0])] = text_of(row[1]);
  for (const Cells& row : database_.run("SELECT path, text FROM org_metadata"))
    files_[text_of(row[0])] = text_of(row[1]);
  if (files_.empty()) files_ = read_project(project);
  use_schema(checked_schema(files_));
  const Object& organization = *schema_.find("Organization");
  if (organization_id().empty()) {
    insert(organization, new_id(organization), {{"Name", "Fake org"}, {"IsSandbox", false}});
    set("deployed_at", std::to_string(now().value));
  }
  write_catalog();
  for (const Cells& row : database_.run("SELECT change FROM org_change ORDER BY rowid"))
    apply(read_json(text_of(row[0])));
}

void Org::check(const SourceFiles& files) const {
  checked_schema(files);
}

void Org::deploy(const SourceFiles& files) {
  use_schema(checked_schema(files));
  files_ = files;
  database_.run("DELETE FROM org_metadata");
  database_.run("DELETE FROM org_change");
  for (const auto& [path, text] : files_)
    database_.run("INSERT INTO org_metadata (path, text) VALUES (?, ?)", {path, text});
  write_catalog();
  set("deployed_at", std::to_string(now().value));
}

UtcMillis Org::now() const {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  const std::int64_t offset = parse_number<std::int64_t>(setting("clock_offset")).value_or(0);
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count() + offset};
}

void Org::advance(std::int64_t millis) {
  const std::int64_t offset = parse_number<std::int64_t>(setting("clock_offset")).value_or(0);
  set("clock_offset", std::to_string(offset + millis));
}

const std::string& Org::setting(std::string_view name) const {
  const auto found = settings_.find(name);
  if (found == settings_.end()) throw std::runtime_error("fake org: no setting: " + std::string(name));
  return found->second;
}

std::vector<std::string> Org::listed(std::string_view name) const {
  std::vector<std::string> parts;
  std::istringstream list(setting(name));
  for (std::string part; std::getline(list, part, ',');) parts.emplace_back(trimmed(part));
  return parts;
}

bool Org::is_listed(std::string_view name, std::string_view part) const {
  if (setting(name).empty()) return false;
  const std::vector<std::string> parts = listed(name);
  return std::ranges::count(parts, part) > 0;
}

void Org::set(std::string_view name, std::string_view value) {
  setting(name);
  settings_[std::string(name)] = value;
  database_.run("INSERT OR REPLACE INTO org_setting (name, value) VALUES (?, ?)",
                {std::string(name), std::string(value)});
  if (name == "foreign_permission_sets") add_foreign_sets();
}

std::string Org::new_id(const Object& object) {
  const auto rows = database_.run(
      "INSERT INTO org_counter (name, value) VALUES ('id', 1) ON CONFLICT (name) DO UPDATE SET value = value "
      "+ 1 "
      "RETURNING value");
  return make_record_id(object.key_prefix, parse_number<std::uint64_t>(*rows[0][0]).value());
}

/// "R-{00000000}" -> "R-00000007".
std::string Org::next_number(const Object& object) {
  const auto rows = database_.run(
      "INSERT INTO org_counter (name, value) VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET value = value + "
      "1 "
      "RETURNING value",
      {"number of " + object.name});
  const std::string& format = object.number_format;
  const std::size_t open = format.find('{');
  const std::size_t close = format.find('}');
  if (open == std::string::npos || close == std::string::npos)
    throw std::logic_error(object.name + ": no format of numbers");
  std::string digits = *rows[0][0];
  const std::size_t width = close - open - 1;
  if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return format.substr(0, open) + digits + format.substr(close + 1);
}

std::optional<StoredRecord> Org::find(const Object& object, std::string_view id) {
  const auto rows =
      database_.run("SELECT " + column_list(object, "t0") + " FROM " + object.table + " t0 WHERE t0.id = ?",
                    {to_long_id(id)});
  if (rows.empty()) return std::nullopt;
  StoredRecord record;
  for (std::size_t at = 0; at < object.fields.size(); ++at) {
    const Field& field = object.fields[at];
    record.values[field.name] = value_of(field, rows[0][at]);
  }
  record.id = std::get<std::string>(record.values["Id"]);
  record.is_deleted = std::get<bool>(record.values["IsDeleted"]);
  return record;
}

std::vector<std::string> Org::ids_with(const Object& object, const Field& field, const Value& value) {
  const bool is_folded = std::holds_alternative<std::string>(value) && !field.is_case_sensitive;
  const std::string condition = is_folded ? "fold(" + field.column + ") = fold(?)" : field.column + " = ?";
  std::vector<std::string> ids;
  for (const Cells& row : database_.run(
           "SELECT id FROM " + object.table + " WHERE isdeleted = 0 AND " + condition + " ORDER BY id",
           {stored_form(field, value)}))
    ids.push_back(text_of(row[0]));
  return ids;
}

bool Org::is_in_recycle_bin(const Object& object, const Field& field, const Value& value) {
  return is_on("recycle_bin_is_unique") &&
         !database_
              .run("SELECT 1 FROM " + object.table + " WHERE isdeleted = 1 AND " + field.column + " = ?",
                   {stored_form(field, value)})
              .empty();
}

void Org::insert(const Object& object, const std::string& id, const Values& values) {
  std::string columns = "id";
  std::string places = "?";
  std::vector<Value> parameters{id};
  for (const auto& [name, value] : values) {
    const Field& field = *object.find(name);
    if (field.kind == Kind::id || !field.formula.empty()) continue;
    columns += ", " + field.column;
    places += ", ?";
    parameters.push_back(stored_form(field, value));
  }
  database_.run("INSERT INTO " + object.table + " (" + columns + ") VALUES (" + places + ")", parameters);
}

void Org::update(const Object& object, const std::string& id, const Values& changed) {
  std::string assignments;
  std::vector<Value> parameters;
  for (const auto& [name, value] : changed) {
    const Field& field = *object.find(name);
    if (field.kind == Kind::id || !field.formula.empty()) continue;
    assignments += (assignments.empty() ? "" : ", ") + field.column + " = ?";
    parameters.push_back(stored_form(field, value));
  }
  if (assignments.empty()) return;
  parameters.emplace_back(id);
  database_.run("UPDATE " + object.table + " SET " + assignments + " WHERE id = ?", parameters);
}

std::string Org::organization_id() {
  const auto rows = database_.run("SELECT id FROM crm_organization");
  return rows.empty() ? std::string() : text_of(rows[0][0]);
}

void Org::add_field(const std::string& table, Field field) {
  const auto object = std::ranges::find(schema_.objects, table, &Object::table);
  if (object == schema_.objects.end()) throw std::logic_error("no object has the table " + table);
  database_.run("ALTER TABLE " + table + " ADD COLUMN " + field.column +
                (field.kind == Kind::number ? " NUMERIC" : " TEXT"));
  object->fields.push_back(std::move(field));
}

int Org::count_call() {
  if (!setting("api_limit_per_hour").empty())
    database_.run(
        "INSERT INTO org_counter (name, value) VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET value = value "
        "+ 1",
        {"calls of hour " + std::to_string(now().value / kHourMillis)});
  const auto rows = database_.run(
      "INSERT INTO org_counter (name, value) VALUES ('calls', 1) ON CONFLICT (name) DO UPDATE SET value = "
      "value + 1 "
      "RETURNING value");
  return parse_number<int>(*rows[0][0]).value();
}

int Org::calls() const {
  const auto rows =
      const_cast<Database&>(database_).run("SELECT value FROM org_counter WHERE name = 'calls'");
  return rows.empty() ? 0 : parse_number<int>(*rows[0][0]).value();
}

int Org::calls_of_hour() {
  const auto rows = database_.run("SELECT value FROM org_counter WHERE name = ?",
                                  {"calls of hour " + std::to_string(now().value / kHourMillis)});
  return rows.empty() ? 0 : parse_number<int>(*rows[0][0]).value();
}

int Org::api_limit() const {
  return parse_number<int>(setting("api_limit")).value_or(0);
}

UtcMillis Org::deployed_at() const {
  return {parse_number<std::int64_t>(setting("deployed_at")).value_or(0)};
}

}  // namespace giftsync::tests::fake_org
