// What a view of a page costs at the store, on both back ends.
#include <gtest/gtest.h>

#include "daemon/pages/gift_page_handler.h"
#include "tests/support/full_writer.h"
#include "tests/support/round_trips.h"
#include "tests/support/store_fixture.h"

namespace giftsync::pages {
namespace {
using sync::LinkKind;

class PageRoundTrips : public tests::StoreFixture {
 protected:
  void SetUp() override {
    StoreFixture::SetUp();
    if (IsSkipped()) return;
    options_.clock = [] { return kSentAt + 10; };
    handler_ = std::make_unique<GiftPageHandler>(*store_, writer_, links_,
                                                 content::make_branding("", "#0a6650"), options_);
  }

  TransactionId gift_with(Status status) {
    const TransactionId gift = one_gift();
    const store::StatusChange change{{}, "page", gift, status, kSentAt + 5, kSentAt + 5, {}};
    const auto always = [](UtcMillis, std::span<const store::ChangeSpan>) { return true; };
    if (status == Status::redeemed)
      store_->changes.accept_if(change, always, store_->codes.assign_code({7}, gift, kSentAt));
    else if (status == Status::donated)
      store_->changes.accept_if(change, always, store_->donations.record_effect(gift, {"Red Cross", ""}));
    else if (status != Status::sent)
      store_->changes.accept(std::span(&change, 1));
    return gift;
  }
  std::string token(LinkKind kind, TransactionId gift, std::int64_t generation = 0) const {
    return signer_.token(kind, gift, generation);
  }
  int view(const std::string& token) {
    http::HttpRequest request;
    request.method = "GET";
    request.path = "/g/" + token;
    request.client = "192.0.2.1";
    return handler_->handle(request, token).wait().status;
  }
  std::size_t round_trips_of_view(const std::string& token, int expected_status) {
    return tests::RoundTrips::of(address(), [&] { EXPECT_EQ(view(token), expected_status); });
  }

  const sync::LinkSigner signer_{std::string(32, 'k')};
  const sync::GiftLinks links_{"https://gifts.example", signer_};
  tests::FullWriter writer_;
  GiftPageOptions options_;
  std::unique_ptr<GiftPageHandler> handler_;
};
INSTANTIATE_TEST_SUITE_P(BackEnds, PageRoundTrips,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// PAGE-21
TEST_P(PageRoundTrips, AViewIsOneInEachStatusAndUnderEachLink) {
  store_->codes.import({7}, std::vector<std::string>{"CODE"}, kSentAt);
  view(token(LinkKind::redeem, gift_with(Status::sent)));  // prepares the statement
  for (const Status status :
       {Status::sent, Status::opened, Status::redeemed, Status::donated, Status::expired, Status::refunded}) {
    const TransactionId gift = gift_with(status);
    for (const LinkKind kind : {LinkKind::redeem, LinkKind::donate, LinkKind::view}) {
      EXPECT_EQ(round_trips_of_view(token(kind, gift), 200), 1u) << to_word(status);
      EXPECT_EQ(round_trips_of_view(token(kind, gift), 200), 1u) << to_word(status) << ", viewed again";
    }
  }
}

// PAGE-21
TEST_P(PageRoundTrips, AViewThatShowsNoGiftIsOneAtMost) {
  const TransactionId gift = gift_with(Status::sent);
  view(token(LinkKind::redeem, gift));
  EXPECT_EQ(round_trips_of_view("Anything", 404), 0u);
  EXPECT_EQ(round_trips_of_view(token(LinkKind::redeem, {gift.value + 100}), 404), 1u);
  EXPECT_EQ(round_trips_of_view(token(LinkKind::redeem, gift, 1), 410), 1u);
}

// PAGE-21
TEST_P(PageRoundTrips, TheFirstViewOfAConnectionPreparesTheStatement) {
  const TransactionId gift = gift_with(Status::sent);
  const std::size_t prepares = dialect() == sql::Dialect::postgresql ? 1 : 0;
  EXPECT_EQ(round_trips_of_view(token(LinkKind::redeem, gift), 200), 1 + prepares);
}

}  // namespace
}  // namespace giftsync::pages
