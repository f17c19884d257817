// What a mail provider tells late about a mail to an address that its gift has left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/sources/preset_report.h"
#include "daemon/sources/source_intake.h"
#include "tests/daemon/temporary_store.h"

namespace giftsync::daemon {
namespace {

using namespace schema;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr UtcMillis kNow{1'800'000'000'000};

TEST(FormerAddress, ItsReportsAreNoneOfTheGifts) {
  TemporaryStore store;
  SourceWatch watch{*store};
  SourceIntake intake{*store, watch, [] {}};
  SourceSettings settings;
  settings.name = "mails";
  settings.preset = SourcePreset::ses;
  const SourcePlan plan = make_source_plan(settings, "inst");
  watch.open(plan.settings.name, plan.origin, kNow);
  const TransactionId gift = store.gifts(1).front();
  const auto report = [&](const std::string& mail, const char* word) {
    const std::string id = "gift-" + std::to_string(gift.value) + "." + mail + ".inst@example.com";
    const RawReport one = mail_report(plan, id, word, "2026-11-20T10:00:00Z", id + word);
    return intake.take(plan, intake.judge_all(plan, std::span(&one, 1), kNow), {}, kNow);
  };
  const auto statuses = [&] {
    std::vector<Status> found;
    for (const StatusChange& one : store->changes.history(gift)) found.push_back(one.status);
    return found;
  };
  store->life.order_mail(gift, kNow, [](const MailView&) {
    return MailOrder{MailKind::gift, "bea@example.org"};
  });
  EXPECT_EQ(report("0", "bounced").ignored, 1u);
  EXPECT_THAT(statuses(), IsEmpty());
  EXPECT_EQ(report("1.2", "delivered").ignored, 0u);
  EXPECT_THAT(statuses(), ElementsAre(Status::delivered)) << "the mail to the new address counts";
}

}  // namespace
}  // namespace giftsync::daemon
