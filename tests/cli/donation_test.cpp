// The charity that a recipient chose, in `gift show` and `gift export`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sync/gift/gift_actions.h"
#include "tests/cli/cli_fixture.h"
#include "tests/support/json.h"

namespace giftsync::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class CliDonation : public testing::Test {
 protected:
  TransactionId donate(const store::Donation& donation) {
    const TransactionId gift = cli_.send_gifts({"ada@example.com"}).front();
    store::Store store(cli_.address());
    const auto decided = sync::redeem_or_donate(store.changes, gift, Status::donated, cli_.now + 1,
                                                store.donations.record_effect(gift, donation));
    EXPECT_EQ(decided.outcome, store::ConditionalOutcome::accepted);
    return gift;
  }

  CliFixture cli_;
};

TEST_F(CliDonation, GiftShowPrintsTheCharity) {
  const TransactionId gift = donate({"Red Cross", "https://redcross.example"});
  const std::string id = std::to_string(gift.value);
  EXPECT_THAT(cli_.run({"gift", "show", id}).out,
              HasSubstr("donated to    Red Cross (https://redcross.example)"));
  const auto output = tests::parse_json(cli_.run({"gift", "show", id, "--json"}).out);
  EXPECT_EQ(output["donation"],
            tests::parse_json(R"({"charity": "Red Cross", "link": "https://redcross.example"})"));
  EXPECT_EQ(output["has_code"], false);
}

TEST_F(CliDonation, WithoutACharityTheCompanyChooses) {
  const TransactionId gift = donate({});
  EXPECT_THAT(cli_.run({"gift", "show", std::to_string(gift.value)}).out,
              HasSubstr("donated to    a charity that the sender's company chooses"));
}

TEST_F(CliDonation, AnIssuedCodeIsMentionedButNotShown) {
  const TransactionId gift = cli_.send_gifts({"ada@example.com"}).front();
  {
    store::Store store(cli_.address());
    store.codes.import({7}, std::vector<std::string>{"SECRET-1"}, cli_.now);
    sync::redeem_or_donate(store.changes, gift, Status::redeemed, cli_.now + 1,
                           store.codes.assign_code({7}, gift, cli_.now + 1));
  }
  const auto shown = cli_.run({"gift", "show", std::to_string(gift.value)});
  EXPECT_THAT(shown.out, HasSubstr("code          issued"));
  EXPECT_THAT(shown.out, Not(HasSubstr("SECRET")));
}

}  // namespace
}  // namespace giftsync::cli
