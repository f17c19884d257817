// In which mode gift records are written, from the settings and from what was found in the org.
#include "crm/salesforce/org/write_mode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crm/salesforce/records/bare_writes.h"
#include "tests/crm/salesforce/org_facts_of_package.h"

namespace giftsync::salesforce {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr UtcMillis kNow{1'795'264'267'000};

ModeFinding finding(OrgMode mode, bool was_guarded = false) {
  return {.mode = mode,
          .reason = "the reason",
          .bare_problem = mode == OrgMode::none ? "the obstacle" : "",
          .task_problem = mode == OrgMode::guarded ? "" : "no field",
          .has_unique_key = mode == OrgMode::guarded,
          .was_guarded = was_guarded || mode == OrgMode::guarded,
          .names = mode_names(ApiNames(OrgNames{})),
          .found_at = kNow};
}

struct Decision {
  OrgMode wanted;
  OrgMode found;
  bool was_guarded;
  OrgMode mode;
  const char* problem;  ///< a part of it
};

// ORG-8
TEST(WriteMode, FollowsFromTheSettingsAndTheOrg) {
  constexpr Decision kDecisions[] = {
      {OrgMode::guarded, OrgMode::guarded, true, OrgMode::guarded, ""},
      {OrgMode::guarded, OrgMode::bare, false, OrgMode::none, "set crm.salesforce.mode: bare"},
      {OrgMode::guarded, OrgMode::bare, true, OrgMode::none, "does not protect gift records any more"},
      {OrgMode::guarded, OrgMode::none, false, OrgMode::none, "repair this"},
      {OrgMode::guarded, OrgMode::none, true, OrgMode::none, "activate the rule again"},
      {OrgMode::bare, OrgMode::guarded, true, OrgMode::bare, ""},
      {OrgMode::bare, OrgMode::bare, false, OrgMode::bare, ""},
      {OrgMode::bare, OrgMode::bare, true, OrgMode::bare, ""},
      {OrgMode::bare, OrgMode::none, false, OrgMode::none, "the obstacle; give the user"},
  };
  for (const Decision& one : kDecisions) {
    const WriteMode mode = write_mode(one.wanted, finding(one.found, one.was_guarded));
    EXPECT_EQ(mode.mode, one.mode) << to_word(one.wanted) << " " << to_word(one.found);
    EXPECT_THAT(mode.problem, HasSubstr(one.problem));
    EXPECT_EQ(mode.problem.empty(), mode.mode != OrgMode::none);
  }
}

// ORG-8
TEST(WriteMode, AnOrgThatWasGuardedIsNotOfferedBareMode) {
  EXPECT_THAT(write_mode(OrgMode::guarded, finding(OrgMode::bare, true)).problem,
              AllOf(HasSubstr("the reason"), HasSubstr("crm setup"), Not(HasSubstr("mode: bare"))));
}

// ORG-9, ORG-10
TEST(WriteMode, BareModeTellsHowRecordsAreCreatedAndWhetherTasksAre) {
  ModeFinding found = finding(OrgMode::bare);
  EXPECT_TRUE(write_mode(OrgMode::bare, found).creates_by_upsert);
  EXPECT_FALSE(write_mode(OrgMode::bare, found).offers_tasks);
  found.has_unique_key = true;
  found.task_problem.clear();
  EXPECT_FALSE(write_mode(OrgMode::bare, found).creates_by_upsert);
  EXPECT_TRUE(write_mode(OrgMode::bare, found).offers_tasks);
  EXPECT_FALSE(write_mode(OrgMode::guarded, finding(OrgMode::guarded)).creates_by_upsert);
}

TEST(WriteMode, FactsOfTheOrgBecomeAFinding) {
  const ApiNames names{OrgNames{}};
  OrgFacts facts = facts_of_package();
  const ModeFinding guarded = find_write_mode(facts, names, std::nullopt, kNow);
  EXPECT_EQ(guarded.mode, OrgMode::guarded) << guarded.reason;
  EXPECT_TRUE(guarded.has_unique_key && guarded.was_guarded);
  EXPECT_EQ(guarded.bare_problem + guarded.task_problem, "");
  facts.rules->clear();
  const ModeFinding later = find_write_mode(facts, names, guarded, kNow);
  EXPECT_EQ(later.mode, OrgMode::none);
  EXPECT_TRUE(later.was_guarded) << "it is remembered";
  EXPECT_EQ(later.bare_problem, "") << "bare mode needs no rules";
  EXPECT_FALSE(find_write_mode(facts, ApiNames({.name_space = "thx"}), guarded, kNow).was_guarded)
      << "of other objects nothing is known";
}

TEST(WriteMode, AFindingIsKeptAsText) {
  const ModeFinding kept = finding(OrgMode::bare, true);
  EXPECT_EQ(read_mode_finding(to_text(kept)), kept);
  for (const char* text : {"", "{}", "bare", R"({"mode":"open","found_at":1})"})
    EXPECT_EQ(read_mode_finding(text), std::nullopt) << text;
}

TEST(WriteMode, AnObstacleIsLookedAtSoonerThanAGoodOrg) {
  const ApiNames names{OrgNames{}};
  const auto due = [&](OrgMode mode, std::int64_t age) {
    return is_due(OrgMode::guarded, finding(mode), names, kNow + age);
  };
  EXPECT_TRUE(is_due(OrgMode::guarded, std::nullopt, names, kNow));
  EXPECT_TRUE(is_due(OrgMode::guarded, finding(OrgMode::guarded), ApiNames({.name_space = "thx"}), kNow));
  EXPECT_FALSE(due(OrgMode::guarded, kModeFindingMillis - 1));
  EXPECT_TRUE(due(OrgMode::guarded, kModeFindingMillis));
  EXPECT_FALSE(due(OrgMode::none, kModeProblemMillis - 1));
  EXPECT_TRUE(due(OrgMode::none, kModeProblemMillis));
  EXPECT_TRUE(due(OrgMode::guarded, -1)) << "a clock that was ahead";
}

TEST(WriteMode, GuardedIsAssumedAtFirstUnlessAnObstacleIsKnown) {
  const ApiNames names{OrgNames{}};
  EXPECT_TRUE(may_assume_guarded(OrgMode::guarded, std::nullopt, names));
  EXPECT_TRUE(may_assume_guarded(OrgMode::guarded, finding(OrgMode::guarded), names));
  EXPECT_TRUE(may_assume_guarded(OrgMode::guarded, finding(OrgMode::none), ApiNames({.name_space = "thx"})));
  EXPECT_FALSE(may_assume_guarded(OrgMode::guarded, finding(OrgMode::none), names));
  EXPECT_FALSE(may_assume_guarded(OrgMode::guarded, finding(OrgMode::bare), names));
  EXPECT_FALSE(may_assume_guarded(OrgMode::bare, std::nullopt, names));
}

// ORG-9
TEST(OwnRecord, IsToldByItsAddressOrItsSentTime) {
  const auto gift = [](const char* address, std::int64_t sent_at) {
    GiftRecord record;
    if (*address != '\0') record.set(GiftField::recipient_email, std::string(address));
    if (sent_at != 0) record.set(GiftField::sent_at, UtcMillis{sent_at});
    return record;
  };
  const GiftRecord ours = gift("Rose@example.com", 1'000'000);
  EXPECT_TRUE(is_own_record(gift("rose@EXAMPLE.com", 5'000'000), ours));
  EXPECT_TRUE(is_own_record(gift("rose@exam", 0), ours)) << "a cut address";
  EXPECT_TRUE(is_own_record(gift("other@example.com", 1'000'400), ours));
  EXPECT_FALSE(is_own_record(gift("other@example.com", 5'000'000), ours));
  EXPECT_FALSE(is_own_record(gift("", 0), ours));
  EXPECT_FALSE(is_own_record(gift("", 0), gift("", 1'000'000)));
  EXPECT_TRUE(is_own_record(gift("", 0), gift("", 0)));
}

}  // namespace
}  // namespace giftsync::salesforce
