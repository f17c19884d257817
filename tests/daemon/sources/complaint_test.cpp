// Complaints and bad addresses that mail providers report: the recipient gets no more gifts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/sources/event_ingestor.h"
#include "daemon/sources/provider_webhook.h"
#include "schema/store/gift/erased_address.h"
#include "sync/gift/gift_actions.h"
#include "tests/support/temporary_database.h"
#include "tests/support/temporary_store.h"

namespace giftsync::sources {
namespace {

using ::testing::IsEmpty;

constexpr UtcMillis kNow{1'800'000'000'000};

class ComplaintTest : public ::testing::Test {
 protected:
  ComplaintTest() {
    config::SourceSettings settings;
    settings.name = "mails";
    settings.preset = config::SourcePreset::postmark;
    settings.secrets = {config::Secret("user:password")};
    source_ = compile_source(settings, "inst");
    health_monitor_.register_source("mails", "", kNow);
  }
  sync::IngestSummary bounce(const std::string& message_id,
                             const std::string& recipient = "Kim@Example.com") {
    const auto body = parse_json("{}");
    MailEventFields fields{message_id, "bounced", to_rfc3339(kNow), message_id, recipient};
    fields.is_bad_address = true;
    const sync::InboundEvent event = mail_event(source_, ProviderEvent(body->root()), fields);
    return ingestor_.ingest(source_, ingestor_.classify_events(source_, std::span(&event, 1), kNow), {},
                            kNow);
  }
  void compile(const config::DoNotSendSettings& listing) {
    source_ = compile_source(config::SourceSettings(source_.settings), "inst", listing);
  }
  sync::IngestSummary ingest(const std::string& message_id, const std::string& status = "complained",
                             const std::string& recipient = "Kim@Example.com") {
    const auto body = parse_json("{}");
    const sync::InboundEvent event =
        mail_event(source_, ProviderEvent(body->root()), {message_id, status, "", message_id, recipient});
    return ingestor_.ingest(source_, ingestor_.classify_events(source_, std::span(&event, 1), kNow), {},
                            kNow);
  }
  std::string mail(const std::string& kind, const std::string& generation,
                   const std::string& store = "inst") {
    return kind + "-" + std::to_string(gift_.value) + "." + generation + "." + store + "@example.com";
  }
  std::vector<store::DoNotSendEntry> listed() { return store_->do_not_send.list({}, "", 10, kNow); }

  tests::TemporaryStore store_;
  SourceHealthMonitor health_monitor_{*store_};
  EventIngestor ingestor_{*store_, health_monitor_, [] {}};
  CompiledSource source_;
  const TransactionId gift_ = store_.create_gifts(1).front();
};

// covers: GUARD-4
TEST_F(ComplaintTest, WhoCallsAGiftOrItsReminderUnwantedGetsNoMoreGifts) {
  for (const char* kind : {"gift", "reminder"}) {
    EXPECT_EQ(ingest(mail(kind, "0")).ignored, 1u) << "it changes no status";
    const auto found = listed();
    ASSERT_EQ(found.size(), 1u) << kind;
    EXPECT_EQ(found[0].reason, DoNotSendReason::complained);
    EXPECT_EQ(found[0].transaction, gift_);
    EXPECT_EQ(found[0].added_by, "mails");
    EXPECT_EQ(found[0].pattern, "kim@example.com");
    EXPECT_TRUE(store_->do_not_send.remove(found[0].pattern, DoNotSendReason::complained, {}));
  }
  EXPECT_THAT(store_->changes.history(gift_), IsEmpty());
}

// covers: GUARD-23
TEST_F(ComplaintTest, ComplaintsDoNotCountWhereTheSettingsSaySo) {
  compile({.complaints = false, .bounces = true});
  EXPECT_EQ(ingest(mail("gift", "0")).ignored, 1u);
  EXPECT_THAT(listed(), IsEmpty());
}

// covers: GUARD-22
TEST_F(ComplaintTest, ABadAddressIsListedForSomeDaysInTheTransactionOfTheReport) {
  bounce(mail("gift", "0"));
  EXPECT_THAT(listed(), IsEmpty()) << "by default it is not";
  compile({.bounces = true, .bounce_days = 90});
  EXPECT_EQ(bounce(mail("reminder", "0.2"), "rose@example.com").ignored, 1u);
  bounce(mail("gift", "1"));
  const auto found = listed();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].pattern, "kim@example.com");
  EXPECT_EQ(found[0].reason, DoNotSendReason::bounced);
  EXPECT_EQ(found[0].transaction, gift_);
  EXPECT_EQ(found[0].added_by, "mails");
  EXPECT_EQ(found[0].expires_at, kNow + 90 * kDayMillis);
  EXPECT_EQ(found[1].pattern, "rose@example.com");
  EXPECT_THAT(store_->do_not_send.list({}, "", 10, kNow + 91 * kDayMillis), IsEmpty());
}

// covers: GUARD-4
TEST_F(ComplaintTest, ABounceReplacesNoStrongerReason) {
  compile({.bounces = true});
  ingest(mail("gift", "0"));
  bounce(mail("gift", "0"));
  ASSERT_EQ(listed().size(), 1u);
  EXPECT_EQ(listed()[0].reason, DoNotSendReason::complained);
  EXPECT_EQ(listed()[0].expires_at, std::nullopt);
}

// covers: GUARD-22
TEST_F(ComplaintTest, AReportNeverShortensAnEntry) {
  compile({.bounces = true, .bounce_days = 90});
  const auto enter = [&](DoNotSendReason reason, std::optional<UtcMillis> end) {
    store_->do_not_send.remove("kim@example.com", reason, {});
    const store::DoNotSendEntry entry{"kim@example.com", reason, "former system", {}, {}, "root", end};
    store_->do_not_send.add(std::span(&entry, 1), {});
  };
  for (const std::optional<UtcMillis> end :
       {std::optional<UtcMillis>(), std::optional(kNow + 200 * kDayMillis)}) {
    enter(DoNotSendReason::bounced, end);
    bounce(mail("gift", "0"));
    ASSERT_EQ(listed().size(), 1u);
    EXPECT_EQ(listed()[0].expires_at, end);
    EXPECT_EQ(listed()[0].comment, "former system");
    EXPECT_EQ(listed()[0].added_by, "root");
  }
  enter(DoNotSendReason::bounced, kNow + 10 * kDayMillis);
  bounce(mail("gift", "0"));
  EXPECT_EQ(listed()[0].expires_at, kNow + 90 * kDayMillis);
  EXPECT_EQ(listed()[0].added_by, "mails");
  for (const std::optional<UtcMillis> end : {std::optional<UtcMillis>(), std::optional(kNow + kDayMillis)}) {
    enter(DoNotSendReason::complained, end);
    ingest(mail("gift", "0"));
    EXPECT_EQ(listed()[0].reason, DoNotSendReason::complained);
    EXPECT_EQ(listed()[0].expires_at, std::nullopt);
    EXPECT_EQ(listed()[0].comment, end ? "" : "former system");
  }
}

// covers: GUARD-17
TEST_F(ComplaintTest, AReportAboutAGiftOfAnErasedPersonAddsNoAddress) {
  compile({.bounces = true, .bounce_days = 90});
  tests::run_sql(store_.address(), "UPDATE recipient_transaction SET email = '" +
                                       store::erased_address_mark(std::string(64, 'a')) + "'");
  bounce(mail("gift", "0"));
  bounce(mail("reminder", "0.2"));
  ingest(mail("gift", "0"));
  ingest(mail("reminder", "0.2"));
  EXPECT_THAT(listed(), IsEmpty());
}

TEST_F(ComplaintTest, OtherEventsAndInstallationsAddNothing) {
  ingest(mail("gift", "0"), "other");
  ingest(mail("gift", "0", "elsewhere"));
  ingest("");
  ingest(mail("gift", "0"), "complained", "");
  ingest(mail("gift", "0"), "complained", "no address");
  EXPECT_THAT(listed(), IsEmpty());
}

TEST_F(ComplaintTest, ItCountsWhateverBecameOfTheGift) {
  sync::cancel(store_->changes, store_->lifecycle, gift_, "root", kNow);
  ingest(mail("gift", "0"));
  ASSERT_EQ(listed().size(), 1u)
      << "a cancel makes its links invalid, and the mail was unwanted all the same";
  ingest(mail("gift", "0"), "complained", "former@example.com");
  EXPECT_EQ(listed().size(), 2u) << "the address that the provider names, not the gift's present one";
}

}  // namespace
}  // namespace giftsync::sources
