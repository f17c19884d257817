// The SQL CRMs under test: the managed one and an external one, on each back end.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <ostream>
#include <string>

#include "schema/sql/dsn.h"

namespace giftsync::schema::crm {

enum class CrmUnderTest { managed_sqlite, managed_postgresql, external_sqlite, external_postgresql };

inline bool is_managed(CrmUnderTest crm) {
  return crm == CrmUnderTest::managed_sqlite || crm == CrmUnderTest::managed_postgresql;
}
inline sql::Dialect dialect_of(CrmUnderTest crm) {
  const bool sqlite = crm == CrmUnderTest::managed_sqlite || crm == CrmUnderTest::external_sqlite;
  return sqlite ? sql::Dialect::sqlite : sql::Dialect::postgresql;
}

inline std::string to_text(CrmUnderTest crm) {
  constexpr std::array<const char*, 4> kNames{"sqlite", "postgresql", "external_sqlite",
                                              "external_postgresql"};
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
inline auto all_crms() {
  return testing::Values(CrmUnderTest::managed_sqlite, CrmUnderTest::managed_postgresql,
                         CrmUnderTest::external_sqlite, CrmUnderTest::external_postgresql);
}

}  // namespace giftsync::schema::crm
