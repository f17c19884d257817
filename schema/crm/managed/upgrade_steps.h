// schema/crm/managed: the versions of the managed CRM's package (SYNC-40) and the upgrade steps. Tables of
// versions before 1.8 have no record of their version; it is detected by the columns of crm_gift_record.
// Included by schema/'s .cpp files only.
#pragma once

#include <compare>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schema/sql/database.h"

namespace giftsync::schema::crm::managed {

struct PackageVersion {
  int major = 0;
  int minor = 0;
  friend auto operator<=>(const PackageVersion&, const PackageVersion&) = default;
};
std::string to_text(PackageVersion version);

struct DetectedVersion {
  PackageVersion version;
  bool recorded = false;  ///< in crm_meta; else detected by the columns
};

/// Nothing when there are no gift records. Without a recorded version it is 1.1 while crm_gift_record
/// lacks a lookup or timestamp that was added later, else 1.3. Throws DependencyError when the recorded
/// text is no version.
std::optional<DetectedVersion> detect_version(soci::session& session, sql::Dialect dialect);

/// A step upgrades any earlier version to its version; it creates only what is missing. Released steps
/// never change.
struct UpgradeStep {
  PackageVersion version;
  void (*run)(soci::session& session, sql::Dialect dialect);
  /// A description of its changes, a sentence each; changes nothing.
  std::vector<std::string> (*describe)(soci::session& session, sql::Dialect dialect);
};
std::span<const UpgradeStep> upgrade_steps();

}  // namespace giftsync::schema::crm::managed
