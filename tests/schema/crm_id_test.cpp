// Ids of Salesforce of 15 and of 18 characters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schema/ids.h"

namespace giftsync {
namespace {

using testing::ElementsAre;

// MATCH-34
TEST(CrmId, AnIdHasALongAndAShortForm) {
  for (const auto& [short_id, long_id] : {std::pair("0035g00000AbCdE", "0035g00000AbCdEAAV"),
                                          std::pair("00Q5g00000LeAdX", "00Q5g00000LeAdXEAV"),
                                          std::pair("001000000000001", "001000000000001AAA"),
                                          std::pair("a0X5g00000aBcDe", "a0X5g00000aBcDeEAK")}) {
    EXPECT_EQ(long_crm_id(short_id), long_id);
    EXPECT_EQ(long_crm_id(long_id), long_id);
    EXPECT_EQ(short_crm_id(long_id), short_id);
    EXPECT_EQ(short_crm_id(short_id), short_id);
  }
  EXPECT_THAT(long_crm_ids(std::vector<std::string>{"0035g00000AbCdE", "c1"}),
              ElementsAre("0035g00000AbCdEAAV", "c1"));
  EXPECT_THAT(crm_id_forms(std::vector<std::string>{"", "0035g00000AbCdE", "c1", "0035g00000AbCdEAAV"}),
              ElementsAre("0035g00000AbCdE", "0035g00000AbCdEAAV", "c1"));
}

// MATCH-34
TEST(CrmId, OtherIdsStayAsTheyAre) {
  for (const char* other : {"", "003A", "003-g00000AbCdE", "CUSTOMER0000001", "000000000012345",
                            "abc12Xdef456ghi", "0035g00000AbCdEAAA", "0035g00000AbCdEaav",
                            "0035G00000ABCDEAAV", "0035g00000AbCdEAA", "0035g00000\xC3\xA9\x62\x43\x64"}) {
    EXPECT_EQ(long_crm_id(other), other);
    EXPECT_EQ(short_crm_id(other), other);
  }
}

TEST(CrmId, ARecordIdHasACheckOfItsCase) {
  EXPECT_EQ(long_record_id("00Dq0000000Br2G"), "00Dq0000000Br2GEAS");
  EXPECT_EQ(long_record_id("a09q0000006BAHk"), "a09q0000006BAHkAAO");
  EXPECT_EQ(long_record_id("a09q0000006BAHkAAO"), "a09q0000006BAHkAAO");
  EXPECT_EQ(long_record_id("ABCDEFGHIJKLMNO"), "ABCDEFGHIJKLMNO555");
  for (const std::string other :
       {"", "a09q0000006BAH", "a09q0000006BAHkA", "a09q0000006BAHkAA", "a09q0000006bahkAAO",
        "a09q0000006BAHkAAo", "a09q0000006BAHkAAP", "a09q0000006BAH-", "a09q0000006BAHk555 "})
    EXPECT_EQ(long_record_id(other), std::nullopt) << other;
}

}  // namespace
}  // namespace giftsync
