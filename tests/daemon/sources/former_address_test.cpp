// Late events of a mail provider about a mail to an address that the gift no longer has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/sources/event_ingestor.h"
#include "daemon/sources/provider_webhook.h"
#include "tests/support/temporary_store.h"

namespace giftsync::sources {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr UtcMillis kNow{1'800'000'000'000};

// MAIL-22
TEST(FormerAddress, ReportsAboutAFormerAddressAreIgnored) {
  tests::TemporaryStore store;
  SourceHealthMonitor health_monitor{*store};
  EventIngestor ingestor{*store, health_monitor, [] {}};
  config::SourceSettings settings;
  settings.name = "mails";
  settings.preset = config::SourcePreset::ses;
  const CompiledSource source = compile_source(settings, "inst");
  health_monitor.register_source(source.settings.name, source.rules.gift_source, kNow);
  const TransactionId gift = store.create_gifts(1).front();
  const auto ingest_event = [&](const std::string& mail, const char* event_type) {
    const std::string id = "gift-" + std::to_string(gift.value) + "." + mail + ".inst@example.com";
    const auto body = parse_json("{}");
    const sync::InboundEvent one = mail_event(source, ProviderEvent(body->root()),
                                              {id, event_type, "2026-11-20T10:00:00Z", id + event_type});
    return ingestor.ingest(source, ingestor.classify_events(source, std::span(&one, 1), kNow), {}, kNow);
  };
  const auto statuses = [&] {
    std::vector<Status> found;
    for (const store::StatusChange& one : store->changes.history(gift)) found.push_back(one.status);
    return found;
  };
  store->lifecycle.enqueue_mail(gift, kNow, [](const store::MailContext&) {
    return store::MailOrder{MailKind::gift, "bea@example.org"};
  });
  EXPECT_EQ(ingest_event("0", "bounced").ignored, 1u);
  EXPECT_THAT(statuses(), IsEmpty());
  const auto ignored = store->sources.list_ignored("mails", 0, 10);
  ASSERT_THAT(ignored, ::testing::SizeIs(1));
  EXPECT_EQ(ignored.front().detail, "it is about a mail to an address that the gift no longer has");
  EXPECT_EQ(ingest_event("1.2", "delivered").ignored, 0u);
  EXPECT_THAT(statuses(), ElementsAre(Status::delivered)) << "the mail to the new address counts";
}

}  // namespace
}  // namespace giftsync::sources
