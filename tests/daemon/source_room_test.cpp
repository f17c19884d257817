// The sources of a running daemon: what its housekeeping does with what they said.
#include "daemon/sources/source_room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/clock.h"
#include "daemon/crypto/digest.h"
#include "tests/daemon/captured_log.h"
#include "tests/daemon/temporary_store.h"

namespace giftsync::daemon {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SourceRoomTest : public ::testing::Test {
 protected:
  SourceRoomTest() {
    settings_.name = "vendor";
    settings_.signature = SourceSignature::hmac;
    settings_.signature_header = "X-Signature";
    settings_.secrets = {Secret("hush")};
    settings_.fields.transaction_id = "/id";
    settings_.fields.status = "/what";
    settings_.fields.occurred_at = "/at";
    settings_.fields.recipient_email = "/to";
  }
  /// As a start or a reload makes it.
  SourceRoom room() {
    return {{settings_}, "inst", *store_, [] {}, 1000};
  }
  static void call(SourceRoom& room, const std::string& body) {
    HttpRequest request;
    request.method = "POST";
    request.body = body;
    request.headers.emplace("X-Signature", to_hex(hmac_sha256("hush", body)));
    EXPECT_EQ(room.answer(request, "vendor").status, 200);
  }
  static void keep_house(SourceRoom& room, std::int64_t later_millis) {
    room.keep_house(system_now() + later_millis, [] { return true; });
  }
  std::string reason() { return store_->sources.standings().front().reason; }

  TemporaryStore store_;
  SourceSettings settings_;
};

TEST_F(SourceRoomTest, TellsWhatToDoWhenAllOfASourceIsHeldAndMakesItsGiftsAfterwards) {
  const std::string sent = R"({"id":8000,"what":"sent","at":1600000000,"to":"ada@example.com"})";
  CapturedLog log;
  {
    SourceRoom own = room();
    call(own, sent);
    log.take();
    keep_house(own, 30'000);
    EXPECT_EQ(reason(), "") << "what comes early is no reason to doubt";
    keep_house(own, 200'000);
    EXPECT_THAT(log.take(), ElementsAre(AllOf(HasSubstr("warning source vendor: works, but all"),
                                              HasSubstr("set transactions: external and reload"))));
    EXPECT_THAT(reason(), HasSubstr("change held --source vendor"));
    own.stop();
  }
  settings_.external = true;
  settings_.fields.recipient_email = "/nobody";
  {
    SourceRoom external = room();
    keep_house(external, 400'000);
    EXPECT_THAT(log.take(), ElementsAre(HasSubstr("correct fields.recipient_email")));
    EXPECT_THAT(reason(), HasSubstr("source aside vendor --held"));
    external.stop();
  }
  settings_.fields.recipient_email = "/to";
  SourceRoom corrected = room();
  keep_house(corrected, 600'000);
  EXPECT_THAT(log.take(), ElementsAre("info source vendor: 1 gift was made from reports that were held",
                                      "info source vendor: works"));
  EXPECT_EQ(reason(), "");
  const schema::TransactionId id{8000};
  EXPECT_EQ(store_->gifts.gifts(std::span(&id, 1)).size(), 1u);
  keep_house(corrected, 800'000);
  EXPECT_THAT(log.take(), IsEmpty());
  corrected.stop();
}

TEST_F(SourceRoomTest, WhatWasReadWrongIsNeverReleasedEvenIfTheReviewIsCut) {
  const schema::TransactionId id{8000};
  const std::string to = R"(,"to":"ada@example.com"})";
  settings_.fields.sent_at = "/sent";
  {
    SourceRoom wrong = room();
    call(wrong, R"({"id":8000,"what":"redeemed","at":1600000500,"real":1600000900,"sent":1600000000)" + to);
    keep_house(wrong, 0);
    wrong.stop();
  }
  settings_.external = true;
  settings_.fields.occurred_at = "/real";
  {
    SourceRoom cut = room();
    call(cut, R"({"id":8000,"what":"sent","real":1600000000,"sent":1600000000)" + to);
    cut.keep_house(system_now(), [] { return false; });
    ASSERT_EQ(store_->gifts.gifts(std::span(&id, 1)).size(), 1u);
    EXPECT_EQ(store_->changes.release_held(system_now()), 0);
    EXPECT_EQ(store_->sources.held_reports("vendor", 0, 10).size(), 1u);
    cut.stop();
  }
  SourceRoom whole = room();
  EXPECT_EQ(store_->changes.release_held(system_now()), 0);
  keep_house(whole, 0);
  const auto history = store_->changes.history(id);
  ASSERT_EQ(history.size(), 2u) << "sent, and redeemed at its real time";
  EXPECT_EQ(history[1].status, schema::Status::redeemed);
  EXPECT_EQ(history[1].occurred_at, schema::UtcMillis{1'600'000'900'000});
  EXPECT_EQ(store_->sources.held_reports("vendor", 0, 10).size(), 0u);
  EXPECT_EQ(store_->sources.standings().front().held, 0);
  whole.stop();
}

}  // namespace
}  // namespace giftsync::daemon
