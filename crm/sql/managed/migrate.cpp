// crm/sql/managed: how the managed CRM's tables come to be and follow the package's versions.
#include <algorithm>
#include <array>
#include <compare>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crm/sql/columns.h"
#include "crm/sql/managed/gift_table.h"
#include "crm/sql/managed/managed_crm.h"
#include "embedded/giftsync_crm_sql_managed.h"
#include "schema/gift_record.h"
#include "schema/request_record.h"
#include "schema/sql/database.h"

namespace giftsync::crm::managed {
namespace {

// The versions of the managed CRM's package (SYNC-40) and the upgrade steps. Tables of
// versions before 1.8 have no record of their version; it is detected by the columns of crm_gift_record.
// Included by schema/'s .cpp files only.

struct PackageVersion {
  int major = 0;
  int minor = 0;
  friend auto operator<=>(const PackageVersion&, const PackageVersion&) = default;
};

struct DetectedVersion {
  PackageVersion version;
  bool recorded = false;  ///< in crm_meta; else detected by the columns
};

/// A step upgrades any earlier version to its version; it creates only what is missing. Released steps
/// never change.
struct UpgradeStep {
  PackageVersion version;
  void (*run)(soci::session& session);
  /// A description of its changes, a sentence each; changes nothing.
  std::vector<std::string> (*describe)(soci::session& session);
};

constexpr const char* kGiftTable = "crm_gift_record";
constexpr const char* kStatusLog = "crm_status_log";

/// What 1.3 has and 1.1 had not.
constexpr std::array kFieldsSince13{
    GiftField::account,       GiftField::opportunity,   GiftField::delivered_time,
    GiftField::donated_time,  GiftField::expired_time,  GiftField::opened_time,
    GiftField::redeemed_time, GiftField::refunded_time, GiftField::undelivered_time};

PackageVersion parse_version(const std::string& text) {
  PackageVersion version;
  char rest = '\0';
  if (std::sscanf(text.c_str(), "%d.%d%c", &version.major, &version.minor, &rest) == 2) return version;
  throw DependencyError(false, "crm_meta says that the CRM's tables are at package version \"" + text +
                                   "\", which is no version such as 1.8; restore the database from a backup");
}

std::optional<std::string> recorded_version(soci::session& session) {
  if (crm::sql_crm::columns_of(session, "crm_meta").empty()) return std::nullopt;
  std::optional<std::string> stored;
  std::string value;
  soci::statement statement =
      sql::bound(session, "SELECT value FROM crm_meta WHERE name = 'package_version'", soci::into(value));
  sql::each_row(statement, [&] { stored = value; });
  return stored;
}

std::vector<std::string> missing_columns_of_1_3(const std::vector<crm::sql_crm::Column>& columns) {
  std::vector<std::string> missing;
  for (const GiftField field : kFieldsSince13) {
    const std::string name(descriptor_of(field).column);
    if (!crm::sql_crm::find_column(columns, name)) missing.push_back(name);
  }
  return missing;
}

std::string comma_separated(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// A table that CREATE TABLE would make, and its columns.
struct TableDefinition {
  std::string table;
  std::vector<std::string> columns;  ///< their definitions; constraints of the whole table are left out
};

std::string first_word(const std::string& text) {
  return text.substr(0, text.find_first_of(" \n("));
}

std::optional<TableDefinition> parse_create_table(const std::string& statement) {
  constexpr std::string_view kHead = "CREATE TABLE IF NOT EXISTS ";
  if (!statement.starts_with(kHead)) return std::nullopt;
  TableDefinition wanted{first_word(statement.substr(kHead.size())), {}};
  int depth = 0;
  std::string part;
  for (std::size_t at = statement.find('('); at < statement.size(); ++at) {
    const char c = statement[at];
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    const bool ends = depth == 0 || (depth == 1 && c == ',');
    const bool blank = part.empty() && (c == ' ' || c == '\n');
    if (!ends && !blank && !(depth == 1 && c == '(')) part += c;
    if (!ends) continue;
    const std::string word = first_word(part);
    if (word != "PRIMARY" && word != "UNIQUE" && word != "CHECK") wanted.columns.push_back(part);
    part.clear();
    if (depth == 0) break;
  }
  return wanted;
}

/// The definitions of columns that a table which exists lacks.
std::vector<std::string> missing_columns(soci::session& session, const TableDefinition& wanted) {
  const std::vector<crm::sql_crm::Column> columns = crm::sql_crm::columns_of(session, wanted.table);
  std::vector<std::string> missing;
  if (columns.empty()) return missing;
  for (const std::string& definition : wanted.columns) {
    if (!crm::sql_crm::find_column(columns, first_word(definition))) missing.push_back(definition);
  }
  return missing;
}

std::vector<std::string> statements(sql::Dialect dialect) {
  return sql::statements_of(dialect, embedded::crm_sql_managed_crm_001_sql);
}

/// 1.3: the lookups and timestamps. The old status log is no longer written; its rows stay.
void add_lookups_and_times(soci::session& session) {
  if (!crm::sql_crm::columns_of(session, kGiftTable).empty()) ensure_gift_table(session);
}

std::vector<std::string> describe_lookups_and_times(soci::session& session) {
  const std::vector<crm::sql_crm::Column> columns = crm::sql_crm::columns_of(session, kGiftTable);
  if (columns.empty()) return {};
  std::vector<std::string> descriptions;
  const std::vector<std::string> missing = missing_columns_of_1_3(columns);
  if (!missing.empty()) descriptions.push_back(std::string(kGiftTable) + " gets " + comma_separated(missing));
  if (!crm::sql_crm::columns_of(session, kStatusLog).empty()) {
    descriptions.push_back(std::string(kStatusLog) +
                           " is no longer written; its rows stay; \"giftsyncctl backfill "
                           "status-timestamps\" fills the new timestamps from them");
  }
  return descriptions;
}

/// 1.8: nothing of the gift records changes; the settings and what giftsync itself needs are added.
void create_tables(soci::session& session) {
  for (const std::string& statement : statements(session)) {
    if (const auto wanted = parse_create_table(statement)) {
      for (const std::string& definition : missing_columns(session, *wanted))
        session << "ALTER TABLE " + wanted->table + " ADD COLUMN " + definition;
    }
    session << statement;
  }
  ensure_gift_table(session);
  const std::string transaction(descriptor_of(GiftField::transaction_id).column);
  if (!crm::sql_crm::is_unique(session, kGiftTable, transaction))
    session << "CREATE UNIQUE INDEX crm_gift_record_transaction ON crm_gift_record (" + transaction + ")";
}

std::vector<std::string> describe_tables(soci::session& session) {
  std::vector<std::string> created;
  std::vector<std::string> descriptions;
  for (const std::string& statement : statements(session)) {
    const auto wanted = parse_create_table(statement);
    if (!wanted) continue;
    if (crm::sql_crm::columns_of(session, wanted->table).empty()) created.push_back(wanted->table);
    std::vector<std::string> names;
    for (const std::string& definition : missing_columns(session, *wanted))
      names.push_back(first_word(definition));
    if (!names.empty()) descriptions.push_back(wanted->table + " gets " + comma_separated(names));
  }
  const bool has_gifts = !crm::sql_crm::columns_of(session, kGiftTable).empty();
  if (!has_gifts) created.emplace_back(kGiftTable);
  if (!created.empty()) descriptions.insert(descriptions.begin(), "made: " + comma_separated(created));
  if (has_gifts) descriptions.emplace_back("all gift records stay unchanged");
  return descriptions;
}

constexpr std::array<UpgradeStep, 2> kSteps{
    {{{1, 3}, add_lookups_and_times, describe_lookups_and_times}, {{1, 8}, create_tables, describe_tables}}};

std::string to_text(PackageVersion version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor);
}

std::span<const UpgradeStep> upgrade_steps() {
  return kSteps;
}

/// Nothing when there are no gift records. Without a recorded version it is 1.1 while crm_gift_record
/// lacks a lookup or timestamp that was added later, else 1.3. Throws DependencyError when the recorded
/// text is no version.
std::optional<DetectedVersion> detect_version(soci::session& session) {
  if (const auto stored = recorded_version(session)) return DetectedVersion{parse_version(*stored), true};
  const std::vector<crm::sql_crm::Column> columns = crm::sql_crm::columns_of(session, kGiftTable);
  if (columns.empty()) return std::nullopt;
  if (!crm::sql_crm::find_column(columns, descriptor_of(GiftField::transaction_id).column)) {
    throw DependencyError(false,
                          "the table crm_gift_record has no column recipienttransactionid: it is no gift "
                          "record of any package version; name the right database, or rename that table");
  }
  return DetectedVersion{
      missing_columns_of_1_3(columns).empty() ? PackageVersion{1, 3} : PackageVersion{1, 1}, false};
}

}  // namespace

namespace {

/// Two processes that migrate at once do so one after the other.
void lock_for_migration(soci::session& session) {
  constexpr std::string_view kLock = "SELECT pg_advisory_xact_lock(hashtext('giftsync managed crm'))";
  if (sql::Dialect(session) != sql::Dialect::postgresql) return;  // SQLite: BEGIN IMMEDIATE does it
  session << "SET LOCAL lock_timeout TO 0";                       // another process may take long
  session << std::string(kLock);
}

bool is_newer(const DetectedVersion& found) {
  return found.version > upgrade_steps().back().version;
}

void reject_newer(const DetectedVersion& found) {
  if (!is_newer(found)) return;
  throw DependencyError(false, "the CRM's tables are at package version " + to_text(found.version) +
                                   ", made by a newer giftsync; this one knows versions up to " +
                                   to_text(upgrade_steps().back().version) +
                                   ": install the newer giftsync again");
}

void run_step(soci::session& session, const UpgradeStep& step) {
  lock_for_migration(session);
  const std::optional<DetectedVersion> found = detect_version(session);
  if (found) reject_newer(*found);
  if (found && found->version >= step.version) return;
  const bool is_last = step.version == upgrade_steps().back().version;
  if (!found && !is_last) return;  // the last step creates new tables at once
  session << "CREATE TABLE IF NOT EXISTS crm_meta (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)";
  step.run(session);
  session << "DELETE FROM crm_meta WHERE name = 'package_version'";
  session << "INSERT INTO crm_meta (name, value) VALUES ('package_version', '" + to_text(step.version) + "')";
}

}  // namespace

/// As ensure_gift_table(): a column more is no new version, so that an older daemon may run beside this one.
void ensure_request_table(soci::session& session) {
  const std::string name(descriptor_of(RequestRecordField::utm_campaign_id).column);
  if (crm::sql_crm::find_column(crm::sql_crm::columns_of(session, "crm_request_record"), name)) return;
  for (const std::string& statement : sql::statements_of(session, embedded::crm_sql_managed_crm_002_sql))
    session << statement;
}

void migrate_managed_crm(const sql::Dsn& address) {
  sql::Database database(address);
  for (const UpgradeStep& step : upgrade_steps()) {
    database.write([&](soci::session& session) { run_step(session, step); });
  }
  database.write([&](soci::session& session) {
    lock_for_migration(session);
    ensure_gift_table(session);
    ensure_request_table(session);
  });
}

std::optional<std::string> managed_crm_version(const sql::Dsn& address) {
  sql::Database database(address);
  return database.read([&](soci::session& session) -> std::optional<std::string> {
    const auto found = detect_version(session);
    return found ? std::optional(to_text(found->version)) : std::nullopt;
  });
}

ManagedCrmUpgradePlan plan_managed_crm_upgrade(const sql::Dsn& address) {
  sql::Database database(address);
  return database.snapshot([&](soci::session& session) {
    ManagedCrmUpgradePlan plan;
    const auto found = detect_version(session);
    if (found) {
      plan.version = to_text(found->version);
      plan.recorded = found->recorded;
      plan.newer = is_newer(*found);
    }
    for (const UpgradeStep& step : upgrade_steps()) {
      if (found && found->version >= step.version) continue;
      for (const std::string& sentence : step.describe(session))
        plan.steps.push_back(to_text(step.version) + ": " + sentence);
    }
    return plan;
  });
}

void publish_crm_settings(const sql::Dsn& address,
                          const std::vector<std::pair<std::string, std::string>>& settings) {
  sql::Database database(address);
  database.write([&](soci::session& session) {
    lock_for_migration(session);
    session << "DELETE FROM crm_setting";
    for (const auto& [name, value] : settings) {
      session << "INSERT INTO crm_setting (name, value) VALUES (:name, :value)", soci::use(name),
          soci::use(value);
    }
  });
}

}  // namespace giftsync::crm::managed
