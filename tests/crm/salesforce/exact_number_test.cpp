// Numbers of Salesforce's answers: exactly, in every form in which doubles are written.
#include <gtest/gtest.h>

#include <random>

#include "crm/salesforce/calls/record_json.h"

namespace giftsync::salesforce {
namespace {

std::optional<std::string> digits_in(const std::string& number) {
  const auto document = parse_json("{\"n\":" + number + "}", {.large_numbers_as_text = true});
  if (!document) return "not JSON";
  return number_text(*document->root().find("n"));
}

TEST(ExactNumber, ReadsEveryFormOfJson) {
  const std::pair<std::string, std::string> kCases[] = {
      {"0", "0"},
      {"-0.0", "0"},
      {"123", "123"},
      {"123.0", "123"},
      {"1.23E9", "1230000000"},
      {"1.23e+9", "1230000000"},
      {"12.50", "12.5"},
      {"5E-2", "0.05"},
      {"-0.05", "-0.05"},
      {"9.007199254740992E15", "9007199254740992"},
      {"9.007199254740993E15", "9007199254740993"},
      {"9007199254740992.0", "9007199254740992"},
      {"99999999999999.99", "99999999999999.99"},
      {"9.999999999999999E13", "99999999999999.99"},
      {"12345678901234567890", "12345678901234567890"},
  };
  for (const auto& [json, digits] : kCases) EXPECT_EQ(digits_in(json), digits) << json;
}

TEST(ExactNumber, RefusesWhatIsNoNumber) {
  for (const char* text :
       {"", "-", "1.", ".5", "1e", "1e+", "0x10", "1,5", "NaN", "1e999", " 1", "1-", "1e--1"})
    EXPECT_FALSE(plain_number(text)) << text;
  EXPECT_FALSE(digits_in("null"));
  EXPECT_FALSE(digits_in("true"));
}

TEST(ExactNumber, WholeNumbersAndMoneyAreNeverRounded) {
  EXPECT_EQ(whole_number("9000000000000001.0"), 9'000'000'000'000'001);
  EXPECT_EQ(whole_number("1.5"), std::nullopt);
  EXPECT_EQ(whole_number("1E30"), std::nullopt);
  EXPECT_EQ(money_of("16.490"), Money{1649});
  EXPECT_EQ(money_of("1.649E1"), Money{1649});
  EXPECT_EQ(money_of("16.495"), std::nullopt);
  EXPECT_EQ(money_of("99999999999999.99"), kMaxMoney);
  EXPECT_EQ(money_of("100000000000000"), std::nullopt);
}

TEST(ExactNumber, EveryAmountOfCentsSurvivesTheForms) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 5000; ++round) {
    const Money money{static_cast<std::int64_t>(random() % (kMaxMoney.minor_units + 1))};
    const auto digits = digits_in(to_decimal(money));
    ASSERT_TRUE(digits);
    EXPECT_EQ(money_of(*digits), money);
    std::string mantissa = std::to_string(money.minor_units);
    const std::string exponent = "E" + std::to_string(static_cast<int>(mantissa.size()) - 3);
    mantissa.insert(1, mantissa.size() > 1 ? "." : ".0");
    const auto scientific = digits_in(mantissa + exponent);
    ASSERT_TRUE(scientific);
    EXPECT_EQ(money_of(*scientific), money) << mantissa << exponent;
  }
}

}  // namespace
}  // namespace giftsync::salesforce
