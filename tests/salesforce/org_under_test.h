// A fake org and the Salesforce adapter on it, as the CRM conformance tests use a CRM: plain SQL edits the
// org as an admin would, records have short names (short_ids.h).
#pragma once

#include <memory>
#include <string>

#include "crm/crm.h"
#include "crm/directory.h"
#include "crm/salesforce/records/bare_writes.h"

namespace giftsync::tests {

class OrgUnderTest {
 public:
  /// With giftsync's package, or with that of another owner, which is written in bare mode.
  enum class Package { own, foreign };
  explicit OrgUnderTest(Package package = Package::own, salesforce::NewestVersions newest_versions = nullptr);
  ~OrgUnderTest();
  OrgUnderTest(const OrgUnderTest&) = delete;
  OrgUnderTest& operator=(const OrgUnderTest&) = delete;

  /// Does not outlive this object.
  std::unique_ptr<crm::Crm> crm(const crm::MatchFields& fields);
  /// Adds the old status log, whose table is crm_status_log.
  void add_status_log();
  /// ALTER TABLE ... ADD COLUMN adds a field to the org. Values are kept afterwards as Salesforce keeps them:
  /// without white space around addresses; users are active unless they are not.
  void sql(const std::string& statement);
  /// The first cell; "null" when it is null or there is no row.
  std::string scalar(const std::string& query);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace giftsync::tests
