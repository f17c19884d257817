// Gift codes on the command line: imported, counted, never shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/cli_fixture.h"
#include "tests/support/json.h"

namespace giftsync::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class CliGiftCodes : public testing::Test {
 protected:
  CliGiftCodes() {
    cli_.write("items.csv",
               "gift_id,name,description,item_cost,shipping_cost,carbon_neutral_cost,transaction_fee\n"
               "7,Coffee,Hot,5.00,0.00,0.10,0.40\n");
    cli_.run({"item", "import", cli_.path("items.csv")});
  }
  CliFixture::Result import(const std::string& text) {
    return cli_.run({"item", "codes", "import", "7", "-"}, text);
  }

  CliFixture cli_;
};

// OPS-22
TEST_F(CliGiftCodes, AreAddedAndCounted) {
  const auto result = import(
      "\xEF\xBB\xBF"
      "Code\r\n ABC-1 \r\n\"A,\"\"2\"\r\n");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "2 codes: 2 new, 0 already known\n");
  EXPECT_EQ(import("code\nABC-1\nABC-3\n").out, "2 codes: 1 new, 1 already known\n");
  const auto listed = tests::parse_json(cli_.run({"item", "codes", "list", "--json"}).out);
  EXPECT_EQ(listed,
            tests::parse_json(R"([{"gift_id":7,"name":"Coffee","remaining":3,"issued":0,"low":true}])"));
  EXPECT_THAT(cli_.run({"item", "codes", "list"}).out, HasSubstr("low"));
  EXPECT_THAT(cli_.run({"status"}).out, HasSubstr("codes     item 7: 3 remaining, 0 issued; LOW"));
  const auto status = tests::parse_json(cli_.run({"status", "--json"}).out);
  EXPECT_EQ(status["codes"][0]["remaining"], 3);
  cli_.write_settings("catalogue: { low_code_threshold: 2 }\n");
  EXPECT_THAT(cli_.run({"status"}).out, Not(HasSubstr("LOW")));
}

TEST_F(CliGiftCodes, AFaultyFileIsRefusedWholeWithoutShowingACode) {
  const auto result = import("code\nSECRET-1\n\"\"\nSECRET-1\nSECRET-2,x\n\"a\tb\"\n");
  EXPECT_EQ(result.code, 65);
  EXPECT_THAT(result.err, HasSubstr("stdin:3: code: found an invalid code; allowed: 1 to 255"));
  EXPECT_THAT(result.err, HasSubstr("stdin:4: code: found the code of line 2 again"));
  EXPECT_THAT(result.err, HasSubstr("stdin:5: found 2 cells; allowed: 1"));
  EXPECT_THAT(result.err, HasSubstr("stdin:6: code"));
  EXPECT_THAT(result.err + result.out, Not(HasSubstr("SECRET")));
  EXPECT_EQ(cli_.run({"item", "codes", "list", "--json"}).out, "[]\n");
}

TEST_F(CliGiftCodes, WhatASpreadsheetWroteInPlaceOfACodeIsRefused) {
  const auto result = import("code;;\nA-1;;\n#N/A;;\n2.06555E+09;;\ncode;;\n;;\nB-2\rC-3\r");
  EXPECT_EQ(result.code, 65);
  EXPECT_THAT(
      result.err,
      AllOf(HasSubstr("stdin:3: code: found a cell, which a spreadsheet writes for a formula"),
            HasSubstr("stdin:4: code: found a cell, to which a spreadsheet has rounded"),
            HasSubstr("stdin:5: code: found a cell, which is the header once more"), HasSubstr("3 faults")));
  EXPECT_EQ(import("code;;\nA-1;;\nB-2\rC-3\r").out, "3 codes: 3 new, 0 already known\n");
}

TEST_F(CliGiftCodes, AnInvalidFileIsRefused) {
  EXPECT_THAT(import("SECRET-1\nSECRET-2\n").err, HasSubstr("stdin:1: found another header"));
  EXPECT_THAT(import("").err, HasSubstr("found no codes"));
  EXPECT_THAT(import("code\n").err, HasSubstr("found no codes"));
  const auto unknown = cli_.run({"item", "codes", "import", "8", "-"}, "code\nA\n");
  EXPECT_EQ(unknown.code, 65);
  EXPECT_THAT(unknown.err, HasSubstr("the catalogue has no item 8"));
  EXPECT_EQ(cli_.run({"item", "codes", "import", "7", cli_.path("none.csv")}).code, 66);
  EXPECT_EQ(cli_.run({"item", "codes", "import", "x", "-"}).code, 64);
}

}  // namespace
}  // namespace giftsync::cli
