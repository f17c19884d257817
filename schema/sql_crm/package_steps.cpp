#include "schema/sql_crm/package_steps.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "embedded/giftsync_schema.h"
#include "schema/gift_record.h"
#include "schema/sql_crm/columns.h"
#include "schema/sql_crm/gift_table.h"

namespace giftsync::schema::sql_crm {
namespace {

constexpr const char* kGifts = "crm_gift_record";
constexpr const char* kStatusLog = "crm_status_log";

/// What 1.3 has and 1.1 had not.
constexpr std::array kSince13{
    GiftField::account,       GiftField::opportunity,   GiftField::delivered_time,
    GiftField::donated_time,  GiftField::expired_time,  GiftField::opened_time,
    GiftField::redeemed_time, GiftField::refunded_time, GiftField::undelivered_time};

PackageVersion version_from(const std::string& text) {
  PackageVersion version;
  char rest = '\0';
  if (std::sscanf(text.c_str(), "%d.%d%c", &version.major, &version.minor, &rest) == 2) return version;
  throw BrokenWorld(false, "crm_meta says that the CRM's tables are at package version \"" + text +
                               "\", which is no version such as 1.8; restore the database from a backup");
}

std::optional<std::string> recorded_version(soci::session& session, Dialect dialect) {
  if (columns_of(session, dialect, "crm_meta").empty()) return std::nullopt;
  std::optional<std::string> stored;
  std::string value;
  soci::statement statement =
      sql::bound(session, "SELECT value FROM crm_meta WHERE name = 'package_version'", soci::into(value));
  sql::each_row(statement, [&] { stored = value; });
  return stored;
}

std::vector<std::string> lacking_since_1_3(const std::vector<Column>& columns) {
  std::vector<std::string> lacking;
  for (const GiftField field : kSince13) {
    const std::string name(field_of(field).column);
    if (!find_column(columns, name)) lacking.push_back(name);
  }
  return lacking;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// A table that CREATE TABLE would make, and its columns.
struct Wanted {
  std::string table;
  std::vector<std::string> columns;  ///< their definitions; constraints of the whole table are left out
};

std::string first_word(const std::string& text) {
  return text.substr(0, text.find_first_of(" \n("));
}

std::optional<Wanted> wanted_table(const std::string& statement) {
  constexpr std::string_view kHead = "CREATE TABLE IF NOT EXISTS ";
  if (!statement.starts_with(kHead)) return std::nullopt;
  Wanted wanted{first_word(statement.substr(kHead.size())), {}};
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
std::vector<std::string> lacking_columns(soci::session& session, Dialect dialect, const Wanted& wanted) {
  const std::vector<Column> columns = columns_of(session, dialect, wanted.table);
  std::vector<std::string> lacking;
  if (columns.empty()) return lacking;
  for (const std::string& definition : wanted.columns) {
    if (!find_column(columns, first_word(definition))) lacking.push_back(definition);
  }
  return lacking;
}

std::vector<std::string> statements(Dialect dialect) {
  return sql::statements_of(dialect, embedded::schema_sql_crm_crm_001_sql);
}

/// 1.3: the lookups and timestamps. The old status log is left alone: nothing writes it, its rows stay.
void add_lookups_and_times(soci::session& session, Dialect dialect) {
  if (!columns_of(session, dialect, kGifts).empty()) ensure_gift_table(session, dialect);
}

std::vector<std::string> tell_lookups_and_times(soci::session& session, Dialect dialect) {
  const std::vector<Column> columns = columns_of(session, dialect, kGifts);
  if (columns.empty()) return {};
  std::vector<std::string> told;
  const std::vector<std::string> lacking = lacking_since_1_3(columns);
  if (!lacking.empty()) told.push_back(std::string(kGifts) + " gets " + listed(lacking));
  if (!columns_of(session, dialect, kStatusLog).empty()) {
    told.push_back(std::string(kStatusLog) +
                   " is not written any more and keeps its rows; \"giftsyncctl backfill "
                   "status-timestamps\" fills the new timestamps from them");
  }
  return told;
}

/// 1.8: nothing of the gift records changes; the settings and what giftsync itself needs are added.
void make_tables(soci::session& session, Dialect dialect) {
  for (const std::string& statement : statements(dialect)) {
    if (const auto wanted = wanted_table(statement)) {
      for (const std::string& definition : lacking_columns(session, dialect, *wanted))
        session << "ALTER TABLE " + wanted->table + " ADD COLUMN " + definition;
    }
    session << statement;
  }
  ensure_gift_table(session, dialect);
  const std::string transaction(field_of(GiftField::transaction_id).column);
  if (!is_unique(session, dialect, kGifts, transaction))
    session << "CREATE UNIQUE INDEX crm_gift_record_transaction ON crm_gift_record (" + transaction + ")";
}

std::vector<std::string> tell_tables(soci::session& session, Dialect dialect) {
  std::vector<std::string> made;
  std::vector<std::string> told;
  for (const std::string& statement : statements(dialect)) {
    const auto wanted = wanted_table(statement);
    if (!wanted) continue;
    if (columns_of(session, dialect, wanted->table).empty()) made.push_back(wanted->table);
    std::vector<std::string> names;
    for (const std::string& definition : lacking_columns(session, dialect, *wanted))
      names.push_back(first_word(definition));
    if (!names.empty()) told.push_back(wanted->table + " gets " + listed(names));
  }
  const bool has_gifts = !columns_of(session, dialect, kGifts).empty();
  if (!has_gifts) made.emplace_back(kGifts);
  if (!made.empty()) told.insert(told.begin(), "made: " + listed(made));
  if (has_gifts) told.emplace_back("every gift record is kept as it is");
  return told;
}

constexpr std::array<PackageStep, 2> kSteps{
    {{{1, 3}, add_lookups_and_times, tell_lookups_and_times}, {{1, 8}, make_tables, tell_tables}}};

}  // namespace

std::string to_text(PackageVersion version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor);
}

std::span<const PackageStep> package_steps() {
  return kSteps;
}

std::optional<FoundVersion> find_version(soci::session& session, Dialect dialect) {
  if (const auto stored = recorded_version(session, dialect))
    return FoundVersion{version_from(*stored), true};
  const std::vector<Column> columns = columns_of(session, dialect, kGifts);
  if (columns.empty()) return std::nullopt;
  if (!find_column(columns, field_of(GiftField::transaction_id).column)) {
    throw BrokenWorld(false,
                      "the table crm_gift_record has no column recipienttransactionid: it is no gift "
                      "record of any package version; name the right database, or rename that table");
  }
  return FoundVersion{lacking_since_1_3(columns).empty() ? PackageVersion{1, 3} : PackageVersion{1, 1},
                      false};
}

}  // namespace giftsync::schema::sql_crm
