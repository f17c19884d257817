// schema/sql_crm: the versions of the managed CRM's package (Spec 9.2) and the steps that lead from one to
// the next. Tables of versions before 1.8 carry no record of their version; they are told by the columns of
// crm_gift_record. Included by schema/'s .cpp files only.
#pragma once

#include <compare>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schema/sql/database.h"

namespace giftsync::schema::sql_crm {

struct PackageVersion {
  int major = 0;
  int minor = 0;
  friend auto operator<=>(const PackageVersion&, const PackageVersion&) = default;
};
std::string to_text(PackageVersion version);

struct FoundVersion {
  PackageVersion version;
  bool recorded = false;  ///< in crm_meta; else told by the columns
};

/// Nothing when there are no gift records. Without a record it is 1.1 while crm_gift_record lacks a lookup or
/// a timestamp of those that came after it, else 1.3. Throws BrokenWorld when the record is no version.
std::optional<FoundVersion> find_version(soci::session& session, Dialect dialect);

/// A step leads from whatever came before to its version; it makes only what is missing. Steps are never
/// changed once released.
struct PackageStep {
  PackageVersion version;
  void (*run)(soci::session& session, Dialect dialect);
  /// What it would do, a sentence each; nothing is changed.
  std::vector<std::string> (*tell)(soci::session& session, Dialect dialect);
};
std::span<const PackageStep> package_steps();

}  // namespace giftsync::schema::sql_crm
