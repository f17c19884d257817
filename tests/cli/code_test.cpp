// Gift codes on the command line: brought in, counted, never shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/desk.h"

namespace giftsync::daemon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Codes : public testing::Test {
 protected:
  Codes() {
    desk_.write("items.csv",
                "gift_id,name,description,item_cost,shipping_cost,carbon_neutral_cost,transaction_fee\n"
                "7,Coffee,Hot,5.00,0.00,0.10,0.40\n");
    desk_.run({"item", "import", desk_.path("items.csv")});
  }
  CliDesk::Answer import(const std::string& text) {
    return desk_.run({"item", "import-codes", "7", "-"}, text);
  }

  CliDesk desk_;
};

TEST_F(Codes, AreAddedAndCounted) {
  const auto answer = import(
      "\xEF\xBB\xBF"
      "Code\r\n ABC-1 \r\n\"A,\"\"2\"\r\n");
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(answer.out, "2 codes: 2 new, 0 known already\n");
  EXPECT_EQ(import("code\nABC-1\nABC-3\n").out, "2 codes: 1 new, 1 known already\n");
  const auto listed = nlohmann::json::parse(desk_.run({"item", "codes", "--json"}).out);
  EXPECT_EQ(listed,
            nlohmann::json::parse(R"([{"gift_id":7,"name":"Coffee","left":3,"handed_out":0,"low":true}])"));
  EXPECT_THAT(desk_.run({"item", "codes"}).out, HasSubstr("low"));
  EXPECT_THAT(desk_.run({"status"}).out, HasSubstr("codes     item 7: 3 left, 0 handed out; LOW"));
  const auto status = nlohmann::json::parse(desk_.run({"status", "--json"}).out);
  EXPECT_EQ(status["codes"][0]["left"], 3);
  desk_.write_settings("catalogue: { few_codes: 2 }\n");
  EXPECT_THAT(desk_.run({"status"}).out, Not(HasSubstr("LOW")));
}

TEST_F(Codes, AFaultyFileIsRefusedWholeWithoutShowingACode) {
  const auto answer = import("code\nSECRET-1\n\"\"\nSECRET-1\nSECRET-2,x\n\"a\tb\"\n");
  EXPECT_EQ(answer.code, 65);
  EXPECT_THAT(answer.err, HasSubstr("stdin:3: code: found something else; allowed: 1 to 255"));
  EXPECT_THAT(answer.err, HasSubstr("stdin:4: code: found the code of line 2 again"));
  EXPECT_THAT(answer.err, HasSubstr("stdin:5: found 2 cells; allowed: 1"));
  EXPECT_THAT(answer.err, HasSubstr("stdin:6: code"));
  EXPECT_THAT(answer.err + answer.out, Not(HasSubstr("SECRET")));
  EXPECT_EQ(desk_.run({"item", "codes", "--json"}).out, "[]\n");
}

TEST_F(Codes, WhatIsNoListIsTold) {
  EXPECT_THAT(import("SECRET-1\nSECRET-2\n").err, HasSubstr("stdin:1: found another header"));
  EXPECT_THAT(import("").err, HasSubstr("found no codes"));
  EXPECT_THAT(import("code\n").err, HasSubstr("found no codes"));
  const auto unknown = desk_.run({"item", "import-codes", "8", "-"}, "code\nA\n");
  EXPECT_EQ(unknown.code, 65);
  EXPECT_THAT(unknown.err, HasSubstr("the catalogue has no gift 8"));
  EXPECT_EQ(desk_.run({"item", "import-codes", "7", desk_.path("none.csv")}).code, 66);
  EXPECT_EQ(desk_.run({"item", "import-codes", "x", "-"}).code, 64);
}

}  // namespace
}  // namespace giftsync::daemon
