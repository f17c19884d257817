// What a page shows of a gift, without a store.
#include <gtest/gtest.h>

#include "daemon/pages/gift_page.h"

namespace giftsync::pages {
namespace {
using sync::LinkKind;

constexpr UtcMillis kNow{1'800'000'000'000};

class PageModel : public testing::Test {
 protected:
  PageModel() {
    view_.gift.transaction.id = {5};
    view_.gift.transaction.email = "ada@example.com";
    view_.gift.transaction.first_name = "Ada";
    view_.gift.transaction.message = "Thanks";
    view_.gift.transaction.times[Status::sent] = kNow;
    view_.gift.request.sender_email = "sam@example.com";
    view_.gift.request.utm_campaign_id = "spring";
    view_.picture = "https://shop.example/coffee.jpg";
    view_.redemption_text = "Show it at the counter.";
    view_.redemption_link = "https://shop.example";
    view_.code = "CODE";
    view_.donation = store::Donation{"Red Cross", ""};
  }
  void come_to(Status status) { view_.changes.push_back({{5}, status, Premise::none, kNow + 5, kNow + 5}); }
  GiftPageModel model_of(LinkKind kind, bool is_revoked_view = false, std::string_view query = {}) const {
    return page_model(view_, {kind, is_revoked_view, query, kNow + 10}, links_, {{"Red Cross", ""}});
  }

  const sync::LinkSigner signer_{std::string(32, 'k')};
  const sync::GiftLinks links_{"https://gifts.example", signer_};
  store::PageView view_;
};

// PAGE-14, PAGE-16
TEST_F(PageModel, HowToRedeemIsForTheAcceptLinkOfARedeemedGift) {
  EXPECT_EQ(model_of(LinkKind::redeem).code, "");
  come_to(Status::redeemed);
  EXPECT_EQ(model_of(LinkKind::redeem).code, "CODE");
  EXPECT_EQ(model_of(LinkKind::redeem).redemption_text, "Show it at the counter.");
  EXPECT_EQ(model_of(LinkKind::redeem).redemption_link, "https://shop.example?utm_campaign_id=spring");
  for (const LinkKind kind : {LinkKind::donate, LinkKind::view}) {
    const GiftPageModel model = model_of(kind);
    EXPECT_EQ(model.code + model.redemption_text + model.redemption_link, "");
    EXPECT_EQ(model.picture, view_.picture);
  }
}

// PAGE-11
TEST_F(PageModel, TheStatusIsThatOfTheChanges) {
  EXPECT_EQ(model_of(LinkKind::view).status, Status::sent);
  EXPECT_EQ(model_of(LinkKind::view).donation, std::nullopt) << "of a voided choice";
  come_to(Status::donated);
  EXPECT_EQ(model_of(LinkKind::view).status, Status::donated);
  EXPECT_EQ(model_of(LinkKind::view).donation, view_.donation);
  EXPECT_EQ(model_of(LinkKind::donate, false, "thanks").notice, PageNotice::thanks);
  EXPECT_EQ(model_of(LinkKind::redeem, false, "thanks").notice, PageNotice::none);
}

// PAGE-2
TEST_F(PageModel, ARevokedViewHasNothingOfTheRecipient) {
  EXPECT_EQ(model_of(LinkKind::view).recipient_email, "ada@example.com");
  const GiftPageModel revoked = model_of(LinkKind::view, true);
  EXPECT_EQ(revoked.recipient_name + revoked.recipient_email + revoked.message, "");
  EXPECT_EQ(revoked.sender_name, "sam@example.com");
}

}  // namespace
}  // namespace giftsync::pages
