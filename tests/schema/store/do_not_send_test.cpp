// The list of who gets no gifts, on each back end.
#include "schema/store/gift/do_not_send.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;
using Reason = DoNotSendReason;

class DoNotSendTest : public tests::StoreFixture {
 protected:
  static constexpr UtcMillis kNow = kSentAt;

  static DoNotSendEntry entry(const std::string& pattern, Reason reason, const std::string& comment = "",
                              std::optional<UtcMillis> expires_at = {}) {
    return {pattern, reason, comment, {}, {}, "root", expires_at};
  }
  std::int64_t add(const std::vector<DoNotSendEntry>& entries) { return list().add(entries, {}); }
  DoNotSend& list() { return store_->do_not_send; }
  std::vector<std::string> patterns(const DoNotSendFilter& filter = {}) {
    std::vector<std::string> all;
    for (const DoNotSendEntry& found : list().list(filter, "", 100, kNow)) all.push_back(found.pattern);
    return all;
  }
  Reason reason_of(const std::string& pattern) {
    return list().find(std::span(&pattern, 1), kNow).at(pattern).reason;
  }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, DoNotSendTest,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

TEST_P(DoNotSendTest, AnEntryIsFoundByItsPatternAlone) {
  EXPECT_EQ(add({entry("ana@example.com", Reason::opted_out), entry("*.gov", Reason::blocked, "law")}), 2);
  const std::vector<std::string> asked{"ana@example.com", "example.com", "*.gov", "gov"};
  const auto found = list().find(asked, kNow);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found.at("*.gov").comment, "law");
  EXPECT_EQ(found.at("*.gov").added_by, "root");
  EXPECT_EQ(found.at("ana@example.com").reason, Reason::opted_out);
  EXPECT_GT(found.at("ana@example.com").added_at, UtcMillis{1'700'000'000'000}) << "the database's clock";
}

// covers: GUARD-4
TEST_P(DoNotSendTest, TheStrongestReasonCountsAndAWeakerOneStaysBehindIt) {
  const std::vector<Reason> strongest_first{Reason::blocked, Reason::opted_out, Reason::complained,
                                            Reason::bounced};
  for (std::size_t before = 0; before < strongest_first.size(); ++before) {
    for (std::size_t after = 0; after < strongest_first.size(); ++after) {
      const std::string pattern = std::to_string(before) + std::to_string(after) + "@example.com";
      EXPECT_EQ(add({entry(pattern, strongest_first[before])}), 1);
      EXPECT_EQ(add({entry(pattern, strongest_first[after])}), after == before ? 0 : 1) << pattern;
      EXPECT_EQ(reason_of(pattern), strongest_first[std::min(before, after)]) << pattern;
      EXPECT_TRUE(list().remove(pattern, strongest_first[std::min(before, after)], {}));
      if (after != before) {
        EXPECT_EQ(reason_of(pattern), strongest_first[std::max(before, after)]) << pattern;
      }
    }
  }
}

TEST_P(DoNotSendTest, ALastingWishOutlivesABlockThatEnds) {
  add({entry("a@example.com", Reason::opted_out),
       entry("a@example.com", Reason::blocked, "", kNow + kDayMillis)});
  add({entry("b@example.com", Reason::blocked, "", kNow + kDayMillis),
       entry("b@example.com", Reason::opted_out)});
  const std::vector<std::string> both{"a@example.com", "b@example.com"};
  for (const auto& [pattern, found] : list().find(both, kNow))
    EXPECT_EQ(found.reason, Reason::blocked) << pattern;
  const auto later = list().find(both, kNow + kDayMillis);
  ASSERT_EQ(later.size(), 2u);
  for (const auto& [pattern, found] : later) EXPECT_EQ(found.reason, Reason::opted_out) << pattern;
  EXPECT_THAT(list().count(kNow), ElementsAre(Pair(Reason::blocked, 2)));
  EXPECT_THAT(list().count(kNow + kDayMillis), ElementsAre(Pair(Reason::opted_out, 2)));
}

TEST_P(DoNotSendTest, TheSameReasonBringsItsCommentAndEnd) {
  const UtcMillis far{4'000'000'000'000};
  add({entry("a@example.com", Reason::bounced, "", far)});
  EXPECT_EQ(add({entry("a@example.com", Reason::bounced, "", far + kDayMillis)}), 1);
  EXPECT_EQ(add({entry("a@example.com", Reason::bounced, "", far + kDayMillis)}), 0);
  const std::string pattern = "a@example.com";
  EXPECT_EQ(list().find(std::span(&pattern, 1), kNow).at(pattern).expires_at, far + kDayMillis);
}

// covers: GUARD-4
TEST_P(DoNotSendTest, AnOlderListLeavesAWishWithItsAuthorAndNeverEndsItEarlier) {
  const UtcMillis far{4'000'000'000'000};
  for (const Reason reason : {Reason::opted_out, Reason::complained}) {
    const std::string pattern = std::string(to_word(reason)) + "@example.com";
    DoNotSendEntry wish = entry(pattern, reason, "", far);
    wish.added_by = "recipient";
    add({wish});
    const auto found = [&] { return list().find(std::span(&pattern, 1), kNow).at(pattern); };
    EXPECT_EQ(add({entry(pattern, reason, "old list", far - kDayMillis)}), 0) << pattern;
    EXPECT_EQ(found().expires_at, far);
    wish.expires_at.reset();
    EXPECT_EQ(add({wish}), 1) << "longer";
    EXPECT_EQ(add({entry(pattern, reason, "old list", far)}), 0) << pattern;
    EXPECT_EQ(add({entry(pattern, reason, "crm")}), 0) << pattern;
    EXPECT_EQ(found().expires_at, std::nullopt);
    EXPECT_EQ(found().added_by, "recipient");
    EXPECT_EQ(found().comment, "");
  }
  add({entry("b@example.com", Reason::blocked)});
  EXPECT_EQ(add({entry("b@example.com", Reason::blocked, "until then", far)}), 1) << "an admin's own entry";
}

TEST_P(DoNotSendTest, AnEntryThatHasEndedIsNeitherFoundNorListedAndCanBeAddedAgain) {
  const UtcMillis past{1'700'000'000'000};
  add({entry("a@example.com", Reason::blocked, "", past), entry("b@example.com", Reason::bounced)});
  const std::string pattern = "a@example.com";
  EXPECT_THAT(list().find(std::span(&pattern, 1), kNow), IsEmpty());
  EXPECT_THAT(patterns(), ElementsAre("b@example.com"));
  EXPECT_THAT(list().count(kNow), ElementsAre(Pair(Reason::bounced, 1)));
  EXPECT_EQ(add({entry("a@example.com", Reason::blocked)}), 1);
  EXPECT_EQ(reason_of("a@example.com"), Reason::blocked);
}

TEST_P(DoNotSendTest, EndedEntriesAreDeleted) {
  add({entry("a@example.com", Reason::bounced, "", kNow), entry("b@example.com", Reason::bounced)});
  list().prune(kNow);
  EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM do_not_send"), "2");
  list().prune(kNow + 1);
  EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM do_not_send"), "1");
}

TEST_P(DoNotSendTest, RemoveTakesTheReasonIntoAccount) {
  add({entry("a@example.com", Reason::blocked)});
  EXPECT_FALSE(list().remove("a@example.com", Reason::opted_out, {}));
  EXPECT_TRUE(list().remove("a@example.com", Reason::blocked, {}));
  EXPECT_FALSE(list().remove("a@example.com", Reason::blocked, {}));
}

TEST_P(DoNotSendTest, TheEventOfAChangeThatChangesNothingIsNotKept) {
  AuditEvent event;
  event.action = "do-not-send.add";
  event.actor = "root";
  const std::vector<DoNotSendEntry> one{entry("a@example.com", Reason::blocked)};
  list().add(one, event);
  list().add(one, event);
  EXPECT_THAT(store_->audit.list(Viewer::of_command_line(), {}, 10), testing::SizeIs(1));
}

TEST_P(DoNotSendTest, AListingIsPagedAndFiltered) {
  add({entry("c@example.com", Reason::opted_out), entry("a@example.com", Reason::blocked),
       entry("100%@example.org", Reason::blocked)});
  EXPECT_THAT(patterns(), ElementsAre("100%@example.org", "a@example.com", "c@example.com"));
  EXPECT_THAT(patterns({"example.com", {}}), ElementsAre("a@example.com", "c@example.com"));
  EXPECT_THAT(patterns({"%", {}}), ElementsAre("100%@example.org"));
  EXPECT_THAT(patterns({"", Reason::blocked}), ElementsAre("100%@example.org", "a@example.com"));
  const auto page = list().list({}, "a@example.com", 1, kNow);
  ASSERT_EQ(page.size(), 1u);
  EXPECT_EQ(page[0].pattern, "c@example.com");
}

// covers: GUARD-2
TEST_P(DoNotSendTest, TheRevisionChangesWithEachNewOrChangedEntryAlone) {
  std::string before = list().revision();
  const auto has_changed = [&] { return std::exchange(before, list().revision()) != before; };
  add({entry("a@example.com", Reason::opted_out)});
  EXPECT_TRUE(has_changed());
  add({entry("a@example.com", Reason::opted_out)});
  EXPECT_FALSE(has_changed());
  add({entry("a@example.com", Reason::blocked)});
  EXPECT_TRUE(has_changed());
}

// covers: GUARD-2
TEST_P(DoNotSendTest, TheNewestPatternsAreFoundByTheDatabasesClock) {
  add({entry("old@example.com", Reason::blocked), entry("new@example.com", Reason::blocked)});
  sql("UPDATE do_not_send SET added_at = added_at - 120000 WHERE pattern = 'old@example.com'");
  EXPECT_THAT(list().patterns(60'000), ElementsAre("new@example.com"));
  EXPECT_THAT(list().patterns({}), UnorderedElementsAre("old@example.com", "new@example.com"));
  add({entry("old@example.com", Reason::blocked, "again")});
  EXPECT_THAT(list().patterns(60'000), UnorderedElementsAre("old@example.com", "new@example.com"));
}

}  // namespace
}  // namespace giftsync::store
