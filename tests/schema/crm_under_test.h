// The CRMs in SQL that tests run over: the managed one and one that somebody else owns, on each back end.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <ostream>
#include <string>

#include "schema/database_address.h"

namespace giftsync::schema {

enum class CrmUnderTest { managed_sqlite, managed_postgresql, foreign_sqlite, foreign_postgresql };

inline bool is_managed(CrmUnderTest crm) {
  return crm == CrmUnderTest::managed_sqlite || crm == CrmUnderTest::managed_postgresql;
}
inline Dialect dialect_of(CrmUnderTest crm) {
  const bool sqlite = crm == CrmUnderTest::managed_sqlite || crm == CrmUnderTest::foreign_sqlite;
  return sqlite ? Dialect::sqlite : Dialect::postgresql;
}

inline std::string to_text(CrmUnderTest crm) {
  constexpr std::array<const char*, 4> kNames{"sqlite", "postgresql", "foreign_sqlite", "foreign_postgresql"};
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
                         CrmUnderTest::foreign_sqlite, CrmUnderTest::foreign_postgresql);
}

}  // namespace giftsync::schema
