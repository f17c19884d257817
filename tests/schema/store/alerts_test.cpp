// The conditions that began and ended, until admins were mailed (OPS-43).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class AlertStore : public tests::StoreFixture {};
INSTANTIATE_TEST_SUITE_P(BackEnds, AlertStore,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

TEST_P(AlertStore, KeepsReplacesAndForgets) {
  Alerts& alerts = store_->alerts;
  EXPECT_THAT(alerts.list(), IsEmpty());
  EXPECT_FALSE(alerts.last_mailed_at().has_value());
  const Alert held{"mail.held", "1 mail is held", "search \"it\"", kSentAt, {}, {}};
  Alert source{"sources.failing vendor", "a\nb", "c\nd", kSentAt + 1, kSentAt + 5, kSentAt + 2};
  const std::vector<Alert> both{source, held};
  alerts.save(both, {});
  EXPECT_THAT(alerts.list(), ElementsAre(held, source));
  EXPECT_FALSE(alerts.last_mailed_at().has_value()) << "nothing left";
  source.ended_at.reset();
  source.begin_mailed_at.reset();
  source.what = "c";
  const std::vector<std::string> ended{"mail.held", "unknown"};
  alerts.save(std::span(&source, 1), ended, kSentAt + 9);
  EXPECT_THAT(alerts.list(), ElementsAre(source));
  EXPECT_EQ(alerts.last_mailed_at(), kSentAt + 9);
}

}  // namespace
}  // namespace giftsync::store
