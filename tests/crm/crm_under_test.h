// The CRMs under test: the managed and an external one, on each back end, and an org of Salesforce, with
// giftsync's package and with that of another owner.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <ostream>
#include <string>

#include "schema/sql/dsn.h"

namespace giftsync::crm {

enum class CrmUnderTest {
  managed_sqlite,
  managed_postgresql,
  external_sqlite,
  external_postgresql,
  salesforce,
  salesforce_bare  ///< with the package of another owner
};

inline bool is_managed(CrmUnderTest crm) {
  return crm == CrmUnderTest::managed_sqlite || crm == CrmUnderTest::managed_postgresql;
}
/// Of the plain SQL of tests: the fake org is in SQLite.
inline sql::Dialect dialect_of(CrmUnderTest crm) {
  const bool postgresql = crm == CrmUnderTest::managed_postgresql || crm == CrmUnderTest::external_postgresql;
  return postgresql ? sql::Dialect::postgresql : sql::Dialect::sqlite;
}

inline std::string to_text(CrmUnderTest crm) {
  constexpr std::array<const char*, 6> kNames{
      "sqlite", "postgresql", "external_sqlite", "external_postgresql", "salesforce", "salesforce_bare"};
  return kNames.at(static_cast<std::size_t>(crm));
}
inline void PrintTo(CrmUnderTest crm, std::ostream* out) {
  *out << to_text(crm);
}
inline std::string name_of_crm(const testing::TestParamInfo<CrmUnderTest>& info) {
  return to_text(info.param);
}

inline auto managed_crms() {
  return testing::Values(CrmUnderTest::managed_sqlite, CrmUnderTest::managed_postgresql);
}
inline auto sql_crms() {
  return testing::Values(CrmUnderTest::managed_sqlite, CrmUnderTest::managed_postgresql,
                         CrmUnderTest::external_sqlite, CrmUnderTest::external_postgresql);
}
inline auto all_crms() {
  return testing::Values(CrmUnderTest::managed_sqlite, CrmUnderTest::managed_postgresql,
                         CrmUnderTest::external_sqlite, CrmUnderTest::external_postgresql,
                         CrmUnderTest::salesforce, CrmUnderTest::salesforce_bare);
}

}  // namespace giftsync::crm
