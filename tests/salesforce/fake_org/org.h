// The fake org: its schema, its records in SQLite, its users, settings and clock. Tables and columns have the
// names of the managed CRM, so that a test edits them with the same plain SQL. One thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/time.h"
#include "tests/salesforce/fake_org/database.h"
#include "tests/salesforce/fake_org/faults.h"
#include "tests/salesforce/fake_org/formula.h"
#include "tests/salesforce/fake_org/json_text.h"
#include "tests/salesforce/fake_org/metadata.h"
#include "tests/salesforce/fake_org/objects.h"

namespace giftsync::tests::fake_org {

/// A record's state; `is_deleted` records are in the recycle bin.
struct StoredRecord {
  std::string id;
  Values values;
  bool is_deleted = false;
};

class Org {
 public:
  /// `database` is a file, or ":memory:"; `project` is an sfdx source project that is deployed already. A
  /// path without a project is an org without a package. What was deployed since is in the database.
  Org(const std::string& database, const std::filesystem::path& project);

  const OrgSchema& schema() const { return schema_; }
  Database& database() { return database_; }
  Faults& faults() { return faults_; }

  /// The org's own clock: the machine's, moved by advance().
  UtcMillis now() const;
  void advance(std::int64_t millis);

  /// A setting or switch (switches.h); empty where nothing is set.
  const std::string& setting(std::string_view name) const;
  bool is_on(std::string_view name) const { return setting(name) == "true"; }
  /// The parts of "a, b".
  std::vector<std::string> listed(std::string_view name) const;
  bool is_listed(std::string_view name, std::string_view part) const;
  /// Throws std::runtime_error for a name that no setting has.
  void set(std::string_view name, std::string_view value);

  std::string new_id(const Object& object);
  std::optional<StoredRecord> find(const Object& object, std::string_view id);
  /// The Ids of the records that are not deleted and have the value. Text is compared without case unless the
  /// field is case-sensitive.
  std::vector<std::string> ids_with(const Object& object, const Field& field, const Value& value);
  /// Whether a deleted record keeps its unique value, which it does with the setting recycle_bin_is_unique.
  bool is_in_recycle_bin(const Object& object, const Field& field, const Value& value);
  void insert(const Object& object, const std::string& id, const Values& values);
  void update(const Object& object, const std::string& id, const Values& changed);
  std::string next_number(const Object& object);

  /// What the user's permission sets allow; standard objects and fields are open to everyone, except with the
  /// switch profile: minimum.
  ObjectAccess access(const std::string& user, const Object& object);
  FieldAccess access(const std::string& user, const Object& object, const Field& field);

  /// The prefix of the package that is deployed; empty without one.
  std::string package_namespace() const;
  bool has_permission(const std::string& user, const std::string& name);
  bool is_active(const Object& object, const ValidationRule& rule);
  /// Of a rule of that object; read once.
  const Formula& formula(const Object& object, const std::string& text);

  /// All files that are deployed.
  const SourceFiles& files() const { return files_; }
  /// Makes these files the deployed ones, and undoes what changes did to them. Throws MetadataError,
  /// and changes nothing then.
  void deploy(const SourceFiles& files);
  /// What deploy() would throw.
  void check(const SourceFiles& files) const;
  /// What an admin does in Setup, see scripts.cpp. Throws std::runtime_error for what is not there.
  void change(const Json& change);

  std::string organization_id();
  std::string user_id(const std::string& username);
  /// Makes a user with a permission set of the project, and returns its Id.
  std::string add_user(const std::string& username, const std::string& permission_set);

  /// A field of the org's admin on the object of that table, without security of its own.
  void add_field(const std::string& table, Field field);

  /// Counts one call of the API and returns the number of today's calls.
  int count_call();
  int calls() const;
  /// Of the hour of the org's clock.
  int calls_of_hour();
  int api_limit() const;
  /// When the schema was deployed.
  UtcMillis deployed_at() const;

 private:
  const std::vector<std::string>& sets_of(const std::string& user);
  /// Of a profile that gives nothing beside the permission sets.
  bool is_minimal(const std::string& user);
  void use_schema(OrgSchema schema);
  void add_foreign_sets();
  void add_missing_columns();
  void write_catalog();
  void apply(const Json& change);

  SourceFiles files_;
  OrgSchema schema_;
  Database database_;
  Faults faults_;
  std::map<std::string, std::string, std::less<>> settings_;  ///< as in the database
  std::map<std::string, std::vector<std::string>> sets_of_user_;
  std::int64_t sets_version_ = -1;
  std::int64_t changes_seen_ = -1;
  std::map<std::pair<std::string, std::string>, Formula> formulas_;  ///< by object and text
};

/// A field's value for the text of a cell, in the form of Value.
Value value_of(const Field& field, const Cell& cell);
/// As the REST API shows it: "2026-01-31T10:00:00.000+0000".
Json json_of(const Field& field, const Value& value);
/// The SQL expression of a field's value: a column, or a formula.
std::string value_sql(const Object& object, const Field& field, const std::string& alias);

}  // namespace giftsync::tests::fake_org
