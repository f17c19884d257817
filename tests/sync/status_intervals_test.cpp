// Premises and conflict flags (STATUS-11, STATUS-14): which expiry counts, which change contradicts which,
// and what a voided change still means.
#include <gtest/gtest.h>

#include "sync/conditional_outcome.h"
#include "sync/status_rules.h"

namespace giftsync::sync {
namespace {

using platform::UtcMillis;
using schema::Premise;
using schema::Status;
using schema::store::StatusChange;

constexpr platform::UtcMillis kSent{1'800'000'000'000};

schema::store::StatusChange at(schema::Status status, std::int64_t after_millis,
                               schema::Premise premise = schema::Premise::none) {
  schema::store::StatusChange change{{}, "test", {1}, status, kSent + after_millis, kSent + after_millis, {}};
  change.premise = premise;
  return change;
}

struct Case {
  const char* name;
  std::vector<schema::store::StatusChange> changes;
  schema::Status status;
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
    testing::Values(
        Case{"a timer's expiry counts when nothing contradicts it",
             {at(schema::Status::delivered, 1), at(schema::Status::expired, 5, schema::Premise::unopened)},
             schema::Status::expired,
             {"", ""}},
        Case{"opened before: the gift was not unopened",
             {at(schema::Status::opened, 3), at(schema::Status::expired, 5, schema::Premise::unopened)},
             schema::Status::opened,
             {"", "expired as unopened, but it was opened before"}},
        Case{"opened at the same moment is too late",
             {at(schema::Status::opened, 5), at(schema::Status::expired, 5, schema::Premise::unopened)},
             schema::Status::expired,
             {"opened after it was expired", ""}},
        Case{"opened before does not contradict unclaimed",
             {at(schema::Status::opened, 3), at(schema::Status::expired, 5, schema::Premise::unclaimed)},
             schema::Status::expired,
             {"", ""}},
        Case{"donated before contradicts both",
             {at(schema::Status::donated, 3), at(schema::Status::expired, 5, schema::Premise::unopened),
              at(schema::Status::expired, 6, schema::Premise::unclaimed)},
             schema::Status::donated,
             {"", "expired as unopened, but it was donated before",
              "expired as unclaimed, but it was donated before"}},
        Case{"of two premises one may hold",
             {at(schema::Status::opened, 3), at(schema::Status::expired, 5, schema::Premise::unopened),
              at(schema::Status::expired, 9, schema::Premise::unclaimed)},
             schema::Status::expired,
             {"", "expired as unopened, but it was opened before", ""}},
        Case{"redeemed after an expiry that does not count",
             {at(schema::Status::opened, 3), at(schema::Status::expired, 5, schema::Premise::unopened),
              at(schema::Status::redeemed, 9)},
             schema::Status::redeemed,
             {"", "expired as unopened, but it was opened before", ""}},
        Case{"the refund of a contradicted expiry counts, flagged",
             {at(schema::Status::expired, 5, schema::Premise::unopened),
              at(schema::Status::refunded, 7, schema::Premise::expired), at(schema::Status::opened, 3)},
             schema::Status::refunded,
             {"expired as unopened, but it was opened before",
              "refunded as expired, but no expiry counts any more", ""}},
        Case{"a refund after an expiry",
             {at(schema::Status::expired, 5), at(schema::Status::refunded, 7, schema::Premise::expired)},
             schema::Status::refunded,
             {"", ""}},
        Case{"a refund of what never arrived",
             {at(schema::Status::undelivered, 2),
              at(schema::Status::refunded, 7, schema::Premise::undelivered)},
             schema::Status::refunded,
             {"", ""}},
        Case{"it was delivered before",
             {at(schema::Status::undelivered, 2), at(schema::Status::delivered, 3),
              at(schema::Status::refunded, 7, schema::Premise::undelivered)},
             schema::Status::refunded,
             {"", "", "refunded as undelivered, but it was not undelivered then"}},
        Case{"an outcome after the end, and an end after the outcome",
             {at(schema::Status::redeemed, 3), at(schema::Status::expired, 5),
              at(schema::Status::refunded, 6)},
             schema::Status::refunded,
             {"", "expired after it was redeemed", "refunded after it was redeemed"}},
        Case{"a change after two outcomes names the one that counts",
             {at(schema::Status::donated, 3), at(schema::Status::redeemed, 4), at(schema::Status::expired, 5),
              at(schema::Status::refunded, 6)},
             schema::Status::refunded,
             {"", "redeemed after it was donated", "expired after it was donated",
              "refunded after it was donated"}},
        Case{"opened after the end",
             {at(schema::Status::expired, 5), at(schema::Status::opened, 7)},
             schema::Status::expired,
             {"", "opened after it was expired"}},
        Case{"redeemed and donated at once, after a refund",
             {at(schema::Status::refunded, 1), at(schema::Status::redeemed, 5),
              at(schema::Status::donated, 5)},
             schema::Status::refunded,
             {"", "redeemed after it was refunded", "donated after it was redeemed"}},
        Case{"mail reports contradict nothing",
             {at(schema::Status::expired, 5), at(schema::Status::delivered, 7),
              at(schema::Status::undelivered, 8)},
             schema::Status::expired,
             {"", "", ""}}));

TEST(Voided, CountsForNothing) {
  std::vector changes{at(schema::Status::redeemed, 9), at(schema::Status::donated, 5)};
  changes[1].voiding = schema::store::AuditStamp{kSent + 20, "ana", "a mistake"};
  const FoldedStatus folded = fold(kSent, changes);
  EXPECT_EQ(folded.status, schema::Status::redeemed);
  EXPECT_FALSE(folded.has_conflict);
  EXPECT_EQ(conflict_reason(changes[0], changes), "");
  EXPECT_EQ(conflict_reason(changes[1], changes), "");
}

// STATUS-8
TEST(AllowedOutcomes, PerStatus) {
  const auto after = [](std::vector<schema::store::StatusChange> changes) { return fold(kSent, changes); };
  const FoldedStatus fresh = after({});
  const FoldedStatus opened = after({at(schema::Status::opened, 1)});
  const FoldedStatus redeemed = after({at(schema::Status::redeemed, 1)});
  const FoldedStatus expired = after({at(schema::Status::expired, 1)});
  const FoldedStatus refunded = after({at(schema::Status::refunded, 1)});
  const FoldedStatus bounced = after({at(schema::Status::undelivered, 1)});
  for (const schema::Status claim : {schema::Status::redeemed, schema::Status::donated}) {
    for (const FoldedStatus& state : {fresh, opened, bounced}) EXPECT_TRUE(allows(state, at(claim, 5)));
    for (const FoldedStatus& state : {redeemed, expired, refunded}) EXPECT_FALSE(allows(state, at(claim, 5)));
  }
  EXPECT_TRUE(allows(fresh, at(schema::Status::expired, 5, schema::Premise::unopened)));
  EXPECT_FALSE(allows(opened, at(schema::Status::expired, 5, schema::Premise::unopened)));
  EXPECT_TRUE(allows(opened, at(schema::Status::expired, 5, schema::Premise::unclaimed)));
  EXPECT_FALSE(allows(redeemed, at(schema::Status::expired, 5, schema::Premise::unclaimed)));
  EXPECT_TRUE(allows(expired, at(schema::Status::refunded, 5, schema::Premise::expired)));
  EXPECT_FALSE(allows(fresh, at(schema::Status::refunded, 5, schema::Premise::expired)));
  EXPECT_TRUE(allows(bounced, at(schema::Status::refunded, 5, schema::Premise::undelivered)));
  EXPECT_FALSE(allows(opened, at(schema::Status::refunded, 5, schema::Premise::undelivered)));
  EXPECT_TRUE(allows(opened, at(schema::Status::refunded, 5))) << "an admin cancels it";
  EXPECT_FALSE(allows(redeemed, at(schema::Status::refunded, 5)));
  EXPECT_FALSE(allows(refunded, at(schema::Status::refunded, 5)));
}

}  // namespace
}  // namespace giftsync::sync
