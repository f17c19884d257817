// Premises and conflict flags (STATUS-11, STATUS-14): which expiry counts, which change contradicts which,
// and what a voided change still means.
#include <gtest/gtest.h>

#include "sync/status/status_rules.h"

namespace giftsync::sync {
namespace {
using store::StatusChange;

constexpr UtcMillis kSent{1'800'000'000'000};

store::StatusChange at(Status status, std::int64_t after_millis, Premise premise = Premise::none) {
  store::StatusChange change{{}, "test", {1}, status, kSent + after_millis, kSent + after_millis, {}};
  change.premise = premise;
  return change;
}

struct Case {
  const char* name;
  std::vector<store::StatusChange> changes;
  Status status;
  std::vector<std::string> flags;  ///< one for each change
};

class StatusPremises : public testing::TestWithParam<Case> {};

// STATUS-12
TEST_P(StatusPremises, Hold) {
  const Case& given = GetParam();
  const FoldedStatus folded = fold(kSent, given.changes);
  EXPECT_EQ(folded.status, given.status) << given.name;
  bool any = false;
  for (std::size_t i = 0; i < given.changes.size(); ++i) {
    EXPECT_EQ(conflict_reason(given.changes[i], given.changes), given.flags[i])
        << given.name << ", change " << i;
    any |= !given.flags[i].empty();
  }
  EXPECT_EQ(folded.has_conflict, any) << given.name;
}

INSTANTIATE_TEST_SUITE_P(
    Rules, StatusPremises,
    testing::Values(Case{"a timer's expiry counts when nothing contradicts it",
                         {at(Status::delivered, 1), at(Status::expired, 5, Premise::unopened)},
                         Status::expired,
                         {"", ""}},
                    Case{"opened before: the gift was not unopened",
                         {at(Status::opened, 3), at(Status::expired, 5, Premise::unopened)},
                         Status::opened,
                         {"", "expired as unopened, but it was opened before"}},
                    Case{"opened at the same moment is too late",
                         {at(Status::opened, 5), at(Status::expired, 5, Premise::unopened)},
                         Status::expired,
                         {"opened after it was expired", ""}},
                    Case{"opened before does not contradict unclaimed",
                         {at(Status::opened, 3), at(Status::expired, 5, Premise::unclaimed)},
                         Status::expired,
                         {"", ""}},
                    Case{"donated before contradicts both",
                         {at(Status::donated, 3), at(Status::expired, 5, Premise::unopened),
                          at(Status::expired, 6, Premise::unclaimed)},
                         Status::donated,
                         {"", "expired as unopened, but it was donated before",
                          "expired as unclaimed, but it was donated before"}},
                    Case{"of two premises one may hold",
                         {at(Status::opened, 3), at(Status::expired, 5, Premise::unopened),
                          at(Status::expired, 9, Premise::unclaimed)},
                         Status::expired,
                         {"", "expired as unopened, but it was opened before", ""}},
                    Case{"redeemed after an expiry that does not count",
                         {at(Status::opened, 3), at(Status::expired, 5, Premise::unopened),
                          at(Status::redeemed, 9)},
                         Status::redeemed,
                         {"", "expired as unopened, but it was opened before", ""}},
                    Case{"the refund of a contradicted expiry counts, flagged",
                         {at(Status::expired, 5, Premise::unopened),
                          at(Status::refunded, 7, Premise::expired), at(Status::opened, 3)},
                         Status::refunded,
                         {"expired as unopened, but it was opened before",
                          "refunded as expired, but no expiry counts any more", ""}},
                    Case{"a refund after an expiry",
                         {at(Status::expired, 5), at(Status::refunded, 7, Premise::expired)},
                         Status::refunded,
                         {"", ""}},
                    Case{"a refund of what never arrived",
                         {at(Status::undelivered, 2), at(Status::refunded, 7, Premise::undelivered)},
                         Status::refunded,
                         {"", ""}},
                    Case{"it was delivered before",
                         {at(Status::undelivered, 2), at(Status::delivered, 3),
                          at(Status::refunded, 7, Premise::undelivered)},
                         Status::refunded,
                         {"", "", "refunded as undelivered, but it was not undelivered then"}},
                    Case{"an outcome after the end, and an end after the outcome",
                         {at(Status::redeemed, 3), at(Status::expired, 5), at(Status::refunded, 6)},
                         Status::refunded,
                         {"", "expired after it was redeemed", "refunded after it was redeemed"}},
                    Case{"a change after two outcomes names the one that counts",
                         {at(Status::donated, 3), at(Status::redeemed, 4), at(Status::expired, 5),
                          at(Status::refunded, 6)},
                         Status::refunded,
                         {"", "redeemed after it was donated", "expired after it was donated",
                          "refunded after it was donated"}},
                    Case{"opened after the end",
                         {at(Status::expired, 5), at(Status::opened, 7)},
                         Status::expired,
                         {"", "opened after it was expired"}},
                    Case{"redeemed and donated at once, after a refund",
                         {at(Status::refunded, 1), at(Status::redeemed, 5), at(Status::donated, 5)},
                         Status::refunded,
                         {"", "redeemed after it was refunded", "donated after it was redeemed"}},
                    Case{"mail reports contradict nothing",
                         {at(Status::expired, 5), at(Status::delivered, 7), at(Status::undelivered, 8)},
                         Status::expired,
                         {"", "", ""}}));

TEST(Voided, CountsForNothing) {
  std::vector changes{at(Status::redeemed, 9), at(Status::donated, 5)};
  changes[1].voiding = store::AuditStamp{kSent + 20, "ana", "a mistake"};
  const FoldedStatus folded = fold(kSent, changes);
  EXPECT_EQ(folded.status, Status::redeemed);
  EXPECT_FALSE(folded.has_conflict);
  EXPECT_EQ(conflict_reason(changes[0], changes), "");
  EXPECT_EQ(conflict_reason(changes[1], changes), "");
}

// STATUS-8
TEST(AllowedOutcomes, PerStatus) {
  const auto after = [](std::vector<store::StatusChange> changes) { return fold(kSent, changes); };
  const FoldedStatus fresh = after({});
  const FoldedStatus opened = after({at(Status::opened, 1)});
  const FoldedStatus redeemed = after({at(Status::redeemed, 1)});
  const FoldedStatus expired = after({at(Status::expired, 1)});
  const FoldedStatus refunded = after({at(Status::refunded, 1)});
  const FoldedStatus bounced = after({at(Status::undelivered, 1)});
  for (const Status claim : {Status::redeemed, Status::donated}) {
    for (const FoldedStatus& state : {fresh, opened, bounced}) EXPECT_TRUE(allows(state, at(claim, 5)));
    for (const FoldedStatus& state : {redeemed, expired, refunded}) EXPECT_FALSE(allows(state, at(claim, 5)));
  }
  EXPECT_TRUE(allows(fresh, at(Status::expired, 5, Premise::unopened)));
  EXPECT_FALSE(allows(opened, at(Status::expired, 5, Premise::unopened)));
  EXPECT_TRUE(allows(opened, at(Status::expired, 5, Premise::unclaimed)));
  EXPECT_FALSE(allows(redeemed, at(Status::expired, 5, Premise::unclaimed)));
  EXPECT_TRUE(allows(expired, at(Status::refunded, 5, Premise::expired)));
  EXPECT_FALSE(allows(fresh, at(Status::refunded, 5, Premise::expired)));
  EXPECT_TRUE(allows(bounced, at(Status::refunded, 5, Premise::undelivered)));
  EXPECT_FALSE(allows(opened, at(Status::refunded, 5, Premise::undelivered)));
  EXPECT_TRUE(allows(opened, at(Status::refunded, 5))) << "an admin cancels it";
  EXPECT_FALSE(allows(redeemed, at(Status::refunded, 5)));
  EXPECT_FALSE(allows(refunded, at(Status::refunded, 5)));
}

}  // namespace
}  // namespace giftsync::sync
