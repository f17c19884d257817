// The charity that a recipient chose, as the admin sees it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sync/recipient_choice.h"
#include "tests/cli/desk.h"

namespace giftsync::daemon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Donations : public testing::Test {
 protected:
  schema::TransactionId donate(const schema::Donation& donation) {
    const schema::TransactionId gift = desk_.send_gifts({"ada@example.com"}).front();
    schema::Store store(desk_.address());
    const auto decided = sync::choose(store.changes, gift, schema::Status::donated, desk_.now + 1,
                                      store.donations.record(gift, donation));
    EXPECT_EQ(decided.outcome, schema::DecidedOutcome::accepted);
    return gift;
  }

  CliDesk desk_;
};

TEST_F(Donations, GiftShowTellsTheCharity) {
  const schema::TransactionId gift = donate({"Red Cross", "https://redcross.example"});
  const std::string id = std::to_string(gift.value);
  EXPECT_THAT(desk_.run({"gift", "show", id}).out,
              HasSubstr("donated to    Red Cross (https://redcross.example)"));
  const auto told = nlohmann::json::parse(desk_.run({"gift", "show", id, "--json"}).out);
  EXPECT_EQ(told["donation"],
            nlohmann::json::parse(R"({"charity": "Red Cross", "link": "https://redcross.example"})"));
  EXPECT_EQ(told["has_code"], false);
}

TEST_F(Donations, WithoutACharityTheCompanyChooses) {
  const schema::TransactionId gift = donate({});
  EXPECT_THAT(desk_.run({"gift", "show", std::to_string(gift.value)}).out,
              HasSubstr("donated to    whom the sender's company chooses"));
}

TEST_F(Donations, ACodeIsToldOfAndNotShown) {
  const schema::TransactionId gift = desk_.send_gifts({"ada@example.com"}).front();
  {
    schema::Store store(desk_.address());
    store.codes.import({7}, std::vector<std::string>{"SECRET-1"}, desk_.now);
    sync::choose(store.changes, gift, schema::Status::redeemed, desk_.now + 1,
                 store.codes.one_for({7}, gift, desk_.now + 1));
  }
  const auto shown = desk_.run({"gift", "show", std::to_string(gift.value)});
  EXPECT_THAT(shown.out, HasSubstr("code          handed out"));
  EXPECT_THAT(shown.out, Not(HasSubstr("SECRET")));
}

}  // namespace
}  // namespace giftsync::daemon
