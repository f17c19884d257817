// Match keys of rows that were loaded by plain SQL are made in bounded steps, and a lookup that has not all
// of them does not answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/crm/crm_conformance.h"

namespace giftsync::crm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::size_t kRowsPerStep = 3;

class MatchKeys : public CrmConformance {
 protected:
  std::unique_ptr<Crm> bounded_crm() {
    crm::managed::ManagedCrmOptions options{address(), "giftsync", default_fields()};
    options.max_keyed_rows = kRowsPerStep;
    return crm::managed::make_managed_crm(options);
  }
  void load_contacts(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string number = std::to_string(i);
      sql("INSERT INTO crm_contact (id, email, phone) VALUES ('c" + number + "', 'p" + number +
          "@x.com', '650867345" + number + "')");
    }
  }
  /// Nothing when the lookup must wait.
  static std::optional<std::vector<std::string>> try_by_email(Crm& crm, const std::string& email) {
    try {
      return by_email(crm, PersonObject::contact, email);
    } catch (const LookupNotReady& wait) {
      EXPECT_TRUE(wait.transient());
      return std::nullopt;
    }
  }
  std::string queued() { return scalar("SELECT cast(count(*) AS TEXT) FROM crm_match_key_queue"); }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, MatchKeys, managed_crms(), name_of_crm);

// MATCH-2
TEST_P(MatchKeys, KeysOfAFormerRuleAreMadeAgain) {
  sql("INSERT INTO crm_contact (id, phone) VALUES ('c1', '000-000-0000'), ('c2', '650 867 3450')");
  EXPECT_THAT(by_phone(*crm(), PersonObject::contact, "6508673450"), ElementsAre("c2"));
  sql("UPDATE crm_match_key_field SET kind = 'phone' WHERE kind = 'phone_2'");
  sql("UPDATE crm_match_key_field SET kind = 'email' WHERE kind = 'email_2'");
  sql("UPDATE crm_match_key SET match_key = '0000000000'");
  EXPECT_THAT(by_phone(*crm(), PersonObject::contact, "6508673450"), ElementsAre("c2"));
  EXPECT_THAT(by_phone(*crm(), PersonObject::contact, "0000000000"), IsEmpty());
  EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM crm_match_key WHERE match_key = '0000000000'"), "0");
  EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM crm_match_key WHERE field_id IN (SELECT id FROM "
                   "crm_match_key_field WHERE kind IN ('email', 'phone'))"),
            "0");
}

// SYNC-68
TEST_P(MatchKeys, ALookupWaitsRatherThanMissesAContact) {
  const auto crm = bounded_crm();
  load_contacts(10);
  int waits = 0;
  auto found = try_by_email(*crm, "p9@x.com");
  for (; !found && waits < 50; ++waits) found = try_by_email(*crm, "p9@x.com");
  EXPECT_GE(waits, 3) << "each lookup makes the keys of a few rows only";
  ASSERT_TRUE(found) << "lookups alone complete the keys in the end";
  EXPECT_THAT(*found, ElementsAre("c9"));
  sql("UPDATE crm_contact SET email = 'late@x.com' WHERE id = 'c9'");
  EXPECT_THAT(try_by_email(*crm, "late@x.com"), testing::Optional(ElementsAre("c9")));
  sql("UPDATE crm_contact SET email = 'same@x.com'");
  EXPECT_EQ(try_by_email(*crm, "same@x.com"), std::nullopt) << "ten rows are more than one step";
}

// SYNC-68
TEST_P(MatchKeys, MaintenanceMakesThemInBoundedStepsWithoutALookup) {
  const auto crm = bounded_crm();
  load_contacts(10);
  int steps = 1;
  for (std::string left = queued(); crm->directory().maintain(); left = queued()) {
    ASSERT_LE(std::stoi(left) - std::stoi(queued()), static_cast<int>(kRowsPerStep));
    ASSERT_LE(++steps, 50);
  }
  EXPECT_GE(steps, 4);
  EXPECT_EQ(queued(), "0");
  EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM crm_match_key"), "20")
      << "an address and a number each";
  EXPECT_THAT(try_by_email(*crm, "p4@x.com"), testing::Optional(ElementsAre("c4")));
  EXPECT_FALSE(crm->directory().maintain());
  sql("DELETE FROM crm_contact WHERE id = 'c4'");
  EXPECT_FALSE(crm->directory().maintain());
  EXPECT_EQ(queued(), "0");
  EXPECT_THAT(try_by_email(*crm, "p4@x.com"), testing::Optional(IsEmpty()));
}

// SYNC-68: also of rows that no queue names, as after the first start and for a field that is new in the
// settings.
TEST_P(MatchKeys, KeysOfANewFieldAreMadeInBoundedSteps) {
  load_contacts(10);
  sql("DELETE FROM crm_match_key_queue");
  const auto crm = bounded_crm();
  const auto keys = [&] { return std::stoi(scalar("SELECT cast(count(*) AS TEXT) FROM crm_match_key")); };
  int steps = 0;
  for (int before = 0; crm->directory().maintain() && steps < 50; before = keys(), ++steps)
    ASSERT_LE(keys() - before, 2 * static_cast<int>(kRowsPerStep)) << "a field's last rows do not count";
  EXPECT_GE(steps, 4);
  EXPECT_EQ(keys(), 20);
}

// SYNC-68
TEST_P(MatchKeys, ACommandWaitsUntilAllAreMade) {
  load_contacts(10);
  EXPECT_THAT(by_email(*crm(), PersonObject::contact, "p9@x.com"), ElementsAre("c9"));
}

}  // namespace
}  // namespace giftsync::crm
